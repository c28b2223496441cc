"""First come, first served with EASY backfilling, event by event.

Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995); Mu'alem and Feitelson, "Utilization, predictability, workloads,
and user runtime estimates in scheduling the IBM SP2 with backfilling" (IEEE TPDS 12, 2001). The first job that waits
has a reservation: the time when, by the estimates of those that run, enough nodes will be free for it. Later jobs start
before it if they end before that time by their own estimate, or if they use nodes that it will not need.

At one instant jobs end first, then others are submitted, then jobs start. What an event costs: an arrival looks at the
new job only, as nothing has become free for those before it; an end looks once through the jobs that wait, in NumPy.
"""

from __future__ import annotations

import bisect
import heapq
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .policies import runs

if TYPE_CHECKING:
    from .policies import Places, Policy
    from .workload import Jobs

#: Nodes of a job of the window that has started: more than any machine has.
_STARTED = np.iinfo(np.int64).max


class Scheduler:
    """The state of a machine and its queue at one instant.

    Parameters
    ----------
    jobs : Jobs
        All jobs in the order of submission.
    policy : Policy
    places : int
        Nodes of the machine.
    seed : int
        Of random allocations.

    Attributes
    ----------
    now : float
        Seconds since the first submission.
    running : dict of int to ndarray
        Jobs that run, with their places in the order of the policy.
    start : ndarray of float64
        When every job started; NaN where it has not.
    reserved : dict of int to float
        First reservation of jobs that were at the head of the queue: when they would start at the latest.
    """

    def __init__(self, jobs: Jobs, policy: Policy, places: int, seed: int = 0) -> None:
        self.jobs, self.policy = jobs, policy
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.now = 0.0
        self.free = np.ones(places, np.bool_)
        self.count = places
        self.running: dict[int, Places] = {}
        self.start = np.full(len(jobs), np.nan)
        self.reserved: dict[int, float] = {}
        self._submit, self._run, self._estimate, self._nodes = (
            column.tolist() for column in (jobs.submit, jobs.run, jobs.estimate, jobs.nodes)
        )
        self._next = 0
        self._ends: list[tuple[float, int]] = []  # heap: when jobs end
        self._expected: list[tuple[float, int]] = []  # sorted: when they say that they end
        # The window of jobs that wait, between _head and _tail; those that have started are marked.
        self._jobs = np.zeros(64, np.int64)
        self._sizes = np.full(64, _STARTED)
        self._lengths = np.zeros(64)
        self._head = self._tail = 0
        # The reservation of the head: when, nodes beyond it then, and of strict policies its places.
        self._shadow: float | None = None
        self._extra = 0
        self._kept: NDArray[np.bool_] | None = None

    def copy(self) -> Scheduler:
        """Return the same state, which goes on by itself; what has ended is not copied."""
        other = object.__new__(Scheduler)
        other.__dict__.update(self.__dict__)
        bits = np.random.PCG64()
        bits.state = self.rng.bit_generator.state  # type: ignore[assignment]
        other.rng = np.random.Generator(bits)
        other.free, other.running = self.free.copy(), dict(self.running)
        other.start, other.reserved = self.start.copy(), {}
        other._ends, other._expected = list(self._ends), list(self._expected)
        kept = slice(self._head, self._tail)
        other._jobs, other._sizes = self._jobs[kept].copy(), self._sizes[kept].copy()
        other._lengths = self._lengths[kept].copy()
        other._head, other._tail = 0, self._tail - self._head
        other._kept = None if self._kept is None else self._kept.copy()
        return other

    # Events

    @property
    def next_event(self) -> float:
        """When something happens next; infinity: all jobs have ended."""
        arrival = self._submit[self._next] if self._next < len(self._submit) else np.inf
        return min(arrival, self._ends[0][0] if self._ends else np.inf)

    def step(self) -> list[int]:
        """Go on to the next instant at which something happens; return the jobs that start then."""
        self.now = now = self.next_event
        started: list[int] = []
        ended = False
        while self._ends and self._ends[0][0] <= now:
            self._end(heapq.heappop(self._ends)[1])
            ended = True
        if ended:
            self._after_ends(started)
        while self._next < len(self._submit) and self._submit[self._next] <= now:
            self._next += 1
            self._arrive(self._next - 1, started)
        return started

    def run(self) -> None:
        """Go on until all jobs have ended."""
        while self.next_event < np.inf:
            self.step()

    def run_until(self, time: float) -> None:
        """Go on through all that happens up to a time."""
        while self.next_event <= time:
            self.step()
        self.now = time

    def add(self, nodes: int, run: float, estimate: float) -> int:
        """Submit one more job now, which is not of the workload; return its number. Whether it starts, see running."""
        number = len(self._run)
        # New lists: the state that this one was copied from does not know the job.
        self._run, self._estimate, self._nodes = (
            [*old, new] for old, new in ((self._run, run), (self._estimate, estimate), (self._nodes, nodes))
        )
        self.start = np.append(self.start, np.nan)
        self._arrive(number, [])
        return number

    def _end(self, job: int) -> None:
        places = self.running.pop(job)
        self.free[places] = True
        self.count += len(places)
        expected = (self.start[job] + self._estimate[job], job)
        del self._expected[bisect.bisect_left(self._expected, expected)]

    def _begin(self, job: int, places: Places) -> None:
        self.free[places] = False
        self.count -= len(places)
        self.running[job] = places
        self.start[job] = self.now
        heapq.heappush(self._ends, (self.now + self._run[job], job))
        bisect.insort(self._expected, (self.now + self._estimate[job], job))

    def _take(self, free: NDArray[np.bool_], count: int) -> Places | None:
        return self.policy.pick(free, count, self.rng)

    # The queue

    def _arrive(self, job: int, started: list[int]) -> None:
        if self._head == self._tail:
            places = self._take(self.free, self._nodes[job]) if self._nodes[job] <= self.count else None
            if places is not None:
                self._begin(job, places)
                started.append(job)
                return
            self._append(job)
            self._shadow = None
            self._reserve()
            return
        self._append(job)
        if self._backfilled(job):
            self._sizes[self._tail - 1] = _STARTED
            started.append(job)

    def _append(self, job: int) -> None:
        if self._tail == len(self._jobs):
            self._compact()
        at = self._tail
        self._jobs[at], self._sizes[at], self._lengths[at] = job, self._nodes[job], self._estimate[job]
        self._tail += 1

    def _compact(self) -> None:
        """Drop what has started, and double the window if it is more than half full."""
        kept = np.flatnonzero(self._sizes[self._head : self._tail] != _STARTED) + self._head
        room = max(64, 2 * len(kept))
        for name, fill in (("_jobs", 0), ("_sizes", _STARTED), ("_lengths", 0)):
            old = getattr(self, name)
            new = np.full(room, fill, old.dtype)
            new[: len(kept)] = old[kept]
            setattr(self, name, new)
        self._head, self._tail = 0, len(kept)

    def _after_ends(self, started: list[int]) -> None:
        """Start the head while it fits, then whatever may go before the one that does not."""
        self._shadow = None
        while self._head < self._tail:
            if self._sizes[self._head] == _STARTED:
                self._head += 1
                continue
            job = int(self._jobs[self._head])
            places = self._take(self.free, self._nodes[job]) if self._nodes[job] <= self.count else None
            if places is None:
                break
            self._begin(job, places)
            started.append(job)
            self._head += 1
        if self._head == self._tail:
            return
        self._reserve()
        if not self.count:
            return
        assert self._shadow is not None
        waiting = slice(self._head + 1, self._tail)
        early = self.now + self._lengths[waiting] <= self._shadow
        soon, late = self._room()
        may = np.flatnonzero(self._sizes[waiting] <= np.where(early, soon, late))
        for at, ends_early in zip((may + self._head + 1).tolist(), early[may].tolist(), strict=True):
            job = int(self._jobs[at])
            if self._nodes[job] <= (soon if ends_early else late) and self._backfilled(job):
                self._sizes[at] = _STARTED
                started.append(job)
                soon, late = self._room()
                if not soon:
                    return

    def _room(self) -> tuple[int, int]:
        """Nodes of the largest job that may start now if it ends before the reservation, and if it ends later."""
        if self._kept is None:
            return self.count, min(self.count, self._extra)
        return _longest(self.free), _longest(self.free & ~self._kept)

    def _backfilled(self, job: int) -> bool:
        """Start a job before the head if that does not delay the head."""
        nodes = self._nodes[job]
        if nodes > self.count:
            return False
        assert self._shadow is not None
        early = self.now + self._estimate[job] <= self._shadow
        if self._kept is not None:
            places = self._take(self.free if early else self.free & ~self._kept, nodes)
        elif early or nodes <= self._extra:
            places = self._take(self.free, nodes)
        else:
            return False
        if places is None:
            return False
        self._begin(job, places)
        if not early:
            self._extra -= nodes
        return True

    def _reserve(self) -> None:
        """Find when the head can start by the estimates of those that run."""
        job = int(self._jobs[self._head])
        if self.policy.strict:
            self._reserve_places(job)
        else:
            free, need = self.count, self._nodes[job]
            found = len(self._expected)
            for i, (_, other) in enumerate(self._expected):
                free += len(self.running[other])
                if free >= need:
                    found = i
                    break
            self._shadow = self._expected[found][0]
            for end, other in self._expected[found + 1 :]:
                if end > self._shadow:
                    break
                free += len(self.running[other])
            self._extra = free - need
        assert self._shadow is not None
        self.reserved.setdefault(job, self._shadow)

    def _reserve_places(self, job: int) -> None:
        """The same where the places count: the fewest ends after which the policy finds places, by bisection."""
        need = self._nodes[job]
        low, high = 0, len(self._expected)  # after `high` ends all is free
        best: Places | None = None
        while low < high:
            middle = (low + high) // 2
            free = self._free_after(middle)
            found = self._take(free, need)
            if found is None:
                low = middle + 1
            else:
                high, best = middle, found
        if best is None:
            best = self._take(self._free_after(high), need)
        assert best is not None
        self._shadow = self._expected[high - 1][0]
        self._kept = np.zeros(len(self.free), np.bool_)
        self._kept[best] = True

    def _free_after(self, ends: int) -> NDArray[np.bool_]:
        free = self.free.copy()
        for _, other in self._expected[:ends]:
            free[self.running[other]] = True
        return free


def _longest(free: NDArray[np.bool_]) -> int:
    """Length of the longest run of free places: what policies that may refuse a job can give at most."""
    return int(runs(free)[1].max(initial=0))
