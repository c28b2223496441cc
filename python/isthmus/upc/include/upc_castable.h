/* Pointers to memory of other threads, UPC 1.3 optional library, section 7.2 of its part 2. */
#ifndef ISTHMUS_UPC_CASTABLE_H
#define ISTHMUS_UPC_CASTABLE_H
#include <stddef.h>
#define UPC_CASTABLE_ALL_ALLOC 1
#define UPC_CASTABLE_GLOBAL_ALLOC 2
#define UPC_CASTABLE_ALLOC 4
#define UPC_CASTABLE_STATIC 8
#define UPC_CASTABLE_ALL 15
typedef struct upc_thread_info_t { int guaranteedCastable; int probablyCastable; } upc_thread_info_t;
void* upc_cast(const shared void* ptr);
upc_thread_info_t upc_thread_info(size_t threadId);
#endif
