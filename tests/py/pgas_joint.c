/* Collectives on the memory of a space by random teams, sizes, modes of synchronisation and delays, several under way:
 * pgas_joint SEED ROUNDS. Ranks are those of `isthmus run`, or, compiled with OVER_MPI, those of MPI. All say what is
 * wrong; rank 0 says what it has done. */
#include <isthmus/isthmus_pgas.h>
#ifdef OVER_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROOM = 100000, MOST = 4, KINDS = 9 };

static isthmus_space* space;
static uint32_t rank, ranks;
static uint64_t own_state;
static unsigned char expected[MOST][ROOM] __attribute__((aligned(16)));

static void must(int holds, const char* words) {
  if (holds) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, words, isthmus_last_error());
  abort();
}
static void done(int status, const char* words) { must(status == ISTHMUS_DONE, words); }
static uint64_t below(uint64_t* state, uint64_t limit) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (*state >> 20) % limit;
}
static unsigned char byte_of(uint64_t seed, uint64_t of, uint64_t i) {
  return (unsigned char)(seed * 31 + of * 17 + i * 7 + (i >> 8));
}
static int64_t element_of(uint64_t seed, uint64_t i) { return (int64_t)((seed + i * i) % 1000) - 500; }

/* One that is under way: bytes that there must be at `to`. */
struct under {
  isthmus_event event;
  uint64_t to, bytes;
  const char* name;
};

/* How blocks move, and by what; or as is usual. */
static const char* some_algorithm(uint64_t* state, uint64_t kind) {
  static char text[64];
  static const char* const names[][3] = {{"binomial", "linear", "chain,segment=1000"},
                                         {"binomial", "linear", "knomial,radix=3"},
                                         {"binomial", "linear", "knomial,radix=3"},
                                         {"ring", "linear", "bruck"},
                                         {"pairwise", "linear", "bruck"}};
  static const char* const accesses[] = {"", ",access=message", ",access=put", ",access=get"};
  if (kind < 1 || kind > 5 || below(state, 4) == 0) return NULL;
  snprintf(text, sizeof text, "%s%s", names[kind - 1][below(state, 3)], accesses[below(state, 4)]);
  return text;
}

/* The n-th collective of a team: `state` is the same on all its ranks. */
static struct under begin(isthmus_team* team, uint64_t* state, int n, uint64_t to, uint64_t from) {
  static const char* const names[] = {"barrier",  "broadcast", "scatter", "gather",       "gather_all",
                                      "exchange", "permute",   "reduce",  "prefix_reduce"};
  const uint64_t many = isthmus_ranks(team), me = isthmus_rank(team), seed = below(state, 1 << 30);
  const uint64_t most = ROOM / many, bytes = below(state, 3) == 0 ? below(state, most) : below(state, 100);
  const uint32_t root = (uint32_t)below(state, many);
  const uint64_t kind = below(state, KINDS);
  struct under out = {0, to, 0, names[kind]};
  isthmus_manner manner;
  memset(&manner, 0, sizeof manner);
  manner.size = sizeof manner;
  manner.team = team;
  manner.enter = (isthmus_sync)(1 + below(state, 3));
  manner.leave = (isthmus_sync)(1 + below(state, 3));
  manner.event = below(state, 3) == 0 ? NULL : &out.event;
  unsigned char* const in = (unsigned char*)isthmus_cast(space, rank, from);
  unsigned char* const wanted = expected[n];
  for (uint64_t i = 0; i < ROOM; ++i) in[i] = byte_of(seed, me, i);
  /* Loose ones are entered when all data are there. */
  if (manner.enter == ISTHMUS_SYNC_NONE) {
    isthmus_manner meets = manner;
    meets.event = NULL;
    done(isthmus_barrier_of(space, &meets), "barrier before a loose one");
  }
  manner.algorithm = some_algorithm(state, kind);
  if (below(&own_state, 4) == 0) usleep((unsigned)below(&own_state, 2000));
  switch (kind) {
    case 0: done(isthmus_barrier_of(space, &manner), "barrier"); break;
    case 1:
      done(isthmus_broadcast(space, &manner, to, root, from, bytes), "broadcast");
      out.bytes = bytes;
      for (uint64_t i = 0; i < bytes; ++i) wanted[i] = byte_of(seed, root, i);
      break;
    case 2:
      done(isthmus_scatter(space, &manner, to, root, from, bytes), "scatter");
      out.bytes = bytes;
      for (uint64_t i = 0; i < bytes; ++i) wanted[i] = byte_of(seed, root, me * bytes + i);
      break;
    case 3:
    case 4:
      if (kind == 3) done(isthmus_gather(space, &manner, root, to, from, bytes), "gather");
      else done(isthmus_gather_all(space, &manner, to, from, bytes), "gather_all");
      out.bytes = kind == 4 || me == root ? many * bytes : 0;
      for (uint64_t i = 0; i < out.bytes; ++i) wanted[i] = byte_of(seed, i / bytes, i % bytes);
      break;
    case 5:
      done(isthmus_exchange_all(space, &manner, to, from, bytes), "exchange");
      out.bytes = many * bytes;
      for (uint64_t i = 0; i < out.bytes; ++i) wanted[i] = byte_of(seed, i / bytes, me * bytes + i % bytes);
      break;
    case 6: {
      const uint64_t turn = below(state, many);
      done(isthmus_permute(space, &manner, to, from, bytes, (uint32_t)((me + turn) % many)), "permute");
      out.bytes = bytes;
      for (uint64_t i = 0; i < bytes; ++i) wanted[i] = byte_of(seed, (me + many - turn) % many, i);
      break;
    }
    default: {
      isthmus_reduction with;
      memset(&with, 0, sizeof with);
      with.size = sizeof with;
      with.element = ISTHMUS_I64;
      with.operation = below(state, 2) == 0 ? ISTHMUS_SUM : ISTHMUS_MAX;
      with.count = 1 + below(state, 300);
      with.block = below(state, 2) == 0 ? (with.count + many - 1) / many : below(state, 7);
      const uint64_t block = with.block == 0 ? with.count : with.block;
      int64_t* const elements = (int64_t*)(void*)in;
      int64_t* const results = (int64_t*)(void*)wanted;
      int64_t value = 0;
      for (uint64_t i = 0; i < with.count; ++i) {
        const int64_t one = element_of(seed, i);
        value = i == 0 ? one : with.operation == ISTHMUS_SUM ? value + one : value > one ? value : one;
        if (i / block % many != me) continue;
        const uint64_t at = i / block / many * block + i % block;
        elements[at] = one;
        if (kind == 7) continue;
        results[at] = value;
        out.bytes = (at + 1) * sizeof value;
      }
      if (kind == 7 && me == root) memcpy(wanted, &value, out.bytes = sizeof value);
      if (kind == 7) done(isthmus_reduce(space, &manner, root, to, from, &with), "reduce");
      else done(isthmus_prefix_reduce(space, &manner, to, from, &with), "prefix_reduce");
    }
  }
  return out;
}

