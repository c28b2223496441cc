/* Windows of MPI behind a partitioned global address space: pgas_windows MODE. Rank 0 says what it has done; all say
 * what is wrong. */
#include <isthmus/isthmus_access.h>
#include <isthmus/isthmus_mpi.h>
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static isthmus_team* team;
static isthmus_space* space;
static uint32_t rank, ranks;
static uint64_t state;

static void must(int holds, const char* words) {
  if (holds) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, words, isthmus_last_error());
  usleep(300000); /* MPICH's mpirun may lose what was said just before */
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void done(int status, const char* words) { must(status == ISTHMUS_DONE, words); }
static void meet(void) { done(isthmus_barrier(space, NULL), "barrier"); }
static uint64_t below(uint64_t limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 20) % limit;
}

/* Rank 1 computes, and says so in its memory: what rank 0 does before it reads there that it has ended was done without
 * its help. It tells what was: transfers, atomic operations. */
static void computes(void) {
  enum { IDLE, COMPUTES, ENDED, LARGE = 1 << 20 };
  uint64_t flag, number, large;
  static char bytes[LARGE], back[LARGE];
  done(isthmus_allocate_all(space, 8, &flag), "flag");
  done(isthmus_allocate_all(space, 8, &number), "number");
  done(isthmus_allocate_all(space, LARGE, &large), "large");
  volatile uint64_t* const own = (uint64_t*)isthmus_cast(space, rank, flag);
  *own = IDLE;
  memset(isthmus_cast(space, rank, number), 0, 8);
  meet();
  if (rank == 1) {
    const double begin = MPI_Wtime();
    *own = COMPUTES;
    while (MPI_Wtime() - begin < 0.4) continue;
    *own = ENDED;
  }
  if (rank == 0) {
    uint64_t seen = IDLE, one = 1, before;
    isthmus_event event;
    while (seen == IDLE) done(isthmus_get(space, &seen, 1, flag, 8), "get");
    must(seen == COMPUTES, "a get waits for a rank that computes");
    for (int i = 0; i < LARGE; ++i) bytes[i] = (char)(i * 7 + (i >> 8));
    done(isthmus_put(space, 1, large, bytes, LARGE / 2), "put");
    done(isthmus_begin_put(space, 1, large + LARGE / 2, bytes + LARGE / 2, LARGE / 2, &event), "begin put");
    done(isthmus_wait_event(space, &event), "wait");
    done(isthmus_set(space, 1, large + 5, 77, 100000), "set");
    memset(bytes + 5, 77, 100000);
    done(isthmus_begin_get(space, back, 1, large, LARGE, NULL), "begin get");
    done(isthmus_wait_all(space), "wait");
    must(memcmp(bytes, back, LARGE) == 0, "what is got is not what is put");
    done(isthmus_get(space, &seen, 1, flag, 8), "get");
    must(seen == COMPUTES, "a transfer waits for a rank that computes");
    done(isthmus_atomic(space, 1, number, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, &before), "add");
    done(isthmus_get(space, &seen, 1, flag, 8), "get");
    printf("atomics %s\n", seen == COMPUTES ? "alone" : "with help");
  }
  meet();
  must(*(uint64_t*)isthmus_cast(space, rank, number) == (rank == 1), "added once");
}

