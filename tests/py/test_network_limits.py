"""What a model of the network refuses, in one sentence; options of single models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from isthmus.cli import main
from isthmus.errors import InvalidInput, Unsupported
from isthmus.machine.kinds import KINDS

MODELS = ("flow", "reserve", "packet")
ROUTINGS = ("minimal", "random", "valiant", "adaptive")
RING = "ring:16 link=1GB/s hop=50ns cores=1"
# One of every kind of interconnect.
SPECS = (
    "linear:7", "ring:7", "mesh:3x4", "torus:3x3x2", "torus:4x4,p=2", "hypercube:3", "tree:m=3x3", "xgft:m=4x4,w=1x2",
    "fattree:k=2,n=3", "clos2:leaves=4,down=4,spines=4", "clos3:pods=2,leaves=2,down=2,aggs=2,cores=2",
    "dragonfly:a=4,p=2,h=2,g=9", "dragonfly+:leaves=2,spines=2,p=2,h=2,g=3", "kautz:d=2,k=3", "debruijn:d=2,k=3",
    "hyperx:3x3,p=2", "slimfly:q=5,p=1", "rail:gpus=2,domains=4,unit=2,spines=2", "graph",
)  # fmt: skip


def exchange(ranks: int, size: int = 50_000) -> isthmus.Program:
    """Every rank sends to the next one."""
    b = isthmus.ProgramBuilder(ranks)
    rank = np.arange(ranks)
    b.irecv(None, (rank - 1) % ranks, size)
    b.isend(None, (rank + 1) % ranks, size)
    b.waitall(None)
    return b.build()


def machine(spec: str, folder: Path) -> isthmus.Machine:
    if spec == "graph":
        cables = folder / "cables.edges"
        cables.write_text("switch s t\na s\nb s\nc t\nd t\ns t\n")
        spec = f"graph:{cables}"
    return isthmus.Machine.parse(f"{spec} link=1GB/s hop=50ns cores=1")


def test_specs_name_every_kind() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} == set(KINDS)


@pytest.mark.parametrize("spec", SPECS)
def test_every_kind_carries_messages_or_says_which_routes_it_has(spec: str, tmp_path: Path) -> None:
    m = machine(spec, tmp_path)
    ranks = min(m.nodes, 9)
    nodes = np.linspace(0, m.nodes - 1, ranks).astype(int)
    program = exchange(ranks)
    alone = isthmus.simulate(program, m, nodes).makespan_ps
    for model in MODELS:
        for routing in ROUTINGS:
            detours = routing == "valiant" or (routing == "adaptive" and model != "packet")
            if spec.startswith(("rail", "graph")) and detours:
                with pytest.raises(
                    Unsupported, match=f"routing '{routing}': a {spec[:4]}.* use one of minimal, random"
                ):
                    isthmus.simulate(program, m, nodes, model=model, routing=routing)
                # Before anything is sent.
                with pytest.raises(Unsupported, match=f"routing '{routing}'"):
                    isthmus.simulate(exchange(1, 0), m, model=model, routing=routing)
                continue
            t = isthmus.simulate(program, m, nodes, model=model, routing=routing)
            assert t.deadlock is None
            assert t.makespan_ps >= alone


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "fluid"}, "model = 'fluid': must be one of loggops, flow, reserve, packet"),
        ({"model": None}, "model = None: must be one of"),
        (
            {"routing": "valiant"},
            "routing = 'valiant': in the model 'loggops' messages take no links; use one of flow",
        ),
        ({"slices": 10}, "slices = 10: in the model 'loggops' messages take no links"),
        ({"model": "flow", "routing": "ugal"}, "routing = 'ugal': must be one of minimal, random, valiant, adaptive"),
        ({"model": "flow", "slices": -1}, "slices = -1: must be a whole number from 0 to 4096"),
        ({"model": "flow", "slices": 4097}, "slices = 4097: must be a whole number"),
        ({"model": "flow", "slices": 2.5}, "slices = 2.5: must be a whole number"),
        ({"model": "flow", "seed": "x"}, "seed = 'x': must be a whole number"),
        ({"model": "flow", "resolution": -0.1}, "resolution = -0.1: must be a number from 0 to 1"),
        ({"model": "flow", "resolution": float("nan")}, "resolution = nan: must be a number from 0 to 1"),
        ({"model": "packet", "resolution": 0.1}, "resolution: applies only to the model 'flow', not to 'packet'"),
        (
            {"model": "flow", "packet": isthmus.PacketOptions()},
            "packet: applies only to the model 'packet', not to 'flow'",
        ),
        ({"model": "packet", "packet": {"bytes": 64}}, r"packet = \{'bytes': 64\}: must be isthmus.PacketOptions"),
    ],
)
def test_options_of_the_network(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{words}"):
        isthmus.simulate(exchange(4), RING, **options)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"bytes": 0}, "packet.bytes = 0: must be a whole number from 1 to 268435456"),
        ({"bytes": 2**28 + 1}, "packet.bytes = 268435457"),
        ({"bytes": 1.5}, "packet.bytes = 1.5"),
        ({"bytes": True}, "packet.bytes = True"),
        ({"bytes": 16}, "packet.flit = 32: must be 1 to 16, the bytes of a packet"),
        ({"flit": 0}, "packet.flit = 0"),
        ({"buffer": 2047}, "packet.buffer = 2047: must be at least 2048, the bytes of a packet"),
        ({"buffer": "4KiB"}, "packet.buffer = '4KiB'"),
    ],
)
def test_sizes_of_packets(sizes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{words}"):
        isthmus.PacketOptions(**sizes)


def test_links_and_times_that_no_clock_holds(tmp_path: Path) -> None:
    level = 'L = "1us"\no_send = "1us"\no_recv = "1us"\ng = "1us"\nG = '
    text = 'format = 1\n[topology]\nkind = "ring"\ndims = [16]\n[links.default]\nbandwidth = {}\nlatency = "50ns"\n'
    text += f"[node]\ncores = 1\n[level.network]\n{level}{{}}\n"
    path = tmp_path / "m.toml"
    for bandwidth in ("0", "-1e9", "nan", "inf"):
        path.write_text(text.format(bandwidth, "1e-9"))
        with pytest.raises(isthmus.ParseError, match=r"links\.default\.bandwidth"):
            isthmus.load(str(path))
    path.write_text(text.format("1e-9", "1e-9"))
    slow = isthmus.load(str(path))
    assert isthmus.simulate(exchange(4), slow).makespan < 1
    for model in MODELS:
        with pytest.raises(
            InvalidInput, match=r"the longest time that can be simulated|a packet of 2048 bytes may take up to 1000 s"
        ):
            isthmus.simulate(exchange(4), slow, model=model)
    path.write_text(text.format("1e9", "999"))
    for model in ("loggops", *MODELS):
        with pytest.raises(InvalidInput, match="may take up to"):
            isthmus.simulate(exchange(4), str(path), model=model)


@pytest.fixture
def error(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The one sentence that a command ends with."""
    monkeypatch.chdir(tmp_path)

    def told(*words: str) -> str:
        with pytest.raises(SystemExit) as stop:
            main(["simulate", *words])
        out, err = capsys.readouterr()
        assert (stop.value.code, out, err.count("\n")) == (2, "", 1)
        return err

    return told


