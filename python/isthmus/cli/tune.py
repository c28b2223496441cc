"""isthmus tune ...: a search where the first word is a collective, otherwise what works on its tables."""

from __future__ import annotations

import click

from . import tune_export, tune_measured, tune_search, tune_table


class TuneGroup(click.Group):
    """A group whose command without a name of its own is the search."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in super().list_commands(ctx) if not self.commands[name].hidden]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # "isthmus tune --measured ..." names no collective, which stands for all.
        return super().parse_args(ctx, ["search", *args] if args[:1] == ["--measured"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if "--measured" in args:
            rest = [word for word in args if word != "--measured"]
            return "measured", tune_measured.command, rest[1:] if rest[:1] == ["search"] else rest
        if args and args[0] not in self.commands:
            return "search", tune_search.command, args
        return super().resolve_command(ctx, args)


command = TuneGroup(
    "tune",
    commands={
        "search": tune_search.command,
        "measured": tune_measured.command,
        "show": tune_table.show,
        "compare": tune_table.compare,
        "convert": tune_table.convert,
        "merge": tune_table.merge,
        "validate": tune_table.validate,
        "export": tune_export.export,
        "verify": tune_export.verify,
    },
    no_args_is_help=True,
    epilog="\b\nExamples:\n"
    "  isthmus tune allreduce --machine eos --ranks 64 --sizes 8..64MiB\n"
    "  isthmus tune --measured --launch 'mpirun -n 8' -o tuned.toml\n"
    "  isthmus tune show openmpi --ranks 64\n"
    "  isthmus tune export eos.toml --for openmpi-5.0.8 -o rules.conf",
    help="Algorithms of collectives for a machine.\n\n"
    "'isthmus tune COLLECTIVE... --machine MACHINE --ranks N' searches by simulation: see 'isthmus tune search --help'."
    " 'isthmus tune --measured --launch COMMAND' times them: see 'isthmus tune measured --help'.",
)
