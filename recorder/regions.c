/* Which part of the run is recorded: between two iterations of a marker or two times, and where MPI_Pcontrol says so.
 *
 * ISTHMUS_MARKER  FUNCTION, or FUNCTION;MODULE;BEGIN-END,... (addresses in a module), or MPI_Pcontrol=LEVEL
 * ISTHMUS_REGION  "iteration FROM TO" or "seconds FROM TO" (since the end of MPI_Init) */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

bool regions_watched;

static struct {
  unsigned function; /* of the marker, 0: none */
  char module[256];  /* its name without folder; empty: any place */
  const char* ranges;
  int level; /* of MPI_Pcontrol, when by_level */
  bool by_level, by_iteration, by_time;
  double from, to;
  bool inside, enabled; /* between from and to; not switched off by MPI_Pcontrol */
} region;
static atomic_llong iteration;

static void update(void) {
  bool now = region.inside && region.enabled;
  if (now == atomic_load(&writing)) return;
  if (now) {
    atomic_store(&writing, true);
    counters_forget(here);
  }
  record_mark(now ? MARK_ON : MARK_OFF, 0);
  if (!now) atomic_store(&writing, false);
}

void regions_begin(void) {
  static char marker[65536];
  char kind[16] = "";
  const char *text = getenv("ISTHMUS_MARKER"), *limits = getenv("ISTHMUS_REGION");
  region.from = 0;
  region.to = INFINITY;
  region.inside = region.enabled = true;
  if (text) {
    snprintf(marker, sizeof marker, "%s", text);
    char *module = strchr(marker, ';'), *level = strchr(marker, '=');
    if (module) {
      *module++ = '\0';
      char* ranges = strchr(module, ';');
      if (ranges) *ranges++ = '\0';
      snprintf(region.module, sizeof region.module, "%s", module);
      region.ranges = ranges;
    } else if (level) {
      region.by_level = true;
      region.level = atoi(level + 1);
    }
    for (unsigned f = 1; f <= function_count && !region.by_level; f++)
      if (!strcmp(function_names[f], marker)) region.function = f;
  }
  if (limits && sscanf(limits, "%15s %lf %lf", kind, &region.from, &region.to) == 3) {
    region.by_iteration = !strcmp(kind, "iteration");
    region.by_time = !region.by_iteration;
    region.inside = region.from <= 0;
  }
  regions_watched = region.function || region.by_time;
  atomic_store(&writing, region.inside);
  if (!region.inside && (here || thread_attach())) record_mark(MARK_OFF, 0);
}

static void iteration_begins(void) {
  const long long number = atomic_fetch_add(&iteration, 1) + 1;
  if (region.by_iteration) region.inside = (double)number >= region.from && (double)number <= region.to;
  const bool last = region.by_iteration && (double)number == region.to;
  update();
  if (atomic_load(&writing)) record_mark(MARK_ITERATION, number);
  if (last) {
    region.inside = false;
    update();
  }
}

static bool in_ranges(uint64_t address) {
  Dl_info info;
  struct link_map* module = NULL;
  char path[4096] = "";
  if (!dladdr1((const void*)(uintptr_t)address, &info, (void**)&module, RTLD_DL_LINKMAP) || !module) return false;
  const char* name = module->l_name;
  if (!name[0] && readlink("/proc/self/exe", path, sizeof path - 1) > 0) name = path;
  const char* base = strrchr(name, '/');
  if (strcmp(base ? base + 1 : name, region.module) != 0) return false;
  const uint64_t offset = address - (uint64_t)module->l_addr;
  for (const char* at = region.ranges; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    unsigned long long begin, end;
    if (sscanf(at, "%llx-%llx", &begin, &end) == 2 && offset >= begin && offset < end) return true;
  }
  return false;
}

static bool at_marker(const void* address) {
  static _Thread_local const void* known[64];
  static _Thread_local bool answers[64];
  if (!region.module[0]) return true;
  const size_t slot = (uintptr_t)address % 61;
  if (known[slot] != address) {
    known[slot] = address;
    /* Back into the call, whose line this is about. */
    answers[slot] = in_ranges((uint64_t)(uintptr_t)address - 1);
  }
  return answers[slot];
}

void regions_call(unsigned function, const void* address) {
  if (region.by_time) {
    const double seconds = (double)(clock_now() - process.init_end) * 1e-9;
    region.inside = seconds >= region.from && seconds < region.to;
    update();
  }
  if (region.function == function && at_marker(address)) iteration_begins();
}

void regions_control(int level) {
  if (!here && !thread_attach()) return;
  if (level == 0 || level == 1) {
    region.enabled = level == 1;
    update();
  } else if (atomic_load(&writing) && !(region.by_level && level == region.level)) {
    record_mark(MARK_PHASE, level);
  }
  if (region.by_level && level == region.level) iteration_begins();
}
