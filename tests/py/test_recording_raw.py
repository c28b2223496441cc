"""Raw trace files: the structures of trace.h, damage, clocks and places."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import isthmus
from isthmus import ParseError
from isthmus.recording import raw
from isthmus.recording.clocks import Clock, clocks
from isthmus.recording.merge import merge
from isthmus.recording.raw import Place, read_trace
from isthmus.recording.sites import Sites
from raw_traces import SECOND, RawTrace, recv, send

TRACE_H = Path(__file__).parents[2] / "recorder" / "trace.h"
STRUCTURES = {
    "trace_header": raw.HEADER, "trace_call": raw.CALL_RECORD, "trace_message": raw.MESSAGE_ITEM,
    "trace_done": raw.DONE_ITEM, "trace_collective": raw.COLLECTIVE_ITEM, "trace_rma": raw.RMA_ITEM,
    "trace_created": raw.CREATED_ITEM, "trace_polls": raw.POLLS_RECORD, "trace_comm": raw.COMM_RECORD,
    "trace_site": raw.SITE_RECORD, "trace_count": raw.COUNT_RECORD, "trace_mark": raw.MARK_RECORD,
}  # fmt: skip
# Names of the C structures that are nested, or that cannot be given twice, in NumPy's.
RENAMED = {"unused2": "unused"}


def test_structures_are_those_of_the_header(tmp_path: Path) -> None:
    """As a C compiler lays them out."""
    lines = []
    for name, dtype in STRUCTURES.items():
        lines.append(f'printf("{name} size %zu\\n", sizeof(struct {name}));')
        for field in dtype.names or ():
            if field in ("kind", "unused", "words") and dtype.names[:3] == ("kind", "unused", "words"):
                continue
            member = RENAMED.get(field, field)
            lines.append(
                f'printf("{name} {field} %zu %zu\\n", offsetof(struct {name}, {member}), '
                f"sizeof(((struct {name}*)0)->{member}));"
            )
    source = tmp_path / "layout.c"
    source.write_text(
        f'#include <stdio.h>\n#include <stddef.h>\n#include "{TRACE_H}"\nint main(void) {{ {" ".join(lines)} }}\n'
    )
    subprocess.run(["cc", "-std=c11", "-o", tmp_path / "layout", source], check=True)
    said = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout
    expected = []
    for name, dtype in STRUCTURES.items():
        expected.append(f"{name} size {dtype.itemsize}")
        for field in dtype.names or ():
            if field in ("kind", "unused", "words") and dtype.names[:3] == ("kind", "unused", "words"):
                continue
            kind, offset = dtype.fields[field][:2]
            expected.append(f"{name} {field} {offset} {kind.itemsize}")
    assert said.split("\n")[:-1] == expected


def test_numbers_are_those_of_the_header() -> None:
    text = re.sub(r"/\*.*?\*/", "", TRACE_H.read_text(), flags=re.DOTALL)
    numbers = {}
    for body in re.findall(r"enum \w*\s*\{(.*?)\}", text, re.DOTALL):
        value = -1
        for entry in body.split(","):
            if not entry.strip():
                continue
            name, _, given = entry.partition("=")
            value = int(given) if given.strip() else value + 1
            numbers[name.strip()] = value
    ours = {
        "TRACE_CALL": raw.CALL, "TRACE_POLLS": raw.POLLS, "TRACE_COMM": raw.COMM, "TRACE_SITE": raw.SITE,
        "TRACE_COUNT": raw.COUNT, "TRACE_MARK": raw.MARK, "TRACE_NAME": raw.NAME, "FORM_IO": raw.IO,
        "FORM_START": raw.START, "FORM_COMM": raw.CREATED, "FORM_RMA": raw.RMA, "FORM_COLLECTIVE": raw.COLLECTIVE,
        "TRACE_ANY": raw.ANY, "TRACE_NULL": raw.NULL, "TRACE_ROOT": raw.ROOT, "TRACE_OUTSIDE": raw.OUTSIDE,
        "TRACE_NONE": raw.NO_RANK, "COLLECTIVE_OTHER": raw.OTHER_COLLECTIVE, "RMA_PUT": raw.PUT,
        "RMA_POST": raw.POST, "RMA_WAIT": raw.WIN_WAIT, "RMA_UNLOCK_ALL": raw.UNLOCK_ALL, "RMA_TEST": raw.WIN_TEST,
        "MARK_ITERATION": raw.ITERATION, "MARK_OFF": raw.OFF, "MARK_ON": raw.ON, "MARK_PHASE": raw.PHASE,
    }  # fmt: skip
    assert {name: numbers[name] for name in ours} == ours
    collectives = {k: v for k, v in numbers.items() if k.startswith("COLLECTIVE_")}
    kinds = {
        f"COLLECTIVE_{k.name.upper().removesuffix('_ALLTOALL')}": int(k)
        for k in isthmus.schedule.program.CollectiveKind
    }
    kinds["COLLECTIVE_ALLTOALL"] = 8
    assert collectives == kinds | {"COLLECTIVE_NEIGHBOR": 12, "COLLECTIVE_OTHER": 32}


def example() -> RawTrace:
    t = RawTrace(0, 1)
    t.comm(7, 0, [0])
    t.messages("MPI_Sendrecv", send(0, 8), recv(0, 8), site="a.c:1")
    t.collective("MPI_Allgatherv", 6, counts=[8])
    t.rma("MPI_Win_post", raw.POST, group=[0])
    t.done("MPI_Wait", (1, 0))
    return t


def record_of(data: bytes, kind: int, form: int = 0) -> int:
    """Where the first record of this kind, and form if it is a call, begins."""
    at = raw.HEADER_BYTES
    while at < len(data):
        this, _, words = struct.unpack_from("=HHI", data, at)
        if this == kind and (kind != raw.CALL or struct.unpack_from("=H", data, at + 10)[0] == form):
            return at
        at += 8 * words
    raise AssertionError(f"no record of kind {kind} and form {form}")


DAMAGES = {
    "unknown kind": (raw.CALL, raw.MESSAGE, "=H", 0, 10, "a record of unknown kind"),
    "no length": (raw.CALL, raw.MESSAGE, "=I", 4, 0, "a record without a length"),
    "unknown form": (raw.CALL, raw.MESSAGE, "=H", 10, 8, "a call of unknown form"),
    "many messages": (raw.CALL, raw.MESSAGE, "=I", 40, 3, "a call too short for its content"),
    "many counts": (raw.CALL, raw.COLLECTIVE, "=I", 60, 9, "a collective too short for its counts"),
    "large group": (raw.CALL, raw.RMA, "=I", 40, 9, "a call too short for its group"),
    "many members": (raw.COMM, 0, "=I", 24, 9, "a communicator too short for its members"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_with_its_byte(tmp_path: Path, damage: str) -> None:
    kind, form, code, offset, value, words = DAMAGES[damage]
    data = bytearray(example().bytes())
    at = record_of(data, kind, form)
    struct.pack_into(code, data, at + offset, value)
    path = tmp_path / "0.0.1.trace"
    path.write_bytes(data)
    with pytest.raises(ParseError) as caught:
        merge(tmp_path)
    assert str(caught.value) == f"{path}: byte {at}: {words}"


THREAD, SIGNAL, RANKS = (raw.HEADER.fields[name][1] for name in ("thread", "signal", "ranks"))


@pytest.mark.parametrize(
    ("offset", "data", "words"),
    [
        (0, b"ISTHMTRX", "byte 0: not a raw trace: it does not begin with ISTHMTRC"),
        (8, struct.pack("=I", 9), "byte 8: the trace has version 9: this Isthmus reads versions 1 to 3"),
        (12, struct.pack("=I", 0x04030201), "byte 12: the trace is in the byte order of another kind of machine"),
        (12, struct.pack("=I", 7), "byte 12: the trace is damaged"),
        (THREAD, struct.pack("=I", 1 << 30), f"byte {THREAD}: the header is damaged: thread 1073741824"),
        (SIGNAL, struct.pack("=I", 1 << 31), f"byte {SIGNAL}: the header is damaged: signal 2147483648"),
        (RANKS, struct.pack("=I", 1 << 23), "the header is damaged: it says 8,388,608 ranks, and 1 left a trace"),
    ],
)
def test_headers_that_are_none(tmp_path: Path, offset: int, data: bytes, words: str) -> None:
    whole = bytearray(example().bytes())
    whole[offset : offset + len(data)] = data
    (tmp_path / "0.0.1.trace").write_bytes(whole)
    with pytest.raises(ParseError, match=re.escape(words)):
        merge(tmp_path)


def test_random_bytes_raise_nothing_else(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    whole = example().bytes()
    path = tmp_path / "0.0.1.trace"
    outcomes = set()
    for _ in range(400):
        data = bytearray(whole)
        for at in random.integers(raw.HEADER_BYTES, len(data), random.integers(1, 4)):
            data[at] = random.integers(256)
        path.write_bytes(data)
        try:
            read_trace(path)
            outcomes.add("read")
        except ParseError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_clocks_of_hosts() -> None:
    # Host b is 5 ms ahead at its second 1 and loses 100 us each second.
    def header(rank: int, host: str, error: int = 0) -> np.void:
        seconds = np.array([1, 11]) * SECOND
        offset = -5_000_000 + 100_000 * (seconds // SECOND - 1) + error
        sync = np.array(list(zip(seconds, offset, [error + 7] * 2, strict=True)), raw.HEADER["sync"].base)
        return RawTrace(rank, 4, host=host.encode(), sync=sync).header[0]

    found = clocks({0: header(0, "a"), 1: header(1, "a"), 2: header(2, "b", 400), 3: header(3, "b")})
    assert found[0] == found[1] == Clock()
    # Both ranks of b go by the better comparison.
    assert found[2] == found[3]
    assert found[3].error == 7
    times = np.array([1, 6, 21]) * SECOND
    assert (found[3].convert(times) - times).tolist() == [-5_000_000, -4_500_000, -3_000_000]
    once = RawTrace(1, 2, host=b"c", sync=np.array([(SECOND, 9, 3), (0, 0, 0)], raw.HEADER["sync"].base)).header[0]
    assert clocks({0: header(0, "a"), 1: once})[1].convert(times).tolist() == (times + 9).tolist()


def test_messages_that_came_too_early_are_reported(tmp_path: Path) -> None:
    a, b = RawTrace(0, 2), RawTrace(1, 2, host=b"other")
    a.messages("MPI_Send", send(1, 8), gap=50_000)
    b.messages("MPI_Recv", recv(0, 8), gap=10_000, lasts=1000)
    for t in (a, b):
        t.write(tmp_path)
    r = merge(tmp_path).recording
    assert r is not None
    assert r.notes == ("by the clocks, 1 message came before being sent, by 39000 ns at most",)
    assert r.hosts == ("node0", "other")
    assert r.begin.tolist() == [SECOND // 2 + 50_000, SECOND // 2 + 10_000]


def test_places_become_lines(tmp_path: Path) -> None:
    source = tmp_path / "work.c"
    source.write_text("void callee(void);\nvoid caller(void) {\n  callee();\n  callee();\n}\nvoid callee(void) {}\n")
    library = tmp_path / "libwork.so"
    subprocess.run(["cc", "-g", "-O0", "-shared", "-fPIC", "-o", library, source], check=True)
    listing = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True).stdout
    body = listing.split("<caller>:")[1].split("<callee>:")[0]
    # The addresses to which the two calls return.
    lines = [line.split(":")[0].strip() for line in body.splitlines()]
    calls = [i for i, line in enumerate(body.splitlines()) if "callee" in line]
    sites = Sites()
    for i in calls:
        sites[Place(0x7000, int(lines[i + 1], 16), str(library), "caller")]
    sites[Place(0x7000, 0x44, "/gone/liba.so", "_ZN6LAMMPS3runEi")]
    sites[Place(0x7000, 0x45, "/gone/liba.so", "")]
    sites[Place(0x7000, 0, "", "")]
    assert sites[Place(0x9000, 0x45, "/gone/liba.so", "")] == 3
    assert sites.texts() == ["work.c:3", "work.c:4", "liba.so+0x44 (LAMMPS::run)", "liba.so+0x45", "unknown+0x7000"]


def test_places_without_binutils(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sites = Sites()
    sites[Place(0x7000, 0x44, __file__, "_Zx")]
    assert sites.texts() == ["test_recording_raw.py+0x44 (_Zx)"]
