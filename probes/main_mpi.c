/* probe PLAN JOURNAL, started by mpirun: measurements that need MPI. Rank 0 leads: for each batch it tells the members
 * of the item, which do it while all others sleep. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "global_clock.h"
#include "team.h"

static const Kind kinds[] = {
    {"clock", "rank:rank=0", 1, 0, &code_clock},
    {"pingpong", "a:rank b:rank bytes:size", 1, 0, &code_pingpong},
    {"fresh", "a:rank b:rank bytes:size", 1, 0, &code_fresh},
    {"local", "a:rank b:rank what:copy|reduce bytes:size", 1, 0, &code_local},
    {"prtt", "a:rank b:rank bytes:size n:count delay:seconds=0 posted:flag=1", 1, 0, &code_prtt},
    {"sendrecv", "a:rank b:rank bytes:size", 1, 0, &code_sendrecv},
    {"burst", "a:rank b:rank bytes:size n:count", 1, 0, &code_burst},
    {"window", "a:rank b:rank bytes:size n:count=64", 1, 0, &code_window},
    {"bidirectional", "a:rank b:rank bytes:size n:count=64", 1, 0, &code_bidirectional},
    {"ring", "bytes:size ranks:count=0 members:list=", 1, 0, &code_ring},
    {"sendcall", "a:rank b:rank bytes:size pause:seconds=2e-5", 1, 0, &code_sendcall},
    {"isendcall", "a:rank b:rank bytes:size pause:seconds=2e-5", 1, 0, &code_isendcall},
    {"waitcall", "a:rank b:rank bytes:size pause:seconds=2e-5", 1, 0, &code_waitcall},
    {"receivecall", "a:rank b:rank bytes:size pause:seconds=2e-5 how:wait|posted=wait", 1, 0, &code_receivecall},
    {"irecvcall", "a:rank b:rank bytes:size", 1, 0, &code_irecvcall},
    {"eager", "a:rank b:rank bytes:size hold:seconds=0.002 progress:flag=1", 1, 0, &code_eager},
    {"threshold", "a:rank b:rank most:size=4194304 hold:seconds=0.002 progress:flag=1", 1, 0, &code_threshold},
    {"rate",
     "bytes:size ranks:count=0 members:list= peers:count=1 stride:count=1 count:count=16 "
     "mode:single|pair|prepost|allstart=allstart cold:flag=0 cache:size=33554432",
     1, 0, &code_rate},
    {"inject", "senders:count bytes:size n:count=16 pairs:list=", 1, 0, &code_inject},
    {"queue", "a:rank b:rank kind:posted|unexpected length:number", 1, 0, &code_queue},
    {"behind", "bytes:size members:list", 1, 0, &code_behind},
    {"shift", "bytes:size pairs:list alone:flag=0 distance:number=0", 1, 0, &code_shift},
    {"collective",
     "name:barrier|bcast|reduce|allreduce|gather|gatherv|allgather|allgatherv|scatter|scatterv|alltoall|alltoallv|"
     "alltoallw|reduce_scatter|reduce_scatter_block|scan|exscan|neighbor_allgather|neighbor_allgatherv|"
     "neighbor_alltoall|neighbor_alltoallv|neighbor_alltoallw bytes:size ranks:count=0 members:list= blocking:flag=1 "
     "tests:number=0 compute:seconds=0 start:clocks|barrier=clocks",
     0, 0, &code_collective},
    {"flag", "a:rank b:rank", 1, 0, &code_flag},
#ifdef ISTHMUS
    {"schedule", "parts:file what:name= n:count=1 bytes:size=0 members:list", 3, 0, &code_schedule},
#endif
    {"startup", "ranks:count=0", 6, ONCE, &code_startup},
    {"noise", "kind:fwq|ftq=fwq rank:rank=0 quantum:seconds=0.001 seconds:seconds=1", 1, ONCE, &code_noise},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

enum { PREPARE, BATCH, STOP };
enum { COMMAND = 1, REASON, VALUES };
enum { REASON_SIZE = 240 };

typedef struct {
  int what, item, count;
} Command;

static MPI_Comm control;
static Plan plan;
const char* plan_folder = ".";

/* -- members */

