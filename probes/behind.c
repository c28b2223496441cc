/* A round trip of empty messages to the third member while a large one is on its way to the second: how long messages
 * wait for one that another connection of their host sends. */
#include "team.h"

static const char* prepare(Item* item, const Team* team) {
  const size_t bytes = (size_t)item_integer(item, "bytes");
  if (team->size != 3) return "members= must be three ranks";
  return buffer_out(bytes) && buffer_in(bytes) ? NULL : "there is not enough memory";
}

/* Seconds of a round trip to the third member, asked for when the large message has been under way for so long; how
 * long that took goes to `whole`. */
static double asked(const Team* team, int bytes, double after, double* whole) {
  MPI_Request request;
  int done = 0;
  const double begin = now();
  MPI_Isend(buffer_out((size_t)bytes), bytes, MPI_BYTE, team->world[1], TIMED, tests, &request);
  while (!done && now() - begin < after) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  const double ask = now();
  MPI_Send(NULL, 0, MPI_BYTE, team->world[2], QUEUED, tests);
  MPI_Recv(NULL, 0, MPI_BYTE, team->world[2], QUEUED, tests, MPI_STATUS_IGNORE);
  const double took = elapsed(ask);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  *whole = now() - begin;
  return took;
}

/* The first message of a batch says how long one takes; others are asked beside at its half. */
static int behind(const Item* item, const Team* team, int count, double* values) {
  const int bytes = (int)item_integer(item, "bytes");
  double whole = 0;
  for (int i = -1; i < count; i++) {
    if (team->me == 1) {
      MPI_Request request;
      MPI_Irecv(buffer_in((size_t)bytes), bytes, MPI_BYTE, team->world[0], TIMED, tests, &request);
      tell(team->world[0]);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (team->me == 2) {
      MPI_Recv(NULL, 0, MPI_BYTE, team->world[0], QUEUED, tests, MPI_STATUS_IGNORE);
      MPI_Send(NULL, 0, MPI_BYTE, team->world[0], QUEUED, tests);
    } else {
      hear(team->world[1]);
      const double took = asked(team, bytes, whole / 2, &whole);
      if (i >= 0) values[i] = took;
    }
  }
  return team->me ? 0 : count;
}

const Code code_behind = {prepare, behind, false};
