/* Cores of NUMA domains, as the kernel numbers them. */
#include "probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

bool pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

/* What the process might use when it started: threads are pinned later. */
static const cpu_set_t* allowed(void) {
  static cpu_set_t set;
  static bool known;
  if (!known) known = sched_getaffinity(0, sizeof set, &set) == 0;
  return &set;
}

int core_of_domain(int domain, int n) {
  char path[96], line[1024];
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", domain);
  read_line(path, line, sizeof line);
  /* Without NUMA all cores are of domain 0. */
  if (line[0] == '\0') snprintf(line, sizeof line, domain == 0 ? "0-%d" : "", CPU_SETSIZE - 1);
  int found = 0;
  for (char* at = line; *at;) {
    const long first = strtol(at, &at, 10);
    const long last = *at == '-' ? strtol(at + 1, &at, 10) : first;
    for (long core = first; core <= last && core < CPU_SETSIZE; core++) {
      if (CPU_ISSET((int)core, allowed()) && found++ == n) return (int)core;
    }
    if (*at == ',') at++;
    else break;
  }
  return -1;
}

int first_allowed_core(void) {
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, allowed())) return core;
  }
  return 0;
}
