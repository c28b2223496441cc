/* What the header of a trace says of the process. */
#include "describe.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_command(char* text, size_t room) {
  FILE* file = fopen("/proc/self/cmdline", "r");
  size_t n = file ? fread(text, 1, room - 2, file) : 0;
  if (file) fclose(file);
  text[n] = text[n + 1] = '\0';
}

static void describe_machine(struct trace_header* h) {
  cpu_set_t set;
  h->pid = (uint32_t)getpid();
  h->cpus_online = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
  h->cpus = h->cpus_online;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    h->cpus = (uint32_t)CPU_COUNT(&set);
    for (int i = 0; i < 512; i++)
      if (CPU_ISSET(i, &set)) h->affinity[i / 32] |= 1u << i % 32;
  }
  gethostname(h->host, sizeof h->host - 1);
  read_command(h->command, sizeof h->command);
  if (!getcwd(h->directory, sizeof h->directory)) h->directory[0] = '\0';
}

void describe_header(struct trace_header* h) {
  memcpy(h->magic, TRACE_MAGIC, sizeof h->magic);
  h->version = TRACE_VERSION;
  h->order = TRACE_ORDER;
  h->rank = process.rank;
  h->ranks = process.ranks;
  h->threads_given = process.level;
  describe_machine(h);
}
