/* Library of UPC 1.3, section 7.2. */
#ifndef ISTHMUS_UPC_LIBRARY_H
#define ISTHMUS_UPC_LIBRARY_H
#include <stddef.h>
#include <upc_types.h>

void upc_global_exit(int status);
void upc_poll(void); /* no part of UPC 1.3, but of other compilers: messages are handled */

shared void* upc_all_alloc(size_t nblocks, size_t nbytes);
shared void* upc_global_alloc(size_t nblocks, size_t nbytes);
shared void* upc_alloc(size_t nbytes);
shared void* upc_local_alloc(size_t nblocks, size_t nbytes); /* of UPC 1.1: upc_alloc(nblocks * nbytes) */
void upc_free(shared void* ptr);
void upc_all_free(shared void* ptr);

size_t upc_threadof(shared const volatile void* ptr);
size_t upc_phaseof(shared const volatile void* ptr);
size_t upc_addrfield(shared const volatile void* ptr);
shared void* upc_resetphase(shared const volatile void* ptr);
size_t upc_affinitysize(size_t totalsize, size_t nbytes, size_t threadid);

typedef shared struct isthmus_upc_lock upc_lock_t; /* incomplete, as section 7.2.4.1 has it */
upc_lock_t* upc_all_lock_alloc(void);
upc_lock_t* upc_global_lock_alloc(void);
void upc_lock_free(upc_lock_t* lock);
void upc_all_lock_free(upc_lock_t* lock);
void upc_lock(upc_lock_t* lock);
int upc_lock_attempt(upc_lock_t* lock);
void upc_unlock(upc_lock_t* lock);

void upc_memcpy(shared void* to, shared const void* from, size_t bytes);
void upc_memget(void* to, shared const void* from, size_t bytes);
void upc_memput(shared void* to, const void* from, size_t bytes);
void upc_memset(shared void* to, int value, size_t bytes);
#endif