LARGE = "torus:300x300x300 link=1GB/s hop=50ns cores=1"


@pytest.mark.parametrize(
    ("where", "options", "words"),
    [
        (
            LARGE,
            "--model packet",
            "GiB under load, but at most 8 are allowed: use the model 'flow'",
        ),
        (
            "superpod-h100",
            "--model flow --routing valiant",
            "a rail has no Valiant routes; use one of minimal, random\n",
        ),
        ("superpod-h100", "--model packet --routing valiant", "use one of minimal, random, adaptive\n"),
        ("graph:islands.edges", "--model flow", "node d is not connected to node a"),
        ("zero.toml", "--model flow", "links.default.bandwidth: is 0: must be a positive bandwidth"),
        (RING, "--model fluid", "'fluid' is not one of 'loggops', 'flow', 'reserve', 'packet'"),
        (RING, "--model flow --routing far", "'far' is not one of 'minimal', 'random', 'valiant', 'adaptive'"),
        (RING, "--routing valiant", "in the model 'loggops' messages take no links; use one of flow, reserve, packet"),
        (RING, "--model flow --resolution 2", "resolution = 2.0: must be a number from 0 to 1"),
        (RING, "--model packet --packet-bytes 1", "packet.flit = 32: must be 1 to 1, the bytes of a packet"),
        (
            RING,
            "--model packet --buffer 1KiB",
            "packet.buffer = 1024: must be at least 2048, the bytes of a packet",
        ),
        (RING, "--model packet --flit many", "--flit=many: "),
        (RING, "--model flow --buffer 4KiB", "packet: applies only to the model 'packet', not to 'flow'"),
    ],
)
def test_the_command_says_so_and_exits_with_2(error: Any, where: str, options: str, words: str) -> None:
    Path("islands.edges").write_text("a b\nb c\nd e\n")
    Path("zero.toml").write_text('format = 1\n[topology]\nkind = "ring"\ndims = [4]\n[links.default]\nbandwidth = 0\n')
    assert words in error("alltoall:ranks=4,bytes=64kB", "--machine", where, *options.split())


