/* Rates of messages as applications see them: several peers, both directions, emptied caches. The four patterns are
 * those of Sandia's micro-benchmark of message rates: one direction ("single"), exchanges with one peer after another
 * ("pair"), with all at once, receives posted before ("prepost") or together with sends ("allstart"). And what the
 * interface of a node takes from many ranks at once (Gropp, Olson and Samfass, "Modeling MPI communication performance
 * on SMP nodes: is it time to retire the ping pong test", 2016). */
#include <stdlib.h>

#include "team.h"

static char* out;
static char* in;

/* Reads and writes as many bytes as caches hold. */
static void empty_caches(size_t bytes) {
  static char* memory;
  static size_t room;
  if (room < bytes) {
    free(memory);
    memory = calloc(bytes, 1);
    room = memory ? bytes : 0;
  }
  for (size_t i = 0; i < room; i += 64) memory[i]++;
}

static const char* prepare_rate(Item* item, const Team* team) {
  const long peers = item_integer(item, "peers"), stride = item_integer(item, "stride");
  const size_t bytes = (size_t)item_integer(item, "bytes");
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  if (!out || !in || !requests((int)(2 * peers * item_integer(item, "count")))) return "there is not enough memory";
  if (team->size < 2) return "at least two ranks are needed";
  if (item_is(item, "mode", "single")) {
    if (team->size % 2) return "an even number of ranks is needed, as one half sends to the other";
    return NULL;
  }
  for (long j = 0; j < peers; j++) {
    if ((j / 2 + 1) * stride % team->size == 0) return "there are more peers than other ranks";
  }
  return NULL;
}

/* Half of the peers lie above, half below; who is sent to by rank r is received from by r + that. */
static int distance(const Item* item, int j) {
  const int there = (j / 2 + 1) * (int)item_integer(item, "stride");
  return j % 2 ? -there : there;
}

static int around(const Team* team, int rank) { return ((rank % team->size) + team->size) % team->size; }

typedef struct {
  const Team* team;
  int bytes, count, posted;
  MPI_Request* request;
} Flight;

static void receive(Flight* f, int from) {
  for (int k = 0; k < f->count; k++) {
    MPI_Irecv(in, f->bytes, MPI_BYTE, from, TIMED, f->team->comm, &f->request[f->posted++]);
  }
}

static void send(Flight* f, int to) {
  for (int k = 0; k < f->count; k++) {
    MPI_Isend(out, f->bytes, MPI_BYTE, to, TIMED, f->team->comm, &f->request[f->posted++]);
  }
}

static void finish(Flight* f) {
  MPI_Waitall(f->posted, f->request, MPI_STATUSES_IGNORE);
  f->posted = 0;
}

static double single(Flight* f, int peers) {
  const int half = f->team->size / 2, me = f->team->me;
  MPI_Barrier(f->team->comm);
  const double begin = now();
  for (int j = 0; j < peers; j++) {
    if (me < half) send(f, half + (me + j) % half);
    else receive(f, (me - half - j % half + half) % half);
  }
  finish(f);
  return elapsed(begin);
}

static double both_ways(Flight* f, const Item* item, int peers) {
  const bool pair = item_is(item, "mode", "pair"), before = item_is(item, "mode", "prepost");
  const int me = f->team->me;
  for (int j = 0; before && j < peers; j++) receive(f, around(f->team, me - distance(item, j)));
  MPI_Barrier(f->team->comm);
  const double begin = now();
  for (int j = 0; j < peers; j++) {
    if (!before) receive(f, around(f->team, me - distance(item, j)));
    if (pair) {
      send(f, around(f->team, me + distance(item, j)));
      finish(f);
    }
  }
  for (int j = 0; !pair && j < peers; j++) send(f, around(f->team, me + distance(item, j)));
  finish(f);
  return elapsed(begin);
}

