/* A pipelined loop in C, without MPI: rows are made, summed up over all ranks, and used. */
#include <isthmus/isthmus_pipeline.h>
#include <stdio.h>

enum { ROWS = 100, WIDTH = 1000 };

typedef struct {
  isthmus_team* team;
  double own[ROWS][WIDTH], all[ROWS][WIDTH], used;
} sums;

static sums field;

static void make(void* data, const isthmus_tile* tile) {
  sums* s = data;
  for (uint64_t i = tile->first; i < tile->first + tile->count; ++i)
    for (int k = 0; k < WIDTH; ++k) s->own[i][k] = (double)i + k + isthmus_rank(s->team);
}

static int sum(void* data, const isthmus_tile* tile, isthmus_operation** operation) {
  sums* s = data;
  isthmus_call call = {.size = sizeof call, .kind = ISTHMUS_ALLREDUCE, .element = ISTHMUS_F64};
  call.count = tile->count * WIDTH;
  return isthmus_begin(s->team, &call, s->own[tile->first], s->all[tile->first], operation);
}

static void use(void* data, const isthmus_tile* tile) {
  sums* s = data;
  for (uint64_t i = tile->first; i < tile->first + tile->count; ++i)
    for (int k = 0; k < WIDTH; ++k) s->used += s->all[i][k];
}

int main(void) {
  isthmus_loop loop = {.size = sizeof loop, .items = ROWS, .bytes = sizeof(double) * WIDTH, .tests = 4};
  isthmus_pipeline_state state = {.size = sizeof state};
  isthmus_pipeline* pipeline;
  double right = 0;
  int wrong = 0;
  if (isthmus_join(NULL, &field.team) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  const double ranks = isthmus_ranks(field.team);
  loop.produce = make, loop.start = sum, loop.finish = use, loop.data = &field;
  for (int i = 0; i < ROWS; ++i)
    for (int k = 0; k < WIDTH; ++k) right += ranks * (i + k) + ranks * (ranks - 1) / 2;
  if (isthmus_pipeline_make(field.team, &loop, &pipeline) != ISTHMUS_DONE)
    return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
  for (int step = 0; step < 20; ++step) {
    field.used = 0;
    if (isthmus_pipeline_run(pipeline) != ISTHMUS_DONE) return fprintf(stderr, "%s\n", isthmus_last_error()), 1;
    wrong |= field.used != right; /* whole numbers: sums are exact */
  }
  isthmus_pipeline_look(pipeline, &state);
  if (isthmus_rank(field.team) == 0)
    printf("%s, tile %llu, window %llu\n", wrong ? "wrong" : "right", (unsigned long long)state.tile,
           (unsigned long long)state.window);
  isthmus_pipeline_free(pipeline);
  isthmus_leave(field.team);
  return wrong;
}
