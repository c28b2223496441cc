/* A partitioned global address space over nodes, beside messages of MPI: pgas_nodes SEED MODE RANKS-OF-A-NODE. Rank 0
 * says what it has done; all say what is wrong. Compiled with WITHOUT_MPI: ranks join by what the environment says. */
#ifndef WITHOUT_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 60000, MOST = 50000, ASK = 1, ANSWER = 2, LAND = 3, TELL = 4 };

static isthmus_space* space;
static uint32_t rank, ranks;
static uint64_t state;
static unsigned char piece[200000], found[200000];

static void must(int holds, const char* words) {
  if (holds) return;
  fprintf(stderr, "rank %u: %s: %s\n", rank, words, isthmus_last_error());
#ifdef WITHOUT_MPI
  abort();
#else
  usleep(300000); /* MPICH's mpirun may lose what was said just before */
  MPI_Abort(MPI_COMM_WORLD, 1);
#endif
}
static void done(int status, const char* words) { must(status == ISTHMUS_DONE, words); }
static void meet(void) { done(isthmus_barrier(space, NULL), "barrier"); }

static uint64_t below(uint64_t limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 20) % limit;
}
/* Mostly small, and some that are too large for one message of the library. */
static size_t size_below(size_t limit) { return below(4) == 0 ? below(limit) : below(100); }
static unsigned char byte_of(uint64_t seed, size_t i) { return (unsigned char)(seed * 31 + i * 7 + (i >> 8) + 1); }
static void fill(uint64_t seed, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) piece[i] = byte_of(seed, i);
}

/* Every rank writes pieces into its own part of the table of each rank, by put and by set. */
static void transfers(void) {
  uint64_t table;
  unsigned char* expected = (unsigned char*)calloc(ranks, PART);
  done(isthmus_allocate_all(space, (uint64_t)PART * ranks, &table), "table");
  done(isthmus_set(space, rank, table, 0, (size_t)PART * ranks), "set");
  meet();
  for (int i = 0; i < 300; ++i) {
    const uint32_t to = (uint32_t)below(ranks);
    const size_t bytes = size_below(MOST), at = below(PART - bytes);
    const uint64_t place = table + (uint64_t)rank * PART + at;
    if (i % 5 == 0) {
      done(isthmus_set(space, to, place, i, bytes), "set");
      memset(expected + (size_t)to * PART + at, i, bytes);
    } else {
      fill((uint64_t)i, bytes);
      done(isthmus_put(space, to, place, piece, bytes), "put");
      memcpy(expected + (size_t)to * PART + at, piece, bytes);
    }
    if (i % 3 == 0) { /* what is put is there at once */
      const size_t more = below(PART - at);
      done(isthmus_get(space, found, to, place, more), "get");
      must(memcmp(found, expected + (size_t)to * PART + at, more) == 0, "what is put is not got");
    }
  }
  meet();
  for (uint32_t r = 0; r < ranks; ++r) {
    done(isthmus_get(space, found, r, table + (uint64_t)rank * PART, PART), "get");
    must(memcmp(found, expected + (size_t)r * PART, PART) == 0, "a part is not what was put there");
  }
  must(isthmus_put(space, ranks, table, piece, 8) == ISTHMUS_INVALID, "a rank that there is not");
  must(isthmus_put(space, (rank + 1) % ranks, UINT64_MAX - 3, piece, 8) == ISTHMUS_INVALID, "outside the space");
  meet();
  if (rank == ranks - 1) done(isthmus_release(space, 0, table), "release");
  free(expected);
}

