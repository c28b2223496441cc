"""isthmus upcc"""

from __future__ import annotations

import click

from ..errors import InvalidInput
from .options import shared


@click.command(
    "upcc",
    epilog="\b\nExamples:\n"
    "  isthmus upcc -o heat heat.upc\n"
    "  isthmus run -n 4 -- ./heat\n"
    "  isthmus upcc -T 4 -O3 -DSIZE=1000 -o solve solve.upc kernel.c -lm\n"
    "  isthmus upcc -c part.upc\n"
    "  isthmus upcc -o whole part.o main.upc\n"
    "  isthmus upcc --network mpi -o heat heat.upc\n"
    "  isthmus upcc --pkg-config libs",
    help="Compile programs in UPC 1.3: every file that ends in .upc is translated to C, which the C compiler ($CC, by "
    "default cc) compiles; files of C and objects are linked with them. isthmus run -n starts the program.\n\n"
    "Messages of the translator, of the C compiler and of debuggers name lines of your files.",
)
@click.argument("files", nargs=-1, metavar="FILE...")
@shared("output", "the program, by default a.out; with -c an object, by default FILE.o")
@click.option(
    "-T",
    "threads",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Fix the number of threads, so that THREADS is a constant; by default it is known when the program starts.",
)
@click.option(
    "-O",
    "level",
    type=click.Choice(["0", "1", "2", "3"]),
    default="2",
    show_default=True,
    help="How much is optimised, by the C compiler too.",
)
@click.option(
    "--no-local-accesses",
    "local",
    flag_value=False,
    default=True,
    type=bool,
    help="From -O1 on accesses to elements that are known to be the thread's own are plain C; not with this.",
)
@click.option(
    "--no-own-iterations",
    "deal",
    flag_value=False,
    default=True,
    type=bool,
    help="From -O1 on upc_forall goes over the thread's own iterations where it can; with this it tests all of them.",
)
@click.option(
    "--no-block-transfers",
    "blocks",
    flag_value=False,
    default=True,
    type=bool,
    help="From -O1 on loops read and write elements of other threads in blocks, which overlap with iterations; with "
    "this each access is made where it stands.",
)
@click.option(
    "--no-kept-reads",
    "keep",
    flag_value=False,
    default=True,
    type=bool,
    help="From -O1 on blocks of other threads' elements that loops have read are kept for loops that read them again, "
    "where nothing can have changed them; with this each loop gets its own.",
)
@click.option("--report", is_flag=True, help="Say for every loop and access what was done, or why not.")
@click.option(
    "--network",
    type=click.Choice(["smp", "mpi"]),
    default="smp",
    show_default=True,
    help="What connects threads: the memory of one computer, or MPI, whose launcher then starts the program; $MPICC "
    "(by default mpicc) compiles and links it.",
)
@click.option(
    "--pkg-config",
    "wanted",
    type=click.Choice(["cflags", "libs"]),
    help="Only print what a makefile needs: flags to compile the C that --save-c keeps, or to link objects.",
)
@click.option("-c", "compile_only", is_flag=True, help="Compile, but do not link.")
@click.option("--save-c", "save", is_flag=True, help="Keep the C of part.upc as part.upc.c in this folder.")
@click.option("--upc", "upc", is_flag=True, help="Translate files that end in .c too.")
@click.option("-g", "debug", is_flag=True, help="Compile for debuggers, which show your source.")
@click.option("-I", "include", multiple=True, metavar="FOLDER", help="Look for headers here too.")
@click.option("-D", "define", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.")
@click.option("-l", "libraries", multiple=True, metavar="NAME", help="Link this library, such as m.")
@click.option("-L", "folders", multiple=True, metavar="FOLDER", help="Look for libraries here too.")
@click.option("-W", "warnings", multiple=True, metavar="WORD", help="Passed on to the C compiler, as are -f and -m.")
@click.option("-f", "features", multiple=True, metavar="WORD", hidden=True, help="Passed on to the C compiler.")
@click.option("-m", "machine", multiple=True, metavar="WORD", hidden=True, help="Passed on to the C compiler.")
def command(
    files: tuple[str, ...],
    output: str | None,
    threads: int | None,
    level: str,
    local: bool,
    deal: bool,
    blocks: bool,
    keep: bool,
    report: bool,
    network: str,
    wanted: str | None,
    compile_only: bool,
    save: bool,
    upc: bool,
    debug: bool,
    include: tuple[str, ...],
    define: tuple[str, ...],
    libraries: tuple[str, ...],
    folders: tuple[str, ...],
    warnings: tuple[str, ...],
    features: tuple[str, ...],
    machine: tuple[str, ...],
) -> None:
    from ..upc import Options, build
    from ..upc import flags as flags_of

    if any(file == "" for file in files):
        raise InvalidInput("a file has an empty name")
    flags = [
        *(f"-I{folder}" for folder in include),
        *(f"-D{macro}" for macro in define),
        *(f"-W{word}" for word in warnings),
        *(f"-f{word}" for word in features),
        *(f"-m{word}" for word in machine),
        *(["-g"] if debug else []),
    ]
    linked = [*(f"-L{folder}" for folder in folders), *(f"-l{name}" for name in libraries)]
    options = Options(
        output, threads, level, compile_only, save, local=local, deal=deal, blocks=blocks, keep=keep,
        report=report, network=network, upc=upc, flags=flags, libraries=linked,
    )  # fmt: skip
    if wanted:
        if files:
            raise InvalidInput("--pkg-config prints flags and takes no files")
        click.echo(flags_of(wanted, options))
        return
    if not files:
        raise InvalidInput("no files were given")
    build(files, options)
