"""Options that several commands have: each declared once, with the same words, form and meaning everywhere.

A command takes an option by its name, ``@shared("seed")``. What the option means stands here; a command may only add
what holds for it alone, such as the formats that it writes: ``@shared("output", "the timeline, .h5")``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..files import PICTURES
from .inputs import UNITS

if TYPE_CHECKING:
    from ..schedule.pattern import Pattern
    from ..schedule.program import Program
    from ..schedule.schedule import Schedule
    from ..simulation import Timeline

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

MODELS = ("loggops", "flow", "reserve", "packet")


@dataclass(frozen=True)
class Shared:
    """An option as click takes it: its words, the sentence that every command shows, and its form."""

    words: tuple[str, ...]
    sentence: str
    form: dict[str, Any] = field(default_factory=dict)


def _text(metavar: str, **more: Any) -> dict[str, Any]:
    return {"metavar": metavar, **more}


def _number(least: int, metavar: str = "N", **more: Any) -> dict[str, Any]:
    return {"type": click.IntRange(least), "metavar": metavar, **more}


_SEED = {"type": click.IntRange(0, 2**64 - 1), "metavar": "N", "default": 0, "show_default": True}

SHARED = {
    "aggressive": Shared(
        ("--aggressive",),
        "Levels of aggressive coarsening",
        {"type": click.IntRange(0), "metavar": "LEVELS", "default": 0, "show_default": True},
    ),
    "algorithm": Shared(("--algorithm",), "Only this algorithm", _text("NAME", multiple=True)),
    "background": Shared(
        ("--background",),
        "Share of its interface's bandwidth that each node of other jobs sends",
        {"type": click.FloatRange(0, 1), "metavar": "SHARE", "default": 0.1, "show_default": True},
    ),
    "byte_time": Shared(
        ("--byte-time",), "Time per byte of the calc operations that stand for copy and reduce in GOAL", _text("TIME")
    ),
    "coarsening": Shared(
        ("--coarsening",),
        "hmis, pmis, falgout, cljp, ruge-stueben, ruge-stueben-3, cgc, or hypre's number",
        _text("NAME", default="hmis", show_default=True),
    ),
    "collectives": Shared(
        ("--collectives",),
        "Algorithms for a program's collectives: KIND=ALGORITHM, a decision table (written by isthmus tune), or "
        "openmpi or mpich for the library's own choices; may be repeated, KIND=ALGORITHM takes precedence",
        _text("KIND=ALGORITHM|TABLE", multiple=True),
    ),
    "cost": Shared(
        ("--cost",),
        "In place of the machine's: alpha, beta, gamma, nearest, farthest, flop, hardware, links, injection, search or "
        "contended, in SI units; may be repeated",
        _text("NAME=NUMBER", multiple=True),
    ),
    "cycle": Shared(
        ("--cycle", "shape"),
        "Shape of the multigrid cycle; hypre-W is that of BoomerAMG, with fewer sweeps",
        {"type": click.Choice(["V", "W", "F", "hypre-W"]), "metavar": "SHAPE", "default": "V", "show_default": True},
    ),
    "cycles": Shared(("--cycles",), "Number of multigrid cycles", _number(1, default=1, show_default=True)),
    "directory": Shared(
        ("--directory",), "Folder for files of the ranks, on a disk that all of them see", _text("DIR")
    ),
    "elements": Shared(
        ("--elements",),
        "Most nonzeros in a row of an interpolation; 0: all",
        {"type": click.IntRange(0), "metavar": "N", "default": 4, "show_default": True},
    ),
    "example": Shared(
        ("--example",),
        "Use a program that comes with Isthmus instead of FILE: lammps, which was recorded, or a skeleton with "
        "parameters, such as stencil:ranks=256 (see isthmus skeleton list)",
        _text("NAME[:KEY=VALUE,...]"),
    ),
    "force": Shared(("--force",), "Overwrite files that exist", {"is_flag": True}),
    "format": Shared(("--format",), "Format of the output file", _text("FORMAT")),
    "full": Shared(("--full",), "Print everything, not only the most important rows", {"is_flag": True}),
    "import": Shared(
        ("--import", "imports"),
        "Option of an importer: root=SWITCH selects a Slurm tree, topology=NAME a topology of topology.yaml, "
        "nodes=LIST the nodes of a flat one; may be repeated",
        _text("KEY=VALUE", multiple=True),
    ),
    "input_format": Shared(
        ("--input-format",), "Format of a machine file that is not TOML, if its content does not tell", _text("FORMAT")
    ),
    "interpolation": Shared(
        ("--interpolation",),
        "extended+i, classical, direct, multipass, standard, extended, ff, or hypre's number",
        _text("NAME", default="extended+i", show_default=True),
    ),
    "json": Shared(("--json", "as_json"), "Print JSON (numbers in SI units)", {"is_flag": True}),
    "gather": Shared(
        ("--gather",),
        "Gather a level and the coarser ones on N ranks, may be repeated; or those that isthmus multigrid redistribute "
        "chooses for --machine",
        _text("LEVEL=N|model", multiple=True),
    ),
    "hypre_threshold": Shared(
        ("--hypre-threshold",),
        "Rows at which hypre's rule gathers to one process",
        {"metavar": "ROWS", "type": click.IntRange(0), "show_default": True},
    ),
    "launch": Shared(
        ("--launch",), "The launcher with its options, such as 'mpirun -n 4 --oversubscribe'", _text("COMMAND")
    ),
    "load": Shared(
        ("--load",),
        "Share of the machine that jobs ask for on average, such as 0.8; submissions come faster or slower to give it",
        {"type": click.FloatRange(0, min_open=True), "metavar": "SHARE"},
    ),
    "machine": Shared(
        ("--machine",),
        "The machine: a name from the catalogue, a file, or a specification in quotes (see isthmus machine)",
        _text("MACHINE"),
    ),
    "model": Shared(
        ("--model",),
        "Network model: loggops (no contention), flow (messages share links fairly), reserve (messages take links "
        "one after the other), packet (packets in switch buffers)",
        {"type": click.Choice(MODELS), "metavar": "MODEL", "default": "loggops", "show_default": True},
    ),
    "mpicc": Shared(("--mpicc",), "The compiler wrapper of the same MPI, if it is not found", _text("COMPILER")),
    "node": Shared(("--node",), "Take the node from an hwloc or NCCL XML file", _text("FILE")),
    "nodes": Shared(
        ("--nodes",), "Nodes of the job: their number, or a list such as 'nid[00012-00075]'", _text("N|LIST")
    ),
    "noise": Shared(
        ("--noise",),
        "Replace the machine's noise: periodic:period=1ms,duration=10us, exponential:..., file:file=F, or none",
        _text("KIND:KEY=VALUE,..."),
    ),
    "option": Shared(
        ("--option", "more"),
        "One more number for hypre (relax, order, degree, weight, sweeps, cycle, truncate, agg_interp, restrict, "
        "nodal, levels, coarse_rows, seq) or the problem (epsilon, angle, jump); may be repeated",
        _text("KEY=NUMBER", multiple=True),
    ),
    "ordered": Shared(
        ("--ordered",), "Operators do not commute, so contributions must be combined in rank order", {"is_flag": True}
    ),
    "oversubscribe": Shared(("--oversubscribe",), "Time more ranks than cores too", {"is_flag": True}),
    "output": Shared(("-o", "--output"), "File to write", _text("FILE")),
    "own": Shared(
        ("--own",),
        "Attribute calls to this code: a function, source file or module, with * and ? as wildcards; may be repeated",
        _text("NAME", multiple=True),
    ),
    "per_node": Shared(
        ("--processors-per-node", "per_node"),
        "Processors of the workload that are one node of the machine; by default what its header says, otherwise 1",
        _number(1),
    ),
    "placement": Shared(("--placement",), "Placement of the ranks", _text("ORDER|FILE")),
    "plot": Shared(("--plot",), "Draw .png, .svg or .pdf", _text("[KIND=]FILE", multiple=True)),
    "points": Shared(("--points",), "Points of the grid along each dimension", _text("NxNxN")),
    "policy": Shared(
        ("--policy",),
        "Which nodes jobs get: linear (the default: lowest free numbers), contiguous (consecutive numbers, or the job "
        "waits), curve (along a Hilbert curve), random, by-size (small jobs from the other end); may be repeated",
        _text("NAME", multiple=True),
    ),
    "progress": Shared(
        ("--progress/--no-progress",), "Show progress on standard error; by default on a terminal", {"default": None}
    ),
    "quick": Shared(("--quick",), "Run a short form that takes seconds", {"is_flag": True}),
    "ranks": Shared(
        ("--ranks",), "Numbers of ranks, such as 64, 1-40,64 or 16..1024 (doubled from one to the next)", _text("LIST")
    ),
    "ranks_per_node": Shared(("--ranks-per-node",), "Ranks on every node of the job", _number(1)),
    "redundant": Shared(
        ("--redundant",),
        "All processes of a group that is gathered compute the same, and nothing is scattered",
        {"is_flag": True},
    ),
    "routing": Shared(
        ("--routing",), "Routing of messages", {"metavar": "METHOD", "default": "minimal", "show_default": True}
    ),
    "samples": Shared(
        ("--samples",),
        "Allocations of each size under each policy",
        _number(1, default=20, show_default=True),
    ),
    "seed": Shared(("--seed",), "Seed of the random numbers", _SEED),
    "smoother": Shared(
        ("--smoother",),
        "jacobi, l1-jacobi, gauss-seidel (within processes), symmetric-gauss-seidel or chebyshev",
        _text("NAME", default="jacobi", show_default=True),
    ),
    "threshold": Shared(
        ("--threshold",),
        "Threshold of strong connections",
        {"type": click.FloatRange(0, 1), "metavar": "X", "default": 0.25, "show_default": True},
    ),
    "time": Shared(("--time", "seconds"), "Stop the search after about this time", _text("TIME", show_default=True)),
    "transport": Shared(("--transport",), "What carries the messages", {}),
    "unit": Shared(
        ("--unit",),
        "Unit of times in GOAL files",
        {"type": click.Choice(UNITS), "metavar": "UNIT", "default": "ns", "show_default": True},
    ),
    "unknowns": Shared(("--unknowns",), "Unknowns of a point; elasticity has 3", _number(1)),
    "wait": Shared(("--wait",), "Longest time that the launcher may take", _text("TIME", show_default=True)),
    "times": Shared(
        ("--times",),
        "How often a job does the program, which says how long it runs",
        _number(1, default=1, show_default=True),
    ),
    "workload": Shared(
        ("--workload",),
        "Jobs of the machine in the Standard Workload Format, also compressed by gzip; without it those of a model",
        _text("FILE"),
    ),
    "workers": Shared(("--workers",), "Number of simultaneous workers", _number(1)),
}


def shared(name: str, detail: str = "", **changes: Any) -> Decorator:
    """An option of the table; ``detail`` follows its sentence, ``changes`` are defaults and choices of one command.

    A detail that begins with a space, comma or semicolon goes on with the sentence; any other follows a colon, or a
    semicolon where the sentence has a colon.
    """
    option = SHARED[name]
    joint = "" if detail[:1] in ("", " ", ",", ";") else "; " if ":" in option.sentence else ": "
    return click.option(*option.words, **{**option.form, **changes}, help=f"{option.sentence}{joint}{detail}.")


def several(*decorators: Decorator) -> Decorator:
    """Options in the order in which help shows them."""

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


json_option = shared("json")
routing_option = shared(
    "routing",
    "in models with contention, minimal (the machine's routes), random (random minimal routes), valiant, or "
    "adaptive (the less "
    "loaded of both)",
    type=click.Choice(["minimal", "random", "valiant", "adaptive"]),
)
#: What --placement names where nothing is started.
PLACES = (
    "block (fill node after node), cyclic (one rank per node in turn), or a file: any format that isthmus map writes, "
    "or one node per line"
)
job_options = several(
    shared("placement", PLACES), shared("nodes"), shared("ranks_per_node", "; by default one rank per core")
)


# -- what a command works on -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """The program or schedule that a command line names (a file, a collective or an example), not read yet."""

    file: str | None
    example: str | None
    unit: str = "ns"

    @property
    def text(self) -> str:
        """The name in messages."""
        if (self.file is None) == (self.example is None):
            raise InvalidInput("give FILE or --example NAME")
        return str(self.example or self.file)

    def any(self) -> Program | Schedule | Timeline:
        """Reads the content."""
        from .inputs import read_any

        return self._example() or read_any(self.text, self.unit)

    def read(self) -> Program | Schedule:
        """Reads a program or a schedule; refuses a timeline."""
        from .inputs import read_work

        return self._example() or read_work(self.text, self.unit)

    def graph(self) -> tuple[Program | Schedule | Pattern, bool]:
        """The communication pattern, and whether it is an undirected graph."""
        from .inputs import read_task_graph

        found = self._example()
        return (found, False) if found is not None else read_task_graph(self.text, self.unit)

    def _example(self) -> Program | None:
        if self.example is None or self.file is not None:
            return None
        from ..examples import example
        from .inputs import marked

        return marked(self.example, example(self.example))


def work_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument FILE with --example and --unit; the function gets :class:`Work` as ``work``."""

    @click.argument("file", metavar="FILE", required=False)
    @shared("example")
    @shared("unit")
    @functools.wraps(function)
    def wrapped(*args: Any, file: str | None, example: str | None, unit: str, **rest: Any) -> Any:
        return function(*args, work=Work(file, example, unit), **rest)

    return wrapped


