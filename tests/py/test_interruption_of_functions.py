"""Ctrl-C in notebooks: long functions end with KeyboardInterrupt, and what was there before works on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from processes import hear, used

#: What is made before, and the call that takes much longer than it is given; most of the time it is in the core.
LONG = {
    "collective": ("", "collective('alltoall', ranks=12000, bytes=8, algorithm='linear')"),
    "simulate": (
        "s = collective('alltoall', ranks=1500, bytes=8, algorithm='linear'); m = 'torus:16x16x8'",
        "[simulate(s, m, symmetry=False) for i in range(20)]",
    ),
    "simulate, flow": (
        "s = collective('alltoall', ranks=512, bytes=1_000_000, algorithm='linear'); m = 'torus:8x8x8'",
        "simulate(s, m, model='flow')",
    ),
    "simulate, packet": (
        "s = collective('alltoall', ranks=256, bytes=640_000, algorithm='linear'); m = 'torus:8x8x4'",
        "simulate(s, m, model='packet')",
    ),
    "map": (
        "s = collective('alltoall', ranks=512, bytes=8, algorithm='linear'); m = 'torus:8x8x8'",
        "map(s, m, seconds=100)",
    ),
    "map, by time": (
        "s = collective('alltoall', ranks=256, bytes=8_000, algorithm='linear'); m = 'torus:8x8x8'",
        "map(s, m, objective='time', seconds=100)",
    ),
    "tune": ("m = 'torus:8x8x8'", "tune('alltoall', m, ranks=512, model='flow', workers=2)"),
    "tune, one worker": ("m = 'torus:8x8x8'", "tune('alltoall', m, ranks=512, model='flow', workers=1)"),
    "prove": ("", "prove('alltoall:ranks=4000,bytes=8,algorithm=linear')"),
    "map, in several threads": (
        "s = collective('alltoall', ranks=512, bytes=8, algorithm='linear')",
        "map(s, 'torus:8x8x8', method='multilevel', seconds=100)",
    ),
    "map, greedily": (
        "s = collective('alltoall', ranks=2048, bytes=8, algorithm='linear')",
        "map(s, 'torus:16x16x16', method='topolb')",
    ),
    "critical path": (
        "t = simulate(collective('alltoall', ranks=1500, bytes=8, algorithm='linear'), 'torus:16x16x8', record='ops')",
        "[t.sensitivities() for i in range(100)]",
    ),
    "lower": (
        "b = ProgramBuilder(1000)\nfor i in range(30): b.collective('alltoall', range(1000), 8)\np = b.build()",
        "lower(p)",
    ),
    "validate": (
        "s = collective('alltoall', ranks=2000, bytes=8, algorithm='linear')",
        "[s.validate() for i in range(100)]",
    ),
}

SCRIPT = """
import time
from isthmus import ProgramBuilder, collective, lower, map, prove, simulate, tune
{before}
print("begins", flush=True)
try:
    {call}
except KeyboardInterrupt:
    at, used = time.monotonic(), time.process_time()
    t = simulate(collective("allreduce", ranks=64, bytes=8), "torus:4x4x4")
    print(at, used, t.makespan)
"""


@pytest.fixture(scope="module")
def expected() -> str:
    from isthmus import collective, simulate

    return str(simulate(collective("allreduce", ranks=64, bytes=8), "torus:4x4x4").makespan)


@pytest.mark.parametrize("name", LONG)
def test_keyboard_interrupt(name: str, expected: str) -> None:
    before, call = LONG[name]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(before=before, call=call)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n", process.communicate()[1]
    time.sleep(0.5)
    assert process.poll() is None, process.communicate()[1]
    begin, before = time.monotonic(), used(process.pid)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (error, process.returncode) == ("", 0)
    at, after, makespan = out.split()
    assert makespan == expected
    # On a busy machine 2 s of the processor take longer.
    assert min(float(at) - begin, float(after) - before) < 2
