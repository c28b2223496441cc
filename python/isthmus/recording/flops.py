"""Counters of floating-point operations: their numbers on a processor, and the operations that one count stands for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ..schedule.counters import FLOPS

#: PERF_TYPE_RAW of perf_event_open(2).
_RAW = 4
#: Intel's FP_ARITH_INST_RETIRED, event 0xC7: masks of instructions with so many operations. A fused multiplication and
#: addition counts twice. Cores of family 6 have it from Broadwell on, which brought ADX; on those before, and on Xeon
#: Phi, the number means something else.
_INTEL = {"flops-by-1": 0x03, "flops-by-2": 0x04, "flops-by-4": 0x18, "flops-by-8": 0x60, "flops-by-16": 0x80}
_XEON_PHI = ("87", "133")
#: AMD's retired SSE and AVX operations, event 0x03, by family: masks of all kinds of them.
_AMD = {0x17: 0xFF, 0x19: 0x1F, 0x1A: 0x0F}


def flop_events(cpuinfo: Path = Path("/proc/cpuinfo")) -> Mapping[str, tuple[int, int]]:
    """Counters of operations by name, as type and number of perf_event_open(2); none on processors that are not known.

    Those of AMD count operations (``flops``), those of Intel instructions by the operations of each (``flops-by-4``).
    """
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").partition("\n\n")[0].splitlines()
    except OSError:
        return MappingProxyType({})
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    family = int(said.get("cpu family", "0")) if said.get("cpu family", "0").isdigit() else 0
    found: dict[str, tuple[int, int]] = {}
    arithmetic = family == 6 and "adx" in said.get("flags", "").split() and said.get("model") not in _XEON_PHI
    if said.get("vendor_id") == "GenuineIntel" and arithmetic:
        found = {name: (_RAW, mask << 8 | 0xC7) for name, mask in _INTEL.items()}
    elif said.get("vendor_id") == "AuthenticAMD" and family in _AMD:
        found = {"flops": (_RAW, _AMD[family] << 8 | 0x03)}
    assert set(found) <= set(FLOPS)
    return MappingProxyType(found)
