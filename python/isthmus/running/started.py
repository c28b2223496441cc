"""Where a launcher starts the ranks of a command: a shell in the place of the program tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InvalidInput
from ..hostlist import expand
from ..machine import Machine
from ..machine.placement import Placement
from ..mpi.command import Command, with_programs
from ..mpi.launcher import captured

_MARK = "isthmus-rank"
# Open MPI, PMIx, PMI (MPICH), Slurm; a program without a launcher has one rank.
_RANK = "${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}"
_TELL = ("sh", "-c", f'echo "{_MARK} {_RANK} $(uname -n) $(grep Cpus_allowed_list: /proc/self/status)"')
#: Longest time that the launcher may take, seconds.
_LIMIT = 300.0


@dataclass(frozen=True, slots=True)
class Started:
    """Where ranks run.

    Parameters
    ----------
    hosts : tuple of str
        Of every rank, the name of its host.
    cpus : tuple of tuple of int
        Of every rank, the processors that it may run on, as its system numbers them.
    """

    hosts: tuple[str, ...]
    cpus: tuple[tuple[int, ...], ...]

    @property
    def bound(self) -> bool:
        """Whether each rank has a processor of its own."""
        places = {(host, cpus) for host, cpus in zip(self.hosts, self.cpus, strict=True)}
        return all(len(cpus) == 1 for cpus in self.cpus) and len(places) == len(self.hosts)

    def on(self, machine: Machine) -> Placement:
        """Return it as a placement; ranks that are not bound take the cores of their node in order.

        Raises
        ------
        InvalidInput
            If a host is no node of the machine. A machine of one node is any host.
        """
        names = dict.fromkeys(self.hosts)
        if machine.topology.nodes == 1 and len(names) == 1:
            # Launchers get the name that the host has.
            known = {**machine.description.values, "hostnames": self.hosts[0]}
            machine, ids = Machine(replace(machine.description, values=known)), dict.fromkeys(names, 0)
        else:
            ids = {name: _node(machine, name) for name in names}
        node = np.array([ids[name] for name in self.hosts], dtype=np.uint32)
        cores = [cpus[0] for cpus in self.cpus]
        return Placement(machine, node, cores if self.bound and max(cores) < machine.node.cores else None)


def started(command: Command) -> Started:
    """Ask where a launcher starts the ranks of a command: start them once with a shell in the place of the program.

    Raises
    ------
    InvalidInput
        If the launcher fails, or ranks do not say where they are.
    """
    words = with_programs(command, _TELL)
    ended = captured(words, os.environ, limit=_LIMIT)
    if ended.status != 0:
        raise InvalidInput(f"{words[0]} cannot tell where it starts ranks: {ended.last_words()}")
    found: dict[int, tuple[str, tuple[int, ...]]] = {}
    for line in ended.output.splitlines():
        # Launchers may put words before what a rank prints.
        _, mark, rest = line.partition(_MARK)
        if mark:
            rank, host, cpus = _place(rest.split(), line)
            found[rank] = host, cpus
    if not found or sorted(found) != list(range(len(found))):
        raise InvalidInput(f"{words[0]} started {len(found)} ranks that say where they are, and not one of each number")
    places = [found[rank] for rank in range(len(found))]
    return Started(tuple(host for host, _ in places), tuple(cpus for _, cpus in places))


def _place(words: Sequence[str], line: str) -> tuple[int, str, tuple[int, ...]]:
    try:
        rank, host, _, cpus = words
        return int(rank), host, tuple(int(cpu) for cpu in expand(f"[{cpus}]"))
    except ValueError:
        raise InvalidInput(f"a rank does not say where it is: '{line}'") from None


def _node(machine: Machine, name: str) -> int:
    """The node of a host, by its name or the first part of that."""
    for known in (name, name.partition(".")[0]):
        try:
            return machine.node_id(known)
        except InvalidInput:
            continue
    first = machine.hostnames[0]
    raise InvalidInput(
        f"--machine: ranks start on {name}, which is no node of {machine.name} (its first one is {first}): name the "
        "nodes as the hosts are called, by hosts=LIST or hostnames in its file"
    )
