/* A partitioned global address space: every rank of a team gives memory that all of them read and write, by themselves.
 *
 *     isthmus_space *space;
 *     uint64_t table;
 *     isthmus_space_make(team, NULL, &space);
 *     isthmus_allocate_all(space, 1 << 20, &table);            the same place in the memory of every rank
 *     isthmus_put(space, 1, table + 8, &value, sizeof value);  into the memory of rank 1
 *     isthmus_barrier(space);
 *     isthmus_space_leave(space);
 *
 * A place in the space is a rank and an offset in its memory. Every function returns a status as those of isthmus.h do.
 * One thread at a time may use a space, and its team. Ranks of a node share memory; between nodes everything goes over
 * the MPI of isthmus_join_mpi(): through its windows where that is better (ISTHMUS_WINDOWS), or carried out when the
 * other rank is in a call of the library. */
#ifndef ISTHMUS_PGAS_H
#define ISTHMUS_PGAS_H

#include <string.h>

#include "isthmus.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct isthmus_space isthmus_space;

/* Members that are 0 take their defaults; the same on all ranks. */
typedef struct isthmus_space_options {
  size_t size;        /* sizeof(isthmus_space_options) */
  uint64_t symmetric; /* most bytes of symmetric memory of a rank: address space, no memory is taken before it is
                         allocated. Default: ISTHMUS_SEGMENT of the environment, in bytes, or as much as there is */
  uint64_t local;     /* most bytes that a rank allocates for itself; default: the same */
  uint64_t queue;     /* bytes of active messages under way to a rank; a quarter is the most that one of them carries.
                         Default: 256 KiB */
  uint64_t packed;    /* bytes of the longest piece of isthmus_put_vector() and its like that goes to a rank of another
                         node together with others. Default: ISTHMUS_PACKED of the environment, or what a model says */
} isthmus_space_options;

/* All ranks of the team call both. A space is left before its team, when nothing of this rank is under way. */
int isthmus_space_make(isthmus_team* team, const isthmus_space_options* options, isthmus_space** space);
int isthmus_space_leave(isthmus_space* space);
isthmus_team* isthmus_space_team(const isthmus_space* space);

/* What the functions below look at without a call; the first member of a space. */
typedef struct isthmus_space_head {
  char* const* memory; /* of each rank, at offset 0; NULL where what is put and got goes by a call: where memory is not
                          shared with it, and where a recorder counts what is done */
  uint64_t extent;     /* offsets are below */
  uint32_t rank, ranks;
  uint32_t far;        /* whether some ranks share no memory with each other */
  char* const* shared; /* of each rank, at offset 0; NULL where memory is not shared with it */
} isthmus_space_head;

/* -- memory -------------------------------------------------------------------------------------------------------- */

/* Symmetric memory: at the same offset on all ranks; all of them allocate it, in the same order. It is not set to
 * anything. Offsets are multiples of 64. */
int isthmus_allocate_all(isthmus_space* space, uint64_t bytes, uint64_t* offset);
/* The same, allocated by one rank alone, which tells the others. */
int isthmus_allocate_global(isthmus_space* space, uint64_t bytes, uint64_t* offset);
/* In the memory of this rank alone. */
int isthmus_allocate(isthmus_space* space, uint64_t bytes, uint64_t* offset);
/* Any rank gives back what any rank has allocated, once; of symmetric memory `rank` does not matter. */
int isthmus_release(isthmus_space* space, uint32_t rank, uint64_t offset);

/* A pointer to a place in the space, where its memory is shared with this rank; NULL where it is not. */
static inline void* isthmus_cast(const isthmus_space* space, uint32_t rank, uint64_t offset) {
  const isthmus_space_head* const head = (const isthmus_space_head*)space;
  return rank < head->ranks && offset < head->extent && head->shared[rank] ? head->shared[rank] + offset : NULL;
}
/* The place of a pointer that isthmus_cast() could give. */
int isthmus_place_of_pointer(const isthmus_space* space, const void* pointer, uint32_t* rank, uint64_t* offset);

