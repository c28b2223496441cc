/* Of loops in blocks, what the start of a program does. */
#ifndef ISTHMUS_UPC_SUPPORT_ROWS_H
#define ISTHMUS_UPC_SUPPORT_ROWS_H
/* Before the first barrier. */
void isthmus_upc_rows_start(void);
/* What a message and a byte take; all threads call it. */
void isthmus_upc_rows_measure(void);
#endif
