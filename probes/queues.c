/* Finding a message behind others: half a ping-pong of empty messages while `length` other messages wait on both sides,
 * posted and not arrived ("posted"), or arrived and not asked for ("unexpected"). */
#include "team.h"

static int other(const Team* team) { return team->world[1 - team->me]; }

static int queue(const Item* item, const Team* team, int count, double* values);

static const char* prepare_queue(Item* item, const Team* team) {
  if (!requests((int)item_integer(item, "length"))) return "there is not enough memory";
  find_trips(item, team, queue);
  return NULL;
}

static void pingpong(const Team* team, int peer) {
  for (int k = 0; k < 2; k++) {
    if (k == team->me) MPI_Send(NULL, 0, MPI_BYTE, peer, TIMED, tests);
    else MPI_Recv(NULL, 0, MPI_BYTE, peer, TIMED, tests, MPI_STATUS_IGNORE);
  }
}

static int queue(const Item* item, const Team* team, int count, double* values) {
  const int length = (int)item_integer(item, "length"), peer = other(team);
  const bool posted = item_is(item, "kind", "posted");
  MPI_Request* request = requests(length);
  meet(peer);
  for (int k = 0; k < length; k++) {
    if (posted) MPI_Irecv(NULL, 0, MPI_BYTE, peer, QUEUED, tests, &request[k]);
    else MPI_Send(NULL, 0, MPI_BYTE, peer, QUEUED, tests);
  }
  /* Behind these messages: the others are there when it is. */
  meet(peer);
  double begin = now();
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < item->trips; k++) pingpong(team, peer);
    const double end = now(), took = end - begin - clock_cost();
    values[i] = took > 0 ? took / (2 * item->trips) : 0;
    begin = end;
  }
  for (int k = 0; k < length; k++) {
    if (posted) MPI_Send(NULL, 0, MPI_BYTE, peer, QUEUED, tests);
    else MPI_Recv(NULL, 0, MPI_BYTE, peer, QUEUED, tests, MPI_STATUS_IGNORE);
  }
  if (posted) MPI_Waitall(length, request, MPI_STATUSES_IGNORE);
  return team->me ? 0 : count;
}

const Code code_queue = {prepare_queue, queue, false};
