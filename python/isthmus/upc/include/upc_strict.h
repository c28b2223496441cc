/* Accesses are strict unless they say otherwise. */
#pragma upc strict
#include <upc.h>
