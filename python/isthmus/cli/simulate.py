"""isthmus simulate ..."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ..one_line import parse_noise
from .collectives import parse_collectives, tell_replaced
from .inputs import WORK, parse_packets, parse_placement, parse_time
from .options import (
    Command,
    Work,
    check_file,
    job_options,
    json_option,
    machine_option,
    pictures,
    routing_option,
    shared,
    work_argument,
)
from .output import print_json

if TYPE_CHECKING:
    from ..simulation import Timeline

_MACHINE = """MACHINE is a name of the catalogue, a file, a specification in quotes (see isthmus machine), or
LogGOPS parameters such as loggops:L=2.5us,o=1.5us,g=1us,G=6ns,O=0,S=65535, one set for all pairs of ranks."""
_SUFFIXES = {
    "-o": (".h5", ".hdf5"),
    "--trace": (".json", ".json.gz"),
}
#: Pictures of the load of links.
_OF_LINKS = ("load", "network", "histogram", "time")


@click.command(
    "simulate",
    cls=Command,
    old={"--from": "--input-format", "--breakdown": "--plot breakdown=", "--plot-links": "--plot [load=]"},
    epilog="\b\nExamples:\n"
    "  isthmus simulate allreduce:ranks=64,bytes=1MB,algorithm=ring --machine torus-4x4x4 --ranks-per-node 1\n"
    "  isthmus simulate barrier:ranks=1024 --machine loggops:L=2.5us,o=1.5us,g=1us,G=6ns\n"
    "  isthmus simulate alltoall:ranks=64,bytes=4kB --machine dragonfly-small --model flow --plot load=a.png\n"
    "  isthmus simulate program.h5 --machine cielo --collectives allreduce=ring -o timeline.h5\n"
    "  isthmus simulate schedule.goal --machine cielo --noise periodic:period=1ms,duration=10us --seed 7",
    help="Simulate a program or schedule on a machine: when everything happens, and where the time goes.\n\n"
    f"{WORK}\n\n{_MACHINE}\n\n"
    "A deadlock is a result too: it is explained, and the exit status is 1.",
)
@work_argument
@machine_option
@job_options
@click.option(
    "--record",
    type=click.Choice(["finish", "ranks", "ops"]),
    help="What to record: finish times, where the time of ranks goes (default), or every operation too.",
)
@shared("model")
@click.option(
    "--receive",
    type=click.Choice(["loggp", "loggopsim"]),
    default="loggp",
    show_default=True,
    help="What a message costs its receiver's processor: o and O of its bytes, or G too, as in LogGOPSim.",
)
@click.option(
    "--handshakes",
    is_flag=True,
    help="Messages by rendezvous between nodes wait for a request and its answer, which are messages too.",
)
@routing_option
@click.option(
    "--resolution",
    type=float,
    metavar="X",
    help="flow: relative tolerance within which messages end together; by default 0.01, 0: exact.",
)
@click.option("--packet-bytes", metavar="BYTES", help="packet: size of a packet, by default 2KiB.")
@click.option(
    "--flit", metavar="BYTES", help="packet: part of a packet that a switch needs before it forwards, by default 32B."
)
@click.option("--buffer", metavar="BYTES", help="packet: buffer of a virtual channel, by default 16 packets or more.")
@shared("noise")
@shared("seed")
@shared("collectives")
@click.option("--no-symmetry", is_flag=True, help="Do not merge indistinguishable ranks.")
@click.option("--no-skip", is_flag=True, help="Do not skip iterations that repeat others exactly.")
@click.option("--until", metavar="TIME", help="Stop at this simulated time; the makespan is then a lower bound.")
@shared("output", "the timeline, .h5")
@click.option("--trace", metavar="FILE", help="Write a trace for Perfetto and chrome://tracing: .json, .json.gz.")
@shared(
    "plot",
    "; KIND is ranks (what they did when, default) or breakdown (where their time goes); in models where messages "
    "share links also load (of links by place), network (load on a drawing of it; .html too), histogram (of loads), or "
    "time (load over time); may be repeated",
)
@click.option(
    "--slices",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Count the traffic of links in N slices of time or more; --plot time=FILE makes 100 without it.",
)
@click.option(
    "--links", type=click.IntRange(1), metavar="N", help="Print the N hottest links, with who sends over them."
)
@click.option("--critical", is_flag=True, help="Print the critical path.")
@click.option("--sensitivity", is_flag=True, help="Print how the makespan depends on L, o, g, G, O and computation.")
@shared("progress")
@json_option
def command(
    work: Work,
    machine: Any,
    placement: str | None,
    nodes: str | None,
    ranks_per_node: int | None,
    record: str | None,
    model: str,
    receive: str,
    handshakes: bool,
    routing: str,
    resolution: float | None,
    packet_bytes: str | None,
    flit: str | None,
    buffer: str | None,
    noise: str | None,
    seed: int,
    collectives: tuple[str, ...],
    no_symmetry: bool,
    no_skip: bool,
    until: str | None,
    output: str | None,
    trace: str | None,
    plot: tuple[str, ...],
    slices: int | None,
    links: int | None,
    critical: bool,
    sensitivity: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    from ..simulation import simulate

    files = {"-o": output, "--trace": trace}
    for option, path in files.items():
        if path is not None:
            check_file(option, path, _SUFFIXES[option])
    drawn = pictures("--plot", plot, ("ranks", "breakdown", *_OF_LINKS), html="network")
    kinds = {kind for kind, _ in drawn}
    of_links = [kind for kind, _ in drawn if kind in _OF_LINKS]
    if model == "loggops" and (of_links or slices or links):
        option = f"--plot {of_links[0]}=FILE" if of_links else "--slices" if slices else "--links"
        raise InvalidInput(f"{option} needs --model flow, reserve or packet: loggops has no links")
    wanted = {
        "--trace": trace,
        "--plot": "ranks" in kinds,
        "--critical": critical,
        "--sensitivity": sensitivity,
        "--links": links,
    }
    record = _record(record, wanted)
    if record == "finish" and "breakdown" in kinds:
        raise InvalidInput("--plot breakdown=FILE needs --record ranks or ops")
    if until is not None and (critical or sensitivity):
        option = "--critical" if critical else "--sensitivity"
        raise InvalidInput(f"{option} needs the whole simulation: leave --until out")
    end = None if until is None else parse_time("--until", until)
    what = work.read()
    chosen = parse_collectives(collectives, ranks_per_node)
    tell_replaced(chosen, what)
    timeline = simulate(
        what,
        machine,
        parse_placement(machine, what.ranks, placement, nodes, ranks_per_node),
        model=model,
        receive=receive,
        handshakes=handshakes,
        routing=routing,
        slices=slices or (100 if "time" in kinds else 0),
        resolution=resolution,
        packet=parse_packets(packet_bytes, flit, buffer),
        record=record,
        collectives=chosen,
        noise=None if noise is None else parse_noise(noise),
        seed=seed,
        symmetry=not no_symmetry,
        skip=not no_skip,
        progress=sys.stderr.isatty() if progress is None else progress,
        until=end,
    )
    if output:
        timeline.save(output)
    if trace:
        timeline.save_chrome(trace)
    for kind, path in drawn:
        _draw(timeline, kind, path)
    stuck = timeline.deadlock is not None
    more = {
        "links": timeline.traffic.table(links) if links and timeline.traffic is not None else None,
        "critical_path": timeline.critical_path() if critical and not stuck else None,
        "sensitivities": timeline.sensitivities() if sensitivity and not stuck else None,
    }
    if as_json:
        from ..simulation.text import summary

        written: dict[str, Any] = {
            {"-o": "output"}.get(name, name.removeprefix("--")): path for name, path in files.items() if path
        }
        if drawn:
            written["plot"] = [path for _, path in drawn]
        print_json(summary(timeline, links or 5) | {"files": written} | _plain(more))
    else:
        click.echo(str(timeline))
        for part in more.values():
            if part is not None:
                click.echo(f"\n{part}")
        for path in (*filter(None, files.values()), *(path for _, path in drawn)):
            click.echo(f"wrote {path}")
    if stuck:
        raise click.exceptions.Exit(1)


def _draw(timeline: Timeline, kind: str, path: str) -> None:
    if kind == "ranks":
        timeline.plot(path)
    elif kind == "breakdown":
        timeline.plot_breakdown(path)
    else:
        assert timeline.traffic is not None
        timeline.traffic.plot(path, kind)


def _record(record: str | None, wanted: dict[str, Any]) -> str:
    """The amount to record for the requested output."""
    needed = [option for option, value in wanted.items() if value]
    if needed and record in ("finish", "ranks"):
        raise InvalidInput(f"{needed[0]} needs --record ops")
    return record or ("ops" if needed else "ranks")


def _plain(more: dict[str, Any]) -> dict[str, Any]:
    """The critical path and the sensitivities as JSON, where they were asked for."""
    out: dict[str, Any] = {}
    if (path := more["critical_path"]) is not None:
        out["critical_path"] = {"steps": len(path), "shares": path.shares}
    if (found := more["sensitivities"]) is not None:
        out["sensitivities"] = dict(found)
    return out
