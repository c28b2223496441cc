/* Time in single calls, while nothing else is under way; and what becomes of a message whose receive comes late. */
#include "team.h"

static char* out;
static char* in;

static int other(const Team* team) { return team->world[1 - team->me]; }

static void clear(double* values, int count) {
  for (int i = 0; i < count; i++) values[i] = 0;
}

static const char* room(const Item* item, const Team* team) {
  (void)team;
  const size_t bytes = (size_t)item_integer(item, "bytes");
  out = buffer_out(bytes);
  in = buffer_in(bytes);
  return out && in ? NULL : "there is not enough memory";
}

/* Seconds in MPI_Send of a message whose receive is posted so much later; valid at the first member. Meanwhile the
 * receiver is in the library now and then ("progress"), or computes. */
static double late_receive(const Team* team, int bytes, double hold, bool progress) {
  const int peer = other(team);
  double took = 0;
  meet(peer);
  if (team->me == 0) {
    const double begin = now();
    MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
    took = elapsed(begin);
  } else {
    const double until = now() + hold;
    while (now() < until) {
      int there;
      if (progress) MPI_Iprobe(peer, QUEUED, tests, &there, MPI_STATUS_IGNORE);
    }
    MPI_Recv(in, bytes, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
  }
  return took;
}

/* Both learn what the first member knows. */
static int agreed(const Team* team, int value) {
  const int peer = other(team);
  if (team->me == 0) MPI_Send(&value, 1, MPI_INT, peer, READY, tests);
  else MPI_Recv(&value, 1, MPI_INT, peer, READY, tests, MPI_STATUS_IGNORE);
  return value;
}

/* Whether a message leaves before its receive is posted, which the receiver does only when it hears that; the receiver
 * is in the library meanwhile. One try in three is enough, as something else may hold one of them up. */
static bool leaves(const Team* team, int bytes, double hold) {
  const int peer = other(team);
  int gone = 0;
  for (int i = 0; i < 3 && !gone; i++) {
    meet(peer);
    if (team->me == 0) {
      MPI_Request request;
      const double begin = now();
      MPI_Isend(out, bytes, MPI_BYTE, peer, TIMED, tests, &request);
      do MPI_Test(&request, &gone, MPI_STATUS_IGNORE);
      while (!gone && now() - begin < hold);
      gone = agreed(team, gone);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      gone = agreed(team, 0);
      MPI_Recv(in, bytes, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
    }
  }
  return gone;
}

/* Whether MPI_Send of so many bytes returns before the receive is posted. */
static bool eager_at(const Team* team, int bytes, double hold, bool progress) {
  if (progress) return leaves(team, bytes, hold);
  bool eager = false;
  for (int i = 0; i < 3 && !eager; i++) eager = agreed(team, late_receive(team, bytes, hold, false) < hold / 2);
  return eager;
}

static int receivecall(const Item* item, const Team* team, int count, double* values);

static const char* prepare_receive(Item* item, const Team* team) {
  const char* reason = room(item, team);
  const int bytes = (int)item_integer(item, "bytes");
  if (reason) return reason;
  /* One that waits can still be received: what it takes from the first call on, the transfer included. */
  if (!item_is(item, "how", "posted") && agreed(team, !eager_at(team, bytes, 5e-3, true))) {
    return "messages of this size wait for their receive: none can be there already";
  }
  find_trips(item, team, receivecall);
  return NULL;
}

static int sendcall(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  const double pause = item_real(item, "pause");
  (void)room(item, team);
  meet(peer);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    MPI_Request request;
    if (team->me == 1) {
      MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request);
      tell(peer);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    hear(peer);
    spin(pause);
    const double begin = now();
    MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
    values[i / item->trips] += elapsed(begin) / item->trips;
  }
  return team->me ? 0 : count;
}

/* Seconds in MPI_Isend, or in the MPI_Wait for it once the message has arrived. */
static int nonblocking(const Item* item, const Team* team, int count, double* values, bool waiting) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  const double pause = item_real(item, "pause");
  (void)room(item, team);
  meet(peer);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    MPI_Request request;
    if (team->me == 1) {
      MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request);
      tell(peer);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      continue;
    }
    hear(peer);
    spin(pause);
    double begin = now(), took;
    MPI_Isend(out, bytes, MPI_BYTE, peer, TIMED, tests, &request);
    took = elapsed(begin);
    if (waiting) spin(pause);
    begin = now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (waiting) took = elapsed(begin);
    values[i / item->trips] += took / item->trips;
  }
  return team->me ? 0 : count;
}

static int isendcall(const Item* item, const Team* team, int count, double* values) {
  return nonblocking(item, team, count, values, false);
}

static int waitcall(const Item* item, const Team* team, int count, double* values) {
  return nonblocking(item, team, count, values, true);
}

/* Seconds in calls until a message is there whose transfer may not go on without them. Between calls the processor is
 * free: a library that only waits for the network needs it for none of the transfer, one that copies for all of it. */