/* A message from another rank, waited for without keeping the processor or other ranks busy for long. */
static void await(int source, int tag, MPI_Status* status) {
  const double begin = now();
  for (double rest = 0;;) {
    int there;
    MPI_Iprobe(source, tag, control, &there, status);
    if (there) return;
    if (crowded || now() - begin > 2e-4) {
      rest = rest < 2e-5 ? 2e-5 : rest < 5e-4 ? 1.5 * rest : 5e-4;
      nap(rest);
    }
  }
}

static const Code* code_of(const Item* item) { return item->kind->code; }

static Team team_of(const Item* item) {
  const char* reason;
  Team team = {.me = -1, .comm = MPI_COMM_NULL};
  team.world = team_members(item, &team.size, &reason);
  for (int i = 0; i < team.size && team.world; i++) {
    if (team.world[i] == world_rank) team.me = i;
  }
  if (team.world && team.me >= 0 && code_of(item)->comm) team.comm = team_comm(team.world, team.size);
  return team;
}

static double* room_for_values(void) {
  static double* values;
  if (values == NULL) values = malloc(sizeof *values * MOST_BATCH * MOST_COLUMNS);
  return values;
}

static void prepare_here(Item* item, const Team* team, char* reason) {
  const char* why = code_of(item)->prepare(item, team);
  snprintf(reason, REASON_SIZE, "%s", why ? why : "");
}

static void obey(void) {
  for (;;) {
    MPI_Status status;
    Command command;
    await(0, COMMAND, &status);
    MPI_Recv(&command, 3, MPI_INT, 0, COMMAND, control, MPI_STATUS_IGNORE);
    if (command.what == STOP) return;
    Item* item = &plan.item[command.item];
    const Team team = team_of(item);
    if (command.what == PREPARE) {
      char reason[REASON_SIZE];
      prepare_here(item, &team, reason);
      MPI_Send(reason, REASON_SIZE, MPI_CHAR, 0, REASON, control);
    } else {
      double* values = room_for_values();
      const int taken = code_of(item)->batch(item, &team, command.count, values);
      if (team.me == 0) MPI_Send(values, taken * item_columns(item), MPI_DOUBLE, 0, VALUES, control);
    }
    free(team.world);
  }
}

/* -- rank 0 */

static void order(int what, const Item* item, const Team* team, int count) {
  Command command = {what, item ? (int)(item - plan.item) : 0, count};
  for (int i = 0; i < team->size; i++) {
    if (team->world[i] != 0) MPI_Send(&command, 3, MPI_INT, team->world[i], COMMAND, control);
  }
}

static const char* prepare(Item* item, void* context) {
  (void)context;
  static char reason[REASON_SIZE];
  const char* why;
  int size;
  int* members = team_members(item, &size, &why);
  if (members == NULL) return why;
  order(PREPARE, item, &(Team){.world = members, .size = size}, 0);
  reason[0] = '\0';
  for (int i = 0; i < size; i++) {
    char said[REASON_SIZE] = "";
    if (members[i] == 0) {
      const Team team = team_of(item);
      prepare_here(item, &team, said);
      free(team.world);
      if (said[0]) memcpy(reason, said, REASON_SIZE);
    }
  }
  for (int i = 0; i < size; i++) {
    char said[REASON_SIZE];
    MPI_Status status;
    if (members[i] == 0) continue;
    await(members[i], REASON, &status);
    MPI_Recv(said, REASON_SIZE, MPI_CHAR, members[i], REASON, control, MPI_STATUS_IGNORE);
    if (said[0]) memcpy(reason, said, REASON_SIZE);
  }
  free(members);
  return reason[0] ? reason : NULL;
}

static int batch(const Item* item, int index, int count, double* values, void* context) {
  (void)index;
  (void)context;
  const Team team = team_of(item);
  order(BATCH, item, &team, count);
  int taken = 0;
  if (team.me >= 0) taken = code_of(item)->batch(item, &team, count, values);
  if (team.me != 0) {
    MPI_Status status;
    await(team.world[0], VALUES, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &taken);
    MPI_Recv(values, taken, MPI_DOUBLE, team.world[0], VALUES, control, MPI_STATUS_IGNORE);
    taken /= item_columns(item);
  }
  free(team.world);
  return taken;
}

