/* upc_io.h: what is in the file, byte by byte, as the C library reads it, after every way to write; and every way to read. */
#include <upc.h>
#include <upc_io.h>
#include <errno.h>
#include <string.h>
#include "check.h"

#define FILE_NAME "io.bytes"
#define N 23
shared [3] short blocks[N * THREADS], again[N * THREADS];
shared char cyclic[7 * THREADS];
shared [] char* mine;
static unsigned char wanted[100000], found[100000];

/* The file has these bytes and no more. */
static void compare(size_t bytes) {
  upc_barrier;
  FILE* const file = fopen(FILE_NAME, "rb");
  CHECK(file && fread(found, 1, sizeof found, file) == bytes);
  for (size_t i = 0; i < bytes; ++i) CHECK(found[i] == wanted[i]);
  fclose(file);
  upc_barrier;
}

static void of_this_thread(void) {
  char buffer[10];
  upc_file_t* const f = upc_all_fopen(FILE_NAME, UPC_INDIVIDUAL_FP | UPC_RDWR | UPC_CREATE | UPC_TRUNC, 0, NULL);
  CHECK(f && upc_all_fget_size(f) == 0 && upc_all_fcntl(f, UPC_GET_FP, NULL) == UPC_INDIVIDUAL_FP);
  for (int i = 0; i < 10; ++i) buffer[i] = 10 * MYTHREAD + i;
  for (int i = 0; i < 10 * THREADS; ++i) wanted[i] = i;
  CHECK(upc_all_fseek(f, 10 * MYTHREAD, UPC_SEEK_SET) == 10 * MYTHREAD);
  CHECK(upc_all_fwrite_local(f, buffer, 2, 5, 0) == 10 && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 10 * MYTHREAD + 10);
  compare(10 * THREADS);
  /* At the end of the file fewer bytes come. */
  const int from = 10 * ((MYTHREAD + 1) % THREADS) + 4, last = from / 10 == THREADS - 1;
  CHECK(upc_all_fseek(f, from - 10 * THREADS, UPC_SEEK_END) == from);
  memset(buffer, 99, sizeof buffer);
  CHECK(upc_all_fread_local(f, buffer, 1, 8, 0) == (last ? 6 : 8));
  for (int i = 0; i < 10; ++i) CHECK(buffer[i] == (i < (last ? 6 : 8) ? from + i : 99));
  CHECK(upc_all_fread_local(f, buffer, 0, 8, 0) == 0 && upc_all_fwrite_local(f, buffer, 8, 0, 0) == 0);
  CHECK(upc_all_fseek(f, -1, UPC_SEEK_SET) == -1 && errno == EINVAL && upc_all_fseek(f, 0, 7) == -1);
  /* To and from shared memory, each thread its own part. */
  for (int i = 0; i < 10; ++i) mine[i] = 50 + MYTHREAD;
  for (int i = 0; i < 10 * THREADS; ++i) wanted[i] = 50 + i / 10;
  CHECK(upc_all_fseek(f, 10 * MYTHREAD, UPC_SEEK_SET) == 10 * MYTHREAD);
  CHECK(upc_all_fwrite_shared(f, mine, 0, 1, 10, 0) == 10);
  compare(10 * THREADS);
  CHECK(upc_all_fset_size(f, 5) == 0 && upc_all_fget_size(f) == 5);
  compare(5);
  CHECK(upc_all_fpreallocate(f, 9) == 0 && upc_all_fget_size(f) == 9 && upc_all_fsync(f) == 0);
  memset(wanted + 5, 0, 4);
  compare(9);
  CHECK(upc_all_fset_size(f, -1) == -1 && upc_all_fclose(f) == 0);
}

static void of_all(void) {
  static struct upc_hint hints[] = {{"access_style", "write_once"}, {"nb_nodes", "1"}};
  upc_file_t* f = upc_all_fopen(FILE_NAME, UPC_COMMON_FP | UPC_WRONLY | UPC_TRUNC, 2, hints);
  struct upc_hint* known;
  CHECK(f && upc_all_fcntl(f, UPC_GET_HINTS, &known) == 2 && !strcmp(known[1].value, "1"));
  upc_forall (int i = 0; i < N * THREADS; i++; &blocks[i]) blocks[i] = 300 * i + 7;
  upc_forall (int i = 0; i < 7 * THREADS; i++; &cyclic[i]) cyclic[i] = i + 1;
  short* const values = (short*)wanted;
  for (int i = 0; i < N * THREADS; ++i) values[i] = 300 * i + 7;
  CHECK(upc_all_fwrite_shared(f, blocks, 3, sizeof(short), N * THREADS, 0) == 2 * N * THREADS);
  compare(2 * N * THREADS);
  for (int i = 0; i < 7 * THREADS; ++i) wanted[2 * N * THREADS + i] = i + 1;
  CHECK(upc_all_fwrite_shared(f, cyclic, 1, 1, 7 * THREADS, UPC_IN_NOSYNC | UPC_OUT_NOSYNC) == 7 * THREADS);
  CHECK(upc_all_fseek(f, 0, UPC_SEEK_CUR) == (2 * N + 7) * THREADS);
  compare((2 * N + 7) * THREADS);
  char byte = 1;
  CHECK(upc_all_fread_shared(f, cyclic, 1, 1, 1, 0) == -1 && errno == EBADF);
  CHECK(upc_all_fwrite_local(f, &byte, 1, 1, 0) == -1 && errno == EINVAL);
  CHECK(upc_all_fclose(f) == 0);
  f = upc_all_fopen(FILE_NAME, UPC_COMMON_FP | UPC_RDONLY, 0, NULL);
  /* From the fifth element on, which stands within its block. */
  CHECK(upc_all_fread_shared(f, &again[4], 3, sizeof(short), N * THREADS - 4, 0) == 2 * N * THREADS - 8);
  upc_barrier;
  for (int i = 4; i < N * THREADS; ++i) CHECK(again[i] == (short)(300 * (i - 4) + 7));
  CHECK(upc_all_fseek(f, -3, UPC_SEEK_END) == (2 * N + 7) * THREADS - 3);
  CHECK(upc_all_fread_shared(f, cyclic, 1, 1, 7 * THREADS, 0) == 3 && cyclic[2] == (char)(7 * THREADS));
  upc_barrier;
  CHECK(upc_all_fcntl(f, UPC_SET_INDIVIDUAL_FP, NULL) == 0 && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 0);
  CHECK(upc_all_fwrite_shared(f, cyclic, 1, 1, 1, 0) == -1 && upc_all_fclose(f) == 0);
}