static void look(const struct under* one, int n) {
  must(memcmp(isthmus_cast(space, rank, one->to), expected[n], one->bytes) == 0, one->name);
}

static void round_of(isthmus_team* team, uint64_t state, const uint64_t* places) {
  struct under under[MOST];
  const int count = 1 + (int)below(&state, MOST);
  for (int n = 0; n < count; ++n) under[n] = begin(team, &state, n, places[2 * n], places[2 * n + 1]);
  for (int n = count; n-- > 0;) {
    if (below(&own_state, 2) == 0)
      while (isthmus_test_event(space, &under[n].event) == ISTHMUS_IN_PROGRESS) usleep(1);
    else done(isthmus_wait_event(space, &under[n].event), under[n].name);
    must(under[n].event == 0, "an event that is done is 0");
  }
  done(isthmus_barrier(space, NULL), "barrier"); /* after it loose ones are done, too */
  for (int n = 0; n < count; ++n) look(&under[n], n);
}

int main(int argc, char** argv) {
  isthmus_team *team, *part, *upper = NULL;
  isthmus_space_options options;
  uint64_t places[2 * MOST];
#ifdef OVER_MPI
  MPI_Init(&argc, &argv);
  done(isthmus_join_mpi(MPI_COMM_WORLD, &team), "join");
#else
  (void)argc;
  done(isthmus_join(NULL, &team), "join");
#endif
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  const uint64_t seed = strtoull(argv[1], NULL, 10);
  const int rounds = atoi(argv[2]);
  own_state = seed * 1000 + rank;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.symmetric = 4 << 20, options.local = 1 << 20;
  done(isthmus_space_make(team, &options, &space), "space");
  for (int i = 0; i < 2 * MOST; ++i) done(isthmus_allocate_all(space, ROOM, &places[i]), "memory");
  done(isthmus_split(team, rank % 2, -(int64_t)rank, &part), "split");
  if (rank >= ranks / 3) {
    uint32_t members[64];
    for (uint32_t i = 0; i < ranks - ranks / 3; ++i) members[i] = ranks / 3 + i;
    done(isthmus_group(team, members, ranks - ranks / 3, 0, &upper), "group");
  }
  for (int i = 0; i < rounds; ++i) {
    round_of(team, seed + (uint64_t)i * 7, places);
    round_of(part, seed + (uint64_t)i * 7 + rank % 2 + 1, places);
    if (upper != NULL) round_of(upper, seed + (uint64_t)i * 7 + 3, places);
    else done(isthmus_barrier(space, NULL), "barrier");
  }
  isthmus_leave(upper);
  isthmus_leave(part);
  done(isthmus_space_leave(space), "leave");
  if (rank == 0) printf("all done\n");
  isthmus_leave(team);
#ifdef OVER_MPI
  MPI_Finalize();
#endif
  return 0;
}