/* Thousands of puts and gets under way, with events of their own, of regions, and without. */
static void begun(void) {
  enum { COUNT = 2000, ROOM = 40 };
  const uint32_t next = (rank + 1) % ranks;
  isthmus_event* const events = (isthmus_event*)calloc(COUNT, sizeof *events);
  unsigned char* const back = (unsigned char*)calloc(COUNT, ROOM);
  isthmus_event region;
  uint64_t table, large;
  done(isthmus_allocate_all(space, (uint64_t)COUNT * ROOM, &table), "table");
  done(isthmus_allocate_all(space, sizeof piece, &large), "large");
  fill(rank, sizeof piece);
  meet();
  must(isthmus_close_region(space, &region) == ISTHMUS_INVALID, "no region");
  done(isthmus_open_region(space), "region");
  must(isthmus_open_region(space) == ISTHMUS_INVALID, "two regions");
  for (int i = 0; i < COUNT; ++i) {
    const uint64_t place = table + (uint64_t)i * ROOM;
    if (i == COUNT / 2) done(isthmus_close_region(space, &region), "region");
    isthmus_event* const own = i % 3 == 0 ? &events[i] : NULL;
    done(isthmus_begin_put(space, next, place, piece + i, (size_t)(i % ROOM), own), "begin put");
  }
  done(isthmus_begin_put(space, next, large, piece, sizeof piece, NULL), "begin a large put");
  for (int i = COUNT - 1; i >= 0; --i) done(isthmus_wait_event(space, &events[i]), "wait");
  for (int status; (status = isthmus_test_event(space, &region)) != ISTHMUS_DONE;)
    must(status == ISTHMUS_IN_PROGRESS, "test");
  must(region == 0, "an event that is done");
  done(isthmus_wait_all(space), "all");
  meet();
  for (int i = 0; i < COUNT; ++i) {
    isthmus_event* const own = i % 2 == 0 ? &events[i] : NULL;
    done(isthmus_begin_get(space, back + i * ROOM, next, table + (uint64_t)i * ROOM, (size_t)(i % ROOM), own), "begin");
  }
  done(isthmus_begin_get(space, found, next, large, sizeof found, &region), "begin a large get");
  done(isthmus_wait_all(space), "all");
  done(isthmus_wait_event(space, &region), "wait");
  for (int i = 0; i < COUNT; ++i) {
    done(isthmus_wait_event(space, &events[i]), "wait");
    must(memcmp(back + i * ROOM, piece + i, (size_t)(i % ROOM)) == 0, "what was begun");
  }
  must(memcmp(found, piece, sizeof piece) == 0, "a large one");
  meet();
  free(events);
  free(back);
}

/* A matrix whose columns are put and got, pieces of many sizes, and boxes that reach outside, of which nothing is
 * moved. */
static void pieces(void) {
  enum { SIDE = 150, LISTED = 400, ROOM = 300 };
  const uint32_t next = (rank + 1) % ranks;
  static double matrix[SIDE][SIDE], back[SIDE][SIDE];
  static isthmus_piece there[LISTED];
  static isthmus_block here[LISTED];
  const int64_t down = SIDE * sizeof(double), across = sizeof(double);
  const int64_t turned[] = {across, down}, straight[] = {down, across};
  const size_t whole[] = {SIDE, SIDE};
  uint64_t table;
  done(isthmus_allocate_all(space, sizeof matrix, &table), "table");
  for (int i = 0; i < SIDE; ++i)
    for (int k = 0; k < SIDE; ++k) matrix[i][k] = rank + i * 1000.0 + k;
  meet();
  done(isthmus_put_strided(space, next, table, turned, matrix, straight, sizeof(double), whole, 2), "transpose");
  done(isthmus_get_strided(space, back, straight, next, table, turned, sizeof(double), whole, 2), "transpose back");
  must(memcmp(back, matrix, sizeof matrix) == 0, "a matrix that was transposed twice");
  done(isthmus_get(space, back, next, table, sizeof back), "get");
  for (int i = 0; i < SIDE; ++i)
    for (int k = 0; k < SIDE; ++k) must(back[k][i] == matrix[i][k], "a transpose");
  meet();
  /* Pieces of up to 300 bytes at places in any order. */
  size_t bytes = 0;
  for (int i = 0; i < LISTED; ++i) {
    const size_t size = below(4) == 0 ? 8 : below(ROOM);
    there[i] = (isthmus_piece){table + (uint64_t)((i * 7) % LISTED) * ROOM, size};
    here[i] = (isthmus_block){piece + bytes, size};
    bytes += size;
  }
  fill(rank + 5, bytes);
  done(isthmus_put_vector(space, next, there, LISTED, here, LISTED), "put pieces");
  for (int i = 0; i < LISTED; ++i) here[i].pointer = found + ((unsigned char*)here[i].pointer - piece);
  memset(found, 0, bytes);
  done(isthmus_get_vector(space, here, LISTED, next, there, LISTED), "get pieces");
  must(memcmp(found, piece, bytes) == 0, "pieces");
  meet();
  /* The second row is outside: the first one is left alone. */
  const uint64_t extent = ((const isthmus_space_head*)space)->extent;
  const size_t two[] = {4, 2};
  const int64_t far_apart[] = {8, (int64_t)(extent - table)};
  double before[4], after[4];
  done(isthmus_get(space, before, next, table, sizeof before), "get");
  must(isthmus_put_strided(space, next, table, far_apart, matrix, straight, 8, two, 2) == ISTHMUS_INVALID, "outside");
  must(strstr(isthmus_last_error(), "isthmus_put_strided: ") != NULL, "who is outside");
  done(isthmus_get(space, after, next, table, sizeof after), "get");
  must(memcmp(before, after, sizeof before) == 0, "what is outside moves nothing");
  meet();
}

