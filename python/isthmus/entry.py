"""Where the command begins: Ctrl-C is one line from here on, while the command line itself is still being imported."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal itself imports more than all before
import os

#: Exit status of shells for SIGINT.
_STATUS = 128 + signal.SIGINT


def _leave(*_: object) -> None:
    """Nothing has been written yet, or everything has, and imports must not be asked to stop: they print tracebacks."""
    os.write(2, b"isthmus: interrupted\n")
    os._exit(_STATUS)


def main() -> None:
    """Run the command line (:func:`isthmus.cli.main`)."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a background job of a shell ignores it
    if heard:
        signal.signal(signal.SIGINT, _leave)
    from . import cli, interruption

    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main()
    except (Exception, KeyboardInterrupt) as error:
        if interruption.behind(error):  # before or after what a command looks after, or while it was imported
            interruption.leave()
        raise
    finally:
        if heard:
            signal.signal(signal.SIGINT, _leave)
