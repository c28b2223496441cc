"""Runs of the programs that measure: journals, continuing, progress, and what went wrong in one sentence."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import InvalidInput
from ..files import write_atomically
from ..mpi.launcher import Ended, Launcher
from . import plan
from .plan import Launch
from .samples import JOURNAL, Item, Samples, Series, read_journal

#: Told what is measured, and how many seconds are left of all.
Progress = Callable[[str, float], None]
#: Seconds that starting and ending a program may take beside its budget.
SLACK = 60.0
#: How often a program that crashes or hangs is started again, without the item at which it did.
_TRIES = 12
_FULL = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)}


class Session:
    """Journals of one measurement, in a folder, and what they hold.

    Parameters
    ----------
    folder : path
        Where journals are, or will be.
    identity : str
        What makes two measurements the same: only those are continued.
    seed : int
        Seed of the order of items.
    force : bool
        Start again, whatever is there.

    Raises
    ------
    InvalidInput
        If the folder holds another measurement.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str, seed: int, force: bool = False) -> None:
        self.folder = Path(folder)
        self.seed = seed
        self.progress: Progress | None = None
        self.left_after = 0.0
        self.samples = Samples([])
        self.notes: list[str] = []
        stated = self.folder / "measurement"
        same = stated.is_file() and stated.read_text(encoding="utf-8", errors="replace") == identity
        if stated.is_file() and (force or not (same or self._measured())):
            shutil.rmtree(self.folder)
        if self.folder.is_dir() and any(self.folder.iterdir()):
            if not stated.is_file():
                raise InvalidInput(
                    f"{self.folder} holds no measurement of isthmus measure: take it away, or another -o"
                )
            if not same:
                raise InvalidInput(
                    f"{self.folder} holds another measurement that was not finished: --force starts again, the command "
                    "of that one goes on with it"
                )
            self.continued = True
        else:
            self.folder.mkdir(exist_ok=True)
            try:
                write_atomically(stated, identity)
            except OSError:
                self.folder.rmdir()
                raise
            self.continued = False

    def _measured(self) -> bool:
        """Whether journals hold anything beside where ranks land."""
        journals = (path for path in self.folder.glob("*.*") if not path.name.startswith(plan.SURVEY))
        return any(b"\nsample " in path.read_bytes() for path in journals)

    def _journals(self, name: str) -> list[Path]:
        """Journals of a launch, in the order of its runs."""
        found = [path for path in self.folder.glob(f"{name}.*") if re.fullmatch(r".*\.[0-9]+", path.name)]
        return sorted(found, key=lambda path: int(path.suffix[1:]))

    def run(self, launch: Launch, launcher: Launcher, program: Path, limit: float | None = None) -> Samples:
        """Measure what a launch holds and was not measured yet; return its samples.

        A program that crashes or hangs is started again without the item at which it did.

        Parameters
        ----------
        launch : Launch
        launcher : Launcher
            What starts the ranks.
        program : Path
        limit : float, optional
            Seconds after which the run is taken to hang; by default three times the budget and a minute.

        Raises
        ------
        InvalidInput
            If nothing at all could be measured: the launcher fails, or does not end.
        OSError
            If journals cannot be written.
        """
        found, used = self._kept(launch)
        for _ in range(_TRIES):
            done = [one.item.name for one in found if one.ended or one.skipped]
            rest = launch.without(done, max(launch.budget - used, 0.1 * launch.budget))
            if not rest.items:
                break
            ended, path = self._start(rest, launcher, program, limit or 3 * rest.budget + SLACK)
            used += ended.seconds
            if not path.is_file():
                found = found.joined(_unknown(ended, rest, _why(ended, launcher, program)))
                continue
            if (programs := path.read_bytes().count(f"{JOURNAL}\n".encode())) > 1:
                raise InvalidInput(
                    f"{launcher} started {programs} separate programs in place of ranks, as the launcher of another "
                    f"MPI does{_pmi(launcher)}"
                )
            part = _read(path, rest)
            found = found.joined(part)
            if ended.status == 0:
                break
            if ended.late and found.finished:
                # MPICH 4.0 over UCX does not always come back from MPI_Finalize between hosts; all is measured then.
                self.notes.append(f"{launch.name}: all was measured, but MPI did not end and was stopped.")
                break
            words = _why(ended, launcher, program)
            disk = next((number for text, number in _FULL.items() if text in ended.errors), None)
            if disk is not None:
                raise OSError(disk, os.strerror(disk), str(self.folder))
            at = _last_begun(path)
            if at is None or found[at].ended:
                raise InvalidInput(words)
            before = found[at]
            reason = "the program hung here" if ended.late else f"the program ended with status {ended.status} here"
            found = found.joined(Samples([Series.of(before.item, [], "most" if len(before) else "", reason)]))
            _add_line(path, f"skip {at} {reason}")  # so that a measurement that goes on knows
            self.notes.append(f"{before.item.line}: {reason} ({ended.last_words(1)}).")
        self.samples = self.samples.joined(found)
        return found

    def _kept(self, launch: Launch) -> tuple[Samples, float]:
        """What journals of an earlier run hold, and the seconds that it took."""
        found = Samples([Series.of(item, []) for item in launch.items])
        used = 0.0
        for path in self._journals(launch.name):
            try:
                lines = path.with_name(f"{path.name}.plan").read_text(encoding="utf-8").splitlines()
            except FileNotFoundError:
                continue
            items = [Item.parse(line.removeprefix("item ")) for line in lines if line.startswith("item ")]
            if not path.is_file():
                continue
            part = read_journal(path, items, path.name)
            found = found.joined(Samples([one for one in part if one.item.name in found], part.facts))
            used += _seconds(path)
        return found, used

    def _start(self, launch: Launch, launcher: Launcher, program: Path, limit: float) -> tuple[Ended, Path]:
        number = len(self._journals(launch.name))
        path = self.folder / f"{launch.name}.{number}"
        plan = self.folder / f"{launch.name}.{number}.plan"
        write_atomically(plan, launch.text(self.seed))
        begin = time.monotonic()

        def watch() -> None:
            if self.progress is not None:
                passed = time.monotonic() - begin
                left = max(launch.budget - passed, 0.0) + self.left_after
                self.progress(f"{launch.name}: {_done(path)} of {len(launch.items)} items", left)

        variables = {"ISTHMUS_STARTED": f"{time.time():.6f}"}
        ended = launcher.run(
            program, str(plan), str(path), ranks=launch.ranks, variables=variables, limit=limit, watch=watch
        )
        if not path.is_file():
            disk = next((number for text, number in _FULL.items() if text in ended.errors), None)
            if disk is not None:
                raise OSError(disk, os.strerror(disk), str(self.folder))
        return ended, path

    def remove(self) -> None:
        """Remove the journals, after their samples were saved."""
        shutil.rmtree(self.folder)

    def remove_if_empty(self) -> None:
        """Remove the journals of a measurement that failed before anything was measured: another may begin here."""
        if not self._measured():
            shutil.rmtree(self.folder)


