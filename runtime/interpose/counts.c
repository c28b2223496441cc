/* What was taken over, what was not and why, and how long both took: a text of lines for each rank. */
#include <stdlib.h>
#include <string.h>

#include "interpose.h"

enum { REASONS = 24, KEPT = 1024 };

struct row {
  uint64_t taken, bytes;
  struct {
    const char* why;
    uint64_t calls, bytes;
  } left[REASONS];
  uint64_t times[SIDES];
  float* ns[SIDES]; /* the last ones */
};
static struct row* rows[FORMS][COLLECTIVES][CLASSES + 1];

static struct row* row_of(enum form form, enum collective kind, int size_class) {
  struct row** row = &rows[form][kind][size_class];
  if (UNLIKELY(!*row) && !(*row = calloc(1, sizeof **row))) abort();
  return *row;
}

void count_taken(enum form form, enum collective kind, int size_class, int64_t bytes) {
  struct row* row = row_of(form, kind, size_class);
  row->taken++;
  row->bytes += (uint64_t)bytes;
}

void count_left(enum form form, enum collective kind, int size_class, int64_t bytes, const char* why) {
  struct row* row = row_of(form, kind, size_class);
  for (int i = 0; i < REASONS; ++i) {
    if (row->left[i].why && row->left[i].why != why && strcmp(row->left[i].why, why) != 0) continue;
    row->left[i].why = why;
    row->left[i].calls++;
    row->left[i].bytes += (uint64_t)bytes;
    return;
  }
}

void count_time(enum form form, enum collective kind, int size_class, enum turn_of who, float ns) {
  struct row* row = row_of(form, kind, size_class);
  if (!row->ns[who] && !(row->ns[who] = malloc(KEPT * sizeof(float)))) abort();
  row->ns[who][row->times[who]++ % KEPT] = ns;
}

/* Communicators that may be reordered, by what became of them. */
static struct made {
  const char *kind, *why;
  uint64_t count;
  double hop_bytes[2];
} made[REASONS];

void count_order(const char* kind, const char* why, const double hop_bytes[2]) {
  if (process.several_threads) lock();
  for (struct made* m = made; m < made + REASONS; ++m) {
    if (m->count > 0 && (strcmp(m->kind, kind) != 0 || m->why != why)) continue;
    m->kind = kind;
    m->why = why;
    m->count++;
    for (int i = 0; i < 2; ++i) m->hop_bytes[i] += hop_bytes[i];
    break;
  }
  if (process.several_threads) unlock();
}

static void write_made(FILE* file) {
  for (const struct made* m = made; m < made + REASONS && m->count > 0; ++m) {
    if (m->why) fprintf(file, "kept %s %llu %s\n", m->kind, (unsigned long long)m->count, m->why);
    else
      fprintf(file, "reordered %s %llu %.17g %.17g\n", m->kind, (unsigned long long)m->count, m->hop_bytes[0],
              m->hop_bytes[1]);
  }
}

static void write_times(FILE* file, struct row* row, const char* name, int size_class) {
  static const char* const sides[SIDES] = {"isthmus", "library"};
  for (int who = 0; who < SIDES; ++who) {
    double low, middle, high;
    const int n = row->times[who] < KEPT ? (int)row->times[who] : KEPT;
    if (n == 0) continue;
    interval_of(row->ns[who], n, &low, &middle, &high);
    fprintf(file, "time %s %d %s %d %.1f %.1f %.1f\n", name, size_class, sides[who], n, low, middle, high);
  }
}

/* iallreduce, allreduce_init, as functions of MPI are called. */
static void write_rows(FILE* file, enum form form, enum collective kind) {
  static const char *const before[FORMS] = {"", "i", ""}, *const behind[FORMS] = {"", "", "_init"};
  char name[64];
  snprintf(name, sizeof name, "%s%s%s", before[form], collective_names[kind], behind[form]);
  for (int size_class = 0; size_class <= CLASSES; ++size_class) {
    struct row* row = rows[form][kind][size_class];
    if (!row) continue;
    if (row->taken)
      fprintf(file, "taken %s %d %llu %llu\n", name, size_class, (unsigned long long)row->taken,
              (unsigned long long)row->bytes);
    for (int i = 0; i < REASONS && row->left[i].why; ++i)
      fprintf(file, "left %s %d %llu %llu %s\n", name, size_class, (unsigned long long)row->left[i].calls,
              (unsigned long long)row->left[i].bytes, row->left[i].why);
    write_times(file, row, name, size_class);
  }
}

void counts_write(void) {
  char path[4400];
  const char* folder = getenv("ISTHMUS_COUNTS");
  if (!folder || snprintf(path, sizeof path, "%s/%d.counts", folder, process.rank) >= (int)sizeof path) return;
  FILE* file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "isthmus counts 1\nrank %d %d\n", process.rank, process.ranks);
  for (int form = 0; form < FORMS; ++form)
    for (int kind = 0; kind < COLLECTIVES; ++kind) write_rows(file, form, kind);
  write_made(file);
  fclose(file);
}