/* -- put and get --------------------------------------------------------------------------------------------------- */

/* What the inline functions call for memory that is not shared, and for wrong places. */
int isthmus_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes);
int isthmus_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes);
int isthmus_set_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes);
/* Makes words those of isthmus_last_error(); returns ISTHMUS_INVALID. */
int isthmus_refuse(const char* words);

/* Where so many bytes at a place are for this rank; NULL where it has to call. */
static inline char* isthmus_near(const isthmus_space* space, uint32_t rank, uint64_t offset, size_t bytes) {
  const isthmus_space_head* const head = (const isthmus_space_head*)space;
  if (rank >= head->ranks || bytes > head->extent || offset > head->extent - bytes || !head->memory[rank]) return NULL;
  return head->memory[rank] + offset;
}

/* Blocking: when it returns, whoever reads there (after a barrier, a signal, a lock or a message that comes later)
 * finds the bytes. */
static inline int isthmus_put(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes) {
  char* const to = isthmus_near(space, rank, offset, bytes);
  if (!to) return isthmus_put_elsewhere(space, rank, offset, from, bytes);
  if (bytes) memcpy(to, from, bytes);
  return ISTHMUS_DONE;
}
static inline int isthmus_get(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes) {
  const char* const from = isthmus_near(space, rank, offset, bytes);
  if (!from) return isthmus_get_elsewhere(space, to, rank, offset, bytes);
  if (bytes) memcpy(to, from, bytes);
  return ISTHMUS_DONE;
}
/* Sets so many bytes to a value, as memset() does. */
static inline int isthmus_set(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes) {
  char* const to = isthmus_near(space, rank, offset, bytes);
  if (!to) return isthmus_set_elsewhere(space, rank, offset, value, bytes);
  memset(to, value, bytes);
  return ISTHMUS_DONE;
}

/* -- many pieces --------------------------------------------------------------------------------------------------- */

/* Nothing is moved before all bounds are known to be right. What is moved must not overlap what it is moved to, nor
 * pieces that are written each other. */

/* A box of elements of so many bytes: `extents` of each dimension, at most 16 of them, of which the first changes
 * fastest, and how many bytes lie between neighbours of a dimension, in the space and in memory of this rank; numbers
 * below 0 go backwards. `offset` and `from` or `to` are the places of the first element. No dimensions: one element. */
int isthmus_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides, const void* from,
                        const int64_t* from_strides, size_t bytes, const size_t* extents, uint32_t dimensions);
int isthmus_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank, uint64_t offset,
                        const int64_t* strides, size_t bytes, const size_t* extents, uint32_t dimensions);

/* Lists of pieces, in the space and of this rank, which go on in each other: their bytes in all are the same, their
 * numbers and sizes need not be. */
typedef struct isthmus_piece {
  uint64_t offset;
  size_t bytes;
} isthmus_piece;
typedef struct isthmus_block {
  void* pointer;
  size_t bytes;
} isthmus_block;
int isthmus_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                       const isthmus_block* from, size_t from_count);
int isthmus_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                       const isthmus_piece* from, size_t from_count);
/* The same, where all pieces of a side have one size. */
int isthmus_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count, size_t to_bytes,
                        void* const* from, size_t from_count, size_t from_bytes);
int isthmus_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes, uint32_t rank,
                        const uint64_t* from, size_t from_count, size_t from_bytes);
/* -- put and get that go on meanwhile ------------------------------------------------------------------------------ */

/* What is under way. 0: nothing, it is done. */
typedef uint64_t isthmus_event;

int isthmus_begin_put_elsewhere(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                                isthmus_event* event);
int isthmus_begin_get_elsewhere(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                isthmus_event* event);

/* As isthmus_put() and isthmus_get(), but done when the event says so; until then memory of this rank is not touched.
 * Where memory is shared they are done at once. `event` NULL: waited for with others, by isthmus_wait_all() or by the
 * event of the region that is open. In what order they are carried out is not said. */
