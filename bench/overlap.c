/* How much of a nonblocking collective is hidden behind computation: libisthmus, the MPI library, and what the kernel
 * alone does of the same exchange; bench/overlap.py runs it on two hosts.
 *
 *     overlap TURNS WHO,... BYTES...    WHO: calls, timer, mpi or kernel; calls:ALGORITHM, timer:ALGORITHM
 *
 * "calls" and "timer" are libisthmus, going on in its calls alone or by the timer. "kernel" hands the whole message to
 * a socket when it begins and takes the other rank's out at the end; the buffers of the kernel hold both. The copies
 * and packets that this takes no library over the same network can do without.
 *
 * The computation is a number of turns of a loop that takes, alone, as long as the collective without computation. It
 * is cut by 0, 4 or 16 tests. All take turns, and in a turn one times the collective, the computation, and both, so
 * that the machine has one speed for all of them. A line for each, collective, size and number of tests: the pure time
 * in microseconds (median), the quartiles of the part of it that was hidden, and those of the part by which the
 * computation took longer on the rank that lost more. */
#include <isthmus/isthmus_mpi.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

enum { most_turns = 50, most_who = 8, port = 5001 };

typedef enum { ALLREDUCE, ALLTOALL, BCAST } What;
static const char* const names[] = {"allreduce", "alltoall", "bcast"};
static const isthmus_kind kinds[] = {ISTHMUS_ALLREDUCE, ISTHMUS_ALLTOALL, ISTHMUS_BCAST};

typedef enum { OURS, MPI, KERNEL } How;

typedef struct {
  How how;
  const char *name, *algorithm;
  isthmus_team* team;
} Who;

typedef struct {
  const Who* who;
  What what;
  int doubles;
  isthmus_operation* operation;
  MPI_Request request;
  size_t sent, got; /* bytes of a socket */
} Item;

static int rank;
static int channel = -1; /* a socket to the other rank */
static double *in, *out;
static volatile double sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void compute(long turns) {
  double x = 1;
  for (long i = 0; i < turns; ++i) x = x * 1.0000001 + 1e-9;
  sink = x;
}

