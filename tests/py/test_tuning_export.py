"""Files for MPI libraries: as the libraries read them, checked by readers of their own."""

from __future__ import annotations

import functools
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus.collectives import algorithms
from isthmus.errors import InvalidInput, ParseError
from isthmus.tuning.choice import Choice
from isthmus.tuning.compare import predictor
from isthmus.tuning.defaults import defaults
from isthmus.tuning.defaults.mpich import MpichDefaults
from isthmus.tuning.export import Export, Guard, export, guard_for
from isthmus.tuning.export.mpich import format_tree
from isthmus.tuning.export.openmpi_reading import read_rules
from isthmus.tuning.libraries import mpich, openmpi
from isthmus.tuning.libraries.canonical import canonical, pretty
from isthmus.tuning.libraries.mpich_tree import Situation, read_tree, select, thresholds
from isthmus.tuning.programs import Given
from isthmus.tuning.rule import KINDS
from isthmus.tuning.scenario import alike
from isthmus.tuning.table import DecisionTable, Point, Row
from tables import starting

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from exports import compared, does

# A tree as MPICH 5 has it, of three collectives: a condition on the call stands before one on the communicator.
OWN: dict[str, Any] = {
    "collective=bcast": {
        "comm_type=intra": {
            "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
            "comm_size=any": {
                "avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Bcast_inter_remote_send_local_bcast": {}},
    },
    "collective=allreduce": {
        "comm_type=intra": {
            "is_op_built_in=no": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
            "is_op_built_in=yes": {
                "count<pow2": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
                "count=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
    },
    "collective=allgather": {
        "comm_type=intra": {
            "comm_size=pow2": {"algorithm=MPIR_Allgather_intra_recursive_doubling": {}},
            "comm_size=any": {
                "total_msg_size<81920": {"algorithm=MPIR_Allgather_intra_brucks": {}},
                "total_msg_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Allgather_inter_local_gather_remote_bcast": {}},
    },
    "collective=ibcast": {"algorithm=MPIR_Ibcast_intra_sched_binomial": {}},
}
SMALL = DecisionTable(
    {"bcast": [starting(4, (0, "linear"), (512, "knomial,radix=4,segment=0"), (8192, "chain,radix=1,segment=4096"))]}
)


def times(kind: str, ranks: int, size: int, choice: Choice) -> float:
    """Made up: every algorithm has a time of its own."""
    return {"linear": 5.0, "binomial": 1.1, "ring": 1.2, "knomial": 1.3, "double_tree": 1.0}.get(choice.name, 9.0)


# Open MPI


@pytest.mark.parametrize(("version", "form"), [("4.1.4", 1), ("5.0.6", 1), ("5.0.7", 2), ("5.0.11", 2), ("6.0.0", 3)])
def test_the_version_decides_the_format(version: str, form: int) -> None:
    found = export(SMALL, f"openmpi-{version}")
    rules, read = read_rules(found.text, "rules")
    assert read == form
    lines = rules["bcast"][4]
    assert [(line.size, line.number, line.segment) for line in lines] == [(0, 1, 0), (512, 7, 0), (8192, 3, 4096)]
    assert [line.name for line in lines] == ["basic_linear", "knomial", "pipeline"]
    assert found.losses == []
    assert any("nonblocking, persistent and neighbourhood" in note for note in found.notes)
    settings = found.environment("rules.conf")
    assert settings["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert settings["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(Path("rules.conf").absolute())
    assert ("OMPI_MCA_coll_han_priority" in settings) == (form > 1 or version.startswith("5"))


def test_smaller_communicators_keep_the_library_s_own_rules() -> None:
    rules, _ = read_rules(export(SMALL, "openmpi-4.1.4").text, "rules")
    assert [(line.size, line.number) for line in rules["bcast"][0]] == [(0, 0)]
    data = json.loads(export(SMALL, "openmpi-6.0.0").text)
    assert data["collectives"]["bcast"][0]["comm_size_min"] == 4


def test_sizes_of_blocks_count_those_of_all_ranks() -> None:
    table = DecisionTable(
        {"alltoall": [starting(8, (0, "pairwise"), (100, "linear,window=0")), starting(64, (0, "pairwise"))]}
    )
    rules, _ = read_rules(export(table, "openmpi-4.1.4").text, "rules")
    rows = rules["alltoall"]
    assert rows[8][1].size == 800
    assert [line.size for line in rows[64]] == [0]
    # A communicator between two rows gets a threshold within a quarter of the one that was meant.
    for ranks in range(8, 64):
        (size,) = [line.size for line in rows[max(count for count in rows if count <= ranks)][1:]]
        assert 100 * 0.79 < size / ranks <= 100


@pytest.mark.parametrize("kind", ["gather", "scatter", "scan", "barrier"])
def test_collectives_of_which_ranks_read_different_sizes_get_one_rule(kind: str) -> None:
    rules = Row(
        8,
        tuple(
            Point(
                size,
                Choice("linear" if size < 64 else "recursive_doubling" if kind in ("scan", "barrier") else "binomial"),
            )
            for size in (8, 16, 32, 64)
        ),
    )
    found = export(DecisionTable({kind: [rules]}), "openmpi-4.1.4")
    (name,) = openmpi.NUMBERS[kind]
    read, _ = read_rules(found.text, "rules")
    assert [(line.size, line.number) for line in read[name][8]] == [(0, 1)]
    assert any("one algorithm for all sizes" in note for note in found.notes)
    if kind in ("gather", "scatter"):
        by_size, _ = read_rules(export(DecisionTable({kind: [rules]}), "openmpi-4.1.4", by_size=[kind]).text, "rules")
        assert len(by_size[name][8]) == 2


def test_requests_of_a_window_need_version_2() -> None:
    table = DecisionTable({"alltoall": [starting(8, (0, "linear,window=4"))]})
    rules, _ = read_rules(export(table, "openmpi-5.0.8").text, "rules")
    assert (rules["alltoall"][8][0].name, rules["alltoall"][8][0].requests) == ("linear_sync", 4)
    old = export(table, "openmpi-4.1.4")
    (loss,) = old.losses
    assert str(loss.wanted) == "linear,window=4"
    assert loss.running is not None
    assert loss.running.name == "linear"


def test_one_radix_of_trees_is_set_for_the_whole_run() -> None:
    rows = [
        starting(8, (0, "knomial,radix=8,segment=0")),
        starting(64, (0, "knomial,radix=8,segment=0")),
        starting(512, (0, "knomial,radix=3,segment=0")),
    ]
    found = export(DecisionTable({"bcast": rows}), "openmpi-4.1.4", predict=times)
    assert found.settings["OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix"] == "8"
    assert [(loss.ranks, str(loss.wanted)) for loss in found.losses] == [(512, "knomial,radix=3,segment=0")]


def test_the_nearest_stands_in_and_the_loss_is_told() -> None:
    table = DecisionTable({"bcast": [starting(8, (0, "double_tree,segment=0"), (4096, "linear"))]})
    left = export(table, "openmpi-4.1.4")
    assert (left.losses[0].running, left.losses[0].loss) == (None, None)
    assert read_rules(left.text, "rules")[0]["bcast"][8][0].number == 0
    found = export(table, "openmpi-4.1.4", predict=times)
    (loss,) = found.losses
    assert str(loss.running) == "binomial"
    assert loss.loss == pytest.approx(0.1)
    assert (loss.low, loss.high) == (0, 4095)
    assert "no double_tree,segment=0; binomial instead, loss 10 %" in found.report("rules.conf")


WRONG = [
    ("", "the number of collectives"),
    ("1\n99\n", "collective 99"),
    ("1\n7\n1\n4\n1\n8 1 0 0\n", "the first must be 0"),
    ("1\n7\n1\n4\n2\n0 1 0 0\n0 1 0 0\n", "ascend"),
    ("1\n7\n2\n4\n1\n0 1 0 0\n4\n1\n0 1 0 0\n", "must ascend"),
    ("1\n7\n1\n4\n1\n0 1 0\n", "a segment"),
    ("rule-file-version-2\n1\n7\n1\n4\n1\n0 1 0 0\n", "requests"),
    ("1\n7\n1\n4\n1\n0 one 0 0\n", "'one'"),
    ('{"collectives": 3}', "in JSON"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_files_that_the_library_would_ignore(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=re.escape(words)):
        read_rules(text, "rules")


def test_han_hands_back_what_is_not_hierarchical() -> None:
    table = DecisionTable(
        {"bcast": [starting(8, (0, "hierarchical,groups=4"), (4096, "binomial"))], "scan": [starting(8, (0, "linear"))]}
    )
    found = export(table, "openmpi-han-5.0.8")
    words = [word for line in found.text.splitlines() for word in line.partition("#")[0].split()]
    within, between = "0 1 1 1 0 tuned", "1 1 1 1 0 tuned"
    assert " ".join(words) == f"1 7 3 {within} {between} 2 2 1 1 0 han 8 2 0 han 4096 tuned"


# The library's own choice


NEVER_BETTER = DecisionTable(
    {
        kind: [Row(ranks, tuple(Point(size, Choice.of(name)) for size, name in points)) for ranks in (8, 24)]
        for kind, points in {
            "bcast": ((8, "linear"), (4096, "knomial,radix=8"), (262_144, "scatter_allgather_ring")),
            "allreduce": ((8, "rabenseifner"), (4096, "rabenseifner"), (262_144, "recursive_doubling")),
            "allgather": ((8, "ring"), (4096, "ring"), (32_768, "recursive_doubling")),
            "alltoall": ((8, "linear"), (512, "bruck"), (4096, "pairwise")),
            "reduce": ((8, "linear"), (4096, "binary"), (262_144, "binomial")),
            "gather": ((8, "linear"), (4096, "linear"), (32_768, "linear")),
        }.items()
    }
)


@pytest.mark.parametrize("target", ["openmpi-4.1.4", "openmpi-5.0.8", "mpich"])
@pytest.mark.parametrize("model", ["loggops", "flow"])
def test_no_row_of_a_file_is_slower_than_the_library_by_itself(target: str, model: str) -> None:
    machine = isthmus.load("eos")
    predict = functools.cache(predictor(machine, model=model))
    options = {"tree": MpichDefaults().tree} if target == "mpich" else {}
    worst = {}
    for guarded in (False, True):
        guard = guard_for(target, predict, ranks_per_node=machine.node.cores, model=model) if guarded else None
        made = export(NEVER_BETTER, target, predict=predict, guard=guard, **options)
        assert any("not compared" in note for note in made.notes) != guarded
        ratios = [
            (ratio, said)
            for kind, row, point in NEVER_BETTER.items()
            for _, ratio, said in compared(made, target, kind, row.ranks, (point.bytes,), predict, machine.node.cores)
        ]
        worst[guarded] = max(ratio for ratio, said in ratios if not said)
    assert worst[False] > 1.5
    assert worst[True] <= 1 + alike(model)
    # Some rows are better than what the library does, and stand in the file.
    assert any(does(target, made.text, kind, row.ranks, p.bytes) for kind, row, p in NEVER_BETTER.items())


def test_what_is_no_better_than_the_library_is_left_to_it_and_told() -> None:
    def predict(kind: str, ranks: int, size: int, choice: Choice) -> float:
        slow = {"linear": 2.0 if size < 1000 else 0.5, "recursive_doubling": 1.0004, "ring": 1.0}
        return slow.get(choice.name, 1.0)

    points = [Point(size, Choice("linear")) for size in (8, 64, 512, 4096)]
    table = DecisionTable({"allreduce": [Row(16, tuple(points))], "scan": [Row(16, tuple(points[:3]))]})
    own = Given({"allreduce": "ring", "scan": "linear"})
    made = export(table, "openmpi-4.1.4", predict=predict, guard=Guard(own, predict))
    (loss,) = made.losses
    assert (loss.collective, loss.low, loss.high, loss.running) == ("allreduce", 0, 1448, None)
    assert loss.own == pytest.approx(1.0)
    assert "linear is up to 100 % slower than what the library decides by itself" in str(loss)
    rules, _ = read_rules(made.text, "rules")
    assert [(line.size, line.number) for line in rules["allreduce"][16]] == [(0, 0), (1449, 1)]
    # What the library does anyway is nothing lost.
    assert [(line.size, line.number) for line in rules["scan"][16]] == [(0, 0)]
    # Better by less than the model can tell is no better.
    near = DecisionTable({"allreduce": [Row(64, (Point(4096, Choice("recursive_doubling")),))]})
    guard = Guard(Given({"allreduce": "linear"}), lambda *key: 1.0 if key[3].name == "linear" else 0.9996)
    (close,) = export(near, "openmpi-4.1.4", predict=predict, guard=guard).losses
    assert "no faster" in str(close)
    far = Guard(Given({"allreduce": "linear"}), lambda *key: 1.0 if key[3].name == "linear" else 0.99)
    assert export(near, "openmpi-4.1.4", predict=predict, guard=far).losses == []
    assert export(near, "openmpi-4.1.4", predict=predict, guard=replace(far, model="flow")).losses == []


def test_the_library_is_looked_at_where_it_changes_its_mind() -> None:
    """Its ring for 16 to 31 bytes lies between two tuned sizes, at which it is faster than what was chosen."""
    own = Given({"allreduce": [(15, "recursive_doubling"), (31, "ring"), (None, "recursive_doubling")]})
    slow = {"rabenseifner": 3.0, "ring": 5.0}
    table = DecisionTable({"allreduce": [Row(24, tuple(Point(size, Choice("rabenseifner")) for size in (8, 64)))]})
    made = export(table, "openmpi-4.1.4", guard=Guard(own, lambda *key: slow.get(key[3].name, 1.0)))
    found = [does("openmpi-4.1.4", made.text, "allreduce", 24, size) for size in (0, 8, 15, 16, 31, 32, 64)]
    assert found == [None, None, None, Choice("rabenseifner"), Choice("rabenseifner"), None, None]


def test_one_rule_for_all_sizes_is_worse_at_none() -> None:
    def predict(kind: str, ranks: int, size: int, choice: Choice) -> float:
        return {"linear": 0.5 if size < 1000 else 2.0}.get(choice.name, 1.0)

    table = DecisionTable({"scatter": [Row(8, tuple(Point(size, Choice("linear")) for size in (8, 64, 512, 4096)))]})
    guard = Guard(Given({"scatter": "binomial"}), predict)
    made = export(table, "openmpi-4.1.4", predict=predict, guard=guard)
    assert [line.number for line in read_rules(made.text, "rules")[0]["scatter"][8]] == [0]
    assert [loss.own for loss in made.losses] == [pytest.approx(1.0)]
    small = DecisionTable({"scatter": [Row(8, tuple(Point(size, Choice("linear")) for size in (8, 64, 512)))]})
    kept = export(small, "openmpi-4.1.4", predict=predict, guard=guard)
    assert [line.number for line in read_rules(kept.text, "rules")[0]["scatter"][8]] == [1]


def test_a_radix_for_the_whole_run_goes_with_its_rules() -> None:
    """What the library decides by itself at 64 ranks is a tree too, whose radix the setting would change."""
    table = DecisionTable({"bcast": [starting(64, (0, "knomial,radix=8,segment=0"))]})
    times_of = {8: 2.0, 4: 1.0}
    predict = lambda *key: times_of.get(canonical(key[0], key[3]).options.get("radix"), 3.0)  # noqa: E731
    plain = export(table, "openmpi-4.1.4", predict=predict)
    assert "OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix" in plain.settings
    guard = guard_for("openmpi-4.1.4", predict)
    made = export(table, "openmpi-4.1.4", predict=predict, guard=guard)
    assert "OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix" not in made.settings


def test_a_library_that_is_faster_by_node_without_a_file_is_told() -> None:
    def predict(kind: str, ranks: int, size: int, choice: Choice) -> float:
        return {"hierarchical": 1.0, "linear": 1.5}.get(choice.name, 2.0)

    table = DecisionTable({"allreduce": [starting(64, (0, "linear"))]})
    guard = guard_for("openmpi-5.0.8", predict, ranks_per_node=16)
    (loss,) = export(table, "openmpi-5.0.8", predict=predict, guard=guard).losses
    assert loss.slower == pytest.approx(0.5)
    assert "up to 50 % slower than without the file" in str(loss)


# MPICH


def test_what_was_not_tuned_keeps_its_branches() -> None:
    table = DecisionTable({"allgather": [starting(4, (0, "ring"), (1000, "bruck,radix=2"))]})
    found = export(table, "mpich", tree=OWN)
    tree = read_tree(found.text, "tree")
    assert list(tree) == list(OWN)
    assert {key: tree[key] for key in tree if key != "collective=allgather"} == {
        key: OWN[key] for key in OWN if key != "collective=allgather"
    }
    assert tree["collective=allgather"]["comm_type=inter"] == OWN["collective=allgather"]["comm_type=inter"]

    def at(ranks: int, size: int) -> str:
        chosen = select(tree, Situation("allgather", ranks, size))
        assert chosen is not None
        return chosen[0].partition("_intra_")[2]

    assert [at(2, 8), at(3, 8), at(3, 10**6)] == ["recursive_doubling", "brucks", "ring"]
    assert [at(4, 999), at(4, 1000), at(8, 999), at(8, 1000), at(9, 5000)] == [
        "ring",
        "brucks",
        "ring",
        "brucks",
        "brucks",
    ]


def test_algorithms_stand_only_where_they_are_allowed() -> None:
    table = DecisionTable(
        {
            "allreduce": [starting(4, (0, "rabenseifner"))],
            "allgather": [starting(4, (0, "recursive_doubling"))],
        }
    )
    tree = read_tree(export(table, "mpich", tree=OWN).text, "tree")
    power = select(tree, Situation("allgather", 8, 8))
    other = select(tree, Situation("allgather", 9, 8))
    assert power == ("MPIR_Allgather_intra_recursive_doubling", {})
    assert other == ("MPIR_Allgather_intra_brucks", {})
    few = select(tree, Situation("allreduce", 8, 8 * 7))
    many = select(tree, Situation("allreduce", 8, 8 * 8))
    own = select(tree, Situation("allreduce", 8, 8 * 8, built_in=False))
    names = [found[0].partition("_intra_")[2] for found in (few, many, own) if found]
    assert names == ["recursive_doubling", "reduce_scatter_allgather", "recursive_doubling"]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 70), st.integers(0, 1 << 20), st.booleans(), st.booleans())
def test_every_branch_of_a_spliced_tree_ends(ranks: int, size: int, commutative: bool, built_in: bool) -> None:
    kinds = {"bcast": "scatter_allgather_ring", "allreduce": "rabenseifner", "allgather": "recursive_doubling"}
    table = DecisionTable(
        {kind: [starting(5, (0, name), (777, "ring")), starting(33, (0, name))] for kind, name in kinds.items()}
    )
    tree = read_tree(export(table, "mpich", tree=OWN).text, "tree")
    for kind in kinds:
        assert select(tree, Situation(kind, ranks, size, commutative=commutative, built_in=built_in)) is not None


def test_a_condition_met_when_called_holds_one_rank_further() -> None:
    plain = {"comm_size<8": {"algorithm=A": {}}, "comm_size=any": {"algorithm=B": {}}}
    called = {"is_sendbuf_inplace=no": plain, "is_sendbuf_inplace=yes": {"algorithm=C": {}}}
    assert select(plain, Situation("alltoall", 8)) == ("B", {})
    assert select(called, Situation("alltoall", 8)) == ("A", {})
    assert select(called, Situation("alltoall", 9)) == ("B", {})
    # Files say it in the way that means the same in both places.
    tree = read_tree(export(SMALL, "mpich", tree=OWN).text, "tree")
    assert list(tree["collective=bcast"]["comm_type=intra"]) == ["comm_size<=3", "comm_size=any"]


def test_thresholds_are_all_that_matters() -> None:
    situation = Situation("allgather", 100)
    starts = thresholds(OWN, situation)
    assert starts == [0, 820]  # 81920 bytes of 100 ranks
    assert thresholds(OWN, Situation("allreduce", 100)) == [0, 63 * 8 + 1]


def test_a_file_never_fills_its_last_page() -> None:
    for length in range(4080, 4110):
        assert len(format_tree({"algorithm=x": {"k" * length: {}}}).encode()) % 4096 != 0


def test_mpich_needs_a_tree(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(b"\0nothing here\0")
    with pytest.raises(InvalidInput, match="no selection tree"):
        export(SMALL, "mpich", library=str(tmp_path / "lib.so"))
    with pytest.raises(InvalidInput, match=r"MPICH 3\.0 is not installed"):
        export(SMALL, "mpich-3.0")
    with pytest.raises(InvalidInput, match="collective=allreduce is missing"):
        export(DecisionTable({"allreduce": [starting(4, (0, "ring"))]}), "mpich", tree={"collective=bcast": {}})


def test_a_tree_is_found_in_a_library(tmp_path: Path) -> None:
    text = json.dumps(OWN).encode()
    device = b'{"collective=bcast":{"composition=X":{}}}'
    names = b"\0algorithm=MPIR_Bcast_intra_tree\0algorithm=MPIR_Bcast_intra_binomial\0"
    (tmp_path / "lib.so").write_bytes(b"\x7fELF\0" + device + b"\0" + text + names)
    found = export(SMALL, "mpich", library=str(tmp_path / "lib.so"))
    tree = read_tree(found.text, "tree")
    assert select(tree, Situation("bcast", 4, 600)) == (
        "MPIR_Bcast_intra_tree",
        {"tree_type": "knomial_1", "is_non_blocking": "1", "k": "4"},
    )


# UCC


def test_tokens_of_ucc() -> None:
    table = DecisionTable(
        {
            "allreduce": [starting(8, (0, "recursive_doubling"), (4096, "ring"))],
            "alltoall": [starting(16, (0, "bruck,radix=2"), (100, "pairwise"))],
            "scan": [starting(8, (0, "linear"))],
        }
    )
    found = export(table, "ucc")
    assert found.settings["UCC_TL_UCP_TUNE"].split("#") == [
        "allreduce:0-4096:host:[8-15]:inf:@knomial",
        "allreduce:4096-inf:host:[8-15]:inf:@ring",
        "allreduce:0-4096:host:[16-inf]:inf:@knomial",
        "allreduce:4096-inf:host:[16-inf]:inf:@ring",
        "alltoall:0-1600:host:[16-inf]:inf:@bruck",
        "alltoall:1600-inf:host:[16-inf]:inf:@pairwise",
    ]
    assert found.settings["UCC_TL_UCP_ALLREDUCE_KN_RADIX"] == "2"
    assert found.settings["UCC_TL_UCP_ALLTOALL_PAIRWISE_NUM_POSTS"] == "1"
    assert any(note.startswith("scan") for note in found.notes)
    sections = export(table, "ucc", section="vendor=intel model=skylake", ranks_per_node=8).text
    assert re.findall(r"\[.*\]", sections) == [
        "[vendor=intel model=skylake team_size=8-15 ppn=8]",
        f"[vendor=intel model=skylake team_size=16-{2**31 - 1} ppn=8]",
    ]


def test_ucc_reads_no_names_where_there_is_one_algorithm() -> None:
    """A rule with a name for barrier, gather or scatter makes UCC drop the whole string."""
    table = DecisionTable(
        {
            "barrier": [starting(8, (0, "recursive_multiplying,radix=4"))],
            "gather": [starting(8, (0, "binomial"))],
            "scatter": [starting(8, (0, "binomial"))],
        }
    )
    found = export(table, "ucc")
    assert found.settings == {"UCC_TL_UCP_BARRIER_KN_RADIX": "4", "UCC_TL_UCP_GATHER_KN_RADIX": "2"}
    assert any(note.startswith("scatter") for note in found.notes)


def test_ranges_of_ucc_end_where_its_own_choice_begins() -> None:
    own = DecisionTable({"bcast": [starting(4, (0, "binomial"), (8, "library"), (64, "double_tree,segment=0"))]})
    tokens = export(own, "ucc").settings["UCC_TL_UCP_TUNE"]
    assert tokens == "bcast:0-7:host:[4-inf]:inf:@knomial#bcast:64-inf:host:[4-inf]:inf:@dbt"
    one = DecisionTable({"allreduce": [starting(4, (0, "recursive_doubling"), (1, "recursive_multiplying,radix=3"))]})
    found = export(one, "ucc").settings
    assert found["UCC_TL_UCP_TUNE"].split("#")[0] == "allreduce:0-1:host:[4-inf]:inf:@knomial"
    assert found["UCC_TL_UCP_ALLREDUCE_KN_RADIX"] == "0-0:host:2,1-inf:host:3"


def test_sections_of_ucc_have_only_what_holds_for_a_team() -> None:
    table = DecisionTable(
        {
            "bcast": [starting(4, (0, "binomial"), (4096, "scatter_allgather"))],
            "allreduce": [
                starting(4, (0, "recursive_multiplying,radix=3")),
                starting(9, (0, "recursive_doubling")),
            ],
        }
    )
    found = export(table, "ucc")
    assert any("UCC_TL_UCP_ALLREDUCE_KN_RADIX is for 9 ranks" in note for note in found.notes)
    common, first, second = export(table, "ucc", section="").text.split("\n\n")
    assert common == "UCC_TL_UCP_BCAST_KN_RADIX=2"
    assert {"UCC_TL_UCP_ALLREDUCE_KN_RADIX=3", "UCC_TL_UCP_BCAST_SAG_KN_RADIX=2"} <= set(first.split("\n"))
    assert "UCC_TL_UCP_ALLREDUCE_KN_RADIX=2" in second
    for section in ("colour=red", "vendor", "vendor=intel colour=red"):
        with pytest.raises(InvalidInput, match="must be one of"):
            export(table, "ucc", section=section)
    with pytest.raises(InvalidInput, match="cannot read a line"):
        export(table, "ucc", section="vendor=" + "x" * 128)


# All


@pytest.mark.parametrize("target", ["openmpi-4.1.4", "openmpi-5.0.8", "openmpi-6.0.0", "openmpi-han-5.0.8", "ucc"])
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_rules_of_a_library_can_be_given_to_another(target: str, library: str) -> None:
    found: Export = export(defaults(library), target, ranks=[16, 300])
    assert found.text
    assert found.report("file").startswith(target)


def test_wrong_targets() -> None:
    for target, words in [
        ("intel", "must be one of"),
        ("openmpi", "decides the format"),
        ("openmpi-3.1", "must be one of 4.0, 4.1, 5.0, 6.0"),
        ("openmpi-han", "version"),
        ("openmpi-han-4.1.4", "does not use han"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            export(SMALL, target)
    with pytest.raises(InvalidInput, match="option colour"):
        export(SMALL, "ucc", colour=1)
    with pytest.raises(InvalidInput, match="gather or scatter"):
        export(SMALL, "openmpi-4.1.4", by_size=["bcast"])
    with pytest.raises(InvalidInput, match="any number of ranks"):
        export(defaults("mpich"), "ucc")


def test_what_does_the_same_is_equal() -> None:
    same = [
        ("bcast", "binomial", "knomial,radix=2,segment=0"),
        ("bcast", "ring", "chain,radix=1,segment=0"),
        ("allgather", "dissemination", "bruck,radix=2"),
        ("barrier", "nway,radix=2", "dissemination,radix=3"),
    ]
    for kind, a, b in same:
        assert canonical(kind, Choice.of(a)) == canonical(kind, Choice.of(b))
        assert canonical(kind, pretty(kind, Choice.of(b))) == canonical(kind, Choice.of(b))
    for kind in set(KINDS) - {"neighbor_alltoall"}:
        for name in algorithms(kind):
            for options in ({}, *({"segment": 0}, {"radix": 2}, {"radix": 3, "segment": 64})):
                once = canonical(kind, Choice(name, options))
                assert canonical(kind, once) == once
                assert canonical(kind, pretty(kind, once)) == once
    assert canonical("bcast", Choice.of("binary")) != canonical("bcast", Choice.of("binomial"))


@pytest.mark.parametrize("version", [(4, 1, 4), (5, 0, 8), (6, 0, 0)])
def test_every_algorithm_of_open_mpi_can_be_asked_for(version: tuple[int, int, int]) -> None:
    for names in openmpi.NUMBERS.values():
        for name in names:
            found = openmpi.algorithms(name, version)
            assert len({a.number for a in found}) == len(found) == max(a.number for a in found)


def test_every_algorithm_of_mpich_is_of_its_collective() -> None:
    for names in mpich.NAMES.values():
        for name in names:
            for item in mpich.known(name):
                assert item.algorithm.name.startswith(f"MPIR_{name.capitalize()}_intra_")
                assert set(item.guards) <= set(mpich.GUARDS)
