"""Points that sleep, write down that they were computed, and may kill their process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

from isthmus.studies.drawing import sheet
from isthmus.studies.parameters import Kind, Parameter, Point, Summary


def measure(point: Point) -> Point:
    """Sleep, then append the number of the point to the trail: one line for every time that it was computed."""
    time.sleep(point["seconds"])
    if point["number"] == point["poison"]:
        os.kill(os.getpid(), signal.SIGKILL)
    if point["trail"]:
        with open(point["trail"], "a") as trail:
            trail.write(f"{point['number']} {os.getpid()}\n")
    return {"square": point["number"] ** 2}


def summarise(rows: Sequence[Point]) -> Summary:
    """Numbers and squares."""
    table = [[str(row["number"]), str(row["square"])] for row in rows]
    return Summary(("number", "square"), table, ("number", "square"), lambda: sheet("t", "t", 1, 1, height=3.0)[0], {})


KIND = Kind(
    name="sleeping",
    doc="points that sleep",
    version=1,
    parameters=(
        Parameter("number", "whole", "of the point"),
        Parameter("seconds", "s", "to sleep", 0.05),
        Parameter("poison", "whole", "number of the point that kills its process", 2**40),
        Parameter("trail", "text", "file of all computations", ""),
    ),
    measure=measure,
    summarise=summarise,
)