static inline int isthmus_begin_put(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from,
                                    size_t bytes, isthmus_event* event) {
  char* const to = isthmus_near(space, rank, offset, bytes);
  if (!to) return isthmus_begin_put_elsewhere(space, rank, offset, from, bytes, event);
  if (bytes) memcpy(to, from, bytes);
  if (event) *event = 0;
  return ISTHMUS_DONE;
}
static inline int isthmus_begin_get(isthmus_space* space, void* to, uint32_t rank, uint64_t offset, size_t bytes,
                                    isthmus_event* event) {
  const char* const from = isthmus_near(space, rank, offset, bytes);
  if (!from) return isthmus_begin_get_elsewhere(space, to, rank, offset, bytes, event);
  if (bytes) memcpy(to, from, bytes);
  if (event) *event = 0;
  return ISTHMUS_DONE;
}
/* The same of isthmus_set(), and of many pieces, whose strides and lists may be overwritten when they return. */
int isthmus_begin_set(isthmus_space* space, uint32_t rank, uint64_t offset, int value, size_t bytes,
                      isthmus_event* event);
int isthmus_begin_put_strided(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                              const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                              uint32_t dimensions, isthmus_event* event);
int isthmus_begin_get_strided(isthmus_space* space, void* to, const int64_t* to_strides, uint32_t rank, uint64_t offset,
                              const int64_t* strides, size_t bytes, const size_t* extents, uint32_t dimensions,
                              isthmus_event* event);
int isthmus_begin_put_vector(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                             const isthmus_block* from, size_t from_count, isthmus_event* event);
int isthmus_begin_get_vector(isthmus_space* space, const isthmus_block* to, size_t to_count, uint32_t rank,
                             const isthmus_piece* from, size_t from_count, isthmus_event* event);
int isthmus_begin_put_indexed(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count, size_t to_bytes,
                              void* const* from, size_t from_count, size_t from_bytes, isthmus_event* event);
int isthmus_begin_get_indexed(isthmus_space* space, void* const* to, size_t to_count, size_t to_bytes, uint32_t rank,
                              const uint64_t* from, size_t from_count, size_t from_bytes, isthmus_event* event);
/* When memory of this rank may be overwritten. */
typedef enum isthmus_local {
  ISTHMUS_LOCAL_LATER = 0, /* when the put is done */
  ISTHMUS_LOCAL_NOW = 1,   /* when the call returns, which may wait for that */
  ISTHMUS_LOCAL_EVENT = 2  /* when an event of its own says so */
} isthmus_local;
/* What the other rank hears when all bytes are there. */
typedef enum isthmus_notice {
  ISTHMUS_NOTICE_NONE = 0,
  ISTHMUS_NOTICE_SIGNAL = 1, /* as of isthmus_put_signal() */
  ISTHMUS_NOTICE_MESSAGE = 2 /* an active message without a payload */
} isthmus_notice;
/* Members that are 0 take their defaults. */
typedef struct isthmus_completion {
  size_t size;                /* sizeof(isthmus_completion) */
  isthmus_event* event;       /* as of isthmus_begin_put(): the bytes are there, a signal is added, and memory of this
                                 rank may be overwritten. It does not wait for a message's handler */
  isthmus_local local;        /* default: ISTHMUS_LOCAL_LATER */
  isthmus_notice notice;      /* default: ISTHMUS_NOTICE_NONE */
  isthmus_event* local_event; /* of ISTHMUS_LOCAL_EVENT; waited for as any other */
  uint64_t signal, add;       /* of ISTHMUS_NOTICE_SIGNAL: where the number is, and what is added */
  uint32_t handler, count;    /* of ISTHMUS_NOTICE_MESSAGE, and its arguments */
  const uint64_t* arguments;
} isthmus_completion;
/* As isthmus_begin_put() and its like, and the completion says when. The completion and its arguments may be
 * overwritten when they return. A put of no bytes has its notice, too. Not in a handler. */
int isthmus_begin_put_with(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                           const isthmus_completion* completion);
int isthmus_begin_put_strided_with(isthmus_space* space, uint32_t rank, uint64_t offset, const int64_t* strides,
                                   const void* from, const int64_t* from_strides, size_t bytes, const size_t* extents,
                                   uint32_t dimensions, const isthmus_completion* completion);