/* -- facts of all ranks */

static void each_word(const char* key, const Facts* all, size_t offset) {
  journal_add("machine %s", key);
  for (int i = 0; i < world_size; i++) {
    const char* text = (const char*)&all[i] + offset;
    journal_add(" %s", *text ? text : "?");
  }
  journal_end_line();
}

static void each_number(const char* key, const Facts* all, size_t offset) {
  journal_add("machine %s", key);
  for (int i = 0; i < world_size; i++)
    journal_add(" %.9g", *(const double*)(const void*)((const char*)&all[i] + offset));
  journal_end_line();
}

static Facts* all_facts(void) {
  Facts mine;
  facts_read(&mine);
  Facts* all = malloc(sizeof *all * (size_t)world_size);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, control);
  return all;
}

static void write_facts(const Facts* all, const char* when) {
  char key[64];
  journal_add("machine cores_%s", when);
  for (int i = 0; i < world_size; i++) journal_add(" %d", all[i].core);
  journal_end_line();
  const struct {
    const char* name;
    size_t offset;
  } numbers[] = {{"load", offsetof(Facts, load)},
                 {"busy", offsetof(Facts, busy)},
                 {"idle", offsetof(Facts, idle)},
                 {"steal", offsetof(Facts, steal)},
                 {"used", offsetof(Facts, used)}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    snprintf(key, sizeof key, "%s_%s", numbers[i].name, when);
    each_number(key, all, numbers[i].offset);
  }
  journal_add("machine switches_%s", when);
  for (int i = 0; i < world_size; i++) journal_add(" %ld", all[i].switches);
  journal_end_line();
}

static void write_library(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, major, minor;
  MPI_Get_library_version(version, &length);
  MPI_Get_version(&major, &minor);
  version[strcspn(version, "\r\n")] = '\0';
  for (char* at = version; *at; at++) {
    if (*at == '\t') *at = ' ';
  }
  journal_add("machine mpi %s", version);
  journal_end_line();
  journal_add("machine mpi_standard %d.%d", major, minor);
  journal_end_line();
}

static void write_begin(const Facts* all) {
  journal_add("machine ranks %d", world_size);
  journal_end_line();
  each_word("hosts", all, offsetof(Facts, host));
  each_word("boots", all, offsetof(Facts, boot));
  each_word("affinity", all, offsetof(Facts, affinity));
  each_word("governor", all, offsetof(Facts, governor));
  journal_add("machine cpu %s", all[0].cpu);
  journal_end_line();
  write_library();
  facts_of_clock();
  write_facts(all, "begin");
}

/* How far the clock of rank 0 is ahead of each rank's, where that was compared at all. */
static void compare_clocks(void) {
  Team all = {.me = world_rank, .size = world_size, .world = malloc(sizeof(int) * (size_t)world_size)};
  double* seconds = malloc(sizeof *seconds * (size_t)world_size);
  bool several = measured_clocks;
  for (int i = 0; i < world_size; i++) {
    all.world[i] = i;
    several |= boot_of[i] != boot_of[0];
  }
  if (several) {
    all.comm = team_comm(all.world, world_size);
    const Offset offset = global_clock(&all);
    const double mine = ahead(&offset, now());
    MPI_Gather(&mine, 1, MPI_DOUBLE, seconds, 1, MPI_DOUBLE, 0, all.comm);
    if (world_rank == 0) journal_add("machine clocks_ahead");
    for (int i = 0; i < world_size && world_rank == 0; i++) journal_add(" %.6g", seconds[i]);
    if (world_rank == 0) journal_end_line();
  }
  free(seconds);
  free(all.world);
}

