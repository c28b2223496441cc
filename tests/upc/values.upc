/* Reads and writes of all kinds of objects, assignments with operators, steps, structs, unions, bit-fields. */
#include <upc.h>
#include <string.h>
#include "check.h"

enum colour { RED, GREEN = 5, BLUE };
typedef struct pair {
  int a;
  double b;
} pair;
struct whole {
  char name[12];
  pair inner[2];
  struct whole* mine;
  shared struct whole* next;
  unsigned low : 3, high : 7;
  union {
    float f;
    unsigned u;
  } either;
  enum colour colour;
};

shared struct whole list[2 * THREADS];
shared pair pairs[THREADS];
shared char letters[THREADS];
shared unsigned short shorts[THREADS];
shared float floats[THREADS];
shared long double longs[THREADS];
shared double numbers[THREADS];
shared int start = 42, given[3 * THREADS] = {1, 2, 3};
shared [2] long late[THREADS][2] = {{7, 8}};
shared int *shared pointers[THREADS];
shared int* at = &start;
static shared int* tables[2] = {&start, NULL};
shared const int fixed = 9;
int (*shared functions[THREADS])(int);

static int twice(int x) { return 2 * x; }
static pair make(int a) { return (pair){a, a / 2.0}; }
static shared int* last(void) {
  static shared int* kept = &start;
  static shared int count;
  return kept ? &count : kept;
}

static void numbers_of(int t) {
  letters[t] = 'a' + t % 26;
  shorts[t] = 65535;
  shorts[t] += 2;
  floats[t] = 1;
  floats[t] /= 3;
  longs[t] = 1.25L;
  longs[t] *= 2;
  numbers[t] = letters[t]++;
  CHECK(letters[t] == 'b' + t % 26 && numbers[t] == 'a' + t % 26 && shorts[t] == 1 && floats[t] == 1.0f / 3);
  CHECK(longs[t] == 2.5L && ++numbers[t] == 'b' + t % 26 && numbers[t]-- == 'b' + t % 26 && (numbers[t] = 3) == 3);
  CHECK((letters[t] = 300) == (char)300);
  shorts[t] = 5;
  shorts[t] <<= 2, shorts[t] |= 1, shorts[t] ^= 3, shorts[t] &= ~8, shorts[t] %= 16, shorts[t] -= 1;
  CHECK(shorts[t] == 5 && -shorts[t] == -5 && !shorts[t] == 0 && ~shorts[t] == -6);
  CHECK((shorts[t] > 4 && shorts[t] < 6 ? shorts[t] : 0) == 5);
}

static void structs_of(int t) {
  list[t] = (struct whole){"name", {{1, 2}, {3, 4}}, NULL, &list[t + THREADS], 5, 100, {1.0f}, GREEN};
  struct whole copy = list[t];
  CHECK(!strcmp(copy.name, "name") && list[t].inner[1].a == 3 && list[t].inner[1].b == 4 && list[t].colour == GREEN);
  CHECK(list[t].low == 5 && list[t].high == 100 && list[t].either.u == 0x3f800000);
  list[t].low++;
  list[t].high -= 99;
  CHECK(list[t].low == 6 && list[t].high == 1 && (list[t].low = 9) == 1 && list[t].low++ == 1 && list[t].low == 2);
  list[t].next->inner[0] = list[t].inner[1];
  list[t].next->next = NULL;
  list[t].name[1] = 'A';
  CHECK(list[t + THREADS].inner[0].b == 4 && list[t].next->next == NULL && list[t].name[1] == 'A');
  pairs[t] = make(6);
  pair *const local = (pair*)&pairs[t];
  CHECK(upc_threadof(&pairs[t]) == t && (t != MYTHREAD || local->b == 3));
  shared double* b = (shared double*)&pairs[t].b;
  *b += 1;
  CHECK(pairs[t].b == 4 && make(2).b == 1 && (&pairs[t])->a == 6);
  struct whole* held = &copy;
  held->next = &list[t];
  held->next->colour = BLUE;
  CHECK(list[t].colour == BLUE && held->next->inner[0].a == 1);
}

int main(int argc, char** argv) {
  CHECK(argc == 1 && argv[0][0]);
  CHECK(start == 42 && given[1] == 2 && given[2] == 3 && *at == 42 && *tables[0] == 42 && !tables[1] && fixed == 9);
  CHECK(late[0][0] == 7 && late[0][1] == 8);
  upc_barrier;
  numbers_of(MYTHREAD);
  structs_of(MYTHREAD);
  upc_barrier;
  const int next = (MYTHREAD + 1) % THREADS;
  pointers[MYTHREAD] = &given[MYTHREAD];
  functions[MYTHREAD] = twice;
  upc_barrier;
  numbers_of(next);
  structs_of(next);
  CHECK(pointers[next] == &given[next] && upc_threadof(pointers[next]++) == next);
  upc_barrier;
  CHECK(pointers[MYTHREAD] == given + MYTHREAD + 1);
  CHECK(functions[MYTHREAD](4) == 8);
  if (!MYTHREAD) *last() = 3;
  upc_barrier;
  CHECK(*last() == 3);
  RIGHT();
  return 0;
}