# -- machines ----------------------------------------------------------------------------------------------------------

_IMPORT_OPTIONS = ("root", "topology", "nodes")


def machine_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The argument MACHINE, of what a command is about; the function gets a Machine as ``machine``."""
    return click.argument("machine", metavar="MACHINE")(_loaded(function, levels=False))


def machine_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option --machine, of where something happens; the function gets a Machine, or LogGOPS parameters.

    One version ago the machine was the second argument.
    """

    loaded = _loaded(function, levels=True)

    @click.argument("last", cls=OldArgument, required=False)
    @shared("machine", "or LogGOPS parameters such as loggops:L=2.5us,o=1.5us,g=1us,G=6ns")
    @functools.wraps(loaded)
    def wrapped(*args: Any, machine: str | None, last: str | None, **rest: Any) -> Any:
        if last is not None:
            if machine is not None:
                raise InvalidInput(f"{last!r} follows FILE, and --machine {machine} is given: give only one of them")
            tell_old(f"MACHINE without an option ({last})", f"--machine {last}")
        if machine is None and last is None:
            raise InvalidInput("--machine MACHINE is missing")
        return loaded(*args, machine=machine or last, **rest)

    return wrapped


def _loaded(function: Callable[..., Any], *, levels: bool) -> Callable[..., Any]:
    """With the options of reading a machine, which turn the text ``machine`` into one."""

    @shared("input_format")
    @shared("node")
    @shared("import")
    @functools.wraps(function)
    def wrapped(
        *args: Any, machine: str, input_format: str | None, node: str | None, imports: tuple[str, ...], **rest: Any
    ) -> Any:
        from ..loading import load
        from .inputs import parse_level

        named = dict(option.partition("=")[::2] for option in imports)
        for key, value in named.items():
            if not value or key not in _IMPORT_OPTIONS:
                raise InvalidInput(f"--import {key}: must be one of {'=..., '.join(_IMPORT_OPTIONS)}=...")
        level = parse_level(machine) if levels else None
        found = load(machine, format=input_format, node=node, **named) if level is None else level
        return function(*args, machine=found, **rest)

    return wrapped