static void atomics(void) {
  uint64_t place, total = 0, before, seen;
  const uint64_t one = 1, bit = UINT64_C(1) << rank, others = ~bit;
  const int32_t low = -(int32_t)rank;
  const float half = 0.5F;
  double most = rank;
  done(isthmus_allocate_all(space, 64, &place), "allocate");
  done(isthmus_set(space, rank, place, 0, 64), "set");
  meet();
  for (int i = 0; i < 200; ++i) {
    const uint32_t to = (uint32_t)below(ranks);
    done(isthmus_atomic(space, to, place, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, i % 2 ? &before : NULL), "add");
    done(isthmus_atomic(space, 0, place + 8, ISTHMUS_F32, ISTHMUS_ATOMIC_ADD, &half, NULL, NULL), "add");
    done(isthmus_atomic(space, 0, place + 12, ISTHMUS_I32, ISTHMUS_ATOMIC_MIN, &low, NULL, NULL), "min");
    done(isthmus_atomic(space, 0, place + 16, ISTHMUS_F64, ISTHMUS_ATOMIC_MAX, &most, NULL, NULL), "max");
    for (;;) { /* a counter by comparison */
      done(isthmus_atomic(space, 0, place + 24, ISTHMUS_U64, ISTHMUS_ATOMIC_READ, NULL, NULL, &seen), "read");
      const uint64_t next = seen + 1;
      done(isthmus_atomic(space, 0, place + 24, ISTHMUS_U64, ISTHMUS_ATOMIC_SWAP_IF, &next, &seen, &before), "if");
      if (before == seen) break;
    }
    done(isthmus_atomic(space, 0, place + 32, ISTHMUS_U64, ISTHMUS_ATOMIC_XOR, &bit, NULL, NULL), "xor");
    done(isthmus_atomic(space, 0, place + 40, ISTHMUS_U64, ISTHMUS_ATOMIC_OR, &bit, NULL, NULL), "or");
  }
  done(isthmus_atomic(space, 0, place + 32, ISTHMUS_U64, ISTHMUS_ATOMIC_OR, &bit, NULL, NULL), "or");
  done(isthmus_atomic(space, 0, place + 40, ISTHMUS_U64, ISTHMUS_ATOMIC_AND, &others, NULL, &seen), "and");
  must((seen & bit) != 0, "or");
  must(isthmus_atomic(space, 0, place, ISTHMUS_F64, ISTHMUS_ATOMIC_XOR, &most, NULL, NULL) == ISTHMUS_INVALID, "xor");
  meet();
  for (uint32_t r = 0; r < ranks; ++r) {
    done(isthmus_get(space, &seen, r, place, sizeof seen), "get");
    total += seen;
  }
  must(total == 200 * (uint64_t)ranks, "sum of adds");
  done(isthmus_get(space, found, 0, place, 64), "get");
  float sum;
  int32_t least;
  memcpy(&sum, found + 8, sizeof sum), memcpy(&least, found + 12, sizeof least), memcpy(&most, found + 16, sizeof most);
  must(sum == 100.0F * (float)ranks && least == 1 - (int32_t)ranks && most == ranks - 1.0, "sum, least, most");
  memcpy(&seen, found + 24, sizeof seen);
  must(seen == 200 * (uint64_t)ranks, "counter by comparison");
  memcpy(&seen, found + 32, sizeof seen);
  must(seen == (UINT64_C(1) << ranks) - 1, "bits");
  memcpy(&seen, found + 40, sizeof seen);
  must(seen == 0, "bits that were cleared");
  meet();
}

