"""The verb measure: plans, runs, fits, writes."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from .. import __version__
from ..errors import InvalidInput
from ..files import replacing, write_atomically
from ..loading import load
from ..machine import Machine
from ..machine.measured import Measured
from ..mpi.detection import MPICH, OPEN_MPI, Mpi, launcher_family
from ..mpi.launcher import Launcher
from . import conditions, plan, programs, schedules
from .disturbed import undisturbed
from .document import describe
from .measurement import Measurement
from .node import NodeShape, node_shape, processor_model
from .places import Places
from .run import Progress, Session
from .samples import Samples
from .transport import one_state

T = TypeVar("T")
#: Most ranks of a launch that nobody named.
_MOST_RANKS = 32
#: Seconds in which a launcher starts its ranks, where nobody says.
WAIT = 120.0


def measure(
    output: str | os.PathLike[str] | None = None,
    *,
    launch: str | None = None,
    topology: str | os.PathLike[str] | Machine | None = None,
    transport: str = "mpi",
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    budget: float | None = None,
    seed: int = 0,
    hostnames: bool = False,
    oversubscribe: bool = False,
    force: bool = False,
    mpicc: str | None = None,
    wait: float = WAIT,
    say: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Measure the machine at hand: its nodes, LogGP parameters per level, messages, collectives, noise, launches.

    Small C programs are compiled once for the MPI that is there and run under its launcher; every number of the machine
    that comes out has a 95 % interval, a number of samples and a method. What cannot be measured is said. A measurement
    that was interrupted goes on where it ended when it is called again.

    Parameters
    ----------
    output : path, optional
        Machine file to write, ``.toml``; raw samples go to the file of the same name in ``.h5``, journals of an
        unfinished measurement to the folder ``.journal``. Without it nothing is kept but what is returned.
    launch : str, optional
        Launcher with its options, such as ``"srun -N 2 --ntasks-per-node=1"``; by default ``mpirun`` with one rank for
        each core of this node, up to 32.
    topology : path, str or Machine, optional
        Machine whose interconnect this one has, with one place for each node that is measured at least; by default all
        nodes are on one switch.
    transport : {"mpi", "isthmus"}
        What carries the messages that are measured: MPI, or libisthmus, which ``isthmus run`` and programs that are
        linked with it use. With ``isthmus`` the machine also has the start of schedules and the times of copies and
        reductions; there are the parts stream, flops, noise and loggp.
    only : str or sequence of str, optional
        Parts to measure, such as ``"loggp,stream"``: stream, flops, noise, loggp, messages, queues, collectives,
        contention, startup.
    quick : bool
        Seconds instead of minutes: fewer sizes, fewer samples.
    budget : float, optional
        Seconds of measuring, shared out among the parts; by default 170, or 17 with ``quick``.
    seed : int
        Seed of the order in which things are measured.
    hostnames : bool
        Write the names of nodes into the machine file.
    oversubscribe : bool
        Time more ranks than cores too, and ranks that share a core; the file says so.
    force : bool
        Overwrite the output, and start an unfinished measurement again.
    mpicc : str, optional
        Compiler of the MPI, if it is not found.
    wait : float
        Seconds that the launcher may take to start ranks: longer where jobs wait in a queue.
    say : callable, optional
        Told in a sentence what happens.
    progress : callable, optional
        Told again and again what is measured, and how many seconds are left.

    Returns
    -------
    Measurement

    Raises
    ------
    InvalidInput
        If an argument is wrong; if a launcher that was named fails, does not end in time, or starts another number of
        ranks than it was asked for; if ranks share a core.
    OSError
        If files cannot be written.

    Examples
    --------
    >>> import isthmus
    >>> found = isthmus.measure(only="stream", quick=True)       # doctest: +SKIP
    >>> found.machine.node.memory_bandwidth                      # doctest: +SKIP
    """
    parts = plan.chosen(only, transport)
    total = (plan.QUICK if quick else plan.FULL) if budget is None else budget
    if not 0 < total < 1e6:
        raise InvalidInput(f"budget {total}: must be seconds above 0")
    if not 0 < wait < 1e6:
        raise InvalidInput(f"wait {wait}: must be seconds above 0")
    if not 0 <= seed < 2**63:
        raise InvalidInput(f"seed {seed}: must be a whole number from 0")
    target = None if output is None else _target(output, force)
    base = load(topology) if isinstance(topology, (str, os.PathLike)) else topology
    launcher = None if launch is None else Launcher.parse(launch)
    identity = repr(
        (__version__, launch, parts, quick, total, seed, oversubscribe, processor_model(), mpicc, transport)
    )
    with contextlib.ExitStack() as stack:
        if target is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isthmus-"))) / "journal"
        else:
            folder = target.with_suffix(".journal")
        session = Session(folder, identity, seed, force)
        work = _Work(session, parts, quick, total, oversubscribe, wait, say, progress, transport == "isthmus")
        work.hops = None if base is None else _distances(base)
        try:
            found = work.all(launcher, mpicc)
        except Exception:
            work.session.remove_if_empty()
            raise
        measured = work.measured(launcher, hostnames, "" if target is None else target.with_suffix(".h5").name)
        slowed: list[str] = []
        calm = one_state(undisturbed(found, slowed), slowed)
        machine = describe(
            calm,
            work.shape,
            work.places,
            name="here" if target is None else target.stem,
            base=base,
            measured=replace(measured, warnings=(*measured.warnings, *slowed)),
            missing=work.missing,
            hops=work.hops,
        )
        files: tuple[str, ...] = ()
        if target is not None:
            with replacing(target) as temporary:  # both files or none
                write_atomically(temporary, machine.toml())
                found.save(target.with_suffix(".h5"))
            work.session.remove()
            files = (str(target), str(target.with_suffix(".h5")))
    known = machine.measured
    assert known is not None
    return Measurement(machine, found, known.warnings, tuple(work.missing), known.duration, files)


