/* What the two programs of `isthmus measure` share: clock, plan, journal, rounds. One runs under MPI (probe), one does
 * not (node). Both are called with PLAN and JOURNAL:
 *
 *   isthmus-plan 1
 *   budget SECONDS              of this run, all together
 *   tolerance 0.02              half width of the 95 % interval of the median, relative: reached, an item ends
 *   samples LEAST MOST          of each item
 *   seed N                      of the order of items, which changes every round
 *   clocks shared|measured      measured: also where ranks of one host could read the same clock
 *   bind CPU CPU ...            to which processor each rank binds itself; -1: it stays as it was started
 *   item ID KIND key=value ...
 *
 * The journal is only appended to, whole lines at a time, so that a run that is killed keeps what it has:
 *
 *   isthmus-journal 1
 *   machine KEY VALUE ...       where it ran; with one value for each rank where ranks differ
 *   begin ID ROUND SECONDS      since the start
 *   sample ID ROUND VALUE ...   repetitions, one after another; some kinds have several values for each
 *   done ID tolerance|most|budget
 *   skip ID REASON
 *   end */
#ifndef ISTHMUS_PROBE_H
#define ISTHMUS_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_KEYS = 16, MOST_COLUMNS = 6, MOST_BATCH = 65536 };

/* One batch is all there is, and says itself how many repetitions it has. */
enum { ONCE = -1 };

/* -- clock.c: seconds since some time in the past, the same for all processes of a host */

void clock_start(void); /* chooses the clock and finds what it costs; before all others */
double now(void);
double clock_cost(void); /* of one reading, which is already subtracted by elapsed() */
double clock_resolution(void);
const char* clock_name(void);
double elapsed(double begin);  /* seconds since a reading */
int trips_for(double seconds); /* how many of that length are long beside the step of the clock */
void spin(double seconds);     /* keeps the processor busy that long, in the middle */
void nap(double seconds);      /* gives the processor away */
double work(long units);       /* units of computing that take equally long; the result is of no interest */
double work_unit(void);        /* seconds of one, at best */

/* -- plan.c */

struct Item;

typedef struct {
  const char* name;
  const char* keys; /* "a:rank bytes:size n:count=8 mode:single|pair": those without a default are required */
  int columns;      /* values of one repetition; 0: see item_columns() */
  int batch;        /* repetitions of a batch at least, where what comes before the first takes long; or ONCE */
  const void* code; /* how it is done, for the program that does it */
} Kind;

typedef struct Item {
  char* id;
  const Kind* kind;
  int line;
  int trips;    /* what one repetition is the mean of, so that the step of the clock is small beside it; at least 1 */
  double tried; /* seconds of the repetition with which preparing found that; 0 where it did not */
  int keys;
  const char* key[MOST_KEYS];
  const char* value[MOST_KEYS];
} Item;

typedef struct {
  double budget, tolerance;
  long least, most;
  uint64_t seed;
  bool measured_clocks;
  int* bind; /* a processor or -1 of each of the first ranks */
  int bound;
  Item* item;
  int items;
} Plan;

/* Reads the text of a plan, which is changed and must stay. Returns NULL, or one sentence that says what is wrong. */
const char* plan_read(Plan* plan, char* text, const char* file, const Kind* kinds, int count);

int item_columns(const Item* item);                   /* values of one repetition */
long item_integer(const Item* item, const char* key); /* also of rank, size, count, flag */
double item_real(const Item* item, const char* key);
const char* item_text(const Item* item, const char* key);
bool item_is(const Item* item, const char* key, const char* value);

/* The whole text of a file, to be freed; NULL if it cannot be read. */
char* read_file(const char* path);

/* One line of a file without its end; empty if there is none. */
void read_line(const char* path, char* line, size_t size);

/* -- journal.c */

/* Returns NULL, or one sentence that says why the journal cannot be written. */
const char* journal_open(const char* path);
/* Adds to the line that is being made. */
void journal_add(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the line; it is written with all other ended ones by journal_flush(). */
void journal_end_line(void);
/* Returns NULL, or one sentence. */
const char* journal_flush(void);

/* -- rounds.c: which item is next, how often, and when it is done */

typedef struct {
  /* NULL, or why the item cannot be measured. */
  const char* (*prepare)(Item* item, void* context);
  /* Takes up to count repetitions, `columns` values each; returns how many were taken. Those of kinds that are done
   * once take what they want; if they take none, whoever called writes their lines. */
  int (*batch)(const Item* item, int index, int count, double* values, void* context);
  void* context;
} Work;

/* Returns NULL when all items are done or the budget is used up, or one sentence: the journal cannot be written. */
const char* rounds_run(const Plan* plan, const Work* work);

/* Whether the distribution-free 95 % interval of the median is narrow enough: half its width against the median. */
bool median_is_known(double* values, long count, double tolerance);

/* -- facts.c: about the host and this process */

typedef struct {
  char host[64], boot[40], affinity[64], governor[32], cpu[64];
  uint64_t cores[16]; /* that this process may use, a bit each */
  int core;
  double load;              /* of the last minute */
  double busy, idle, steal; /* seconds of all processors of the host since it started */
  double used;              /* seconds of processor time of this process */
  long switches;            /* that the process did not ask for */
  double resident;          /* bytes of memory */
} Facts;

void facts_read(Facts* facts);
void facts_of_clock(void); /* into the journal */

/* -- noise.c */

int noise_batch(const Item* item, double* values);

/* -- numa.c */

/* Lets the calling thread run on one core; false if that is not possible. */
bool pin(int core);
/* The n-th core that this process may use of a NUMA domain; -1 if there are not so many. */
int core_of_domain(int domain, int n);
/* The first core that this process might use when it started. */
int first_allowed_core(void);

#endif