static uint64_t asked[64], answers, landed;

static void on_ask(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                   void* data) {
  const uint32_t from = isthmus_token_rank(token);
  (void)data;
  must(arguments[0] == asked[from]++, "requests of a rank in their order");
  must(count >= 2 && arguments[1] == bytes && arguments[count - 1] == (count == 2 ? bytes : arguments[0] + count - 1),
       "arguments");
  for (size_t i = 0; i < bytes; ++i) must(((unsigned char*)payload)[i] == byte_of(arguments[0], i), "payload");
  if (arguments[0] % 3 == 0) return;
  done(isthmus_reply(token, ANSWER, arguments, 2, payload, arguments[0] % 3 == 1 ? bytes : 0), "reply");
}
static void on_answer(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                      void* data) {
  (void)token, (void)data;
  must(count == 2 && bytes == (arguments[0] % 3 == 1 ? arguments[1] : 0), "answer");
  for (size_t i = 0; i < bytes; ++i) must(((unsigned char*)payload)[i] == byte_of(arguments[0], i), "its payload");
  ++answers;
}
/* Sends what has landed back, to the other half of the landing place. */
static void on_land(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                    void* data) {
  (void)count, (void)data;
  must(payload == isthmus_cast(space, rank, arguments[1]), "where a payload lies");
  for (size_t i = 0; i < bytes; ++i) must(((unsigned char*)payload)[i] == byte_of(arguments[0], i), "what has landed");
  ++landed;
  if (arguments[2] == 0) return;
  const uint64_t back[3] = {arguments[0], arguments[2], 0};
  done(isthmus_reply_to(token, LAND, back, 3, payload, bytes, arguments[2]), "reply to");
}

static void messages(void) {
  const size_t largest = isthmus_most_payload(space);
  const uint64_t times = 400;
  uint64_t next[64] = {0}, expected = 0, board, total = 0;
  done(isthmus_handle(space, ASK, on_ask, NULL), "handle");
  done(isthmus_handle(space, ANSWER, on_answer, NULL), "handle");
  done(isthmus_handle(space, LAND, on_land, NULL), "handle");
  done(isthmus_allocate_all(space, 8 * (uint64_t)ranks, &board), "board");
  must(isthmus_request(space, 0, ASK, NULL, 0, piece, largest + 1) == ISTHMUS_INVALID, "too large");
  meet();
  for (uint64_t i = 0; i < times; ++i) {
    const uint32_t to = (uint32_t)below(ranks);
    const size_t bytes = size_below(largest);
    const uint32_t count = 2 + (uint32_t)below(15);
    uint64_t arguments[16] = {next[to]++, bytes};
    for (uint32_t k = 2; k < count; ++k) arguments[k] = arguments[0] + k;
    if (arguments[0] % 3) ++expected;
    if (i % 2) {
      fill(arguments[0], bytes);
      done(isthmus_request(space, to, ASK, arguments, count, piece, bytes), "request");
    } else {
      void* room;
      done(isthmus_prepare(space, to, bytes + below(largest - bytes + 1), &room), "prepare");
      fill(arguments[0], bytes);
      memcpy(room, piece, bytes);
      done(isthmus_commit(space, ASK, arguments, count, bytes), "commit");
    }
  }
  /* Thousands, with nothing in them, before anybody looks for an answer. */
  for (int i = 0; i < 3000; ++i) {
    const uint32_t to = (rank + 1) % ranks;
    uint64_t arguments[2] = {next[to]++, 0};
    if (arguments[0] % 3) ++expected;
    done(isthmus_request(space, to, ASK, arguments, 2, NULL, 0), "request");
  }
  while (answers < expected) done(isthmus_poll(space), "poll");
  for (uint32_t r = 0; r < ranks; ++r) done(isthmus_put(space, r, board + 8 * rank, &next[r], 8), "board");
  meet();
  for (uint32_t r = 0; r < ranks; ++r) {
    done(isthmus_get(space, &total, rank, board + 8 * r, 8), "board");
    while (asked[r] < total) done(isthmus_poll(space), "poll");
  }
  meet();
  /* Payloads that go into the space and come back. */
  uint64_t landing;
  const uint32_t to = (rank + 1) % ranks;
  done(isthmus_allocate_all(space, 2 * sizeof piece, &landing), "landing");
  for (int i = 1; i <= 20; ++i) {
    const size_t bytes = size_below(sizeof piece);
    const uint64_t arguments[3] = {(uint64_t)i, landing, landing + sizeof piece};
    fill((uint64_t)i, bytes);
    done(isthmus_request_to(space, to, LAND, arguments, 3, piece, bytes, landing), "request to");
    while (landed < 2 * (uint64_t)i) done(isthmus_poll(space), "poll");
    meet();
  }
}

