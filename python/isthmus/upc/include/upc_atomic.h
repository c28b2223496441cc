/* Atomic operations, UPC 1.3 optional library. */
#ifndef ISTHMUS_UPC_ATOMIC_H
#define ISTHMUS_UPC_ATOMIC_H
#include <stddef.h>
#include <upc_types.h>
#define UPC_GET 512UL
#define UPC_SET 1024UL
#define UPC_CSWAP 2048UL
#define UPC_SUB 4096UL
#define UPC_INC 8192UL
#define UPC_DEC 16384UL
typedef int upc_atomichint_t;
#define UPC_ATOMIC_HINT_DEFAULT 0
#define UPC_ATOMIC_HINT_LATENCY 1
#define UPC_ATOMIC_HINT_THROUGHPUT 2
#define UPC_ATOMIC_PERFORMANCE_NOT_SUPPORTED 0
#define UPC_ATOMIC_PERFORMANCE_SLOW 1
#define UPC_ATOMIC_PERFORMANCE_FAST 2
upc_atomicdomain_t* upc_all_atomicdomain_alloc(upc_type_t type, upc_op_t ops, upc_atomichint_t hints);
void upc_all_atomicdomain_free(upc_atomicdomain_t* domain);
void upc_atomic_strict(upc_atomicdomain_t* domain, void* restrict fetch, upc_op_t op, shared void* restrict target,
                       const void* restrict operand1, const void* restrict operand2);
void upc_atomic_relaxed(upc_atomicdomain_t* domain, void* restrict fetch, upc_op_t op, shared void* restrict target,
                        const void* restrict operand1, const void* restrict operand2);
int upc_atomic_isfast(upc_type_t type, upc_op_t ops, shared void* addr);
#endif
