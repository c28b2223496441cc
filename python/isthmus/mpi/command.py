"""The command that starts an MPI program: which word is the launcher, which are programs, where options may go."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InvalidInput

_LAUNCHERS = (
    "mpirun",
    "mpiexec",
    "orterun",
    "oshrun",
    "prterun",
    "prun",
    "srun",
    "hydra",
    "mpirun_rsh",
    "aprun",
    "jsrun",
    "ibrun",
)
# Options of launchers that take values; all others are taken to take none.
_ONE = """
    -n -np -c -N -x -H -host --host -hosts -f -hostfile --hostfile -machinefile --machinefile -wdir --wdir -wd
    -path --path --map-by -map-by --rank-by -rank-by --bind-to -bind-to --mapby --rankby --bindto -ppn
    -npernode --npernode -npersocket --npersocket --prefix -am -tune --tune --timeout -timeout
    --output-filename -output-filename -stdin --stdin -report-uri -genvlist -envlist -iface -launcher
    -launcher-exec -bootstrap -bootstrap-exec -rmk -usize -rankmap -mem-bind -configfile
    --cpu-set --cpu-list -cpu-set -cpu-list -t -p -A -J
    -o -e -i -w -D -m -K -cpus-per-proc --cpus-per-proc --cpus-per-rank --app -app --ompi-server --rankfile
    -rankfile -rf --output -output -nodes
"""
_TWO = "--mca -mca --gmca -gmca -genv -env --prtemca --pmixmca"
#: Options that say how many ranks there are; -c is another thing to srun and aprun.
_RANKS = ("-n", "-np", "--n", "--np", "--ntasks")
#: Programs that start another one and may have options of the same names: taskset -c 1, nice -n 5.
_WRAPPERS = ("chrt", "env", "ionice", "nice", "numactl", "perf", "setarch", "stdbuf", "taskset", "time", "timeout")
_VALUES = dict.fromkeys(_ONE.split(), 1) | dict.fromkeys(_TWO.split(), 2)
#: Options of such programs that take values which are no numbers.
_WRAPPED = dict.fromkeys(("-C", "-e", "-f", "-o", "-u"), 1)
#: Programs that run the file that is their first argument.
_INTERPRETERS = re.compile(r"(?:python|pypy|perl|ruby|julia|Rscript|octave|bash|dash|zsh|ksh|sh)[0-9.]*")


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, split into its parts.

    Parameters
    ----------
    words : tuple of str
        As given.
    launcher : int or None
        Which word starts the ranks (``mpirun``); None if the command is the program.
    programs : tuple of int
        Which words are the programs, one for each part of ``a : b``; empty if none was recognised.
    """

    words: tuple[str, ...]
    launcher: int | None
    programs: tuple[int, ...]

    @property
    def parts(self) -> tuple[int, ...]:
        """Positions at which options of each part may be inserted: after the launcher and after every ``:``."""
        if self.launcher is None:
            return ()
        more = range(self.launcher + 1, len(self.words))
        return (self.launcher + 1, *(i + 1 for i in more if self.words[i] == ":"))

    def path(self, index: int) -> str | None:
        """Return the file that a word names, through PATH and links; None if there is none."""
        return executable(self.words[index])


def executable(word: str) -> str | None:
    """Path of an executable file, links resolved; None if there is none of this name."""
    found = shutil.which(word)
    return os.path.realpath(found) if found else None


def launcher_name(word: str) -> str | None:
    """``"srun"`` for ``/opt/slurm/bin/srun``; None if the word is no launcher."""
    base = os.path.basename(word)
    return next((name for name in _LAUNCHERS if base == name or base.startswith(f"{name}.")), None)


