"""What `advise` says of MPI's parameters: limits that it tries, what they are called, buffers and memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import isthmus
from isthmus import Machine, Program
from isthmus.advice.collectives.library import library_of
from isthmus.advice.settings.names import eager_settings, progress_settings, queue_settings
from isthmus.errors import InvalidInput
from isthmus.machine.mpi_memory import MpiMemory, mpi_memory, receive_queues

RANKS = 8
LATE = 200e-6


def chain(size: int, *, turns: int = 4) -> Program:
    """Each rank sends, computes, and receives late from the rank before; then that is needed."""
    b = isthmus.ProgramBuilder(RANKS)
    rank = np.arange(RANKS)
    for _ in range(turns):
        b.isend(None, (rank + 1) % RANKS, size)
        b.compute(None, LATE)
        b.recv(None, (rank - 1) % RANKS, size)
        b.waitall(None)
    return b.build()


def machine(bandwidth: str = "", memory: str = "") -> Machine:
    node = (
        {"cores": 1} | ({"memory_bandwidth": bandwidth} if bandwidth else {}) | ({"memory": memory} if memory else {})
    )
    return Machine.from_dict(
        {
            "topology": {"kind": "torus", "dims": [4, 2]},
            "node": node,
            "level": {
                name: {"L": "1us", "o_send": "0.2us", "o_recv": "0.2us", "g": "0.2us", "G": 1e-9, "S": "4096 B"}
                for name in ("socket", "node", "network")
            },
            "name": "chain",
        }
    )


def advised(program: Program, on: Machine, **more: object) -> isthmus.Advice:
    return isthmus.advise(program, on, tune_seconds=0, **more)  # type: ignore[arg-type]


def test_a_higher_limit_saves_what_a_transfer_behind_computation_takes() -> None:
    size, turns = 50_000, 4
    advice = advised(chain(size, turns=turns), machine())
    p = advice.predictions[0]
    assert p.settings is not None
    (best,) = p.settings.better
    assert (best.level, best.now, best.limit, best.messages, best.copies) == ("network", 4096, 65536, turns * RANKS, 0)
    # Eager messages are there when computation ends: only the processor is left. Otherwise all of it comes after.
    assert p.time == pytest.approx(turns * (LATE + 0.2e-6 + 1e-6 + 0.2e-6 + (size - 1) * 1e-9), rel=0.02)
    assert best.time == pytest.approx(turns * (LATE + 2 * 0.2e-6), rel=0.02)
    assert best.saving == pytest.approx(p.time - best.time)
    assert (best.held_now, best.held) == (0, size)
    (said,) = (s for s in advice.sentences if s.topic == "eager")
    assert said.gain == pytest.approx(best.gain)
    assert "--mca btl_tcp_eager_limit 65600 (TCP); -x UCX_RNDV_THRESH=65537 (UCX)" in said.text
    # The time is that of a machine with this limit.
    level = isthmus.Level(L=1e-6, o_send=0.2e-6, o_recv=0.2e-6, g=0.2e-6, G=1e-9, S=65536)
    assert isthmus.simulate(chain(size, turns=turns), level).makespan == pytest.approx(best.time, rel=0.01)


def test_copies_are_subtracted() -> None:
    """Where copies take longer than what is saved, no limit is named; what was tried is still there."""
    for bandwidth, named in (("100 GB/s", True), ("2 GB/s", False)):
        p = advised(chain(50_000), machine(bandwidth)).predictions[0]
        assert p.settings is not None
        (tried,) = p.settings.tried
        # Each rank copies what it sends and what it receives.
        assert tried.copies == pytest.approx(2 * 4 * 50_000 * 2 / float(bandwidth.split()[0]) / 1e9)
        assert bool(p.settings.better) == named


def test_no_limit_that_makes_the_predicted_program_slower() -> None:
    """What saves requests and answers, but is slower without them or after copies, is not named."""
    settings = advised(chain(50_000), machine("100 GB/s")).predictions[0].settings
    assert settings is not None
    (one,) = settings.better
    least = 0.02 * (one.time + one.saving)
    assert one.worth(least)
    assert not one.by_requests
    by_requests = replace(one, saving=one.copies, unaided=5 * least)
    assert by_requests.by_requests
    assert by_requests.gain == 5 * least - one.copies
    assert by_requests.worth(least)
    assert not replace(by_requests, saving=one.copies - 0.1 * least).worth(least)
    assert not replace(by_requests, copies=5 * least).worth(least)


@pytest.mark.parametrize("size", [8, 4096])
def test_nothing_is_tried_without_messages_by_rendezvous(size: int) -> None:
    advice = advised(chain(size), machine())
    settings = advice.predictions[0].settings
    assert settings is not None
    assert (settings.tried, settings.better, settings.progress, settings.lower) == ((), (), None, None)
    assert settings.queues.unexpected == 4 * RANKS
    assert not {s.topic for s in advice.sentences} & {"eager", "memory", "progress"}
    assert "32 of 32 messages (100 %) come before their receives." in str(advice)


@pytest.mark.parametrize(
    ("compute", "memory", "named"), [(5.0, "100 MB", True), (0.1, "100 MB", False), (5.0, "1 TB", False)]
)
def test_a_lower_limit_where_messages_take_much_memory(compute: float, memory: str, named: bool) -> None:
    """A receiver that is late for hundreds of messages: 1.1 ms of transfers come after its computation."""
    b = isthmus.ProgramBuilder(RANKS)
    for rank in range(1, RANKS):
        for _ in range(40):
            b.isend(rank, 0, 4000)
        b.waitall(rank)
    b.compute(0, compute)
    for rank in range(1, RANKS):
        for _ in range(40):
            b.irecv(0, rank, 4000)
    b.waitall(0)
    held = (RANKS - 1) * 40 * 4000
    advice = advised(b.build(), machine(memory=memory))
    settings = advice.predictions[0].settings
    assert settings is not None
    assert settings.queues.held_most.tolist() == [held] + (RANKS - 1) * [0]
    assert settings.shared_buffers == settings.peer_buffers == 280
    assert (settings.lower is not None) == named
    assert len(settings.tried) == (memory == "100 MB")
    if settings.lower is not None:
        assert (settings.lower.limit, settings.lower.held, settings.lower.held_now) == (1024, 0, held)
        assert -0.001 * advice.predictions[0].time < settings.lower.saving < 0
        assert [s.gain for s in advice.sentences if s.topic == "memory"] == [0]


@pytest.mark.parametrize("computes", [True, False])
def test_progress_is_what_answers_wait_for_computation(computes: bool) -> None:
    """Receives are posted before a computation, sends come during it: answers are given only after it."""
    size, wait, longer = 2_000_000, 1e-3, 9e-3
    b = isthmus.ProgramBuilder(2)
    for _ in range(3):
        b.irecv(1, 0, size)
        if computes:
            b.compute(0, wait)
            b.compute(1, wait + longer)
        b.isend(0, 1, size)
        b.waitall(0)
        b.waitall(1)
        b.barrier(None)
    advice = advised(b.build(), machine(), mpi="mpich")
    settings = advice.predictions[0].settings
    assert settings is not None
    assert settings.progress is not None
    said = [s.text for s in advice.sentences if s.topic == "progress"]
    if computes:
        # Otherwise the transfer of 2 ms is over when the computation is.
        assert settings.progress.behind_computation == pytest.approx(3 * 2e-3, rel=0.05)
        assert len(said) == 1
        assert "MPIR_CVAR_ASYNC_PROGRESS=1" in said[0]
    else:
        assert settings.progress.behind_computation == 0
        assert said == []


def test_buffers_shared_and_by_peer() -> None:
    """Rank 0 hears from its peers in turn: shared buffers are needed once, those of each peer every time."""
    b = isthmus.ProgramBuilder(4)
    for rank in (1, 2, 3):
        b.compute(rank, rank * 1e-3)
        for _ in range(5):
            b.isend(rank, 0, 100)
        b.waitall(rank)
        b.compute(0, 1e-3 + 1e-4)
        for _ in range(5):
            b.recv(0, rank, 100)
    settings = advised(b.build(), machine()).predictions[0].settings
    assert settings is not None
    assert (settings.shared_buffers, settings.peer_buffers, settings.buffer) == (5, 15, 4096)
    assert [str(s) for s in settings.buffer_settings] == ["--mca btl_openib_receive_queues S,4096,16 (openib)"]


def test_the_page_the_report_and_json_say_the_same() -> None:
    advice = advised(chain(50_000), machine(), name="chain", mpi="mpich")
    words, page, plain = str(advice), advice.html(), advice.json()["predictions"][0]["settings"]
    assert plain["library"] == "mpich"
    assert plain["messages"] == plain["unexpected"] == 4 * RANKS
    assert plain["by_rank"]["unexpected_most"] == [1] * RANKS
    assert plain["better"][0]["limit"] == 65536
    assert plain["memory"] is None
    progress = plain["progress"]
    assert progress["behind_computation"] == max(progress["longer"] - progress["without_computation"], 0)
    for text in ("unexpected messages", "32 of 32 messages", "65.54 kB"):
        assert text in words
        assert text in page
    assert 'id="settings"' in page
    assert "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE=65536 (ch4:ofi)" in words.replace("\n     ", " ")


@pytest.mark.parametrize(
    ("library", "level", "first"),
    [
        ("openmpi-4.1.4", "node", "--mca btl_vader_eager_limit 1088"),
        ("openmpi-5.0.8", "node", "--mca btl_sm_eager_limit 1088"),
        ("openmpi-5.0.8", "network", "--mca btl_tcp_eager_limit 1088"),
        ("mpich-4.0.2", "network", "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE=1024"),
        ("mpich-5.0.0", "network", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD=1025"),
        ("mpich", "node", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE=4096"),
    ],
)
def test_names_by_library_and_version(library: str, level: str, first: str) -> None:
    found = eager_settings(library_of(None, library), level, 1024)
    assert found[0].text == first
    assert len({one.means for one in found}) == len(found)
    openmpi = library.startswith("openmpi-4")
    assert bool(queue_settings(library_of(None, library), 4096, 16)) == openmpi
    assert bool(progress_settings(library_of(None, library))) == library.startswith("mpich")


def measured(own: float, peer: float) -> Machine:
    curve = {"kind": "memory", "y_unit": "B", "x_label": "ranks", "x": [2, 4, 8]}
    y = [3e6 + own + peer * (n - 1) for n in (2, 4, 8)]
    fitted = {"per_process": [own + 3e6] * 3, "per_peer": [peer, 0.9 * peer, 1.1 * peer]}
    contacted = {**curve, "y": y, "parameters": {"what": "contacted"}, "fitted": fitted, "formula": "x"}
    before = {**curve, "y": [3.1e6, 3e6, 3.2e6], "parameters": {"what": "before"}}
    return Machine.from_dict(
        {
            "name": "m",
            "topology": {"kind": "torus", "dims": [4, 4]},
            "node": {"cores": 4, "memory": "6 GB"},
            "curves": {"memory-before": before, "memory-contacted": contacted},
        }
    )


def test_memory_of_mpi_as_measured() -> None:
    found = mpi_memory(measured(20e6, 15e3))
    assert found == MpiMemory(20e6, 15e3, (20e6, 13.5e3), (20e6, 16.5e3), 8)
    assert found.of(1) == 20e6
    assert found.of(1001) == 20e6 + 1000 * 15e3
    assert found.of(1001, peers=6) == found.of(7)
    assert found.of(3, peers=6) == found.of(3)
    assert mpi_memory(isthmus.load("cielo")) is None
    advice = advised(chain(8), measured(20e6, 15e3), ranks_per_node=4)
    assert "20 MB a rank and 15 kB for each rank in contact" in " ".join(str(advice).split())
    assert "extrapolated" in " ".join(str(advice).split())
    assert advice.json()["predictions"][0]["settings"]["memory"]["of_machine"] == found.of(64)


def test_a_sixth_of_the_memory_at_16k_ranks() -> None:
    """What the talk says of Red Sky: between shared queues alone, and a queue of each of 16k peers in contact."""
    each = isthmus.load("redsky").node.memory
    assert each is not None
    each /= isthmus.load("redsky").node.cores
    shared, by_peer = receive_queues("P,128,256,192,128:S,2048,256,128,32:S,12288,256,128,32:S,65536,256,128,32")
    assert (shared, by_peer) == (256 * (2048 + 12288 + 65536), 128 * (256 + 3))
    low, high = shared / each, (shared + 16383 * by_peer) / each
    assert low < 1 / 6 < high
    # A sixth is what 43 % of the peers in contact take, or 14 kB for each of all.
    assert (each / 6 - shared) / by_peer / 16383 == pytest.approx(0.43, abs=0.02)


@pytest.mark.parametrize(
    ("text", "queue"), [("", 1), ("P", 1), ("Q,1,2", 1), ("S,128,256:P,0,4", 2), ("P,128,256:S,a,1", 2), ("S,1,-2", 1)]
)
def test_queues_that_are_none(text: str, queue: int) -> None:
    with pytest.raises(InvalidInput, match=f"queue {queue}: must be P, S or X"):
        receive_queues(text)
