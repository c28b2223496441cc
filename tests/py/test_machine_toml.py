"""The TOML form: the catalogue, what is written and read back, what is refused, and files gone wrong."""

from __future__ import annotations

import contextlib
import os
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from isthmus import InvalidInput, Machine, ParseError
from isthmus.files import replacing, write_atomically
from isthmus.gallery import machines
from isthmus.machine.parts import STATUSES
from isthmus.machine.toml import parse_toml, read_toml
from machine_strategies import damaged, specs

CATALOGUE = sorted(machines())
TEACHING = [
    "dgx-pair",
    "dragonfly-small",
    "fattree-k4",
    "hypercube-6",
    "kautz-2-3",
    "ring-16",
    "slimfly-q5",
    "torus-4x4x4",
]


def text_of(name: str) -> str:
    with open(machines()[name], encoding="utf-8") as stream:
        return stream.read()


# The catalogue


def test_catalogue_is_all_there() -> None:
    assert len(CATALOGUE) == 31
    assert set(TEACHING) < set(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_machine_of_the_catalogue(name: str) -> None:
    machine = isthmus.load(name)
    assert machine.name == name
    assert machine.title != name
    assert 0 < machine.nodes <= machine.topology.nodes
    assert machine.cores == machine.nodes * machine.node.cores
    assert repr(machine).startswith(f"<Machine {name}: ")
    assert str(machine).startswith(machine.title)
    assert all(row["status"] in STATUSES for row in machine.frame())
    for level in (machine.level.socket, machine.level.node, machine.level.network):
        assert min(level.L, level.o_send, level.o_recv, level.g, level.G) > 0
    # A message between neighbours takes between 100 ns and 100 us on all machines there ever were.
    assert 1e-7 < machine.message_time(8, 0, 1) < 1e-4


@pytest.mark.parametrize("name", CATALOGUE)
def test_round_trip_keeps_values_and_provenance(name: str, tmp_path) -> None:
    machine = isthmus.load(name)
    path = tmp_path / f"{name}.toml"
    machine.save(path)
    again = isthmus.load(path)
    assert again == machine
    assert again.description.provenance == machine.description.provenance
    assert again.description.sources == machine.description.sources
    assert again.frame() == machine.frame()
    assert again.toml() == machine.toml()


@pytest.mark.parametrize("name", CATALOGUE)
def test_specification_keeps_values(name: str) -> None:
    machine = isthmus.load(name)
    again = Machine.parse(machine.spec)
    ours = {k: v for k, v in machine.description.values.items() if k not in ("notes", "title")}
    assert {k: v for k, v in again.description.values.items() if k not in ("notes", "title")} == ours
    assert again.spec == machine.spec


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_number_has_a_source(name: str) -> None:
    machine = isthmus.load(name)
    words = {"topology.kind", "topology.names", "topology.arrangement", "node.core_order", "noise.kind"}
    for row in machine.frame():
        if row["path"] not in words:
            p = machine.provenance(row["path"])
            assert p.source in machine.description.sources, row["path"]
            assert p.status in ("exact", "derived", "estimated", "recalled", "measured"), row["path"]
            # Whoever computes or guesses says how.
            assert p.note or p.status in ("exact", "recalled", "measured"), row["path"]
    cited = {p.source for p in machine.description.provenance.values()}
    assert cited <= set(machine.description.sources)


@pytest.mark.parametrize(
    ("name", "nodes", "dims"),
    [
        ("sequoia", 98304, (16, 12, 16, 16, 2)),
        ("mira", 49152, (8, 12, 16, 16, 2)),
        ("bgl", 65536, (64, 32, 32)),
        ("intrepid", 40960, (40, 32, 32)),
        ("bgp-8x8x16", 1024, (8, 8, 16)),
        ("cielo", 8944, (16, 12, 24, 2)),
        ("titan", 18688, (25, 16, 24, 2)),
        ("hopper", 6384, (17, 8, 24, 2)),
        ("jaguar", 18688, (25, 32, 24)),
        ("fugaku", 158976, (24, 23, 24, 2, 3, 2)),
        ("redsky", 2318, (6, 6, 8, 12)),
        ("torus-4x4x4", 64, (4, 4, 4)),
    ],
)
def test_published_extents(name: str, nodes: int, dims: tuple[int, ...]) -> None:
    machine = isthmus.load(name)
    assert machine.nodes == nodes
    assert tuple(machine.topology.dims) == dims


def test_published_facts() -> None:
    sicortex = isthmus.load("sicortex-sc5832")
    assert (sicortex.nodes, sicortex.cores) == (972, 5832)
    assert sicortex.topology.diameter() == (6, True)
    assert {len(sicortex.topology.out_links(v)) for v in range(972)} == {3}
    edison = isthmus.load("edison")
    topology = edison.description.values["topology"]
    assert (topology["g"], topology["a"], edison.topology.switches) == (15, [16, 6], 15 * 96)
    assert edison.nodes == 5576
    assert isthmus.load("eos").nodes == 744
    assert isthmus.load("frontier").nodes == 9856
    assert isthmus.load("summit").nodes == 4608
    assert isthmus.load("ranger").cores == 62976
    assert isthmus.load("roadrunner").nodes == 3060
    assert isthmus.load("sequoia").cores == 1572864
    assert isthmus.load("sequoia").topology.dim_names == ("A", "B", "C", "D", "E")
    assert isthmus.load("fugaku").topology.dim_names == tuple("XYZabc")


def test_stream_matrices() -> None:
    cielo, redsky = (isthmus.load(name).node for name in ("cielo", "redsky"))
    assert cielo.stream is not None
    assert [len(row) for row in cielo.stream] == [4] * 4
    # Cores reach the memory of their own domain fastest.
    assert all(max(row) == row[i] for i, row in enumerate(cielo.stream))
    assert cielo.stream[0][0] == 13434939000.0
    assert redsky.stream is not None
    assert [[round(x / 1e6) for x in row] for row in redsky.stream] == [[15400, 8811], [8757, 15546]]


# Reading

BASE = """\
format = 1
name = "test"
title = "A test"
notes = ["a note"]
compute_nodes = 10
hostnames = "n[0-15]"

[sources]
book = "A book"

[topology]
kind = "torus"
dims = [4, 4]

[links.default]
bandwidth = { value = "1 GB/s", source = "book", status = "exact" }
latency = "100 ns"

[node]
sockets = 2
numa = 2
cores = 8
memory = "4 GiB"
stream = [[1e9, 2e9], [2e9, 1e9]]

[level.network]
L = "1 us"

[noise]
kind = "periodic"
period = "1 ms"
duration = "1 us"
"""
MALFORMED = [
    # (replaced line, its new text, line of the error if another, field, words of the message)
    (1, "format = 0", None, "format", ["0", "formats 1 to 3"]),
    (1, "format = 4", None, "format", ["4", "formats 1 to 3"]),
    (1, 'format = "1"', None, "format", ["'1'", "formats 1 to 3"]),
    (1, "formats = 1", None, "formats", ["unknown key", "format, name, title"]),
    (1, "format = 1 1", None, None, ["not TOML"]),
    (1, "format = 1\nformat = 1", 2, None, ["not TOML", "overwrite"]),
    (1, "format =", None, None, ["not TOML", "Invalid value"]),
    (2, "name = 5", None, "name", ["5", "text"]),
    (2, 'name = "test', None, None, ["not TOML"]),
    (3, "title = [1]", None, "title", ["[1]", "text"]),
    (4, 'notes = "a note"', None, "notes", ["list of texts"]),
    (4, "notes = [1]", None, "notes", ["list of texts"]),
    (5, "compute_nodes = 17", None, "compute_nodes", ["17", "1 to 16"]),
    (5, "compute_nodes = 0", None, "compute_nodes", ["0", "from 1"]),
    (5, "compute_nodes = -4", None, "compute_nodes", ["-4", "from 1"]),
    (5, "compute_nodes = 4.0", None, "compute_nodes", ["4.0", "a whole number from 1"]),
    (5, "compute_nodes = true", None, "compute_nodes", ["True", "a whole number from 1"]),
    (5, 'compute_nodes = { source = "book" }', None, "compute_nodes", ["no value"]),
    (6, "hostnames = 5", None, "hostnames", ["5", "text"]),
    (6, 'hostnames = "n[0-14]"', None, "hostnames", ["15 names", "16"]),
    (6, 'hostnames = "n[0-"', None, "hostnames", ["'n[0-'", "never closed"]),
    (6, 'hostnames = "n[0-7,0-7]"', None, "hostnames", ["n0", "two nodes"]),
    (9, "book = 5", None, "sources.book", ["5", "text"]),
    (12, 'kind = "thorus"', None, "topology.kind", ["'thorus'", "torus"]),
    (12, "kind = 5", None, "topology.kind", ["5", "text"]),
    (12, "", 11, "topology.kind", ["missing", "torus"]),
    (13, "", 11, "topology.dims", ["missing", "torus:8x8x16"]),
    (13, "dims = []", None, "topology.dims", ["[]", "8x8x16"]),
    (13, "dims = [4, 0]", None, "topology.dims", ["0", "from 1"]),
    (13, 'dims = [4, "a"]', None, "topology.dims", ["'a'", "a whole number from 1"]),
    (13, "dims = [4, 4.0]", None, "topology.dims", ["4.0", "a whole number from 1"]),
    (13, "dims = [70000, 70000]", 11, "topology", ["torus", "2^32"]),
    (13, 'dims = { extents = [4, 4], source = "book" }', None, "topology.dims.extents", ["unknown key", "value"]),
    (13, "dims = [4, 4]\nwrap = [true]", 11, "topology", ["wrap has 1", "2 dimensions"]),
    (13, "dims = [4, 4]\nwrap = [1, 0]", 14, "topology.wrap", ["[1, 0]", "true and false"]),
    (13, "dims = [4, 4]\nwrap = true", 14, "topology.wrap", ["True", "list of true and false"]),
    (13, 'dims = [4, 4]\nnames = ["x", "y"]', 14, "topology.names", ["['x', 'y']", "text"]),
    (13, 'dims = [4, 4]\nnames = "xyz"', 11, "topology", ["'xyz'", "one letter per dimension"]),
    (13, "dims = [4, 4]\np = 4294967296", 14, "topology.p", ["4294967296", "4294967295"]),
    (13, "dims = [4, 4]\nq = 1", 14, "topology.q", ["unknown key", "kind, dims, wrap, names, p"]),
    (15, "[link.default]", 15, "link", ["unknown key", "links"]),
    (15, "[links]\ndefault = 5\n[links.x]", 16, "links.default", ["5", "table"]),
    (15, "[links.q]", 15, "links.q", ["'q'", "default, x+"]),
    (16, 'bandwidth = { value = "1 GB/s", source = "web" }', None, "links.default.bandwidth", ["'web'", "book"]),
    (
        16,
        'bandwidth = { value = "1 GB/s", status = "sure" }',
        None,
        "links.default.bandwidth",
        ["'sure'", "exact, derived"],
    ),
    (16, 'bandwidth = { value = "1 GB/s", note = 5 }', None, "links.default.bandwidth", ["5", "text"]),
    (
        16,
        'bandwidth = { value = "1 GB/s", author = "x" }',
        None,
        "links.default.bandwidth.author",
        ["unknown key", "note"],
    ),
    (16, 'bandwidth = "1 GB"', None, "links.default.bandwidth", ["'1 GB'", "GB/s"]),
    (16, "bandwidth = 0", None, "links.default.bandwidth", ["0", "positive"]),
    (16, "bandwidth = -1e9", None, "links.default.bandwidth", ["-1000000000.0", "from 0"]),
    (16, "bandwidth = inf", None, "links.default.bandwidth", ["inf", "finite"]),
    (16, "bandwidth = nan", None, "links.default.bandwidth", ["nan", "finite"]),
    (16, "bandwidth = 1979-05-27", None, "links.default.bandwidth", ["date", "'4 B/s'"]),
    (17, "delay = 1e-9", None, "links.default.delay", ["unknown key", "bandwidth, latency"]),
    (17, 'latency = "100"\nlatency = "100 ns"', 18, None, ["not TOML"]),
    (19, "[[node]]", 19, "node", ["table"]),
    (19, "[nodes]", 19, "nodes", ["unknown key", "node"]),
    (20, "sockets = 0", None, "node.sockets", ["0", "from 1"]),
    (21, "numa = 3", None, "node.numa", ["3", "multiple of sockets = 2"]),
    (22, "cores = 7", None, "node.cores", ["7", "multiple of numa = 2"]),
    (22, "", 19, "node.cores", ["missing", "multiple of 2"]),
    (22, 'cores = "eight"', None, "node.cores", ["'eight'", "a whole number from 1"]),
    (22, "cores = 8\nthreads = 2", 23, "node.threads", ["unknown key", "cores"]),
    (22, 'cores = 8\ncore_order = "random"', 23, "node.core_order", ["'random'", "block, cyclic"]),
    (23, 'memory = "4 GiBs"', None, "node.memory", ["'4 GiBs'", "GiB"]),
    (23, "memory = " + "9" * 400, None, "node.memory", ["finite", "1.8e+308"]),
    (24, "stream = [[1e9]]", None, "node.stream", ["1 rows", "NUMA", "2"]),
    (24, "stream = [[1e9, 2e9], [2e9]]", None, "node.stream", ["2 rows", "2 columns"]),
    (24, "stream = [1e9, 2e9]", None, "node.stream", ["list of lists"]),
    (24, 'stream = [[1e9, 2e9], [2e9, "x"]]', None, "node.stream", ["'x'", "GB/s"]),
    (26, "[level.rack]", 26, "level.rack", ["unknown key", "socket, node, network"]),
    (26, "[level]\nnetwork = 1\n[level.node]", 27, "level.network", ["1", "table"]),
    (27, 'l = "1 us"', None, "level.network.l", ["unknown key", "L, o_send"]),
    (27, 'L = "-1 us"', None, "level.network.L", ["'-1 us'", "from 0"]),
    (30, 'kind = "pink"', None, "noise.kind", ["'pink'", "none, periodic, exponential, file"]),
    (30, 'kind = "none"', 31, "noise.period", ["kind none", "periodic, exponential"]),
    (31, "", 29, "noise.period", ["missing", "periodic"]),
    (32, 'duration = "2 ms"', None, "noise.duration", ["0.002 s", "less than the period"]),
    (32, 'duration = "1 us"\nfile = "trace"', 33, "noise.file", ["kind periodic", "file"]),
]


def test_base_is_well_formed() -> None:
    machine = Machine(parse_toml(BASE, "base.toml"))
    assert (machine.nodes, machine.node.cores) == (10, 8)
    assert len(MALFORMED) >= 50


@pytest.mark.parametrize(
    ("line", "text", "at", "field", "words"), MALFORMED, ids=[f"{m[0]}-{m[1][:30] or 'gone'}" for m in MALFORMED]
)
def test_malformed(line: int, text: str, at: int | None, field: str | None, words: list[str], tmp_path) -> None:
    lines = BASE.split("\n")
    lines[line - 1] = text
    path = tmp_path / "machine.toml"
    path.write_text("\n".join(lines))
    with pytest.raises(ParseError) as caught:
        isthmus.load(path)
    error = caught.value
    assert error.file == str(path)
    assert error.line == (at or line)
    assert error.field == field
    assert all(word in error.message for word in words), error.message
    assert "\n" not in str(error)
    assert not error.message.endswith(".")


GRAPH = (
    'format = 1\n[topology]\nkind = "graph"\nnodes = ["a", "b"]\nswitches = ["s"]\nedges = [["a", "s"], ["b", "s"]]\n'
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["a", "b"]', '"ab"', ["'ab'", "list of names"]),
        ('["a", "b"]', '["a", ""]', ["list of names"]),
        ('["a", "b"]', '["a", "a"]', ["'a'", "twice"]),
        ('["a", "b"]', '["a", "s"]', ["'s'", "twice"]),
        ('["a", "b"]', "[]", ["edge list", "graph:cables.edges"]),
        ('["b", "s"]', '["b", "t"]', ["cable 2", "'t'"]),
        ('["b", "s"]', '[["b"], "s"]', ["cable 2", "['b']", "a node or a switch"]),
        ('["b", "s"]', '["b"]', ["cable 2", "1 entries", "from, to"]),
        ('["b", "s"]', '["b", "s", "1 GB"]', ["cable 2", "'1 GB'", "GB/s"]),
        ('["b", "s"]', '["b", "s", 0]', ["cable 2", "bandwidth must be above 0"]),
        ('["b", "s"]', '["b", "s", 1e9, -1]', ["cable 2", "latency 0 or more"]),
        ('["b", "s"]', '["b", "s", 1e9, 1e-7, 0]', ["cable 2", "count 0", "from 1"]),
        ('["b", "s"]', '["b", "s", 1e9, 1e-7, true]', ["cable 2", "count True", "from 1"]),
        ('["b", "s"]', '["b", "s", 1e9, 1e-7, 99999999999]', ["cable 2", "99999999999", "1000000"]),
        ('["b", "s"]', '"bs"', ["list of [from, to"]),
    ],
)
def test_malformed_graph(old: str, new: str, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        Machine(parse_toml(GRAPH.replace(old, new), "graph.toml"))
    assert caught.value.line is not None
    assert (caught.value.field or "").startswith("topology")
    assert all(word in caught.value.message for word in words), caught.value.message


def test_graph_round_trip_with_unknown_latency() -> None:
    raw = {
        "topology": {
            "kind": "graph",
            "nodes": ["a", "b"],
            "switches": ["s"],
            "edges": [["a", "s", 1e9, None, 2], ["b", "s", None, 1e-6, None], ["a", "b"]],
        }
    }
    machine = Machine.from_dict(raw)
    again = Machine(parse_toml(machine.toml(), "again.toml"))
    ids = list(range(machine.topology.links))
    assert again.topology.links == len(ids) == 8
    assert again.topology.link_classes == machine.topology.link_classes


def test_files_that_are_not_text(tmp_path) -> None:
    path = tmp_path / "machine.toml"
    path.write_bytes(b'format = 1\nname = "\xff"\n')
    with pytest.raises(ParseError, match="UTF-8") as caught:
        read_toml(path)
    assert caught.value.line == 2
    path.write_bytes(b"")
    with pytest.raises(ParseError, match="needs an interconnect"):
        read_toml(path)
    path.write_text("x = " + "[" * 5000)
    with pytest.raises(ParseError, match="not TOML"):
        read_toml(path)
    path.write_text(f"compute_nodes = {'9' * 5000}\n")
    with pytest.raises(ParseError, match="4300 digits"):
        read_toml(path)


def test_lines_of_quoted_and_dotted_keys() -> None:
    for text, line in [
        ('[topology]\nkind = "ring"\ndims = [4]\n[links."x+"]\nbandwidth = "1 B/s"\nlatency = "q"\n', 6),
        ('[topology]\nkind = "ring"\ndims = [4]\n[links]\nx.latency = "q"\n', 5),
        ('[topology]\nkind = "ring"\ndims = [4]\n["links" . \'x\'] # comment\n  "latency" = "q"\n', 5),
        ('topology.kind = "ring"\ntopology.dims = [4]\nlevel.network = { L = "q" }\n', 3),
    ]:
        with pytest.raises(ParseError, match="'q'") as caught:
            parse_toml(text, "keys.toml")
        assert caught.value.line == line, text


def test_files_beside_the_machine(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "my cables.edges").write_text("a b\n")
    toml = tmp_path / "here" / "machine.toml"
    toml.write_text(
        '[topology]\nkind = "graph"\nfile = { value = "my cables.edges", note = "beside" }\n'
        '[noise]\nkind = "file"\nfile = "noise.txt"\n'
    )
    monkeypatch.chdir(tmp_path / "here")
    machine = isthmus.load("machine.toml")
    assert machine.noise.file == str(tmp_path / "here" / "noise.txt")
    # Saved elsewhere and read from elsewhere, it still finds them.
    machine.save(tmp_path / "there" / "copy.toml")
    monkeypatch.chdir("/")
    assert isthmus.load(tmp_path / "there" / "copy.toml") == machine
    (tmp_path / "here" / "my cables.edges").write_text("a\n")
    with pytest.raises(ParseError) as caught:
        isthmus.load(toml)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "here" / "my cables.edges"), 1)


