/* As a compiler for Berkeley's runtime writes a program of UPC: every family of calls, in two files. */
#include <stdio.h>
#include <upcr.h>
#ifndef UPCR_TRANS_EXTRA_INCL
#define UPCR_TRANS_EXTRA_INCL
int32_t UPCR_TLD_DEFINE_TENTATIVE(upcrt_forall_control, 4, 4);
#define UPCRT_STARTUP_SHALLOC(sptr, blockbytes, numblocks, mult_by_threads, elemsz, typestr) \
  {&(sptr), (blockbytes), (numblocks), (mult_by_threads), (elemsz), #sptr, (typestr)}
#define UPCRT_STARTUP_PSHALLOC UPCRT_STARTUP_SHALLOC
#endif

typedef struct pair {
  short a;
  double b;
} pair;
upcr_shared_ptr_t blocked;       /* shared [3] int blocked[12 * THREADS] */
upcr_pshared_ptr_t cyclic;       /* shared double cyclic[5 * THREADS] = {1, 2, 3} */
upcr_pshared_ptr_t one;          /* shared [] pair one[4] */
upcr_pshared_ptr_t floats;       /* shared float floats[THREADS] */
extern upcr_pshared_ptr_t other; /* shared long other, of the second file */
int UPCR_TLD_DEFINE(wrong, 4, 4) = 0;
extern int add_to_other(int by);

static void check(int right, int line) {
  UPCR_BEGIN_FUNCTION();
  if (!right) {
    fprintf(stderr, "thread %d: line %d\n", upcr_mythread(), line);
    *((int*)UPCR_TLD_ADDR(wrong)) = 1;
  }
  UPCR_EXIT_FUNCTION();
}
#define CHECK(x) check(x, __LINE__)

extern int user_main(int argc, char** argv) {
  UPCR_BEGIN_FUNCTION();
  upcr_shared_ptr_t p, q;
  upcr_pshared_ptr_t c;
  pair v = {3, 2.5}, w;
  int i, threads = ((int)upcr_threads()), me = ((int)upcr_mythread());
  CHECK(argc == 2 && !strcmp(argv[1], "word"));
  /* upc_forall (i = 0; i < 12 * THREADS; ++i; &blocked[i]) blocked[i] = i; */
  if (*((int32_t*)UPCR_TLD_ADDR(upcrt_forall_control))) {
    for (i = 0; i < 12 * threads; ++i)
      upcr_put_shared_val(upcr_add_shared(blocked, 4UL, i, 3UL), 0, (upcr_register_value_t)i, 4UL);
  } else {
    *((int32_t*)UPCR_TLD_ADDR(upcrt_forall_control)) = 1;
    for (i = 0; i < 12 * threads; ++i)
      if (upcr_hasMyAffinity_shared(upcr_add_shared(blocked, 4UL, i, 3UL)))
        upcr_put_shared_val(upcr_add_shared(blocked, 4UL, i, 3UL), 0, (upcr_register_value_t)i, 4UL);
    *((int32_t*)UPCR_TLD_ADDR(upcrt_forall_control)) = 0;
  }
  upcr_barrier(0, 1);
  for (i = 0, p = blocked; i < 12 * threads; ++i, upcr_inc_shared(&p, 4UL, 1, 3UL)) {
    CHECK((int)upcr_get_shared_val(p, 0, 4UL) == i);
    CHECK(upcr_threadof_shared(p) == (size_t)(i / 3 % threads) && upcr_phaseof_shared(p) == (size_t)(i % 3));
    CHECK(upcr_sub_shared(p, blocked, 4UL, 3UL) == i);
  }
  CHECK((int)UPCR_GET_SHARED_VAL(blocked, 4, 4UL) == 1); /* an offset in bytes stays on its thread */
  CHECK(upcr_get_pshared_doubleval(cyclic, 0) == 1);
  CHECK(upcr_get_pshared_doubleval(upcr_add_pshared1(cyclic, 8UL, 2), 0) == 3);
  CHECK(UPCR_GET_PSHARED_DVAL(upcr_add_pshared1(cyclic, 8UL, 3), 0) == 0);
  c = upcr_add_pshared1(cyclic, 8UL, me + 3 * threads);
  UPCR_PUT_PSHARED_DVAL(c, 0, 7. + me);
  upcr_put_pshared_floatval_strict(upcr_add_pshared1(floats, 4UL, me), 0, 0.5F + (float)me);
  upcr_notify(5, 0);
  upcr_wait(5, 0);
  c = upcr_add_pshared1(cyclic, 8UL, (me + 1) % threads + 3 * threads);
  CHECK(upcr_get_pshared_doubleval_strict(c, 0) == 7. + (me + 1) % threads);
  CHECK(upcr_get_pshared_floatval(upcr_add_pshared1(floats, 4UL, (me + 1) % threads), 0) ==
        0.5F + (float)((me + 1) % threads));
  CHECK(upcr_sub_pshared1(c, cyclic, 8UL) == (me + 1) % threads + 3 * threads);
  if (me == threads - 1) upcr_put_pshared(upcr_add_psharedI(one, 16UL, 2), 0, &v, 16UL);
  upcr_barrier(0, 1);
  upcr_get_pshared(&w, one, 32, 16UL);
  CHECK(w.a == 3 && w.b == 2.5);
  upcr_get_pshared_strict(&w.b, upcr_add_psharedI(one, 16UL, 2), 8, 8UL); /* one[2].b */
  CHECK((short)upcr_get_pshared_val(one, 32, 2UL) == 3 && w.b == 2.5);
  c = upcr_add_psharedI(one, 16UL, 3);
  upcr_inc_psharedI(&c, 16UL, -1);
  CHECK(upcr_sub_psharedI(c, one, 16UL) == 2 && upcr_isequal_pshared_pshared(c, upcr_add_psharedI(one, 16UL, 2)));
  CHECK(me != 0 || *(short*)upcr_pshared_to_local(c) == 3);
  CHECK(upcr_isnull_shared(upcr_null_shared) && !upcr_isnull_pshared(one));
  p = upcr_add_shared(blocked, 4UL, 4, 3UL);
  q = upcr_shared_resetphase(p);
  CHECK(upcr_phaseof_shared(q) == 0 && upcr_addrfield_shared(p) == upcr_addrfield_shared(q));
  CHECK(upcr_isequal_shared_pshared(p, upcr_shared_to_pshared(p)) && UPCR_ISEQUAL_SHARED_SHARED(p, q));
  CHECK(upcr_isequal_pshared_shared(cyclic, upcr_pshared_to_shared(cyclic)));
  c = upc_all_alloc(threads, 8UL);
  upcr_put_pshared_val(upcr_add_pshared1(c, 8UL, me), 0, (upcr_register_value_t)-me, 8UL);
  upcr_barrier(0, 1);
  for (i = 0; i < threads; ++i) {
    long got;
    upc_memget(&got, upcr_add_pshared1(c, 8UL, i), 8UL);
    CHECK(got == -i);
  }
  CHECK(add_to_other(me) == 0);
  upcr_barrier(0, 1);
  CHECK((long)upcr_get_pshared_val_strict(other, 0, 8UL) == 40 + threads - 1);
  upcr_poll();
  upcr_barrier(0, 1);
  if (me == 0 && !wrong) printf("right on %d\n", threads);
  UPCR_EXIT_FUNCTION();
  return wrong;
}

void UPCRI_ALLOC_berkeley_1(void) {
  UPCR_BEGIN_FUNCTION();
  upcr_startup_shalloc_t info[] = {UPCRT_STARTUP_SHALLOC(blocked, 12UL, 4UL, 1UL, 4UL, "")};
  upcr_startup_pshalloc_t pinfo[] = {UPCRT_STARTUP_PSHALLOC(cyclic, 8UL, 5UL, 1UL, 8UL, ""),
                                     UPCRT_STARTUP_PSHALLOC(one, 64UL, 1UL, 0UL, 16UL, ""),
                                     UPCRT_STARTUP_PSHALLOC(floats, 4UL, 1UL, 1UL, 4UL, "")};
  upcr_startup_shalloc(info, 1UL);
  upcr_startup_pshalloc(pinfo, 3UL);
}
void UPCRI_INIT_berkeley_1(void) {
  UPCR_BEGIN_FUNCTION();
  double value[1] = {1}, second[1] = {2}, third[1] = {3};
  if (upcr_mythread() == 0) {
    upcr_put_pshared(cyclic, 0, &value, 8);
    upcr_put_pshared(upcr_add_pshared1(cyclic, 8UL, 1), 0, &second, 8);
    upcr_put_pshared(upcr_add_pshared1(cyclic, 8UL, 2), 0, &third, 8);
  }
}
