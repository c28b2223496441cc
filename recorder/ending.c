/* Programs that end otherwise than by MPI_Finalize: what ended them is noted in the files, which are whole anyway. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

static const int watched[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { WATCHED = sizeof watched / sizeof watched[0] };
static struct sigaction before[WATCHED];

static void on_signal(int signal, siginfo_t* info, void* context) {
  int i = 0;
  while (i < WATCHED - 1 && watched[i] != signal) i++;
  const bool ours = atomic_load(&recorder_on);
  /* A code above 0 is the kernel's, for what the process did or had too much of. */
  const int32_t sender =
      info && info->si_code <= 0 && info->si_pid != getpid() ? (info->si_pid ? info->si_pid : -1) : 0;
  if (ours) threads_mark(TRACE_SIGNALLED, (uint32_t)signal, sender);
  if (before[i].sa_flags & SA_SIGINFO) {
    before[i].sa_sigaction(signal, info, context);
  } else if (before[i].sa_handler != SIG_DFL) {
    before[i].sa_handler(signal);
  } else {
    /* Again without us: the process ends as it would have. */
    sigaction(signal, &before[i], NULL);
    raise(signal);
    return;
  }
  /* Handlers that only report raise the signal again, which waits for the end of this one. */
  sigset_t waiting;
  sigpending(&waiting);
  if (!ours || sigismember(&waiting, signal)) return;
  /* The program has dealt with it and lives on. */
  for (struct thread* thread = atomic_load(&all_threads); thread; thread = thread->all) {
    thread->header->flags &= ~(uint32_t)TRACE_SIGNALLED;
    thread->header->signal = 0;
    thread->header->ended_ns = thread->header->tail_cpu_ns = 0;
  }
}

void ending_watch(void) {
  static bool done;
  if (done) return;
  done = true;
  for (int i = 0; i < WATCHED; i++) {
    if (sigaction(watched[i], NULL, &before[i])) continue;
    if (!(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_IGN) continue;
    struct sigaction action = before[i];
    action.sa_sigaction = on_signal;
    action.sa_flags |= SA_SIGINFO | SA_ONSTACK;
    if (!(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_DFL) action.sa_flags |= SA_RESTART;
    sigaction(watched[i], &action, NULL);
  }
}

/* After all that the program does at its exit. */
__attribute__((destructor)) static void at_exit(void) {
  if (!atomic_load(&recorder_on)) return;
  atomic_store(&recorder_on, false);
  threads_mark(TRACE_EXITED, 0, 0);
  if (here) counts_write(here);
}
