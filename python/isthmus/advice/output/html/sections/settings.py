"""The section of the report on queues of MPI and parameters of its library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....html.markup import Row, Section, paragraph, table
from ...settings_words import (
    LIMITS,
    QUEUES,
    buffers_words,
    excerpt_words,
    limit_rows,
    memory_words,
    queue_rows,
    unexpected_words,
)

if TYPE_CHECKING:
    from ....advice import Advice


def settings(advice: Advice) -> Section | None:
    """Queues, eager limits, receive buffers and memory."""
    p = advice.predictions[0]
    found = p.settings
    if found is None or not found.queues.messages:
        return None
    body = paragraph(" ".join(words for words in (unexpected_words(found), excerpt_words(found)) if words))
    queues: list[Row] = [list(row) for row in queue_rows(found)]
    body += table(["", *QUEUES[1:]], queues, sort=False)
    for words in (buffers_words(found), memory_words(p)):
        body += paragraph(words) if words else ""
    if found.tried:
        rows: list[Row] = [list(row) for row in limit_rows(p)]
        body += "<h3>Eager limits</h3>"
        body += paragraph(f"Simulated one by one; parameters are those of {found.library}.")
        body += table(["messages", *LIMITS[1:]], rows, sort=False)
    return Section("MPI's parameters", "settings", body)
