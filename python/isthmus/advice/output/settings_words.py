"""Queues and parameters of MPI in words: rows for the page and the report, and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...units import amount, percent, text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..advice import Prediction
    from ..settings.limits import EagerLimit, MpiSettings
    from ..settings.names import Setting

#: Bytes of receive buffers from which on the page speaks of them, and settings are named.
_MANY = 1_000_000
#: Where messages are, by level.
_BETWEEN = {"network": "between nodes", "node": "within nodes"}
NO_SETTINGS = (
    "queues of MPI and eager limits: not looked at, as the program is simulated in pieces, and none of them stand for "
    "it: ask for them with a run of fewer steps, of up to 5 million operations"
)
QUEUES = ["queues of MPI", "most", "on rank", "mean"]


def queue_rows(found: MpiSettings, buffers: bool = True) -> list[list[str]]:
    """The queues: the most on any rank, which one that is, and the mean over the run and the ranks."""
    q = found.queues
    rows = [
        ["unexpected messages", *_most(q.unexpected_most, ","), f"{float(q.unexpected_mean.mean()):.3g}"],
        ["bytes kept of eager ones", *_most(q.held_most, "B"), amount(round(float(q.held_mean.mean())))],
        ["posted receives", *_most(q.posted_most, ","), f"{float(q.posted_mean.mean()):.3g}"],
    ]
    if buffers and found.peer_buffers:
        rows += [
            ["receive buffers, shared by all peers", *_most(q.buffered_most, ","), ""],
            ["receive buffers, a queue for each peer", *_most(q.buffered_by_peer * q.peers, ","), ""],
        ]
    return rows


def _most(values: NDArray[np.int64], unit: str) -> tuple[str, str]:
    rank = int(values.argmax())
    most = int(values[rank])
    return (amount(most) if unit == "B" else f"{most:,}"), (f"{rank:,}" if most else "")


LIMITS = ["eager limits", "limit", "time", "saving", "saving without progress", "copies at most"]


def limit_rows(p: Prediction) -> list[list[str]]:
    """The limits that were simulated."""
    found = p.settings
    if found is None:
        return []
    return [
        [
            _BETWEEN[one.level],
            amount(one.limit),
            text(one.time, "s", 3),
            _saved(one.saving, p.time),
            "" if one.unaided is None else _saved(one.unaided, p.time),
            text(one.copies, "s", 3),
        ]
        for one in found.tried
    ]


def _saved(saving: float, time: float) -> str:
    if abs(saving) < 0.0005 * time:
        return "none"
    return f"{'-' if saving < 0 else ''}{text(abs(saving), 's', 3)}, {percent(saving / time)}"


def unexpected_words(found: MpiSettings) -> str:
    """How many messages come before their receives."""
    q = found.queues
    if not q.messages:
        return "No messages are received."
    if not q.unexpected:
        return f"All {q.messages:,} messages find their receives posted."
    part = percent(q.unexpected / q.messages)
    return f"{q.unexpected:,} of {q.messages:,} messages ({part}) come before their receives."


def memory_words(p: Prediction) -> str:
    """Memory of MPI in each rank, where the machine was measured; otherwise nothing."""
    found = p.settings
    if found is None or found.memory is None:
        return ""
    m, ranks = found.memory, p.timeline.ranks
    peers = int(found.queues.peers.max())
    words = (
        f"Memory of MPI: {amount(m.per_process)} a rank and {amount(m.per_peer)} for each rank in contact: "
        f"{amount(m.of(ranks, peers))} with the {peers:,} peers on other nodes that a rank has at most, "
        f"{amount(m.of(ranks))} in contact with all"
    )
    memory = p.machine.node.memory
    if memory:
        each = memory / min(p.placement.ranks_per_node, ranks)
        cores = p.machine.cores
        words += f" ({percent(m.share(ranks, each))} of the memory of a rank"
        words += f"; {percent(m.share(cores, each))} on all {cores:,} cores)" if cores > ranks else ")"
    if max(ranks, p.machine.cores) > m.measured:
        words += f". Measured on up to {m.measured:,} ranks and extrapolated from there"
    return f"{words}."


def page_words(p: Prediction) -> str:
    """What the page says below its tables."""
    found = p.settings
    assert found is not None
    buffers = buffers_words(found) if found.peer_buffers * found.buffer >= _MANY else ""
    return " ".join(
        words for words in (unexpected_words(found), excerpt_words(found), buffers, memory_words(p)) if words
    )


def excerpt_words(found: MpiSettings) -> str:
    """In which part of a large program queues and limits were looked for."""
    if found.excerpt is None:
        return ""
    return f"Looked at in pieces with {percent(found.excerpt)} of the operations: queues may be longer in the rest."


def buffers_words(found: MpiSettings) -> str:
    """Receive buffers that all peers share against a queue of each; nothing where they are the same."""
    if found.peer_buffers <= found.shared_buffers:
        return ""
    shared, each = found.shared_buffers * found.buffer, found.peer_buffers * found.buffer
    words = (
        f"Receive buffers of {amount(found.buffer)}: a rank uses {amount(shared)} at most where all peers share "
        f"a queue, and {amount(each)} where each peer has its own"
    )
    named = found.buffer_settings if each >= _MANY else ()
    return f"{words}. Settings: {_names(named)}" if named else f"{words}."


def _names(settings: tuple[Setting, ...]) -> str:
    return "; ".join(str(one) for one in settings) + "."


def raise_words(one: EagerLimit, found: MpiSettings, time: float) -> str:
    """The sentence on a higher limit."""
    saved = text(one.gain, "s", 3)
    if one.by_requests and one.requested is not None:
        saved += (
            f" of {text(one.requested, 's', 3)}, which the program takes if messages by rendezvous wait for requests "
            "and answers of their ranks"
        )
    else:
        saved += f" ({percent(one.gain / time)}), as transfers no longer wait for late receives"
    copies = f"; copies of {text(one.copies, 's', 3)} at most are subtracted" if one.copies else ""
    words = (
        f"Sending messages {_BETWEEN[one.level]} of up to {amount(one.limit)} eagerly ({amount(one.now)} now) saves "
        f"{saved}{copies}. {one.messages:,} messages change. A rank then keeps up to {amount(one.held)} of messages "
        f"without receives, {amount(one.held_now)} now. "
    )
    return f"{words}{found.library}: {_names(one.settings)}"


def lower_words(one: EagerLimit, found: MpiSettings) -> str:
    """The sentence on a lower limit."""
    words = (
        f"Sending messages {_BETWEEN[one.level]} eagerly only up to {amount(one.limit)} ({amount(one.now)} now) makes "
        f"nothing slower, and a rank keeps {amount(one.held)} of messages without receives at most instead of "
        f"{amount(one.held_now)}. "
    )
    return f"{words}{found.library}: {_names(one.settings)}"


def progress_words(found: MpiSettings, time: float) -> str:
    """What it costs that ranks answer requests only in MPI."""
    progress = found.progress
    assert progress is not None
    more = progress.behind_computation
    words = (
        f"Where ranks answer requests of large messages only when they are in MPI, answers wait for computation, and "
        f"the program takes about {text(more, 's', 3)} ({percent(more / time)}) longer than predicted. "
    )
    if progress.settings:
        return f"{words}{found.library}: {_names(progress.settings)}"
    return words + f"{found.library} has no parameter for it: test or wait for requests while you compute."
