/* Collectives of UPC 1.3, section 7.4. */
#ifndef ISTHMUS_UPC_COLLECTIVE_H
#define ISTHMUS_UPC_COLLECTIVE_H
#include <upc_types.h>
#include <stddef.h>
#define UPC_FUNC 65536UL
#define UPC_NONCOMM_FUNC 131072UL
void upc_all_broadcast(shared void* to, shared const void* from, size_t bytes, upc_flag_t flags);
void upc_all_scatter(shared void* to, shared const void* from, size_t bytes, upc_flag_t flags);
void upc_all_gather(shared void* to, shared const void* from, size_t bytes, upc_flag_t flags);
void upc_all_gather_all(shared void* to, shared const void* from, size_t bytes, upc_flag_t flags);
void upc_all_exchange(shared void* to, shared const void* from, size_t bytes, upc_flag_t flags);
void upc_all_permute(shared void* to, shared const void* from, shared const int* perm, size_t bytes, upc_flag_t flags);
void upc_all_reduceC(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    signed char (*function)(signed char, signed char), upc_flag_t flags);
void upc_all_prefix_reduceC(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           signed char (*function)(signed char, signed char), upc_flag_t flags);
void upc_all_reduceUC(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    unsigned char (*function)(unsigned char, unsigned char), upc_flag_t flags);
void upc_all_prefix_reduceUC(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           unsigned char (*function)(unsigned char, unsigned char), upc_flag_t flags);
void upc_all_reduceS(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    signed short (*function)(signed short, signed short), upc_flag_t flags);
void upc_all_prefix_reduceS(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           signed short (*function)(signed short, signed short), upc_flag_t flags);
void upc_all_reduceUS(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    unsigned short (*function)(unsigned short, unsigned short), upc_flag_t flags);
void upc_all_prefix_reduceUS(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           unsigned short (*function)(unsigned short, unsigned short), upc_flag_t flags);
void upc_all_reduceI(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    signed int (*function)(signed int, signed int), upc_flag_t flags);
void upc_all_prefix_reduceI(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           signed int (*function)(signed int, signed int), upc_flag_t flags);
void upc_all_reduceUI(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    unsigned int (*function)(unsigned int, unsigned int), upc_flag_t flags);
void upc_all_prefix_reduceUI(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           unsigned int (*function)(unsigned int, unsigned int), upc_flag_t flags);
void upc_all_reduceL(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    signed long (*function)(signed long, signed long), upc_flag_t flags);
void upc_all_prefix_reduceL(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           signed long (*function)(signed long, signed long), upc_flag_t flags);
void upc_all_reduceUL(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    unsigned long (*function)(unsigned long, unsigned long), upc_flag_t flags);
void upc_all_prefix_reduceUL(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           unsigned long (*function)(unsigned long, unsigned long), upc_flag_t flags);
void upc_all_reduceF(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    float (*function)(float, float), upc_flag_t flags);
void upc_all_prefix_reduceF(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           float (*function)(float, float), upc_flag_t flags);
void upc_all_reduceD(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    double (*function)(double, double), upc_flag_t flags);
void upc_all_prefix_reduceD(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           double (*function)(double, double), upc_flag_t flags);
void upc_all_reduceLD(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                    long double (*function)(long double, long double), upc_flag_t flags);
void upc_all_prefix_reduceLD(shared void* to, shared const void* from, upc_op_t op, size_t count, size_t block,
                           long double (*function)(long double, long double), upc_flag_t flags);
#endif
