"""What libraries decide by themselves: facts against their sources, and against the library that is here."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import InvalidInput
from isthmus.tuning.choice import Choice
from isthmus.tuning.defaults import defaults
from isthmus.tuning.defaults.mpich import MpichDefaults
from isthmus.tuning.defaults.openmpi import OpenMpiDefaults
from isthmus.tuning.libraries import openmpi as library
from isthmus.tuning.libraries.canonical import canonical
from isthmus.tuning.libraries.mpich_tree import installed as in_library
from isthmus.tuning.rule import Rule
from mpi_programs import installed


@pytest.mark.parametrize(
    ("kind", "ranks", "size", "name"),
    [
        ("bcast", 64, 8, "knomial,radix=4,segment=0"),
        ("bcast", 1024, 524_287, "knomial,radix=4,segment=0"),
        ("bcast", 1024, 524_288, "scatter_allgather"),
        ("allreduce", 512, 2047, "binomial"),
        ("allreduce", 512, 2048, "recursive_doubling"),
        ("allreduce", 512, 16384, "rabenseifner"),
        ("alltoall", 64, 1023, "bruck,radix=2"),
        ("alltoall", 64, 262_144, "pairwise"),
        # Recursive doubling gives way to Bruck's algorithm, neighbour exchange to the ring.
        ("allgather", 16, 10**6, "recursive_doubling"),
        ("allgather", 31, 10**6, "bruck,radix=2"),
        ("allgather", 65, 512, "ring"),
        ("allgather", 64, 512, "neighbor_exchange"),
        ("barrier", 7, 0, "linear"),
        ("barrier", 8, 0, "recursive_doubling"),
        # Sizes of reduce_scatter are of all blocks there: 262144 bytes of 8 ranks.
        ("reduce_scatter", 8, 32767, "recursive_halving"),
        ("reduce_scatter", 8, 32768, "ring"),
        ("scan", 64, 8, "linear"),
    ],
)
def test_open_mpi(kind: str, ranks: int, size: int, name: str) -> None:
    assert canonical(kind, defaults("openmpi").lookup(kind, ranks, size)) == canonical(kind, Choice.of(name))


@pytest.mark.parametrize(
    ("kind", "ranks", "size", "name"),
    [
        ("bcast", 7, 10**7, "binomial"),
        ("bcast", 64, 12288, "binomial"),
        ("bcast", 64, 12289, "scatter_allgather"),
        ("bcast", 65, 12289, "scatter_allgather_ring"),
        ("allgather", 64, 8191, "recursive_doubling"),
        ("allgather", 64, 8192, "ring"),
        ("allgather", 100, 819, "bruck,radix=2"),
        ("allgather", 100, 820, "ring"),
        ("alltoall", 9, 256, "bruck,radix=2"),
        ("alltoall", 8, 256, "linear,window=32"),
        ("alltoall", 64, 32769, "pairwise"),
        ("allreduce", 64, 63 * 8, "recursive_doubling"),
        ("allreduce", 64, 64 * 8, "rabenseifner"),
        ("reduce_scatter", 8, 65536, "pairwise"),
    ],
)
def test_mpich(kind: str, ranks: int, size: int, name: str) -> None:
    assert canonical(kind, defaults("mpich").lookup(kind, ranks, size)) == canonical(kind, Choice.of(name))


@given(
    st.sampled_from(["openmpi", "openmpi-5", "mpich"]), st.integers(1, 10**6), st.booleans(), st.sampled_from([1, 16])
)
def test_rules_are_whole(name: str, ranks: int, ordered: bool, per_node: int) -> None:
    found = defaults(name, ordered=ordered, ranks_per_node=per_node)
    for kind in found.collectives:
        rules = found.rules(kind, ranks)
        assert rules[0].bytes == 0
        assert all(a.bytes < b.bytes and a.choice != b.choice for a, b in itertools.pairwise(rules))


def test_nodes_of_several_ranks() -> None:
    assert defaults("openmpi-4.1", ranks_per_node=16).lookup("bcast", 64, 8).name == "knomial"
    assert str(defaults("openmpi-5", ranks_per_node=16).lookup("bcast", 64, 8)) == "hierarchical,groups=16"
    assert defaults("openmpi-5", ranks_per_node=64).lookup("bcast", 64, 8).name == "knomial"
    mpich = defaults("mpich", ranks_per_node=16)
    assert [str(mpich.lookup("bcast", 64, size)) for size in (8, 524_288)] == [
        "hierarchical,groups=16",
        "scatter_allgather",
    ]
    assert mpich.lookup("allgather", 64, 8).name == "recursive_doubling"


def test_every_number_of_the_facts_is_an_algorithm() -> None:
    for ordered in (False, True):
        model = OpenMpiDefaults(ordered=ordered)
        for names in library.NUMBERS.values():
            for name in set(names) - {"scan", "exscan"}:
                known = {a.number for a in library.algorithms(name, (4, 1, 0))}
                for ranks in (2, 3, 5, 9, 17, 33, 65, 129, 300, 600, 1200, 2500, 5000):
                    rules = model.numbers(name, ranks)
                    assert rules[0][0] == 0
                    assert {number for _, number in rules} <= known


def test_the_tree_of_the_library_that_is_here_decides_the_same() -> None:
    there = in_library(installed("mpich").mpi.library)
    own, model = MpichDefaults(there.tree), defaults("mpich")
    for kind in model.collectives:
        for ranks in (2, 3, 7, 8, 9, 16, 31, 64, 100, 1024, 5000):
            assert own.rules(kind, ranks) == model.rules(kind, ranks), (kind, ranks)
    assert "MPIR_Bcast_intra_binomial" in there.algorithms


def test_other_libraries_are_not_known() -> None:
    with pytest.raises(InvalidInput, match="openmpi, mpich"):
        defaults("intel")
    assert isinstance(defaults("mpich").rules("barrier", 4)[0], Rule)