/* Rank 0 sets memory of rank 1 again and again, and meanwhile handles what that one asks for. */
static volatile int asked, told;
static void on_ask(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                   void* data) {
  (void)arguments, (void)count, (void)payload, (void)bytes, (void)data;
  asked = 1;
  done(isthmus_reply(token, 2, NULL, 0, NULL, 0), "reply");
}
static void on_answer(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                      void* data) {
  (void)token, (void)arguments, (void)count, (void)payload, (void)bytes, (void)data;
  told = 1;
}
static void sets(void) {
  uint64_t table;
  done(isthmus_allocate_all(space, 100000, &table), "table");
  memset(isthmus_cast(space, rank, table), 0, 100000);
  done(isthmus_handle(space, 1, on_ask, NULL), "handle");
  done(isthmus_handle(space, 2, on_answer, NULL), "handle");
  meet();
  const double begin = MPI_Wtime();
  size_t i = 0;
  if (rank == 0)
    for (; !asked && MPI_Wtime() - begin < 30; ++i)
      done(isthmus_set(space, 1, table, (int)i, i % 3 ? 8 : 70000), "set");
  if (rank == 1) { /* when rank 0 has begun */
    const volatile unsigned char* const own = (unsigned char*)isthmus_cast(space, rank, table);
    while (*own < 10 && MPI_Wtime() - begin < 10) done(isthmus_poll(space), "poll");
    done(isthmus_request(space, 0, 1, NULL, 0, NULL, 0), "request");
    while (!told && MPI_Wtime() - begin < 40) done(isthmus_poll(space), "poll");
  }
  must(rank == 0 ? asked : told, "a rank that sets memory through windows handles nothing");
  meet();
  if (rank == 0 && i > 0) {
    unsigned char last[8];
    done(isthmus_get(space, last, 1, table, sizeof last), "get");
    for (size_t k = 0; k < sizeof last; ++k) must(last[k] == (unsigned char)(i - 1), "what was set");
  }
  meet();
}

/* The same through domains, one of which has products: windows know none. */
static void domains(void) {
  enum { ROUNDS = 100 };
  const uint32_t sums = ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_ADD) | ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_SUBTRACT);
  const uint32_t products = ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_MULTIPLY) | ISTHMUS_ATOMIC_SET(ISTHMUS_ATOMIC_READ);
  isthmus_domain *of_sums, *of_products;
  uint64_t table, expected = 1;
  done(isthmus_allocate_all(space, 16, &table), "table");
  uint64_t* const own = (uint64_t*)isthmus_cast(space, rank, table);
  own[0] = 0, own[1] = 1;
  done(isthmus_domain_make(space, ISTHMUS_U64, sums, &of_sums), "domain");
  done(isthmus_domain_make(space, ISTHMUS_U64, products, &of_products), "domain");
  meet();
  for (int i = 0; i < ROUNDS; ++i)
    for (uint32_t r = 0; r < ranks; ++r) {
      const uint64_t more = below(1000), less = more - 2, three = 3;
      done(isthmus_domain_change(of_sums, r, table, ISTHMUS_ATOMIC_ADD, &more, NULL, NULL), "add");
      done(isthmus_domain_change(of_sums, r, table, ISTHMUS_ATOMIC_SUBTRACT, &less, NULL, NULL), "subtract");
      if (i % 2)
        done(isthmus_domain_change(of_products, r, table + 8, ISTHMUS_ATOMIC_MULTIPLY, &three, NULL, NULL), "multiply");
      else done(isthmus_domain_change(of_products, r, table + 8, ISTHMUS_ATOMIC_READ, NULL, NULL, &expected), "read");
      must(isthmus_domain_change(of_sums, r, table, ISTHMUS_ATOMIC_SWAP, &three, NULL, NULL) == ISTHMUS_INVALID,
           "swap");
    }
  expected = 1;
  for (uint32_t i = 0; i < ranks * ROUNDS / 2; ++i) expected *= 3;
  meet();
  must(own[0] == (uint64_t)2 * ranks * ROUNDS && own[1] == expected, "sums and products");
  done(isthmus_domain_free(of_products), "free");
  done(isthmus_domain_free(of_sums), "free");
}

