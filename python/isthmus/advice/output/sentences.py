"""Advice in sentences, each with the figures that carry it; thresholds are in one place, below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...schedule.program import Program
from ...units import amount, percent, text
from ..advice import Growth, Prediction, Sentence
from ..analysis.numbers_used import SOURCED
from ..analysis.pipelining import RIM
from .settings_words import lower_words, progress_words, raise_words
from .words import best_words, calls_words, now_words

if TYPE_CHECKING:
    from ...schedule.schedule import Schedule
    from ...simulation.traffic import HotLink
    from ..advice import WhatIf

#: A change is worth a sentence if it saves at least this part of the time.
WORTH = 0.02
#: One call, or one pair of ranks, is named if it has at least this part of what messages take on the critical path.
CONCENTRATED = 0.25
#: A rank is named if it computes so many times the mean.
UNEVEN = 1.1
#: From this parallel efficiency on, a program is said to be limited by its computation.
EFFICIENT = 0.95
#: The time of a prediction is said to rest on a number if it changes by this part where the number is 10 % off.
DOUBTFUL = 0.01
#: Relative difference from which on another machine is said to be faster or slower.
DIFFERENT = 0.02
_FIELDS = {"latency": "L", "bandwidth": "G", "overhead": "o_send"}


def seconds(value: float) -> str:
    """A time, for people."""
    return text(value, "s", 3)


def sentences_on(predictions: Sequence[Prediction], program: Program | Schedule) -> tuple[Sentence, ...]:
    """The advice: worthwhile changes in order of their gain, then the comparison of machines, and bounds."""
    p = predictions[0]
    # If two save as much, the one for which a file is written comes first.
    command = _command(program)
    found = [*_collectives(p, command), *_placing(p, command), *_hiding(p), *_balance(p), *_network(p)]
    found += [*_settings(p), *_concentration(p)]
    found.sort(key=lambda s: -s.gain)
    if p.efficiency.parallel >= EFFICIENT:
        found.insert(0, _limited_by_computation(p))
    elif not found:
        found.append(Sentence("nothing", f"No single change saves {percent(WORTH)} of the time.", 0.0))
    return (*found, *_machines(predictions), *_bounds(p))


def _worth(p: Prediction, what_if: WhatIf | None) -> bool:
    return what_if is not None and what_if.saving >= WORTH * p.time


def _limited_by_computation(p: Prediction) -> Sentence:
    words = (
        f"{percent(p.efficiency.parallel)} of the time is computation that all ranks share: "
        f"communication does not limit this run on {p.machine.name}."
    )
    return Sentence("efficient", words, 0.0)


def _balance(p: Prediction) -> list[Sentence]:
    what_if = p.what_if("balance")
    compute = p.timeline.breakdown["compute"]
    mean, most = float(compute.mean()), float(compute.max())
    if not _worth(p, what_if) or mean == 0:
        return []
    assert what_if is not None
    rank = int(compute.argmax())
    words = f"Computation is imbalanced: balancing it between synchronisations saves {_saves(p, what_if)}."
    if most >= UNEVEN * mean:
        words += f" Rank {rank} computes {most / mean:.2g} times the mean ({seconds(most)} against {seconds(mean)})"
        words += _on_path(p, rank) + "."
    else:
        words += " In total, all ranks compute about equally long: it is not always the same rank that is late."
    return [Sentence("balance", words, what_if.saving)]


def _on_path(p: Prediction, rank: int) -> str:
    if p.path_of_ranks is None:
        return ""
    own = float(p.path_of_ranks[rank, 1])
    return f", and {percent(own / p.span)} of the critical path is its computation" if own >= WORTH * p.span else ""


def _network(p: Prediction) -> list[Sentence]:
    out = []
    advice = {
        "latency": "Send fewer, larger messages, or compute while they are in flight",
        "bandwidth": "Send fewer bytes, or keep them within a node",
        "overhead": "Send fewer, larger messages",
    }
    for name, help in advice.items():
        what_if = p.what_if(name)
        if not _worth(p, what_if):
            continue
        assert what_if is not None
        named = {"latency": "Latency", "bandwidth": "Bandwidth", "overhead": "Message overhead"}[name]
        words = f"{named} costs {_saves(p, what_if)}{_where(p, name)}. {help}."
        out.append(Sentence(name, words, what_if.saving))
    return [*out, *_contention(p)]


def _contention(p: Prediction) -> list[Sentence]:
    """The loss to contention, and its links."""
    what_if, net = p.what_if("contention"), p.network
    if not _worth(p, what_if):
        return []
    assert what_if is not None
    words = f"Contention for links costs {_saves(p, what_if)}{_where(p, 'contention')}."
    if net is not None and net.hottest:
        hot = net.hottest[0]
        words += f" The busiest link, {link_words(hot.hot)}, carries {percent(hot.hot.utilisation)} of its capacity"
        if hot.calls:
            call = hot.calls[0]
            words += f", most of it for {call_words(call.name, call.location)}"
        words += ". Place ranks nearer to their partners, try other routes, or send fewer bytes."
    return [Sentence("contention", words, what_if.saving)]


def link_words(hot: HotLink) -> str:
    return f"link {hot.link} ({hot.kind}) from {hot.source} to {hot.target}"


def model_words(model: str, routing: str) -> str:
    """The model of the network in a sentence."""
    if model == "loggops":
        return (
            "Messages do not slow each other down in the network; ranks of a node share its interfaces (LogGOPS model)."
        )
    share = {
        "flow": "share links fairly, as fluids",
        "reserve": "occupy links one after another",
        "packet": "are packets that wait in switch buffers",
    }[model]
    routes = {"minimal": "the machine's", "random": "random minimal", "valiant": "Valiant", "adaptive": "adaptive"}
    return f"Messages in the network {share}, on {routes[routing]} routes ({model} model)."


def _where(p: Prediction, name: str) -> str:
    """The share on the critical path and the call that has most of it."""
    if p.path is None or p.path[name] == 0:
        return ""
    words = f"; it is {percent(p.path[name] / p.span)} of the critical path"
    if p.calls:
        call = max(p.calls, key=lambda c: c.path_shares[name])
        part = call.path_shares[name] / p.path[name]
        if part >= CONCENTRATED:
            words += f", {percent(part)} of that in {call_words(call.name, call.location)}"
    return words


def call_words(name: str, location: str) -> str:
    return f"{name} at {location}" if location else name


def _bounds(p: Prediction) -> list[Sentence]:
    """The time that an ideal schedule would hide: the network, and dependencies, which an ideal network leaves."""
    what_if, ideal = p.what_if("overlap"), p.what_if("network")
    if not _worth(p, what_if):
        return []
    assert what_if is not None
    assert ideal is not None
    words = f"Hiding all communication behind computation saves at most {_saves(p, what_if)}."
    dependencies = p.losses["dependencies"]
    if dependencies >= WORTH * p.time:
        words += (
            f" An ideal network alone saves {seconds(ideal.saving)}. Ranks wait another {seconds(dependencies)} for "
            "each other's results: compute and send what others need earlier, or wait for it later."
        )
    else:
        words += " Start receives and sends earlier, and wait for them later."
    return [Sentence("overlap", words, what_if.saving, bound=True)]


def _concentration(p: Prediction) -> list[Sentence]:
    """One pair of ranks that has much of the messages on the critical path; what it would save is not known."""
    total = sum(pair.path for pair in p.pairs)
    if p.timeline.ranks <= 2 or not p.pairs or p.pairs[0].path < max(CONCENTRATED * total, WORTH * p.span):
        return []
    pair = p.pairs[0]
    words = (
        f"Messages from rank {pair.sender} to rank {pair.receiver} take {percent(pair.path / total)} of the time of "
        f"messages on the critical path ({pair.messages:,} messages, {amount(pair.bytes)}, {seconds(pair.path)})."
    )
    return [Sentence("pair", words, 0.0)]


def _command(program: Program | Schedule) -> str:
    """How the program was started, as far as that was recorded."""
    recording = program.recording if isinstance(program, Program) else None
    return (recording.command if recording is not None else "") or "COMMAND"


def _placing(p: Prediction, command: str) -> list[Sentence]:
    """The saving by placing ranks by their communication."""
    found = p.placing
    if found is None or found.saving < WORTH * found.before:
        return []
    before, after = found.now, found.mapped.metrics
    words = (
        f"Placing ranks by their communication saves {seconds(found.saving)} ({percent(found.saving / found.before)}) "
        f"where messages share links (flow model): a byte crosses {after.average_dilation:.2f} links on average "
        f"instead of {before.average_dilation:.2f}. isthmus map writes the file for the launcher, and "
        f"ranks start so with: isthmus run --placement FILE -- {command}"
    )
    return [Sentence("placement", words, found.saving)]


def _collectives(p: Prediction, command: str) -> list[Sentence]:
    """The saving by other algorithms of collectives."""
    found = p.choices
    if found is None or found.saving < WORTH * found.before:
        return []
    most = max((c for c in found.compared if c.taken), key=lambda c: c.saving)
    words = (
        f"Other collective algorithms than the current ones ({found.library}) save {seconds(found.saving)} "
        f"({percent(found.saving / found.before)}), most of it for {calls_words(most)}: {best_words(most)} instead of "
        f"{now_words(most)}. isthmus advise --export-collectives writes the file for the MPI library, or a decision "
        "table (.toml), by which libisthmus carries them out, and measures the gain: "
        f"isthmus run --collectives TABLE -- {command}"
    )
    return [Sentence("collectives", words, found.saving)]


def _hiding(p: Prediction) -> list[Sentence]:
    """The savings by calls that go on behind computation: possible ones, as buffers are not known."""
    out = []
    for one in p.overlaps:
        if one.saving < WORTH * p.time:
            continue
        saves = f"{seconds(one.saving)} ({percent(one.saving / p.time)})"
        call = call_words(one.call, one.location)
        if one.tiles == 1:
            words = (
                f"Computing first what needs none of the messages, and calling {call} later, could save {saves}. "
                f"Possible, not certain: {percent(1 - RIM)} of the computation after it is taken to be independent "
                "of what comes."
            )
        else:
            around = " and ".join(["before"] * one.before + ["after"] * one.after)
            words = (
                f"Hiding {call} behind the computation {around} it could save {saves}: in {one.tiles} tiles, "
                f"{one.window} of them under way (isthmus::pipeline). Possible, not certain: whether that computation "
                "touches its buffers is not recorded."
            )
        out.append(Sentence("hiding", words, one.saving))
    return out


def _settings(p: Prediction) -> list[Sentence]:
    """Eager limits that save enough, or much memory, and progress."""
    found = p.settings
    if found is None:
        return []
    out = [Sentence("eager", raise_words(one, found, p.time), one.gain) for one in found.better]
    if found.lower is not None:
        out.append(Sentence("memory", lower_words(found.lower, found), 0.0))
    progress = found.progress
    if progress is not None and progress.behind_computation >= WORTH * p.time:
        out.append(Sentence("progress", progress_words(found, p.time), 0.0))
    return out


def _saves(p: Prediction, what_if: WhatIf) -> str:
    return f"{seconds(what_if.saving)} ({percent(what_if.saving / p.time)})"


def _machines(predictions: Sequence[Prediction]) -> list[Sentence]:
    first, others = predictions[0], predictions[1:]
    out = []
    for other in others:
        ratio = other.time / first.time
        if abs(ratio - 1) < DIFFERENT:
            words = f"On {other.machine.name} the run takes as long as on {first.machine.name}, {seconds(other.time)}."
        else:
            words = (
                f"On {other.machine.name} the run takes {ratio:.2f} times as long as on {first.machine.name}, "
                f"{seconds(other.time)} with the same computation."
            )
        out.append(Sentence("machines", words, 0.0))
    return out


def notes_on(
    predictions: Sequence[Prediction],
    program: Program | Schedule,
    scale_compute: float,
    model: str = "loggops",
    routing: str = "minimal",
) -> tuple[str, ...]:
    """Remarks on the figures."""
    out = []
    p = predictions[0]
    recording = program.recording if isinstance(program, Program) else None
    if recording is not None:
        if recording.oversubscribed:
            why = _lower_first(recording.oversubscribed).rstrip(".")
            out.append(f"Computation was measured in processor time, not wall-clock time: {why}.")
        for name, calls in sorted(recording.unmodelled.items(), key=lambda item: -item[1])[:3]:
            out.append(f"{calls:,} calls of {name} are not part of the prediction.")
        if lost := int(recording.lost.sum()):
            out.append(f"{lost:,} calls were not recorded.")
    if scale_compute != 1.0:
        out.append(f"All computation times are multiplied by {scale_compute:g}.")
    elif recording is not None:
        out.append(
            "On every machine, computation takes as long as in the recording; set scale_compute for faster or slower "
            "cores."
        )
    if p.part is not None:
        out.append(
            f"The critical path, and the shares of calls and messages on it, cover {seconds(p.part[0])} to "
            f"{seconds(p.part[1])} of the run; everything else covers the whole run."
        )
    out += _doubts(p)
    out.append(model_words(model, routing))
    if model != "loggops":
        out.append(
            "Sensitivities are simulated at a few points, with links slowed down as much as interfaces. Where messages "
            "share links, a small change may alter their order, and with it the time by some per cent, so derivatives "
            "would mean nothing."
        )
    return tuple(out)


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _doubts(p: Prediction) -> list[str]:
    """Numbers without a source on which the time depends."""
    out = []
    for s in p.sensitivities:
        number = _number(p, s)
        if number is not None and s.ten_percent >= DOUBTFUL:
            out.append(
                f"The {s.name} of {p.machine.name} ({number[0]}) is {number[1]}: if it were 10 % worse, the run "
                f"would take {percent(s.ten_percent)} longer."
            )
    return out


def _number(p: Prediction, s: Growth) -> tuple[str, str] | None:
    """Path and status of the number behind a sensitivity, if it has no source that was read."""
    path = f"level.{s.level}.{_FIELDS[s.name]}"
    used = next((u for u in p.used if u.path == path), None)
    return (path, used.status) if used is not None and used.status not in (*SOURCED, "stated") else None


def interesting_ranks(p: Prediction, most: int = 16) -> list[int]:
    """Ranks worth a look: those with most of the critical path, the slowest and the fastest; ascending."""
    t = p.timeline
    if t.ranks <= most:
        return list(range(t.ranks))
    order: list[int] = []
    if p.path_of_ranks is not None:
        on_path = p.path_of_ranks[:, 0]
        order += [int(r) for r in np.argsort(-on_path, kind="stable")[: most // 2] if on_path[r] > 0]
    compute = t.breakdown_ps["compute"]
    by_compute = np.argsort(-compute, kind="stable")
    # In turns: the one that computes most, the one that computes least, the next of each.
    ends = np.stack([by_compute, by_compute[::-1]], axis=1).ravel()
    order += [int(r) for r in ends]
    return sorted(list(dict.fromkeys(order))[:most])
