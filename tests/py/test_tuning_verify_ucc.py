"""UCC's own list of algorithms, its complaints and its files are read; a run with UCC is in tests/proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.errors import ParseError, Unsupported
from isthmus.tuning.export import export
from isthmus.tuning.export.ucc_reading import Rule, at, holding
from isthmus.tuning.table import DecisionTable
from isthmus.tuning.verify.ucc import complaints, installed, lists, reads
from tables import starting

# Printed by UCC 1.10.0 over UCX 1.13.1.
LOG = (
    "[1.2] [vm:1:0] ucc_coll_score_map.c:225  UCC  INFO  Allgather:\n"
    "[1.2] [vm:1:0] ucc_coll_score_map.c:225  UCC  INFO  \tHost: {0}:TL_UCP:10=ucc_tl_ucp_allgather_knomial_init "
    "{1..4095}:TL_UCP:10=ucc_tl_ucp_allgather_linear_init {4K..inf}:TL_UCP:10=ucc_tl_ucp_allgather_neighbor_init \n"
    "[1.2] [vm:1:0] ucc_coll_score_map.c:225  UCC  INFO  Barrier:\n"
    "[1.2] [vm:1:0] ucc_coll_score_map.c:225  UCC  INFO  \tHost: {0..inf}:TL_UCP:10=ucc_tl_ucp_coll_init \n"
    "[1.2] [vm:1:0]  ucc_coll_score.c:819  UCC  ERROR failed to parse UCC_*_TUNE parameter: gather:host:inf:@ring\n"
    "[1.3] [vm:2:0]  ucc_coll_score.c:819  UCC  ERROR failed to parse UCC_*_TUNE parameter: gather:host:inf:@ring\n"
)
TABLE = DecisionTable(
    {
        "bcast": [starting(4, (0, "binomial"), (64, "scatter_allgather"))],
        "allgather": [starting(4, (0, "ring")), starting(9, (0, "bruck,radix=2"), (10, "library"), (20, "ring"))],
    }
)


def test_what_ucc_lists() -> None:
    listed = lists(LOG)
    assert set(listed) == {"allgather", "barrier"}
    assert [(low, high) for low, high, _ in listed["allgather"]] == [(0, 0), (1, 4095), (4096, float("inf"))]
    assert listed["allgather"][1][2] == "ucc_tl_ucp_allgather_linear_init"
    cut = LOG.replace("_neighbor_init ", "_neigh")
    assert [name for *_, name in lists(cut)["allgather"]] == [name for *_, name in listed["allgather"][:2]]
    assert complaints(LOG) == ["UCC says: failed to parse UCC_*_TUNE parameter: gather:host:inf:@ring"]


@pytest.mark.parametrize("section", [None, "vendor=intel"])
def test_files_are_read_as_they_are_written(section: str | None, tmp_path: Path) -> None:
    options = {} if section is None else {"section": section}
    found = export(TABLE, "ucc", **options)
    found.save(tmp_path / "file")
    assert reads(tmp_path / "file")
    bcast = [Rule("bcast", 0, 64, "knomial"), Rule("bcast", 64, None, "sag_knomial")]
    variables = {"UCC_TL_UCP_BCAST_KN_RADIX": "2", "UCC_TL_UCP_BCAST_SAG_KN_RADIX": "2"}
    rules, seen = holding(found.text, "file", 8)
    assert (rules, seen) == ([*bcast, Rule("allgather", 0, None, "ring")], variables)
    rules, _ = holding(found.text, "file", 9)
    assert rules[2:] == [Rule("allgather", 0, 89, "bruck"), Rule("allgather", 180, None, "ring")]
    assert holding(found.text, "file", 3)[0] == []


def test_values_by_size() -> None:
    assert [at("0-63:host:2,64-4095:host:3", size) for size in (0, 63, 64, 4095, 4096)] == ["2", "2", "3", "3", "auto"]
    assert at("8", 100) == "8"


def test_files_of_others_are_refused() -> None:
    for text in ("allreduce:0-4k:@0\n", "UCC_TL_UCP_TUNE=allreduce:0-4k:@0\n"):
        with pytest.raises(ParseError, match="file:1"):
            holding(text, "file", 4)


def test_there_is_no_ucc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unsupported, match="ucc_info"):
        installed("auto")
    file = tmp_path / "ucc.env"
    export(TABLE, "ucc").save(file)
    with pytest.raises(SystemExit) as stop:
        main(["tune", "verify", str(file), "--launch", "mpirun", "--ucc", str(tmp_path)])
    assert stop.value.code == 2
    assert "must hold UCC with its headers" in capsys.readouterr().err
