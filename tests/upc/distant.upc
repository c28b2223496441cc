/* Long rows of elements at a distance, and of large elements, in the memory of another thread. */
#include <upc_relaxed.h>
#include "check.h"
#define N 40000
typedef struct { double v[5]; } five;
shared [N] double a[N * THREADS]; shared [N] five s[N * THREADS]; shared long c[N * THREADS];
double out[N];
int main(void) {
  const int o = (MYTHREAD + 1) % THREADS * N; long bad = 0;
  for (int i = 0; i < N; ++i) { a[o + i] = o + i; c[i * THREADS + MYTHREAD] = i; }
  for (int i = 0; i < N; ++i) { five f = {{i, o, 2, 3, 4}}; s[o + i] = f; }
  upc_barrier;
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < N / 2; ++i) out[i] = a[o + 2 * i + 1];
    for (int i = 0; i < N / 2; ++i) bad += out[i] != o + 2 * i + 1;
    for (int i = 0; i < N; ++i) bad += c[i * THREADS + (MYTHREAD + 1) % THREADS] != i;
    for (int i = N - 1; i >= 0; i -= 3) bad += s[o + i].v[0] != i || s[o + i].v[1] != o;
    for (int i = 0; i < N / 3; ++i) a[o + 3 * i] = -i;
    for (int i = 0; i < N / 3; ++i) bad += a[o + 3 * i] != -i;
    for (int i = 0; i < N / 3; ++i) a[o + 3 * i] = o + 3 * i;
    for (int i = 0; i < N; ++i) c[i * THREADS + MYTHREAD] += 0;
  }
  upc_barrier;
  CHECK(bad == 0);
  RIGHT();
  return 0;
}
