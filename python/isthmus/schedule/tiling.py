"""The order of steps in a pipelined loop, as ``isthmus::pipeline`` of the runtime carries it out."""

from __future__ import annotations

from collections.abc import Iterator


def steps(tiles: int, window: int) -> Iterator[tuple[str, int]]:
    """The steps of a loop with their tiles: "produce", "start", "wait" and "finish".

    For every tile: produce it; wait for the oldest exchange if ``window`` of them are under way; start the exchange;
    finish the tile that was waited for. At the end, wait for the others and finish them.
    """
    oldest = 0
    for tile in range(tiles):
        yield "produce", tile
        full = tile - oldest == window
        if full:
            yield "wait", oldest
        yield "start", tile
        if full:
            yield "finish", oldest
            oldest += 1
    for tile in range(oldest, tiles):
        yield "wait", tile
        yield "finish", tile