/* Seconds per message that a rank sends: until the last rank is through. */
static int rate(const Item* item, const Team* team, int count, double* values) {
  const int peers = (int)item_integer(item, "peers"), messages = (int)item_integer(item, "count");
  const bool cold = item_integer(item, "cold") != 0;
  const size_t bytes = (size_t)item_integer(item, "bytes");
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  Flight flight = {team, (int)bytes, messages, 0, requests(2 * peers * messages)};
  for (int i = 0; i < count; i++) {
    if (cold) empty_caches((size_t)item_integer(item, "cache"));
    const double took = item_is(item, "mode", "single") ? single(&flight, peers) : both_ways(&flight, item, peers);
    values[i] = took / (peers * messages);
  }
  greatest(team, values, count);
  return team->me ? 0 : count;
}

/* -- injection */

/* The partner of this rank, and whether it sends: as the item lists, or ranks of the first host to those of the second,
 * or the first half of the ranks to the second where there is but one host. -1: it does nothing. */
static int partner(const Item* item, int senders, bool* sends, int* pairs) {
  const char* reason;
  int count = 0, first = 0, second = 0;
  int* listed = pairs_of(item, &count, &reason);
  int other = -1;
  *pairs = 0;
  if (count == 0) {
    bool several = false;
    for (int r = 0; r < world_size; r++) several |= host_of[r] != 0;
    int* a = malloc(sizeof *a * 2 * (size_t)world_size);
    int* b = a + world_size;
    for (int r = 0; r < world_size; r++) {
      const int side = several ? host_of[r] : r >= world_size / 2;
      if (side == 0) a[first++] = r;
      else if (side == 1) b[second++] = r;
    }
    count = first < second ? first : second;
    free(listed);
    listed = malloc(sizeof *listed * 2 * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
      listed[2 * i] = a[i];
      listed[2 * i + 1] = b[i];
    }
    free(a);
  }
  *pairs = count < senders ? count : senders;
  for (int i = 0; i < *pairs; i++) {
    for (int k = 0; k < 2; k++) {
      if (listed[2 * i + k] != world_rank) continue;
      other = listed[2 * i + 1 - k];
      *sends = k == 0;
    }
  }
  free(listed);
  return other;
}

static const char* prepare_inject(Item* item, const Team* team) {
  (void)team;
  bool sends;
  int pairs;
  const size_t bytes = (size_t)item_integer(item, "bytes");
  (void)partner(item, (int)item_integer(item, "senders"), &sends, &pairs);
  if (pairs < item_integer(item, "senders")) return "there are not so many pairs of ranks";
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  return out && in && requests((int)item_integer(item, "n")) ? NULL : "there is not enough memory";
}

/* Seconds per byte of all senders together. */
static int inject(const Item* item, const Team* team, int count, double* values) {
  const int n = (int)item_integer(item, "n"), bytes = (int)item_integer(item, "bytes");
  bool sends = false;
  int pairs;
  const int other = partner(item, (int)item_integer(item, "senders"), &sends, &pairs);
  out = buffer_out((size_t)bytes);
  in = buffer_in((size_t)bytes);
  MPI_Request* request = requests(n);
  for (int i = 0; i < count; i++) {
    for (int k = 0; other >= 0 && !sends && k < n; k++) {
      MPI_Irecv(in, bytes, MPI_BYTE, other, TIMED, tests, &request[k]);
    }
    MPI_Barrier(team->comm);
    const double begin = now();
    if (other >= 0) {
      for (int k = 0; sends && k < n; k++) MPI_Isend(out, bytes, MPI_BYTE, other, TIMED, tests, &request[k]);
      MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
      if (sends) hear(other);
      else tell(other);
    }
    values[i] = other >= 0 ? elapsed(begin) / ((double)pairs * n * (bytes ? bytes : 1)) : 0;
  }
  greatest(team, values, count);
  return team->me ? 0 : count;
}

const Code code_rate = {prepare_rate, rate, true};
const Code code_inject = {prepare_inject, inject, true};