static double within_tests(MPI_Request* request, double pause) {
  double within = 0;
  for (int done = 0;;) {
    const double begin = now();
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    within += elapsed(begin);
    if (done) return within;
    spin(pause);
  }
}

/* Bytes that a network holds while nobody reads: a receive of more may have to wait for the rest. */
enum { HELD = 32 << 10 };

/* Time of receiving, at the second member; it hands its values to the first. A message whose receive is not posted is
 * waited for outside the library: looking for it there (MPI_Probe) reads it from the network, which belongs to the
 * receive. */
static int receivecall(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  const double pause = item_real(item, "pause");
  const bool posted = item_is(item, "how", "posted"), whole = !posted && bytes <= HELD;
  (void)room(item, team);
  meet(peer);
  /* The first only show how long it takes; of those that wait for their receive, which are large, one is enough. */
  const int shown = posted ? 1 : 2;
  if (team->me == 0) {
    for (int i = -shown; i < count * item->trips; i++) {
      hear(peer);
      MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
    }
    MPI_Recv(values, count, MPI_DOUBLE, peer, READY, tests, MPI_STATUS_IGNORE);
    return count;
  }
  /* Long enough for a message to arrive: twice the time that one takes from call to call. */
  double arrives = 0;
  clear(values, count);
  for (int i = -shown; i < count * item->trips; i++) {
    MPI_Request request;
    if (posted) MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request);
    tell(peer);
    const double told = now();
    if (i >= 0) spin(2 * arrives + pause);
    const double begin = now();
    double took = 0;
    if (whole) {
      MPI_Recv(in, bytes, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
      took = elapsed(begin);
    } else {
      if (!posted) {
        MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request);
        took = elapsed(begin);
      }
      /* So few tests that they cost nothing beside the transfer. */
      took += within_tests(&request, pause > arrives / 64 ? pause : arrives / 64);
    }
    if (i >= 0) values[i / item->trips] += took / item->trips;
    else arrives = elapsed(told);
  }
  MPI_Send(values, count, MPI_DOUBLE, peer, READY, tests);
  return 0;
}

static int irecvcall(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes"), peer = other(team);
  (void)room(item, team);
  meet(peer);
  clear(values, count);
  for (int i = 0; i < count * item->trips; i++) {
    if (team->me == 1) {
      hear(peer);
      MPI_Send(out, bytes, MPI_BYTE, peer, TIMED, tests);
      continue;
    }
    MPI_Request request;
    const double begin = now();
    MPI_Irecv(in, bytes, MPI_BYTE, peer, TIMED, tests, &request);
    values[i / item->trips] += elapsed(begin) / item->trips;
    tell(peer);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return team->me ? 0 : count;
}

static int eager(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes");
  const double hold = item_real(item, "hold");
  const bool progress = item_integer(item, "progress") != 0;
  (void)room(item, team);
  for (int i = 0; i < count; i++) values[i] = late_receive(team, bytes, hold, progress);
  return team->me ? 0 : count;
}

static const char* room_for_threshold(const Item* item, const Team* team) {
  (void)team;
  const size_t most = (size_t)item_integer(item, "most");
  out = buffer_out(most);
  in = buffer_in(most);
  return out && in ? NULL : "there is not enough memory";
}

/* The largest message that does not wait for its receive; 0 if all wait, `most` if none up to there does. */
static int threshold(const Item* item, const Team* team, int count, double* values) {
  const int most = (int)item_integer(item, "most");
  const double hold = item_real(item, "hold");
  const bool progress = item_integer(item, "progress") != 0;
  (void)room_for_threshold(item, team);
  for (int i = 0; i < count; i++) {
    int low = 0, high = 1;
    /* From below, since on slow links large messages take long. */
    while (eager_at(team, high, hold, progress)) {
      low = high;
      if (high == most) break;
      high = high > most / 8 ? most : 8 * high;
    }
    /* low is eager (or 0), high is not, or both are `most`. */
    while (high - low > 1) {
      const int middle = low + (high - low) / 2;
      if (eager_at(team, middle, hold, progress)) low = middle;
      else high = middle;
    }
    values[i] = low;
  }
  return team->me ? 0 : count;
}

/* Preparing finds how many calls a repetition is the mean of. */
#define CALL(name)                                                  \
  static const char* prepare_##name(Item* item, const Team* team) { \
    const char* reason = room(item, team);                          \
    if (!reason) find_trips(item, team, name);                      \
    return reason;                                                  \
  }                                                                 \
  const Code code_##name = {prepare_##name, name, false};
CALL(sendcall)
CALL(isendcall)
CALL(waitcall)
CALL(irecvcall)

static const char* prepare_eager(Item* item, const Team* team) { return room(item, team); }
static const char* prepare_threshold(Item* item, const Team* team) { return room_for_threshold(item, team); }

const Code code_receivecall = {prepare_receive, receivecall, false};
const Code code_eager = {prepare_eager, eager, false};
const Code code_threshold = {prepare_threshold, threshold, false};
