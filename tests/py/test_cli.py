"""The command line: every command with help and JSON, one line per error, quick to start, quiet in pipes."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

import click
import pytest

import isthmus
from commands import Run
from isthmus.cli import cli
from isthmus.mapping import launch
from isthmus.multigrid import program
from isthmus.studies.reading import catalogue
from isthmus.tuning.choice import Choice
from isthmus.tuning.table import DecisionTable, Point, Row
from recordings import Call, recorded
from test_multigrid_models import line as line_of_points

DATA = Path(__file__).parents[1] / "data" / "imports"
ISTHMUS = [sys.executable, "-m", "isthmus"]


def leaves(command: click.Command = cli, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if not isinstance(command, click.Group):
        return [(path, command)]
    context = click.Context(command)
    found = []
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        found += leaves(child, (*path, name))
    return found


LEAVES = leaves()
GROUPS = sorted({path[:i] for path, _ in LEAVES for i in range(len(path))})


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return Run(capsys)


# Help


def test_the_commands() -> None:
    assert [" ".join(path) for path, _ in LEAVES] == [
        "advise",
        "compare",
        "completion",
        "doctor",
        *(f"machine {name}" for name in ("convert", "distance", "list", "plot", "route", "show", "validate")),
        "map",
        "measure",
        *(f"multigrid {name}" for name in ("counts", "exchange", "extrapolate", "library", "model", "program")),
        *(f"multigrid {name}" for name in ("redistribute", "setup", "solve", "trace")),
        "prove",
        *(f"queue {name}" for name in ("decide", "simulate", "vary", "workload")),
        "record",
        "run",
        *(f"schedule {name}" for name in ("algorithms", "collective", "convert", "lower", "pattern", "validate")),
        "show",
        "simulate",
        *(f"skeleton {name}" for name in ("describe", "fit", "list", "pack", "show")),
        *(f"study {name}" for name in ("list", "run", "bluewaters-levels", "cielo-allreduce", "cielo-crossovers")),
        "study contention-distance",
        *(f"study {name}" for name in ("dragonfly-intensity", "eos-cycle", "models")),
        *(f"study multigrid-{name}" for name in ("dragonfly", "gathering", "networks")),
        *(f"study {name}" for name in ("namd", "nbc-applications", "openatom", "pop")),
        *(f"study {name}" for name in ("redsky-memory", "saturation", "stencil-mapping")),
        *(f"study upc-{name}" for name in ("applications", "bcast", "exchange", "pipelined", "reduce", "scatter")),
        "study wrf",
        *(f"tune {name}" for name in ("convert", "export", "merge", "search", "show", "validate", "verify")),
        "upcc",
    ]


@pytest.mark.parametrize("path", [*GROUPS, *(path for path, _ in LEAVES)], ids=" ".join)
def test_help_has_examples(path: tuple[str, ...], run: Run) -> None:
    for flag in ("--help", "-h"):
        out = run.ok(*path, flag)
        assert out.startswith(f"Usage: {' '.join(['isthmus', *path])} [OPTIONS]")
        examples = out.split("Examples:\n")[1].strip().split("\n")
        assert len(examples) >= 2
        assert all(line.strip().startswith("isthmus ") for line in examples)
        assert max(map(len, out.split("\n"))) <= 110


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_options_are_explained(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.name}"
            assert parameter.help.endswith(".")
    # What completion prints is for a shell, what upcc prints for makefiles.
    if path not in (("completion",), ("upcc",)):
        assert "--json" in [name for p in command.params for name in p.opts], path


def examples() -> list[str]:
    found = []
    for path in (*GROUPS, *(path for path, _ in LEAVES)):
        context, command = click.Context(cli), cli
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(context, name)  # type: ignore[assignment]
        assert command.epilog
        found += [line.strip() for line in command.epilog.split("\n") if line.strip().startswith("isthmus")]
    return found


# Those of record, run, measure and tune verify need MPI: test_record_command, test_run, test_run_program,
# test_measure_command, test_multigrid_hypre, test_tuning_verify and test_upc run the like; advice on the example is a
# command of the README.
_APART = (
    " plot ",
    " record ",
    "isthmus run ",
    "isthmus upcc ",
    "compare ran.h5 ",
    " measure ",
    " multigrid counts ",
    " multigrid library",
    " multigrid solve ",
    " multigrid trace ",
    " --measured ",
    " verify ",
    " advise --example lammps --machine eos",
)
#: Quick forms of all studies are computed in test_study_run; on the command line one of them is enough.
_STUDIES = tuple(f" study {name} " for name in catalogue() if name != "wrf")


@pytest.mark.parametrize(
    "line", [e for e in dict.fromkeys(examples()) if not any(word in e for word in (*_APART, *_STUDIES))]
)
def test_examples_of_the_help_run(line: str, run: Run, tmp_path: Path) -> None:
    for name, source in [
        ("topology.conf", "tree/topology.conf"),
        ("fabric.ibnet", "hdr-fat-tree.ibnet"),
        ("node.xml", "dual-socket-v2.xml"),
    ]:
        (tmp_path / name).write_bytes((DATA / source).read_bytes())
    isthmus.load("ring-16").save("mycluster.toml")
    grid = 'work = "allreduce"\nranks = 4\nbytes = ["1 KiB", "64 KiB"]\nmachine = "ring-16"\n'
    Path("my.toml").write_text(f'format = 1\nname = "mine"\ntitle = "Mine"\nkind = "simulation"\n\n[[grid]]\n{grid}')
    b = isthmus.ProgramBuilder(4)
    b.bcast(None, 1000)
    b.build().save("program.h5")
    recorded(b.build(), [Call(rank, "MPI_Bcast", 0, 1000) for rank in range(4)]).save("app.h5")
    schedule = isthmus.collective("bcast", ranks=4, bytes=1000)
    for name in ("bcast.goal", "schedule.goal", "schedule.h5"):
        schedule.save(name)
    isthmus.collective("bcast", ranks=4, bytes=1000, buffers=True).save("mine.goal")
    isthmus.simulate(schedule, "ring-16").save("timeline.h5")
    Path("mesh.graph").write_text("4 4\n2 4\n1 3\n2 4\n1 3\n")  # a ring
    launch.write(isthmus.Placement.of(isthmus.load("cielo"), 4, "block"), "rankfile", "rankfile")
    launch.write(isthmus.Placement.of(isthmus.load("cielo"), 4, "block"), "cray", "MPICH_RANK_ORDER")
    binomial, linear = Choice("binomial"), Choice("linear")
    table = DecisionTable({"bcast": [Row(4, (Point(8, binomial, 1e-6, linear, 2e-6), Point(4096, linear, 1e-5)))]})
    for name in ("eos.toml", "more.toml"):
        table.save(name)
    levels = line_of_points(64, 4)
    levels.save("levels.h5")
    if "skeleton" in line:
        for ranks in (8, 27, 64, 125):
            isthmus.example(f"cth:ranks={ranks},steps=1,exchanges=1,sums=1").save(f"r{ranks}.h5")
        run.ok("skeleton", "fit", "r8.h5", "r27.h5", "r64.h5", "-o", "app.skeleton")
        run.ok("skeleton", "pack", "r64.h5", "-o", "r64.skeleton")
    program(levels).save("cycle.h5")
    if " multigrid extrapolate " in line:
        for parts in (8, 27, 64, 125):
            line_of_points(8 * parts, parts).save(f"h{parts}.h5")
    status, out, err = run(*shlex.split(line)[1:])
    # What is extrapolated says so.
    assert (status, "" if err.startswith("isthmus: note: app.skeleton:") else err) == (0, "")
    assert out


@pytest.mark.parametrize("words", [[], ["machine"]])
def test_no_command_shows_the_help(words: list[str], run: Run) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert "Usage:" in err
    assert "Examples:" in err


def test_version(run: Run) -> None:
    assert run.ok("--version").strip().endswith(isthmus.__version__)


# Output


def test_list(run: Run) -> None:
    rows = run.json("machine", "list")
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    assert {row["name"]: row["nodes"] for row in rows}["cielo"] == 8944
    out = run.ok("machine", "list", "CRAY", "torus")
    names = [line.split()[0] for line in out.split("\n")[2:] if line]
    assert "cielo" in names
    assert "edison" not in names
    assert run.json("machine", "list", "no such machine") == []
    assert len(out.split("\n")[0].split()) == 5


def test_kinds(run: Run) -> None:
    kinds = run.json("machine", "list", "--kinds")
    assert len(kinds) == 18
    assert next(k for k in kinds if k["kind"] == "torus")["parameters"][0]["name"] == "dims"
    out = run.ok("machine", "list", "--kinds")
    assert all(k["example"] in out for k in kinds)


def test_show(run: Run) -> None:
    out = run.ok("machine", "show", "cielo")
    for words in (
        "8,944 of 9,216 places",
        "16 x 12 x 24 x 2",
        "links.x.bandwidth",
        "5.8 GB/s",
        "estimated",
        "Sources",
        "[1]",
    ):
        assert words in out
    brief = run.ok("machine", "show", "cielo", "--brief")
    assert out.startswith(brief[:-1])
    assert "Sources" not in brief
    shown = run.json("machine", "show", "cielo")
    assert shown["nodes"] == 8944
    assert shown["dims"] == {"x": 16, "y": 12, "z": 24, "slot": 2}
    assert shown["node"]["stream"][0][0] == 13434939000.0
    assert shown["level"]["network"]["L"] == 581e-9
    row = next(row for row in shown["values"] if row["path"] == "compute_nodes")
    assert (row["value"], row["status"]) == (8944, "exact")
    assert row["source"].startswith("D. Doerfler")
    assert "values" not in run.json("machine", "show", "cielo", "--brief")


def test_show_says_nothing_of_parameters_that_are_not_given(run: Run) -> None:
    paths = [row["path"] for row in run.json("machine", "show", "torus:4x4m")["values"]]
    assert paths == ["topology.kind", "topology.dims", "topology.wrap"]
    assert "true, false" in run.ok("machine", "show", "torus:4x4m")


def test_distance(run: Run) -> None:
    words = ("machine", "distance", "torus:4x4x4 L=1us o=0 per_hop=1ns G=1ns/B", "0,0,0")
    assert run.json(*words, "1,1,0", "--bytes", "1kB") == {
        "a": 0,
        "b": 5,
        "distance": 2,
        "route_length": 2,
        "bytes": 1000.0,
        "message_time": pytest.approx(2.001e-6),
    }
    assert run.ok(*words, "(1,0,0)").startswith("1 link from node 0 (0,0,0) to node 1 (1,0,0)\n1 us for 0 B")
    assert run.ok(*words, "node5").startswith("2 links from")
    assert run.ok(*words, "0").startswith("0 links from")


def test_route(run: Run) -> None:
    found = run.json("machine", "route", "torus:4x4 link=1GB/s hop=5ns", "0", "5")
    (route,) = found["routes"]
    assert [hop["class"] for hop in route] == ["x+", "y+"]
    assert {(hop["bandwidth"], hop["latency"]) for hop in route} == {(1e9, 5e-9)}
    assert route[0]["to"] == route[1]["from"]
    both = run.json("machine", "route", "torus:4x4", "0", "5", "--routing", "minimal")
    assert len(both["routes"]) == 2
    for method in ("random", "valiant", "ugal"):
        words = ("machine", "route", "dragonfly-small", "0", "71", "--routing", method, "--count", "3", "--seed")
        assert run.json(*words, "1") == run.json(*words, "1")
        assert len(run.json(*words, "1")["routes"]) == 3
    out = run.ok("machine", "route", "ring:4", "0", "1")
    assert "1 route, distance 1" in out
    assert "route 1: 1 link, 100 ns" in out
    assert "route 1: 0 links" in run.ok("machine", "route", "ring:4", "2", "2")


def test_plot(run: Run) -> None:
    assert run.json("machine", "plot", "ring:4", "-o", "ring.svg", "--route", "0", "2") == {"file": "ring.svg"}
    assert Path("ring.svg").read_text().lstrip().startswith("<?xml")
    assert run.ok("machine", "plot", "ring:4", "-o", "d.png", "--distances") == "wrote d.png\n"
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")
    assert "'.gif'; must be one of .png" in run.error("machine", "plot", "ring:4", "-o", "ring.gif")
    assert "/none/x.png: No such file" in run.error("machine", "plot", "ring:4", "-o", "/none/x.png")
    assert sorted(os.listdir()) == ["d.png", "ring.svg"]


def test_convert(run: Run) -> None:
    toml = run.ok("machine", "convert", "cielo")
    assert run.ok("machine", "convert", "cielo", "-o", "c.toml") == "wrote c.toml\n"
    assert Path("c.toml").read_text() == toml
    assert isthmus.load("c.toml") == isthmus.load("cielo")
    assert run.ok("machine", "convert", "torus:4x4 cores=2", "--format", "spec") == "torus:4x4 cores=2\n"
    run.ok("machine", "convert", "torus:4x4", "-o", "t.edges")
    assert run.json("machine", "show", "t.edges")["links"] == 64
    assert run.json("machine", "convert", "ring:4", "--format", "spec") == {"format": "spec", "text": "ring:4\n"}
    assert run.json("machine", "convert", "ring:4", "-o", "x.spec") == {"format": "spec", "file": "x.spec"}
    assert run.ok("machine", "convert", "ring:4", "-o", "plain") == "wrote plain\n"
    assert "[topology]" in Path("plain").read_text()
    assert run.ok("machine", "show", "plain", "--input-format", "toml", "--brief").startswith("ring:4\n")
    assert "write TOML" in run.error("machine", "convert", "kautz-2-3", "--format", "edges")


def test_convert_merges_a_node(run: Run) -> None:
    run.ok(
        "machine",
        "convert",
        str(DATA / "tree" / "topology.conf"),
        "--node",
        str(DATA / "dual-socket-v2.xml"),
        "-o",
        "c.toml",
    )
    assert run.json("machine", "show", "c.toml")["node"]["cores"] > 1


def test_options_of_importers(run: Run) -> None:
    conf = str(DATA / "block" / "topology.conf")
    assert "has no option root=" in run.error("machine", "show", str(DATA / "hdr-fat-tree.ibnet"), "--import", "root=a")
    assert "root= does not apply to" in run.error("machine", "show", "cielo", "--import", "root=a")
    for words in ("root", "root=", "trunk=a", "=a", ""):
        assert "must be one of root=..., topology=..., nodes=..." in run.error(
            "machine", "show", conf, "--import", words
        )
    Path("topology.conf").write_text("SwitchName=a Nodes=a[1-2]\nSwitchName=b Nodes=b[1-3]\n")
    assert "root" in run.error("machine", "show", "topology.conf")
    assert run.json("machine", "show", "topology.conf", "--import", "root=b")["nodes"] == 3


def test_validate(run: Run) -> None:
    isthmus.load("cielo").save("c.toml")
    files = [str(DATA / name) for name in ("tree/topology.conf", "dgx-h100.nccl.xml", "hdr-fat-tree.ibnet")]
    out = run.ok("machine", "validate", "c.toml", *files)
    assert "c.toml: ok, 8,944 nodes; values: " in out
    assert f"{files[1]}: ok, 1 node; values: " in out
    Path("bad.toml").write_text("[topology]\nkind = 'ring'\ndims = [4]\nq = 1\n")
    Path("cielo").write_text("SwitchName=s Nodes=a,b\n")
    status, out, err = run("machine", "validate", "bad.toml", "c.toml", "none", ".", "cielo")
    assert status == 2
    assert out == (
        "c.toml: ok, 8,944 nodes; values: "
        + out.split("values: ")[1].split("\n")[0]
        + "\ncielo: ok, 2 nodes; values: 4 stated\n"
    )
    assert err.split("\n") == [
        "isthmus: bad.toml:4: topology.q: unknown key: must be one of kind, dims, wrap, names, p, ties",
        "isthmus: none: No such file or directory",
        "isthmus: .: the path is a folder, in which there is no trace: expected a machine (TOML, a Slurm topology, "
        "ibnetdiscover output, an edge list)",
        "",
    ]
    status, out, err = run("machine", "validate", "bad.toml", "c.toml", "--json")
    bad, good = json.loads(out)
    assert (status, err) == (2, "")
    assert (bad["ok"], bad["line"], bad["field"]) == (False, 4, "topology.q")
    assert (good["ok"], good["nodes"]) == (True, 8944)


def test_json_has_no_infinity(run: Run) -> None:
    found = run.json("machine", "distance", "ring:4 G=1e10s/B", "0", "1", "--bytes", "1e300")
    assert (found["message_time"], found["bytes"]) == (None, 1e300)


def test_large_json(run: Run) -> None:
    found = run.json("machine", "route", "torus:8x8x8x8", "0", "node2340", "--routing", "minimal", "--count", "1000")
    assert len(found["routes"]) == 1000
    assert {len(route) for route in found["routes"]} == {16}


# Errors


# "|" stands for a blank within a word, or before an empty one.
ERRORS = [
    ("--nonsense", "No such option"),
    ("machines", "No such command 'machines'"),
    ("machine shew cielo", "No such command 'shew'"),
    ("machine show", "Missing argument 'MACHINE'. Try 'isthmus machine show --help'."),
    ("machine show cielo titan", "unexpected extra argument (titan)"),
    ("machine show cielo --nonsense", "No such option"),
    ("machine show sequioa", "close names are sequoia"),
    ("machine show trous:4x4", "unknown topology 'trous'"),
    ("machine show torus:4x4|cores=0", "torus:4x4 cores=0: node.cores: is 0: must be a whole number from 1"),
    ("machine show torus:4x4|link=nan", "links.default.bandwidth: 'nan' is not a quantity"),
    ("machine show none.toml", "neither a machine of the catalogue, nor a file"),
    ("machine show my|cluster.toml", "'my cluster.toml' is neither"),
    ("machine show|", "'' is neither"),
    ("machine show .", ".: the path is a folder"),
    ("machine show bad.toml", "bad.toml:4: topology.q: unknown key"),
    ("machine show bad.toml --input-format slurm", "bad.toml"),
    ("machine show bad.toml --input-format word", "format 'word': must be one of toml, edges, slurm"),
    ("machine show cielo --node none.xml", "none.xml: No such file or directory"),
    ("machine show cielo --node bad.toml", "bad.toml"),
    ("machine distance cielo 0", "Missing argument 'B'"),
    ("machine distance cielo -1 0", "No such option"),
    ("machine distance cielo -- -1 0", "node -1 of cielo: nodes are 0 to 9215"),
    ("machine distance cielo -- --5 0", "node '--5' of cielo"),
    ("machine distance cielo 9216 0", "node 9216 of cielo: nodes are 0 to 9215"),
    ("machine distance cielo 99999999999999999999999 0", "names are node0 to node9215"),
    ("machine distance cielo 1,2 0", "2 coordinates: cielo has 4"),
    ("machine distance cielo 16,0,0,0 0", "x = 16: must be 0 to 15"),
    ("machine distance cielo 4294967296,0,0,0 0", "whole numbers below 16 x 12 x 24 x 2"),
    ("machine distance cielo 1,a,0,0 0", "must be an id, a name, or coordinates such as 1,2,3"),
    ("machine distance cielo 1,,0,0 0", "coordinates such as 1,2,3"),
    ("machine distance cielo ² 0", "names are node0 to node9215"),
    ("machine distance cielo| 0", "node '' of cielo"),
    ("machine distance cielo login1 0", "node 'login1' of cielo: names are node0 to node9215"),
    ("machine distance cielo 0 1 --bytes -5", "--bytes: -5 is negative"),
    ("machine distance cielo 0 1 --bytes nan", "--bytes: 'nan' is not a quantity"),
    ("machine distance cielo 0 1 --bytes 5m", "--bytes: '5m' is not a quantity: must be a number with one of PB"),
    ("machine route cielo 0 1 --routing wormhole", "is not one of 'deterministic', 'minimal'"),
    ("machine route cielo 0 1 --count 0", "0 is not in the range 1<=x<=100000"),
    ("machine route cielo 0 1 --count many", "'many' is not a valid integer"),
    ("machine route cielo 0 1 --seed -1", "-1 is not in the range"),
    ("machine route cielo 0 1 --seed 18446744073709551616", "is not in the range"),
    ("machine plot cielo", "Missing option '-o' / '--output'"),
    ("machine plot cielo -o x.png --route 0", "requires 2 arguments"),
    ("machine plot ring:4 -o x.png --route 0 4", "nodes are 0 to 3"),
    ("machine convert cielo -o none/x.toml", "none/x.toml: No such file or directory"),
    ("machine convert cielo -o .", ".: Is a directory"),
    ("machine convert cielo --format pdf", "is not one of 'toml', 'spec', 'edges'"),
    ("machine validate", "Missing argument 'FILE...'"),
]


@pytest.mark.parametrize(("words", "message"), ERRORS, ids=[words for words, _ in ERRORS])
def test_errors_are_one_line(words: str, message: str, run: Run) -> None:
    Path("bad.toml").write_text("[topology]\nkind = 'ring'\ndims = [4]\nq = 1\n")
    arguments = [word.replace("|", " ") for word in words.split(" ")]
    arguments = [part for word in arguments for part in ([word[:-1], ""] if word.endswith(" ") else [word])]
    assert message in run.error(*arguments)
    assert os.listdir() == ["bad.toml"]


def test_errors_of_strange_words(run: Run) -> None:
    for word in ("a\nb", "torus:4x4\nlink=q", "\udcff", "torus:4x4,names=\udcff", "\x1b[31m", "é" * 50_000):
        assert len(run.error("machine", "show", word)) < 60_000


def test_traceback_only_with_debug() -> None:
    for words in (["--debug", "machine", "show", "nonsense"], ["machine", "show", "nonsense", "--debug"]):
        done = subprocess.run([*ISTHMUS, *words], capture_output=True, text=True)
        assert done.returncode != 0
        assert "Traceback" in done.stderr
        assert "InvalidInput" in done.stderr
    done = subprocess.run(
        [*ISTHMUS, "machine", "distance", "ring:4", "--", "--debug", "0"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("isthmus: node '--debug' of ring:4")


def test_failed_commands_leave_old_files(run: Run) -> None:
    Path("x.edges").write_text("old")
    run.error("machine", "convert", "kautz-2-3", "-o", "x.edges")
    run.error("machine", "plot", "ring:4", "-o", "x.edges")
    assert Path("x.edges").read_text() == "old"
    assert os.listdir() == ["x.edges"]


# Processes


def cpu(*command: str) -> float:
    """Median CPU seconds of five runs."""
    times = []
    for _ in range(5):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        times.append(used.ru_utime + used.ru_stime)
    return statistics.median(times)


def test_import_is_quick() -> None:
    assert cpu(sys.executable, "-c", "import isthmus") < 0.3


def test_help_is_quick() -> None:
    assert cpu(*ISTHMUS, "--help") < 0.4


def test_import_loads_no_heavy_module() -> None:
    code = "import isthmus, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "matplotlib", "plotly", "scipy", "rich", "click", "yaml"} & set(loaded)


def test_installed_program_is_the_module(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("isthmus")
    for command in ([str(program)], ISTHMUS):
        done = subprocess.run(
            [*command, "machine", "distance", "ring:4", "0", "2", "--json"], capture_output=True, text=True
        )
        assert json.loads(done.stdout)["distance"] == 2


@pytest.mark.parametrize(
    "words", ["machine list", "machine convert torus:16x16x16 --format edges", "machine show cielo --json"]
)
def test_broken_pipes_are_silent(words: str) -> None:
    done = subprocess.run(f"{sys.executable} -m isthmus {words} | head -1", shell=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_one_line() -> None:
    done = subprocess.run(
        f"{sys.executable} -m isthmus machine list > /dev/full", shell=True, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert done.stderr.startswith("isthmus: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_output_to_pipes_and_devices() -> None:
    words = f"{sys.executable} -m isthmus machine convert ring:4"
    done = subprocess.run(
        f"{words} -o /dev/stdout | grep -c topology; {words} -o /dev/null", shell=True, capture_output=True, text=True
    )
    assert done.stdout == "1\nwrote /dev/null\n"
    assert done.stderr == ""
    assert not os.path.isfile("/dev/null")


def test_terminals_without_the_characters() -> None:
    done = subprocess.run(
        [*ISTHMUS, "machine", "show", "cielo"], capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
