/* Messages and collectives of MPI that this process makes, counted while `counting` is not 0. */
#ifndef ISTHMUS_COUNTING_H
#define ISTHMUS_COUNTING_H

struct counted {
  long long messages, bytes, collectives;
};

extern int counting;
extern struct counted counted;

#endif
