/* Facts about the host and this process, from the kernel. */
#include "probe.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void affinity(Facts* facts) {
  char* text = facts->affinity;
  const size_t size = sizeof facts->affinity;
  cpu_set_t set;
  size_t used = 0;
  text[0] = '\0';
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int core = 0; core < CPU_SETSIZE && core < 1024; core++) {
    if (CPU_ISSET(core, &set)) facts->cores[core / 64] |= (uint64_t)1 << core % 64;
  }
  for (int first = 0; first < CPU_SETSIZE; first++) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) last++;
    if (used + 16 > size) break;
    used +=
        (size_t)snprintf(text + used, size - used, first == last ? "%s%d" : "%s%d-%d", used ? "," : "", first, last);
    first = last;
  }
}

static void processor_name(char* name, size_t size) {
  char* text = read_file("/proc/cpuinfo");
  name[0] = '\0';
  char* line = text ? strstr(text, "model name") : NULL;
  if (line && (line = strchr(line, ':')) != NULL) snprintf(name, size, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
  free(text);
}

void facts_read(Facts* facts) {
  *facts = (Facts){.core = sched_getcpu()};
  if (gethostname(facts->host, sizeof facts->host - 1) != 0) snprintf(facts->host, sizeof facts->host, "unknown");
  read_line("/proc/sys/kernel/random/boot_id", facts->boot, sizeof facts->boot);
  affinity(facts);
  char line[256], path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
           facts->core < 0 ? 0 : facts->core);
  read_line(path, facts->governor, sizeof facts->governor);
  processor_name(facts->cpu, sizeof facts->cpu);
  read_line("/proc/loadavg", line, sizeof line);
  facts->load = atof(line);
  read_line("/proc/stat", line, sizeof line);
  unsigned long long ticks[8] = {0};
  sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
         &ticks[5], &ticks[6], &ticks[7]);
  const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
  facts->busy = tick * (double)(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]);
  facts->idle = tick * (double)(ticks[3] + ticks[4]);
  facts->steal = tick * (double)ticks[7];
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  facts->used = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  facts->switches = usage.ru_nivcsw;
  read_line("/proc/self/statm", line, sizeof line);
  unsigned long long pages = 0;
  sscanf(line, "%*u %llu", &pages);
  facts->resident = (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void facts_of_clock(void) {
  journal_add("machine clock %s", clock_name());
  journal_end_line();
  journal_add("machine clock_cost %.3g", clock_cost());
  journal_end_line();
  journal_add("machine clock_resolution %.3g", clock_resolution());
  journal_end_line();
}
