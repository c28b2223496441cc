/* What the parts of the support library share. */
#ifndef ISTHMUS_UPC_INTERNAL_H
#define ISTHMUS_UPC_INTERNAL_H
#include <isthmus_upc.h>

static inline void check(int status, const char* doing) {
  if (__builtin_expect(status < 0, 0)) isthmus_upc_fail(doing);
}
/* Says what is wrong with the program, and ends it. */
void isthmus_upc_refuse(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Whether a pointer of C leads to shared memory of any thread. */
int isthmus_upc_leads_to_shared(const void* pointer);
#endif
