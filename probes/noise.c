/* Noise of the operating system on one core: the same work again and again (fwq: each value is the time of one piece),
 * or as much work as fits into the same time (ftq: each value is the work, in seconds that it takes at best). */
#include "probe.h"

int noise_batch(const Item* item, double* values) {
  const double quantum = item_real(item, "quantum");
  const double wanted = item_real(item, "seconds") / quantum;
  const int count = wanted < 1 ? 1 : wanted > MOST_BATCH ? MOST_BATCH : (int)wanted;
  if (item_is(item, "kind", "fwq")) {
    const long units = (long)(quantum / work_unit()) + 1;
    for (int i = 0; i < count; i++) {
      const double begin = now();
      (void)work(units);
      values[i] = elapsed(begin);
    }
    return count;
  }
  const long piece = 1 + (long)(quantum / work_unit() / 1000);
  double end = now();
  for (int i = 0; i < count; i++) {
    long pieces = 0;
    end += quantum;
    for (; now() < end; pieces++) (void)work(piece);
    values[i] = (double)(pieces * piece) * work_unit();
  }
  return count;
}
