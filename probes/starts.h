/* Starts at agreed times of one clock, as a barrier lets its ranks go at different times. Starts that were late are
 * left out. Where no start is in time, or ranks share cores, ranks begin behind a barrier. */
#ifndef ISTHMUS_STARTS_H
#define ISTHMUS_STARTS_H

#include "global_clock.h"

/* What the first member knows of an item. */
typedef struct {
  const Item* item;
  double window;  /* seconds between two starts */
  double compute; /* seconds of computing beside a nonblocking one */
  int late;       /* batches without any start in time, one after another */
} Known;

Known* known_of(const Item* item);

/* What all members are told before a batch. */
typedef struct {
  double first, window, compute; /* no window: behind barriers */
} Start;

Start agree(const Item* item, const Team* team, const Offset* offset);

/* Waits for the i-th start. Returns the time of this process's clock that stands for it, and when it really began: the
 * reading that ended the waiting, as one more would belong to what is timed. */
double wait_for(const Start* start, int i, const Offset* offset, const Team* team, double* begun);

/* For each repetition, over all members: the latest end, the latest start, and the earliest start, against the agreed
 * one; at the first member. */
void gather(const Team* team, double* end, double* start, double* early, int count);

bool in_time(const Start* start, double latest);

/* Windows grow where starts are late, and the first member remembers how often none was in time. */
void learn(const Item* item, const Start* start, int taken, int count);

/* Room for eight columns of so many numbers; it is kept. */
double* columns(int count);

#endif
