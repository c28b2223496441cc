"""isthmus tune ...: a search where the first word is a collective, otherwise what works on its tables."""

from __future__ import annotations

import click

from . import tune_search


class TuneGroup(click.Group):
    """A group whose command without a name of its own is the search."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            return "search", tune_search.command, args
        return super().resolve_command(ctx, args)


command = TuneGroup(
    "tune",
    commands={"search": tune_search.command},
    no_args_is_help=True,
    epilog="\b\nExamples:\n"
    "  isthmus tune allreduce --machine eos --ranks 64 --sizes 8..64MiB\n"
    "  isthmus tune search --help",
    help="Algorithms of collectives for a machine.\n\n"
    "'isthmus tune COLLECTIVE... --machine MACHINE --ranks N' searches: see 'isthmus tune search --help'.",
)