# Writing


@settings(max_examples=40, derandomize=True, deadline=None)
@given(specs, st.text(max_size=20), st.lists(st.text(max_size=20), max_size=2))
def test_round_trip_of_random_machines(spec: str, title: str, notes: list[str]) -> None:
    values = Machine.parse(spec).description.values
    machine = Machine.from_dict({**{k: v for k, v in values.items() if v is not None}, "title": title, "notes": notes})
    assert Machine(parse_toml(machine.toml(), "again.toml")) == machine


def test_write_is_complete_or_nothing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "machine.toml"
    machine = isthmus.load("ring-16")
    machine.save(path)
    before = path.read_bytes()

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        isthmus.load("cielo").save(path)
    assert path.read_bytes() == before
    with pytest.raises(OSError, match="No space"):
        machine.save(tmp_path / "new.toml")
    assert os.listdir(tmp_path) == ["machine.toml"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_any_failure_leaves_the_old_file(error: type[BaseException], tmp_path) -> None:
    path = tmp_path / "old.txt"
    path.write_text("old")
    with pytest.raises(error), replacing(path) as temporary, open(temporary, "w") as stream:  # noqa: PT012
        stream.write("half of the n")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["old.txt"]
    assert temporary.endswith(".txt")


def test_write_errors_name_the_file_that_was_asked_for(tmp_path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        write_atomically(tmp_path / "no" / "x.toml", "")
    assert missing.value.filename == str(tmp_path / "no" / "x.toml")
    with pytest.raises(IsADirectoryError) as folder:
        write_atomically(tmp_path, "")
    assert folder.value.filename == str(tmp_path)


def test_modes_links_and_devices(tmp_path) -> None:
    path = tmp_path / "machine.toml"
    old = os.umask(0o027)
    try:
        write_atomically(path, "one")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_atomically(path, "two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_atomically(link, "three")
    assert link.is_symlink()
    assert path.read_text() == "three"
    # A device is written to, not replaced by a file.
    write_atomically(os.devnull, "four")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_pipes_are_written_to(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)


# Files gone wrong


@pytest.mark.parametrize("name", ["cielo", "edison", "kautz-2-3", "superpod-h100", "torus-4x4x4"])
def test_damaged_files_are_read_or_refused(name: str) -> None:
    original = text_of(name)

    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(damaged(original))
    def check(text: str) -> None:
        refusal = None
        try:
            machine = Machine(parse_toml(text, "damaged.toml"))
        except InvalidInput as error:
            pytest.fail(f"without file and line: {error}")
        except ParseError as error:
            refusal = error
        if refusal is None:
            assert machine.nodes > 0
        else:
            assert refusal.file == "damaged.toml"
            assert refusal.message
            assert "\n" not in str(refusal)

    check()


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400))
def test_damaged_bytes(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.toml"
    data = text_of("ring-16").encode()
    path.write_bytes(data[:at] + noise + data[at + len(noise) :])
    # Anything but a ParseError fails the test.
    with contextlib.suppress(ParseError):
        isthmus.load(path)
