"""libisthmus as it is installed, for tests: programs compiled against it, ranks as processes."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

import isthmus

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
INSTALLED = Path(isthmus.__file__).parent / "libisthmus"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def flags() -> list[str]:
    """What the file for pkg-config says, with the folder in which it lies."""
    text = (INSTALLED / "lib/pkgconfig/isthmus.pc").read_text()
    values = {"pcfiledir": str(INSTALLED / "lib/pkgconfig")}
    found = {}
    for line in text.splitlines():
        line = re.sub(r"\$\{(\w+)\}", lambda name: values[name[1]], line)
        if match := re.match(r"(\w+)=(.*)", line):
            values[match[1]] = match[2]
        elif match := re.match(r"(Libs|Cflags): (.*)", line):
            found[match[1]] = match[2].split()
    return found["Cflags"] + found["Libs"]


def compile_c(source: Path, program: Path, compiler: str = "cc", standard: str = "-std=c99", *words: str) -> Path:
    """The program, by a compiler that takes no warning lightly."""
    command = [compiler, standard, "-D_GNU_SOURCE", *words, *STRICT, "-o", program, source, *flags()]
    subprocess.run(command, check=True)
    return program


def in_processes(
    commands: Sequence[Sequence[str | Path]], env: dict[str, str] | None = None, text: str = ""
) -> list[tuple[int, str, str]]:
    """Status, output and errors of programs that run at the same time; `{rank}` of their environment is theirs.

    ``text`` is the input of all of them.
    """
    with tempfile.NamedTemporaryFile("w") as given:
        given.write(text)
        given.flush()
        running = []
        for rank, command in enumerate(commands):
            own = {key: value.format(rank=rank) for key, value in (env or {}).items()}
            with open(given.name) as stdin:
                program = subprocess.Popen(
                    command,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **own},
                )
            running.append(program)
    said = [program.communicate(timeout=400) for program in running]
    return [(program.returncode, out, err) for program, (out, err) in zip(running, said, strict=True)]


def new_job() -> str:
    return f"pytest-{uuid.uuid4().hex}"
