/* Schedules that libisthmus carries out: "schedule" parts=FILE, in the folder of the plan, the parts of all members as
 * `isthmus run` writes them. A repetition has two times after the agreed begin: when the last member ended, and when
 * the first one did; and how fast a flag went between two members before its batch, by which the states of a virtual
 * machine are told apart. Compiled with -DISTHMUS, in a program that has libisthmus. */
#ifdef ISTHMUS
#include <isthmus/isthmus_mpi.h>

#include "starts.h"

typedef struct {
  const Item* item;
  isthmus_operation* operation;
} Loaded;

static Loaded* loaded;
static int number_loaded;

static isthmus_operation* operation_of(const Item* item) {
  for (int i = 0; i < number_loaded; i++) {
    if (loaded[i].item == item) return loaded[i].operation;
  }
  return NULL;
}

/* One team for each communicator; it stays until the program ends. */
static isthmus_team* team_over(MPI_Comm comm) {
  static struct {
    MPI_Comm comm;
    isthmus_team* team;
  } known[64];
  static int count;
  for (int i = 0; i < count; i++) {
    if (known[i].comm == comm) return known[i].team;
  }
  isthmus_team* team = NULL;
  if (count == 64 || isthmus_join_mpi(comm, &team) < 0) return NULL;
  known[count].comm = comm;
  known[count++].team = team;
  return team;
}

/* The parts of all members, which only the first need be able to read: to be freed. */
static char* parts_of(const Item* item, const Team* team, uint64_t* size) {
  char path[4096], *bytes = NULL;
  *size = 0;
  if (team->me == 0) {
    snprintf(path, sizeof path, "%s/%s", plan_folder, item_text(item, "parts"));
    FILE* file = fopen(path, "rb");
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
      *size = (uint64_t)ftell(file);
      bytes = malloc(*size);
      rewind(file);
      if (bytes == NULL || fread(bytes, 1, *size, file) != *size) *size = 0;
    }
    if (file != NULL) fclose(file);
  }
  MPI_Bcast(size, 1, MPI_UINT64_T, 0, team->comm);
  if (team->me != 0 && *size > 0) bytes = malloc(*size);
  if (*size > 0) MPI_Bcast(bytes, (int)*size, MPI_BYTE, 0, team->comm);
  return bytes;
}

static int once(isthmus_operation* operation) {
  const int status = isthmus_start(operation, NULL, NULL);
  return status < 0 ? status : isthmus_wait(operation);
}

static const char* load(Item* item, const Team* team) {
  enum { TRIES = 5 };
  uint64_t size, head[3] = {0}, place[2] = {0};
  isthmus_operation* operation = NULL;
  isthmus_team* joined = team_over(team->comm);
  char* bytes = parts_of(item, team, &size);
  const size_t at = sizeof head + sizeof place * (size_t)team->me;
  if (size >= at + sizeof place) {
    memcpy(head, bytes, sizeof head);
    memcpy(place, bytes + at, sizeof place);
  }
  int failed = head[2] != (uint64_t)team->size || place[0] > size || place[1] > size - place[0] || joined == NULL ||
               isthmus_load(joined, bytes + place[0], place[1], &operation) < 0;
  free(bytes);
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_LOR, team->comm);
  double took[TRIES];
  for (int i = 0; i < TRIES && !failed; i++) {
    MPI_Barrier(team->comm);
    const double begin = now();
    failed = once(operation) < 0;
    took[i] = elapsed(begin);
  }
  if (failed) return "libisthmus could not carry it out";
  loaded = realloc(loaded, sizeof *loaded * (size_t)(number_loaded + 1));
  loaded[number_loaded++] = (Loaded){item, operation};
  greatest(team, took, TRIES);
  if (team->me != 0) return NULL;
  double most = took[1];
  for (int i = 2; i < TRIES; i++) most = took[i] > most ? took[i] : most;
  known_of(item)->window = 1.5 * most + 4e-6;
  return NULL;
}

static int carry_out(const Item* item, const Team* team, int count, double* values) {
  isthmus_operation* const operation = operation_of(item);
  const Offset offset = global_clock(team);
  const double flag = flag_exchange(team);
  const Start start = agree(item, team, &offset);
  double *end = columns(count + 1), *begin = end + count + 1, *early = begin + count + 1, *own = early + count + 1;
  /* The first brings what it needs into the caches, and does not count. */
  for (int i = 0; i <= count; i++) {
    double begun;
    const double target = wait_for(&start, i, &offset, team, &begun);
    if (once(operation) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    end[i] = own[i] = now() - clock_cost() - target;
    begin[i] = early[i] = start.window > 0 ? begun - target : begun + ahead(&offset, begun) - start.first;
  }
  gather(team, end, begin, early, count + 1);
  if (team->me != 0) return 0;
  int taken = 0;
  for (int i = 1; i <= count; i++) {
    if (start.window > 0 && begin[i] > 1e-7 + 0.02 * start.window) continue;
    double* const row = &values[3 * taken++];
    row[0] = end[i] > 0 ? end[i] : 0;
    row[1] = own[i] > 0 ? own[i] : 0;
    row[2] = flag;
  }
  learn(item, &start, taken, count);
  return taken;
}

const Code code_schedule = {load, carry_out, true};
#endif
