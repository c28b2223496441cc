"""The command line. Every verb is a module of this package, imported when it is called.

- ``advise``: isthmus advise
- ``collectives``: what --collectives names: algorithms of a program's collectives, by kind or from a decision table
- ``compare``: isthmus compare
- ``compare_sizes``: isthmus compare PROGRAM --machine ...: machines over numbers of ranks
- ``completion``: isthmus completion, and what completes the names of machines, collectives and examples
- ``doctor``: isthmus doctor
- ``export_collectives``: the option --export-collectives of isthmus advise
- ``families``: programs at many numbers of ranks from one line: a skeleton, a collective, or a file at the ranks that
  it has
- ``inputs``: what commands on programs and schedules read: files, one-line collectives, LogGOPS parameters, noise,
  placements
- ``machine``: isthmus machine
- ``map``: isthmus map
- ``measure``: isthmus measure
- ``multigrid``: isthmus multigrid
- ``multigrid_extrapolate``: isthmus multigrid extrapolate
- ``multigrid_inputs``: what its commands read: hierarchies, costs
- ``multigrid_output``: what these and isthmus show print of hierarchies
- ``multigrid_problem``: the options of a problem and of hypre for it
- ``multigrid_program``: isthmus multigrid program
- ``multigrid_setup``: isthmus multigrid setup
- ``multigrid_solve``: isthmus multigrid solve
- ``options``: options that several commands have: each declared once, with the same words, form and meaning
  everywhere
- ``output``: what commands print: JSON for programs, tables for people
- ``plugin``: --plugin FILE: code of the user that runs before a command
- ``prove``: isthmus prove
- ``queue``: isthmus queue
- ``queue_vary``: isthmus queue vary and isthmus queue decide
- ``record``: isthmus record
- ``run``: isthmus run
- ``run_program``: isthmus run -- COMMAND
- ``schedule``: isthmus schedule
- ``show``: isthmus show
- ``simulate``: isthmus simulate
- ``skeleton``: isthmus skeleton
- ``skeleton_commands``: whether recordings for a skeleton are of one program
- ``skeleton_fit``: isthmus skeleton fit, pack and describe
- ``study``: isthmus study
- ``things``: whatever a line can name: a machine, a table, a placement, a graph, a hierarchy, a program, a schedule or
  a timeline
- ``tune``: isthmus tune ...: a search where the first word is a collective, otherwise what works on its tables
- ``tune_export``: isthmus tune export, verify
- ``tune_measured``: isthmus tune --measured
- ``tune_search``: isthmus tune COLLECTIVE
- ``tune_table``: isthmus tune show, compare, merge, validate
- ``upcc``: isthmus upcc
- ``waiting``: a line of progress for whatever takes more than two seconds, on a terminal
"""

from __future__ import annotations

import difflib
import functools
import io
import os
import sys
from importlib import import_module
from itertools import islice
from typing import Any

import click

from .. import __version__, interruption
from ..errors import InvalidInput, ParseError, Unsupported
from ..visible import guard, visible

# Command -> (module, one line of help): the help page needs no import.
_COMMANDS = {
    "advise": ("advise", "Explain what limits a program on a machine, and what would help."),
    "compare": ("compare", "Compare machines, tables, timelines, or a program on machines."),
    "completion": ("completion", "Print shell completion for bash, zsh and fish."),
    "doctor": ("doctor", "List what is installed, what is missing, and how to get it."),
    "machine": ("machine", "Describe, convert and draw machines; list the catalogue."),
    "map": ("map", "Place ranks that communicate much close together."),
    "measure": ("measure", "Measure the machine at hand, as a machine file."),
    "multigrid": ("multigrid", "Count, model, extrapolate and redistribute the levels of multigrid solvers."),
    "prove": ("prove", "Prove that every execution of a schedule is right."),
    "queue": ("queue", "Simulate the queue of a machine: waiting times by size, nodes that jobs get."),
    "record": ("record", "Run an MPI program and record its communication."),
    "run": ("run", "Carry out a schedule or program, and measure when everything happens."),
    "schedule": ("schedule", "Convert, check and generate programs and schedules."),
    "show": ("show", "Describe anything: a machine, program, timeline, table, placement, ..."),
    "simulate": ("simulate", "Simulate a program or schedule on a machine."),
    "skeleton": ("skeleton", "List programs with parameters; print or save one."),
    "study": ("study", "Run experiments at many points, beside published results."),
    "tune": ("tune", "Find the best collective algorithms for a machine."),
    "upcc": ("upcc", "Compile programs in UPC, for isthmus run -n."),
}


