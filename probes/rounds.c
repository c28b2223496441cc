/* Rounds: every round takes one batch of every item that is not done, in another order, so that a disturbed second hits
 * all items alike. The first begins with the fewest bytes: where links are so slow that large messages take seconds,
 * all others have been measured by then. What would take more than its share of the time left is passed by; of an item
 * that has few repetitions, more than four shares. What one takes that was not begun, the bytes say. */
#include "probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MANY bytes take longer than all else of a repetition; to begin an item takes the time of TRIES. */
enum { LEAST_ROUNDS = 4, FEW = 4, AGAIN = 4, MANY = 1 << 16, TRIES = 2 };
/* Seconds of a repetition after which nothing needs warming up. */
#define LONG 0.02

typedef struct {
  bool begun, done;
  bool rests; /* done, as its median was known: it comes again in one round of several */
  int turns;
  double each;  /* seconds of one repetition, with all that belongs to it */
  double least; /* of its turns */
  double* value;
  long count, room;
} State;

static uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

bool median_is_known(double* values, long count, double tolerance) {
  if (count < 6) return false;
  qsort(values, (size_t)count, sizeof *values, ascending);
  /* Ranks of order statistics between which the median lies with 95 %, by the normal approximation of the binomial. */
  const double half = 0.98 * sqrt((double)count);
  long low = (long)floor((double)count / 2 - half) - 1, high = (long)ceil((double)count / 2 + half);
  if (low < 0) low = 0;
  if (high > count - 1) high = count - 1;
  const double median = 0.5 * (values[(count - 1) / 2] + values[count / 2]);
  return (values[high] - values[low]) / 2 <= tolerance * fabs(median);
}

static bool known(const State* state, double tolerance) {
  double* sorted = malloc(sizeof *sorted * (size_t)state->count);
  if (sorted == NULL) return false;
  memcpy(sorted, state->value, sizeof *sorted * (size_t)state->count);
  const bool answer = median_is_known(sorted, state->count, tolerance);
  free(sorted);
  return answer;
}

static void finish(const Item* item, State* state, const char* why) {
  journal_add("done %s %s", item->id, why);
  journal_end_line();
  state->done = true;
}

/* How many repetitions a batch has: as many as fit into its share of time. */
static int batch_size(const Plan* plan, long least, const State* state, int left, double seconds_left) {
  double share = seconds_left / (left * 12.0);
  share = share < 5e-4 ? 5e-4 : share > 0.05 ? 0.05 : share;
  long count = state->each > 0 ? (long)(share / state->each) : 1;
  const long limit = 100;
  if (count > plan->most - state->count) count = plan->most - state->count;
  /* The least comes in several rounds. */
  const long quarter = (plan->least + LEAST_ROUNDS - 1) / LEAST_ROUNDS;
  if (count > limit) count = limit;
  if (count > 4 * quarter) count = 4 * quarter;
  if (count < least) count = least;
  return count < 1 ? 1 : (int)count;
}

static void keep(State* state, const double* values, int count, int columns) {
  if (state->count + count > state->room) {
    state->room = 2 * (state->count + count);
    state->value = realloc(state->value, sizeof(double) * (size_t)state->room);
    if (state->value == NULL) abort();
  }
  for (int i = 0; i < count; i++) state->value[state->count++] = values[(size_t)i * (size_t)columns];
}