static void lists(void) {
  char a[4], b[5];
  upc_file_t* const f = upc_all_fopen(FILE_NAME, UPC_INDIVIDUAL_FP | UPC_RDWR | UPC_TRUNC, 0, NULL);
  const struct upc_local_memvec memory[] = {{a, 4}, {b, 5}};
  const struct upc_filevec parts[] = {{12 * MYTHREAD + 1, 3}, {12 * MYTHREAD + 5, 0}, {12 * MYTHREAD + 6, 6}};
  const struct upc_shared_memvec far[] = {{mine + 1, 0, 5}, {mine + 8, 0, 4}};
  memset(wanted, 0, 12 * THREADS);
  for (int i = 0; i < 4; ++i) a[i] = 'a' + i;
  for (int i = 0; i < 5; ++i) b[i] = 'e' + i;
  for (int t = 0; t < THREADS; ++t) memcpy(wanted + 12 * t + 1, "abc", 3), memcpy(wanted + 12 * t + 6, "defghi", 6);
  CHECK(upc_all_fwrite_list_local(f, 2, memory, 3, parts, 0) == 9);
  compare(12 * THREADS);
  memset(a, 0, 4), memset(b, 0, 5);
  upc_all_fread_list_local_async(f, 2, memory, 3, parts, 0);
  CHECK(upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 1 && upc_all_fclose(f) == -1 && errno == EBUSY);
  CHECK(upc_all_fseek(f, 0, UPC_SEEK_SET) == -1 && upc_all_fwait_async(f) == 9 && upc_all_fwait_async(f) == -1);
  CHECK(!memcmp(a, "abcd", 4) && !memcmp(b, "efghi", 5) && upc_all_fcntl(f, UPC_ASYNC_OUTSTANDING, NULL) == 0);
  for (int i = 0; i < 12; ++i) mine[i] = '-';
  CHECK(upc_all_fread_list_shared(f, 2, far, 3, parts, 0) == 9);
  for (int i = 0; i < 12; ++i) CHECK(mine[i] == "-abcde--fghi"[i]);
  for (int i = 0; i < 12; ++i) mine[i] = 'A' + i;
  for (int t = 0; t < THREADS; ++t) memcpy(wanted + 12 * t + 1, "BCD", 3), memcpy(wanted + 12 * t + 6, "EFIJKL", 6);
  int done;
  upc_all_fwrite_list_shared_async(f, 2, far, 3, parts, 0);
  CHECK(upc_all_ftest_async(f, &done) == 9 && done);
  compare(12 * THREADS);
  CHECK(upc_all_fclose(f) == 0);
}

static void opening(void) {
  CHECK(!upc_all_fopen(FILE_NAME, UPC_RDONLY, 0, NULL) && errno == EINVAL);
  CHECK(!upc_all_fopen(FILE_NAME, UPC_COMMON_FP | UPC_RDONLY | UPC_WRONLY, 0, NULL) && errno == EINVAL);
  CHECK(!upc_all_fopen("no/such/file", UPC_COMMON_FP | UPC_RDONLY, 0, NULL) && errno == ENOENT);
  CHECK(!upc_all_fopen(FILE_NAME, UPC_COMMON_FP | UPC_RDWR | UPC_CREATE | UPC_EXCL, 0, NULL) && errno == EEXIST);
  upc_file_t* f = upc_all_fopen(FILE_NAME, UPC_COMMON_FP | UPC_WRONLY | UPC_APPEND, 0, NULL);
  CHECK(f && upc_all_fseek(f, 0, UPC_SEEK_CUR) == 12 * THREADS && upc_all_fclose(f) == 0);
  f = upc_all_fopen("/dev/full", UPC_INDIVIDUAL_FP | UPC_WRONLY, 0, NULL);
  CHECK(f && upc_all_fwrite_local(f, found, 1, 10, 0) == -1 && errno == ENOSPC);
  CHECK(upc_all_fwrite_shared(f, mine, 0, 1, 10, 0) == -1 && upc_all_fclose(f) == 0);
  f = upc_all_fopen("io.gone", UPC_COMMON_FP | UPC_RDWR | UPC_CREATE | UPC_EXCL | UPC_DELETE_ON_CLOSE, 0, NULL);
  CHECK(f && upc_all_fclose(f) == 0 && !fopen("io.gone", "r") && errno == ENOENT);
}

int main(void) {
  mine = (shared [] char*)upc_alloc(12);
  of_this_thread();
  of_all();
  lists();
  opening();
  RIGHT();
  return 0;
}
