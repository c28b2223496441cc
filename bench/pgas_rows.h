/* Which rows of bench/pgas.py a program times: those in PGAS_ROWS, `,put,get,`; all where it is not set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_timed(const char* name) {
  char key[64];
  const char* const rows = getenv("PGAS_ROWS");
  snprintf(key, sizeof key, ",%s,", name);
  return !rows || strstr(rows, key) != NULL;
}
