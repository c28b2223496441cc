#include "starts.h"

#include <stdlib.h>
#include <string.h>

Known* known_of(const Item* item) {
  static Known** all;
  static int count;
  for (int i = 0; i < count; i++) {
    if (all[i]->item == item) return all[i];
  }
  all = realloc(all, sizeof *all * (size_t)(count + 1));
  all[count] = calloc(1, sizeof **all);
  all[count]->item = item;
  return all[count++];
}

Start agree(const Item* item, const Team* team, const Offset* offset) {
  Start start = {0};
  if (team->me == 0) {
    const Known* known = known_of(item);
    start = (Start){0, crowded || known->late > 5 ? 0 : known->window, known->compute};
    const double time = now();
    start.first = time + ahead(offset, time) + 2e-4 + 2 * known->window;
  }
  MPI_Bcast(&start, 3, MPI_DOUBLE, 0, team->comm);
  return start;
}

double wait_for(const Start* start, int i, const Offset* offset, const Team* team, double* begun) {
  if (start->window == 0) {
    MPI_Barrier(team->comm);
    *begun = now();
    return *begun;
  }
  const double global = start->first + i * start->window;
  const double target = global - ahead(offset, global - offset->ahead);
  do *begun = now();
  while (*begun < target);
  return target;
}

void gather(const Team* team, double* end, double* start, double* early, int count) {
  for (int i = 0; i < count; i++) early[i] = -early[i];
  greatest(team, end, count);
  greatest(team, start, count);
  greatest(team, early, count);
  for (int i = 0; i < count; i++) early[i] = -early[i];
}

bool in_time(const Start* start, double latest) {
  const double allowed = 0.02 * start->window > 1e-6 ? 0.02 * start->window : 1e-6;
  return start->window == 0 || latest <= allowed;
}

void learn(const Item* item, const Start* start, int taken, int count) {
  Known* known = known_of(item);
  if (taken * 4 < count * 3 && known->window < 1) known->window *= 2;
  known->late = taken ? 0 : known->late + 1;
  if (known->late == 6 && world_rank == 0 && start->window > 0) {
    journal_add("machine behind_barriers.%s starts were late", item->id);
    journal_end_line();
  }
}

double* columns(int count) {
  static double* memory;
  static int room;
  if (room < count) {
    free(memory);
    memory = malloc(sizeof *memory * 8 * (size_t)count);
    room = count;
  }
  return memory;
}
