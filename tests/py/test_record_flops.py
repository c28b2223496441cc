"""Counters of floating-point operations: which a processor has, and what is said of those that it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus import InvalidInput
from isthmus.recording import counters
from isthmus.recording.counters import asked
from isthmus.recording.flops import flop_events
from isthmus.schedule.counters import FLOPS

INTEL = (
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
    "flags\t\t: fpu avx2 bmi2 adx\n\nprocessor\t: 1\n"
)
AMD = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {}\nmodel\t\t: 2\n\n"


def events(tmp_path: Path, text: str) -> dict[str, tuple[int, int]]:
    file = tmp_path / "cpuinfo"
    file.write_text(text)
    return dict(flop_events(file))


def test_numbers_of_events(tmp_path: Path) -> None:
    """As manuals have them: event 0xC7 of Intel by masks that are disjoint, event 0x03 of AMD by family."""
    intel = events(tmp_path, INTEL)
    assert intel["flops-by-1"] == (4, 0x03C7)
    assert intel["flops-by-4"] == (4, 0x18C7)
    masks = [number >> 8 for _, number in intel.values()]
    assert all(number & 0xFF == 0xC7 for _, number in intel.values())
    assert sum(masks) == 0xFF
    assert [FLOPS[name] for name in intel] == [1, 2, 4, 8, 16]
    assert events(tmp_path, AMD.format(23)) == {"flops": (4, 0xFF03)}
    assert events(tmp_path, AMD.format(25)) == {"flops": (4, 0x1F03)}
    assert events(tmp_path, AMD.format(26)) == {"flops": (4, 0x0F03)}


#: Haswell has no ADX; Xeon Phi has it, but not the event.
HASWELL, XEON_PHI = INTEL.replace(" adx", "").replace("143", "63"), INTEL.replace("143", "87")


@pytest.mark.parametrize("text", [HASWELL, XEON_PHI, "", AMD.format(21), AMD.format("x"), "vendor_id: Other\n", "\n\n"])
def test_other_processors_have_none(tmp_path: Path, text: str) -> None:
    assert events(tmp_path, text) == {}
    assert dict(flop_events(tmp_path / "missing")) == {}


def test_flops_beside_other_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    intel = events(tmp_path, INTEL)
    monkeypatch.setattr(counters, "flop_events", lambda: intel)
    assert asked("cache-misses,flops-by-4") == f"cache-misses:0:3;flops-by-4:4:{0x18C7}"
    with pytest.raises(InvalidInput, match=r"'flops' is not counted by this processor, which has flops-by-1, .*16$"):
        asked("flops,cache-misses")
    with pytest.raises(InvalidInput, match="'flops-by-1' is given twice"):
        asked("flops-by-1,flops-by-1")
    with pytest.raises(InvalidInput, match="at most 4"):
        asked("cache-misses,flops-by-1,flops-by-2,flops-by-4,flops-by-8")
    monkeypatch.setattr(counters, "flop_events", dict)
    with pytest.raises(InvalidInput, match="'flops-by-1' is not counted by this processor, which has no counter of op"):
        asked("flops-by-1")
