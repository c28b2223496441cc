"""isthmus doctor"""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from .options import json_option
from .output import print_json, print_table


@click.command(
    "doctor",
    epilog="\b\nExamples:\n  isthmus doctor\n  isthmus doctor --json",
    help="List what Isthmus finds on this computer: Python packages, MPI libraries, launchers, counters of "
    "the kernel. For everything that is missing it says what it is good for and how to install it. The exit status "
    "is 1 if "
    "something is missing that Isthmus cannot do without.",
)
@json_option
def command(as_json: bool) -> None:
    from ..environment import State, checks

    found = list(checks())
    if as_json:
        print_json([asdict(check) | {"state": check.state.name} for check in found])
    else:
        marks = {State.there: "yes", State.optional: "no", State.broken: "NO"}
        rows, topic = [], ""
        for check in found:
            where = check.found or check.advice
            rows.append(["" if check.topic == topic else check.topic, check.name, marks[check.state], where])
            topic = check.topic
        words = "version, place, or what to do"
        print_table(["", "what", "there", words], rows, wrap=[words])
        broken = [check.name for check in found if check.state is State.broken]
        click.echo(f"Missing: {', '.join(broken)}." if broken else "Everything that Isthmus needs is installed.")
    if any(check.state is State.broken for check in found):
        sys.exit(1)
