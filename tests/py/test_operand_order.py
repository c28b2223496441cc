"""Which algorithms combine operands in the order of ranks: what the catalogue says is what the proof finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.collectives import algorithms, collective, describe
from isthmus.collectives.order import keeps_order
from isthmus.errors import InvalidInput, Unsupported
from isthmus.proof.contract import Contract
from isthmus.proof.prove import prove
from isthmus.proof.sweep import REDUCTIONS, cases

EVERY = [(kind, name) for kind in REDUCTIONS for name in algorithms(kind) if describe(kind, name).reference]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_the_catalogue_says_what_the_proof_finds(kind: str, name: str) -> None:
    """All options and roots on up to 9, 12, 16 and 17 ranks: where the catalogue says so the order is proved, and
    an algorithm for operators that commute has a case with another."""
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for ranks in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17):
        for case in cases(kind, name, ranks):
            # Sizes of fewer bytes than ranks leave little to combine.
            if case.arguments.get("bytes") in (0, 3) or (ranks > 9 and not case.arguments["in_place"]):
                continue
            try:
                schedule = collective(kind, algorithm=(name, case.options), buffers=True, **case.arguments)
            except (InvalidInput, Unsupported):
                continue
            root = case.arguments.get("root", 0)
            said = keeps_order(kind, (name, case.options), ranks=ranks, root=root)
            kept[said].append(prove(schedule, Contract.collective(kind, ordered=True, **case.arguments)).ok)
    assert all(kept[True])
    assert not kept[False] or not all(kept[False])
    # What is kept nearly always is not said to be kept, but what is never kept has to have a reason.
    assert bool(kept[True]) == (describe(kind, name).order in ("ranks", "from root", "in groups"))


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_consecutive_ranks(seed: int) -> None:
    random = np.random.default_rng(seed)
    ranks = int(random.integers(2, 14))
    labels = random.integers(0, 3, ranks)
    if seed % 2:
        labels = random.permutation(np.unique(labels))[np.searchsorted(np.unique(labels), np.sort(labels))]
    algorithm = ("hierarchical", {"groups": labels.tolist()})
    schedule = collective("allreduce", ranks=ranks, bytes=8, algorithm=algorithm, buffers=True)
    proved = prove(schedule, Contract.collective("allreduce", ranks=ranks, bytes=8, ordered=True)).ok
    assert proved or not keeps_order("allreduce", algorithm, ranks=ranks)
    if seed % 2:
        assert keeps_order("allreduce", algorithm, ranks=ranks)


def test_others_are_refused_where_operators_do_not_commute() -> None:
    assert len(collective("allreduce", ranks=4, bytes=8, ordered=True))
    with pytest.raises(
        InvalidInput, match=r"allreduce by ring combines operands in another order .* one of recursive_d"
    ):
        collective("allreduce", ranks=4, bytes=8, algorithm="ring", ordered=True)
    with pytest.raises(InvalidInput, match=r"reduce by binomial combines .* from the root on, but .* needs root 0"):
        collective("reduce", ranks=4, bytes=8, root=2, ordered=True)
    with pytest.raises(InvalidInput, match=r"reduce_scatter by pairwise .* needs one of linear, butterfly"):
        collective("reduce_scatter", ranks=4, bytes=8, ordered=True)


def test_tuning_tries_only_those_that_keep_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    what: dict[str, Any] = {"ranks": 16, "sizes": [8, 1_000_000]}
    found = isthmus.tune("allreduce", "torus-4x4x4", ordered=True, **what)
    names = {choice.name for choice in found.sweeps[0].choices}
    assert names == {name for name in algorithms("allreduce") if keeps_order("allreduce", name)}
    assert "ring" in {choice.name for choice in isthmus.tune("allreduce", "torus-4x4x4", **what).sweeps[0].choices}
    words = ["tune", "allreduce", "--machine", "torus-4x4x4", "--ranks", "4", "--sizes", "8", "--ordered"]
    with pytest.raises(InvalidInput, match=r"by swing combines operands"):
        isthmus.tune("allreduce", "torus-4x4x4", algorithms=["swing"], ordered=True, **what)
    main([*words, "--json"])
    assert "allreduce" in capsys.readouterr().out


def test_programs_are_lowered_in_order() -> None:
    b = isthmus.ProgramBuilder(6)
    b.allreduce(None, 60_000)
    b.collective("reduce_scatter", None, 600)
    program = b.build()
    kinds = ["allreduce", "reduce_scatter"]

    def alone(**chosen: str) -> isthmus.Schedule:
        return isthmus.lower(program, collectives=chosen)

    # The default of reduce_scatter does not keep the order, a mapping that names one that does not is refused.
    assert isthmus.lower(program, ordered=kinds) == alone(reduce_scatter="linear") != alone()
    with pytest.raises(InvalidInput, match=r"allreduce by ring combines"):
        isthmus.lower(program, collectives={"allreduce": "ring"}, ordered=kinds)
    # What a library would take gives way.
    from isthmus.tuning.defaults import defaults

    library = isthmus.lower(program, collectives=defaults("openmpi"), ordered=kinds)
    assert library != isthmus.lower(program, collectives=defaults("openmpi"))
    rooted = isthmus.ProgramBuilder(4)
    rooted.reduce(None, 8, root=2)
    with pytest.raises(InvalidInput, match=r"needs root 0"):
        isthmus.lower(rooted.build(), ordered=["reduce"])