def test_slices_that_need_too_much_memory() -> None:
    with pytest.raises(
        Unsupported, match=r"4096 slices of time for 162000000 links would need about 2472 GiB.*fewer slices"
    ):
        isthmus.simulate(exchange(4), LARGE, model="flow", slices=4096)


def test_a_lone_message_passes_links_as_fast_as_its_buffers_let_it() -> None:
    # One packet of buffer: on every link a packet waits for the credit of the one before it.
    m = isthmus.Machine.parse("linear:6 link=1GB/s hop=50ns cores=1")
    count, latency = 20, 50e-9
    for size in (256, 2048):
        b = isthmus.ProgramBuilder(2)
        b.send(0, 1, count * size + 1)
        b.recv(1, 0, count * size + 1)
        small = isthmus.PacketOptions(bytes=size, flit=16, buffer=size)
        t = isthmus.simulate(b.build(), m, [0, 5], model="packet", packet=small)
        head = latency + 16e-9
        assert t.lost_in_all_ps == round((count - 1) * (head + latency) * 1e12)
        ample = isthmus.PacketOptions(bytes=size, flit=16)
        assert isthmus.simulate(b.build(), m, [0, 5], model="packet", packet=ample).lost_in_all_ps == 0


@pytest.mark.parametrize(
    ("machine", "kind", "algorithm"),
    [
        ("eos", "allgather", "neighbor_exchange"),  # now and then all messages under way wait for their first rate
        ("cielo", "alltoall", ("linear", {"window": 16})),
        ("torus-4x4x4", "alltoall", "linear"),
    ],
)
def test_messages_that_come_and_go_together_take_as_long(machine: str, kind: str, algorithm: object) -> None:
    schedule = isthmus.collective(kind, ranks=48, bytes=65_536, algorithm=algorithm)
    nodes = np.arange(48) // (4 if machine == "eos" else 1)
    options = {"model": "flow", "record": "finish"}
    exact = isthmus.simulate(schedule, machine, nodes, resolution=0, **options)
    for resolution, error in ((0.01, 0.006), (0.1, 0.04)):
        coarse = isthmus.simulate(schedule, machine, nodes, resolution=resolution, **options)
        assert coarse.deadlock is None
        assert coarse.makespan == pytest.approx(exact.makespan, rel=error)


def test_a_resolution_of_0_is_exact() -> None:
    # Two flows over one link, one of them 0.5 % longer: with the default both leave when the first ends.
    m = isthmus.Machine.parse("linear:4 link=1GB/s hop=50ns cores=1")
    b = isthmus.ProgramBuilder(4)
    for source, target, size in ((0, 2, 1_000_001), (1, 3, 1_005_001)):
        b.isend(source, target, size)
        b.recv(target, source, size)
        b.waitall(source)
    p = b.build()
    lost = {r: isthmus.simulate(p, m, [0, 1, 2, 3], model="flow", resolution=r).lost_in_all_ps for r in (0, 0.01, None)}
    assert lost[None] == lost[0.01] != lost[0]
    # The longer one has the link to itself for what it has more: both lose the time of the shorter one.
    assert lost[0] == pytest.approx(2 * 1e9, rel=1e-6)
