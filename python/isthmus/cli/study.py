"""isthmus study ..."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..visible import visible
from .options import json_option, shared
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..studies import Outcome, Study


def _epilog(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  isthmus study {line}" for line in lines)


class _Studies(click.Group):
    """list, run, and a command for every study of the catalogue."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..studies.reading import catalogue

        return ["list", "run", *catalogue()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ..studies.reading import catalogue, load

        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name not in catalogue():
            return None
        study = load(cmd_name)
        return click.Command(
            cmd_name,
            params=[p for p in run.params if p.name != "file"],
            callback=lambda **options: _run(study, **options),
            help=f"{study.title}.\n\nReproduces: {study.reproduces}.\n\n{_parameters(study)}",
            epilog=_epilog(f"{cmd_name} --quick", f"{cmd_name} --quick -o {cmd_name} --json"),
            short_help=study.title,
        )


@click.group(
    "study",
    cls=_Studies,
    epilog="\b\nExamples:\n"
    "  isthmus study list\n"
    "  isthmus study contention-distance --quick\n"
    "  isthmus study contention-distance -o bgp --set machine=bgp-8x8x16 --set hops=1,2,4,8\n"
    "  isthmus study run my.toml -o mine",
    help="Run experiments at many points: ledgers that can be continued, figures, pages beside published results.",
)
def command() -> None:
    """The group; see its help."""


@command.command("list", help="List the studies that come with Isthmus.", epilog=_epilog("list", "list --json"))
@json_option
def list_studies(as_json: bool) -> None:
    """Print the catalogue."""
    from ..studies.reading import catalogue, load

    studies = [load(name) for name in catalogue()]
    if as_json:
        print_json(
            [
                {
                    "name": s.name, "title": s.title, "reproduces": s.reproduces, "points": len(s.points),
                    "seconds": s.seconds, "quick_points": len(s.quick().points), "quick_seconds": s.fast_seconds,
                }
                for s in studies
            ]
        )  # fmt: skip
        return
    rows = [
        (
            s.name,
            s.reproduces,
            f"{len(s.points):,}",
            _estimate(s.seconds),
            f"{len(s.quick().points):,}",
            _estimate(s.fast_seconds),
        )
        for s in studies
    ]
    columns = ("study", "reproduces", "points", "time", "quick", "time ")
    print_table(columns, rows, right=columns[2:], wrap=("reproduces",))
    click.echo(f"\nTimes are estimates for the {_cores()} cores here.")


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _estimate(seconds: float | None) -> str:
    if seconds is None:
        return ""
    here = seconds / _cores()
    return f"{here / 60:.0f} min" if here >= 90 else f"{here:.0f} s"


@command.command(
    "run",
    help="Run a study of a TOML file; its form is described in the documentation.",
    epilog=_epilog("run my.toml -o mine", "run my.toml --quick --workers 1"),
)
@click.argument("file", metavar="FILE")
@shared("output", "a folder for ledger, figure and page; by default study-NAME")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Change the values of a parameter, one or several.",
)
@shared("quick")
@shared("workers", "; by default one per core, and of a queue how many to ask for")
@click.option(
    "--on",
    metavar="ENGINE",
    help="Compute points on workers of Dask: local, slurm, pbs or lsf (with options of dask-jobqueue, such as "
    "slurm:cores=8,memory=16GB), or a scheduler's tcp://HOST:PORT.",
)
@shared("progress")
@json_option
def run(file: str, **options: Any) -> None:
    """Run the study of a file."""
    from ..studies import Study

    _run(Study.load(file), **options)


def _run(
    study: Study,
    *,
    output: str | None,
    settings: tuple[str, ...],
    quick: bool,
    workers: int | None,
    on: str | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    from ..studies import study as verb

    folder = output or f"study-{study.name}"
    try:
        outcome = verb(
            study,
            folder,
            quick=quick,
            set=_settings(settings),
            workers=workers,
            on=on,
            progress=sys.stderr.isatty() if progress is None else progress,
        )
    except KeyboardInterrupt:
        click.echo(f"isthmus: interrupted; what is done is in {folder}, run again to continue", err=True)
        raise click.exceptions.Exit(130) from None
    if as_json:
        print_json(_json(outcome))
    else:
        _print(outcome)
    if outcome.failures:
        raise click.exceptions.Exit(1)


def _settings(given: tuple[str, ...]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for setting in given:
        key, _, value = setting.partition("=")
        if not key or not value:
            raise InvalidInput(f"--set {setting}: must be KEY=VALUE or KEY=VALUE,VALUE")
        if key in out:
            raise InvalidInput(f"--set {key} is given twice; separate several values by commas")
        # A specification of a machine has commas of its own; several of them need a file.
        values = [value] if ":" in value else value.split(",")
        out[key] = [{"true": True, "false": False}.get(v, v) for v in values]
    return out


def _print(outcome: Outcome) -> None:
    study, summary = outcome.study, outcome.summary
    if summary is not None:
        print_table(summary.columns, summary.rows, right=summary.right)
        click.echo()
        for published in study.published:
            found = summary.findings.get(published.name)
            click.echo(f"published  {published.statement}")
            click.echo(f"here       {found.ours if found else 'the points that would tell were not computed'}")
            click.echo(f"           {found.verdict if found else 'open'}\n")
    for entry in outcome.failures:
        inputs = ", ".join(f"{k}={v}" for k, v in entry.inputs.items())
        click.echo(visible(f"isthmus: failed: {inputs}: {entry.error}"), err=True)
    kept = len(outcome.entries) - outcome.computed
    click.echo(f"{len(outcome.entries)} points: {outcome.computed} computed, {kept} from the ledger")
    if outcome.failures:
        click.echo(f"{len(outcome.failures)} failed; they are tried again in the next run")
    if summary is not None:
        click.echo(f"wrote {outcome.page}")


def _json(outcome: Outcome) -> dict[str, Any]:
    findings = outcome.summary.findings if outcome.summary else {}
    return {
        "study": outcome.study.name,
        "computed": outcome.computed,
        "points": outcome.rows,
        "failures": [{"inputs": e.inputs, "error": e.error} for e in outcome.failures],
        "findings": {name: {"ours": f.ours, "verdict": f.verdict} for name, f in findings.items()},
        "page": outcome.page if outcome.summary else None,
    }


def _parameters(study: Study) -> str:
    """Names and meanings of what --set changes."""
    lines = [f"  {p.name:<12} {p.doc}" for p in study.experiment.parameters]
    return "\b\nParameters for --set:\n" + "\n".join(lines)
