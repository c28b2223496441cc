/* The journal: whole lines, appended in one piece. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int file = -1;
static char* buffer;
static size_t used, room;
static char sentence[512];
static const char* name;

const char* journal_open(const char* path) {
  name = path;
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    snprintf(sentence, sizeof sentence, "%s: %s", path, strerror(errno));
    return sentence;
  }
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    snprintf(sentence, sizeof sentence,
             "%s: another process writes to it: the launcher started separate programs in place of ranks, as that of "
             "another MPI does",
             path);
    return sentence;
  }
  journal_add("isthmus-journal 1");
  journal_end_line();
  return NULL;
}

static void reserve(size_t more) {
  if (used + more <= room) return;
  room = 2 * (used + more);
  buffer = realloc(buffer, room);
  if (buffer == NULL) {
    fprintf(stderr, "isthmus-probe: no memory for the journal\n");
    abort();
  }
}

void journal_add(const char* format, ...) {
  va_list words, again;
  va_start(words, format);
  va_copy(again, words);
  const int length = vsnprintf(NULL, 0, format, words);
  va_end(words);
  reserve((size_t)length + 2);
  vsnprintf(buffer + used, (size_t)length + 1, format, again);
  va_end(again);
  used += (size_t)length;
}

void journal_end_line(void) {
  reserve(1);
  buffer[used++] = '\n';
}

const char* journal_flush(void) {
  size_t done = 0;
  while (done < used) {
    const ssize_t n = write(file, buffer + done, used - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      snprintf(sentence, sizeof sentence, "%s: %s", name, strerror(errno));
      return sentence;
    }
    done += (size_t)n;
  }
  used = 0;
  return NULL;
}
