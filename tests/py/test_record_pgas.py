"""Programs of libisthmus are recorded as those of MPI are: what every rank put, got, sent and took part in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.schedule.program import CollectiveKind, EventKind
from library import compile_c
from mpi_programs import MPIS, installed, launcher

RANKS, ROUNDS = 4, 5
HEAD = """
#include <isthmus/isthmus_access.h>
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_MPI
#include <isthmus/isthmus_mpi.h>
#endif
#define TRY(call) do { if ((call) < 0) { puts(isthmus_last_error()); exit(1); } } while (0)
static int answered;
static uint64_t total;
static void count(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)n, (void)payload, (void)bytes;
  *(uint64_t*)data += a[0];
  TRY(isthmus_reply(token, 2, data, 1, NULL, 0));
}
static void answer(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)token, (void)a, (void)n, (void)payload, (void)bytes, (void)data;
  answered++;
}
"""
SOURCE = (
    HEAD
    + """
int main(int argc, char** argv) {
  isthmus_team *team, *half;
  isthmus_space* s;
  uint64_t v, sig, word = 0;
  (void)argc, (void)argv;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  TRY(isthmus_join_mpi(MPI_COMM_WORLD, &team));
#else
  TRY(isthmus_join(NULL, &team));
#endif
  TRY(isthmus_space_make(team, NULL, &s));
  const uint32_t me = isthmus_rank(team), n = isthmus_ranks(team), next = (me + 1) % n;
  TRY(isthmus_allocate_all(s, 65536, &v));
  TRY(isthmus_allocate_all(s, 64, &sig));
  TRY(isthmus_set(s, me, sig, 0, 64));
  TRY(isthmus_handle(s, 1, count, &total));
  TRY(isthmus_handle(s, 2, answer, NULL));
  TRY(isthmus_barrier(s, NULL));
  char* block = calloc(1, 4096);
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t one = 1;
    isthmus_event e;
    TRY(isthmus_put(s, next, v, block, 100));
    TRY(isthmus_get(s, block, next, v, 200));
    TRY(isthmus_atomic(s, 0, sig + 8, ISTHMUS_U64, ISTHMUS_ATOMIC_ADD, &one, NULL, &word));
    TRY(isthmus_write_u32(s, next, v, 7, ISTHMUS_STRICT));
    TRY(isthmus_request(s, next, 1, &one, 1, block, 1000));
    while (answered <= i) TRY(isthmus_poll(s));
    TRY(isthmus_put_signal(s, next, v, block, 4096, sig, 1));
    TRY(isthmus_wait_signal(s, sig, 1));
    TRY(isthmus_begin_get(s, block, next, v, 300, &e));
    TRY(isthmus_wait_event(s, &e));
    TRY(isthmus_begin_put(s, next, v, block, 50, NULL));
    TRY(isthmus_wait_all(s));
    isthmus_manner m = {.size = sizeof m, .event = &e};
    TRY(isthmus_broadcast(s, &m, v + 8192, (uint32_t)i % n, v, 1000));
    TRY(isthmus_wait_event(s, &e));
    TRY(isthmus_notify(s, NULL));
    TRY(isthmus_await(s));
  }
  TRY(isthmus_split(team, me % 2, me, &half));
  isthmus_manner m = {.size = sizeof m, .team = half};
  TRY(isthmus_exchange_all(s, &m, v + 16384, v, 512));
  const size_t two = 2;
  const int64_t far = 64, close = 8;
  TRY(isthmus_put_strided(s, next, v, &far, block, &close, 8, &two, 1));
  isthmus_event late;
  TRY(isthmus_begin_get_strided(s, block, &close, next, v, &far, 24, &two, 1, &late));
  TRY(isthmus_begin_set(s, next, v, 0, 4096, NULL));
  TRY(isthmus_wait_event(s, &late));
  TRY(isthmus_wait_all(s));
  isthmus_event here;
  const uint64_t none = 0;
  isthmus_completion how = {.size = sizeof how, .event = &late, .local = ISTHMUS_LOCAL_EVENT, .local_event = &here,
                            .signal = sig, .add = 1, .handler = 1, .count = 1, .arguments = &none};
  how.notice = ISTHMUS_NOTICE_SIGNAL;
  TRY(isthmus_begin_put_strided_with(s, next, v, &far, block, &close, 8, &two, 1, &how));
  TRY(isthmus_wait_event(s, &here));
  TRY(isthmus_wait_event(s, &late));
  TRY(isthmus_wait_signal(s, sig, 1));
  how.notice = ISTHMUS_NOTICE_MESSAGE;
  TRY(isthmus_begin_put_with(s, next, v, block, 72, &how));
  TRY(isthmus_wait_event(s, &here));
  TRY(isthmus_wait_event(s, &late));
  while (answered <= ROUNDS) TRY(isthmus_poll(s));
  how.notice = ISTHMUS_NOTICE_NONE;
  TRY(isthmus_begin_put_with(s, next, v, block, 60, &how));
  TRY(isthmus_wait_event(s, &here));
  TRY(isthmus_wait_event(s, &late));
  TRY(isthmus_begin_request_to(s, next, 1, &none, 1, block, 3000, v, &here));
  TRY(isthmus_wait_event(s, &here));
  while (answered <= ROUNDS + 1) TRY(isthmus_poll(s));
  TRY(isthmus_barrier(s, NULL));
  printf("%d\\n", (int)total);
  TRY(isthmus_leave(half));
  TRY(isthmus_space_leave(s));
  TRY(isthmus_leave(team));
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
"""
)

INIT_THREADS = "int given; MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given)"


def record(command: list[str | Path], output: Path, **environment: str) -> isthmus.Program:
    line = [sys.executable, "-m", "isthmus", "record", "-o", output, "--", *command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False, env=_with(environment))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(ROUNDS)] * RANKS, done.stdout
    program = isthmus.read(output)
    assert isinstance(program, isthmus.Program)
    return program


def _with(environment: dict[str, str]) -> dict[str, str]:
    return os.environ | environment


@pytest.fixture(scope="module", params=["alone", "mpi", "over mpi"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> isthmus.Program:
    """The same program, without MPI, with it, and with ranks that share no memory."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "all.c").write_text(SOURCE)
    words = [f"-DROUNDS={ROUNDS}", "-g"]
    if request.param == "alone":
        program = compile_c(folder / "all.c", folder / "all", "cc", "-std=c99", "-O2", *words)
        command = [sys.executable, "-m", "isthmus", "run", "-n", str(RANKS), "--", program]
        return record(command, folder / "all.h5")
    tool = installed(MPIS[0]).tool("mpicc")
    assert tool is not None
    words += ["-DWITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    program = compile_c(folder / "all.c", folder / "all", tool, "-std=c99", *words)
    more = {"ISTHMUS_TRANSPORT": "mpi"} if request.param == "over mpi" else {}
    return record([*launcher(MPIS[0], RANKS), program], folder / "all.h5", **more)


def events(program: isthmus.Program, rank: int, kind: EventKind) -> np.ndarray:
    begin, end = int(program.first[rank]), int(program.first[rank + 1])
    chosen: np.ndarray = np.flatnonzero(np.asarray(program.kind[begin:end]) == kind) + begin
    return chosen


def test_every_call_is_there(recorded: isthmus.Program) -> None:
    recording = recorded.recording
    assert recording is not None
    assert recorded.ranks == RANKS
    calls = Counter[str]()
    for function, n in zip(recording.function.tolist(), recording.count.tolist(), strict=True):
        calls[recording.functions[function]] += n
    each = ("put", "get", "atomic", "write", "request", "put_signal", "begin_get", "begin_put")
    for name in (*each, "notify", "await", "broadcast"):
        assert calls[f"isthmus_{name}"] == RANKS * ROUNDS, name
    assert calls["isthmus_handler"] == RANKS * (2 * ROUNDS + 4)
    assert calls["isthmus_begin_put_with"] == 2 * RANKS
    assert (calls["isthmus_wait_signal"], calls["isthmus_reply"]) == (RANKS * (ROUNDS + 1), RANKS * (ROUNDS + 2))
    for name in (
        "exchange_all",
        "put_strided",
        "begin_get_strided",
        "begin_set",
        "begin_put_strided_with",
        "begin_request_to",
    ):
        assert calls[f"isthmus_{name}"] == RANKS, name


def test_bytes_are_those_of_the_program(recorded: isthmus.Program) -> None:
    for rank in range(RANKS):
        peers = np.asarray(recorded.peer), np.asarray(recorded.amount)
        put, get = events(recorded, rank, EventKind.put), events(recorded, rank, EventKind.get)
        following = (rank + 1) % RANKS
        puts = sorted(peers[1][put[peers[0][put] == following]].tolist())
        # put, write, begin_put; put_strided, begin_set, begin_put_with; and what is added in the memory of rank 0
        assert puts == sorted([100, 4, 50] * ROUNDS + [16, 8, 60] + [8] * ROUNDS * (following == 0))
        gets = sorted(peers[1][get[peers[0][get] == following]].tolist())
        assert gets == sorted([200, 300] * ROUNDS + [48] + [8] * ROUNDS * (following == 0))


def test_active_messages_and_signals_are_messages_that_match(recorded: isthmus.Program) -> None:
    for rank in range(RANKS):
        amount, tag, peer = (np.asarray(getattr(recorded, name)) for name in ("amount", "tag", "peer"))
        sent = events(recorded, rank, EventKind.isend)
        # A request has a head of 32 bytes, an argument and its payload; a reply no payload.
        # What is put before a notice counts as its.
        of_notices = {24: 1, 112: 1, 3040: 1}
        assert Counter(amount[sent].tolist()) == {1040: ROUNDS, 40: ROUNDS + 2, 4104: ROUNDS, **of_notices}
        received = events(recorded, rank, EventKind.recv)
        assert Counter(tag[received].tolist())[1] == Counter(tag[received].tolist())[2] == ROUNDS + 2
        assert (peer[received] != -2).all()  # all of them have a sender


def test_barriers_and_collectives_are_collectives(recorded: isthmus.Program) -> None:
    kinds = Counter[int]()
    for event in events(recorded, 1, EventKind.collective).tolist():
        kinds[int(np.asarray(recorded.what)[event])] += 1
    assert kinds[CollectiveKind.bcast] >= ROUNDS  # and those of isthmus_join_mpi()
    assert kinds[CollectiveKind.alltoall] == 1
    assert kinds[CollectiveKind.barrier] >= ROUNDS + 2  # in two steps, in one, and what waits for all ranks


def test_places_are_lines_of_the_program(recorded: isthmus.Program) -> None:
    recording = recorded.recording
    assert recording is not None
    named = {recording.functions[f] for f in recording.function.tolist()}
    for name in ("isthmus_put", "isthmus_set", "isthmus_request", "isthmus_notify"):
        assert name in named
        calls = np.flatnonzero(recording.function == recording.functions.index(name))
        assert {recording.sites[s].partition(":")[0] for s in recording.site[calls].tolist()} == {"all.c"}


def test_it_is_simulated(recorded: isthmus.Program) -> None:
    timeline = isthmus.simulate(recorded, "mesh:4")
    assert timeline.deadlock is None, str(timeline.deadlock)
    # A round has a put, a get and an atomic operation that are waited for, and a message there and back.
    assert timeline.makespan > ROUNDS * 10e-6


#: In one call that waits, rank 0 handles two messages of rank 1: what that sent before it did its own part of the call,
#: and what it sent behind it. The handler of the first lasts until the second is sent.
ORDER = (
    HEAD
    + """
#include <sys/stat.h>
#include <unistd.h>
static const char* folder;
static int round_now, handled, replies, inside, within;
static void name(char* path, const char* what) { sprintf(path, "%s/%s%d", folder, what, round_now); }
static void say(const char* what) {
  char path[4096];
  name(path, what);
  mkdir(path, 0777);
}
static void await(const char* what) {
  char path[4096];
  name(path, what);
  for (int i = 0; i < 20000 && access(path, F_OK); i++) usleep(1000);
}
static void first(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)a, (void)n, (void)payload, (void)bytes, (void)data;
  say("begun");
  await("sent");
  usleep(5000);
  handled++;
  TRY(isthmus_reply(token, 3, NULL, 0, NULL, 0));
}
static void second(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)a, (void)n, (void)payload, (void)bytes, (void)data;
  handled++;
  within += inside;
  TRY(isthmus_reply(token, 3, NULL, 0, NULL, 0));
}
static void replied(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)token, (void)a, (void)n, (void)payload, (void)bytes, (void)data;
  replies++;
}
int main(int argc, char** argv) {
  isthmus_team* team;
  isthmus_space* s;
  uint64_t v, sig, one = 1, sum = 0;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  TRY(isthmus_join_mpi(MPI_COMM_WORLD, &team));
#else
  TRY(isthmus_join(NULL, &team));
#endif
  (void)argc, (void)answer, (void)count, (void)total, (void)one, (void)sum;
  folder = argv[1];
  TRY(isthmus_space_make(team, NULL, &s));
  const uint32_t me = isthmus_rank(team);
  TRY(isthmus_allocate_all(s, 4096, &v));
  TRY(isthmus_allocate_all(s, 64, &sig));
  TRY(isthmus_set(s, me, sig, 0, 64));
  TRY(isthmus_handle(s, 1, first, NULL));
  TRY(isthmus_handle(s, 2, second, NULL));
  TRY(isthmus_handle(s, 3, replied, NULL));
  TRY(isthmus_barrier(s, NULL));
  for (round_now = 0; round_now < ROUNDS; round_now++) {
    if (me == 0) {
      say("ready");
      inside = 1;
      PART;
      inside = 0;
      while (handled < 2 * (round_now + 1)) TRY(isthmus_poll(s));
    } else {
      await("ready");
      TRY(isthmus_request(s, 0, 1, NULL, 0, NULL, 0));
      await("begun");
      PART;
      TRY(isthmus_request(s, 0, 2, NULL, 0, NULL, 0));
      say("sent");
      while (replies < 2 * (round_now + 1)) TRY(isthmus_poll(s));
    }
    TRY(isthmus_barrier(s, NULL));
  }
  if (me == 0) printf("%d\\n", within);
  TRY(isthmus_space_leave(s));
  TRY(isthmus_leave(team));
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
"""
)
#: What the two ranks call, and how often each call is to be counted.
BOTH_STEPS = "TRY(isthmus_notify(s, NULL)); TRY(isthmus_await(s))"
SUM = (
    "isthmus_call c = {.size = sizeof c, .kind = ISTHMUS_ALLREDUCE, .element = ISTHMUS_U64, .operation = ISTHMUS_SUM,"
    " .count = 1}"
)
PUT_SIGNAL = "if (me == 0) TRY(isthmus_put_signal(s, 1, v, &one, 8, sig, 1)); else TRY(isthmus_wait_signal(s, sig, 1))"
PARTS = {
    "barrier": ("TRY(isthmus_barrier(s, NULL))", {"barrier": 4 * ROUNDS + 2}),
    "barrier and its steps": (
        f"if (me == 0) TRY(isthmus_barrier(s, NULL)); else {{ {BOTH_STEPS}; }}",
        {"barrier": 3 * ROUNDS + 2, "notify": ROUNDS, "await": ROUNDS},
    ),
    "collective of the team": (f"{SUM}; TRY(isthmus_run(team, &c, &one, &sum))", {"run": 2 * ROUNDS}),
    "signal": (PUT_SIGNAL, {"put_signal": ROUNDS, "wait_signal": ROUNDS}),
}


@pytest.mark.parametrize(
    ("part", "mpi"),
    [
        ("barrier", False),
        ("barrier and its steps", False),
        ("collective of the team", False),
        ("barrier", True),
        ("collective of the team", True),
        ("signal", True),
    ],
)
def test_what_a_handler_does_stands_behind_the_begin_of_the_call_that_ran_it(
    part: str, mpi: bool, tmp_path: Path
) -> None:
    what, counts = PARTS[part]
    (tmp_path / "order.c").write_text(ORDER.replace("PART", what))
    tool: str | Path | None = "cc"
    words = [f"-DROUNDS={ROUNDS}", "-g"]
    if mpi:
        tool = installed(MPIS[0]).tool("mpicc")
        words += ["-DWITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    assert tool is not None
    program = compile_c(tmp_path / "order.c", tmp_path / "order", str(tool), "-std=c99", *words)
    launch = launcher(MPIS[0], 2) if mpi else [sys.executable, "-m", "isthmus", "run", "-n", "2", "--"]
    line = [sys.executable, "-m", "isthmus", "record", "-o", tmp_path / "order.h5", "--", *launch, program, tmp_path]
    environment = os.environ | ({"ISTHMUS_TRANSPORT": "mpi"} if mpi else {})
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    # Over MPI the second message may come after the call, where its sender waits for a processor.
    assert (1 if mpi else ROUNDS - 2) <= int(done.stdout) <= ROUNDS, "the handlers did not run inside the call"
    recorded = isthmus.read(tmp_path / "order.h5")
    assert isinstance(recorded, isthmus.Program)
    recorded.validate()
    recording = recorded.recording
    assert recording is not None
    assert not [note for note in recording.notes if "left out" in note]
    assert not recording.unmodelled
    calls = Counter[str]()
    for function, n in zip(recording.function.tolist(), recording.count.tolist(), strict=True):
        calls[recording.functions[function]] += n
    assert calls["isthmus_handler"] == 4 * ROUNDS
    for name, n in counts.items():
        assert calls[f"isthmus_{name}"] == n, name
    timeline = isthmus.simulate(recorded, "mesh:2")
    assert timeline.deadlock is None, str(timeline.deadlock)


#: Handlers of rank 0 compute for 20 ms in all.
WORK = """
#include <isthmus/isthmus_pgas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define TRY(call) do { if ((call) < 0) { puts(isthmus_last_error()); exit(1); } } while (0)
static volatile int handled;
static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void work(isthmus_token* token, const uint64_t* a, uint32_t n, void* payload, size_t bytes, void* data) {
  (void)token, (void)a, (void)n, (void)payload, (void)bytes, (void)data;
  const double end = used() + 5e-3;
  while (used() < end) continue;
  handled++;
}
int main(void) {
  isthmus_team* team;
  isthmus_space* s;
  TRY(isthmus_join(NULL, &team));
  TRY(isthmus_space_make(team, NULL, &s));
  TRY(isthmus_handle(s, 1, work, NULL));
  TRY(isthmus_barrier(s, NULL));
  for (int i = 0; i < 4 && isthmus_rank(team) == 1; i++) TRY(isthmus_request(s, 0, 1, NULL, 0, NULL, 0));
  while (isthmus_rank(team) == 0 && handled < 4) WAIT;
  TRY(isthmus_barrier(s, NULL));
  TRY(isthmus_space_leave(s));
  TRY(isthmus_leave(team));
  return 0;
}
"""


@pytest.mark.parametrize("progress", ["none", "thread"])
def test_what_handlers_compute_is_computation(progress: str, tmp_path: Path) -> None:
    wait = "TRY(isthmus_poll(s))" if progress == "none" else "usleep(1000)"
    (tmp_path / "work.c").write_text(WORK.replace("WAIT", wait))
    program = compile_c(tmp_path / "work.c", tmp_path / "work")
    launch = [sys.executable, "-m", "isthmus", "run", "-n", "2", "--", program]
    line = [sys.executable, "-m", "isthmus", "record", "-o", tmp_path / "work.h5", "--", *launch]
    environment = os.environ | {"ISTHMUS_PROGRESS": progress}
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    recorded = isthmus.read(tmp_path / "work.h5")
    assert isinstance(recorded, isthmus.Program)
    computed = np.asarray(recorded.amount)[events(recorded, 0, EventKind.compute)].sum() * 1e-12
    assert 0.019 < computed < 0.03
    assert isthmus.simulate(recorded, "mesh:2").makespan > 0.019


@pytest.mark.parametrize("transport", ["", "mpi"])
def test_with_a_thread_of_the_library_it_is_simulated(transport: str, tmp_path: Path) -> None:
    """What the library itself sends by MPI in its thread is not the program's."""
    (tmp_path / "all.c").write_text(SOURCE.replace("MPI_Init(&argc, &argv)", INIT_THREADS))
    words = [f"-DROUNDS={ROUNDS}", "-g"]
    tool: str | Path | None = "cc"
    if transport:
        tool = installed(MPIS[0]).tool("mpicc")
        words += ["-DWITH_MPI", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    program = compile_c(tmp_path / "all.c", tmp_path / "all", str(tool), "-std=c99", *words)
    alone = [sys.executable, "-m", "isthmus", "run", "-n", str(RANKS), "--"]
    launch = launcher(MPIS[0], RANKS) if transport else alone
    more = {"ISTHMUS_TRANSPORT": transport} if transport else {}
    recorded = record([*launch, program], tmp_path / "all.h5", ISTHMUS_PROGRESS="thread", **more)
    recorded.validate()
    assert recorded.recording is not None
    assert not [note for note in recorded.recording.notes if "left out" in note]
    timeline = isthmus.simulate(recorded, "mesh:4")
    assert timeline.deadlock is None, str(timeline.deadlock)
