"""The commands simulate, show and schedule."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isthmus
from commands import Run
from isthmus.cli.inputs import parse_level
from isthmus.errors import InvalidInput, ParseError
from isthmus.mapping.launch import formats
from isthmus.one_line import parse_noise
from isthmus.schedule.program import CollectiveKind

LOGGOPS = "loggops:L=2.5us,o=1.5us,g=1us,G=6ns,O=0,S=65535"
LOGGOPS_LEVEL = isthmus.Level(L=2.5e-6, o_send=1.5e-6, o_recv=1.5e-6, g=1e-6, G=6e-9)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    b = isthmus.ProgramBuilder(4)
    with b.phase("step"):
        b.compute(None, 2e-6)
        b.allreduce(None, 800)
    b.build().save("program.h5")
    isthmus.collective("bcast", ranks=8, bytes=1000).save("bcast.goal")
    dead = isthmus.Schedule.of(2, rank=[0, 0, 1, 1], kind=["recv", "send"] * 2, peer=[1, 1, 0, 0], op=[1, 3], on=[0, 2])
    dead.save("dead.h5")
    return Run(capsys)


# simulate


def test_report(run: Run) -> None:
    out = run.ok("simulate", "barrier:ranks=1024,algorithm=dissemination", "--machine", LOGGOPS)
    assert out.startswith("Timeline: 1,024 ranks, 20,480 operations, makespan 55 us")
    s = isthmus.collective("barrier", ranks=1024, algorithm="dissemination")
    expected = isthmus.simulate(s, LOGGOPS_LEVEL)
    found = run.json("simulate", "barrier:ranks=1024,algorithm=dissemination", "--machine", LOGGOPS)
    assert found["makespan"] == expected.makespan
    assert found["messages"] == expected.messages
    assert found["machine"]["G"] == 6e-9
    assert {row["share"]: row["mean"] for row in found["breakdown"]}["send_overhead"] == pytest.approx(15e-6)
    assert found["deadlock"] is None


def test_files(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ("t.h5", "t.json", "t.png", "b.svg")
    out = run.ok("simulate", "bcast.goal", "--machine", "ring-16", "-o", names[0], "--trace", names[1], "--plot",
                 names[2], "--plot", f"breakdown={names[3]}", "--critical", "--sensitivity")  # fmt: skip
    for name in names:
        assert f"wrote {name}" in out
        assert (tmp_path / name).stat().st_size > 500
    assert "critical path: " in out
    assert "makespan for a change x of" in out
    t = isthmus.read("t.h5")
    assert t == isthmus.simulate(isthmus.read("bcast.goal"), "ring-16", record="ops")
    found = run.json("simulate", "bcast.goal", "--machine", "ring-16", "--critical", "--sensitivity", "-o", "t.h5")
    assert found["files"] == {"output": "t.h5"}
    assert sum(found["critical_path"]["shares"].values()) == pytest.approx(found["makespan"])
    assert found["sensitivities"]["L"]["slope"] > 0


def test_programs_and_algorithms(run: Run) -> None:
    ring = run.json("simulate", "program.h5", "--machine", LOGGOPS, "--collectives", "allreduce=ring")
    doubling = run.json("simulate", "program.h5", "--machine", LOGGOPS, "--collectives", "allreduce=recursive_doubling")
    assert ring["messages"] == 24
    assert doubling["messages"] == 8
    assert "a schedule has none left" in run.error(
        "simulate", "bcast.goal", "--machine", LOGGOPS, "--collectives", "bcast=binomial"
    )
    assert "kind=algorithm" in run.error("simulate", "program.h5", "--machine", LOGGOPS, "--collectives", "ring")


def test_placements(run: Run) -> None:
    spec = "torus:4x4 cores=4"

    def makespan(*options: str) -> float:
        return float(run.json("simulate", "allgather:ranks=8,bytes=64kB", "--machine", spec, *options)["makespan"])

    assert makespan() == makespan("--placement", "block", "--nodes", "2")
    spread = makespan("--ranks-per-node", "1")
    assert spread == makespan("--nodes", "8", "--placement", "cyclic")
    assert spread != makespan()
    Path("places.txt").write_text("# of every rank\n" + "\n".join(str(n) for n in range(8)) + "\n")
    assert spread == makespan("--placement", "places.txt")
    Path("places.txt").write_text("0\n1\n99\n")
    error = run.error("simulate", "allgather:ranks=3", "--machine", spec, "--placement", "places.txt")
    assert error.startswith("places.txt:3: node 99 of ")
    words = ("simulate", "bcast.goal")
    assert "need a machine" in run.error(*words, "--machine", LOGGOPS, "--nodes", "3")
    Path("places.txt").write_text("0\n1\n")
    assert "places 2 ranks, but there are 8" in run.error(*words, "--machine", spec, "--placement", "places.txt")
    Path("places.txt").write_text("0\n5\n")
    named = run.error("simulate", "allgather:ranks=2", "--machine", spec, "--placement", "places.txt", "--nodes", "2")
    assert "is not in the job, which has 2 nodes" in named
    assert "the schedule has 8" in run.error(*words, "--machine", spec, "--nodes", "1")


def test_noise_and_seed(run: Run) -> None:
    def makespan(*options: str) -> float:
        return float(run.json("simulate", "program.h5", "--machine", LOGGOPS, *options)["makespan"])

    noise = ("--noise", "exponential,period=10us,duration=2us")
    quiet = makespan()
    assert makespan("--noise", "none") == quiet
    assert makespan(*noise, "--seed", "1") > quiet
    assert makespan(*noise, "--seed", "1") == makespan(*noise, "--seed", "1")
    assert makespan(*noise, "--seed", "1") != makespan(*noise, "--seed", "2")
    assert parse_noise("file,file=n.txt") == isthmus.Noise(kind="file", file="n.txt")


def test_symmetry_is_an_option(run: Run) -> None:
    words = ("simulate", "allgather:ranks=256,bytes=8,algorithm=ring", "--machine", LOGGOPS, "--record", "finish")
    folded, whole = run.json(*words), run.json(*words, "--no-symmetry")
    assert folded["simulated_ranks"] < whole["simulated_ranks"] == 256
    assert folded["makespan"] == whole["makespan"]


def test_skip_is_an_option(run: Run, tmp_path: Path) -> None:
    b = isthmus.ProgramBuilder(4)
    for _ in range(100):
        b.compute(None, 1e-6)
        b.barrier(None)
    b.build().save(tmp_path / "loop.h5")
    words = ("simulate", "loop.h5", "--machine", LOGGOPS, "--no-symmetry")
    brief, whole = run.json(*words), run.json(*words, "--no-skip")
    assert brief["skipped_iterations"] > 50
    assert whole["skipped_iterations"] == 0
    assert brief["makespan"] == whole["makespan"]
    assert f"{brief['skipped_iterations']} iterations skipped" in run(*words)[1]


def test_deadlock(run: Run, tmp_path: Path) -> None:
    status, out, err = run("simulate", "dead.h5", "--machine", LOGGOPS, "-o", "t.h5")
    assert (status, err) == (1, "")
    assert "2 ranks in a cycle:" in out
    assert "rank 0 waits to receive from rank 1 (recv, operation 0, tag 0) →" in out
    assert isthmus.read(tmp_path / "t.h5").deadlock is not None
    status, out, _ = run("simulate", "dead.h5", "--machine", LOGGOPS, "--critical", "--json")
    found = json.loads(out)["deadlock"]
    assert status == 1
    assert found["operations"] == 4
    assert found["cycle"] == [{"rank": 0, "op": 0}, {"rank": 1, "op": 0}]
    assert found["waiting"][0]["reason"] == "waits to receive from rank 1"


def test_parameters() -> None:
    assert parse_level(LOGGOPS) == LOGGOPS_LEVEL
    assert parse_level("loggops:o_recv=2us,o=1us,S=8KiB") == isthmus.Level(o_send=1e-6, o_recv=2e-6, S=8192)
    assert parse_level("loggops:o=1us,o_recv=2us,G=0.5ns/B") == isthmus.Level(o_send=1e-6, o_recv=2e-6, G=0.5e-9)
    assert parse_level("torus:4x4") is None
    for wrong in ("loggops:l=1us", "loggops:L", "loggops:L=1B", "loggops:L=1us,L=2us", "loggops:g=-1us"):
        with pytest.raises(InvalidInput):
            parse_level(wrong)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nofile.h5", "--machine", "cielo"), "nofile.h5: No such file or directory"),
        (("bcast.goal", "--machine", "nomachine"), "'nomachine' is neither a machine"),
        (("bcast.goal", "--machine", "loggops:Q=1"), "must be one of o=..., L=..."),
        (("bcast.goal", "--machine", "loggops:L=fast"), "L=fast: "),
        (("foo:ranks=3", "--machine", "cielo"), "collective 'foo'"),
        (("bcast:bytes=3", "--machine", "cielo"), "ranks=... is missing"),
        (("bcast:ranks=x", "--machine", "cielo"), "ranks=x: expected a whole number"),
        (("bcast:ranks=2,bytes=1.5", "--machine", "cielo"), "bytes=1.5: expected a whole number"),
        (("bcast:ranks=2,bytes=1us", "--machine", "cielo"), "bytes=1us: "),
        (("bcast:ranks=2,ranks=3", "--machine", "cielo"), "ranks is given twice"),
        (("bcast:ranks=2,colour=red", "--machine", "cielo"), "must be one of ranks=..., bytes=..."),
        (("bcast:ranks=2,algorithm=ping", "--machine", "cielo"), "ping"),
        (("bcast.goal", "--machine", "ring:4"), "8 ranks"),
        (("bcast.goal", "--machine", LOGGOPS, "--noise", "loud"), "--noise loud"),
        (("bcast.goal", "--machine", LOGGOPS, "--noise", "periodic,period=x"), "period=x"),
        (("bcast.goal", "--machine", LOGGOPS, "--noise", "periodic,period=1ms"), "duration"),
        (("bcast.goal", "--machine", LOGGOPS, "--noise", "file,file=nofile"), "nofile: No such file"),
        (
            ("bcast.goal", "--machine", LOGGOPS, "--trace", "t.txt"),
            "--trace t.txt: must end in .json, .json.gz",
        ),
        (("bcast.goal", "--machine", LOGGOPS, "-o", "t.goal"), "-o t.goal"),
        (("bcast.goal", "--machine", LOGGOPS, "--plot", "nodir/a.png"), "there is no folder nodir"),
        (("bcast.goal", "--machine", LOGGOPS, "--plot", "a.png", "--record", "ranks"), "--plot needs --record ops"),
        (
            ("bcast.goal", "--machine", LOGGOPS, "--plot", "breakdown=a.png", "--record", "finish"),
            "--plot breakdown=FILE needs",
        ),
        (("bcast.goal", "--machine", LOGGOPS, "--record", "all"), "all"),
        (("bcast.goal", "--machine", LOGGOPS, "--seed", "-1"), "-1"),
        (("bcast.goal",), "MACHINE"),
    ],
)
def test_errors(run: Run, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    before = sorted(tmp_path.iterdir())
    assert message in run.error("simulate", *words)
    assert sorted(tmp_path.iterdir()) == before


# Long simulations

LONG = ("simulate", "alltoall:ranks=1000,bytes=8,algorithm=linear", "--machine", LOGGOPS, "--no-symmetry")


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while the core is at work."""
    code = (
        "import signal, sys; from isthmus import _core; from isthmus.cli import main\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler); run = _core.simulate\n"
        "def interrupted(*words): signal.setitimer(signal.ITIMER_REAL, 0.03); return run(*words)\n"
        "_core.simulate = interrupted; main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", code, *LONG, "-o", "t.h5", "--plot", "t.png"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "isthmus: interrupted")
    assert list(tmp_path.iterdir()) == []