static void end_with(const char* words) {
  fprintf(stderr, "%s\n", words);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
static void check(int status) {
  if (status < 0) end_with(isthmus_last_error());
}

/* -- the kernel alone ---------------------------------------------------------------------------------------------- */

/* A connection whose buffers hold the largest message. */
static void connect_ranks(size_t largest) {
  char host[256];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  const int yes = 1, room = (int)(2 * largest) + (1 << 20), one = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(one, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  setsockopt(one, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  gethostname(host, sizeof host);
  MPI_Bcast(host, sizeof host, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    if (bind(one, (struct sockaddr*)&address, sizeof address) || listen(one, 1)) end_with("cannot listen");
    MPI_Barrier(MPI_COMM_WORLD);
    channel = accept(one, NULL, NULL);
    close(one);
  } else {
    struct addrinfo *found, hints = {.ai_family = AF_INET};
    if (getaddrinfo(host, NULL, &hints, &found)) end_with("the host of rank 0 has no address");
    address.sin_addr = ((struct sockaddr_in*)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
    MPI_Barrier(MPI_COMM_WORLD);
    if (connect(one, (struct sockaddr*)&address, sizeof address)) end_with("cannot connect");
    channel = one;
  }
  setsockopt(channel, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static size_t to_send(const Item* item) { return item->what == BCAST && rank > 0 ? 0 : (size_t)item->doubles * 8; }
static size_t to_get(const Item* item) { return item->what == BCAST && rank == 0 ? 0 : (size_t)item->doubles * 8; }

static int kernel_sends(Item* item) {
  while (item->sent < to_send(item)) {
    const ssize_t moved =
        send(channel, (const char*)in + item->sent, to_send(item) - item->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (moved < 0) return 0;
    item->sent += (size_t)moved;
  }
  return 1;
}
static void kernel_finish(Item* item) {
  while (!kernel_sends(item) || item->got < to_get(item)) {
    const ssize_t moved = recv(channel, (char*)out + item->got, to_get(item) - item->got, MSG_DONTWAIT);
    if (moved > 0) item->got += (size_t)moved;
  }
  if (item->what == ALLREDUCE)
    for (int i = 0; i < item->doubles; ++i) out[i] += in[i];
}

/* -- a collective -------------------------------------------------------------------------------------------------- */

static isthmus_call call_of(const Item* item) {
  return (isthmus_call){.size = sizeof(isthmus_call),
                        .kind = kinds[item->what],
                        .element = ISTHMUS_F64,
                        .count = (uint64_t)item->doubles,
                        .algorithm = item->who->algorithm};
}

static void begin(Item* item) {
  const int n = item->doubles;
  if (item->who->how == OURS) {
    const isthmus_call call = call_of(item);
    return check(isthmus_begin(item->who->team, &call, in, out, &item->operation));
  }
  if (item->who->how == KERNEL) {
    item->sent = item->got = 0;
    kernel_sends(item);
    return;
  }
  switch (item->what) {
    case ALLREDUCE: MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &item->request); break;
    case ALLTOALL: MPI_Ialltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD, &item->request); break;
    case BCAST: MPI_Ibcast(out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &item->request); break;
  }
}
static void test(Item* item) {
  int flag;
  if (item->who->how == MPI) {
    MPI_Test(&item->request, &flag, MPI_STATUS_IGNORE);
  } else if (item->who->how == KERNEL) {
    kernel_sends(item);
  } else if (item->operation) {
    const int status = isthmus_test(item->operation);
    check(status);
    if (status == ISTHMUS_DONE) item->operation = NULL;
  }
}
static void finish(Item* item) {
  if (item->who->how == MPI) MPI_Wait(&item->request, MPI_STATUS_IGNORE);
  else if (item->who->how == KERNEL) kernel_finish(item);
  else if (item->operation) check(isthmus_wait(item->operation));
  item->operation = NULL;
}

static int by_value(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

/* The slowest of both ranks counts. */
static double slowest(double mine) {
  double most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

/* -- a cell -------------------------------------------------------------------------------------------------------- */

/* What every turn of one of them gave. */
typedef struct {
  double pure[most_turns], hidden[most_turns], loss[most_turns];
} Times;

/* All ranks begin at once, with full buckets. */
static void meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(3000);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The time of the collective with the computation beside it; that of the computation alone is `during`. */
static double together(Item* item, long loop, int tests, double* during) {
  meet();
  const double start = now();
  begin(item);
  const double begun = now();
  for (int t = 0; t < tests; ++t) {
    compute(loop / (tests + 1));
    test(item);
  }
  compute(loop / (tests + 1));
  *during = now() - begun;
  finish(item);
  return slowest(now() - start);
}

static void turn(Item* item, int tests, Times* times, int i) {
  enum { some = 100000 };
  double during, own;
  meet();
  own = now();
  compute(some);
  const double speed = slowest(now() - own) / some, pure = together(item, 0, 0, &during);
  const long loop = (long)(pure / speed);
  meet();
  own = now();
  compute(loop);
  own = now() - own;
  const double alone = slowest(own), both = together(item, loop, tests, &during);
  during = slowest(during / own);
  if (i < 0) return;
  times->pure[i] = pure;
  times->hidden[i] = 1 - (both - alone) / pure;
  times->loss[i] = during - 1;
}

static double quantile(double* of, int turns, double part) {
  qsort(of, (size_t)turns, sizeof *of, by_value);
  return of[(int)(part * (turns - 1) + 0.5)];
}

static void measure(const Who* all, int count, What what, int bytes, int turns) {
  static const int cuts[] = {0, 4, 16};
  static Times times[most_who];
  for (int c = 0; c < 3; ++c) {
    for (int i = -1; i < turns; ++i)
      for (int w = 0; w < count; ++w) {
        /* Of alltoall the bytes are those for the other rank. */
        Item item = {.who = &all[w], .what = what, .doubles = bytes / 8};
        turn(&item, cuts[c], &times[w], i);
      }
    for (int w = 0; w < count && rank == 0; ++w) {
      printf("%s %s %d %d", all[w].name, names[what], bytes, cuts[c]);
      printf(" %.1f", quantile(times[w].pure, turns, 0.5));
      for (int q = 1; q <= 3; ++q) printf(" %.4f", quantile(times[w].hidden, turns, 0.25 * q));
      for (int q = 1; q <= 3; ++q) printf(" %.4f", quantile(times[w].loss, turns, 0.25 * q));
      printf("\n");
    }
  }
}

/* Whether the algorithm is one of the collective's. */
static int is_known(const Who* who, What what) {
  const Item item = {.who = who, .what = what, .doubles = 1024};
  const isthmus_call call = call_of(&item);
  const char* taken;
  return who->algorithm == NULL || isthmus_choice(who->team, &call, &taken) == ISTHMUS_DONE;
}

static Who who_of(char* text) {
  Who who = {.name = text, .how = strcmp(text, "mpi") == 0 ? MPI : strcmp(text, "kernel") == 0 ? KERNEL : OURS};
  if (who.how != OURS) return who;
  const isthmus_job job = {.size = sizeof job, .progress = strncmp(text, "timer", 5) == 0 ? "timer" : "none"};
  check(isthmus_join_mpi_with(MPI_COMM_WORLD, &job, &who.team));
  if (strchr(text, ':')) who.algorithm = strchr(text, ':') + 1;
  return who;
}

int main(int argc, char** argv) {
  int level, count = 0;
  size_t largest = 0;
  Who all[most_who];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int turns = argc > 1 ? atoi(argv[1]) : 0;
  if (argc < 4 || turns < 1 || turns > most_turns) end_with("overlap TURNS WHO,... BYTES...");
  for (int s = 3; s < argc; ++s)
    if ((size_t)atol(argv[s]) > largest) largest = (size_t)atol(argv[s]);
  for (char* text = strtok(argv[2], ","); text && count < most_who; text = strtok(NULL, ","))
    all[count++] = who_of(text);
  connect_ranks(largest);
  in = malloc(2 * largest);
  out = malloc(2 * largest);
  for (size_t i = 0; i < 2 * largest / 8; ++i) in[i] = out[i] = 1;
  for (What what = ALLREDUCE; what <= BCAST; ++what) {
    Who known[most_who];
    int these = 0;
    for (int w = 0; w < count; ++w)
      if (is_known(&all[w], what)) known[these++] = all[w];
    for (int s = 3; s < argc && these > 0; ++s) measure(known, these, what, atoi(argv[s]), turns);
  }
  for (int w = 0; w < count; ++w)
    if (all[w].team) isthmus_leave(all[w].team);
  MPI_Finalize();
  return 0;
}
