/* What the header of a trace says of the process. */
#ifndef ISTHMUS_DESCRIBE_H
#define ISTHMUS_DESCRIBE_H

#include "recorder.h"

/* All but MPI, clocks and times; rank and ranks are those of `process`. */
void describe_header(struct trace_header* h);

#endif
