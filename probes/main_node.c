/* node PLAN JOURNAL: measurements of one node, without MPI. */
#include <stdio.h>
#include <stdlib.h>

#include "node.h"

static const char* prepare_noise(Item* item) { return pin_item(item); }

static int noise(const Item* item, int count, double* values) {
  (void)count;
  (void)pin_item(item);
  return noise_batch(item, values);
}

static const char* prepare_clock(Item* item) {
  (void)item;
  return NULL;
}

static int clock_readings(const Item* item, int count, double* values) {
  (void)item;
  double begin = now();
  for (int i = 0; i < count; i++) {
    const double end = now();
    values[i] = end - begin;
    begin = end;
  }
  return count;
}

static const NodeCode code_noise = {prepare_noise, noise};
static const NodeCode code_clock = {prepare_clock, clock_readings};

static const Kind kinds[] = {
    {"clock", "", 1, 0, &code_clock},
    {"stream", "op:copy|scale|add|triad threads:count=1 numa_core:number=0 numa_memory:number=0 bytes:size=67108864", 1,
     5, &code_stream},
    {"memcpy", "bytes:size core:core=-1", 1, 3, &code_memcpy},
    {"spmv", "rows:count nnz:count=27 core:core=-1", 1, 3, &code_spmv},
    {"fma", "core:core=-1", 1, 0, &code_fma},
    {"noise", "kind:fwq|ftq=fwq core:core=-1 quantum:seconds=0.001 seconds:seconds=1", 1, ONCE, &code_noise},
};

static volatile double kept;
void keep(double value) { kept = value; }

static int first_core = -1;

const char* pin_item(const Item* item) {
  const int core = (int)item_integer(item, "core");
  return pin(core < 0 ? first_core : core) ? NULL : "this process may not use the core";
}

static const char* prepare(Item* item, void* context) {
  (void)context;
  return ((const NodeCode*)item->kind->code)->prepare(item);
}

static int batch(const Item* item, int index, int count, double* values, void* context) {
  (void)index;
  (void)context;
  return ((const NodeCode*)item->kind->code)->batch(item, count, values);
}

static void number(const char* key, double value) {
  journal_add("machine %s %.9g", key, value);
  journal_end_line();
}

static void write_facts(const char* when) {
  Facts facts;
  facts_read(&facts);
  char key[64];
  const struct {
    const char* name;
    double value;
  } numbers[] = {{"cores", facts.core},
                 {"load", facts.load},
                 {"busy", facts.busy},
                 {"idle", facts.idle},
                 {"steal", facts.steal},
                 {"used", facts.used},
                 {"switches", (double)facts.switches}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    snprintf(key, sizeof key, "%s_%s", numbers[i].name, when);
    number(key, numbers[i].value);
  }
}

static void write_begin(void) {
  Facts facts;
  facts_read(&facts);
  const char* const words[][2] = {{"hosts", facts.host},
                                  {"boots", facts.boot},
                                  {"affinity", facts.affinity},
                                  {"governor", facts.governor},
                                  {"cpu", facts.cpu}};
  number("ranks", 1);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    journal_add("machine %s %s", words[i][0], words[i][1][0] ? words[i][1] : "?");
    journal_end_line();
  }
  facts_of_clock();
  write_facts("begin");
}

static int give_up(const char* sentence, int status) {
  fprintf(stderr, "isthmus-node: %s\n", sentence);
  return status;
}

int main(int argc, char** argv) {
  Plan plan;
  if (argc != 3) return give_up("it takes a plan and a journal: node PLAN JOURNAL", 2);
  char* text = read_file(argv[1]);
  if (text == NULL) return give_up("the plan cannot be read", 2);
  const char* wrong = plan_read(&plan, text, argv[1], kinds, sizeof kinds / sizeof *kinds);
  if (wrong) return give_up(wrong, 2);
  wrong = journal_open(argv[2]);
  if (wrong) return give_up(wrong, 3);
  first_core = first_allowed_core();
  clock_start();
  write_begin();
  const Work work = {prepare, batch, NULL};
  wrong = journal_flush();
  if (!wrong) wrong = rounds_run(&plan, &work);
  if (!wrong) {
    write_facts("end");
    journal_add("end");
    journal_end_line();
    wrong = journal_flush();
  }
  return wrong ? give_up(wrong, 1) : 0;
}