/* Hosts get numbers; where a host has more ranks than cores that they may use, waiting ranks sleep. */
static void know_hosts(const Facts* all) {
  host_of = malloc(sizeof *host_of * (size_t)world_size);
  int hosts = 0;
  for (int i = 0; i < world_size; i++) {
    int of = hosts;
    for (int k = 0; k < i && of == hosts; k++) {
      if (strcmp(all[i].host, all[k].host) == 0 && strcmp(all[i].boot, all[k].boot) == 0) of = host_of[k];
    }
    host_of[i] = of;
    hosts += of == hosts;
  }
  boot_of = malloc(sizeof *boot_of * (size_t)world_size);
  for (int i = 0; i < world_size; i++) {
    boot_of[i] = i;
    for (int k = i - 1; k >= 0; k--) {
      if (strcmp(all[i].boot, all[k].boot) == 0) boot_of[i] = boot_of[k];
    }
  }
  measured_clocks = plan.measured_clocks;
  /* Ranks of a kernel, and the cores that any of them may use. */
  int here = 0, cores = 0;
  uint64_t any[16] = {0};
  for (int i = 0; i < world_size; i++) {
    if (boot_of[i] != boot_of[world_rank]) continue;
    here++;
    for (int k = 0; k < 16; k++) any[k] |= all[i].cores[k];
  }
  for (int k = 0; k < 16; k++) cores += __builtin_popcountll(any[k]);
  crowded = here > cores;
  MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_C_BOOL, MPI_LOR, control);
}

/* -- the plan, which only rank 0 need be able to read */

static char* shared_plan(const char* path) {
  char* text = world_rank == 0 ? read_file(path) : NULL;
  long long size = text ? (long long)strlen(text) : -1;
  MPI_Bcast(&size, 1, MPI_LONG_LONG, 0, control);
  if (size < 0) return NULL;
  if (world_rank != 0) text = malloc((size_t)size + 1);
  MPI_Bcast(text, (int)size + 1, MPI_CHAR, 0, control);
  return text;
}

/* Where the launcher binds no ranks. That it cannot be done is seen in the facts, which say where a rank may run. */
static void bind_here(void) {
  if (world_rank >= plan.bound || plan.bind[world_rank] < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(plan.bind[world_rank], &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* All ranks end with a status; one says why. */
static int give_up(const char* sentence, int status) {
  if (world_rank == 0) fprintf(stderr, "isthmus-probe: %s\n", sentence);
  MPI_Finalize();
  return status;
}

int main(int argc, char** argv) {
  startup_begin();
  MPI_Init(&argc, &argv);
  startup_initialised();
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &tests);
  MPI_Comm_rank(control, &world_rank);
  MPI_Comm_size(control, &world_size);
  if (argc != 3) return give_up("it takes a plan and a journal: probe PLAN JOURNAL", 2);
  char* text = shared_plan(argv[1]);
  if (text == NULL) return give_up("the plan cannot be read", 2);
  const char* wrong = plan_read(&plan, text, argv[1], kinds, KINDS);
  if (wrong) return give_up(wrong, 2);
  char* const name = strrchr(argv[1], '/');
  if (name != NULL) *name = '\0', plan_folder = argv[1];
  char sentence[512] = "";
  if (world_rank == 0 && (wrong = journal_open(argv[2])) != NULL) snprintf(sentence, sizeof sentence, "%s", wrong);
  MPI_Bcast(sentence, sizeof sentence, MPI_CHAR, 0, control);
  if (sentence[0]) return give_up(sentence, 3);
  /* Ranks whose launcher is gone do not stay for ever. */
  alarm((unsigned)(2 * plan.budget + 300));
  bind_here();
  clock_start();
  Facts* facts = all_facts();
  know_hosts(facts);
  if (world_rank == 0) {
    write_begin(facts);
    const Work work = {prepare, batch, NULL};
    wrong = journal_flush();
    if (!wrong) wrong = rounds_run(&plan, &work);
    int* every = malloc(sizeof *every * (size_t)world_size);
    for (int i = 0; i < world_size; i++) every[i] = i;
    order(STOP, NULL, &(Team){.world = every, .size = world_size}, 0);
    free(every);
  } else {
    obey();
  }
  free(facts);
  facts = all_facts();
  int failed = wrong != NULL;
  MPI_Bcast(&failed, 1, MPI_INT, 0, control);
  if (failed) return give_up(wrong ? wrong : "", 1);
  if (world_rank == 0) write_facts(facts, "end");
  compare_clocks();
  free(facts);
  startup_finalize();
  if (world_rank != 0) return 0;
  journal_add("end");
  journal_end_line();
  wrong = journal_flush();
  if (wrong) fprintf(stderr, "isthmus-probe: %s\n", wrong);
  return wrong != NULL;
}