def _distances(base: Machine) -> Callable[[str, str], int]:
    """Links on the way between nodes of a machine, by their names; raises InvalidInput for a name it does not have."""
    named = base.topology.names is not None or bool(base.description.values["hostnames"])

    def hops(a: str, b: str) -> int:
        if not named:
            raise InvalidInput(f"{base.name} has no names of nodes")
        return int(base.route_length(base.node_id(a), base.node_id(b)))

    return hops


def _target(output: str | os.PathLike[str], force: bool) -> Path:
    path = Path(output)
    if path.suffix.lower() != ".toml":
        raise InvalidInput(f"-o {path}: must end in .toml")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"-o {path}: there is no folder {path.parent}")
    for one in (path, path.with_suffix(".h5")):
        if one.exists() and not force:
            raise InvalidInput(f"{one} exists already: --force overwrites it")
    return path


@dataclass
class _Work:
    """One measurement, step by step."""

    session: Session
    parts: Sequence[str]
    quick: bool
    total: float
    oversubscribe: bool
    wait: float
    say: Callable[[str], None] | None
    progress: Progress | None
    own: bool  #: libisthmus carries the messages
    missing: list[str] = field(default_factory=list)
    places: Places | None = None
    library: str = ""
    command: str = ""
    hops: Callable[[str, str], int] | None = None

    def __post_init__(self) -> None:
        self.begin = time.monotonic()
        self.date = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        self.shape: NodeShape = node_shape()
        self.before = conditions.others()
        self.busy = conditions.Busy.now()
        self.share = plan.shares(self.parts, self.total)
        self.session.progress = self.progress
        if self.session.continued:
            self._say(f"going on with the measurement in {self.session.folder}")

    def _say(self, text: str) -> None:
        if self.say is not None:
            self.say(text)

    def all(self, launcher: Launcher | None, mpicc: str | None) -> Samples:
        """Measure everything that is wanted and possible."""
        alone = [part for part in self.parts if part in plan.ALONE]
        together = [part for part in self.parts if part not in plan.ALONE]
        with_mpi = sum(self.share[part] for part in together)
        self.session.left_after = with_mpi
        # First of all where ranks land: what is wrong with a launcher is said before minutes have passed.
        survey = None
        if together:
            survey = self._with_mpi(lambda: self._survey(launcher or self._default(), mpicc), launcher)
        if alone:
            self._alone(alone)
        if survey is not None:
            started, program = survey
            self._with_mpi(lambda: self._together(together, started, program), launcher)
        self.missing += [*self.shape.notes, *self.session.notes]
        late = [one for one in self.session.samples if not len(one) and not one.skipped]
        if late:
            kinds = ", ".join(dict.fromkeys(one.kind for one in late))
            turn = "1 item had its turn" if len(late) == 1 else f"{len(late)} items had their turn"
            self.missing.append(f"Time was up before {turn} ({kinds}): --budget gives more.")
        return self.session.samples

    def _with_mpi(self, do: Callable[[], T], named: Launcher | None) -> T | None:
        """Do something with MPI; that it fails is no error but a note where nobody named a launcher."""
        try:
            return do()
        except InvalidInput as error:
            if named is not None:
                raise
            self.missing.append(f"MPI was not measured: {error}.")
            return None

    def _alone(self, parts: Sequence[str]) -> None:
        launch = plan.node_launch(self.shape, parts, self.quick, sum(self.share[part] for part in parts))
        if launch is None:
            return
        try:
            program = programs.node_program(self.say)
        except InvalidInput as error:
            self.missing.append(f"The node was not measured: {error}.")
            return
        self.session.run(launch, Launcher(()), program)

    def _default(self) -> Launcher:
        """The launcher that is there, with a rank for each core."""
        name = next((name for name in ("mpirun", "mpiexec") if shutil.which(name)), None)
        if name is None:
            raise InvalidInput("there is neither mpirun nor mpiexec: name the launcher with --launch")
        ranks = min(self.shape.cores, _MOST_RANKS)
        family = launcher_family(shutil.which(name) or name)
        bind = {OPEN_MPI: ["--bind-to", "core"], MPICH: ["-bind-to", "core"]}.get(family or "", [])
        return Launcher((name, "-n", str(ranks), *bind), ranks)

    def _survey(self, launcher: Launcher, mpicc: str | None) -> tuple[Launcher, Path]:
        """Compile the program and find out where ranks land; the launcher, and the program."""
        mpi = launcher.mpi(mpicc)
        self.command = str(launcher)
        program = (programs.carrying_program if self.own else programs.mpi_program)(mpi, self.say)
        found = self.session.run(plan.survey(None), launcher, program, self.wait)
        self.places = places = Places.of(found)
        self.library = _library(found, mpi)
        if launcher.ranks is not None and places.ranks != launcher.ranks:
            started = f"{places.ranks} rank{'' if places.ranks == 1 else 's'}"
            raise InvalidInput(
                f"{launcher} started {started} instead of {launcher.ranks}: "
                f"is it the launcher of {mpi}, for which {mpi.mpicc} compiles?"
            )
        crowded = places.crowded(self.shape)
        if crowded and not self.oversubscribe:
            raise InvalidInput(
                f"{crowded}: start fewer ranks, bind them to different cores, or let --oversubscribe time them all the "
                "same"
            )
        self.places = places.binding(self.shape) or places
        return launcher, program

    def _together(self, parts: Sequence[str], launcher: Launcher, program: Path) -> None:
        places, session = self.places, self.session
        assert places is not None
        if places.ranks == 1:
            self.missing.append("Messages were not measured: there is only one rank, and a message needs two.")
        elif unknown := [level for level in ("socket", "node") if self._lacks(level)]:
            self.missing.append(f"Level {' and '.join(unknown)} was not measured: no two ranks are so placed.")
        if len(places.nodes) == 1:
            self.missing.append(
                "Messages between nodes were not measured: all ranks are on one node, and level network has defaults."
            )
        timed = [part for part in parts if part != "startup"]
        start = self.share.get("startup", 0.0)
        session.left_after = start
        budget = sum(self.share[part] for part in timed)
        if self.own:
            launch = schedules.launch(places, self.shape, self.quick, budget)
            schedules.write(() if launch is None else launch.items, session.folder)
        else:
            launch = plan.mpi_launch(self.shape, places, timed, self.quick, budget, self._known())
        if launch is not None:
            session.run(launch, launcher, program, self.wait + 3 * launch.budget)
        if "startup" in parts:
            self._startup(launcher, program, places, start)

    def _known(self) -> Callable[[str, str], int] | None:
        """Distances of the nodes, where the interconnect that was given has their names."""
        assert self.places is not None
        if self.hops is None:
            return None
        try:
            for host in self.places.nodes:
                self.hops(host, host)
        except InvalidInput:
            if "contention" in self.parts and len(self.places.nodes) > 1:
                self.missing.append(
                    "Time of a hop and contention by distance were not measured: the interconnect of --topology does "
                    "not have the names of these nodes (hostnames)."
                )
            self.hops = None
        return self.hops

    def _lacks(self, level: str) -> bool:
        """Whether a level that the nodes have is that of no pair of ranks."""
        assert self.places is not None
        there = {"socket": True, "node": len(set(self.shape.socket_of.values())) > 1}
        return there[level] and level not in self.places.pairs(self.shape)

    def _startup(self, launcher: Launcher, program: Path, places: Places, budget: float) -> None:
        launches = plan.startup_launches(places.ranks, self.quick, budget)
        until = time.monotonic() + budget
        for i, one in enumerate(launches):
            if time.monotonic() > until and i >= len(launches) // 2:
                break
            self.session.left_after = budget * (1 - i / len(launches))
            try:
                self.session.run(one, launcher, program, self.wait)
            except InvalidInput as error:
                self.missing.append(f"Starting {one.ranks} ranks was not measured: {error}.")

    def measured(self, launcher: Launcher | None, hostnames: bool, raw: str) -> Measured:
        """How all of it was measured."""
        after, now = conditions.others(), conditions.Busy.now()
        stolen = None
        if self.busy is not None and now is not None:
            passed = sum(vars(now).values()) - sum(vars(self.busy).values())
            stolen = (now.stolen - self.busy.stolen) / passed if passed > 0 else None
        places = self.places
        samples = self.session.samples
        return Measured(
            date=self.date,
            isthmus=__version__,
            mpi=self.library,
            transport="isthmus" if self.own else "",
            launch=self.command,
            ranks=places.ranks if places else 0,
            hosts=len(places.nodes) if places else 1,
            hostnames=tuple(places.nodes) if places and hostnames else (),
            pinning=conditions.pinning(places, self.shape) if places else "",
            cpu=processor_model(),
            kernel=conditions.kernel(),
            governor=conditions.governor(),
            load=conditions.load_text(self.before, after, stolen),
            duration=round(time.monotonic() - self.begin, 1),
            seed=self.session.seed,
            raw=raw,
            warnings=tuple(conditions.warnings(self.shape, places, samples, self.before, after, stolen)),
        )


def _library(samples: Samples, mpi: Mpi) -> str:
    """The library and its version, as the ranks say, or the header."""
    words = re.sub(r"\s*Version:\s*", " ", samples.fact("mpi").split(",")[0])  # as MPICH says
    return " ".join(words.split()) or str(mpi)
