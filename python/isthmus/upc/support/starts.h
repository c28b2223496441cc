/* What the start of a program does for other parts of the support library. */
#ifndef ISTHMUS_UPC_STARTS_H
#define ISTHMUS_UPC_STARTS_H
/* Before the first barrier: handlers of messages. */
void isthmus_upc_locks_start(void);
void isthmus_upc_rows_start(void);
/* What a message and a byte take; all threads call it. */
void isthmus_upc_rows_measure(void);
#endif
