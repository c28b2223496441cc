"""Items that are schedules: libisthmus carries them out between those of MPI, and a flag says how fast ranks meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus.measuring import programs
from isthmus.measuring.plan import Launch
from isthmus.measuring.run import Session
from isthmus.measuring.samples import Item, Samples
from isthmus.mpi.launcher import Launcher
from isthmus.running.parts import meetings, write_parts

LAUNCHERS = ["mpirun --oversubscribe", "mpirun.mpich"]


def measured(name: str, ranks: int, folder: Path, schedules: dict[str, isthmus.Schedule], members: str) -> Samples:
    session = Session(folder / "journal", "test", seed=1)
    for part, schedule in schedules.items():
        partner = np.asarray(meetings(schedule).partner)
        write_parts(schedule, partner, session.folder / part, compute=1.0, check=False)
    parts = [*schedules, "absent"]
    items = [Item(part, "schedule", {"parts": part, "members": members}) for part in parts]
    launcher = Launcher.parse(f"{name} -n {ranks}")
    launch = Launch("carried", "mpi", (*items, Item("flag", "flag", {"a": 0, "b": 1})), 30.0, least=1, most=4)
    return session.run(launch, launcher, programs.carrying_program(launcher.mpi(None)))


@pytest.mark.parametrize("name", LAUNCHERS)
def test_schedules_are_measured_beside_each_other(name: str, tmp_path: Path) -> None:
    wait = isthmus.Schedule.of(2, rank=[0, 1], kind=["calc", "calc"], amount=[0, 3 * 10**9])
    exchange = isthmus.collective("alltoall", ranks=2, bytes=100_000, buffers=True)
    found = measured(name, 2, tmp_path, {"wait": wait, "exchange": exchange}, "0,1")
    # The second member computes for 3 ms, which the first does not wait for.
    last, first = found["wait"].column("last"), found["wait"].column("first_member")
    assert len(last) >= 1
    assert (last >= 3e-3).all()
    assert first.min() < 3e-3  # on a busy computer others may keep it, too
    assert (found["exchange"].column() > 0).all()
    assert (found["exchange"].column("flag") > 0).all()
    assert (found["flag"].column() > 0).all()
    assert "could not carry it out" in found["absent"].skipped


def test_members_are_numbered_in_their_schedule(tmp_path: Path) -> None:
    """Rank 0 of a schedule is the first member, which need not be rank 0 of the launch."""
    wait = isthmus.Schedule.of(2, rank=[0, 1], kind=["calc", "calc"], amount=[3 * 10**9, 0])
    found = measured(LAUNCHERS[0], 3, tmp_path, {"wait": wait}, "2,1")
    assert (found["wait"].column("first_member") >= 3e-3).all()
