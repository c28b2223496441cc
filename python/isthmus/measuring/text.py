"""The output of ``print(measurement)`` and ``isthmus measure``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .measurement import Measurement


def report(found: Measurement) -> str:
    """Return the machine in short, and what makes its numbers less certain or was not measured."""
    lines = [str(found.machine)]
    known = found.machine.measured
    warned = set(known.warnings) if known is not None else set()
    for title, sentences in (
        ("warnings", [sentence for sentence in found.warnings if sentence not in warned]),
        ("not measured", list(found.missing)),
    ):
        for i, sentence in enumerate(sentences):
            first = f"  {title if i == 0 else '':<15}"
            lines += textwrap.wrap(sentence, 110, initial_indent=first, subsequent_indent=" " * 17)
    samples = sum(map(len, found.samples))
    lines.append(f"  took           {found.seconds:.0f} s, {samples:,} samples of {len(found.samples)} items")
    return "\n".join(lines)
