"""The verb measure, with programs that make up a machine: plans, continuing, what goes wrong, what comes out."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
import signal
import stat
import tomllib
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.errors import InvalidInput
from isthmus.measuring import check, node, plan
from isthmus.measuring import measure as verb
from isthmus.measuring.disturbed import undisturbed
from isthmus.measuring.node import NodeShape, node_shape, processors, ranges
from isthmus.measuring.places import Places
from isthmus.measuring.samples import Item, Samples, Series
from isthmus.mpi.detection import Mpi
from isthmus.mpi.launcher import Launcher

FAKE = Path(__file__).with_name("fake_probe.py")
TWO = NodeShape(
    {"cores": 4, "sockets": 2, "numa": 2}, "test", [], {c: c for c in range(4)}, dict(enumerate([0, 0, 1, 1]))
)


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A launcher that starts one process, which plays all ranks; four cores in one socket."""
    launcher = tmp_path / "bin" / "mpirun"
    launcher.parent.mkdir()
    launcher.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift 2; done\nexec "$@"\n')
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{launcher.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(
        Launcher, "mpi", lambda self, mpicc=None: Mpi("Fake MPI", "1.0", "/bin/mpicc", "/lib/libmpi.so")
    )
    monkeypatch.setattr(verb.programs, "mpi_program", lambda mpi, say=None: FAKE)
    monkeypatch.setattr(verb.programs, "node_program", lambda say=None: FAKE, raising=False)
    monkeypatch.setattr(verb.conditions, "others", lambda seconds=0.3: 0.0)
    shape = NodeShape(
        {"cores": 4, "sockets": 1, "numa": 1, "caches": [{"level": 1, "size": 1 << 20, "cores": 1}]}, "test", [],
        {c: c for c in range(4)}, dict.fromkeys(range(4), 0), dict.fromkeys(range(4), 0),
    )  # fmt: skip
    monkeypatch.setattr(verb, "node_shape", lambda: shape)
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("FAKE_"):
            monkeypatch.delenv(name)


def measured(**options: object) -> isthmus.Machine:
    return isthmus.measure("here.toml", launch="mpirun -n 2", quick=True, **options).machine  # type: ignore[arg-type]


def test_a_whole_measurement() -> None:
    said: list[str] = []
    found = isthmus.measure("here.toml", launch="mpirun -n 2", quick=True, say=said.append)
    here = isthmus.load("here.toml")
    assert here == found.machine
    assert found.files == ("here.toml", "here.h5")
    assert sorted(p.name for p in Path().iterdir()) == ["bin", "here.h5", "here.toml"]
    assert len(Samples.load("here.h5")) == len(found.samples) > 50
    known = here.measured
    assert known is not None
    assert (known.ranks, known.hosts, known.mpi, known.launch) == (2, 1, "Fake MPI v1.0", "mpirun -n 2")
    assert known.hostnames == ()
    assert known.pinning == "bound to cores 0, 1"
    # What the machine was made of.
    assert here.node.memory_bandwidth == pytest.approx(20e9, rel=2e-3)
    assert [t.threads for t in here.node.memory_bandwidth_by_threads] == [1, 2, 3, 4]
    assert here.node.flops == pytest.approx(16e9, rel=2e-3)
    assert [s.up_to for s in here.node.spmv] == [2.0**20, 0.0]
    assert here.node.spmv[1].time_per_flop == pytest.approx(1e-9, rel=2e-3)
    interval = here.provenance("node.memory_bandwidth").interval
    assert interval is not None
    assert 19.9e9 < interval[0] <= here.node.memory_bandwidth <= interval[1] < 20.1e9
    socket = here.level.socket
    assert (socket.o_send, socket.o_recv, socket.L) == pytest.approx((0.2e-6, 0.2e-6, 0.1e-6), rel=0.05)
    assert pytest.approx(1e-10, rel=0.05) == socket.G
    assert here.provenance("level.socket.o_send").interval is not None
    assert here.noise.kind == "exponential"
    # One quantum of 100 us in twenty is interrupted for 5 us.
    assert here.noise.duration == pytest.approx(5e-6, rel=0.05)
    assert here.noise.period == pytest.approx(20 * 100.25e-6, rel=0.05)
    # Messages that the fit did not see: the fake machine is one of the model.
    compared = {name: curve for name, curve in here.curves.items() if curve.kind == "check"}
    assert {curve.parameters["what"] for curve in compared.values()} == {"half a round trip", "burst of 8", "SendRecv"}
    assert not set(here.curves["latency-socket"].x) & set(compared["check-pingpong-socket"].x)
    for curve in compared.values():
        assert curve.y == pytest.approx([1.0] * len(curve.x), abs=0.02), curve.title
    assert here.measured is not None
    assert "are predicted with a median error of" in here.measured.check
    latency = here.curves["latency-socket"]
    assert latency.y[0] == pytest.approx(0.5e-6, rel=2e-3)
    assert latency.low[0] <= latency.y[0] <= latency.high[0]
    assert here.curves["startup-init"].y == pytest.approx((0.11, 0.12), rel=2e-3)
    assert here.curves["cpu_share-allreduce-2-0"].y[0] == pytest.approx(0.3, rel=5e-3)
    assert here.curves["overlap-allreduce-2-0"].y[0] == pytest.approx(0.6, rel=5e-3)
    assert here.curves["bandwidth-socket"].y[-1] == pytest.approx(1 / 1e-10, rel=5e-3)
    text = str(found)
    assert "took" in text
    assert f"samples of {len(found.samples)} items" in text


def test_nodes_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_HOSTS", "red blue")
    monkeypatch.setenv("FAKE_RANKS", "4")
    monkeypatch.setenv("FAKE_AFFINITY", "0 1 0 1")
    here = isthmus.measure(
        "here.toml", launch="mpirun -n 4", quick=True, hostnames=True, topology="clos2:leaves=2,down=2,spines=2"
    ).machine
    assert here.measured is not None
    assert here.measured.hostnames == ("red", "blue")
    assert here.nodes == 4
    assert here.topology.kind == "clos2"
    assert here.curves["latency-network"].y[0] == pytest.approx(2e-6, rel=2e-3)
    assert here.curves["latency-socket"].y[0] == pytest.approx(0.5e-6, rel=2e-3)
    with pytest.raises(InvalidInput, match="has 1 nodes: must have 2, those that were measured"):
        isthmus.measure(launch="mpirun -n 4", only="loggp", quick=True, topology="ring:1")
    alone = isthmus.measure(launch="mpirun -n 4", only="loggp", quick=True).machine
    assert alone.nodes == 2
    assert "all nodes are taken to be on one switch" in alone.notes[-1]


def test_killed_measurement_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle of a line, it leaves no machine file; the same command measures only what is missing."""
    monkeypatch.setenv("FAKE_STOP", "20")
    monkeypatch.setenv("FAKE_STOP_PARENT", "1")
    # A shell starts what is in the background with interrupts ignored, and so these tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            measured()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not Path("here.toml").exists()
    assert not Path("here.h5").exists()
    kept = Path("here.journal")
    done = {
        line.split()[1] for path in kept.glob("*.0") for line in path.read_text().splitlines() if line[:4] == "done"
    }
    assert len(done) >= 20
    monkeypatch.delenv("FAKE_STOP")
    with pytest.raises(InvalidInput, match=r"here\.journal holds another measurement .*: --force starts again"):
        measured(seed=3)
    said: list[str] = []
    seen: list[set[str]] = []
    run = Launcher.run

    def watched(self: Launcher, program: Path, *arguments: str, **options: object) -> object:
        seen.append({line.split()[1] for line in Path(arguments[0]).read_text().splitlines() if line[:4] == "item"})
        return run(self, program, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Launcher, "run", watched)
    again = measured(say=said.append)
    assert said[0] == "going on with the measurement in here.journal"
    assert seen
    assert not set().union(*seen) & done
    monkeypatch.setattr(Launcher, "run", run)
    whole = isthmus.measure(launch="mpirun -n 2", quick=True)
    assert set(again.curves) == set(whole.machine.curves)
    assert not Path("here.journal").exists()
    with pytest.raises(InvalidInput, match=r"here\.toml exists already: --force overwrites it"):
        measured()
    measured(force=True)


@pytest.mark.parametrize("variable", ["FAKE_CRASH", "FAKE_HANG"])
def test_items_that_crash_or_hang_are_left_out(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "pingpong.0.1.4096")
    monkeypatch.setattr(plan, "QUICK", 0.2)
    # A launch may take seconds on a busy machine; only where the program hangs all of them are waited for.
    found = isthmus.measure(launch="mpirun -n 2", only="loggp", quick=True, wait=5.0 if variable == "FAKE_HANG" else 60)
    lost = found.samples["pingpong.0.1.4096"]
    assert lost.skipped == (
        "the program ended with status 139 here" if variable == "FAKE_CRASH" else "the program hung here"
    )
    assert any(lost.skipped in sentence for sentence in found.missing)
    assert 4096.0 not in found.machine.curves["latency-socket"].x
    assert len(found.machine.curves["latency-socket"].x) == len(plan.sizes(True)) - 1


def test_what_was_measured_is_kept_where_mpi_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LINGER", "1000")
    monkeypatch.setattr(plan, "QUICK", 0.2)
    found = isthmus.measure(launch="mpirun -n 2", only="loggp", quick=True, wait=1.5)
    assert len(found.machine.curves["latency-socket"].x) == len(plan.sizes(True))
    assert any("MPI did not end and was stopped" in sentence for sentence in found.missing)


def launch(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A launcher of this text."""
    path = folder / "bin" / "srun"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return "srun -n 2"


#: Passes over a launcher's options.
_SKIP = 'while :; do case "$1" in --*) shift;; -*) shift 2;; *) break;; esac; done\n'


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no nodes are free' >&2; exit 7", "srun -n 2 ended with status 7: no nodes are free"),
        ("sleep 100", "srun -n 2 did not end within 1 s and was stopped: --wait says how long it may take"),
        ("exit 0", "srun -n 2 ended without measuring anything: no message"),
        (f'{_SKIP}FAKE_RANKS=1 exec "$@"', "srun -n 2 started 1 rank instead of 2: is it the launcher of"),
        # Without an interface that both it and MPI have, srun starts single ranks, here one after the other.
        (
            f'{_SKIP}FAKE_RANKS=1 "$@"; FAKE_RANKS=1 exec "$@"',
            "srun -n 2 started 2 separate programs in place of ranks",
        ),
    ],
)
def test_launchers_that_fail(script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words_of_launcher = launch(script, tmp_path, monkeypatch)
    wait = 1.0 if "sleep" in script else 60.0
    with pytest.raises(InvalidInput) as error:
        isthmus.measure("here.toml", launch=words_of_launcher, only="loggp", wait=wait)
    assert words in str(error.value)
    # Nothing was measured: a launcher that works may be given next.
    assert sorted(p.name for p in Path().iterdir()) == ["bin"]
    assert measured(only="loggp").curves


def test_a_launcher_that_fails_is_told_before_the_node_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(say: object = None) -> Path:
        raise AssertionError("the node was measured first")

    monkeypatch.setattr(verb.programs, "node_program", nothing)
    with pytest.raises(InvalidInput, match="no nodes are free"):
        isthmus.measure("here.toml", launch=launch("echo 'no nodes are free' >&2; exit 7", tmp_path, monkeypatch))


def test_what_a_launcher_said_before_it_hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = launch("echo 'waiting for nodes' >&2; sleep 100", tmp_path, monkeypatch)
    with pytest.raises(InvalidInput, match=r"--wait says how long it may take \(it said: waiting for nodes\)"):
        isthmus.measure("here.toml", launch=words, only="loggp", wait=1.0)


def test_journals_without_samples_do_not_stand_in_the_way() -> None:
    """Killed before anything was measured, with a command that is not the next one."""
    Path("here.journal").mkdir()
    Path("here.journal/measurement").write_text("another")
    Path("here.journal/survey.0").write_text("isthmus-journal 1\nbegin clock 0 0\nsample clock 0 1e-8\n")
    assert measured(only="loggp").curves
    assert not Path("here.journal").exists()


@pytest.mark.parametrize(
    ("affinity", "words"),
    [
        ("1 1", r"ranks 0 and 1 are bound to the same core \(1\) of red"),
        ("0-1 0-1 0-1", "3 ranks share 2 cores of red"),
    ],
)
def test_ranks_that_share_cores(affinity: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = len(affinity.split())
    monkeypatch.setenv("FAKE_RANKS", str(ranks))
    monkeypatch.setenv("FAKE_AFFINITY", affinity)
    with pytest.raises(InvalidInput, match=words):
        isthmus.measure(launch=f"mpirun -n {ranks}", only="loggp", quick=True)
    found = isthmus.measure(launch=f"mpirun -n {ranks}", only="loggp", quick=True, oversubscribe=True)
    assert any("not those of a machine with enough cores" in sentence for sentence in found.warnings)


def test_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FULL", "5")
    with pytest.raises(OSError, match="No space left on device") as error:
        measured(only="loggp")
    assert error.value.filename == "here.journal"
    assert not Path("here.toml").exists()
    monkeypatch.delenv("FAKE_FULL")
    assert measured(only="loggp").curves["latency-socket"].y


def test_files_that_may_not_grow_at_every_stage() -> None:
    """A limit stands in for a full disk: the plan, a journal, the samples or the machine is the first beyond it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    refused = set()
    for limit in (0, 100, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 1 << 20):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            measured(only="loggp")
            break
        except OSError as error:
            refused.add((error.errno, str(error.filename)))
            there = {p.name for p in Path().iterdir()}
            assert there <= {"bin", "here.journal"}
            assert not [p.name for p in Path().rglob(".*")]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(p.name for p in Path().iterdir()) == ["bin", "here.h5", "here.toml"]
    assert {number for number, _ in refused} == {errno.EFBIG}
    assert {"here.journal/measurement", "here.journal", "here.h5"} <= {name for _, name in refused}


def test_machine_and_samples_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(only="loggp", seed=1)
    before = {path: path.read_bytes() for path in (Path("here.toml"), Path("here.h5"))}

    def full(self: Samples, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Samples, "save", full)
        with pytest.raises(OSError, match="No space left") as error:
            measured(only="loggp", force=True)
        assert error.value.filename == "here.h5"
    assert before == {path: path.read_bytes() for path in before}

    with monkeypatch.context() as patch:
        patch.setattr(isthmus.Machine, "toml", lambda self: "\0" * (1 << 20))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, hard))
        try:
            with pytest.raises(OSError, match="File too large") as error:
                measured(only="loggp", force=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert error.value.filename == "here.toml"
    assert before == {path: path.read_bytes() for path in before}


def test_less_than_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rank; no MPI; no compiler: what can be measured is, the rest is said."""
    monkeypatch.setenv("FAKE_RANKS", "1")
    alone = isthmus.measure(launch="mpirun -n 1", quick=True)
    assert any("there is only one rank" in sentence for sentence in alone.missing)
    assert alone.machine.node.flops is not None
    assert alone.machine.curves["startup-init"].x == (1.0,)

    def nothing(*_: object) -> Path:
        raise InvalidInput("no C compiler was found")

    monkeypatch.setattr(verb.programs, "node_program", nothing)
    monkeypatch.setattr(Launcher, "mpi", nothing)
    bare = isthmus.measure(quick=True)
    assert len(bare.missing) == 2
    assert bare.machine.node.cores == 4
    assert "The node was not measured: no C compiler was found." in str(bare)
    with pytest.raises(InvalidInput, match="no C compiler"):
        isthmus.measure(launch="mpirun -n 2", quick=True)


def test_ranks_that_the_launcher_does_not_bind_are_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_AFFINITY", "0-3 0-3")
    found = isthmus.measure(launch="mpirun -n 2", only="loggp", quick=True)
    assert {facts["affinity"] for facts in found.samples.facts.values()} >= {"0-3 0-3", "0 1"}
    assert any(sentence.startswith("The launcher does not bind ranks to cores") for sentence in found.warnings)
    assert not any("not bound" in sentence for sentence in found.warnings)
    Path("x.toml").write_text(found.machine.toml())
    pinning = tomllib.loads(Path("x.toml").read_text())["measured"]["pinning"]
    assert pinning == "bound to cores 0, 1, by isthmus measure"


def test_ranks_on_several_nodes_stay_as_they_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_AFFINITY", "0-3 0-3")
    monkeypatch.setenv("FAKE_HOSTS", "red blue")
    found = isthmus.measure(launch="mpirun -n 2", only="loggp", quick=True)
    assert any(sentence.startswith("The ranks are not bound to cores") for sentence in found.warnings)
    Path("x.toml").write_text(found.machine.toml())
    assert tomllib.loads(Path("x.toml").read_text())["measured"]["pinning"] == "not bound to cores"


@pytest.mark.parametrize(
    ("allowed", "chosen"),
    [
        (((0, 1, 2, 3), (0, 1, 2, 3)), ((0,), (1,))),
        (((0, 1, 2, 3), (0,)), ((1,), (0,))),
        (((0, 4), (0, 1, 4, 5)), ((0,), (1,))),  # 4 and 5 are other threads of cores 0 and 1
        (((0,), (1,)), None),
        (((0, 4), (1, 5)), None),
        (((0, 4), (0, 4)), None),
        (((0, 1, 2, 3), ()), None),
    ],
)
def test_which_cores_ranks_are_bound_to(
    allowed: tuple[tuple[int, ...], ...], chosen: tuple[tuple[int, ...], ...] | None
) -> None:
    shape = NodeShape({"cores": 4}, "test", [], {cpu: cpu % 4 for cpu in range(8)}, dict.fromkeys(range(8), 0))
    places = Places(("a", "a"), (0, 1), allowed).binding(shape)
    assert (places.allowed if places else None) == chosen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": "logp"}, "--only 'logp': must be one of stream, flops"),
        ({"budget": 0.0}, "budget 0.0: must be seconds above 0"),
        ({"wait": -1.0}, "wait -1.0: must be seconds above 0"),
        ({"seed": -1}, "seed -1: must be a whole number from 0"),
        ({"output": "here.txt"}, r"-o here\.txt: must end in \.toml"),
        ({"output": "no/here.toml"}, r"-o no/here\.toml: there is no folder no"),
        ({"launch": "nolauncher -n 2"}, "there is no program nolauncher"),
        ({"topology": "no-such-machine"}, "neither a machine of the catalogue"),
    ],
)
def test_wrong_arguments(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        isthmus.measure(**options)  # type: ignore[arg-type]
    assert sorted(p.name for p in Path().iterdir()) == ["bin"]


def test_folders_of_others_are_left_alone() -> None:
    Path("here.journal").mkdir()
    Path("here.journal/thesis.tex").write_text("mine")
    for force in (False, True):
        with pytest.raises(InvalidInput, match=r"here\.journal holds no measurement of isthmus measure"):
            measured(force=force)
    assert Path("here.journal/thesis.tex").read_text() == "mine"


def test_levels_of_pairs() -> None:
    places = Places(("a", "a", "a", "b"), (0, 1, 2, 0), ((0,), (1,), (2,), (0,)))
    assert {level: pairs[0] for level, pairs in places.pairs(TWO).items()} == {
        "socket": (0, 1),
        "node": (0, 2),
        "network": (0, 3),
    }
    loose = Places(("a", "a"), (0, 2), ((0, 1, 2, 3), (0, 1, 2, 3)))
    assert loose.pairs(TWO) == {}
    half = Places(("a", "a"), (0, 1), ((0, 1), (0, 1)))
    assert half.pairs(TWO) == {"socket": [(0, 1)]}
    assert half.crowded(TWO) == ""


def test_plans_grow_with_the_machine() -> None:
    places = Places(("a", "b") * 4, tuple(range(8)), tuple((c,) for c in range(8)))
    small = plan.mpi_launch(TWO, places, list(plan.PARTS), True, 10.0)
    large = plan.mpi_launch(TWO, places, list(plan.PARTS), False, 100.0, hops=lambda a, b: 2)
    assert small is not None
    assert large is not None
    assert len(small.items) < len(large.items) < 3000
    lines = large.text(3).splitlines()
    assert lines[:5] == ["isthmus-plan 1", "budget 100.000", "tolerance 0.02", "samples 8 1000", "seed 3"]
    assert len({line.split()[1] for line in lines[5:]}) == len(large.items)
    share = plan.shares(list(plan.PARTS), 100.0)
    assert sum(share.values()) == pytest.approx(100.0)
    assert [one.ranks for one in plan.startup_launches(6, True, 1.0)] == [1, 2, 4, 6] * 2


def test_the_source_of_a_node_where_hwloc_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_hwloc", lambda: (None, ""))
    found = node_shape()
    assert found.source == "kernel (/sys, /proc)"
    assert "hwloc (lstopo) is not installed: the kernel was asked instead." in found.notes


def test_the_node_is_known_with_and_without_hwloc() -> None:
    with_it, without = node_shape(), node_shape(hwloc=False)
    assert without.source == "kernel (/sys, /proc)"
    assert without.table["cores"] == without.cores == len(without.first_processors)
    assert with_it.table["cores"] == without.table["cores"]
    assert with_it.table["sockets"] == without.table["sockets"]
    assert [cache["level"] for cache in without.table.get("caches", [])] == sorted(
        cache["level"] for cache in without.table.get("caches", [])
    )
    isthmus.Machine.from_dict({"topology": {"kind": "ring", "dims": [1]}, "node": without.table})
    assert processors(ranges([5, 1, 2, 3])) == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("sleep 100", "did not end within 0.3 s"),
        ("echo 'lstopo: error while loading shared libraries: libhwloc.so.15' >&2; exit 127", "libhwloc.so.15"),
        ("echo '<nonsense'; : > $3", "the kernel was asked instead."),
    ],
)
def test_hwloc_that_does_not_work(script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lstopo-no-graphics", "lstopo"):
        tool = tmp_path / "bin" / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    monkeypatch.setattr(node, "_LONGEST", 0.3 if "sleep" in script else 60.0)
    found = node_shape()
    assert found.source == "kernel (/sys, /proc)"
    assert found.table == node_shape(hwloc=False).table
    assert len(found.notes) == 1
    assert words in found.notes[0]
    assert found.notes[0].startswith("hwloc does not describe this node (")


def test_cores_that_may_not_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_hwloc", lambda: ({"cores": 64, "sockets": 2, "numa": 2}, "hwloc 2.9.0"))
    monkeypatch.setattr(node.os, "sched_getaffinity", lambda pid: {0})
    assert node_shape().notes == ["This process may use 1 of 64 cores: what the others do together was not measured."]


def test_every_verb_takes_a_measured_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_HOSTS", "red blue")
    monkeypatch.setenv("FAKE_RANKS", "4")
    monkeypatch.setenv("FAKE_AFFINITY", "0 1 0 1")
    isthmus.measure("here.toml", launch="mpirun -n 4", quick=True, topology="clos2:leaves=2,down=2,spines=2")
    here = isthmus.load("here.toml")
    schedule = isthmus.collective("allreduce", ranks=8, bytes=1024, algorithm="ring")
    for model in ("loggops", "flow"):
        timeline = isthmus.simulate(schedule, here, model=model)
        assert timeline.makespan > 14 * here.level.socket.L
    b = isthmus.ProgramBuilder(8)
    for rank in range(8):
        b.isend(rank, rank ^ 1, 4096)
        b.irecv(rank, rank ^ 1, 4096)
        b.waitall(rank)
    program = b.build()
    mapped = isthmus.map(program, here, seconds=0.1)
    assert mapped.placement.ranks == 8
    assert "here" in str(isthmus.advise(program, here))
    assert isthmus.tune("bcast", here, ranks=[4], sizes=[8, 4096]).table
    found = isthmus.compare(here, isthmus.load("eos"))
    assert any(row["value of"] == "level.socket.L" for row in found.rows)
    assert len(isthmus.sweep("allreduce", here, ranks=[2, 4], bytes=8).frame()) == 2
    isthmus.measure("torus.toml", launch="mpirun -n 4", only="loggp", quick=True, topology="torus:4x4x4")
    outcome = isthmus.study("contention-distance", "study", quick=True, set={"machine": "torus.toml", "hops": [1, 2]})
    assert outcome.rows
    assert all(row["latency"] > 0 for row in outcome.rows)


def test_what_is_predicted_are_closed_forms() -> None:
    level = isthmus.Level(L=2e-6, o_send=3e-7, o_recv=4e-7, g=5e-7, G=1e-9, S=1e9)
    for size in (1, 1000, 100_000):
        wire = (size - 1) * 1e-9
        one = 3e-7 + 2e-6 + wire + 4e-7
        assert check.predicted(level, "pingpong", size) == pytest.approx(one)
        # Both send at once, and each receives after it has sent: nobody waits for anybody else.
        assert check.predicted(level, "sendrecv", size) == check.predicted(level, "ring", size) == pytest.approx(one)
        # The last message leaves n - 1 gaps after the first; an empty one comes back.
        for n in (1, 2, 64):
            back = 3e-7 + 2e-6 + 4e-7
            gaps = (n - 1) * max(5e-7 + wire, 4e-7)
            assert check.predicted(level, "burst", size, n) == pytest.approx(one + gaps + back)


def test_a_wrong_level_is_found_by_the_check() -> None:
    """Times twice as long as the level says: every prediction is half of them."""
    level = isthmus.Level(L=2e-6, o_send=3e-7, o_recv=4e-7, g=5e-7, G=1e-9)
    series = [
        Series.of(Item(f"check.{kind}.{size}", kind, {"a": 0, "b": 1, "bytes": size}), [[2 * time] * 9])
        for kind in ("pingpong", "sendrecv")
        for size in (8, 5000)
        for time in [check.predicted(level, kind, size)]
    ]
    found = check.checked(series, {"socket": ((0, 1), level), "node": ((0, 2), isthmus.Level())})
    assert [one.level for one in found] == ["socket"] * 4
    assert [one.error for one in found] == pytest.approx([-0.5] * 4)
    assert check.sentence(found).startswith("4 times that were not used in the fit are predicted with a median error")
    assert check.sentence(found[:1]).endswith("the worst is -50 % (half a round trip of 8 B, level socket)")
    assert check.sentence([]) == ""
    # A measurement while others used the machine said nothing of numbers that were ten times too large.
    (doubt,) = check.doubts(found)
    assert doubt.startswith("LogGP within a socket is in doubt: 4 of 4 times that were not used in the fit differ")
    assert check.doubts(found[:3]) == []
    calm = [dataclasses.replace(one, predicted=one.measured * (1.6 if i == 0 else 1.4)) for i, one in enumerate(found)]
    assert check.doubts(calm) == []


def test_rounds_in_which_all_is_slower_are_left_out() -> None:
    """From round 6 on everything takes 1.5 times as long; items that ended before do not tell, those that go on do."""
    random = np.random.default_rng(3)

    def series(i: int, rounds: int) -> Series:
        times = [1e-6 * (i + 1) * (1.5 if turn >= 6 else 1.0) * random.uniform(0.99, 1.01, 8) for turn in range(rounds)]
        return Series.of(Item(f"pingpong.{i}", "pingpong", {"a": 0, "b": 1, "bytes": i}), times)

    samples = Samples([*(series(i, 5) for i in range(4)), *(series(i, 20) for i in range(4, 16))])
    said: list[str] = []
    calm = undisturbed(samples, said)
    assert said == [
        "In 14 of 20 rounds all measurements were slower than in the others by more than 20 %: they were left out."
    ]
    for i, one in enumerate(calm):
        assert np.median(one.column()) == pytest.approx(1e-6 * (i + 1), rel=0.01)
        assert len(one) == (40 if i < 4 else 48)
    # One that was done in slow rounds, and came again in two others, is as long as in these.
    times = [np.full(4, 3e-6)] * 6 + [np.full(4, 2e-6)] * 2
    turns = np.repeat([6, 7, 8, 9, 11, 15, 3, 5], 4).astype(np.uint32)
    late = Series.of(Item("pingpong.99", "pingpong", {"a": 0, "b": 1, "bytes": 99}), times)
    late = dataclasses.replace(late, rounds=turns)
    assert set(undisturbed(Samples([*samples, late]), [])["pingpong.99"].column()) == {2e-6}
    # What one item does differently from round to round is its own affair.
    alone = [*(series(i, 5) for i in range(12)), series(12, 20)]
    assert undisturbed(Samples(alone), said) is not None
    assert len(undisturbed(Samples(alone), said)["pingpong.12"]) == 160
    assert len(said) == 1
