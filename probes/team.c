/* Members of items, their communicators, and memory for messages. */
#include "team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

MPI_Comm tests;
int world_rank, world_size;
int* host_of;
bool crowded;

static char sentence[200];

static bool has(const Item* item, const char* key) {
  char start[64];
  snprintf(start, sizeof start, "%s:", key);
  for (const char* at = item->kind->keys; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
    if (strncmp(at, start, strlen(start)) == 0) return true;
  }
  return false;
}

static int add(int* list, int count, int rank) {
  for (int i = 0; i < count; i++) {
    if (list[i] == rank) return count;
  }
  list[count] = rank;
  return count + 1;
}

int* pairs_of(const Item* item, int* count, const char** reason) {
  const char* text = item_text(item, "pairs");
  *count = 0;
  int* found = malloc(sizeof *found * (strlen(text) + 2));
  for (const char* at = text; found && *at;) {
    int a, b, used;
    if (sscanf(at, "%d-%d%n", &a, &b, &used) != 2 || (at[used] && at[used] != ',') || a < 0 || b < 0 || a == b) {
      snprintf(sentence, sizeof sentence, "pairs=%.40s: pairs of two ranks such as 0-2,1-3 are allowed", text);
      *reason = sentence;
      free(found);
      return NULL;
    }
    if (a >= world_size || b >= world_size) {
      snprintf(sentence, sizeof sentence, "pair %d-%d: %d ranks were started", a, b, world_size);
      *reason = sentence;
      free(found);
      return NULL;
    }
    found[2 * *count] = a;
    found[2 * (*count)++ + 1] = b;
    at += used + (at[used] == ',');
  }
  return found;
}

int* team_members(const Item* item, int* size, const char** reason) {
  int* list = malloc(sizeof *list * ((size_t)world_size + 2));
  *reason = NULL;
  *size = 0;
  if (has(item, "a")) {
    list[0] = (int)item_integer(item, "a");
    list[1] = (int)item_integer(item, "b");
    *size = 2;
    if (list[0] == list[1]) *reason = "a and b are the same rank";
  } else if (has(item, "rank")) {
    list[0] = (int)item_integer(item, "rank");
    *size = 1;
  } else if (has(item, "pairs") && *item_text(item, "pairs")) {
    int count;
    int* pairs = pairs_of(item, &count, reason);
    /* In the order of ranks, so that they are the same members however the pairs are listed. */
    for (int rank = 0; pairs && rank < world_size; rank++) {
      for (int i = 0; i < 2 * count; i++) {
        if (pairs[i] == rank) *size = add(list, *size, rank);
      }
    }
    free(pairs);
  } else if (has(item, "members") && *item_text(item, "members")) {
    for (const char* at = item_text(item, "members"); *at;) {
      char* end;
      const long rank = strtol(at, &end, 10);
      if (end == at || (*end && *end != ',') || rank < 0 || rank >= world_size) {
        *reason = "members= names ranks that were not started";
        break;
      }
      *size = add(list, *size, (int)rank);
      at = end + (*end == ',');
    }
  } else {
    const long given = has(item, "ranks") ? item_integer(item, "ranks") : 0;
    *size = given ? (int)given : world_size;
    if (*size > world_size) {
      snprintf(sentence, sizeof sentence, "it needs %d ranks: %d were started", *size, world_size);
      *reason = sentence;
      *size = 0;
    }
    for (int i = 0; i < *size; i++) list[i] = i;
  }
  for (int i = 0; i < *size && !*reason; i++) {
    if (list[i] < world_size) continue;
    snprintf(sentence, sizeof sentence, "rank %d: %d rank%s started", list[i], world_size,
             world_size == 1 ? " was" : "s were");
    *reason = sentence;
  }
  if (!*reason) return list;
  free(list);
  return NULL;
}

MPI_Comm team_comm(const int* members, int size) {
  static struct {
    MPI_Comm comm;
    int size;
    int* members;
  }* known;
  static int count;
  for (int i = 0; i < count; i++) {
    if (known[i].size == size && memcmp(known[i].members, members, sizeof *members * (size_t)size) == 0) {
      return known[i].comm;
    }
  }
  known = realloc(known, sizeof *known * (size_t)(count + 1));
  known[count].size = size;
  known[count].members = malloc(sizeof *members * (size_t)size);
  memcpy(known[count].members, members, sizeof *members * (size_t)size);
  MPI_Group all, group;
  MPI_Comm_group(tests, &all);
  MPI_Group_incl(all, size, members, &group);
  MPI_Comm_create_group(tests, group, READY, &known[count].comm);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  return known[count++].comm;
}

static char* grown(char** memory, size_t* room, size_t size) {
  if (size < 64) size = 64;
  if (*room >= size) return *memory;
  free(*memory);
  *memory = NULL;
  *room = 0;
  void* fresh;
  if (posix_memalign(&fresh, (size_t)sysconf(_SC_PAGESIZE), size) != 0) return NULL;
  *memory = fresh;
  /* Sums of these floats stay finite. */
  memset(*memory, 0, size);
  *room = size;
  return *memory;
}

char* buffer_out(size_t size) {
  static char* memory;
  static size_t room;
  return grown(&memory, &room, size);
}

char* buffer_in(size_t size) {
  static char* memory;
  static size_t room;
  return grown(&memory, &room, size);
}

MPI_Request* requests(int count) {
  static char* memory;
  static size_t room;
  return (MPI_Request*)(void*)grown(&memory, &room, sizeof(MPI_Request) * (size_t)count);
}

void tell(int other) { MPI_Send(NULL, 0, MPI_BYTE, other, READY, tests); }
void hear(int other) { MPI_Recv(NULL, 0, MPI_BYTE, other, READY, tests, MPI_STATUS_IGNORE); }

void meet(int other) {
  MPI_Sendrecv(NULL, 0, MPI_BYTE, other, READY, NULL, 0, MPI_BYTE, other, READY, tests, MPI_STATUS_IGNORE);
}

void find_trips(Item* item, const Team* team, int (*batch)(const Item*, const Team*, int, double*)) {
  enum { TRIES = 12 };
  double took[TRIES] = {0};
  item->trips = 1;
  /* Where the first one is long already, more would only take time. */
  for (int tries = 1; tries <= TRIES; tries += TRIES - 1) {
    int trips = 1;
    const double begin = now();
    batch(item, team, tries, took);
    item->tried = elapsed(begin) / tries;
    if (team->me == 0) {
      double least = took[0];
      for (int i = 1; i < tries; i++) least = took[i] < least ? took[i] : least;
      trips = trips_for(least);
      for (int i = 1; i < team->size; i++) MPI_Send(&trips, 1, MPI_INT, team->world[i], READY, tests);
    } else {
      MPI_Recv(&trips, 1, MPI_INT, team->world[0], READY, tests, MPI_STATUS_IGNORE);
    }
    if (trips == 1) return;
    if (tries == TRIES) item->trips = trips;
  }
}

void greatest(const Team* team, double* values, int count) {
  MPI_Reduce(team->me == 0 ? MPI_IN_PLACE : values, team->me == 0 ? values : NULL, count, MPI_DOUBLE, MPI_MAX, 0,
             team->comm);
}