int isthmus_begin_put_vector_with(isthmus_space* space, uint32_t rank, const isthmus_piece* to, size_t to_count,
                                  const isthmus_block* from, size_t from_count, const isthmus_completion* completion);
int isthmus_begin_put_indexed_with(isthmus_space* space, uint32_t rank, const uint64_t* to, size_t to_count,
                                   size_t to_bytes, void* const* from, size_t from_count, size_t from_bytes,
                                   const isthmus_completion* completion);
/* Both handle messages and set an event that is done to 0; the first one is ISTHMUS_IN_PROGRESS where it is not. Every
 * event is waited for, before the space is left. */
int isthmus_test_event(isthmus_space* space, isthmus_event* event);
int isthmus_wait_event(isthmus_space* space, isthmus_event* event);
/* Waits for all that was begun without an event outside of regions. */
int isthmus_wait_all(isthmus_space* space);
/* What is begun without an event between them has this one. One region at a time is open. */
int isthmus_open_region(isthmus_space* space);
int isthmus_close_region(isthmus_space* space, isthmus_event* event);

/* -- atomic operations --------------------------------------------------------------------------------------------- */

typedef enum isthmus_atomic_operator {
  ISTHMUS_ATOMIC_ADD = 0,
  ISTHMUS_ATOMIC_MIN = 1,
  ISTHMUS_ATOMIC_MAX = 2,
  ISTHMUS_ATOMIC_AND = 3,
  ISTHMUS_ATOMIC_OR = 4,
  ISTHMUS_ATOMIC_XOR = 5,
  ISTHMUS_ATOMIC_SWAP = 6,
  ISTHMUS_ATOMIC_SWAP_IF = 7, /* where it is equal to `expected` */
  ISTHMUS_ATOMIC_READ = 8,
  ISTHMUS_ATOMIC_MULTIPLY = 9,
  ISTHMUS_ATOMIC_SUBTRACT = 10
} isthmus_atomic_operator;

/* Of an element of 4 or 8 bytes at a multiple of its size: integers with and without sign, floating-point numbers (no
 * AND, OR, XOR). `before`: what was there; NULL: nobody asks. Everything that a rank wrote before is seen by whoever
 * sees the result. An element that is changed by atomic operations is read and written by them alone, until a barrier.
 */
int isthmus_atomic(isthmus_space* space, uint32_t rank, uint64_t offset, isthmus_element element,
                   isthmus_atomic_operator operation, const void* operand, const void* expected, void* before);

/* A domain: operations that elements of one type will have, known beforehand, so that the library takes the best way
 * for these: instructions of the processor, messages, or windows of MPI. Elements that are changed through a domain are
 * changed through domains that were made alike alone, until a barrier. */
typedef struct isthmus_domain isthmus_domain;
#define ISTHMUS_ATOMIC_SET(operation) (1u << (operation))
typedef enum isthmus_atomic_way {
  ISTHMUS_BY_PROCESSOR = 0, /* of this rank */
  ISTHMUS_BY_MESSAGE = 1,   /* by the other rank, in one of its calls */
  ISTHMUS_BY_WINDOW = 2     /* by MPI */
} isthmus_atomic_way;
/* All ranks of the space make it, with the same arguments, and free it before the space is left. `operations`: those of
 * ISTHMUS_ATOMIC_SET() of which there will be any, one or another. */
int isthmus_domain_make(isthmus_space* space, isthmus_element element, uint32_t operations, isthmus_domain** domain);
int isthmus_domain_free(isthmus_domain* domain);
/* As isthmus_atomic(); ISTHMUS_INVALID of an operation that the domain was not made for. */
int isthmus_domain_change(isthmus_domain* domain, uint32_t rank, uint64_t offset, isthmus_atomic_operator operation,
                          const void* operand, const void* expected, void* before);
