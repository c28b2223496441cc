"""Whether UCC follows its tuning: the algorithms that it lists for its team, and the messages of a real run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InvalidInput, Unsupported
from ...files import write_atomically
from ...toml_text import read_text
from ..choice import Choice
from ..decisions import Decisions
from ..export.export import Request
from ..export.ucc import TUNE, write
from ..export.ucc_reading import Rule, at, holding
from ..libraries import ucc as library
from .probe import Case, Counts, Probe, counts
from .verdict import ALIKE, IGNORED, IN_EFFECT, OTHER, Report, Trial, Verdict, schedule_counts

if TYPE_CHECKING:
    from ..compare import Predict

#: What UCC says where an algorithm does not take a call.
_GAVE_WAY = "is not supported for TL_UCP, fallback"
_OTHER = "another algorithm"
#: Evidence for a case: the function that UCC lists for it ("" where it lists none), and what every rank sent.
Evidence = tuple[str, Counts]


def reads(what: object) -> bool:
    """Whether this is a file that UCC reads."""
    return isinstance(what, str | os.PathLike) and "UCC_TL_UCP_" in read_text(what)[:10000]


def installed(prefix: str) -> Path:
    """The folder of UCC; ``"auto"``: the folder of ``ucc_info``.

    Raises
    ------
    Unsupported
        Where there is none.
    """
    tool = shutil.which("ucc_info")
    if prefix == "auto" and tool is None:
        raise Unsupported("UCC was not found: give its installation as --ucc, or put its ucc_info into PATH")
    path = Path(tool or "").resolve().parents[1] if prefix == "auto" else Path(prefix).resolve()
    if not (path / "include" / "ucc" / "api" / "ucc.h").exists():
        raise Unsupported(f"{path}: must hold UCC with its headers")
    return path


def report(what: Decisions | str | os.PathLike[str], probe: Probe, folder: str, predict: Predict | None,
           most_bytes: int) -> Report:  # fmt: skip
    """Run UCC with the rules, without them, and with every algorithm forced; see :func:`~.verify.verify`."""
    if isinstance(what, Decisions):
        exported = write(what, Request("", predict, (probe.ranks,)))
        file, text = os.path.join(folder, "ucc.env"), exported.text
        write_atomically(file, text)
    else:
        file, text = os.path.abspath(what), read_text(what)
    rules, variables = holding(text, file, probe.ranks)
    if re.search(r"^\[", text, re.MULTILINE):
        with_file = {"UCC_CONFIG_FILE": file}
    else:
        with_file = dict(line.split("=", 1) for line in text.splitlines() if line)
    trials = _trials(rules, variables, probe.ranks, most_bytes)
    cases = [trial.case for trial in trials]
    if not trials:
        raise InvalidInput(f"{file}: has no rule for {probe.ranks} ranks")
    seen, log = _run(probe, cases, with_file)
    own, _ = _run(probe, cases, {})
    verdicts = []
    for trial, a, b, c in zip(trials, seen, own, _forced(probe, trials), strict=True):
        says = (ALIKE if a == b else IN_EFFECT) if a == c and a[0] != _OTHER else IGNORED if a == b else OTHER
        schedule = schedule_counts(trial, probe.ranks)
        verdicts.append(Verdict(*trial.case, trial.algorithm, says, a[1], b[1], c[1], schedule))
    version = re.search(r"^isthmus-library (.*)$", log, re.MULTILINE)
    return Report(version[1] if version else "UCC", probe.ranks, verdicts, complaints(log))


def _trials(rules: Sequence[Rule], variables: Mapping[str, str], ranks: int, most_bytes: int) -> list[Trial]:
    """The first and the last size of every rule; one size where only a radix is given."""
    out = []
    for rule, following in zip(rules, [*rules[1:], None], strict=True):
        blocks = ranks if rule.collective in library.COUNTS_ALL else 1
        # The ring wants as many elements for every rank.
        step = ranks if (rule.collective, rule.algorithm) == ("allreduce", "ring") else 1
        # A size that two rules share is of the second one.
        shared = following is not None and (following.collective, following.first) == (rule.collective, rule.last)
        first = -(-max(rule.first, 1) // (blocks * step)) * step
        last = first if rule.last is None else (rule.last - shared) // (blocks * step) * step
        sizes = sorted(size for size in {first, last} if first <= size <= most_bytes)
        out += [_trial(rule.collective, size, rule.algorithm, variables, blocks) for size in sizes]
    for kind in library.COLLECTIVES:
        tree = library.algorithms(kind, 2)[0]
        if not library.named(kind) and set(tree.fixed) & set(variables):
            out.append(_trial(kind, 0 if kind == "barrier" else 64, tree.name, variables, 1))
    return out


def _trial(kind: str, size: int, name: str, variables: Mapping[str, str], blocks: int) -> Trial:
    settings: dict[str, str] = {}
    choice: Choice | None = None
    for algorithm in library.algorithms(kind, 2):
        if algorithm.name == name:
            needed = {*algorithm.fixed, *algorithm.steer.values()} & set(variables)
            settings |= {key: at(variables[key], size * blocks) for key in sorted(needed)}
            choice = choice or algorithm.choice
    radixes = [int(value) for key, value in settings.items() if key.endswith("_KN_RADIX") and value.isdigit()]
    if choice is not None and radixes and "radix" in choice.options:
        choice = choice.replace(radix=radixes[0])
    words = [f"{key.removeprefix('UCC_TL_UCP_').lower()}={value}" for key, value in settings.items()]
    token = {TUNE: f"{kind}:host:inf:@{name}"} if library.named(kind) else {}
    return Trial((kind, size), " ".join([name, *words]), {**token, **settings}, choice=choice)


def _forced(probe: Probe, trials: Sequence[Trial]) -> list[Evidence]:
    """Evidence under forced algorithms, in as few runs as there are different ones of a collective."""
    out: dict[int, Evidence] = {}
    while len(out) < len(trials):
        chosen: dict[str, Mapping[str, str]] = {}
        rest = [i for i in range(len(trials)) if i not in out]
        now = [i for i in rest if chosen.setdefault(trials[i].case[0], trials[i].forced) == trials[i].forced]
        settings = {key: value for forced in chosen.values() for key, value in forced.items()}
        settings[TUNE] = "#".join(forced[TUNE] for forced in chosen.values() if TUNE in forced)
        found, _ = _run(probe, [trials[i].case for i in now], settings)
        out |= dict(zip(now, found, strict=True))
    return [out[i] for i in range(len(trials))]


def _run(probe: Probe, cases: Sequence[Case], settings: Mapping[str, str]) -> tuple[list[Evidence], str]:
    """Evidence of the cases, and all that was printed."""
    log = probe.output(cases, {"UCC_CONFIG_FILE": "", "UCC_LOG_LEVEL": "debug", **settings})
    listed = lists(log)
    before = re.split(r"^isthmus-case .*$", log, flags=re.MULTILINE)
    found = []
    for (kind, size), sent, lines in zip(cases, counts(log), before, strict=False):
        total = size * probe.ranks if kind in library.COUNTS_ALL else size
        names = [name for low, high, name in listed.get(kind, ()) if low <= total <= high]
        found.append((_OTHER if _GAVE_WAY in lines else next(iter(names), ""), sent))
    return found, log


def lists(log: str) -> dict[str, list[tuple[int, float, str]]]:
    """First and last size, and function, of the algorithms that UCC lists for each collective in host memory."""
    out = {}
    for kind, ranges in re.findall(r"UCC  INFO  (\w+):\n[^\n]*\tHost: ([^\n]*)", log):
        # UCC cuts a long list anywhere; what is whole has a space behind it.
        parts = re.findall(r"\{(\w+)(?:\.\.(\w+))?\}:\w+:\w+=(\w+) ", ranges)
        out[kind.lower()] = [(int(_size(low)), _size(high or low), name) for low, high, name in parts]
    return out


def _size(text: str) -> float:
    """UCX's way to write a number of bytes."""
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", text)
    return float("inf") if found is None else float(int(found[1]) << 10 * " KMGT".index(found[2] or " "))


def complaints(log: str) -> list[str]:
    """The complaints of UCC about rules."""
    return list(dict.fromkeys(f"UCC says: {words}" for words in re.findall(r" UCC  (?:ERROR|WARN)  ?(.*)$", log, re.M)))
