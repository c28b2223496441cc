"""isthmus run -- COMMAND: nonblocking and persistent collectives go each way in turns, and to whom is faster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from isthmus.tuning.choice import Choice
from isthmus.tuning.export import export
from isthmus.tuning.table import DecisionTable, Point, Row
from mpi_programs import compiled, launcher
from test_run_program import MPIS, run

ROOT = Path(__file__).parents[2]
FASTER = "the MPI library's own is faster"
#: `many COUNT CALLS persistent`: calls of Iallreduce one after the other, with a computation in between.
MANY = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  const int count = atoi(argv[1]), calls = atoi(argv[2]), persistent = argc > 3;
  double *a = calloc((size_t)count, 8), *b = calloc((size_t)count, 8), wrong = 0;
  int rank, ranks;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#if MPI_VERSION >= 4
  if (persistent) MPI_Allreduce_init(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
#endif
  for (int i = 0; i < calls; ++i) {
    a[i % count] = rank + i;
    if (persistent) MPI_Start(&request);
    else MPI_Iallreduce(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    for (volatile int work = 0; work < 1000; ++work) continue;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += b[i % count] != ranks * i + ranks * (ranks - 1) / 2;
  }
  if (persistent) MPI_Request_free(&request);
  MPI_Finalize();
  return wrong != 0;
}
"""


@pytest.fixture(scope="module", params=MPIS)
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name: str = request.param
    folder = tmp_path_factory.mktemp("many")
    (folder / "many.c").write_text(MANY)
    return name, compiled(str(folder / "many.c"), name, folder)


def forms(name: str) -> list[tuple[str, list[str]]]:
    """Open MPI 4 has no persistent collectives."""
    return [("iallreduce", []), *([("allreduce_init", ["persistent"])] if name == "mpich" else [])]


def test_calls_take_turns(many: tuple[str, Path]) -> None:
    """96 of the first 112 calls are compared, half of them on each side; of each turn the first half is not timed.

    Without comparison all calls are ours.
    """
    name, program = many
    for collective, form in forms(name):
        found, _ = run(name, 2, program, "4", "120", *form)
        row = next(row for row in found["collectives"] if row["collective"] == collective)
        assert row["left"] == {"compared": 2 * 48}
        assert row["taken"] == 2 * (120 - 48)
        for side in ("isthmus", "library"):
            assert row[side]["calls"] == 24
            assert 0 < row[side]["low"] <= row[side]["median"] <= row[side]["high"]
        found, _ = run(name, 2, program, "4", "120", *form, options=("--no-compare",))
        assert {why for row in found["collectives"] for why in row["left"]} == set()


def test_what_is_slow_is_handed_back(many: tuple[str, Path], tmp_path: Path) -> None:
    """An algorithm of many small messages is slower than the library's own: the calls that follow are the library's."""
    name, program = many
    slow = Point(0, Choice.of("segmented_ring,segment=16"), None, None, None)
    export(DecisionTable({"allreduce": [Row(2, (slow,), True)]}), "isthmus").save(tmp_path / "slow.txt")
    options = ("--collectives", str(tmp_path / "slow.txt"))
    for collective, form in forms(name):
        # Processors that others use as well hide the difference: calls of either side then wait for them.
        for _ in range(4):
            found, _ = run(name, 2, program, "4096", "300", *form, options=options)
            row = next(row for row in found["collectives"] if row["collective"] == collective)
            if row["isthmus"]["low"] > 1.1 * row["library"]["high"]:
                assert row["left"][FASTER] >= 2 * 80
            if row["isthmus"]["median"] > 1.5 * row["library"]["median"]:
                break
        else:
            if row["library"]["median"] > 2e-3:
                pytest.skip("a call of some 20 us takes milliseconds: other programs have the processors")
            pytest.fail(f"{collective}: {row['isthmus']}, library {row['library']}")


#: The number of threads is one, or more where a word follows.
WAYS = [(name, ranks, threads) for name in MPIS for ranks in (2, 3) for threads in ((), ("threads",))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "ranks", "threads"), WAYS)
def test_many_under_way(name: str, ranks: int, threads: tuple[str, ...], tmp_path: Path) -> None:
    """Ended in every way, in any order, beside messages, on communicators that are freed meanwhile."""
    calls = "80" if ranks == 2 else "30"
    found, printed = run(name, ranks, compiled("turns.c", name, tmp_path), calls, str(ranks), *threads)
    assert ", 0 wrong" in printed
    assert found["share"] == 1
    assert any("compared" in row["left"] for row in found["collectives"])


@pytest.mark.parametrize("seed", ["1", "2"])
def test_ranks_that_run_ahead_take_the_same_side(seed: str, tmp_path: Path) -> None:
    """Nobody waits for a verdict, which holds from the same call on for all."""
    sources = [str(ROOT / "runtime" / "interpose" / f"{part}.c") for part in ("agreed", "series", "tallies")]
    folders = [f"-I{ROOT / folder}" for folder in ("runtime/interpose", "recorder", "runtime/include")]
    program = compiled("skewed.c", "openmpi", tmp_path, "-D_GNU_SOURCE", *folders, *sources, "-lm")
    done = subprocess.run(
        [*launcher("openmpi", 4), str(program), seed], capture_output=True, text=True, timeout=200, check=True
    )
    sides, changes = done.stdout.split(";")
    assert sides == "0 calls on different sides"
    first = [int(word) for word in changes.split()[1:]]
    assert all(first[:3])
    assert first[3] == 0
