"""Tuning by real runs: the search against a library that is played, whose true times are known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from isthmus.tuning.choice import LIBRARY, Choice
from isthmus.tuning.export import export
from isthmus.tuning.measured import MeasuredTuning
from isthmus.tuning.measured.gain import confidence, gain
from isthmus.tuning.measured.guidelines import GUIDELINES, violations
from isthmus.tuning.measured.runs import Case, Times
from isthmus.tuning.measured.search import search
from isthmus.tuning.measured.times import hold, without
from isthmus.tuning.measured.trials import Library, Trial

#: Seconds of an algorithm: a + b n.
MODELS = {
    ("bcast", "binomial"): (3e-6, 3e-9),
    ("bcast", "chain"): (9e-6, 1e-9),
    ("bcast", "scatter_allgather"): (12e-6, 2.5e-9),
    ("allreduce", "recursive_doubling"): (4e-6, 4e-9),
    ("allreduce", "ring"): (20e-6, 1.5e-9),
    ("barrier", "linear"): (8e-6, 0.0),
    ("barrier", "recursive_doubling"): (5e-6, 0.0),
}


class Played:
    """Plays a library: launches differ, the machine drifts, and repetitions have a tail."""

    ranks = 8

    def __init__(self, default: Callable[[str, int], str], noise: float, seed: int) -> None:
        self.default, self.noise, self.random = default, noise, random.Random(seed)
        self.launches: list[tuple[Mapping[str, str], str]] = []
        self.drift = 0.0

    def seconds(self, name: str, size: int, algorithm: str) -> float:
        base, slope = MODELS[name, algorithm]
        return base + slope * size

    def times(self, settings: Mapping[str, str], cases: Sequence[Case], seconds: float, key: str) -> Times:
        self.launches.append((dict(settings), key))
        self.drift += self.random.gauss(0, self.noise / 2)
        launch = math.exp(self.drift + self.random.gauss(0, self.noise))
        out = {}
        for case in cases:
            algorithm = settings.get(case.name) or self.default(case.name, case.bytes)
            true = self.seconds(case.name, case.bytes, algorithm) * launch
            out[case] = np.array([true * math.exp(abs(self.random.gauss(0, self.noise))) for _ in range(11)])
        return out


def library(composed: tuple[str, ...] = ()) -> Library:
    trials: dict[str, list[Trial]] = {}
    for name, algorithm in MODELS:
        alone = algorithm in composed
        trials.setdefault(name, []).append(Trial(Choice(algorithm), {name: algorithm}, alone=alone))
    return Library("openmpi-4.1.4", {k: (k,) for k in trials}, {k: tuple(t) for k, t in trials.items()}, {})


def best(name: str, size: int) -> str:
    return min((a for n, a in MODELS if n == name), key=lambda a: MODELS[name, a][0] + MODELS[name, a][1] * size)


def bad(name: str, size: int) -> str:
    """Right for small messages, wrong for large ones and for barriers."""
    return {"bcast": "binomial", "allreduce": "recursive_doubling", "barrier": "linear"}[name]


def tuned(default: Callable[[str, int], str], noise: float = 0.05, seed: int = 1) -> tuple[MeasuredTuning, Played]:
    runs = Played(default, noise, seed)
    return search(library(), runs, seconds=60, seed=seed), runs


@pytest.mark.parametrize("seed", range(5))
def test_what_is_clearly_faster_is_found_and_nothing_else(seed: int) -> None:
    found, runs = tuned(bad, seed=seed)
    for d in found.decisions:
        own, least = bad(d.collective, d.bytes), best(d.collective, d.bytes)
        faster = runs.seconds(d.collective, d.bytes, least) / runs.seconds(d.collective, d.bytes, own)
        if d.choice != LIBRARY:
            real = runs.seconds(d.collective, d.bytes, d.choice.name) / runs.seconds(d.collective, d.bytes, own)
            assert real < 1
            assert d.gain is not None
            assert d.gain.low < real * 1.1
            assert d.gain.high > real / 1.1
        elif faster < 0.8:
            pytest.fail(f"{d.collective} of {d.bytes} B: {least} takes {faster:.2f} of {own} and was not chosen")
    assert {d.collective for d in found.gains} == {"bcast", "allreduce", "barrier"}


def test_a_library_that_decides_best_is_left_alone() -> None:
    wrong = total = 0
    for seed in range(10):
        found, _ = tuned(best, seed=seed)
        wrong += len(found.gains)
        total += len(found.decisions)
    assert wrong <= total / 50


def test_sizes_are_added_where_the_best_changes() -> None:
    found, _ = tuned(bad, noise=0.001)
    sizes = [d.bytes for d in found.decisions if d.collective == "bcast"]
    turn = next(n for n in sizes if best("bcast", n) == "chain")
    below = max(n for n in sizes if n < turn)
    assert turn <= 1.3 * below
    assert best("bcast", below) == "binomial"
    # The change is found, not at the sizes that were tried first; what was not timed is left to the library.
    rules = found.table.rules("bcast", 8)
    assert [rule.choice.name for rule in rules] == ["library", "chain", "library"]
    assert 3000 / 1.3 <= rules[1].bytes <= 3000 * 1.3
    assert rules[2].bytes == 2097152 + 1
    for ranks in (2, 7, 9, 64):
        assert [rule.choice for rule in found.table.rules("bcast", ranks)] == [LIBRARY]


def test_candidates_of_collectives_share_launches_and_those_that_call_others_do_not() -> None:
    runs = Played(bad, 0.01, 1)
    search(library(composed=("ring",)), runs, seconds=60)
    forced = [set(settings) for settings, _ in runs.launches]
    assert {"bcast", "allreduce", "barrier"} in forced
    assert all(set(settings) == {"allreduce"} for settings, _ in runs.launches if settings.get("allreduce") == "ring")


def test_launches_have_keys_of_their_own() -> None:
    """So that a stopped search finds each again."""
    _, runs = tuned(bad)
    keys = [key for _, key in runs.launches]
    assert len(set(keys)) == len(keys)
    again, other = tuned(bad)
    assert [key for _, key in other.launches][:20] == keys[:20]
    assert again.table.rows.keys() == {"bcast", "allreduce", "barrier"}


def test_guidelines_name_what_is_violated() -> None:
    steady = [np.full(5, 10e-6)] * 3
    launches = {Case("barrier", 0): steady, Case("allreduce", 4): [np.full(5, 5e-6)] * 3}
    (found,) = violations(launches, 8)
    assert found.words == "barrier <= allreduce of 4 B"
    assert found.factor == pytest.approx(2)
    launches = {Case("bcast", 8): steady, Case("bcast", 64): [np.full(5, 4e-6)] * 3}
    (found,) = violations(launches, 8)
    assert found.words == "bcast <= bcast of 64 B"
    assert found.bytes == 8
    # Launches that overlap prove nothing.
    noisy = [np.full(5, t * 1e-6) for t in (3, 12, 4)]
    assert not violations({Case("bcast", 8): steady, Case("bcast", 64): noisy}, 8)


def test_every_guideline_can_be_violated_and_kept() -> None:
    for rule in GUIDELINES:
        parts = [Case(name, of(1024, 8)) for name, of in rule.parts]
        times = {case: [np.full(3, 1e-6)] * 3 for case in parts}
        for own, count in ((0.5e-6, 0), (50e-6, 1)):
            # More bytes that are faster are another guideline.
            found = violations({**times, Case(rule.name, 1024): [np.full(3, own)] * 3}, 8)
            assert sum(v.words == rule.words for v in found) == count


def test_intervals_cover_the_median_as_often_as_they_say() -> None:
    source = random.Random(3)
    for count in (6, 9, 15):
        held = 0
        for _ in range(2000):
            pairs = [(math.exp(source.gauss(0.1, 0.2)), 1.0) for _ in range(count)]
            found = gain(*zip(*pairs, strict=True))
            held += found.low <= math.exp(0.1) <= found.high
        assert confidence(count) - 0.02 <= held / 2000 <= 1
        assert confidence(count) >= 0.95
    assert not gain([0.5] * 5, [1.0] * 5).is_sure


def test_a_rule_that_does_not_hold_is_taken_out() -> None:
    found, _runs = tuned(bad)
    table = found.table

    class Rules(Played):
        """The file is read; its rule for allreduce makes things worse than they seemed."""

        def times(self, settings: Mapping[str, str], cases: Sequence[Case], seconds: float, key: str) -> Times:
            out = dict(super().times({}, cases, seconds, key))
            if settings:
                for case in cases:
                    choice = table.lookup(case.name, self.ranks, case.bytes)
                    name = self.default(case.name, case.bytes) if choice == LIBRARY else choice.name
                    own = self.seconds(case.name, case.bytes, self.default(case.name, case.bytes))
                    factor = 1.3 if case.name == "allreduce" else self.seconds(case.name, case.bytes, name) / own
                    out[case] = out[case] * factor
            return out

    names = library().names
    held = hold(table, names, {"FILE": "x"}, Rules(bad, 0.02, 5))
    assert {h.collective for h in held} == {"bcast", "allreduce", "barrier"}
    # The file makes all of allreduce slower, where it leaves it to the library too.
    assert all(h.holds == (h.collective != "allreduce") for h in held if h.choice == LIBRARY)
    held = [h for h in held if h.choice != LIBRARY]
    assert all(h.holds == (h.collective != "allreduce") for h in held), "\n".join(map(str, held))
    left = without(table, [h for h in held if not h.holds], names)
    assert set(left.rows) == {"bcast", "barrier"}
    assert left.rules("bcast", 8) == table.rules("bcast", 8)


def test_tables_that_were_timed_with_one_library_go_to_another() -> None:
    """Only what was faster, for as many ranks as ran; that it was timed elsewhere is said."""
    found, _ = tuned(bad)
    made = export(found.table, "ucc")
    (line,) = (line for line in made.text.splitlines() if line.startswith("UCC_TL_UCP_TUNE="))
    tokens = line.partition("=")[2].split("#")
    # UCC has no chain; its ring stands for the one of allreduce.
    assert [token for token in tokens if token.startswith("allreduce")]
    assert all(":[8-8]:" in token for token in tokens)
    assert all(token.startswith(("allreduce:", "bcast:")) for token in tokens)
    first = next(rule.bytes for rule in found.table.rules("allreduce", 8) if rule.choice.name == "ring")
    assert any(f"allreduce:{first}-" in token and token.endswith("@ring") for token in tokens)
    assert any("bcast" in str(loss) and "chain" in str(loss) for loss in made.losses)
    (note,) = (note for note in made.notes if "openmpi-4.1.4" in note)
    assert "what ucc decides by itself was not measured" in note
    assert not any("was not measured" in n for n in export(found.table, "openmpi-4.1.4").notes)


def test_the_table_says_where_it_comes_from(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found, _ = tuned(bad)
    path = tmp_path / "t.toml"
    found.table.save(path)
    again = type(found.table).load(path)
    assert again.provenance.source == "measured"
    assert again.provenance.library == "openmpi-4.1.4"
    point = next(p for p in again.row("barrier", 8).points)
    assert point.choice.name == "recursive_doubling"
    assert point.interval is not None
    assert point.interval[0] <= point.seconds <= point.interval[1] * 1.2
    assert "barrier" in str(found)
    assert "faster than the library's own" in str(found)