def on_a_terminal(patience: float, *words: str) -> str:
    """What appears on a pseudo terminal as standard error."""
    code = "import sys; from isthmus import progress; from isthmus.cli import main\n"
    code += f"progress._PATIENCE = {patience}; main(sys.argv[1:])"
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 1 << 16):
            text += part
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert process.wait(timeout=120) == 0
    return text.decode(errors="replace")


def test_progress_on_a_terminal() -> None:
    text = on_a_terminal(0.0, *LONG)
    assert "M operations/s" in text
    assert "s left" in text
    assert on_a_terminal(0.0, *LONG, "--no-progress") == ""
    # Short runs show nothing.
    assert on_a_terminal(1.0, "simulate", "bcast:ranks=8", "--machine", LOGGOPS) == ""


def test_callable_progress() -> None:
    seen: list[tuple[int, int]] = []
    s = isthmus.collective("alltoall", ranks=400, bytes=8, algorithm="linear")
    isthmus.simulate(s, LOGGOPS_LEVEL, symmetry=False, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(0 < done <= total == len(s) for done, total in seen)
    assert seen == sorted(seen)


# show


def test_show_program(run: Run) -> None:
    assert run.ok("show", "program.h5") == str(isthmus.read("program.h5")) + "\n"
    out = run.ok("show", "program.h5", "--rank", "3")
    assert "compute 2 us in step" in out
    found = run.json("show", "program.h5")
    assert (found["noun"], found["ranks"]) == ("program", 4)
    assert found["events"] == {"compute": 4, "collective": 4}
    assert found["compute"] == pytest.approx(8e-6)
    events = run.json("show", "program.h5", "--rank", "0")["events"]
    assert [(e["kind"], e["what"]) for e in events] == [("compute", None), ("collective", "allreduce")]


def test_show_schedule(run: Run) -> None:
    assert run.ok("show", "bcast.goal") == str(isthmus.read("bcast.goal")) + "\n"
    assert "send 1 kB to 4 tag 0" in run.ok("show", "bcast.goal", "--rank", "0")
    found = run.json("show", "bcast.goal")
    assert (found["noun"], found["operations"], found["bytes"]) == ("schedule", {"send": 7, "recv": 7}, 7000)
    operations = run.json("show", "bcast.goal", "--rank", "4")["operations"]
    assert operations[0]["kind"] == "recv"
    assert operations[1]["requires"] == [[0, False]]
    assert run.json("show", "bcast:ranks=8,bytes=1kB")["bytes"] == 7000


def test_show_timeline(run: Run) -> None:
    run.ok("simulate", "bcast.goal", "--machine", LOGGOPS, "--record", "ops", "-o", "t.h5")
    t = isthmus.read("t.h5")
    assert run.ok("show", "t.h5") == str(t) + "\n"
    assert run.json("show", "t.h5")["makespan"] == t.makespan
    out = run.ok("show", "t.h5", "--rank", "4")
    assert "rank 0, operation 0" in out
    rows = run.json("show", "t.h5", "--rank", "4")["operations"]
    assert rows[0]["partner"] == {"rank": 0, "op": 0}
    assert rows[0]["end"] == t.end_ps[int(t.schedule.op_first[4])] / 1e12
    run.ok("simulate", "bcast.goal", "--machine", LOGGOPS, "-o", "t.h5")
    assert "were not recorded" in run.ok("show", "t.h5", "--rank", "4")
    run("simulate", "dead.h5", "--machine", LOGGOPS, "--record", "ops", "-o", "t.h5")
    assert "never" in run.ok("show", "t.h5", "--rank", "0")
    assert "timeline" in run.error("simulate", "t.h5", "--machine", LOGGOPS)


def test_show_errors(run: Run) -> None:
    assert "rank 8 does not exist" in run.error("show", "bcast.goal", "--rank", "8")
    assert "rank 4 does not exist" in run.error("show", "program.h5", "--rank", "4")
    run.ok("simulate", "bcast.goal", "--machine", LOGGOPS, "-o", "t.h5")
    assert "rank 8 does not exist" in run.error("show", "t.h5", "--rank", "8")
    Path("x.h5").write_bytes(b"\x89HDF\r\n\x1a\n rubbish")
    assert run.error("show", "x.h5").startswith("x.h5: not an HDF5 file")
    Path("x.goal").write_text("num_ranks 1\nrank 0 {\nl1: sond 1b to 0\n}\n")
    assert run.error("show", "x.goal").startswith("x.goal:3: ")


# schedule


def test_algorithms_are_listed(run: Run) -> None:
    lines = run.ok("schedule", "algorithms", "bcast").splitlines()[2:]
    assert [line[13:].split()[0] for line in lines if line[13] != " "] == list(isthmus.collectives.algorithms("bcast"))
    every = run.json("schedule", "algorithms")
    for kind in CollectiveKind:
        assert [a["name"] for a in every if a["kind"] == kind.name] == list(isthmus.collectives.algorithms(kind.name))
    (knomial,) = [a for a in every if (a["kind"], a["name"]) == ("bcast", "knomial")]
    assert [(o["name"], o["default"]) for o in knomial["options"]] == [("radix", "4"), ("segment", "0")]
    assert "collective 'x': must be one of barrier, bcast" in run.error("schedule", "algorithms", "x")


def test_schedule_group(run: Run) -> None:
    assert "wrote s.goal" in run.ok("schedule", "collective", "bcast:ranks=8,bytes=1kB", "-o", "s.goal")
    assert isthmus.read("s.goal") == isthmus.read("bcast.goal")
    run.ok("schedule", "convert", "s.goal", "-o", "s.h5")
    assert run.json("schedule", "convert", "s.h5", "-o", "s.bin")["file"] == "s.bin"
    assert isthmus.read("s.bin") == isthmus.read("s.goal")
    assert run.ok("schedule", "validate", "s.bin").startswith("s.bin: ok, Schedule of 8 ranks")
    run.ok("schedule", "lower", "program.h5", "-o", "p.h5", "--collectives", "allreduce=ring")
    assert isthmus.read("p.h5") == isthmus.lower(isthmus.read("program.h5"), collectives={"allreduce": "ring"})
    run.ok("schedule", "lower", "program.h5", "-o", "p.goal", "--byte-time", "1ns")
    assert "lower it with isthmus schedule lower" in run.error("schedule", "convert", "program.h5", "-o", "p.goal")
    assert "expected a program" in run.error("schedule", "lower", "bcast.goal", "-o", "p.h5")
    run.ok("schedule", "convert", "program.h5", "-o", "copy.h5")
    assert isthmus.read("copy.h5") == isthmus.read("program.h5")


def test_validate_tells(run: Run) -> None:
    isthmus.Schedule.of(2, rank=[0], kind="send", peer=1, amount=8).save("lost.goal")
    assert run.error("schedule", "validate", "lost.goal").startswith("lost.goal: rank 0")
    status, out, _ = run("schedule", "validate", "lost.goal", "--json")
    assert status == 2
    assert json.loads(out)["ok"] is False


def test_pattern(run: Run) -> None:
    pytest.importorskip("matplotlib")
    run.ok("schedule", "pattern", "bcast.goal", "-o", "p.csv", "--plot", "p.png")
    lines = Path("p.csv").read_text().splitlines()
    assert lines[0] == "source,target,bytes,messages"
    assert len(lines) == 8
    assert lines[1] == "0,1,1000,1"
    found = run.json("schedule", "pattern", "program.h5", "--collectives", "allreduce=ring")
    assert (found["ranks"], found["pairs"], found["messages"]) == (4, 4, 24)
    assert ".csv" in run.error("schedule", "pattern", "bcast.goal", "-o", "p.txt")


def test_placement_files_name_lines(tmp_path: Path) -> None:
    from isthmus.cli.inputs import read_placement

    (tmp_path / "p").write_text("0\n1  # comment\n\nnowhere\n")
    with pytest.raises(ParseError, match="p:4: node 'nowhere'"):
        read_placement(isthmus.load("ring-16"), str(tmp_path / "p"), 3)
    (tmp_path / "p").write_text("what is this\n")
    with pytest.raises(ParseError, match="p:1: "):
        read_placement(isthmus.load("ring-16"), str(tmp_path / "p"), 3)
    # Ids and names in one file; a lone number a line is an id, unless a comment makes it a Cray rank order.
    (tmp_path / "p").write_text("3\nnode1\n2\n")
    assert read_placement(isthmus.load("ring-16"), str(tmp_path / "p"), 3).node.tolist() == [3, 1, 2]
    (tmp_path / "p").write_text("# --ntasks-per-node=1\n2\n0\n1\n")
    assert read_placement(isthmus.load("ring-16"), str(tmp_path / "p"), 3).node.tolist() == [1, 2, 0]


@pytest.mark.parametrize("format", [f.name for f in formats()])
@pytest.mark.parametrize("job", [(), ("--nodes", "node[3,5,9-12,20,22]", "--ranks-per-node", "2")])
def test_what_map_writes_is_simulated(run: Run, format: str, job: tuple[str, ...]) -> None:
    """The file of every launcher gives the time of the placement itself."""
    from isthmus.mapping.launch import write

    machine = isthmus.load("torus:4x3x2 cores=2")
    where = machine.allocate(*(["node[3,5,9-12,20,22]"] if job else [8]), ranks_per_node=2)
    node = np.repeat(where.nodes[[5, 0, 6, 2, 7, 1, 4, 3]], 2)
    cores = np.tile([1, 0], 8) if format in ("table", "rankfile", "jsrun") else None
    placement = isthmus.Placement(machine, node, cores)
    write(placement, format, "file", where)
    work = ("allgather:ranks=16,bytes=64kB,algorithm=ring", "--machine", "torus:4x3x2 cores=2", "--model", "flow")
    found = run.json("simulate", *work, "--placement", "file", *job)["makespan"]
    schedule = isthmus.collective("allgather", ranks=16, bytes=64_000, algorithm="ring")
    assert found == isthmus.simulate(schedule, machine, placement, model="flow").makespan
    assert found != run.json("simulate", *work)["makespan"]


def test_receive(run: Run) -> None:
    """An exchange of two ranks that are not in step: both ways at once, or one after the other."""
    message = "r: recv 1000001b from {0}\ns: send 1000001b to {0}\n"
    Path("exchange.goal").write_text(
        f"num_ranks 2\nrank 0 {{\n{message.format(1)}}}\nrank 1 {{\nc: calc 100000\n{message.format(0)}"
        "s requires c\n}\n"
    )
    for model, machine in (
        ("loggops", "loggops:L=1us,G=1ns,S=1GB"),
        ("flow", "ring:2 cores=1 link=1GB/s per_hop=0s network.L=1us network.G=1ns/B network.S=1GB"),
    ):
        for rule, seconds in (("loggp", 1101e-6), ("loggopsim", 2101e-6)):
            found = run.json("simulate", "exchange.goal", "--machine", machine, "--model", model, "--receive", rule)
            assert found["makespan"] == pytest.approx(seconds, abs=1e-6)
    assert "'loggp', 'loggopsim'" in run.error(
        "simulate", "exchange.goal", "--machine", "loggops:L=1us", "--receive", "now"
    )
    with pytest.raises(isthmus.InvalidInput, match="receive = 'now': must be one of loggp, loggopsim"):
        isthmus.simulate(isthmus.read("exchange.goal"), isthmus.Level(), receive="now")


def test_until(run: Run) -> None:
    work = ("simulate", "allreduce:ranks=64,bytes=1MB,algorithm=ring", "--machine", LOGGOPS)
    whole, part = run.json(*work), run.json(*work, "--until", "100us")
    assert not whole["stopped"]
    assert part["stopped"]
    assert 100e-6 < part["makespan"] < whole["makespan"]
    assert run.json(*work, "--until", "1000s")["makespan"] == whole["makespan"]
    assert "--critical needs the whole simulation" in run.error(*work, "--until", "100us", "--critical")