def _unknown(ended: Ended, launch: Launch, why: str) -> Samples:
    """Items of a kind that the program does not know, which is then no error of the plan as a whole."""
    kind = re.search(r"item \S+: kind (\S+) is not known here", ended.errors)
    if kind is None:
        raise InvalidInput(why)
    reason = f"this program does not measure {kind[1]}"
    return Samples([Series.of(item, [], "", reason) for item in launch.items if item.kind == kind[1]])


def _read(path: Path, launch: Launch) -> Samples:
    return read_journal(path, launch.items, path.name)


def _done(path: Path) -> int:
    try:
        text = path.read_bytes()
    except OSError:
        return 0
    return text.count(b"\ndone ") + text.count(b"\nskip ")


def _last_begun(path: Path) -> str | None:
    """The item that was measured last."""
    found = re.findall(r"^begin (\S+)", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return found[-1] if found else None


def _add_line(path: Path, line: str) -> None:
    """Append a line to a journal, in place of one that was torn off."""
    with open(path, "r+b") as stream:
        whole = stream.read().rfind(b"\n") + 1
        stream.truncate(whole)
        stream.seek(whole)
        stream.write(f"{line}\n".encode())


def _seconds(path: Path) -> float:
    """Seconds after which the last batch of a journal began."""
    text = path.read_text(encoding="utf-8", errors="replace")
    found = re.findall(r"^begin \S+ [0-9]+ ([0-9.e+-]+)$", text, re.MULTILINE)
    return float(found[-1]) if found else 0.0


def _why(ended: Ended, launcher: Launcher, program: Path) -> str:
    """What went wrong, in one sentence."""
    what = str(launcher) or program.name
    if ended.late:
        said = f" (it said: {ended.last_words()})" if ended.errors.strip() else ""
        return (
            f"{what} did not end within {ended.seconds:.0f} s and was stopped: --wait says how long it may take{said}"
        )
    if ended.status == 0:
        return f"{what} ended without measuring anything: {ended.last_words()}"
    return f"{what} ended with status {ended.status}: {ended.last_words()}{_pmi(launcher)}"


def _pmi(launcher: Launcher) -> str:
    """What helps most often where srun fails: ranks find each other only by an interface that both it and MPI have."""
    words = launcher.words
    if not words or Path(words[0]).name != "srun" or any(word.startswith("--mpi") for word in words):
        return ""
    return " (srun's --mpi=pmix or --mpi=pmi2 lets ranks of Open MPI or MPICH find each other, where Slurm has it)"
