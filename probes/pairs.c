/* Messages between two ranks: ping-pong, also of data that was just written, PRTT(n, d, s), both directions, bursts,
 * windows; and around a ring.
 *
 * PRTT is the parametrised round trip of Hoefler, Lichei and Rehm, "Low-overhead LogGP parameter assessment for modern
 * interconnection networks", 2007: n messages of s bytes with d seconds between them, answered by one of s bytes. */
#include <string.h>

#include "team.h"

static char* out;
static char* in;

static const char* room(const Item* item, const Team* team) {
  (void)team;
  const size_t bytes = (size_t)item_integer(item, "bytes");
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  const bool enough = out && in && requests(2 * (int)item_integer(item, "n"));
  return enough ? NULL : "there is not enough memory";
}

static void send(int bytes, int to) { MPI_Send(out, bytes, MPI_BYTE, to, TIMED, tests); }
static void receive(int bytes, int from) { MPI_Recv(in, bytes, MPI_BYTE, from, TIMED, tests, MPI_STATUS_IGNORE); }

static int other(const Team* team) { return team->world[1 - team->me]; }

static void setup(const Item* item, const Team* team) {
  (void)room(item, team);
  meet(other(team));
}

/* Seconds since a reading, which becomes the present one: the end of one repetition is the beginning of the next. */
static double since(double* begin) {
  const double end = now(), took = end - *begin - clock_cost();
  *begin = end;
  return took > 0 ? took : 0;
}

static void clear(double* values, int count) {
  for (int i = 0; i < count; i++) values[i] = 0;
}

static int pingpong(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  setup(item, team);
  if (team->me == 1) {
    for (int i = 0; i < count * item->trips; i++) {
      receive(bytes, peer);
      send(bytes, peer);
    }
    return 0;
  }
  double begin = now();
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < item->trips; k++) {
      send(bytes, peer);
      receive(bytes, peer);
    }
    values[i] = since(&begin) / (2 * item->trips);
  }
  return count;
}

/* The second is there; when the first one returns, it is through with saying so. */
static void agree(const Team* team, int peer) {
  if (team->me == 1) tell(peer);
  else hear(peer), spin(2e-6);
}

/* Both write what they send before a round trip: it is in their caches, and in no other. */
static int fresh(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  setup(item, team);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    memset(out, i, (size_t)bytes);
    agree(team, peer);
    if (team->me == 1) {
      receive(bytes, peer);
      send(bytes, peer);
      continue;
    }
    const double begin = now();
    send(bytes, peer);
    receive(bytes, peer);
    values[i / item->trips] += elapsed(begin) / (2 * item->trips);
  }
  return team->me ? 0 : count;
}

static int prtt(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), n = (int)item_integer(item, "n"), peer = other(team);
  const double delay = item_real(item, "delay");
  const bool posted = item_integer(item, "posted") != 0;
  MPI_Request* request = requests(n);
  setup(item, team);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    if (team->me == 1) {
      for (int k = 0; posted && k < n; k++) MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request[k]);
      agree(team, peer);
      if (posted) MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
      for (int k = 0; !posted && k < n; k++) receive(bytes, peer);
      send(bytes, peer);
      continue;
    }
    agree(team, peer);
    const double begin = now();
    send(bytes, peer);
    for (int k = 1; k < n; k++) {
      spin(delay);
      send(bytes, peer);
    }
    receive(bytes, peer);
    values[i / item->trips] += elapsed(begin) / item->trips;
  }
  return team->me ? 0 : count;
}

static int sendrecv(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  setup(item, team);
  double begin = now();
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < item->trips; k++) {
      MPI_Sendrecv(out, bytes, MPI_BYTE, peer, TIMED, in, bytes, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
    }
    values[i] = since(&begin) / item->trips;
  }
  return team->me ? 0 : count;
}

/* Streams of n messages; the other answers with an empty one, or at once with as many in the other direction. */
static int stream(const Item* item, const Team* team, int count, double* values, bool both, double share) {
  const int bytes = (int)item_integer(item, "bytes"), n = (int)item_integer(item, "n"), peer = other(team);
  MPI_Request* request = requests(2 * n);
  setup(item, team);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    int posted = 0;
    if (team->me == 1 || both) {
      for (; posted < n; posted++) MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request[posted]);
    }
    if (team->me == 1) tell(peer);
    else hear(peer);
    const double begin = now();
    if (team->me == 0 || both) {
      for (int k = 0; k < n; k++) MPI_Isend(out, bytes, MPI_BYTE, peer, TIMED, tests, &request[posted++]);
    }
    MPI_Waitall(posted, request, MPI_STATUSES_IGNORE);
    if (team->me == 1) {
      tell(peer);
    } else {
      hear(peer);
      values[i / item->trips] += share * elapsed(begin) / item->trips;
    }
  }
  return team->me ? 0 : count;
}

static int burst(const Item* item, const Team* team, int count, double* values) {
  return stream(item, team, count, values, false, 1);
}

static int bidirectional(const Item* item, const Team* team, int count, double* values) {
  return stream(item, team, count, values, true, 1.0 / (double)item_integer(item, "n"));
}

/* As streaming bandwidth is measured everywhere: windows follow each other, receives of the next one are posted while
 * the answer is on its way. */
static int window(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), n = (int)item_integer(item, "n"), peer = other(team);
  MPI_Request* request = requests(n);
  setup(item, team);
  double begin = now();
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    for (int k = 0; k < n; k++) {
      if (team->me == 0) MPI_Isend(out, bytes, MPI_BYTE, peer, TIMED, tests, &request[k]);
      else MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request[k]);
    }
    MPI_Waitall(n, request, MPI_STATUSES_IGNORE);
    if (team->me == 1) {
      tell(peer);
      continue;
    }
    hear(peer);
    values[i / item->trips] += since(&begin) / n / item->trips;
  }
  return team->me ? 0 : count;
}

static int ring(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes");
  const int right = (team->me + 1) % team->size, left = (team->me + team->size - 1) % team->size;
  (void)room(item, team);
  MPI_Barrier(team->comm);
  double begin = now();
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < item->trips; k++) {
      MPI_Sendrecv(out, bytes, MPI_BYTE, right, TIMED, in, bytes, MPI_BYTE, left, TIMED, team->comm, MPI_STATUS_IGNORE);
    }
    values[i] = since(&begin) / item->trips;
  }
  return team->me ? 0 : count;
}

/* Preparing finds how many trips a repetition has. */
#define PAIR(name, comm)                                            \
  static const char* prepare_##name(Item* item, const Team* team) { \
    const char* reason = room(item, team);                          \
    if (!reason) find_trips(item, team, name);                      \
    return reason;                                                  \
  }                                                                 \
  const Code code_##name = {prepare_##name, name, comm};
PAIR(pingpong, false)
PAIR(fresh, false)
PAIR(prtt, false)
PAIR(sendrecv, false)
PAIR(burst, false)
PAIR(window, false)
PAIR(bidirectional, false)
PAIR(ring, true)
