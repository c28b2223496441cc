"""EASY backfilling, slowly: every instant looks at every job, and nothing is remembered."""

from __future__ import annotations

from collections.abc import Sequence


def earliest(now: float, total: int, running: Sequence[tuple[float, int]], need: int) -> float:
    """When ``need`` nodes are free by the estimates of those that run, pairs of expected end and nodes."""
    for time in sorted({now, *(end for end, _ in running)}):
        if total - sum(nodes for end, nodes in running if end > time) >= need:
            return time
    raise AssertionError("more nodes than there are")


def easy(
    total: int, submit: Sequence[float], nodes: Sequence[int], run: Sequence[float], estimate: Sequence[float]
) -> list[float]:
    """When every job starts. A job goes before the first that waits only if that one's earliest start stays."""
    jobs = range(len(submit))
    start: list[float | None] = [None] * len(submit)
    instants = {float(s) for s in submit}
    done: set[float] = set()
    repeated = False
    while instants - done or repeated:
        now = min(instants - done) if not repeated else now  # noqa: F821 - the instant before
        repeated = False
        done.add(now)

        def ended(job: int, now: float = now) -> bool:
            return start[job] is not None and start[job] + run[job] <= now  # type: ignore[operator]

        gone = {job for job in jobs if ended(job)}
        waiting = [job for job in jobs if submit[job] <= now and start[job] is None]
        changed = True
        while changed:
            changed = False
            running = [
                (start[job] + estimate[job], nodes[job])  # type: ignore[operator]
                for job in jobs
                if start[job] is not None and job not in gone
            ]
            free = total - sum(size for _, size in running)
            for place, job in enumerate(waiting):
                if nodes[job] > free:
                    continue
                if place:
                    head = nodes[waiting[0]]
                    before = earliest(now, total, running, head)
                    after = earliest(now, total, [*running, (now + estimate[job], nodes[job])], head)
                    if after > before:
                        continue
                start[job] = now
                waiting.remove(job)
                instants.add(now + run[job])
                repeated |= run[job] == 0
                changed = True
                break
    return [float(s) for s in start]  # type: ignore[arg-type]
