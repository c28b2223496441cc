"""Schedules that libisthmus carries out beside what machine files predict for them: all collectives between two ranks.

    python bench/carried_out.py FILE.toml [--mpi openmpi|mpich] [--budget SECONDS] [--by OTHER.toml] [--json FILE]

`isthmus measure --transport isthmus` writes FILE.toml, unless it is there, and FILE.h5, which also has the times of all
collectives, 8 B to 4 MiB, with all copies: carried out in turns with what the file was fitted to, and not fitted.

A virtual machine has states, which change within seconds and in which a message takes one time or four, so that only
samples of one state are compared. The file has the most frequent state; for every other state of a tenth of the samples
the same numbers are fitted to its samples. With --by, the file of another run predicts this one's most frequent state.

Printed are median, prediction and error (predicted over measured, less one), and at the end the median and the worst of
the errors without their sign, of all, by collective and by size.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from host import BIND, undisturbed

#: A state of a smaller share of the samples is left out.
SHARE = 0.1


def compared(collectives: Any, machine: Any) -> dict[str, dict[str, float]]:
    """Prints measured beside predicted, and returns it by collective and bytes."""
    import isthmus
    from isthmus.measuring.schedules import schedule_of

    figures: dict[str, dict[str, float]] = {}
    errors: dict[str, list[float]] = {}
    print(f"{'collective':16} {'bytes':>9} {'measured':>12} {'predicted':>12}    error")
    for one in collectives:
        kind, size = str(one.parameters["what"]), int(one.parameters["bytes"])
        took, guess = statistics.median(one.column()), isthmus.simulate(schedule_of(kind, size), machine).makespan
        error = 100 * (guess / took - 1)
        for group in ("all", kind, f"{size:,} B"):
            errors.setdefault(group, []).append(error)
        figures[f"{kind} {size}"] = {"measured": took, "predicted": guess, "error_percent": error}
        print(f"{kind:16} {size:9,} {took * 1e6:9.2f} us {guess * 1e6:9.2f} us {error:+7.1f} %", flush=True)
    for group, each in errors.items():
        middle, worst = statistics.median(map(abs, each)), max(each, key=abs)
        print(f"{group:16} {len(each):3} cases, median error {middle:5.1f} %, worst {worst:+.1f} %")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE.toml", help="machine file, measured unless it is there")
    parser.add_argument("--mpi", choices=list(BIND), default="openmpi")
    parser.add_argument("--budget", type=float, default=60, help="seconds of measuring")
    parser.add_argument("--by", metavar="OTHER.toml", help="machine file of another run that predicts this one")
    parser.add_argument("--json", metavar="FILE", help="also write all figures")
    options = parser.parse_args()
    import isthmus
    from isthmus.measuring import check, schedules, transport
    from isthmus.measuring.fit import fit_schedules
    from isthmus.measuring.samples import Samples

    file = Path(options.file)
    if not file.is_file():
        launch = " ".join([f"mpirun.{options.mpi}", "-n", "2", *BIND[options.mpi], *undisturbed()])
        isthmus.measure(
            file, transport="isthmus", only="loggp", launch=launch, budget=options.budget, say=print
        )  # fmt: skip
    samples = Samples.load(file.with_suffix(".h5"))
    found = []
    for flag, share in schedules.states(samples):
        first = not found
        if share < SHARE or (options.by and not first):
            continue
        fitted, unseen = check.apart(schedules.in_state(samples, flag))
        if first:
            machine, source = isthmus.load(options.by or file), options.by or file.name
        else:
            machine, source = transport.machine_of(fit_schedules(fitted, 0, 1)), "a fit to the samples of this state"
        print(f"\na flag takes {1e9 * flag:.0f} ns in {100 * share:.0f} % of the samples; predicted by {source}, "
              f"start {1e9 * machine.node.start:.0f} ns")  # fmt: skip
        chosen = [one for one in unseen if len(one) and one.parameters.get("what") in schedules.COLLECTIVES]
        found.append({"flag": flag, "share": share, "cases": compared(chosen, machine)})
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
