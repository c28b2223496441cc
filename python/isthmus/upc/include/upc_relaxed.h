/* Accesses are relaxed unless they say otherwise. */
#pragma upc relaxed
#include <upc.h>
