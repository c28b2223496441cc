/* Loops whose accesses to shared memory are made in blocks: what isthmus upcc writes around them. */
#ifndef ISTHMUS_UPC_ROWS_H
#define ISTHMUS_UPC_ROWS_H

#include <isthmus/isthmus_shared.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The elements that one access of a loop, or several next to each other, goes over: `step` of them further in each
 * iteration. */
typedef struct isthmus_upc_row {
  isthmus_shared at;   /* of the array, or the pointer */
  int64_t first, step; /* number of the element of the first iteration, and from one iteration to the next */
  int64_t from, to;    /* an iteration uses these, in steps: from <= 0 <= to */
  int64_t total;       /* elements of the array, where not all are certain to be used; otherwise 0 */
  uint32_t bytes, block;
  uint32_t use;   /* 1: read, 2: written at 0 by every iteration; 0: accesses that stay as they are; 4: may be kept */
  uint32_t fixed; /* all iterations use one element */
  char* now;      /* set for each strip: where its first iteration finds its element, and the next one the next */
  char *room, *parts[3];
  size_t part_bytes;
  int32_t copied[3];
} isthmus_upc_row;

/* Two rows of which one is written. */
typedef struct isthmus_upc_pair {
  uint16_t one, other, same; /* same: of one array or pointer, so that numbers of elements tell them apart */
} isthmus_upc_pair;

/* What is known of a loop from the last times. */
typedef struct isthmus_upc_site {
  double iteration; /* nanoseconds of one; 0: not known */
  double took[2]; /* the same with all that is under way: in as few strips as there can be, and in more; 0: not known */
  uint32_t runs;
} isthmus_upc_site;

typedef struct isthmus_upc_loop {
  isthmus_upc_site* site;
  isthmus_upc_row* rows;
  const isthmus_upc_pair* pairs;
  const void* const* pointers; /* private ones that the loop uses, which must not lead to shared memory */
  uint32_t row_count, pair_count, pointer_count;
  int64_t count;           /* iterations */
  int64_t strip, done;     /* iterations of a strip, and strips that were handed out */
  int32_t under_way[3];    /* of each part: transfers */
  uint64_t started, begun; /* the strip, and the loop; 0: times do not matter */
  int32_t more;            /* than as few strips as there can be */
} isthmus_upc_loop;

/* Iterations below which nothing is gained: fewer where an access may be a message. */
extern int64_t isthmus_upc_least;
/* Whether it can be done in blocks; begins with the first strip. */
int isthmus_upc_rows_begin(isthmus_upc_loop* loop);
/* Iterations of the next strip, whose rows are there; 0: there is none, and all that was written has arrived. */
int64_t isthmus_upc_rows_next(isthmus_upc_loop* loop);

/* From here to the end nothing changes rows of use 4 for this thread, unless one of these private pointers, through
 * which is written, leads to shared memory. */
void isthmus_upc_keep(const void* const* pointers, uint32_t many);
void isthmus_upc_keep_end(void);
/* Where elements from number `first` on are kept, or will be when they are new; NULL: nowhere. */
char* isthmus_upc_kept(const isthmus_upc_row* row, isthmus_shared begin, int64_t first, int64_t many, int* is_new);

#ifdef __cplusplus
}
#endif
#endif