isthmus_atomic_way isthmus_domain_way(const isthmus_domain* domain, uint32_t rank);
isthmus_space* isthmus_domain_space(const isthmus_domain* domain);
isthmus_element isthmus_domain_element(const isthmus_domain* domain);

/* -- active messages ----------------------------------------------------------------------------------------------- */

/* Who asks, for the handler of a request; good as long as that runs. */
typedef struct isthmus_token isthmus_token;

/* Runs on the rank that gets a message, in one of its calls of the library. `payload` is good as long as it runs. The
 * handler of a request may reply, once; nothing else of the space may be called but isthmus_cast() and its like. */
typedef void (*isthmus_handler)(isthmus_token* token, const uint64_t* arguments, uint32_t count, void* payload,
                                size_t bytes, void* data);

#define ISTHMUS_MOST_HANDLERS 256
#define ISTHMUS_MOST_ARGUMENTS 16

/* From now on messages with this number, below ISTHMUS_MOST_HANDLERS, are handled by it; `data` is handed to it. The
 * numbers mean the same on all ranks, which give a handler before messages for it can come: before a barrier. */
int isthmus_handle(isthmus_space* space, uint32_t number, isthmus_handler handler, void* data);
/* Bytes that one message may carry. */
size_t isthmus_most_payload(const isthmus_space* space);

/* A request, with no payload, or with bytes that the handler finds in memory of the library. What it carries may be
 * overwritten when it returns. Where there is no room it goes on with messages that come, meanwhile. */
int isthmus_request(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments, uint32_t count,
                    const void* payload, size_t bytes);
/* With a payload of any size that the handler finds in the space, at the offset of its rank. */
int isthmus_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments, uint32_t count,
                       const void* payload, size_t bytes, uint64_t offset);
/* The same; the payload may be overwritten when the event says so. NULL: as of isthmus_begin_put(). */
int isthmus_begin_request_to(isthmus_space* space, uint32_t rank, uint32_t handler, const uint64_t* arguments,
                             uint32_t count, const void* payload, size_t bytes, uint64_t offset, isthmus_event* event);
/* In two steps: room for a payload, which is filled, and then passed on with as many bytes as were needed. Between them
 * nothing else of the space is called. */
int isthmus_prepare(isthmus_space* space, uint32_t rank, size_t bytes, void** room);
int isthmus_commit(isthmus_space* space, uint32_t handler, const uint64_t* arguments, uint32_t count, size_t bytes);
/* The same to whoever asks. */
int isthmus_reply(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                  const void* payload, size_t bytes);
int isthmus_reply_to(isthmus_token* token, uint32_t handler, const uint64_t* arguments, uint32_t count,
                     const void* payload, size_t bytes, uint64_t offset);
/* Who asks, or replies, and in which space. */
uint32_t isthmus_token_rank(const isthmus_token* token);
isthmus_space* isthmus_token_space(const isthmus_token* token);

/* Handles what has come. Messages are handled in calls of the library that wait, too. */
int isthmus_poll(isthmus_space* space);

/* -- synchronisation ----------------------------------------------------------------------------------------------- */

/* A barrier of all ranks, in two steps or in one. `id`: NULL, or a number that has to be the same on all ranks that
 * give one; where it is not, the barrier is ISTHMUS_INVALID on all of them. Messages are handled meanwhile. */
int isthmus_notify(isthmus_space* space, const int64_t* id);
int isthmus_await(isthmus_space* space);
/* The second step, where it need not wait; ISTHMUS_IN_PROGRESS where it would. */
int isthmus_try_await(isthmus_space* space);
int isthmus_barrier(isthmus_space* space, const int64_t* id);

/* Puts bytes, then adds to a number of 64 bits in the memory of the same rank: whoever sees the sum finds the bytes. */
int isthmus_put_signal(isthmus_space* space, uint32_t rank, uint64_t offset, const void* from, size_t bytes,
                       uint64_t signal, uint64_t add);
/* Waits until such a number in the memory of this rank is at least `take`, and takes as much away from it. */
int isthmus_wait_signal(isthmus_space* space, uint64_t signal, uint64_t take);