/* All change the same elements by all operators, also those of their own memory. */
static void atomics(void) {
  enum { ROUNDS = 300 };
  uint64_t table, lock, plain;
  done(isthmus_allocate_all(space, 64 * 8, &table), "table");
  done(isthmus_allocate_all(space, 8, &lock), "lock");
  done(isthmus_allocate_all(space, 8, &plain), "plain");
  memset(isthmus_cast(space, rank, table), 0, 64 * 8);
  memset(isthmus_cast(space, rank, lock), 0, 8);
  memset(isthmus_cast(space, rank, plain), 0, 8);
  meet();
  const uint64_t zero = 0, one = 1, bit = UINT64_C(1) << rank;
  const int32_t less = -1, mine = (int32_t)rank - 5;
  const float half = 0.5f;
  const double quarter = 0.25;
  uint64_t before = 0, flips = 0, tickets = 0, last[64] = {0};
  for (int i = 0; i < ROUNDS; ++i) {
    const uint32_t to = (uint32_t)below(ranks);
    done(isthmus_atomic(space, to, table, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, &before), "add");
    must(i == 0 || before >= last[to], "a counter went back");
    last[to] = before + 1;
    ++tickets;
    done(isthmus_atomic(space, 0, table + 8, ISTHMUS_I32, ISTHMUS_ATOMIC_ADD, &less, NULL, NULL), "add");
    done(isthmus_atomic(space, 0, table + 12, ISTHMUS_F32, ISTHMUS_ATOMIC_ADD, &half, NULL, NULL), "add");
    done(isthmus_atomic(space, 0, table + 16, ISTHMUS_F64, ISTHMUS_ATOMIC_ADD, &quarter, NULL, NULL), "add");
    done(isthmus_atomic(space, 0, table + 24, ISTHMUS_U64, ISTHMUS_ATOMIC_OR, &bit, NULL, NULL), "or");
    done(isthmus_atomic(space, 0, table + 32, ISTHMUS_U64, ISTHMUS_ATOMIC_XOR, &bit, NULL, &before), "xor");
    must(((before & bit) != 0) == (flips % 2 == 1), "a bit that nobody else flips");
    ++flips;
    done(isthmus_atomic(space, 0, table + 40, ISTHMUS_I32, ISTHMUS_ATOMIC_MIN, &mine, NULL, NULL), "min");
    done(isthmus_atomic(space, 0, table + 44, ISTHMUS_I32, ISTHMUS_ATOMIC_MAX, &mine, NULL, NULL), "max");
    if (i % 10 != 0) continue;
    /* A lock of compare-and-swap and swap guards a number that is read and written. */
    do {
      done(isthmus_poll(space), "poll"); /* the owner of the lock handles what others ask for */
      done(isthmus_atomic(space, ranks - 1, lock, ISTHMUS_U64, ISTHMUS_ATOMIC_SWAP_IF, &one, &zero, &before), "lock");
    } while (before != 0);
    uint64_t number;
    done(isthmus_get(space, &number, 0, plain, 8), "get");
    ++number;
    done(isthmus_put(space, 0, plain, &number, 8), "put");
    done(isthmus_atomic(space, ranks - 1, lock, ISTHMUS_U64, ISTHMUS_ATOMIC_SWAP, &zero, NULL, &before), "unlock");
    must(before == 1, "a lock that is held");
  }
  meet();
  uint64_t sum = 0;
  for (uint32_t r = 0; r < ranks; ++r) {
    done(isthmus_atomic(space, r, table, ISTHMUS_U64, ISTHMUS_ATOMIC_READ, NULL, NULL, &before), "read");
    sum += before;
  }
  must(sum == tickets * ranks, "an addition is lost");
  struct {
    uint64_t counter;
    int32_t less;
    float halves;
    double quarters;
    uint64_t bits, flips;
    int32_t least, most;
  } end;
  uint64_t number;
  done(isthmus_get(space, &end, 0, table, sizeof end), "get");
  done(isthmus_get(space, &number, 0, plain, 8), "get");
  must(end.less == -(int32_t)(ROUNDS * ranks), "additions of 32 bits");
  must(end.halves == 0.5f * (float)(ROUNDS * ranks) && end.quarters == 0.25 * (ROUNDS * ranks), "additions of numbers");
  must(end.bits == (UINT64_C(1) << ranks) - 1 && end.flips == (ROUNDS % 2 ? end.bits : 0), "bits");
  must(end.least == (ranks > 0 ? -5 : 0) && end.most == ((int32_t)ranks - 6 > 0 ? (int32_t)ranks - 6 : 0), "extremes");
  must(number == (uint64_t)ranks * ((ROUNDS + 9) / 10), "a lock let two in");
  meet();
}

