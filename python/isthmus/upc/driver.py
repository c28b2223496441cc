"""From files of UPC and C to a program: preprocessor, translation, compiler, linker."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InvalidInput
from ..files import write_atomically
from ..mpi import build as building
from .emit_local import Improve
from .foreign import starter
from .translate import translate

#: Macros of section 6.10 of UPC 1.3 and of its libraries.
MACROS = {
    "__UPC__": "1",
    "__UPC_VERSION__": "201311L",
    "__UPC_COLLECTIVE__": "1",
    "__UPC_TICK__": "1",
    "__UPC_CASTABLE__": "1",
    "__UPC_ATOMIC__": "1",
    "__UPC_NB__": "1",
    "__UPC_IO__": "2",
    "__ISTHMUS_UPC__": "1",
    "UPC_MAX_BLOCK_SIZE": "2147483647",
}
_HERE = Path(__file__).resolve().parent
_OBJECTS = (".o", ".a", ".so")
_COMPILED = ("-fno-strict-aliasing", "-Wno-unused-value", "-Wno-missing-braces")


@dataclass
class Options:
    """Of one call of ``isthmus upcc``."""

    output: str | None = None
    threads: int | None = None
    level: str = "2"
    compile_only: bool = False
    save: bool = False
    local: bool = True  #: from level 1 on: accesses to own elements are plain C
    deal: bool = True  #: from level 1 on: upc_forall goes over own iterations alone
    blocks: bool = True  #: from level 1 on: loops read and write shared memory in blocks
    keep: bool = True  #: with blocks: what they have read is kept for the next loop
    network: str = "smp"  #: what connects threads: memory that all share, or mpi
    report: bool = False  #: say what was done for loops and accesses
    upc: bool = False  #: files that end in .c are UPC
    flags: list[str] = field(default_factory=list)  #: of the preprocessor and the compiler: -I, -D, -g, ...
    libraries: list[str] = field(default_factory=list)  #: of the linker: -l, -L


def compiler() -> list[str]:
    """The C compiler: ``$CC``, else cc."""
    words = shlex.split(os.environ.get("CC") or "cc")
    if "upcc" in words:  # make CC='isthmus upcc' hands this command to itself
        words = ["cc"]
    if not words or shutil.which(words[0]) is None:
        raise InvalidInput(f"the C compiler {' '.join(words)!r} is not here: install one, or name it in CC")
    return words


def compiler_of(options: Options) -> list[str]:
    """What compiles and links: the C compiler, or that of MPI, which knows where mpi.h is."""
    if options.network == "smp":
        return compiler()
    words = shlex.split(os.environ.get("MPICC") or "mpicc")
    if not words or shutil.which(words[0]) is None:
        raise InvalidInput(f"the compiler of MPI {' '.join(words)!r} is not here: install one, or name it in MPICC")
    return words


def library() -> Path:
    """The folder of libisthmus, with its headers."""
    return building.folder_of("libisthmus", "include/isthmus/isthmus_pgas.h")


def include_flags() -> list[str]:
    return [f"-I{_HERE / 'include'}", "-isystem", str(library() / "include")]


def link_flags(network: str) -> list[str]:
    folder = library() / "lib"
    wrapped = [f"-Wl,--wrap={name}" for name in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")]
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-listhmus", "-lm", *(wrapped if network == "mpi" else [])]


def preprocessed(file: str, options: Options) -> str:
    """The file as the C compiler's preprocessor leaves it."""
    macros = dict(MACROS)
    if options.threads:
        macros |= {"__UPC_STATIC_THREADS__": "1"}
    else:
        macros |= {"__UPC_DYNAMIC_THREADS__": "1"}
    command = [
        *compiler_of(options), "-E", "-x", "c", *(f"-D{name}={value}" for name, value in macros.items()),
        "-include", "isthmus_upc.h", *options.flags, *include_flags(), file,
    ]  # fmt: skip
    return _run(command)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    if done.returncode:
        raise InvalidInput(f"{command[0]} failed with status {done.returncode}, see above")
    return done.stdout


def is_upc(file: str, options: Options) -> bool:
    return file.endswith((".upc", ".uph")) or (options.upc and file.endswith(".c"))


