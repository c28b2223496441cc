"""Skeletons on many ranks: processor time and memory to generate them in pieces, and as a whole where that fits.

python bench/skeletons.py [--ranks 131072] [--steps 10] [--whole 100000000] [NAME ...]

Each is built in a process of its own. In pieces is what `isthmus show` does: every piece that differs from those before
it is built and counted. Imports are not counted in the time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys

#: Seconds of processor time and bytes of memory that one skeleton may take.
LIMITS = {resource.RLIMIT_CPU: 100, resource.RLIMIT_AS: 16 << 30}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--ranks", type=int, default=131_072)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--whole", type=int, default=100_000_000, help="most events of a program built as a whole")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(*given.one)
        return
    from isthmus.skeletons import SKELETONS

    columns = ["skeleton", "events", "pieces", "different", "s", "GiB", "whole: s", "GiB"]
    print("  ".join(f"{name:>10}" for name in columns))
    for name, found in SKELETONS.items():
        if given.names and name not in given.names:
            continue
        steps = next(p.name for p in found.parameters if p.name in ("steps", "cycles"))
        text = f"{name}:ranks={given.ranks},{steps}={given.steps}"
        pieces = ran("pieces", text)
        cells = [name, "", "", "", pieces.get("ended", "")]
        if "events" in pieces:
            cells = [name, f"{pieces['events']:,}", pieces["pieces"], pieces["different"], *cost(pieces)]
            if pieces["events"] <= given.whole:
                cells += cost(ran("whole", text))
        print("  ".join(f"{cell:>10}" for cell in cells), flush=True)
        if pieces.get("origin"):
            print(f"{'':12}{pieces['origin']}", flush=True)


def cost(found: dict[str, object]) -> list[str]:
    return [f"{found['seconds']:.1f}", f"{found['bytes'] / 2**30:.2f}"] if "seconds" in found else [str(found["ended"])]  # type: ignore[operator]


def ran(how: str, text: str) -> dict[str, object]:
    """What a process of its own says of a skeleton."""
    done = subprocess.run([sys.executable, __file__, "--one", how, text], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        return {"ended": f"ended with {done.returncode}"}
    read: dict[str, object] = json.loads(done.stdout)
    return read


def one(how: str, text: str) -> None:
    for what, most in LIMITS.items():
        resource.setrlimit(what, (most, most))
    import isthmus
    from isthmus.skeletons.catalogue import read, tally

    isthmus.example("stencil:ranks=4")
    begin = os.times()
    said: dict[str, object] = {}
    if how == "pieces":
        found = tally(text)
        assert found is not None
        said = {"events": sum(found.events), "origin": found.origin}
    else:
        isthmus.example(text)
    end = os.times()
    # User time: that of the system is mostly for new pages of memory, and grows with what else runs.
    said |= {"seconds": end.user - begin.user, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    if how == "pieces":
        skeleton, parameters = read(text)
        keys = skeleton.pieces(skeleton.values(parameters)).keys
        said |= {"pieces": len(keys), "different": len(set(keys))}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
