/* Prints what a file of places says: dimensions, the place of every rank, who shares its node, hops between ranks. */
#include <isthmus/isthmus.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(void) {
  fprintf(stderr, "%s\n", isthmus_last_error());
  return 1;
}

int main(int arguments, char** given) {
  isthmus_places* places;
  const isthmus_dimension* dimensions;
  const uint32_t* there;
  size_t d, count, here, i;
  uint32_t rank, other, hops;
  isthmus_place place;
  if (isthmus_places_read(arguments > 1 ? given[1] : NULL, &places) != ISTHMUS_DONE) return failed();
  count = isthmus_dimensions(places, &dimensions);
  for (d = 0; d < count; ++d) printf("%s %u %u\n", dimensions[d].name, dimensions[d].extent, dimensions[d].wraps);
  for (rank = 0; rank < isthmus_places_ranks(places); ++rank) {
    if (isthmus_place_of(places, rank, &place) != ISTHMUS_DONE) return failed();
    printf("%u %u", place.node, place.core);
    for (d = 0; d < count; ++d) printf(" %u", place.coordinates[d]);
    if (isthmus_ranks_at(places, place.coordinates, &there, &here) != ISTHMUS_DONE) return failed();
    printf(":");
    for (i = 0; i < here; ++i) printf(" %u", there[i]);
    printf(":");
    for (other = 0; other < isthmus_places_ranks(places); ++other) {
      if (isthmus_hops(places, rank, other, &hops) != ISTHMUS_DONE) return failed();
      printf(" %u", hops);
    }
    printf("\n");
  }
  if (isthmus_place_of(places, rank, &place) != ISTHMUS_INVALID) return 2;
  isthmus_places_free(places);
  return 0;
}
