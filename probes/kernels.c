/* One core: a sparse matrix-vector product by size of its working set, and the peak of fused multiply-adds. Values are
 * seconds per floating point operation, of which a product has two for each nonzero. */
#include <math.h>
#include <stdlib.h>

#include "node.h"

typedef struct {
  long rows;
  int each; /* nonzeros of a row */
  int *first, *column;
  double *value, *x, *y;
} Matrix;

static bool make(Matrix* m, const Item* item) {
  m->rows = item_integer(item, "rows");
  m->each = (int)item_integer(item, "nnz");
  const size_t rows = (size_t)m->rows, nonzeros = rows * (size_t)m->each;
  m->first = malloc(sizeof(int) * (rows + 1));
  m->column = malloc(sizeof(int) * nonzeros);
  m->value = malloc(sizeof(double) * nonzeros);
  m->x = malloc(sizeof(double) * rows);
  m->y = malloc(sizeof(double) * rows);
  return m->first && m->column && m->value && m->x && m->y;
}

static void clear(Matrix* m) {
  free(m->first);
  free(m->column);
  free(m->value);
  free(m->x);
  free(m->y);
}

/* Columns as of a stencil on a cube: next to each other in threes, in lines and planes around the diagonal. */
static void fill(Matrix* m) {
  const long side = (long)cbrt((double)m->rows), line = side < 1 ? 1 : side, plane = line * line;
  const int width = m->each < 3 ? m->each : 3, groups = (m->each + width - 1) / width;
  long k = 0;
  for (long r = 0; r < m->rows; r++) {
    m->first[r] = (int)k;
    m->x[r] = 1;
    m->y[r] = 0;
    for (int j = 0; j < m->each; j++) {
      const long g = j / width - groups / 2, step = g / 3 * plane + g % 3 * line;
      long c = (r + step + j % width - 1) % m->rows;
      if (c < 0) c += m->rows;
      m->column[k] = (int)c;
      m->value[k++] = 1.0 / m->each;
    }
  }
  m->first[m->rows] = (int)k;
}

static void product(const Matrix* m) {
  const int* restrict column = m->column;
  const double* restrict value = m->value, * restrict x = m->x;
  double* restrict y = m->y;
  for (long r = 0; r < m->rows; r++) {
    double sum = 0;
    for (int k = m->first[r]; k < m->first[r + 1]; k++) sum += value[k] * x[column[k]];
    y[r] = sum;
  }
}

static const char* prepare_spmv(Item* item) {
  const double nonzeros = (double)item_integer(item, "rows") * (double)item_integer(item, "nnz");
  if (nonzeros > 2e9) return "more than 2e9 nonzeros are not counted";
  const char* reason = pin_item(item);
  Matrix m;
  if (!reason && !make(&m, item)) reason = "there is not enough memory";
  if (!reason) clear(&m);
  return reason;
}

static int spmv(const Item* item, int count, double* values) {
  Matrix m;
  (void)pin_item(item);
  if (!make(&m, item)) return 0;
  fill(&m);
  product(&m);
  int trips = 1;
  for (int i = -1; i < count; i++) {
    const double begin = now();
    for (int k = 0; k < trips; k++) {
      product(&m);
      __asm__ volatile("" : : "r"(m.y) : "memory");
    }
    const double each = elapsed(begin) / trips;
    if (i < 0) trips = trips_for(each);
    else values[i] = each / (2.0 * (double)m.rows * m.each);
  }
  keep(m.y[m.rows / 2]);
  clear(&m);
  return count;
}

/* -- peak: enough independent vectors to keep all units busy, in registers */

enum { LOOPS = 20000 };

#define PEAK(name, options, width, vectors)                                             \
  options static double name(void) {                                                    \
    typedef double Vector __attribute__((vector_size(8 * (width))));                    \
    Vector v[vectors];                                                                  \
    for (int k = 0; k < (vectors); k++) v[k] = (Vector){0} + (1 + 0.1 * k);             \
    const Vector a = (Vector){0} + 0.999999, b = (Vector){0} + 1e-6;                    \
    for (int i = 0; i < LOOPS; i++) {                                                   \
      _Pragma("GCC unroll 16") for (int k = 0; k < (vectors); k++) v[k] = v[k] * a + b; \
    }                                                                                   \
    double sum = 0;                                                                     \
    for (int k = 0; k < (vectors); k++) sum += v[k][0];                                 \
    keep(sum);                                                                          \
    return 2.0 * LOOPS * (width) * (vectors);                                           \
  }

#if defined __x86_64__
PEAK(peak_avx512, __attribute__((target("avx512f"), optimize("fp-contract=fast"))), 8, 16)
PEAK(peak_avx2, __attribute__((target("avx2,fma"), optimize("fp-contract=fast"))), 4, 12)
#endif
PEAK(peak_plain, __attribute__((optimize("fp-contract=fast"))), 2, 12)

static double (*peak(void))(void) {
#if defined __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return peak_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return peak_avx2;
#endif
  return peak_plain;
}

static const char* prepare_fma(Item* item) { return pin_item(item); }

static int fma_loop(const Item* item, int count, double* values) {
  double (*const loop)(void) = peak();
  (void)pin_item(item);
  for (int i = -1; i < count; i++) {
    const double begin = now(), operations = loop(), each = elapsed(begin) / operations;
    if (i >= 0) values[i] = each;
  }
  return count;
}

const NodeCode code_spmv = {prepare_spmv, spmv};
const NodeCode code_fma = {prepare_fma, fma_loop};
