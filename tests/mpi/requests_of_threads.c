/* The recorder's table of requests where two threads get one handle: built together with recorder/requests.c. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder.h"

void recorder_lock(void) {}
void recorder_unlock(void) {}
void* recorder_allocate(size_t size) { return calloc(1, size); }
void recorder_release(void* at, size_t size) { (void)size, free(at); }

enum { HANDLE_OF_BOTH = 77 };

/* It gets the handle of a request that the first thread has waited for, and is done with its own first. */
static void* other(void* unused) {
  request_add_as(HANDLE_OF_BOTH, REQUEST_SEND, 3);
  request_add_as(HANDLE_OF_BOTH, REQUEST_SEND, 4);
  for (uint32_t serial = 3; serial <= 4; serial++) {
    struct request* found = request_find(HANDLE_OF_BOTH);
    struct request* taken = request_take(HANDLE_OF_BOTH);
    printf("%u %u ", found->serial, taken->serial);
    request_drop(taken);
  }
  request_add_as(HANDLE_OF_BOTH, REQUEST_SEND, 5);
  return unused;
}

int main(void) {
  request_add_as(HANDLE_OF_BOTH, REQUEST_RECEIVE, 1);
  request_add_as(HANDLE_OF_BOTH, REQUEST_RECEIVE, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  pthread_join(thread, NULL);
  request_add_as(HANDLE_OF_BOTH, REQUEST_RECEIVE, 6);
  /* Its own in their order, then the one that only the other thread knows. */
  for (int i = 0; i < 4; i++) {
    struct request* taken = request_take(HANDLE_OF_BOTH);
    printf("%u ", taken->serial);
    request_drop(taken);
  }
  printf("%d\n", request_find(HANDLE_OF_BOTH) == NULL);
  return 0;
}