/* Returns NULL, or why the journal cannot be written. */
static const char* take(const Plan* plan, const Work* work, Item* item, State* state, int round, int left, double start,
                        double* values) {
  double begin = now();
  journal_add("begin %s %d %.6f", item->id, round, begin - start);
  journal_end_line();
  if (!state->begun) {
    state->begun = true;
    /* Where it ends the program, or hangs, the journal says which one it was. */
    const char* error = journal_flush();
    if (error) return error;
    const char* reason = work->prepare(item, work->context);
    if (reason) {
      journal_add("skip %s %s", item->id, reason);
      journal_end_line();
      state->done = true;
      return NULL;
    }
    state->each = item->tried;
    /* To warm up; what it takes is known better the second time. Over slow links once is enough. */
    for (int k = 1; item->kind->batch != ONCE && k <= 2 && state->each <= LONG; k++) {
      begin = now();
      (void)work->batch(item, (int)(item - plan->item), k, values, work->context);
      state->each = elapsed(begin) / k;
    }
  }
  int count = batch_size(plan, item->kind->batch, state, left, start + plan->budget - now());
  if (state->rests && count > FEW) count = FEW;
  begin = now();
  const int columns = item_columns(item);
  const int taken = work->batch(item, (int)(item - plan->item), count, values, work->context);
  if (taken > 0) {
    state->each = elapsed(begin) / taken;
    if (state->count == 0 || state->each < state->least) state->least = state->each;
    journal_add("sample %s %d", item->id, round);
    for (int k = 0; k < taken * columns; k++) journal_add(" %.9g", values[k]);
    journal_end_line();
    keep(state, values, taken, columns);
  }
  state->turns++;
  if (state->rests) return NULL;
  if (item->kind->batch == ONCE) {
    if (taken > 0) finish(item, state, "most");
    state->done = true;
    return NULL;
  }
  const int rounds = plan->least < LEAST_ROUNDS ? (int)plan->least : LEAST_ROUNDS;
  if (state->count >= plan->least && state->turns >= rounds && known(state, plan->tolerance)) {
    finish(item, state, "tolerance");
    state->rests = true;
  } else if (state->count >= plan->most) {
    finish(item, state, "most");
  }
  return NULL;
}

/* Bytes of one repetition, as far as the parameters of an item say. */
static double volume(const Item* item) {
  double bytes = 0, messages = 1;
  for (int i = 0; i < item->keys; i++) {
    if (strcmp(item->key[i], "bytes") == 0) bytes = atof(item->value[i]);
    if (strcmp(item->key[i], "n") == 0) messages = atof(item->value[i]);
  }
  return bytes * messages;
}

static void shuffle(int* order, int count, uint64_t* random) {
  for (int i = count - 1; i > 0; i--) {
    const int k = (int)(next_random(random) % (uint64_t)(i + 1)), other = order[k];
    order[k] = order[i];
    order[i] = other;
  }
}

static void fewest_bytes_first(int* order, int count, const Item* item) {
  for (int i = 1; i < count; i++) {
    const int one = order[i];
    int at = i;
    for (; at > 0 && volume(&item[order[at - 1]]) > volume(&item[one]); at--) order[at] = order[at - 1];
    order[at] = one;
  }
}

const char* rounds_run(const Plan* plan, const Work* work) {
  State* state = calloc((size_t)plan->items, sizeof *state);
  int* order = malloc(sizeof *order * (size_t)plan->items);
  double* values = malloc(sizeof *values * MOST_BATCH * MOST_COLUMNS);
  if (state == NULL || order == NULL || values == NULL) return "there is no memory for the items";
  for (int i = 0; i < plan->items; i++) order[i] = i;
  uint64_t random = plan->seed;
  const double start = now();
  const char* error = NULL;
  int left = plan->items;
  double pace = 0; /* least seconds of a byte */
  bool any = true;
  for (int round = 0; left && any && !error && now() - start < plan->budget; round++) {
    shuffle(order, plan->items, &random);
    if (round == 0) fewest_bytes_first(order, plan->items, plan->item);
    any = false;
    for (int i = 0; i < plan->items && !error && now() - start < plan->budget; i++) {
      Item* item = &plan->item[order[i]];
      State* one = &state[order[i]];
      const double share = (start + plan->budget - now()) / left, bytes = volume(item);
      if (!one->begun) one->least = TRIES * pace * bytes;
      const bool again = one->rests && one->count < plan->most && round % AGAIN == AGAIN - 1;
      /* Never more than all the time left. */
      const int shares = one->count >= FEW ? 1 : left < FEW ? left : FEW;
      if ((one->done && !again) || one->least > share * shares) continue;
      any |= !again;
      error = take(plan, work, item, one, round, left, start, values);
      left -= one->done && !again;
      if (bytes >= MANY && one->count && (pace <= 0 || one->least < pace * bytes)) pace = one->least / bytes;
      if (!error) error = journal_flush();
    }
  }
  for (int i = 0; i < plan->items; i++) {
    if (!state[i].done && !error) finish(&plan->item[i], &state[i], "budget");
    free(state[i].value);
  }
  free(state);
  free(order);
  free(values);
  return error ? error : journal_flush();
}