def _patient(command: click.Command, path: str) -> None:
    """Let a command, and those within it, say that they take time, unless they show their own progress."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _patient(inner, f"{path} {name}")
        return
    run = command.callback
    if run is None or hasattr(run, "patient") or any(p.name == "progress" for p in command.params):
        return

    @functools.wraps(run)
    def patient(*args: Any, **options: Any) -> Any:
        from .waiting import waiting

        with waiting(path):
            return run(*args, **options)

    patient.patient = True  # type: ignore[attr-defined]
    command.callback = patient


class LazyGroup(click.Group):
    """A group whose commands are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f".{_COMMANDS[cmd_name][0]}", __name__)
        command: click.Command = module.command
        _patient(command, f"isthmus {cmd_name}")
        if os.environ.get("_ISTHMUS_COMPLETE"):
            from .completion import complete_names

            complete_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, _COMMANDS, 3)
            hint = f" Did you mean {' or '.join(repr(other) for other in close)}?" if close else ""
            ctx.fail(f"No such command {visible(name)!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n  isthmus machine list\n  isthmus machine show cielo\n"
    "  isthmus machine route 'torus:8x8x16 link=425MB/s' 0 1023\n"
    "  isthmus simulate allreduce:ranks=64,bytes=8 --machine torus-4x4x4",
)
@click.version_option(__version__, prog_name="isthmus")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="FILE.py",
    help="Run a Python file first, which may register algorithms of collectives.",
)
def cli(debug: bool, plugins: tuple[str, ...]) -> None:
    """Isthmus predicts, explains and improves the communication of parallel programs on real interconnects."""
    if plugins:
        from .plugin import run

        for file in plugins:
            run(file)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: one line per error, exit status 2; a traceback only with --debug."""
    if arguments is None:
        interruption.watch()
        arguments = sys.argv[1:]
    arguments = _general_first(arguments)
    debug = "--debug" in arguments[:1]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or locale without a character shows "?" for it.
            stream.reconfigure(errors="replace")
    if isinstance(sys.stdout, io.TextIOWrapper):
        guard(sys.stdout)
    try:
        # Exit of a command is no exception here but what it returns.
        status = cli.main(args=arguments, prog_name="isthmus", standalone_mode=False)
        if isinstance(status, int) and status:
            sys.exit(status)
    except click.exceptions.NoArgsIsHelpError as help_page:
        print(help_page.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        interruption.leave()
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (click.ClickException, InvalidInput, ParseError, Unsupported, OSError, MemoryError) as error:
        if interruption.behind(error):
            interruption.leave()
        if debug:
            raise
        print(f"isthmus: {_one_line(error)}", file=sys.stderr)
        sys.exit(2)


def _general_first(arguments: list[str]) -> list[str]:
    """The options of all commands before the command: people append them to the line that failed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    first: list[str] = []
    rest: list[str] = []
    words = iter(arguments[:end])
    for word in words:
        if word == "--debug":
            first.insert(0, word)
        elif word == "--plugin":
            first += [word, *islice(words, 1)]
        elif word.startswith("--plugin="):
            first.append(word)
        else:
            rest.append(word)
    return first + rest + arguments[end:]


def _one_line(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        text = error.format_message()
        hint = getattr(error, "ctx", None)
        text = f"{text} Try '{hint.command_path} --help'." if hint is not None else text
    elif isinstance(error, OSError) and error.strerror:
        text = f"{os.fsdecode(error.filename)}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        text = "not enough memory for this request"
    else:
        text = str(error)
    return visible(" ".join(text.split()))