/* A ring of signals, a counter under a lock, memory of all three kinds. */
static void synchronisation(void) {
  uint64_t place, counter;
  isthmus_mutex mutex, one_of_mine;
  done(isthmus_allocate_all(space, 8 + PART, &place), "place");
  done(isthmus_allocate_all(space, 8, &counter), "counter");
  done(isthmus_mutex_make_all(space, &mutex), "mutex");
  done(isthmus_mutex_make(space, &one_of_mine), "mutex");
  done(isthmus_set(space, rank, place, 0, 8), "set");
  done(isthmus_set(space, rank, counter, 0, 8), "set");
  meet();
  for (uint64_t turn = 1; turn <= 40; ++turn) {
    const size_t bytes = turn * turn * 30;
    fill(turn, bytes);
    if (rank > 0) done(isthmus_wait_signal(space, place, turn), "wait");
    done(isthmus_put_signal(space, (rank + 1) % ranks, place + 8, piece, bytes, place, turn), "signal");
    if (rank == 0) done(isthmus_wait_signal(space, place, turn), "wait");
    must(memcmp(isthmus_cast(space, rank, place + 8), piece, bytes) == 0, "what came with a signal");
    meet();
  }
  for (int i = 0; i < 60; ++i) {
    uint64_t value;
    if (i % 4 == 0)
      while (isthmus_try_lock(space, mutex) == ISTHMUS_IN_PROGRESS) done(isthmus_poll(space), "poll");
    else done(isthmus_lock(space, mutex), "lock");
    done(isthmus_get(space, &value, ranks / 2, counter, 8), "get");
    ++value;
    done(isthmus_put(space, ranks / 2, counter, &value, 8), "put");
    done(isthmus_unlock(space, mutex), "unlock");
  }
  meet();
  uint64_t counted;
  done(isthmus_get(space, &counted, ranks / 2, counter, 8), "get");
  must(counted == 60 * (uint64_t)ranks, "counter under a lock");
  meet();
  if (rank == ranks - 1) done(isthmus_mutex_free(space, mutex), "free");
  done(isthmus_mutex_free(space, one_of_mine), "free");
  const int64_t id = rank == ranks - 1 && ranks > 1 ? 8 : 7;
  must(isthmus_barrier(space, &id) == (ranks > 1 ? ISTHMUS_INVALID : ISTHMUS_DONE), "numbers that differ");
  done(isthmus_notify(space, NULL), "notify");
  int status;
  while ((status = isthmus_try_await(space)) == ISTHMUS_IN_PROGRESS) continue;
  done(status, "await");
}

/* Puts of which the next rank is told, whose memory is overwritten as soon as it may be: blocks, rows of a matrix,
 * lists of pieces, and messages whose payload lands. */
