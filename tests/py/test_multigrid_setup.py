"""Setup of BoomerAMG by the model, beside what the recorder sees of hypre."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import isthmus
from isthmus import InvalidInput
from isthmus.cli import main
from isthmus.mpi.launcher import Launcher
from isthmus.multigrid import Costs, Hierarchy, gathered, hypre, setup, setup_counts
from isthmus.multigrid.counts_file import read_counts
from isthmus.multigrid.setup import STAGES
from test_multigrid_enlarge import square
from test_multigrid_hypre import launch, needs_hypre

COSTS = Costs(alpha=1e-6, beta=1e-9, gamma=1e-7, nearest=1, farthest=3, flop=1e-9)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Hierarchy, isthmus.Program]]:
    """Setups that no rule of the model was taken from: anisotropic with HMIS, elasticity with PMIS."""
    folder = tmp_path_factory.mktemp("setup")
    built = hypre.program(hypre.mpi_of(Launcher.parse(launch(8)), None))
    out = {}
    for name, problem, coarsen, unknowns in (("hmis", "anisotropic", 10, 1), ("pmis", "elasticity", 8, 3)):
        words = [f"problem={problem}", "points=12x12x12", "boxes=2x2x2", f"coarsen={coarsen}", "interp=6", "elements=4",
                 "agg=0", "threshold=0.25", "cycles=0", f"unknowns={unknowns}", "epsilon=0.01",
                 f"out={folder / name}"]  # fmt: skip
        command = [
            sys.executable,
            "-m",
            "isthmus",
            "record",
            "-o",
            str(folder / f"{name}.h5"),
            "--",
            *launch(8).split(),
        ]
        subprocess.run([*command, str(built), *words], check=True, capture_output=True)
        found = isthmus.read(folder / f"{name}.h5")
        assert isinstance(found, isthmus.Program)
        out[name] = read_counts(folder / name), found
    return out


@needs_hypre
@pytest.mark.parametrize("coarsening", ["hmis", "pmis"])
def test_messages_are_those_that_the_recorder_sees(
    coarsening: str, recorded: dict[str, tuple[Hierarchy, isthmus.Program]]
) -> None:
    levels, program = recorded[coarsening]
    seen = setup_counts(program)
    rounds = [one["coarsening"].most.collectives - 1 for one in seen[: len(levels) - 1]]
    unknowns = 3 if coarsening == "pmis" else 1
    told = setup(levels, COSTS, coarsening=coarsening, rounds=rounds, unknowns=unknowns)
    for number, level in enumerate(told.levels):
        for stage in STAGES:
            messages, true = level[stage].messages, seen[number][stage].most.messages
            # With the rounds known, coarsening is exact but for the list of the first level.
            if stage == "coarsening" and number:
                assert messages == true
            assert messages == pytest.approx(true, rel=0.3, abs=14), (number, stage)
            assert level[stage].collectives == seen[number][stage].most.collectives, (number, stage)
    total = sum(stage.messages for level in told.levels for stage in level.values())
    assert total == pytest.approx(sum(one.most.messages for level in seen[: len(levels) - 1] for one in level.values()),
                                  rel=0.1)  # fmt: skip
    # Rounds that the model assumes.
    guess = setup(levels, COSTS, coarsening=coarsening, unknowns=unknowns)
    assert guess.seconds == pytest.approx(told.seconds, rel=0.25)


@needs_hypre
def test_command_with_a_recording(
    recorded: dict[str, tuple[Hierarchy, isthmus.Program]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels, program = recorded["pmis"]
    levels.save(tmp_path / "levels.h5")
    program.save(tmp_path / "setup.h5")
    words = ["multigrid", "setup", str(tmp_path / "levels.h5"), "--machine", "eos", "--coarsening", "pmis"]
    main([*words, "--recorded", str(tmp_path / "setup.h5")])
    out = capsys.readouterr().out
    assert "against the recording" in out
    main([*words, "--recorded", str(tmp_path / "setup.h5"), "--json"])
    stages = json.loads(capsys.readouterr().out)["stages"]
    assert {row["stage"] for row in stages} == set(STAGES)
    assert all(row["recorded_messages"] > 0 for row in stages)
    square(96, 4).save(tmp_path / "other.h5")
    with pytest.raises(SystemExit, match="2"):
        main(["multigrid", "setup", str(tmp_path / "other.h5"), "--machine", "eos",
              "--recorded", str(tmp_path / "setup.h5")])  # fmt: skip
    assert "has 8 ranks, the hierarchy 4 parts" in capsys.readouterr().err


def test_by_hand() -> None:
    """Squares on 4 x 4 parts: 4 neighbours with A on every level, none with P, as coarse rows stay with their parts."""
    levels = square(64, 16)
    told = setup(levels, COSTS, coarsening="pmis", rounds=5)
    first = told.levels[0]
    a, n = levels.levels[0].matrix.most[0], levels.levels[1].matrix.most[0]
    assert (a, n, levels.levels[0].interpolation.most[0]) == (4, 4, 0)  # type: ignore[union-attr]
    assert first["coarsening"].messages == (3 * 5 - 1) * a + 4 * a + 4
    assert told.levels[1]["coarsening"].messages == (3 * 5 - 1) * n
    assert first["interpolation"].messages == 5 * a + 2 * (a + n) + 4 * n + 4
    assert first["product"].messages == 3 * a + 4 * n + 4
    assert first["coarsening"].collectives == 6
    rows = 64  # four sides of 16 points
    assert first["coarsening"].bytes == rows * (2 * 8 + 12 * 4)
    alpha = 1e-6 + 2 * 1e-7
    one = first["coarsening"]
    expected = one.messages * alpha + one.bytes * 1e-9 + 6 * 2 * 4 * alpha
    assert told.taken[0]["coarsening"] == pytest.approx(expected, rel=1e-12)
    assert told.seconds == pytest.approx(sum(row["seconds"] for row in told.frame()), rel=1e-12)
    # Gathered levels take less.
    assert setup(gathered(levels, {2: 2}), COSTS).seconds < setup(levels, COSTS).seconds


def test_refusals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    levels = square(64, 16)
    with pytest.raises(InvalidInput, match="coarsening 'cljp': must be one of pmis, hmis"):
        setup(levels, COSTS, coarsening="cljp")
    with pytest.raises(InvalidInput, match="must be 1 or more, one number or 6"):
        setup(levels, COSTS, rounds=[1, 2])
    with pytest.raises(InvalidInput, match="has no paths of calls: record it"):
        setup_counts(isthmus.example("stencil:ranks=4"))
    levels.save(tmp_path / "levels.h5")
    with pytest.raises(SystemExit, match="2"):
        main(["multigrid", "setup", str(tmp_path / "levels.h5"), "--machine", "eos", "--rounds", "1,x"])
    assert "--rounds 1,x: expected a number" in capsys.readouterr().err