/* A lock that ranks get in the order in which they ask for it. Its place is that of memory of the space. */
typedef struct isthmus_mutex {
  uint32_t rank;
  uint64_t offset;
} isthmus_mutex;
/* Made by all ranks, which get the same one; or by one alone, which tells the others. */
int isthmus_mutex_make_all(isthmus_space* space, isthmus_mutex* mutex);
int isthmus_mutex_make(isthmus_space* space, isthmus_mutex* mutex);
int isthmus_mutex_free(isthmus_space* space, isthmus_mutex mutex);
int isthmus_lock(isthmus_space* space, isthmus_mutex mutex);
/* ISTHMUS_IN_PROGRESS where a rank has it. */
int isthmus_try_lock(isthmus_space* space, isthmus_mutex mutex);
int isthmus_unlock(isthmus_space* space, isthmus_mutex mutex);

/* -- collectives --------------------------------------------------------------------------------------------------- */

/* Of symmetric memory: `to` and `from` are the same offsets on all ranks that take part, which begin the same
 * collectives in the same order; those of several teams may be under way at once, and any number of one. Bytes that are
 * read and those that are written must not overlap. The results of all are those of the algorithms of isthmus.h, which
 * serves for other memory, and for collectives that this list lacks: a rank's own part is isthmus_cast() of its rank.
 */

/* How it takes place; the same on all ranks but for `event`. NULL, and members that are 0: the defaults. */
typedef struct isthmus_manner {
  size_t size;               /* sizeof(isthmus_manner) */
  isthmus_team* team;        /* who takes part: the team of the space, or a group of it; its ranks are meant below.
                                Default: all ranks of the space */
  isthmus_sync enter, leave; /* default: ISTHMUS_SYNC_ALL, so that all that was put before is there, and all that is
                                written may be got by any rank afterwards */
  const char* algorithm;     /* as in isthmus_call; of reductions not given */
  isthmus_event* event;      /* what it is waited for by; default: the call waits */
} isthmus_manner;

int isthmus_barrier_of(isthmus_space* space, const isthmus_manner* manner);
/* Bytes at `from` of the root to `to` of all ranks, the root among them, where `to` may be `from`. */
int isthmus_broadcast(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root, uint64_t from,
                      uint64_t bytes);
/* Blocks of so many bytes. From the root, whose blocks lie one after the other in the order of ranks; to the root; to
 * all ranks; from all to all. */
int isthmus_scatter(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint32_t root, uint64_t from,
                    uint64_t bytes);
int isthmus_gather(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                   uint64_t bytes);
int isthmus_gather_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from, uint64_t bytes);
int isthmus_exchange_all(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                         uint64_t bytes);
/* The block of this rank to rank `next`, another one for every rank: where two give the same, it is ISTHMUS_INVALID on
 * all ranks. None is read before all have entered. */
int isthmus_permute(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from, uint64_t bytes,
                    uint32_t next);

/* An array whose elements are dealt out to the ranks in blocks as in isthmus_shared.h, and what combines them. */
typedef struct isthmus_reduction {
  size_t size; /* sizeof(isthmus_reduction) */
  isthmus_element element;
  isthmus_operator operation;
  uint32_t element_bytes;  /* of ISTHMUS_BYTES */
  isthmus_combine combine; /* an operator of the user, in place of `operation` */
  void* data;
  uint32_t commutes; /* as in isthmus_call */
  uint64_t count;    /* elements of the array, at least 1 */
  uint64_t block;    /* of a block; 0: all are on rank 0 */
} isthmus_reduction;
/* All elements combined, in their order where the operator does not commute: one element, at `to` of the root. */
int isthmus_reduce(isthmus_space* space, const isthmus_manner* manner, uint32_t root, uint64_t to, uint64_t from,
                   const isthmus_reduction* reduction);
/* Of every element, all up to it combined: an array of the same shape at `to`, which may be `from`. */
int isthmus_prefix_reduce(isthmus_space* space, const isthmus_manner* manner, uint64_t to, uint64_t from,
                          const isthmus_reduction* reduction);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