/* Spaces of parts of the team, one after the other and at once, while others are used. */
static void several(void) {
  isthmus_team* half;
  isthmus_space *part, *again;
  uint64_t place, value, all;
  done(isthmus_allocate_all(space, 8, &all), "all");
  memset(isthmus_cast(space, rank, all), 0, 8);
  meet();
  done(isthmus_split(team, (int)(rank % 2), (int)(ranks - rank), &half), "split");
  /* While some make a space, others ask them for things in this one. */
  for (int i = 0; i < (int)(rank % 3) * 50; ++i) {
    const uint64_t one = 1;
    done(isthmus_atomic(space, (uint32_t)below(ranks), all, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, NULL), "add");
  }
  for (int turn = 0; turn < 3; ++turn) {
    isthmus_space_options small = {.size = sizeof small, .symmetric = 1 << 20, .local = 4096};
    done(isthmus_space_make(half, &small, &part), "part");
    done(isthmus_space_make(half, &small, &again), "again");
    const uint32_t own = isthmus_rank(half), of = isthmus_ranks(half);
    done(isthmus_allocate_all(again, 4096, &place), "place");
    done(isthmus_allocate_all(part, 4096, &place), "place");
    for (uint64_t i = 0; i < 20; ++i) {
      value = 1000 * own + i;
      done(isthmus_put(part, (own + 1) % of, place + 8 * i, &value, 8), "put");
      value += 500;
      done(isthmus_begin_put(again, (own + 1) % of, place + 8 * i, &value, 8, NULL), "begin put");
      done(isthmus_wait_all(again), "wait");
    }
    done(isthmus_barrier(part, NULL), "barrier");
    done(isthmus_barrier(again, NULL), "barrier");
    for (uint64_t i = 0; i < 20; ++i) {
      const uint64_t wanted = 1000 * ((own + of - 1) % of) + i;
      must(((uint64_t*)isthmus_cast(part, own, place))[i] == wanted, "what was put");
      must(((uint64_t*)isthmus_cast(again, own, place))[i] == wanted + 500, "what was put there");
    }
    done(isthmus_space_leave(part), "leave");
    done(isthmus_space_leave(again), "leave");
  }
  isthmus_leave(half);
  meet();
}

#ifdef PINS
/* As for a network card that reads and writes pages which do not move. Only what is tried: this machine may have no
 * more. */
int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  if (size <= 4 << 20)
    for (MPI_Aint i = 0; i < size; i += 4096) ((volatile char*)base)[i] = ((volatile char*)base)[i];
  return PMPI_Win_create(base, size, unit, info, comm, window);
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  must(isthmus_join_mpi(MPI_COMM_WORLD, &team) == ISTHMUS_DONE, "join");
  rank = isthmus_rank(team);
  ranks = isthmus_ranks(team);
  state = 1000 * rank + 7;
  done(isthmus_space_make(team, NULL, &space), "space");
  if (strcmp(argv[1], "computes") == 0) computes();
  else if (strcmp(argv[1], "sets") == 0) sets();
  else if (strcmp(argv[1], "atomics") == 0) atomics(), domains();
  else if (strcmp(argv[1], "several") == 0) several();
  else must(0, "mode");
  done(isthmus_space_leave(space), "leave");
  isthmus_leave(team);
  if (rank == 0) printf("all done\n");
  MPI_Finalize();
  return 0;
}