enum { PUTS = 4, PIECES = 40, WIDTH = 4000, LARGEST = PIECES * WIDTH };
static uint64_t landing;
static uint64_t told;
static size_t told_bytes(uint32_t from, int turn, int k) { /* of a piece */
  return (size_t)((from + 1) * 7919 + (uint32_t)(turn * 31 + k)) % ((turn + k) % 3 == 0 ? WIDTH : 60);
}
static int is_there(uint32_t from, int turn, int k) {
  const unsigned char* const memory =
      (const unsigned char*)isthmus_cast(space, rank, landing + (uint64_t)(k * LARGEST));
  const size_t each = told_bytes(from, turn, k);
  const int blocks = (turn + k) % 4 == 0 || (turn + k) % 4 == 3;
  for (size_t i = 0; i < PIECES; ++i)
    for (size_t b = 0; b < each; ++b) {
      const size_t at = blocks ? i * each + b : i * WIDTH + b;
      if (memory[at] != byte_of(from + (uint64_t)(turn + k), i * each + b)) return 0;
    }
  return 1;
}
static void tell(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload, size_t bytes,
                 void* data) {
  (void)payload, (void)bytes, (void)data;
  must(count == 2, "arguments");
  must(is_there(isthmus_token_rank(token), (int)arguments[0], (int)arguments[1]), "told before its bytes are there");
  ++told;
}
static void completions(void) {
  enum { TURNS = 60 };
  const uint32_t next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  static unsigned char own[PUTS][LARGEST];
  uint64_t signals;
  done(isthmus_allocate_all(space, PUTS * LARGEST, &landing), "landing");
  done(isthmus_allocate_all(space, 8 * PUTS, &signals), "signals");
  done(isthmus_set(space, rank, signals, 0, 8 * PUTS), "set");
  done(isthmus_handle(space, TELL, tell, NULL), "handle");
  meet();
  for (int turn = 0; turn < TURNS; ++turn) {
    isthmus_event events[PUTS] = {0}, local[PUTS] = {0};
    uint64_t messages = 0;
    told = 0;
    meet();
    for (int k = 0; k < PUTS; ++k) {
      const size_t each = told_bytes(rank, turn, k), all = each * PIECES, pieces_of = PIECES;
      const uint64_t at = landing + (uint64_t)(k * LARGEST);
      const int64_t wide = WIDTH, close = (int64_t)each;
      const uint64_t words[] = {(uint64_t)turn, (uint64_t)k};
      isthmus_completion how;
      memset(&how, 0, sizeof how);
      how.size = sizeof how;
      how.event = k % 2 == 0 ? &events[k] : NULL;
      how.local = (isthmus_local)((turn / 3 + k) % 3);
      how.local_event = &local[k];
      how.notice = (isthmus_notice)(turn % 3);
      how.signal = signals + 8 * (uint64_t)k, how.add = 2;
      how.handler = TELL, how.count = 2, how.arguments = words;
      for (size_t i = 0; i < all; ++i) own[k][i] = byte_of(rank + (uint64_t)(turn + k), i);
      if ((turn + k) % 4 == 0) done(isthmus_begin_put_with(space, next, at, own[k], all, &how), "put with");
      if ((turn + k) % 4 == 1)
        done(isthmus_begin_put_strided_with(space, next, at, &wide, own[k], &close, each, &pieces_of, 1, &how), "rows");
      if ((turn + k) % 4 == 2) {
        uint64_t places[PIECES];
        void* const from = own[k];
        for (uint64_t i = 0; i < PIECES; ++i) places[i] = at + i * WIDTH;
        done(isthmus_begin_put_indexed_with(space, next, places, PIECES, each, &from, 1, all, &how), "list with");
      }
      if ((turn + k) % 4 == 3) {
        done(isthmus_begin_request_to(space, next, TELL, words, 2, own[k], all, at, &local[k]), "request to");
        how.local = ISTHMUS_LOCAL_EVENT;
      }
      if (how.local == ISTHMUS_LOCAL_NOW) memset(own[k], 0, all);
    }
    for (int k = 0; k < PUTS; ++k) {
      done(isthmus_wait_event(space, &local[k]), "wait for memory");
      if ((turn / 3 + k) % 3 != ISTHMUS_LOCAL_LATER || (turn + k) % 4 == 3) memset(own[k], 0, sizeof own[k]);
    }
    for (int k = 0; k < PUTS; ++k) {
      if ((turn + k) % 4 == 3 || turn % 3 == ISTHMUS_NOTICE_MESSAGE) ++messages;
      else if (turn % 3 == ISTHMUS_NOTICE_SIGNAL) {
        done(isthmus_wait_signal(space, signals + 8 * (uint64_t)k, 2), "signal");
        must(is_there(before, turn, k), "a signal before its bytes");
      }
    }
    while (told < messages) done(isthmus_poll(space), "poll");
    for (int k = 0; k < PUTS; ++k) done(isthmus_wait_event(space, &events[k]), "wait");
    done(isthmus_wait_all(space), "all");
    meet();
    for (int k = 0; k < PUTS; ++k) must(is_there(before, turn, k), "what was put");
    must(told == messages, "every message once");
  }
  meet();
  if (rank == 0) done(isthmus_release(space, 0, landing), "release");
}

