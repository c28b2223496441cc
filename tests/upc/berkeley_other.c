/* The second file. */
#include <upcr.h>
#ifndef UPCR_TRANS_EXTRA_INCL
#define UPCR_TRANS_EXTRA_INCL
int32_t upcrt_forall_control;
#define UPCRT_STARTUP_SHALLOC(sptr, blockbytes, numblocks, mult_by_threads, elemsz, typestr) \
  {&(sptr), (blockbytes), (numblocks), (mult_by_threads), (elemsz), #sptr, (typestr)}
#define UPCRT_STARTUP_PSHALLOC UPCRT_STARTUP_SHALLOC
#endif
upcr_pshared_ptr_t other;

int add_to_other(int by) {
  UPCR_BEGIN_FUNCTION();
  if (by == upcr_threads() - 1)
    upcr_put_pshared_val(other, 0, upcr_get_pshared_val(other, 0, 8UL) + (upcr_register_value_t)by, 8UL);
  UPCR_EXIT_FUNCTION();
  return 0;
}
void UPCRI_ALLOC_other_2(void) {
  upcr_startup_pshalloc_t _bupc_pinfo[] = {UPCRT_STARTUP_PSHALLOC(other, 8UL, 1UL, 0UL, 8UL, "")};
  upcr_startup_pshalloc(_bupc_pinfo, 1UL);
}
void UPCRI_INIT_other_2(void) {
  long _bupc_other_val = 40;
  if (upcr_mythread() == 0) upcr_put_pshared(other, 0, &_bupc_other_val, 8);
}