def take_apart(words: Sequence[str]) -> Command:
    """Find launcher and programs.

    Examples
    --------
    >>> take_apart(["mpirun", "-n", "2", "true", ":", "-n", "2", "true"]).programs
    (3, 7)
    """
    found = tuple(words)
    launcher = next((i for i, word in enumerate(found) if launcher_name(word) and executable(word)), None)
    if launcher is None:
        return Command(found, None, (0,) if found else ())
    programs: list[int] = []
    i, searching = launcher + 1, True
    while i < len(found):
        word = found[i]
        if word == ":":
            searching = True
        elif searching and word.startswith("-"):
            i += 0 if "=" in word else _VALUES.get(word, 0)
        elif searching and executable(word):
            programs.append(i)
            searching = False
        i += 1
    return Command(found, launcher, tuple(programs))


def program_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the program and its arguments in words that may have been run elsewhere: no file is looked for.

    Of ``a : b`` all programs, with the colon between them. Empty where it cannot be told.

    Examples
    --------
    >>> program_of("taskset -c 0,1 mpirun --oversubscribe -np 8 build/halo3d 60 10".split())
    ('build/halo3d', '60', '10')
    >>> program_of("isthmus run -n 2 -- ./a".split()), program_of("srun -n8 python3 -u a.py 5".split())
    (('./a',), ('a.py', '5'))
    """
    rest = tuple(words)
    while rest:
        name = os.path.basename(rest[0])
        if launcher_name(rest[0]):
            parts = [tuple(part) for colon, part in itertools.groupby(rest[1:], ":".__eq__) if not colon]
            if len(parts) > 1:
                found = [program_of(_without_options(part)) for part in parts]
                return tuple(itertools.chain(*((":", *part) for part in found)))[1:] if all(found) else ()
            rest = _without_options(rest[1:])
        elif name in _WRAPPERS:
            rest = _without_options(rest[1:], _WRAPPED, r"[0-9][\w.,:-]*|\w+=.*|stat|record")
        elif name == "isthmus":
            rest = rest[rest.index("--") + 1 :] if "--" in rest else ()
        elif _INTERPRETERS.fullmatch(name) and len(rest) > 1:
            options = tuple(itertools.takewhile(lambda word: word.startswith("-"), rest[1:]))
            if "-c" in options:
                return ()
            rest = rest[1 + len(options) :]
        else:
            return rest
    return ()


def _without_options(
    words: Sequence[str], values: Mapping[str, int] = _VALUES, more: str = "[0-9]+"
) -> tuple[str, ...]:
    """Words without the options before the first program; values of options that are not known look like ``more``."""
    i = 0
    while i < len(words) and (words[i].startswith("-") or re.fullmatch(more, words[i])):
        i += 1 + (0 if "=" in words[i] else values.get(words[i], 0))
    return tuple(words[i:])


def with_programs(command: Command, program: Sequence[str]) -> list[str]:
    """Return the words of a command with another program, and its arguments, in the place of each of its programs.

    Another verb of Isthmus before the launcher is left out.

    Examples
    --------
    >>> with_programs(take_apart(["mpirun", "-n", "2", "true", "a", ":", "-n", "1", "true"]), ["echo", "b"])
    ['mpirun', '-n', '2', 'echo', 'b', ':', '-n', '1', 'echo', 'b']
    """
    if command.launcher is None:
        return list(program)
    before = command.words[: command.launcher]
    out = [] if any("isthmus" in os.path.basename(word) for word in before) else list(before)
    at = command.launcher
    for begin in command.programs:
        out += [*command.words[at:begin], *program]
        more = range(begin, len(command.words))
        at = next((i for i in more if command.words[i] == ":"), len(command.words))
    return [*out, *command.words[at:]]


def without(command: Command, options: Sequence[str]) -> tuple[Command, list[str]]:
    """Return a command without these options of its launcher, which have a value each; and what was left out.

    A value that lets several ranks share a processor leaves an option that does.

    Examples
    --------
    >>> line = "mpirun --map-by slot:OVERSUBSCRIBE -n 2 true --map-by x"
    >>> command, out = without(take_apart(line.split()), ["--map-by"])
    >>> command.words, out
    (('mpirun', '--oversubscribe', '-n', '2', 'true', '--map-by', 'x'), ['--map-by slot:OVERSUBSCRIBE'])
    """
    if command.launcher is None:
        return command, []
    kept, left = list(command.words[: command.launcher + 1]), []
    ends = [next((p for p in command.programs if p >= part), len(command.words)) for part in command.parts]
    at = command.launcher + 1
    for begin, end in zip(command.parts, ends, strict=True):
        kept += command.words[at:begin]
        at = begin
        while at < end:
            name, equals, _ = command.words[at].partition("=")
            words = command.words[at : at + (1 if equals else 2)]
            if name not in options:
                kept.append(command.words[at])
                at += 1
                continue
            left.append(" ".join(words))
            if re.search(r"[:,]oversubscribe\b", left[-1], re.IGNORECASE):
                kept.append("--oversubscribe")
            at += len(words)
    return take_apart((*kept, *command.words[at:])), left


def launched(words: Sequence[str]) -> int | None:
    """How many ranks a launcher's words ask for; None where they do not say.

    Raises
    ------
    InvalidInput
        For no number behind the option, and for two numbers.

    Examples
    --------
    >>> launched(["srun", "--mpi=pmix", "-n8"])
    8
    """
    found = _number(words)
    return None if found is None else found[2]


def with_ranks(words: Sequence[str], ranks: int) -> list[str]:
    """Return a launcher's words with this number of ranks, in place of the one that they ask for or behind them.

    Examples
    --------
    >>> with_ranks(["mpirun", "-np", "8", "--bind-to", "core"], 2)
    ['mpirun', '-np', '2', '--bind-to', 'core']
    >>> with_ranks(["srun", "-n8"], 2), with_ranks(["srun", "-N", "2"], 2)
    (['srun', '-n', '2'], ['srun', '-N', '2', '-n', '2'])
    >>> with_ranks(["mpirun", "--oversubscribe", "nice", "-n", "5"], 2)
    ['mpirun', '-n', '2', '--oversubscribe', 'nice', '-n', '5']
    >>> with_ranks(["taskset", "-c", "0", "mpirun", "-n", "1"], 2)
    ['taskset', '-c', '0', 'mpirun', '-n', '2']
    """
    apart = take_apart(words)
    behind = len(words) if apart.launcher is None or not apart.programs else apart.launcher + 1
    first, last, _, name = _number(words) or (behind, behind, 0, "-n")
    return [*words[:first], name, str(ranks), *words[last:]]


def _number(words: Sequence[str]) -> tuple[int, int, int, str] | None:
    """Where a launcher's words say the number of ranks (first word, and that behind the last), it, and its option."""
    apart = take_apart(words)
    # What is before the launcher has options of its own: taskset -c 0 mpirun, nice -n 5 mpirun.
    named = (i for i, word in enumerate(words) if launcher_name(word))
    launcher = apart.launcher if apart.launcher is not None else next(named, 0)
    name_of_it = launcher_name(words[launcher]) if words else None
    options = _RANKS if name_of_it in ("srun", "aprun") else (*_RANKS, "-c")
    program = len(words) if apart.launcher is None or not apart.programs else apart.programs[0]
    wrapped = program < len(words) and os.path.basename(words[program]) in _WRAPPERS
    found: tuple[int, int, int, str] | None = None
    i = launcher + 1
    while i < len(words):
        first = i
        name, equals, value = words[i].partition("=")
        if joined := re.fullmatch("(-np?)([0-9]+)", words[i]):
            name, equals, value = joined[1], "", joined[2]
        i += 1
        # Options behind a program are its own; but a word may only look like one: srun --partition test -n 2.
        if name not in options or (first > program and (found is not None or name == "-c" or wrapped)):
            continue
        number = value
        if not value and not equals:
            number = words[i] if i < len(words) else ""
            i += 1
        if name == "-c" and name_of_it is None and not number.isdecimal():
            continue  # sh -c 'COMMAND' of a wrapper
        if found is not None or not number.isdecimal() or not 0 < int(number) < 10**9:
            raise InvalidInput(f"{' '.join(words)}: {name} takes one number of ranks, such as {name} 4")
        found = first, i, int(number), name
    return found
