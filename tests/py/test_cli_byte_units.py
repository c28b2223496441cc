"""One family of byte units in an output: powers of 1000 or of 1024, never both, in whatever a command prints and draws.

Bandwidths are powers of 1000 everywhere, as vendors state them, and do not count.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import isthmus
from isthmus.cli import main
from isthmus.extrapolation import fit
from isthmus.extrapolation import text as skeleton_text
from test_cli_options import COMMANDS

_BINARY = re.compile(r"[0-9]\s?[KMGTP]iB(?![/\w])")
_DECIMAL = re.compile(r"[0-9]\s?[kMGTP]B(?![/\w])")

#: Lines of every command, on sizes that are powers of 1000, powers of 1024, both and neither.
LINES = [
    "advise mixed.h5 --machine cielo --ranks-per-node 4 -o page.html --tune-time 2s",
    "advise mixed.h5 --machine torus-4x4x4 --machine eos --ranks-per-node 1 --model flow -o page.html --tune-time 0",
    "compare cielo eos -o page.html",
    "compare cielo eos --plot overheads-socket=picture.svg",
    "show cielo -o page.html",
    "compare mixed.toml binary.toml",
    "compare mixed.toml openmpi --ranks 8",
    "compare mixed.h5 cielo eos --ranks-per-node 4",
    "compare timeline.h5 timeline.h5",
    "doctor",
    "machine convert cielo --format spec",
    "machine convert cielo --format toml",
    "machine distance titan 0 4711 --bytes 64KiB",
    "machine distance titan 0 4711 --bytes 64kB",
    "machine list",
    "machine list --kinds",
    "machine plot ring-16 -o picture.svg",
    "machine route titan 0 4711",
    *(
        f"machine show {name}"
        for name in ("cielo", "frontier", "titan", "perlmutter", "bgl", "sequoia", "superpod-h100")
    ),
    "machine validate machine.toml",
    "map mixed.h5 --machine torus-4x4x4 --ranks-per-node 1 --time 0.2s --plot load=load.svg",
    "map alltoall:ranks=16,bytes=64KiB --machine torus-4x4x4 --ranks-per-node 1 --time 0.2s",
    "map --list",
    "prove allreduce:ranks=8,bytes=64KiB",
    "prove allreduce:ranks=8,bytes=64kB",
    "schedule algorithms",
    "schedule collective allreduce:ranks=8,bytes=64KiB -o new.h5",
    "schedule convert mixed.h5 -o new.h5",
    "schedule lower mixed.h5 -o new.h5",
    "schedule pattern mixed.h5 --plot matrix=matrix.svg",
    "schedule validate mixed.h5",
    "show mixed.h5",
    "show mixed.h5 --rank 0",
    "show schedule.h5",
    "show schedule.h5 --rank 1",
    "show timeline.h5",
    "show timeline.h5 --rank 1",
    "show mixed.toml",
    "show cielo",
    "show loggops:L=2us,o=1us,g=1us,G=1ns,S=65536",
    "show --example lammps",
    "show --example lammps --full",
    "show --example lammps --rank 0 --events",
    "show --example lammps --plot sizes=sizes.svg",
    "show bcast:ranks=8,bytes=64KiB --rank 0",
    "simulate mixed.h5 --machine torus-4x4x4 --ranks-per-node 1 --model flow --links 5 --critical --plot load=load.svg",
    "simulate alltoall:ranks=16,bytes=64KiB --machine torus-4x4x4 --ranks-per-node 1 --model packet --links 3",
    "skeleton describe app.skeleton",
    "skeleton fit r9.h5 r16.h5 r25.h5",
    "skeleton list",
    "skeleton pack r16.h5",
    "skeleton show stencil:ranks=16,bytes=1kB",
    "study list",
    "tune all --machine eos --ranks 16 --sizes 8,1kB,1KiB,3000,1MB,1MiB,1234567 --plot times.svg --plot map=map.svg",
    "tune bcast --machine eos --ranks 16 --sizes 8..64KiB --try segment=1KiB,1000,8KiB --plot times.svg",
    "tune bcast --machine eos --ranks 16 --sizes 8,80,8kB,800kB --plot times.svg --plot map=map.svg",
    "tune show mixed.toml",
    "tune show mixed.toml --rules",
    "tune show binary.toml --rules",
    "tune show openmpi --ranks 8,64",
    "tune show mpich --ranks 8,64",
    "tune merge mixed.toml binary.toml -o merged.toml",
    "tune convert mixed.toml -o mixed.txt",
    "tune validate mixed.toml --machine eos",
    "tune export mixed.toml --for openmpi-5.0.8 --machine eos -o rules.json",
    "tune export mixed.toml --for openmpi-4.1.4 -o rules.conf",
    "tune export mixed.toml --for ucc -o ucc.env --ranks 8",
]
#: Tested where MPI programs run: test_record_json.py, test_tuning_verify.py, those of measure. Scripts and queues have
#: no sizes.
ELSEWHERE = {"record", "run", "measure", "tune verify", "completion", "study run", "upcc"}
ELSEWHERE |= {f"queue {name}" for name in ("decide", "simulate", "vary", "workload")}
ELSEWHERE |= {
    f"multigrid {name}"
    for name in (
        *("counts", "exchange", "extrapolate", "library", "model", "program", "redistribute", "setup", "solve"),
        "trace",
    )
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("units")
    b = isthmus.ProgramBuilder(16)
    for size in (8, 1000, 1024, 3000, 9216, 15_910, 64_000, 65_536, 1_000_000, 1 << 20, 1_234_567):
        b.compute(None, 1e-4)
        for kind in ("allreduce", "bcast", "alltoall"):
            b.collective(kind, None, size)
        b.sendrecv(None, [(r + 1) % 16 for r in range(16)], size, [(r - 1) % 16 for r in range(16)])
    program = b.build()
    program.save(folder / "mixed.h5")
    for ranks in (9, 16, 25):
        isthmus.example(f"stencil:ranks={ranks},bytes=1kB,steps=1").save(folder / f"r{ranks}.h5")
    sizes = [(f"r{ranks}.h5", isthmus.read(folder / f"r{ranks}.h5"), {}) for ranks in (9, 16, 25)]
    (folder / "app.skeleton").write_text(skeleton_text(fit(sizes)))
    isthmus.lower(program).save(folder / "schedule.h5")
    isthmus.simulate(program, "cielo", record="ops").save(folder / "timeline.h5")
    common = ["bcast", "allreduce", "alltoall", "--machine", "eos", "--ranks", "8", "--margin", "0"]
    for name, sizes in (("mixed", "8,1kB,1KiB,3000,1MB,1MiB,1234567"), ("binary", "1..1MiB")):
        main(["tune", *common, "--sizes", sizes, "-o", str(folder / f"{name}.toml")])
    isthmus.load("cielo").save(folder / "machine.toml")
    return folder


def mixed(text: str) -> list[str]:
    """Lines with sizes, where they are of both families. Notes that come with a machine's numbers quote others."""
    text = re.sub(
        r"^  \* .*(\n    .*)*|\s(exact|derived|estimated|recalled|measured)\s.*", "", text, flags=re.MULTILINE
    )
    families = [_BINARY, _DECIMAL]
    if not all(family.search(text) for family in families):
        return []
    return [line for line in text.splitlines() if any(family.search(line) for family in families)]


