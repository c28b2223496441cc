/* Arrays of several dimensions that are dealt out to the ranks of a space in tiles. The last dimension changes fastest:
 * of elements in a tile, of the tiles of a rank, and of ranks in a grid.
 *
 *     const isthmus_tiles m = {.dimensions = 2, .ranks = ranks, .extents = {1000, 600}, .tile = {64, 64},
 *                              .grid = {2, 3}};
 *     isthmus_allocate_all(space, isthmus_tiles_bytes(&m, sizeof(double)), &offset);
 *     const uint64_t at[] = {17, 300};
 *     isthmus_shared p = isthmus_tiles_place(&m, offset, at, sizeof(double));      &m[17][300]
 *
 * With a grid, the tile at (i, k) lies on the rank at (i modulo grid[0], k modulo grid[1]), as in ScaLAPACK; without
 * one, its members being 0, tiles are dealt out in turn, row by row: UPC's rule, with tiles for blocks. Tiles at the
 * edges take the memory of whole ones. Everything is done here, without the library. */
#ifndef ISTHMUS_TILES_H
#define ISTHMUS_TILES_H

#include <stdio.h>

#include "isthmus_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ISTHMUS_MOST_TILED 8

typedef struct isthmus_tiles {
  uint32_t dimensions; /* 1 to ISTHMUS_MOST_TILED */
  uint32_t ranks;
  uint64_t extents[ISTHMUS_MOST_TILED]; /* of the array */
  uint64_t tile[ISTHMUS_MOST_TILED];    /* elements of a tile along each dimension, above 0; fewer than 2^32 in all */
  uint32_t grid[ISTHMUS_MOST_TILED];    /* ranks along each: at most `ranks` in all */
} isthmus_tiles;

/* Whether all members are as they have to be. */
static inline int isthmus_tiles_right(const isthmus_tiles* t) {
  uint64_t elements = 1, places = 1;
  int with_grid = 0, without = 0;
  if (t->dimensions == 0 || t->dimensions > ISTHMUS_MOST_TILED || t->ranks == 0) return 0;
  for (uint32_t d = 0; d < t->dimensions; ++d) {
    if (t->tile[d] == 0 || t->tile[d] >> 32 || (elements *= t->tile[d]) >> 32) return 0;
    with_grid |= t->grid[d] != 0, without |= t->grid[d] == 0;
    if (t->grid[d] != 0 && (places *= t->grid[d]) > t->ranks) return 0;
  }
  return !(with_grid && without);
}

/* Elements of a whole tile; tiles along a dimension. */
static inline uint64_t isthmus_tiles_elements(const isthmus_tiles* t) {
  uint64_t elements = 1;
  for (uint32_t d = 0; d < t->dimensions; ++d) elements *= t->tile[d];
  return elements;
}
static inline uint64_t isthmus_tiles_along(const isthmus_tiles* t, uint32_t d) {
  return t->extents[d] / t->tile[d] + (t->extents[d] % t->tile[d] != 0);
}

/* Tiles along a dimension that the ranks at a place of the grid have. */
static inline uint64_t isthmus_tiles_dealt(const isthmus_tiles* t, uint32_t d, uint64_t place) {
  const uint64_t all = isthmus_tiles_along(t, d);
  return all > place ? (all - place - 1) / t->grid[d] + 1 : 0;
}

/* How many tiles a rank has. */
static inline uint64_t isthmus_tiles_local(const isthmus_tiles* t, uint32_t rank) {
  uint64_t count = 1;
  if (t->grid[0] == 0) {
    for (uint32_t d = 0; d < t->dimensions; ++d) count *= isthmus_tiles_along(t, d);
    return count > rank ? (count - rank - 1) / t->ranks + 1 : 0;
  }
  for (uint32_t d = t->dimensions; d-- > 0; rank /= t->grid[d]) count *= isthmus_tiles_dealt(t, d, rank % t->grid[d]);
  return rank == 0 ? count : 0; /* those beyond the grid have none */
}

/* Bytes that every rank allocates: as many as the first one needs, which has most. */
static inline uint64_t isthmus_tiles_bytes(const isthmus_tiles* t, uint64_t bytes) {
  return isthmus_tiles_local(t, 0) * isthmus_tiles_elements(t) * bytes;
}

/* The place of an element of an array that begins at an offset. */
static inline isthmus_shared isthmus_tiles_place(const isthmus_tiles* t, uint64_t offset, const uint64_t* index,
                                                 uint64_t bytes) {
  uint64_t number = 0, phase = 0, rank = 0;
  isthmus_shared p;
  for (uint32_t d = 0; d < t->dimensions; ++d) {
    const uint64_t tile = index[d] / t->tile[d];
    phase = phase * t->tile[d] + index[d] % t->tile[d];
    if (t->grid[0] == 0) {
      number = number * isthmus_tiles_along(t, d) + tile;
    } else {
      const uint64_t at = tile % t->grid[d];
      rank = rank * t->grid[d] + at;
      number = number * isthmus_tiles_dealt(t, d, at) + tile / t->grid[d];
    }
  }
  if (t->grid[0] == 0) rank = number % t->ranks, number /= t->ranks;
  p.rank = (uint32_t)rank;
  p.phase = (uint32_t)phase;
  p.offset = offset + (number * isthmus_tiles_elements(t) + phase) * bytes;
  return p;
}

