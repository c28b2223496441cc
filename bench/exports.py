"""Exported files: is any row slower, under the model, than what the library decides without the file?

    python bench/exports.py [--quick] [--unguarded]

Tables are tuned on several machines, written for Open MPI and MPICH, and the files read back. At every tuned size, and
between each two of them, what the library does with the file is simulated beside what it does by itself. Rows that are
slower and that the report of the export names are counted apart. `--unguarded`: without the guard, as it was before.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import isthmus
from isthmus.tuning.choice import Choice
from isthmus.tuning.compare import predictor
from isthmus.tuning.decisions import Decisions
from isthmus.tuning.defaults import defaults
from isthmus.tuning.defaults.mpich import MpichDefaults
from isthmus.tuning.export import Export, export, guard_for
from isthmus.tuning.export.openmpi_reading import read_rules
from isthmus.tuning.libraries import openmpi
from isthmus.tuning.runnable import runnable
from isthmus.tuning.scenario import alike

KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "gather", "scatter")
SIZES = (8, 64, 512, 4096, 32_768, 262_144)
BETWEEN = (23, 181, 1448, 11_585, 92_682)
TARGETS = ("openmpi-4.1.4", "openmpi-5.0.8", "mpich")
# Machine, ranks, model.
PLACES = (
    ("eos", 24, "loggops"), ("eos", 64, "flow"), ("cielo", 48, "flow"), ("fattree-k4", 100, "loggops"),
    ("dragonfly-small", 32, "loggops"), ("hypercube-6", 37, "flow"),
)  # fmt: skip


def does(target: str, text: str, kind: str, ranks: int, size: int) -> Choice | None:
    """What the library takes with a file, from its text alone; None where that leaves it to its own rules."""
    if target.startswith("mpich"):
        return MpichDefaults(json.loads(text)).lookup(kind, ranks, size)
    rules, _ = read_rules(text, target)
    rows = rules.get(kind, {})
    first = max((count for count in rows if count <= ranks), default=None)
    if first is None:
        return None
    counted = size * ranks if kind in openmpi.COUNTS_ALL else size
    line = [line for line in rows[first] if line.size <= counted][-1]
    if line.number == 0:
        return None
    version = openmpi.parse_version(target.partition("-")[2])
    algorithm = next(a for a in openmpi.algorithms(kind, version) if a.number == line.number)
    values = {openmpi.FAN: line.fan, openmpi.SEGMENT: line.segment, openmpi.REQUESTS: line.requests}
    assert algorithm.choice is not None
    return algorithm.choice.replace(**{key: values[name] for key, name in algorithm.steer.items()})


def compared(
    made: Export, target: str, kind: str, ranks: int, sizes: tuple[int, ...], predict: Any, per_node: int
) -> list[tuple[int, float, bool]]:
    """Sizes, how long the library takes with the file relative to without, and whether the report says so."""
    flat, without = defaults(target), defaults(target, ranks_per_node=per_node)
    out = []
    for size in sizes:
        with_file = does(target, made.text, kind, ranks, size) or flat.lookup(kind, ranks, size)
        ratio = 1.0
        if (own := of(without, kind, ranks, size)) != with_file:
            running = runnable(kind, with_file, ranks, strange=True)[0]
            ratio = predict(kind, ranks, size, running) / predict(kind, ranks, size, own)
        said = any(
            loss.slower is not None
            for loss in made.losses
            if loss.collective == kind and loss.low <= size and (loss.high is None or size <= loss.high)
        )
        out.append((size, ratio, said))
    return out


def of(decisions: Decisions, kind: str, ranks: int, size: int) -> Choice:
    return runnable(kind, decisions.lookup(kind, ranks, size), ranks, strange=True)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the first two places only")
    parser.add_argument("--unguarded", action="store_true", help="without the guard")
    given = parser.parse_args()
    columns = f"{'sizes':>6} {'slower':>7} {'not said':>9} {'worst':>7}   {'between':>7} {'slower':>7} {'worst':>7}"
    print(f"{'file':<40} {columns}")
    totals = [0, 0, 0, 0, 0]
    for name, ranks, model in PLACES[: 2 if given.quick else None]:
        machine = isthmus.load(name)
        table = isthmus.tune(KINDS, machine, ranks=ranks, sizes=SIZES, model=model).table
        known: dict[Any, float] = {}
        simulated = predictor(machine, model=model)

        def predict(*key: Any, known: dict[Any, float] = known, simulated: Any = simulated) -> float:
            if key not in known:
                known[key] = simulated(*key)
            return known[key]

        cores = machine.node.cores
        for target in TARGETS:
            guard = None if given.unguarded else guard_for(target, predict, ranks_per_node=cores, model=model)
            made = export(table, target, predict=predict, guard=guard)
            rows = [r for kind in KINDS for r in compared(made, target, kind, ranks, SIZES, predict, cores)]
            inner = [r for kind in KINDS for r in compared(made, target, kind, ranks, BETWEEN, predict, cores)]
            slower, beside = ([r for r in some if r[1] > 1 + alike(model)] for some in (rows, inner))
            unsaid = [r for r in slower if not r[2]]
            worst, worst_beside = (max((r[1] for r in some if not r[2]), default=1.0) for some in (rows, inner))
            beside = [r for r in beside if not r[2]]
            what = f"{name}, {ranks} ranks, {model}, {target}"
            print(
                f"{what:<40} {len(rows):>6} {len(slower):>7} {len(unsaid):>9} {worst:>7.3f}   {len(inner):>7} "
                f"{len(beside):>7} {worst_beside:>7.3f}",
                flush=True,
            )
            for i, value in enumerate((len(rows), len(slower), len(unsaid), len(inner), len(beside))):
                totals[i] += value
    print(f"{'all':<40} {totals[0]:>6} {totals[1]:>7} {totals[2]:>9} {'':>7}   {totals[3]:>7} {totals[4]:>7}")


if __name__ == "__main__":
    main()