def words_of(page: str) -> str:
    """What is read in a page or picture: no scripts, no data, no marks; comments of pictures repeat their words."""
    page = page.replace("<!--", "").replace("-->", "")
    return re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", "\n", page, flags=re.DOTALL)


@pytest.mark.parametrize("line", LINES)
def test_one_family(
    line: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    for old in (*files.glob("*.html"), *files.glob("*.svg")):
        old.unlink()
    capsys.readouterr()
    main(line.split())
    shown = capsys.readouterr()
    assert mixed(shown.out + shown.err) == []
    for drawn in (*files.glob("*.html"), *files.glob("*.svg")):
        assert mixed(words_of(drawn.read_text())) == [], drawn.name


def test_every_command_is_walked() -> None:
    walked = {path for path in COMMANDS for line in LINES if tuple(line.split()[: len(path)]) == path}
    walked |= {("tune", "search")} & {("tune", "search") for line in LINES if line.startswith("tune all ")}
    # All studies print and draw by the same code as the first.
    missing = {" ".join(path) for path in set(COMMANDS) - walked if path[0] != "study" or path[1] in ("list", "run")}
    assert missing == ELSEWHERE


def test_a_mixture_is_seen() -> None:
    assert len(mixed("from 9 KiB\nto 15.91 kB\nby 3 B")) == 2
    assert mixed("9 KiB at 4 GB/s") == mixed("16 KiB, 3 MiB") == mixed("1 kB, 3.5 MB, 65535 B") == []
