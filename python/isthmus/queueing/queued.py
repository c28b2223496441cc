"""The result of ``queue``: waiting times by size, and how far apart the nodes of jobs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..tabular import Tabular
from ..units import percent
from ..views import view
from .workload import FIELDS, Jobs, Workload, duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..machine import Machine

#: Jobs and pairs of nodes of a job whose distances are looked up for one class of sizes.
_JOBS, _PAIRS = 200, 500
#: Seconds below which a job's slowdown does not count: Feitelson et al., "Theory and practice in parallel job
#: scheduling" (JSSPP 1997).
BOUND = 10.0


@dataclass(frozen=True, eq=False)
class Queued(Tabular):
    """What a queue did with the jobs of a workload.

    Attributes
    ----------
    machine : Machine
    jobs : Jobs
    source : str
        Where the jobs are from.
    start : dict of str to ndarray of float64
        By policy, when every job started, seconds from the first submission.
    nodes : dict of str to list of ndarray of int64
        By policy, the nodes of every job.
    """

    machine: Machine
    jobs: Jobs
    source: str
    start: Mapping[str, NDArray[np.float64]]
    nodes: Mapping[str, Sequence[NDArray[np.int64]]]

    def wait(self, policy: str | None = None) -> NDArray[np.float64]:
        """Return the waiting time of every job, seconds; by default under the first policy."""
        return self.start[policy or next(iter(self.start))] - self.jobs.submit

    def slowdown(self, policy: str | None = None) -> NDArray[np.float64]:
        """Return the bounded slowdown of every job: (wait + run) / max(run, 10 s), at least 1."""
        run = self.jobs.run
        bounded: NDArray[np.float64] = np.maximum((self.wait(policy) + run) / np.maximum(run, BOUND), 1.0)
        return bounded

    def utilisation(self, policy: str) -> float:
        """Return the share of the machine in use from the first submission until the last one started."""
        last = float(self.start[policy].max())
        if last <= 0:
            return 1.0
        begun = np.minimum(self.jobs.run, np.maximum(last - self.start[policy], 0.0))
        return float(self.jobs.nodes @ begun) / (last * self.machine.nodes)

    @cached_property
    def classes(self) -> list[tuple[int, int]]:
        """Fewest and most nodes of each class of sizes: powers of two, classes without jobs left out."""
        out = []
        low = 1
        while low <= self.machine.nodes:
            high = min(2 * low - 1, self.machine.nodes)
            if ((self.jobs.nodes >= low) & (self.jobs.nodes <= high)).any():
                out.append((low, high))
            low *= 2
        return out

    def spread(self, policy: str, low: int, high: int) -> float | None:
        """Return the mean number of links between two nodes of a job of these sizes, by a sample; None: one node."""
        found = np.flatnonzero((self.jobs.nodes >= max(low, 2)) & (self.jobs.nodes <= high))
        if not len(found):
            return None
        rng = np.random.default_rng(0)
        means = []
        for job in found[np.linspace(0, len(found) - 1, min(_JOBS, len(found))).astype(int)]:
            nodes = self.nodes[policy][job]
            a, b = rng.integers(0, len(nodes), (2, _PAIRS))
            differ = a != b
            means.append(float(np.mean(self.machine.distance(nodes[a[differ]], nodes[b[differ]]))))
        return float(np.mean(means))

    def frame(self) -> list[dict[str, Any]]:
        """Return a row for every policy and class of sizes, times in seconds."""
        return self._rows

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for policy in self.start:
            wait, slowdown = self.wait(policy), self.slowdown(policy)
            for low, high in self.classes:
                of = (self.jobs.nodes >= low) & (self.jobs.nodes <= high)
                rows.append(
                    {
                        "policy": policy, "fewest_nodes": low, "most_nodes": high, "jobs": int(of.sum()),
                        "wait_mean": float(wait[of].mean()), "wait_median": float(np.median(wait[of])),
                        "wait_90": float(np.quantile(wait[of], 0.9)), "slowdown": float(slowdown[of].mean()),
                        "run_mean": float(self.jobs.run[of].mean()), "links": self.spread(policy, low, high),
                    }
                )  # fmt: skip
        return rows

    def json(self) -> dict[str, Any]:
        """Return everything but the nodes of single jobs as plain numbers."""
        return {
            "machine": self.machine.name, "nodes": self.machine.nodes, "workload": self.source, "jobs": len(self.jobs),
            "load": self.jobs.load(self.machine.nodes),
            "left_out": {"too_large": self.jobs.too_large, "unknown": self.jobs.unknown},
            "utilisation": {policy: self.utilisation(policy) for policy in self.start},
            "classes": self.frame(),
        }  # fmt: skip

    def plot(self, target: Any = None) -> Figure:
        """Draw waiting times by size as boxes.

        Parameters
        ----------
        target : str or stream, optional
            A file (.png, .svg or .pdf) to write; by default nothing is written.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidInput
            For another suffix.
        """
        figure: Figure = view("Queued.plot")(self, target)
        return figure

    def done(self, policy: str) -> Workload:
        """Return the workload as it was done: SWF's fields with submissions, waiting times, run times and processors.

        One processor is one node.
        """
        jobs, fields = self.jobs, {field: np.full(len(self.jobs), -1.0) for field in FIELDS}
        size = jobs.nodes.astype(float)
        fields |= {
            "job": jobs.number.astype(float), "submit": jobs.submit, "wait": self.wait(policy), "run": jobs.run,
            "processors": size, "requested_processors": size, "requested_time": jobs.estimate,
            "status": np.ones(len(jobs)),
        }  # fmt: skip
        nodes = str(self.machine.nodes)
        header = {
            "Version": "2.2", "Computer": self.machine.name, "MaxNodes": nodes, "MaxProcs": nodes,
            "Note": f"simulated: EASY backfilling, nodes given by policy {policy}; {self.source}",
        }  # fmt: skip
        return Workload(fields, header, f"{self.source}, simulated")

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the table as texts."""
        columns = ["policy", "nodes", "jobs", "wait: mean", "median", "90 %", "slowdown", "links apart"]
        rows = []
        for row in self.frame():
            low, high = row["fewest_nodes"], row["most_nodes"]
            rows.append(
                [
                    row["policy"], f"{low}" if low == high else f"{low}-{high}", f"{row['jobs']:,}",
                    *(duration(row[name]) for name in ("wait_mean", "wait_median", "wait_90")),
                    f"{row['slowdown']:.1f}", "" if row["links"] is None else f"{row['links']:.2f}",
                ]
            )  # fmt: skip
        return columns, rows

    def head(self) -> list[str]:
        """Return what was simulated, in lines."""
        load = self.jobs.load(self.machine.nodes)
        asked = "" if load == float("inf") else f", {percent(load)} of the machine asked for"
        out = [f"{self.source}: {len(self.jobs):,} jobs on {self.machine.nodes:,} nodes of {self.machine.name}{asked}"]
        out += [f"{policy}: {percent(self.utilisation(policy))} of the machine in use" for policy in self.start]
        return out

    def __str__(self) -> str:
        columns, rows = self.cells()
        widths = [max(len(c), *(len(row[i]) for row in rows)) for i, c in enumerate(columns)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in [columns, *rows]]
        return "\n".join([*self.head(), *lines, *(f"note: {note}" for note in self.jobs.notes())])