/* The tile of a rank with a number below isthmus_tiles_local(), which lies that many whole tiles after the offset of
 * the array: the index of its first element, and how many elements of it belong to the array along each dimension. */
static inline void isthmus_tiles_nth(const isthmus_tiles* t, uint32_t rank, uint64_t number, uint64_t* first,
                                     uint64_t* extents) {
  if (t->grid[0] == 0) number = number * t->ranks + rank;
  for (uint32_t d = t->dimensions; d-- > 0;) {
    if (t->grid[0] == 0) {
      const uint64_t along = isthmus_tiles_along(t, d);
      first[d] = number % along * t->tile[d];
      number /= along;
    } else {
      const uint64_t at = rank % t->grid[d], dealt = isthmus_tiles_dealt(t, d, at);
      first[d] = (number % dealt * t->grid[d] + at) * t->tile[d];
      number /= dealt;
      rank /= t->grid[d];
    }
    extents[d] = t->extents[d] - first[d] < t->tile[d] ? t->extents[d] - first[d] : t->tile[d];
  }
}

/* A box of the array, from `first` on, of so many elements along each dimension, to or from memory of this rank, in
 * which the elements lie one behind the other. The parts of all tiles are under way together. */
static inline int isthmus_tiles_move(isthmus_space* space, const isthmus_tiles* t, uint64_t offset, uint64_t bytes,
                                     const uint64_t* first, const uint64_t* extents, const void* from, void* to) {
  enum { MOST = 32 };
  isthmus_event events[MOST];
  int64_t there[ISTHMUS_MOST_TILED], here[ISTHMUS_MOST_TILED];
  uint64_t begin[ISTHMUS_MOST_TILED];
  int status = ISTHMUS_DONE;
  uint32_t count = 0;
  if (!isthmus_tiles_right(t))
    return isthmus_refuse("isthmus_tiles: dimensions, tiles or the grid are not as they have to be");
  int64_t across = (int64_t)bytes, own = (int64_t)bytes;
  for (uint32_t d = t->dimensions; d-- > 0;) {
    if (extents[d] > t->extents[d] || first[d] > t->extents[d] - extents[d]) {
      char words[160];
      snprintf(words, sizeof words, "%s: %llu elements from %llu on are outside dimension %u, which has %llu",
               to != NULL ? "isthmus_tiles_get" : "isthmus_tiles_put", (unsigned long long)extents[d],
               (unsigned long long)first[d], (unsigned)d, (unsigned long long)t->extents[d]);
      return isthmus_refuse(words);
    }
    if (extents[d] == 0) return ISTHMUS_DONE;
    there[t->dimensions - 1 - d] = across, here[t->dimensions - 1 - d] = own; /* the fastest one first */
    across *= (int64_t)t->tile[d], own *= (int64_t)extents[d];
    begin[d] = first[d];
  }
  for (uint32_t i = 0; i < MOST; ++i) events[i] = 0;
  for (;;) {
    size_t part[ISTHMUS_MOST_TILED];
    uint64_t at = 0;
    for (uint32_t d = 0; d < t->dimensions; ++d) {
      const uint64_t left = first[d] + extents[d] - begin[d], room = t->tile[d] - begin[d] % t->tile[d];
      part[t->dimensions - 1 - d] = (size_t)(left < room ? left : room);
      at = at * extents[d] + begin[d] - first[d];
    }
    const isthmus_shared p = isthmus_tiles_place(t, offset, begin, bytes);
    isthmus_event* const event = &events[count++ % MOST];
    if (*event != 0) status = isthmus_wait_event(space, event);
    if (status == ISTHMUS_DONE)
      status = to != NULL ? isthmus_begin_get_strided(space, (char*)to + at * bytes, here, p.rank, p.offset, there,
                                                      bytes, part, t->dimensions, event)
                          : isthmus_begin_put_strided(space, p.rank, p.offset, there, (const char*)from + at * bytes,
                                                      here, bytes, part, t->dimensions, event);
    if (status != ISTHMUS_DONE) break;
    uint32_t d = t->dimensions;
    while (d-- > 0) { /* the next tile */
      begin[d] += part[t->dimensions - 1 - d];
      if (begin[d] < first[d] + extents[d]) break;
      begin[d] = first[d];
    }
    if (d == UINT32_MAX) break;
  }
  for (uint32_t i = 0; i < MOST; ++i) {
    const int ended = events[i] != 0 ? isthmus_wait_event(space, &events[i]) : ISTHMUS_DONE;
    if (status == ISTHMUS_DONE) status = ended;
  }
  return status;
}
static inline int isthmus_tiles_put(isthmus_space* space, const isthmus_tiles* t, uint64_t offset, uint64_t bytes,
                                    const uint64_t* first, const uint64_t* extents, const void* from) {
  return isthmus_tiles_move(space, t, offset, bytes, first, extents, from, NULL);
}
static inline int isthmus_tiles_get(isthmus_space* space, const isthmus_tiles* t, uint64_t offset, uint64_t bytes,
                                    const uint64_t* first, const uint64_t* extents, void* to) {
  return isthmus_tiles_move(space, t, offset, bytes, first, extents, NULL, to);
}

#ifdef __cplusplus
}
#endif
#endif
