"""Workloads, and the jobs that they are on a machine: when they come, how many nodes they need, how long they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..tabular import Tabular
from ..units import text

#: The fields of a job in the Standard Workload Format, in their order. Times in seconds; -1 is unknown.
FIELDS = (
    "job", "submit", "wait", "run", "processors", "cpu_time", "memory", "requested_processors", "requested_time",
    "requested_memory", "status", "user", "group", "executable", "queue", "partition", "preceding", "think_time",
)  # fmt: skip

#: Status of a part of a job: to be continued, the last one, the last one of a job that failed.
_PARTS = (2, 3, 4)


@dataclass(frozen=True, eq=False)
class Workload(Tabular):
    """The jobs that users submit to a machine.

    Attributes
    ----------
    fields : dict of str to ndarray of float64
        The 18 fields of the Standard Workload Format, by :data:`FIELDS`; times in seconds, memory in kB per processor,
        -1 where a value is unknown. In the order of submission.
    header : dict of str to str
        What the comments at the head of the file say, such as ``MaxNodes``.
    name : str
        File, or how it was made.
    """

    fields: Mapping[str, NDArray[np.float64]]
    header: Mapping[str, str]
    name: str

    def __len__(self) -> int:
        return len(self.fields["job"])

    def frame(self) -> Mapping[str, NDArray[np.float64]]:
        """Return the fields as columns."""
        return self.fields

    @property
    def processors_per_node(self) -> int | None:
        """Processors of a node of the machine of the log, by MaxProcs and MaxNodes of its header; None: not said."""
        try:
            processors, nodes = int(self.header["MaxProcs"]), int(self.header["MaxNodes"])
        except (KeyError, ValueError):
            return None
        return processors // nodes if nodes > 0 and processors >= nodes and processors % nodes == 0 else None

    def _uneven(self) -> str:
        """What is said of a machine whose nodes have different numbers of processors."""
        try:
            processors, nodes = int(self.header["MaxProcs"]), int(self.header["MaxNodes"])
        except (KeyError, ValueError):
            return ""
        if nodes < 1 or processors % nodes == 0 or processors < nodes:
            return ""
        return (
            f"the log is of {processors:,} processors on {nodes:,} nodes, which is no whole number a node: each "
            "processor is taken for a node; --processors-per-node says otherwise"
        )

    def jobs(self, nodes: int, *, per_node: int | None = None, load: float | None = None) -> Jobs:
        """Return the jobs as they are on a machine.

        Parameters
        ----------
        nodes : int
            Nodes of the machine.
        per_node : int, optional
            Processors of the workload that are one node; by default what its header says, otherwise 1.
        load : float, optional
            Stretch or compress the times between submissions so that this share of the machine is asked for on average
            between the first and the last submission.

        Returns
        -------
        Jobs
            Without those that ask for more nodes than there are, that never ran, or that ask for no processors, and
            without parts of jobs that have a line for the whole; numbers are kept.
        """
        each = per_node or self.processors_per_node or 1
        if each < 1:
            raise InvalidInput(f"processors per node = {each}: must be 1 or more")
        f = self.fields
        asked = np.where(f["requested_processors"] > 0, f["requested_processors"], f["processors"])
        size = np.ceil(asked / each).astype(np.int64)
        unknown = (f["run"] < 0) | (asked <= 0)
        # Jobs that were checkpointed may have a line for each part of their run, beside one for the whole.
        part = np.isin(f["status"], _PARTS)
        part &= np.isin(f["job"], f["job"][~part])
        unknown &= ~part
        large = ~unknown & ~part & (size > nodes)
        kept = ~unknown & ~large & ~part
        if not kept.any():
            raise InvalidInput(
                f"{self.name}: none of its {len(self):,} jobs can run: {large.sum():,} ask for more than {nodes:,} "
                f"nodes, {unknown.sum():,} have no run time or no processors"
            )
        run = f["run"][kept]
        requested = f["requested_time"][kept]
        out = Jobs(
            number=f["job"][kept].astype(np.int64),
            submit=f["submit"][kept] - f["submit"][kept].min(),
            nodes=size[kept],
            run=run,
            # Who has no limit, or ran beyond it, is taken to have asked for what he used.
            estimate=np.maximum(run, requested),
            overran=int((requested > 0).sum() and (run > requested)[requested > 0].sum()),
            too_large=int(large.sum()),
            unknown=int(unknown.sum()),
            parts=int(part.sum()),
            said=self._uneven() if per_node is None else "",
        )
        return out if load is None else out.at_load(load, nodes)

    def __str__(self) -> str:
        f = self.fields
        span = float(f["submit"][-1] - f["submit"][0])
        return f"Workload of {len(self):,} jobs over {duration(span)}: {self.name}"


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs that can run on a machine, in the order of submission.

    Attributes
    ----------
    number : ndarray of int64
        Numbers of the jobs in the workload.
    submit, run, estimate : ndarray of float64
        Seconds: when it is submitted, from the first on; how long it runs; how long it says that it runs, at least as
        long.
    nodes : ndarray of int64
    overran, too_large, unknown : int
        Jobs that ran longer than they had asked for, whose estimate is what they ran; jobs that were left out because
        the machine has too few nodes, or because their run time or processors are not known.
    parts : int
        Lines of parts of jobs that have one for the whole, left out.
    said : str
        How processors of the log were taken, where its header leaves that open.
    """

    number: NDArray[np.int64]
    submit: NDArray[np.float64]
    nodes: NDArray[np.int64]
    run: NDArray[np.float64]
    estimate: NDArray[np.float64]
    overran: int = 0
    too_large: int = 0
    unknown: int = 0
    parts: int = 0
    said: str = ""

    def __len__(self) -> int:
        return len(self.submit)

    def load(self, nodes: int) -> float:
        """Share of a machine of so many nodes that is asked for between the first and the last submission."""
        span = float(self.submit[-1])
        return float(self.nodes @ self.run) / (span * nodes) if span > 0 else float("inf")

    def at_load(self, load: float, nodes: int) -> Jobs:
        """Return the same jobs, submitted faster or slower."""
        if not 0 < load < float("inf"):
            raise InvalidInput(f"load = {load}: must be more than 0")
        now = self.load(nodes)
        if not 0 < now < float("inf"):
            raise InvalidInput("load: the jobs take no time, or all come at once, so that no load can be given")
        return Jobs(**{**vars(self), "submit": self.submit * (now / load)})

    def notes(self) -> list[str]:
        """What was changed or left out, in sentences."""
        out = [self.said] if self.said else []
        if self.parts:
            out.append(f"{self.parts:,} lines are parts of jobs that have a line for the whole, and are left out")
        if self.too_large:
            out.append(f"{self.too_large:,} jobs ask for more nodes than the machine has and are left out")
        if self.unknown:
            out.append(f"{self.unknown:,} jobs have no run time or no processors and are left out")
        if self.overran:
            out.append(f"{self.overran:,} jobs ran longer than they had asked for; their estimate is what they ran")
        return out


def duration(seconds: float) -> str:
    """Return a time of hours or days as people say it."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return text(seconds, "s", 3) if seconds else "0 s"
