"""What the extension gives back: classes with arrays, and one table of names for each enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus import _core
from isthmus.errors import InvalidInput
from isthmus.simulation.critical import PARAMETERS
from isthmus.simulation.network import MODELS, RECEIVES, ROUTINGS
from isthmus.simulation.simulate import core_options
from isthmus.simulation.timeline import RECORDS


def options(**changed: Any) -> _core.SimulationOptions:
    level = _core.LevelCost(L=1000, o_send=10, o_recv=10, g=20, G=0.5, O=0.0, S=65535, per_hop=0)
    levels = {"socket": level, "node": level, "network": level}
    rest = {"seed": 0, "copy_rate": 0.0, "reduce_rate": 0.0, "start": 0, "symmetry": False, "skip": False}
    return _core.SimulationOptions(**{**levels, **rest, "record": "ops", "receive": "loggp", **changed})


def test_arrays_of_a_result_are_looked_at_in_place_and_read_only() -> None:
    ring = isthmus.collective("allreduce", ranks=8, bytes=4096, algorithm="ring")
    result = _core.simulate(ring.arrays, options(), None)
    for name in ("finish", "breakdown", "start", "end", "partner", "busy", "handled", "log"):
        array = getattr(result, name)
        assert array.size, name
        assert np.shares_memory(array, getattr(result, name)), name
        assert not array.flags.writeable, name
    finish, makespan = result.finish, result.makespan
    del result  # arrays keep the memory alive
    assert finish.shape == (8,)
    assert finish.max() == makespan


def test_names_are_those_of_the_core() -> None:
    def refused(names: tuple[str, ...], call: Any) -> None:
        for name in names:
            call(name)
        with pytest.raises(InvalidInput, match=f"'no such name': must be one of {', '.join(names)}$"):
            call("no such name")

    refused(RECORDS, lambda name: options(record=name))
    refused(RECEIVES, lambda name: options(receive=name))
    refused(MODELS, lambda name: options().network(model=name, routing="minimal", slices=0, resolution=0.0))
    refused(ROUTINGS, lambda name: options().network(model="flow", routing=name, slices=0, resolution=0.0))
    refused(PARAMETERS, lambda name: options().changed(name, 0))
    refused(("none", "periodic", "exponential"), lambda name: options().noise(name, period=10, duration=1))


def test_options_go_by_keyword() -> None:
    level = isthmus.Level(L=1e-6, o_send=1e-7, o_recv=1e-7, g=1e-7, G=1e-9)
    schedule = isthmus.collective("barrier", ranks=4, algorithm="dissemination")
    made = core_options(schedule, level, None, "ops", None, 0, None, None, False, False)
    assert _core.simulate(schedule.arrays, made, None).makespan == isthmus.simulate(schedule, level).makespan_ps
    with pytest.raises(TypeError):
        _core.LevelCost(1000, 10, 10, 20, 0.5, 0.0, 65535, 0)  # type: ignore[misc]
