/* Clocks are compared by ping-pongs of which the fastest counts, as its two ways are the most alike; the drift is the
 * slope of the last comparisons (Hunold and Carpen-Amarie, "Hierarchical clock synchronization in MPI", 2018). */
#include "global_clock.h"

#include <stdlib.h>

bool measured_clocks;
int* boot_of;

enum { TRIPS = 25, KEPT = 10 };

typedef struct {
  MPI_Comm comm;
  int count;
  double time[KEPT], ahead[KEPT];
} History;

static History* history_of(MPI_Comm comm) {
  static History* known[64];
  static int count;
  for (int i = 0; i < count; i++) {
    if (known[i]->comm == comm) return known[i];
  }
  History* fresh = calloc(1, sizeof *fresh);
  fresh->comm = comm;
  if (count < 64) known[count++] = fresh;
  return fresh;
}

/* Slope by least squares once the comparisons span a second; before, they say nothing of it. */
static Offset fitted(const History* h) {
  const int n = h->count < KEPT ? h->count : KEPT, last = (h->count - 1) % KEPT;
  Offset out = {h->ahead[last], 0, h->time[last]};
  double least = h->time[last];
  for (int i = 0; i < n; i++) least = h->time[i] < least ? h->time[i] : least;
  if (n < 3 || h->time[last] - least < 1) return out;
  double t = 0, a = 0, tt = 0, ta = 0;
  for (int i = 0; i < n; i++) {
    t += (h->time[i] - least) / n;
    a += h->ahead[i] / n;
  }
  for (int i = 0; i < n; i++) {
    tt += (h->time[i] - least - t) * (h->time[i] - least - t);
    ta += (h->time[i] - least - t) * (h->ahead[i] - a);
  }
  out.drift = ta / tt;
  out.reference = least + t;
  out.ahead = a;
  return out;
}

static void serve(MPI_Comm comm, int client, const Offset* mine) {
  for (int i = 0; i < TRIPS; i++) {
    MPI_Recv(NULL, 0, MPI_BYTE, client, READY, comm, MPI_STATUS_IGNORE);
    const double time = now(), global = time + ahead(mine, time);
    MPI_Send(&global, 1, MPI_DOUBLE, client, READY, comm);
  }
}

static Offset compare(MPI_Comm comm, int server) {
  History* h = history_of(comm);
  double fastest = 1e9;
  const int at = h->count++ % KEPT;
  for (int i = 0; i < TRIPS; i++) {
    double global;
    const double begin = now();
    MPI_Send(NULL, 0, MPI_BYTE, server, READY, comm);
    MPI_Recv(&global, 1, MPI_DOUBLE, server, READY, comm, MPI_STATUS_IGNORE);
    const double end = now();
    if (end - begin >= fastest) continue;
    fastest = end - begin;
    h->time[at] = (begin + end) / 2;
    h->ahead[at] = global - h->time[at];
  }
  return fitted(h);
}

/* The first member of every clock, in order; every member, where clocks are to be measured. Returns the place of this
 * rank, or -1. */
static int leaders_of(const Team* team, int* leader, int* count) {
  int place = -1;
  *count = 0;
  for (int i = 0; i < team->size; i++) {
    bool first = true;
    for (int k = 0; k < i && !measured_clocks; k++) first &= boot_of[team->world[k]] != boot_of[team->world[i]];
    if (!first) continue;
    if (i == team->me) place = *count;
    leader[(*count)++] = i;
  }
  return place;
}

Offset global_clock(const Team* team) {
  Offset mine = {0, 0, 0};
  int* leader = malloc(sizeof *leader * (size_t)team->size);
  int count;
  const int place = leaders_of(team, leader, &count);
  for (int step = 1; step < count && place >= 0; step *= 2) {
    if (place < step && place + step < count) serve(team->comm, leader[place + step], &mine);
    if (place >= step && place < 2 * step) mine = compare(team->comm, leader[place - step]);
  }
  if (count > 1 && !measured_clocks) {
    for (int i = 0; i < count; i++) {
      for (int k = leader[i] + 1; k < team->size; k++) {
        if (boot_of[team->world[k]] != boot_of[team->world[leader[i]]]) continue;
        if (team->me == leader[i]) MPI_Send(&mine, 3, MPI_DOUBLE, k, READY, team->comm);
        if (team->me == k) MPI_Recv(&mine, 3, MPI_DOUBLE, leader[i], READY, team->comm, MPI_STATUS_IGNORE);
      }
    }
  }
  free(leader);
  return mine;
}
