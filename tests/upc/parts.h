#ifndef PARTS_H
#define PARTS_H
#include <upc.h>
extern shared [2] int values[4 * THREADS];
extern shared [2] int* head;
void fill(int from);
int own(void);
int in_other_file(void);
#endif
