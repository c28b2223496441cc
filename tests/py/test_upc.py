"""Programs in UPC: every feature of the language and the library on 1 to 4 threads, messages, and what is refused."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import Run
from isthmus.upc import Options, UpcError, build
from isthmus.upc.driver import preprocessed
from isthmus.upc.emit_kept import KeptEmission
from isthmus.upc.rows import Reader
from isthmus.upc.translate import translate
from isthmus.upc.tree import Node
from mpi_programs import installed, launcher

PROGRAMS = Path(__file__).parents[1] / "upc"
FILES = {
    "layout": ["layout.upc"],
    "values": ["values.upc"],
    "forall": ["forall.upc"],
    "own": ["own.upc"],
    "blocks": ["blocks.upc"],
    "distant": ["distant.upc"],
    "library": ["library.upc"],
    "io": ["io.upc"],
    "collectives": ["collectives.upc"],
    "order": ["order.upc"],
    "files": ["main.upc", "parts.upc", "plain.c"],
}


@pytest.fixture
def upcc(capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys, "upcc")


def run(program: Path, threads: int) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "isthmus", "run", "-n", str(threads), "--", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=program.parent)
    return done.returncode, done.stdout, done.stderr


def made(tmp_path: Path, text: str, threads: int | None = None, level: str = "1") -> Path:
    source = tmp_path / "program.upc"
    source.write_text(text)
    build([str(source)], Options(str(tmp_path / "program"), threads, level))
    return tmp_path / "program"


@pytest.mark.parametrize("name", FILES)
def test_programs_are_right_on_any_number_of_threads(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    build([str(PROGRAMS / file) for file in FILES[name]], Options(str(program), flags=["-Wno-overflow"]))
    for threads in (1, 2, 3, 4):
        assert run(program, threads) == (0, f"right on {threads}\n", "")


@pytest.mark.parametrize("name", ["layout", "values", "forall"])
def test_programs_are_right_on_a_fixed_number_of_threads(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    build([str(PROGRAMS / file) for file in FILES[name]], Options(str(program), 3, "0", flags=["-Wno-overflow"]))
    assert run(program, 3) == (0, "right on 3\n", "")
    status, out, err = run(program, 2)
    assert (status, out) == (2, "")
    assert "this program was translated for 3 threads (-T) and is run with 2\n" in err


# All of them at -O2 above, and some at -O0: here what is done for speed differs, and strips are short.
SWITCHES = [
    {"level": "0"}, {"level": "1", "threads": 2}, {"level": "3"}, {"local": False}, {"deal": False}, {"blocks": False},
    {"local": False, "deal": False},
]  # fmt: skip


@pytest.mark.parametrize("strip", ["1", "5", "1000"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda switches: "-".join(map(str, switches)))
@pytest.mark.parametrize("name", ["own", "blocks"])
def test_loops_are_the_same_at_every_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, switches: dict[str, Any], strip: str
) -> None:
    monkeypatch.setenv("ISTHMUS_UPC_STRIP", strip)
    program = tmp_path / name
    build([str(PROGRAMS / f"{name}.upc")], Options(str(program), **switches))
    assert run(program, 2) == (0, "right on 2\n", "")


@pytest.mark.parametrize("name", FILES)
def test_sanitizers_find_nothing_in_programs(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-Wno-overflow"]
    build([str(PROGRAMS / file) for file in FILES[name]], Options(str(program), flags=flags))
    assert run(program, 2) == (0, "right on 2\n", "")


OWN = """#include <upc_relaxed.h>
shared [4] int a[40 * THREADS];
shared int b[40 * THREADS];
void f(int *p) {
  upc_forall (int i = 0; i < 40 * THREADS; i++; &a[i])
    a[i] = b[i];
  upc_forall (int i = 0; i < *p; i++; i) {
    b[i] = 0;
  }
  b[MYTHREAD] = 1;
}
"""


def test_the_report_has_a_line_for_every_loop_and_access(
    upcc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.upc").write_text(OWN)
    call = "a call: its thread is not known"
    tests = "upc_forall tests every iteration: the bound is not an integer that stays the same"
    said = [
        "5: upc_forall goes over the thread's own iterations in blocks of 4",
        "6: a[i] is plain C", "6: b[i] is in a block", f"7: {tests}", f"8: b[i] stays {call}",
        "10: b[MYTHREAD] is plain C", "5: the loop is in blocks: b[i] read",
    ]  # fmt: skip

    def report(*words: str) -> list[str]:
        status, out, err = upcc("-c", "--report", "--save-c", *words, "f.upc")
        assert (status, err) == (0, "")
        return [
            line.removeprefix("f.upc:") for line in sorted(out.splitlines(), key=lambda line: int(line.split(":")[1]))
        ]

    assert sorted(report()) == sorted(said)
    assert "isthmus_upc_next_block" in Path("f.upc.c").read_text().split("f.upc")[-1]
    assert report("--no-own-iterations") == [f"6: a[i] stays {call}", f"6: b[i] stays {call}", said[4], said[5]]
    assert sorted(report("--no-block-transfers")) == sorted([*said[:2], f"6: b[i] stays {call}", *said[3:6]])
    assert sorted(report("--no-local-accesses")) == sorted(
        [said[0], "5: the loop is in blocks: a[i] written; b[i] read", "6: a[i] is in a block", said[2], said[3],
         f"8: b[i] stays {call}", f"10: b[MYTHREAD] stays {call}"]
    )  # fmt: skip
    assert report("--no-local-accesses", "--no-block-transfers") == [said[0], said[3]]
    assert report("-O0") == []


#: Text behind #include <upc.h>, where it is wrong (line and column) and a part of what is said.
REFUSED = [
    ("void f(void) {\n  shared int x;\n}", "3:14", "'x' is shared and automatic"),
    ("void f(shared int x);", "2:8", "a parameter cannot be shared"),
    ("shared int f(void);", "2:19", "a function cannot return a shared value"),
    ("struct s { int a; shared int b; };", "2:30", "a member of a struct cannot be shared"),
    ("shared [2] int *p;\nshared [3] int *q;\nvoid f(void) { p =   q; }", "4:22", "becomes one with block size 2"),
    ("shared int *p; int *q;\nvoid f(void) { q = p; }", "3:20", "a pointer to shared becomes something else"),
    ("shared int *p; int *q;\nvoid f(void) { p = q; }", "3:20", "is made of something else"),
    ("shared int *p; int *q;\nvoid f(void) { p = (shared int *)q; }", "3:20", "cannot become a pointer to shared"),
    ("void f(void) {\n  upc_forall (int i = 0; i < 3; i++; i) upc_barrier;\n}", "3:41", "upc_barrier in a upc_forall"),
    ("void f(void) { upc_forall (int i = 0; i < 3; i++; i) { if (i) { upc_notify; } } }", "2:65", "upc_notify in a"),
    ("void f(void) { upc_forall (int i = 0; i < 3; i++; 1.5) ; }", "2:51", "the affinity is an integer, a pointer"),
    ("shared int a[5];", "2:12", "THREADS is not among the dimensions of 'a'"),
    ("shared int a[THREADS][THREADS];", "2:12", "THREADS is 2 times among the dimensions of 'a'"),
    ("shared [] int a[THREADS];", "2:15", "all of it is on one thread"),
    ("shared [-1] int a[THREADS];", "2:9", "the block size is -1"),
    ("int n; shared [n] int a[THREADS];", "2:16", "the block size is not a constant"),
    ("shared [*] int *p;", "2:17", "block size [*] is for arrays"),
    ("strict int x;", "2:1", "'strict' qualifies shared types alone"),
    ("strict relaxed shared int x;", "2:8", "'strict' and 'relaxed' exclude each other"),
    ("shared void *p;\nvoid f(void) { p++; }", "3:17", "arithmetic with a pointer to shared void"),
    ("shared [2] int *p; shared int *q;\nint f(void) { return p == q; }", "3:24", "different block sizes"),
    ("shared int *p;\nint f(void) { return p * 2; }", "3:24", "'*' is not for pointers to shared"),
    ("shared const int x;\nvoid f(void) { x = 1; }", "3:18", "this is const"),
    ("int x;\nint f(void) { return upc_blocksizeof(x); }", "3:22", "upc_blocksizeof is for shared types and objects"),
    ("void f(void) { upc_barrier 1 }", "2:30", "'}' where ';' was expected"),
    ("shared int *p;\nvoid f(void) { p = g(); }", "3:20", "'g' is not declared"),
    ("void f(shared [] int *p);\nvoid f(shared int *p) {}", "3:6", "'f' was declared with pointers to shared"),
    ("upc_lock_t flag;", "2:12", "'flag' has an incomplete type"),
    ("struct s { int b : 3; };\nshared struct s x;\nvoid *f(void) { return &x.b; }", "4:24", "a bit-field has no"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "said"), REFUSED)
def test_what_upc_forbids_is_refused_at_its_place(tmp_path: Path, text: str, place: str, said: str) -> None:
    source = tmp_path / "wrong.upc"
    source.write_text(f"#include <upc.h>\n{text}\n")
    with pytest.raises(UpcError) as refused:
        translate(preprocessed(str(source), Options()), str(source))
    assert str(refused.value).startswith(f"{source}:{place}: ")
    assert said in str(refused.value)


def test_the_command_says_it_in_one_line_and_writes_nothing(
    upcc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.upc").write_text("#include <upc.h>\nint main(void) { shared int x; return 0; }\n")
    status, out, err = upcc("wrong.upc", "--save-c")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "wrong.upc:2:29: 'x' is shared and automatic" in err
    assert upcc("none.upc")[0] == 2
    assert upcc("-c", "-o", "x.o", "wrong.upc", "wrong.upc")[0] == 2
    Path("text.txt").write_text("")
    assert upcc("text.txt")[0] == 2
    monkeypatch.setenv("CC", "no-such-compiler")
    assert upcc("wrong.upc")[0] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "wrong.upc"]


def test_messages_of_the_c_compiler_name_the_line_of_the_user(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="failed with status 1"):
        made(tmp_path, "#include <upc.h>\nshared int a[THREADS];\n\nint main(void) {\n  a[0] = nowhere;\n}\n")
    assert "program.upc:5:" in capfd.readouterr().err


def test_c_is_kept_and_objects_are_linked(upcc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert upcc("-c", "--save-c", str(PROGRAMS / "parts.upc"), str(PROGRAMS / "plain.c")) == (0, "", "")
    assert "isthmus_upc_write" in Path("parts.upc.c").read_text()
    assert upcc("-o", "whole", "parts.o", str(PROGRAMS / "main.upc"), "plain.o", "-lm") == (0, "", "")
    assert run(tmp_path / "whole", 2) == (0, "right on 2\n", "")


def test_a_makefile_compiles_and_links_with_flags_that_are_printed(
    upcc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert upcc("-c", "--save-c", str(PROGRAMS / "forall.upc")) == (0, "", "")
    cflags, libs = (shlex.split(upcc("--pkg-config", what)[1]) for what in ("cflags", "libs"))
    subprocess.run(["cc", *cflags, "-c", "-o", "again.o", "forall.upc.c"], check=True)
    subprocess.run(["cc", "-o", "again", "again.o", *libs], check=True)
    assert run(tmp_path / "again", 2) == (0, "right on 2\n", "")
    assert upcc("--pkg-config", "libs", "forall.upc")[0] == upcc()[0] == 2


@pytest.mark.parametrize("strip", [None, "3"])
@pytest.mark.parametrize("transport", ["shm+mpi", "mpi"])
@pytest.mark.parametrize("name", ["library", "blocks", "distant", "order", "with_mpi"])
def test_threads_are_ranks_of_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str, name: str, strip: str | None
) -> None:
    monkeypatch.setenv("MPICC", installed("openmpi").mpi.mpicc)
    program = tmp_path / name
    build([str(PROGRAMS / f"{name}.upc")], Options(str(program), network="mpi"))
    environment = os.environ | {"ISTHMUS_TRANSPORT": transport} | ({"ISTHMUS_UPC_STRIP": strip} if strip else {})
    command = [*launcher("openmpi", 2), *(["-x", "ISTHMUS_UPC_STRIP"] if strip else []), "-x", "ISTHMUS_TRANSPORT"]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "right on 2\n")


@pytest.mark.parametrize("level", ["0", "2"])
def test_what_compilers_for_the_runtime_of_berkeley_emit_is_linked(tmp_path: Path, level: str) -> None:
    objects = []
    for name in ("berkeley", "berkeley_other"):
        objects.append(str(tmp_path / f"{name}.o"))
        build([str(PROGRAMS / f"{name}.c")], Options(objects[-1], level=level, compile_only=True))
    build(objects, Options(str(tmp_path / "program"), level=level))
    for threads in (1, 2, 3, 4):
        command = [sys.executable, "-m", "isthmus", "run", "-n", str(threads), "--", str(tmp_path / "program"), "word"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"right on {threads}\n", "")


def test_what_they_emit_is_linked_with_a_program_of_ours(tmp_path: Path) -> None:
    source = tmp_path / "ours.upc"
    source.write_text(
        "#include <upc_relaxed.h>\n#include <stdio.h>\nextern int add_to_other(int by);\nshared int mine[THREADS];\n"
        "int main(void) {\n  mine[MYTHREAD] = add_to_other(MYTHREAD);\n  upc_barrier;\n"
        '  if (MYTHREAD == 0) printf("%d\\n", mine[THREADS - 1]);\n  return 0;\n}\n'
    )
    build([str(source), str(PROGRAMS / "berkeley_other.c")], Options(str(tmp_path / "program")))
    assert run(tmp_path / "program", 2) == (0, "0\n", "")


@pytest.mark.parametrize("keep", [True, False])
def test_reads_are_kept_only_where_nothing_can_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keep: bool
) -> None:
    monkeypatch.setenv("MPICC", installed("openmpi").mpi.mpicc)
    program = tmp_path / "kept"
    build([str(PROGRAMS / "kept.upc")], Options(str(program), network="mpi", keep=keep, report=True))
    said = [line for line in capsys.readouterr().out.splitlines() if "is kept" in line]
    assert [line.split(": ")[1] for line in said] == (
        [
            "what loops read of single[i] is kept until line 14",
            "what loops read of single[i] is kept until line 29",
            "what loops read of single[i] is kept until line 42",
            "what loops read of row[j][i] is kept until line 120",
        ]
        if keep
        else []
    )
    for strip in ("1", "7", "1000"):
        environment = os.environ | {"ISTHMUS_TRANSPORT": "mpi", "ISTHMUS_UPC_STRIP": strip}
        command = [*launcher("openmpi", 2), "-x", "ISTHMUS_UPC_STRIP", "-x", "ISTHMUS_TRANSPORT", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        assert (done.returncode, done.stdout) == (0, "right on 2\n")


def test_reads_are_not_kept_where_something_changes_them_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPICC", installed("openmpi").mpi.mpicc)
    program = tmp_path / "unkept"
    build([str(PROGRAMS / "unkept.upc")], Options(str(program), network="mpi"))
    environment = os.environ | {"ISTHMUS_TRANSPORT": "mpi"}
    command = [*launcher("openmpi", 2), "-x", "ISTHMUS_TRANSPORT", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "right on 2\n"), done.stderr


def test_statements_of_a_long_block_are_read_a_few_times_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    original = KeptEmission.read_run

    def counted(self: KeptEmission, statements: list[Node]) -> Reader | None:
        nonlocal read
        read += len(statements)
        return original(self, statements)

    monkeypatch.setattr(KeptEmission, "read_run", counted)
    many = 300
    source = tmp_path / "long.upc"
    lines = "".join(f"  p[{k}] = p[{k + 1}] + {k};\n" for k in range(many))
    loop = "  for (int i = 0; i < 8 * THREADS; ++i) s += a[i];\n"
    source.write_text(
        "#include <upc_relaxed.h>\nshared long a[8 * THREADS];\n"
        f"long f(long *p) {{\n  long s = 0;\n{loop}{lines}  p = p + 1;\n{lines}{loop}  return s;\n}}\n"
    )
    build([str(source)], Options(str(tmp_path / "long.o"), compile_only=True))
    assert 2 * many <= read < 20 * many


def test_a_wrong_length_of_strips_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_UPC_STRIP", "0")
    status, out, err = run(made(tmp_path, "#include <upc.h>\nint main(void) { return 0; }\n"), 1)
    assert (status, out) == (1, "")
    assert "ISTHMUS_UPC_STRIP is '0' and no number of iterations" in err


def test_without_a_compiler_of_mpi_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPICC", "no-such-compiler")
    with pytest.raises(ValueError, match="the compiler of MPI 'no-such-compiler' is not here"):
        build([str(PROGRAMS / "forall.upc")], Options(str(tmp_path / "forall"), network="mpi"))
    assert not list(tmp_path.iterdir())


def test_a_program_that_is_started_by_hand_has_one_thread(tmp_path: Path) -> None:
    program = made(
        tmp_path, '#include <upc.h>\n#include <stdio.h>\nint main(void) { printf("%d of %d\\n", MYTHREAD, THREADS); }\n'
    )
    assert subprocess.run([program], capture_output=True, text=True).stdout == "0 of 1\n"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("upc_barrier MYTHREAD;", "ranks gave different numbers for the same barrier"),
        ("upc_notify 1; upc_wait 2;", "upc_wait has the value 2 and its upc_notify 1"),
        ("upc_wait;", "upc_wait without a upc_notify"),
        ("upc_notify; upc_barrier;", "upc_barrier between upc_notify and upc_wait"),
        ("upc_lock(NULL);", "upc_lock of a null pointer"),
    ],
)
def test_misuse_at_run_time_ends_all_threads(tmp_path: Path, body: str, said: str) -> None:
    status, _, err = run(made(tmp_path, f"#include <upc.h>\nint main(void) {{ {body} return 0; }}\n"), 2)
    assert status == 1
    assert said in err


@pytest.mark.parametrize("status", [0, 5])
def test_one_thread_may_end_all(tmp_path: Path, status: int) -> None:
    text = (
        f"#include <upc.h>\nint main(void) {{ if (MYTHREAD == 1) upc_global_exit({status}); for (;;) upc_barrier; }}\n"
    )
    assert run(made(tmp_path, text), 3)[0] == status
