"""The verb run over hosts of namespaces: shared memory inside, a network between."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import emulated_hosts
import isthmus
from isthmus.mpi.launcher import captured
from library import compile_c

HERE = emulated_hosts.obstacle("mpirun.openmpi", "mpicc.openmpi")
pytestmark = pytest.mark.skipif(bool(HERE), reason=f"hosts of namespaces: {HERE}")


@pytest.mark.parametrize("per_host", [1, 2])
def test_messages_between_hosts_take_the_time_of_the_link(per_host: int, tmp_path: Path) -> None:
    rate, size, ranks = "20mbit", 100_000, 2 * per_host
    tmp_path.chmod(0o755)
    with emulated_hosts.hosts(2, rate) as there:
        launch = " ".join([*there.openmpi(per_host), "--mca", "mpi_yield_when_idle", "1"])
        command = [
            *there.inside(),
            sys.executable,
            "-m",
            "isthmus",
            "run",
            f"bcast:ranks={ranks},bytes={size},algorithm=binomial",
        ]
        command += ["--launch", launch, "--repetitions", "2", "--check", "-o", str(tmp_path / "ran.h5")]
        command += ["--directory", str(tmp_path)]
        ended = captured(command, os.environ, limit=120)
        assert ended.status == 0, ended.last_words(8)
    ran = isthmus.read(tmp_path / "ran.h5")
    assert isinstance(ran, isthmus.Timeline)
    # What the bucket lets pass at once is less than half of the message.
    assert ran.makespan > 0.5 * size * emulated_hosts.seconds_per_byte(rate)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ran.h5"]


@pytest.mark.parametrize(
    ("flavour", "unasked", "piece"),
    [
        ("openmpi", ["--mca", "btl_tcp_eager_limit", "65536"], 60 << 10),
        ("openmpi", ["--mca", "btl_tcp_eager_limit", "16384"], 12 << 10),
        ("mpich", ["-genv", "UCX_RNDV_THRESH", "100000"], 60 << 10),
        ("mpich", ["-genv", "UCX_RNDV_THRESH", "20000"], 12 << 10),
        ("mpich", ["-genv", "UCX_RNDV_THRESH", "1000"], 0),
    ],
)
def test_pieces_are_what_the_library_sends_unasked(
    flavour: str, unasked: list[str], piece: int, tmp_path: Path
) -> None:
    if why := emulated_hosts.obstacle(f"mpicc.{flavour}", f"mpirun.{flavour}"):
        pytest.skip(why)
    tmp_path.chmod(0o755)
    program = compile_c(Path(__file__).with_name("library_piece.c"), tmp_path / "piece", f"mpicc.{flavour}")
    with emulated_hosts.hosts(2, "100mbit") as there:
        words = there.openmpi() if flavour == "openmpi" else there.mpich()
        ended = captured([*there.inside(), words[0], *unasked, *words[1:], str(program)], os.environ, limit=120)
    assert ended.status == 0, ended.last_words(8)
    assert sorted(ended.output.splitlines()) == [f"rank {rank}: {piece} bytes" for rank in range(2)]
