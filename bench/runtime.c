/* Times of collectives, a line each: who, what, bytes, and the least and the median of batches in microseconds. Who
 * takes part and what it is called with: contest.h. */
#include "contest.h"

static void compare(What what, int doubles) {
  static double times[most_contestants][most_batches];
  int can[most_contestants];
  const int bytes = 8 * doubles, calls = bytes < 8192 ? 400 : bytes < 262144 ? 60 : 12;
  Item item;
  take_turn();
  make(&item, what, doubles);
  try_all(&item, can);
  end_turn();
  for (int batch = 0; batch < batches; ++batch) {
    take_turn();
    for (int k = 0; k < taking_part; ++k) {
      const int c = (k + batch) % taking_part;
      if (!can[c]) continue;
      MPI_Barrier(MPI_COMM_WORLD);
      real_time(1);
      /* What others have put in the place of these in the caches comes back. */
      for (int i = 0; i < buffers; ++i) carry_out(parts[c], &item, i);
      meet();
      const double begin = now();
      for (int i = 0; i < calls; ++i) carry_out(parts[c], &item, i % buffers);
      meet();
      times[c][batch] = (now() - begin) / calls;
      real_time(0);
      usleep(2000);
    }
    end_turn();
  }
  for (int c = 0; c < taking_part; ++c) {
    if (!can[c]) continue;
    qsort(times[c], (size_t)batches, sizeof **times, by_value);
    if (rank == 0)
      printf("%s %s %d %.4f %.4f\n", name_of(parts[c]), names[what], bytes, times[c][0], times[c][batches / 2]);
  }
  unmake(&item);
}

/* Whether a variable names it, between blanks; without the variable all are meant. */
static int given(const char* variable, const char* word) {
  const char* const list = getenv(variable);
  char spaced[40];
  snprintf(spaced, sizeof spaced, " %s ", word);
  return list == NULL || strstr(list, spaced) != NULL;
}

int main(int argc, char** argv) {
  largest = 8;
  for (char* sizes = getenv("SIZES"); sizes != NULL && *sizes != 0;) {
    const size_t size = strtoul(sizes, &sizes, 10);
    if (size > largest) largest = size;
    while (*sizes == ' ') ++sizes;
  }
  begin_contest(argc, argv);
  if (given("COLLECTIVES", names[BARRIER])) compare(BARRIER, 0);
  for (What what = BCAST; what <= NEIGHBORS; ++what) {
    char* sizes = getenv("SIZES");
    for (long size; given("COLLECTIVES", names[what]) && (size = strtol(sizes, &sizes, 10)) > 0;)
      compare(what, (int)(size / 8));
  }
  end_contest();
  return 0;
}
