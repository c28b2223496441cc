/* Counts messages where the MPI library has no variable for it; loaded before the program (LD_PRELOAD).
 *
 * MPICH: UCX's send call is the one place through which messages between ranks pass where MPICH is built on UCX and takes no
 * rank for local. Its interface, from ucp.h of UCX 1.10 to 1.18: an endpoint, a buffer, a number of elements, a tag and
 * a struct of options whose first field says which others count; the datatype is the fourth 64-bit word. UCC calls it too.
 *
 * Open MPI 4: its monitoring component calls a function of its own for every message; the variables that show the sums
 * are not to be had in 4.1.4. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef void *Send(void *endpoint, const void *buffer, size_t number, uint64_t tag, const void *options);

static unsigned long long total_messages, total_bytes;

void isthmus_counter_read(unsigned long long *messages, unsigned long long *bytes) {
  *messages = __atomic_load_n(&total_messages, __ATOMIC_RELAXED);
  *bytes = __atomic_load_n(&total_bytes, __ATOMIC_RELAXED);
}

static void count(size_t bytes) {
  __atomic_fetch_add(&total_messages, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&total_bytes, (unsigned long long)bytes, __ATOMIC_RELAXED);
}

void mca_common_monitoring_record_pml(int rank, size_t bytes, int tag) {
  (void)rank;
  (void)tag;
  count(bytes);
}

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t number, uint64_t tag, const void *options) {
  static Send *send;
  if (!send) send = (Send *)dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
  /* Plugins such as those of UCC load UCX for themselves alone. */
  if (!send) {
    void *library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library) send = (Send *)dlsym(library, "ucp_tag_send_nbx");
  }
  if (!send) abort();
  const uint64_t *words = options;
  const uint32_t has = *(const uint32_t *)options;
  size_t element = 1;
  /* A contiguous datatype is its size, shifted by the three bits that tell kinds apart. */
  if ((has & 8u) && (words[3] & 7u) == 0) element = (size_t)(words[3] >> 3);
  count(number * element);
  return send(endpoint, buffer, number, tag, options);
}
