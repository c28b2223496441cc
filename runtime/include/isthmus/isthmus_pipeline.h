/* Loops whose communication goes on behind their computation: items are produced in tiles, each tile is exchanged by a
 * collective while the next ones are produced, and finished when it has arrived. pipeline.hpp is the same in C++.
 *
 *     isthmus_loop loop = {.size = sizeof loop, .items = planes, .bytes = bytes_of_a_plane, .messages = ranks - 1,
 *                          .produce = transform, .start = exchange, .finish = transform_other_way, .data = &field};
 *     isthmus_pipeline *pipeline;
 *     isthmus_pipeline_make(team, &loop, &pipeline);
 *     for (step = 0; step < steps; ++step) isthmus_pipeline_run(pipeline);
 *     isthmus_pipeline_free(pipeline);
 *
 * Every function returns a status as those of isthmus.h do. All ranks of the team run the same loops in the same
 * order. */
#ifndef ISTHMUS_PIPELINE_H
#define ISTHMUS_PIPELINE_H

#include "isthmus.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct isthmus_pipeline isthmus_pipeline;

/* Some items of a loop: those that are exchanged together, or a part of them, between two tests. */
typedef struct isthmus_tile {
  uint64_t first, count;           /* these items */
  uint64_t tile_first, tile_count; /* all that are exchanged together with them */
  uint64_t slot;                   /* a number below window + 1 that no other exchange under way has: for buffers */
  uint64_t items;                  /* of the whole loop */
} isthmus_tile;

/* Members that are 0 take their defaults. The same on all ranks but for functions and data. */
typedef struct isthmus_loop {
  size_t size; /* sizeof(isthmus_loop) */
  uint64_t items;
  double bytes;         /* that a rank sends for one item; where ranks differ, those of the one that sends most */
  uint64_t messages;    /* that a rank sends in one exchange; default: 1 */
  uint64_t most_window; /* exchanges under way while a tile is produced; default: 4 */
  uint64_t most_items;  /* that all slots hold together; default: any number */
  uint64_t tests;       /* how often exchanges are looked at while a tile is produced; default: never */
  /* LogGP parameters, as `isthmus simulate --machine` takes them: "loggops:L=5us,o=1us,g=1us,G=8ns". Default: they are
   * measured when the pipeline is made, which takes some milliseconds. */
  const char* costs;
  uint64_t tile, window; /* not 0: these, always */
  /* Makes items: those of a tile, in parts where there are tests. */
  void (*produce)(void* data, const isthmus_tile* tile);
  /* Begins the exchange of the items made, by isthmus_begin() or isthmus_start(). */
  int (*start)(void* data, const isthmus_tile* tile, isthmus_operation** operation);
  /* Works on what has come, in the same way. */
  void (*finish)(void* data, const isthmus_tile* tile);
  void* data; /* handed to all three */
} isthmus_loop;

/* What is known of a loop. */
typedef struct isthmus_pipeline_state {
  size_t size;           /* sizeof(isthmus_pipeline_state) */
  uint64_t tile, window; /* of the next run; tile = items: the blocking loop */
  uint32_t settled;      /* not 0: nothing else is tried, but for a check now and then */
  double seconds;        /* median of runs with them, of the slowest rank; 0: none was timed */
  double blocking;       /* the same of the blocking loop */
  double model;          /* seconds of such a run by the model */
} isthmus_pipeline_state;

/* All ranks of the team call it. */
int isthmus_pipeline_make(isthmus_team* team, const isthmus_loop* loop, isthmus_pipeline** pipeline);
/* Runs the loop once. Where start() fails, it is the status when all exchanges under way have ended. */
int isthmus_pipeline_run(isthmus_pipeline* pipeline);
int isthmus_pipeline_look(const isthmus_pipeline* pipeline, isthmus_pipeline_state* state);
/* Before its team is left. */
int isthmus_pipeline_free(isthmus_pipeline* pipeline);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
