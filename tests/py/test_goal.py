"""GOAL files: against LogGOPSim's own, against other readers and writers, and what is refused."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus
from isthmus import _core
from isthmus.errors import InvalidInput, ParseError, Unsupported
from isthmus.schedule.goal import read_goal, write_goal
from oracles import goal_text
from oracles.loggops import ANY, CALC, RECV, SEND, Op
from schedule_strategies import Ranks, operations_of, schedule_of

DATA = Path(__file__).parents[1] / "data" / "goal"
SUMS = dict(reversed(line.split()) for line in (DATA / "txt2bin.sha256").read_text().splitlines())


def random_ranks(seed: int) -> Ranks:
    """Everything GOAL has; operations need not match. Times are in ns."""
    random = Random(seed)
    count = random.randint(1, 5)
    ranks: Ranks = []
    for _ in range(count):
        ops: list[Op] = []
        for _ in range(random.choice([0, 1, 3, 12])):
            kind = random.choice([SEND, RECV, CALC])
            op = Op(kind, random.choice([0, 1, random.getrandbits(40)]), cpu=random.choice([0, 0, 1, 255]))
            if kind != CALC:
                op.peer, op.tag = random.randrange(count), random.choice([0, 0, 1, random.randrange(ANY)])
                op.nic = random.choice([0, 0, 1, 255])
            if kind == RECV:
                op.peer, op.tag = random.choice([op.peer, ANY]), random.choice([op.tag, ANY])
            ops.append(op)
        for i, op in enumerate(ops):
            others = [j for j in range(len(ops)) if j != i]
            op.after = sorted(random.sample(others, min(len(others), random.choice([0, 0, 1, 3]))))
            op.after_start = sorted(random.sample(others, min(len(others), random.choice([0, 0, 1]))))
        ranks.append(ops)
    return ranks


def untidy_text(ranks: Ranks, seed: int) -> str:
    """The same in the ugliest way that is allowed."""
    random = Random(seed)
    end = random.choice(["\n", "\r\n"])

    def gap(least: str = "") -> str:
        return random.choice([least, " ", "\t ", " /* x */ ", " /* of\ntwo */ "]) or least

    def line_end() -> str:
        return random.choice(["", " ", " // } rank 7 {"]) + end

    out = [random.choice(["", "// head\n\n", "/**/ "]), "num_ranks", gap(), str(len(ranks)), random.choice(["\n", " "])]
    for number, ops in enumerate(ranks):
        # Dependencies name labels: operations that have some need one.
        form = random.choice(["l{}", "op_{}_", "L0{}", "l9000000{}", "send{}"])
        names = [form.format(i) for i in range(len(ops))]
        named = {j for i, op in enumerate(ops) for needed in (op.after, op.after_start) for j in [*needed, i] if needed}
        lines = []
        for i, op in enumerate(ops):
            text = names[i] + gap() + ":" + gap() if i in named or random.random() < 0.3 else ""
            text += {SEND: "send", RECV: "recv", CALC: "calc"}[op.kind] + gap(" ") + str(op.amount)
            options = [("cpu", op.cpu)]
            if op.kind != CALC:
                text += f"{gap()}b{gap(' ')}{'to' if op.kind == SEND else 'from'}{gap(' ')}{minus(op.peer)}"
                options += [("tag", op.tag), ("nic", op.nic)]
            random.shuffle(options)
            for name, value in options:
                if value or random.random() < 0.5:
                    text += f"{gap(' ')}{name}{gap(' ')}{minus(value)}"
            lines.append(text + line_end())
        for i, op in enumerate(ops):
            for word, needed in (("requires", op.after), ("irequires", op.after_start)):
                for on in needed:
                    # Anywhere, also before the operations.
                    place = random.choice([len(lines), random.randrange(len(lines) + 1)])
                    lines.insert(place, f"{names[i]}{gap(' ')}{word}{gap(' ')}{names[on]}{line_end()}")
        out += [f"rank {number}{gap()}{{", random.choice(["", end]), *lines, "}", random.choice(["\n", "\n\n", " "])]
    return "".join(out)


def minus(number: int) -> int:
    return -1 if number == ANY else number


def sorted_dependencies(ranks: Ranks, unit: int = 1) -> Ranks:
    for op in (op for ops in ranks for op in ops):
        op.after.sort()
        op.after_start.sort()
        if op.kind == CALC:
            op.amount *= unit
    return ranks


def read_struct(data: bytes) -> Ranks:
    """Binary GOAL by the description of the format, one field after another."""
    magic, count, cpu, nic = struct.unpack_from("<QIBB", data)
    assert magic == 4223
    ranks: Ranks = []
    for rank in range(count):
        begin, end = (8 + x for x in struct.unpack_from("<QQ", data, 14 + 16 * rank))
        nodes, roots = struct.unpack_from("<II", data, begin)
        first = begin + 8 + 4 * roots
        appendix = first + 39 * nodes
        ops, needs, targets = [], [], []
        for i in range(nodes):
            fields = struct.unpack_from("<IBIQIBBIIII", data, first + 39 * i)
            needs.append(fields[0])
            ops.append(Op(fields[1], fields[3], fields[2], fields[4], 0, fields[5], fields[6]))
            targets.append(((fields[8], fields[7], "after"), (fields[10], fields[9], "after_start")))
        for i, lists in enumerate(targets):
            for at, length, name in lists:
                for to in struct.unpack_from(f"<{length}I", data, appendix + 4 * at):
                    getattr(ops[to], name).append(i)
        assert needs == [len(op.after) + len(op.after_start) for op in ops]
        assert list(struct.unpack_from(f"<{roots}I", data, begin + 8)) == [i for i, n in enumerate(needs) if n == 0]
        assert end == appendix + 4 * sum(needs)
        ranks.append(ops)
    assert len(data) == end
    assert cpu == max((op.cpu for ops in ranks for op in ops), default=0)
    assert nic == max((op.nic for ops in ranks for op in ops), default=0)
    return ranks


def columns(arrays: _core.ScheduleArrays) -> list[list[int]]:
    return [getattr(arrays, name).tolist() for name in ("op_first", "edge_first", "ops", "edges")]


@pytest.mark.parametrize("name", sorted(SUMS))
def test_reference_files(name: str, tmp_path: Path) -> None:
    arrays = read_goal(DATA / name)
    schedule = isthmus.Schedule(arrays)
    schedule.validate()
    assert operations_of(schedule) == sorted_dependencies(goal_text.read(DATA / name), unit=1000)
    binary = tmp_path / "x"
    write_goal(arrays, binary, binary=True)
    assert hashlib.sha256(binary.read_bytes()).hexdigest() == SUMS[name]
    again = read_goal(binary)
    assert columns(again) == columns(arrays)
    write_goal(again, tmp_path / "y", binary=False)
    assert sorted((tmp_path / "y").read_text().split("\n")) == sorted((DATA / name).read_text().split("\n"))


def test_all_reference_files_are_there() -> None:
    assert sorted(SUMS) == sorted(path.name for path in DATA.glob("*.goal"))


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_text_in_whatever_layout(tmp_path_factory: pytest.TempPathFactory, seed: int, layout: int) -> None:
    path = tmp_path_factory.getbasetemp() / "layout.goal"
    path.write_bytes(untidy_text(random_ranks(seed), layout).encode())
    got = operations_of(isthmus.Schedule(read_goal(path, unit="us")))
    assert sorted_dependencies(got) == sorted_dependencies(random_ranks(seed), unit=10**6)


@given(st.integers(0, 2**32))
def test_what_is_written_is_what_others_read(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    path = tmp_path_factory.getbasetemp() / "written"
    schedule = schedule_of(sorted_dependencies(random_ranks(seed), unit=1000))
    write_goal(schedule.arrays, path, binary=False)
    assert sorted_dependencies(goal_text.read(path)) == sorted_dependencies(random_ranks(seed))
    text = read_goal(path)
    write_goal(schedule.arrays, path, binary=True)
    assert sorted_dependencies(read_struct(path.read_bytes())) == sorted_dependencies(random_ranks(seed))
    for back in (text, read_goal(path)):
        assert sorted_dependencies(operations_of(isthmus.Schedule(back))) == operations_of(schedule)


@given(st.integers(0, 2**32), st.booleans(), st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, seed: int, binary: bool, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    write_goal(schedule_of(random_ranks(seed)).arrays, path, binary=binary)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["set", "cut", "end"])):
        case "set":
            content[at] = data.draw(st.integers(0, 255))
        case "cut":
            del content[at : at + data.draw(st.integers(1, 9))]
        case _:
            del content[at:]
    path.write_bytes(content)
    error = None
    try:
        got = read_goal(path)
    except ParseError as raised:
        error = raised
    if error is None:
        # Whatever is accepted is consistent: it can be written and read again.
        write_goal(got, path, binary=binary)
        assert columns(read_goal(path)) == columns(got)
    else:
        assert error.file == str(path)
        assert (error.line is None) == (error.message == "the file is empty" or error.message.startswith("byte "))


MALFORMED = [
    ("", None, None, "the file is empty"),
    ("\n\n", 3, None, "expected 'num_ranks' and the number of ranks, not the end of the file"),
    ("num_ranks 0", 1, "num_ranks", "a schedule has at least 1 rank, not 0"),
    ("num_ranks 2\nrank 0 {\n}\n", 4, "num_ranks", "there are 2 ranks, but the file ends after 1 of them"),
    ("num_ranks 2\nrank 1 {\n}\n", 2, "rank 1", "rank 0 must stand here: ranks are in order, each once"),
    ("num_ranks 1\nrank 0 {\n", 2, "rank 0", "it has no closing '}'"),
    ("num_ranks 1\nrank 0 {\n}\nx", 4, None, "expected the end of the file after the last rank, not 'x'"),
    ("num_ranks 1 /*\n", 1, "/*", "the comment has no end '*/'"),
    ("num_ranks 1\nrank 0 {\nsend 8 to 0\n}", 3, "send", "expected 'b' after the number of bytes, not 'to'"),
    ("num_ranks 1\nrank 0 {\nsend 8b to 1\n}", 3, "to", "the rank must be 0 to 0, not '1'"),
    ("num_ranks 1\nrank 0 {\ncalc 99999999999999999999\n}", 3, "calc",
     "the time must be 0 to 9223372036854775, not '99999999999999999999'"),
    ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}", 4, "a", "the rank has this label already"),
    ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}", 4, "b", "no operation of rank 0 has this label"),
    ("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}", 4, "a", "an operation cannot require itself"),
    ("num_ranks 1\nrank 0 {\n\x00\xe9\n}", 3, "rank 0",
     "expected an operation, a label or '}', not '\\x00\\xC3\\xA9'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "field", "message"), MALFORMED, ids=[row[3] for row in MALFORMED])
def test_malformed_text(tmp_path: Path, text: str, line: int | None, field: str | None, message: str) -> None:
    path = tmp_path / "x.goal"
    path.write_text(text)
    with pytest.raises(ParseError) as raised:
        read_goal(path)
    error = raised.value
    assert (error.file, error.line, error.field, error.message) == (str(path), line, field, message)


def test_malformed_binary(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    write_goal(read_goal(DATA / "dissemination_64_1.goal"), path, binary=True)
    content = bytearray(path.read_bytes())
    content[-1] = 77  # the highest byte of the last dependant
    path.write_bytes(content)
    with pytest.raises(ParseError) as raised:
        read_goal(path)
    assert raised.value.line is None
    assert raised.value.field is not None
    assert raised.value.field.startswith("rank ")
    assert f"byte {len(content) - 4}: its dependant 1291845" in raised.value.message
    path.write_bytes((2342).to_bytes(8, "little") + content[8:])
    with pytest.raises(ParseError, match="consumed by LogGOPSim --save-mem"):
        read_goal(path)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_goal(tmp_path / "none.goal")
    with pytest.raises(IsADirectoryError):
        read_goal(tmp_path)


def test_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    source = DATA / "scatter_64_512.goal"
    writer = threading.Thread(target=lambda: pipe.write_bytes(source.read_bytes()))
    writer.start()
    got = read_goal(pipe)
    writer.join()
    assert columns(got) == columns(read_goal(source))


def test_units(tmp_path: Path) -> None:
    path = tmp_path / "x.goal"
    path.write_text("num_ranks 1\nrank 0 {\ncalc 1500\n}\n")
    for unit, picoseconds in (("ps", 1), ("ns", 10**3), ("us", 10**6), ("ms", 10**9), ("s", 10**12)):
        schedule = isthmus.Schedule(read_goal(path, unit=unit))
        assert schedule.ops["amount"].tolist() == [1500 * picoseconds]
    schedule.save(tmp_path / "y.bin", unit="ms")
    assert read_struct((tmp_path / "y.bin").read_bytes())[0][0].amount == 1500000
    # 1500 ns are 1.5 us: half a unit goes up.
    isthmus.Schedule(read_goal(path)).save(tmp_path / "y.goal", unit="us")
    assert "calc 2\n" in (tmp_path / "y.goal").read_text()
    with pytest.raises(InvalidInput, match=r"unit 'h' of a GOAL file: must be ps, ns, us, ms, s"):
        read_goal(path, unit="h")


@pytest.mark.parametrize("suffix", [".goal", ".bin"])
@pytest.mark.parametrize(
    ("columns_", "message"),
    [
        ({"kind": ["calc", "put"]}, r"rank 1, operation 0 \(put\): GOAL has no one-sided operations"),
        ({"kind": ["calc", "get"]}, r"rank 1, operation 0 \(get\): GOAL has no one-sided operations"),
        ({"kind": ["calc", "copy"]}, r"rank 1, operation 0 \(copy\): GOAL has send, recv and calc only"),
        ({"kind": ["calc", "reduce"]}, r"rank 1, operation 0 \(reduce\): GOAL has send, recv and calc only"),
        ({"kind": ["calc", "recv"], "comm": 1, "tag": -1}, r"rank 1, operation 0 \(recv\): GOAL has no communicators"),
    ],
)
def test_refused(tmp_path: Path, suffix: str, columns_: dict[str, Any], message: str) -> None:
    schedule = isthmus.Schedule.of(2, rank=[0, 1], amount=500, **columns_)
    path = tmp_path / f"x{suffix}"
    path.write_text("old")
    with pytest.raises(Unsupported, match=message):
        schedule.save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_copy_and_reduce_at_a_rate(tmp_path: Path) -> None:
    ops = isthmus.Schedule.of(1, rank=0, kind=["copy", "reduce", "calc"], amount=[1000, 3000, 7000])
    ops.save(tmp_path / "x.goal", seconds_per_byte=1.5e-9)
    assert [op.amount for op in goal_text.read(tmp_path / "x.goal")[0]] == [1500, 4500, 7]
    for rate in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInput, match="time per byte"):
            ops.save(tmp_path / "x.goal", seconds_per_byte=rate)


@given(st.integers(0, 2**32))
def test_communicators_become_tags(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = Random(seed)
    path = tmp_path_factory.getbasetemp() / "comms.goal"
    ranks = random_ranks(seed)
    messages = [op for ops in ranks for op in ops if op.kind != CALC]
    for op in messages:
        op.comm, op.tag = random.choice([0, 0, 1, 5, 2**32 - 1]), random.choice([0, 1, 2**31])
    expected = sorted({(op.comm, op.tag) for op in messages})
    plain = not any(comm for comm, _ in expected)
    schedule_of(ranks).save(path)
    back = [op for ops in goal_text.read(path) for op in ops if op.kind != CALC]
    assert [op.tag for op in back] == [op.tag if plain else expected.index((op.comm, op.tag)) for op in messages]


def test_inconsistent_arrays_are_not_written(tmp_path: Path) -> None:
    good = read_goal(DATA / "dissemination_64_1.goal")
    edges = good.edges.copy()
    edges[0] = 1000
    bad = _core.ScheduleArrays.of(
        good.op_first, good.ops, good.edge_first, edges, [], np.empty(0, np.uint64), np.empty(0, np.uint8)
    )
    with pytest.raises(InvalidInput, match="its dependant 1000 does not exist"):
        write_goal(bad, tmp_path / "x", binary=False)
    assert os.listdir(tmp_path) == []