def build(files: Sequence[str], options: Options) -> None:
    """Translate, compile, and link unless ``options.compile_only``.

    Raises
    ------
    InvalidInput
        If a file is not there or not allowed, or the C compiler fails.
    """
    for file in files:
        if not Path(file).is_file():
            raise InvalidInput(f"there is no file {file!r}")
        if not is_upc(file, options) and not file.endswith((".c", *_OBJECTS)) and ".so." not in file:
            raise InvalidInput(f"{file!r}: known are files that end in .upc, .c, .o, .a and .so")
    sources = [file for file in files if not file.endswith(_OBJECTS) and ".so." not in file]
    if options.compile_only and options.output and len(sources) != 1:
        raise InvalidInput(f"-o with -c is for one file; given were {len(sources)}")
    with tempfile.TemporaryDirectory(prefix="isthmus-upc-") as folder:
        work = Path(folder)
        objects = []
        for number, file in enumerate(sources):
            made = work / f"{number}-{Path(file).stem}.o"
            compile_one(file, made, options, work)
            if options.compile_only:
                _move(made, Path(options.output or f"{Path(file).stem}.o"))
            objects.append(str(made))
        if options.compile_only:
            return
        given = [made for made in files if made not in sources]
        started = starter([*objects, *given])
        if started is not None:
            (work / "start.c").write_text(started)
            objects.append(str(work / "start.o"))
            _run([*compiler_of(options), *include_flags(), "-c", "-o", objects[-1], str(work / "start.c")])
        program = work / "program"
        command = [
            *compiler_of(options), "-o", str(program), *objects, *given, str(support(options)),
            *(flag for flag in options.flags if flag.startswith(("-g", "-fsanitize", "-p", "-m"))),
            *options.libraries, *link_flags(options.network),
        ]  # fmt: skip
        _run(command)
        _move(program, Path(options.output or "a.out"))


def flags(what: str, options: Options) -> str:
    """Options of a C compiler for what ``--save-c`` keeps and for C that includes ``isthmus_upc.h`` (``cflags``), or to
    link objects of both (``libs``).

    Examples
    --------
    In a makefile: ``LIBS := $(shell isthmus upcc --pkg-config libs)``.
    """
    if what == "cflags":
        return shlex.join([*include_flags(), *_COMPILED])
    return shlex.join([str(support(options)), *options.libraries, *link_flags(options.network)])


def _move(made: Path, to: Path) -> None:
    try:
        shutil.copy(made, f"{to}.part")
        os.replace(f"{to}.part", to)
    except OSError as error:
        raise InvalidInput(f"{to}: {error.strerror}") from None


def compile_one(file: str, made: Path, options: Options, work: Path) -> None:
    """One file to an object file."""
    common = [f"-O{options.level}", *options.flags, "-c", "-o", str(made)]
    if not is_upc(file, options):
        _run([*compiler_of(options), *include_flags(), *common, file])
        return
    wanted = (options.local, options.deal, options.blocks, options.keep)
    improve = Improve(*(one and options.level != "0" for one in wanted))
    report: list[str] = []
    text = translate(preprocessed(file, options), file, options.threads, improve, report)
    if options.report:
        print("".join(f"{line}\n" for line in report), end="")
    if options.save:
        kept = Path(f"{Path(file).stem}.upc.c")
        write_atomically(kept, text)
    written = work / f"{made.stem}.i"
    written.write_text(text)
    flags = [flag for flag in common if not flag.startswith(("-D", "-U", "-I"))]
    _run([*compiler_of(options), *_COMPILED, *flags, "-x", "cpp-output", str(written)])


def support(options: Options) -> Path:
    """The support library, which is compiled once for every compiler."""
    sanitizers = [flag for flag in options.flags if flag.startswith(("-fsanitize", "-m"))]
    mpi = ["-DISTHMUS_UPC_MPI"] if options.network == "mpi" else []
    command = [*compiler_of(options), "-std=gnu11", "-O2", *include_flags(), *sanitizers, *mpi]
    sources = sorted((_HERE / "support").iterdir())
    content = b"".join(source.read_bytes() for source in [*sources, *sorted((_HERE / "include").glob("isthmus_*.h"))])
    key = hashlib.sha256(content + repr((command, shutil.which(command[0]))).encode()).hexdigest()[:16]
    made = building.cache() / f"upc-{key}.o"
    if made.is_file():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="isthmus-upc-", dir=made.parent) as folder:
        parts = []
        for source in sources:
            if source.suffix == ".c":
                parts.append(str(Path(folder) / f"{source.stem}.o"))
                _run([*command, "-c", "-o", parts[-1], str(source)])
        whole = Path(folder) / made.name
        _run([*compiler(), "-r", "-nostdlib", "-o", str(whole), *parts])
        os.replace(whole, made)
    return made