# -- spellings of the version before -----------------------------------------------------------------------------------


class Command(click.Command):
    """A command that still understands how its options were called one version ago, and says how they are called now.

    Parameters
    ----------
    old : dict of str to str
        Old option -> new one; ``"--plot map="`` puts ``map=`` before the value, ``"--plot [load=]"`` puts ``load=``
        before a value that has no ``KIND=`` of its own.
    """

    def __init__(self, *args: Any, old: dict[str, str] | None = None, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.old = old or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        renewed, prefix = [], ""
        for word in args[:end]:
            name, equals, value = word.partition("=")
            if name not in self.old or prefix:
                renewed.append(_prefixed(prefix, word))
                prefix = ""
                continue
            tell_old(name, self.old[name])
            new, _, prefix = self.old[name].partition(" ")
            renewed.append(f"{new}={_prefixed(prefix, value)}" if equals else new)
            prefix = "" if equals else prefix
        return super().parse_args(ctx, [*renewed, *args[end:]])


def _prefixed(prefix: str, value: str) -> str:
    """The value of an old option as the new one takes it."""
    if prefix.startswith("["):
        return value if "=" in value else prefix[1:-1] + value
    return prefix + value


class OldArgument(click.Argument):
    """An argument of the version before: accepted, not shown."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        return []


def tell_old(old: str, new: str) -> None:
    """Say on standard error that an old spelling was understood."""
    click.echo(f"isthmus: note: {old} is now {new}; the next version does not know the old spelling", err=True)


# -- lists and pictures ------------------------------------------------------------------------------------------------


def pictures(option: str, given: tuple[str, ...], kinds: tuple[str, ...], html: str = "") -> list[tuple[str, str]]:
    """Kind and file of every picture, checked before any work; the first kind is the default.

    ``html`` is the kind that may be drawn as a page too.
    """
    out = []
    for text in given:
        kind, equals, path = text.partition("=")
        if not equals:
            kind, path = kinds[0], text
        elif kind not in kinds:
            allowed = ", ".join(f"{one}=FILE" for one in kinds)
            raise InvalidInput(f"{option} {text}: must be {allowed} or FILE")
        check_file(option, path, PICTURES + ((".html",) if kind == html else ()))
        out.append((kind, path))
    return out


def check_file(option: str, path: str, suffixes: tuple[str, ...] = ()) -> None:
    """Before the work: what would fail after it."""
    import os

    if suffixes and not path.lower().endswith(suffixes):
        raise InvalidInput(f"{option} {path}: must end in {', '.join(suffixes)}")
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"{option} {path}: there is no folder {folder}")


def one_number(option: str, text: str) -> int:
    """One whole number; InvalidInput for a list of others."""
    numbers = whole_numbers(option, text)
    if len(numbers) != 1:
        raise InvalidInput(f"{option} {text}: must be one number")
    return numbers[0]


def whole_numbers(option: str, text: str, least: int = 1) -> list[int]:
    """Numbers in ascending order from ``1-40,64``; ``16..1024`` are 16, 32, 64 and so on, and 1024."""
    out: set[int] = set()
    for part in text.split(","):
        doubled = ".." in part
        first, dash, last = (word.strip() for word in part.partition(".." if doubled else "-"))
        last = last if dash else first
        good = all(word.isdecimal() and word.isascii() and len(word) < 10 for word in (first, last))
        good = good and least <= int(first) <= int(last) and (int(first) > 0 or not doubled)
        if not good or (int(last) >= int(first) + 1_000_000 and not doubled):
            raise InvalidInput(
                f"{option} {text}: {part!r}; must be whole numbers from {least}, ranges such as 1-40, and doubled ones "
                "such as 16..1024, separated by commas"
            )
        if doubled:
            out.update(int(first) << i for i in range((int(last) // int(first)).bit_length()))
            out.add(int(last))
        else:
            out.update(range(int(first), int(last) + 1))
    return sorted(out)
