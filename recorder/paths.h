/* Call paths: what unwind.c, python.c and paths.c know of each other. */
#ifndef ISTHMUS_PATHS_H
#define ISTHMUS_PATHS_H

#include "recorder.h"

/* The most frames of a path, from the innermost. */
enum { PATH_FRAMES = 64 };

/* ---- sites.c ---- */
/* The program or library that code is in: a number that tells it from others, and its path ("" of the program). */
struct module {
  uint64_t base;
  const char* path;
};
struct module module_at(uintptr_t pc);

/* ---- unwind.c ---- */
enum from { FROM_NOWHERE, FROM_SP, FROM_BP, FROM_BP_WORD /* the word at rbp + cfa */ };
enum { BP_SAME, BP_AT_CFA, BP_AT_BP };
/* How to get from the frame that contains a return address to that of its caller. */
struct rule {
  uintptr_t pc;
  int32_t cfa;                  /* the frame's begin, from what `from` says */
  int32_t pc_offset, bp_offset; /* the caller's pc and rbp, from the frame's begin (rbp: or from rbp) */
  uint8_t from, bp;
  bool interpreter; /* code of CPython */
  bool outside;     /* code of the C library: what started the program, or the thread */
};
void unwind_rule(struct rule* rule, uintptr_t pc);
bool unwind_stack(uintptr_t* begin, uintptr_t* end); /* of this thread */

/* ---- python.c ---- */
struct python_frame {
  uint64_t key;     /* of the code and the place in it */
  const char* code; /* PyCodeObject */
  int offset;       /* of the instruction in it, in bytes */
};
bool python_has(uint64_t module); /* whether the interpreter is there, and its code in this module (0: any) */
/* Frames of this thread, innermost first; 0: it runs no Python. */
unsigned python_frames(struct python_frame* frames, unsigned most);
/* File and function of a frame, cut off at the room for them; the line. */
int python_place(const struct python_frame* frame, char* file, char* function, size_t file_room, size_t function_room);

/* The number of its place. */
uint32_t site_of_python(const struct python_frame* frame);

#endif
