"""The program that measures a node without MPI."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from isthmus.measuring.programs import node_program
from isthmus.measuring.samples import Item, Samples, read_journal
from probe_runs import plan


def measured(items: list[str], folder: Path, budget: float = 30, samples: str = "6 30") -> Samples:
    (folder / "plan").write_text(plan(items, budget=budget, samples=samples))
    (folder / "journal").unlink(missing_ok=True)
    words = [node_program(), "plan", "journal"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return read_journal(folder / "journal", [Item.parse(item) for item in items], "node")


def test_memory_and_kernels(tmp_path: Path) -> None:
    size = "bytes=4000000"
    items = [f"{op} stream op={op} {size}" for op in ("copy", "scale", "add", "triad")]
    items += [f"two stream op=triad threads=2 {size}", "near memcpy bytes=4096", "far memcpy bytes=20000000"]
    items += ["small spmv rows=300 nnz=7", "large spmv rows=100000", "one spmv rows=1 nnz=1", "fma fma", "clock clock"]
    samples = measured(items, tmp_path)
    cores = len(os.sched_getaffinity(0))
    for one in samples:
        if one.item.name == "two" and cores < 2:
            assert one.skipped == "there are not so many cores in this NUMA domain"
            continue
        assert len(one), one
        assert (one.values > 0).all(), one
    least = {one.item.name: float(one.column().min()) for one in samples if len(one)}
    for name in ("copy", "scale", "add", "triad", "near", "far"):
        # From 100 MB/s to 10 TB/s, as bandwidths of memory are.
        assert 1e-13 < least[name] < 1e-8, name
    # No sparse product reaches the peak, which is between that of a slow core and a terraflop.
    assert 1e-12 < least["fma"] < least["small"] < 1e-7
    assert least["near"] < least["far"]


def test_the_journal_names_what_the_program_hangs_at(tmp_path: Path) -> None:
    """So that it can be started again without it."""
    (tmp_path / "plan").write_text(plan(["long noise seconds=30"]))
    with subprocess.Popen([node_program(), "plan", "journal"], cwd=tmp_path) as process:
        try:
            until = time.monotonic() + 20
            (tmp_path / "journal").touch()
            while time.monotonic() < until and "begin long 0" not in (tmp_path / "journal").read_text():
                time.sleep(0.02)
        finally:
            process.kill()
    assert (tmp_path / "journal").read_text().splitlines()[-1].startswith("begin long 0 ")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    items = [
        "cores stream op=copy threads=1000 bytes=100000",
        "domain stream op=copy numa_core=900 bytes=100000",
        "memory stream op=copy numa_memory=900 bytes=100000",
        "core fma core=1023",
        "rows spmv rows=1000000000 nnz=27",
        "nothing memcpy bytes=0",
    ]
    assert {one.item.name: one.skipped for one in measured(items, tmp_path)} == {
        "cores": "there are not so many cores in this NUMA domain",
        "domain": "there is no core that this process may use in this NUMA domain",
        "memory": "no thread can be run beside this memory, to place it there",
        "core": "this process may not use the core",
        "rows": "more than 2e9 nonzeros are not counted",
        "nothing": "no bytes take no time",
    }


def test_noise_of_one_core(tmp_path: Path) -> None:
    items = [f"{kind} noise kind={kind} quantum=0.0005 seconds=0.1" for kind in ("fwq", "ftq")]
    samples = measured(items, tmp_path)
    assert len(samples["fwq"]) == len(samples["ftq"]) == 200
    # Work takes no less than at best, and no more than the quantum fits into it.
    assert samples["fwq"].column().min() >= 0.0005 * 0.8
    assert samples["ftq"].column().max() <= 0.0005 * 1.3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item a fma core=x\n", "item a: core=x: a core, from 0, or -1 for any is allowed"),
        ("item a stream op=add threads=0\n", "item a: threads=0: a whole number from 1 is allowed"),
        ("item a pingpong a=0 b=1 bytes=8\n", "item a: kind pingpong is not known here"),
    ],
)
def test_wrong_plans(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "plan").write_text("isthmus-plan 1\n" + text)
    done = subprocess.run([node_program(), "plan", "j"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"isthmus-node: plan:2: {words}\n")


def test_samples_stop_when_the_median_is_known(tmp_path: Path) -> None:
    """The interval of a median by order statistics: half its width is then within the tolerance."""
    item = "m memcpy bytes=4096"
    (one,) = measured([item], tmp_path, budget=5, samples="20 5000")
    assert one.ended in ("tolerance", "most", "budget")
    if one.ended == "tolerance":
        values = np.sort(one.column())
        half = 0.98 * len(values) ** 0.5
        low, high = int(len(values) / 2 - half), int(np.ceil(len(values) / 2 + half))
        assert (values[high - 1] - values[low]) / 2 <= 0.02 * np.median(values)