static void memory(void) {
  enum { COUNT = 20 };
  uint64_t board, mine[2 * COUNT], its[2 * COUNT], whole;
  uint32_t mark;
  const uint32_t other = (rank + 1) % ranks;
  done(isthmus_allocate_all(space, sizeof mine, &board), "board");
  for (int i = 0; i < COUNT; ++i) {
    done(isthmus_allocate_global(space, below(200000), &mine[i]), "global");
    done(isthmus_allocate(space, below(3000), &mine[COUNT + i]), "local");
    for (uint32_t r = 0; r < ranks; ++r) done(isthmus_put(space, r, mine[i], &rank, sizeof rank), "mark");
    done(isthmus_put(space, rank, mine[COUNT + i], &rank, sizeof rank), "mark");
  }
  done(isthmus_put(space, rank, board, mine, sizeof mine), "board");
  meet();
  done(isthmus_get(space, its, other, board, sizeof its), "board");
  for (int i = 0; i < 2 * COUNT; ++i) {
    done(isthmus_get(space, &mark, other, its[i], sizeof mark), "mark");
    must(mark == other, "somebody else wrote there");
  }
  meet();
  for (int i = 0; i < 2 * COUNT; ++i) done(isthmus_release(space, other, its[i]), "release");
  meet();
  must(isthmus_release(space, other, its[COUNT]) == ISTHMUS_INVALID, "released twice");
  must(isthmus_allocate_all(space, UINT64_C(1) << 40, &whole) == ISTHMUS_MEMORY, "too much");
  must(isthmus_allocate_global(space, UINT64_C(1) << 40, &whole) == ISTHMUS_MEMORY, "too much");
  meet();
}

/* Who casts what: the memory of ranks of the same node. */
static void casts(int per_node) {
  for (uint32_t r = 0; r < ranks; ++r) {
    const int shared =
        r == rank || per_node == 0 || (per_node > 0 && r / (uint32_t)per_node == rank / (uint32_t)per_node);
    must((isthmus_cast(space, r, 64) != NULL) == shared, "cast");
  }
}

int main(int argc, char** argv) {
  isthmus_team* team;
  int status;
#ifdef WITHOUT_MPI
  if ((status = isthmus_join(NULL, &team)) < 0) {
    printf("%d %s\n", status, isthmus_last_error());
    return 1;
  }
  rank = isthmus_rank(team), ranks = isthmus_ranks(team);
  const int own = (int)rank, size = (int)ranks;
#else
  int level, size, own;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank = (uint32_t)own, ranks = (uint32_t)size;
  done(isthmus_join_mpi(MPI_COMM_WORLD, &team), "join");
#endif
  state = strtoull(argv[1], NULL, 10) * 1000 + rank;
  const char* const mode = argc > 2 ? argv[2] : "";
  isthmus_space_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.symmetric = 64 << 20, options.local = 4 << 20;
  done(isthmus_space_make(team, &options, &space), "make");
  if (strcmp(mode, "dies") == 0) {
    if (own == size - 1) abort();
    do status = isthmus_barrier(space, NULL);
    while (status == ISTHMUS_DONE);
    printf("rank %d: %d %s\n", own, status, isthmus_last_error());
    fflush(stdout);
    _exit(0);
  }
#ifndef WITHOUT_MPI
  /* MPI's own messages are under way all the time. */
  int next = (own + 1) % size, before = (own + size - 1) % size, token = -1;
  MPI_Request requests[2];
  MPI_Irecv(&token, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &requests[0]);
#endif
  casts(argc > 3 ? atoi(argv[3]) : -1);
  transfers();
#ifndef WITHOUT_MPI
  MPI_Isend(&own, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
#endif
  begun();
  pieces();
  atomics();
  messages();
#ifndef WITHOUT_MPI
  for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  must(token == before, "a message of MPI");
#endif
  synchronisation();
  completions();
  memory();
  done(isthmus_space_leave(space), "leave");
  isthmus_leave(team);
  if (rank == 0) printf("all done\n");
  fflush(stdout);
#ifndef WITHOUT_MPI
  MPI_Finalize();
#endif
  return 0;
}
