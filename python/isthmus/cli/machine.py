"""isthmus machine ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from .. import units
from ..errors import InvalidInput
from ..visible import visible
from .options import Command, json_option, machine_argument, shared
from .output import print_json, print_table

if TYPE_CHECKING:
    from ..machine import Machine

_WHAT = """MACHINE is a name of the catalogue (isthmus machine list), a file (TOML; Slurm topology.conf or
topology.yaml; ibnetdiscover output; an edge list), or a specification in quotes such as
'torus:8x8x16 link=425MB/s hop=64ns cores=4'.
"""


def _epilog(*examples: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  isthmus machine {example}" for example in examples)


@click.group("machine", epilog=_epilog("list", "show sequoia", "plot torus-4x4x4 -o torus.png"))
def command() -> None:
    """Machines: interconnects, nodes, catalogue, routes, plots."""


@command.command("list", epilog=_epilog("list", "list torus", "list --kinds"))
@click.argument("words", nargs=-1)
@click.option("--kinds", is_flag=True, help="List the kinds of interconnects and their parameters instead.")
@json_option
def list_(words: tuple[str, ...], kinds: bool, as_json: bool) -> None:
    """List the machines of the catalogue, or those whose name, title or interconnect contains all WORDS."""
    if kinds:
        _list_kinds(as_json)
        return
    from ..loading import catalogue

    rows = list(catalogue(" ".join(words)))
    if as_json:
        print_json(rows)
        return
    print_table(
        ["name", "nodes", "cores", "topology", "title"],
        [[r["name"], f"{r['nodes']:,}", f"{r['cores']:,}", r["topology"], r["title"]] for r in rows],
        right=["nodes", "cores"],
        wrap=["topology", "title"],
    )


def _list_kinds(as_json: bool) -> None:
    from ..machine.kinds import KINDS

    if as_json:
        print_json(
            [
                {
                    "kind": k.name,
                    "doc": k.doc,
                    "example": k.example,
                    "parameters": [{"name": p.name, "doc": p.doc, "default": p.default} for p in k.parameters],
                }
                for k in KINDS.values()
            ]
        )
        return
    print_table(
        ["kind", "what", "example", "parameters"],
        [
            [k.name, k.doc, k.example, ", ".join(p.name + ("" if p.required else "?") for p in k.parameters)]
            for k in KINDS.values()
        ],
        wrap=["what", "parameters"],
    )
    click.echo("A parameter with ? may be left out.")


@command.command(
    "show",
    cls=Command,
    old={"--from": "--input-format"},
    epilog=_epilog("show cielo", "show cielo --brief", "show 'dragonfly:a=4,p=2,h=2,g=9' --json"),
    help=f"Describe a machine, and where every number comes from.\n\n{_WHAT}",
)
@machine_argument
@click.option("--brief", is_flag=True, help="Omit the table of values and sources.")
@json_option
def show(machine: Machine, brief: bool, as_json: bool) -> None:
    show_machine(machine, brief, as_json)


def machine_json(machine: Machine, brief: bool) -> dict[str, Any]:
    """What a machine is, in plain numbers, and unless ``brief`` where every one comes from."""
    from dataclasses import asdict

    from ..machine.text import rows, summary

    out = summary(machine) | {
        "node": machine.node,
        "level": asdict(machine.level),
        "noise": machine.noise,
        "notes": machine.notes,
    }
    if machine.measured is not None:
        out["measured"] = machine.measured
    if machine.curves:
        out["curves"] = {name: asdict(curve) for name, curve in machine.curves.items()}
    return out if brief else out | {"values": rows(machine)}


def show_machine(machine: Machine, brief: bool, as_json: bool) -> None:
    """Print what a machine is, and unless ``brief`` where every number comes from."""
    from ..machine.text import rows

    if as_json:
        print_json(machine_json(machine, brief))
        return
    click.echo(str(machine))
    if brief:
        return
    if machine.notes:
        click.echo()
        for note in machine.notes:
            click.echo(click.wrap_text(note, 110, "  * ", "    "))
    sources = machine.description.sources
    numbers = {key: i for i, key in enumerate(sources, 1)}
    cells = []
    values = rows(machine)
    measured = any(row["interval"] for row in values)
    for row, value in zip(values, units.alike(str(row["value"]) for row in values), strict=True):
        p = machine.provenance(str(row["path"]))
        known = [row["interval"], "" if p.samples is None else f"{p.samples:,}"] if measured else []
        note = "; ".join(filter(None, (p.method, p.note)))
        cells.append([row["path"], value, *known, p.status, f"[{numbers[p.source]}]" if p.source else "", note])
    click.echo()
    columns = ["value of", "is", *(["interval (95 %)", "samples"] if measured else []), "status", "from", "note"]
    print_table(columns, cells, right=["samples"], wrap=["is", "note"])
    if sources:
        click.echo("\nSources")
        for key, i in numbers.items():
            click.echo(click.wrap_text(sources[key], 110, f"  [{i}] ", "      "))


def _node(machine: Machine, text: str) -> int:
    """A node by id, by name or by coordinates 1,2,3."""
    if re.fullmatch("-?[0-9]{1,18}", text):
        return machine.node_id(int(text))
    parts = text.strip("()").split(",")
    if len(parts) > 1:
        if not all(re.fullmatch(" *[0-9]{1,18} *", part) for part in parts):
            raise InvalidInput(f"node {text!r}: must be an id, a name, or coordinates such as 1,2,3")
        return machine.node_id([int(part) for part in parts])
    return machine.node_id(text)


@command.command(
    "distance",
    cls=Command,
    old={"--from": "--input-format"},
    epilog=_epilog("distance titan 0 4711", "distance torus-4x4x4 0,0,0 3,3,3 --bytes '64 KiB'"),
    help=f"Print the number of links between nodes A and B, and the time of a message on the idle machine.\n\n{_WHAT}\n"
    "A and B are ids, names or coordinates (1,2,3) of nodes.",
)
@machine_argument
@click.argument("a")
@click.argument("b")
@click.option("--bytes", "size", default="0 B", show_default=True, help="Size of the message.")
@json_option
def distance(machine: Machine, a: str, b: str, size: str, as_json: bool) -> None:
    x, y = _node(machine, a), _node(machine, b)
    try:
        length = units.parse(size, "B")
    except InvalidInput as error:
        raise InvalidInput(f"--bytes: {error}") from None
    if length < 0:
        raise InvalidInput(f"--bytes: {size} is negative: must be a size from 0 B")
    hops = machine.distance(x, y)
    routed = machine.topology.route_length(x, y)
    time = machine.message_time(length, x, y)
    if as_json:
        print_json({"a": x, "b": y, "distance": hops, "route_length": routed, "bytes": length, "message_time": time})
        return
    longer = f" ({routed} by minimal routing, which takes one global link at most)" if routed != hops else ""
    click.echo(
        f"{hops} link{'' if hops == 1 else 's'} from {machine.topology.label(x)} to {machine.topology.label(y)}{longer}"
    )
    click.echo(f"{units.text(time, 's', 4)} for {units.text(length, 'B', 4)} on the quiet machine")


@command.command(
    "route",
    cls=Command,
    old={"--from": "--input-format", "--method": "--routing"},
    epilog=_epilog(
        "route eos 0 700",
        "route torus-4x4x4 0 63 --routing minimal --count 5",
        "route dragonfly-small 0 71 --routing valiant --count 3 --seed 1",
    ),
    help=f"Print the links that a message takes from node A to node B.\n\n{_WHAT}\n"
    "A and B are ids, names or coordinates (1,2,3) of nodes.",
)
@machine_argument
@click.argument("a")
@click.argument("b")
@shared(
    "routing",
    "deterministic (the machine's own route), minimal (all minimal ones), random (random minimal ones), valiant "
    "(through random intermediates), ugal (the candidates of UGAL)",
    type=click.Choice(["deterministic", "minimal", "random", "valiant", "ugal"]),
    default="deterministic",
)
@click.option(
    "--count", type=click.IntRange(1, 100_000), default=4, show_default=True, help="Largest number of routes to print."
)
@shared("seed")
@json_option
def route(machine: Machine, a: str, b: str, routing: str, count: int, seed: int, as_json: bool) -> None:
    x, y = _node(machine, a), _node(machine, b)
    t = machine.topology
    if routing == "deterministic":
        found = [t.route(x, y)]
    else:
        offsets, links = t.candidates(x, y, routing, count, seed)
        found = [links[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)]
    hops = [_hops(machine, links, routing) for links in found]
    if as_json:
        print_json({"a": x, "b": y, "method": routing, "routes": hops})
        return
    click.echo(
        f"{t.label(x)} -> {t.label(y)}: {len(hops)} route{'' if len(hops) == 1 else 's'}, "
        f"distance {machine.distance(x, y)}"
    )
    for i, one in enumerate(hops):
        latency = sum(hop["latency"] for hop in one)
        slowest = f", {units.text(min(h['bandwidth'] for h in one), 'B/s', 4)} at its slowest link" if one else ""
        click.echo(
            f"\nroute {i + 1}: {len(one)} link{'' if len(one) == 1 else 's'}, {units.text(latency, 's', 4)}{slowest}"
        )
        if not one:
            continue
        print_table(
            ["hop", "link", "class", "from", "to", "bandwidth", "latency", "VC"],
            [
                [
                    n + 1,
                    h["link"],
                    h["class"],
                    h["from"],
                    h["to"],
                    units.text(h["bandwidth"], "B/s", 4),
                    units.text(h["latency"], "s", 4),
                    h["channel"],
                ]
                for n, h in enumerate(one)
            ],
            right=["hop", "link", "bandwidth", "latency", "VC"],
        )


def _hops(machine: Machine, links: Any, method: str) -> list[dict[str, Any]]:
    t = machine.topology
    classes = t.link_classes
    routing = {"deterministic": "minimal", "valiant": "valiant", "ugal": "valiant"}.get(method, "random")
    channels = t.channels(links, routing)
    return [
        {
            "link": int(link),
            "class": classes[kind][0],
            "from": t.label(int(ends[0])),
            "to": t.label(int(ends[1])),
            "bandwidth": classes[kind][1],
            "latency": classes[kind][2],
            "channel": int(channel),
        }
        for link, kind, ends, channel in zip(links, t.link_class(links), t.link_ends(links), channels, strict=True)
    ]


@command.command(
    "plot",
    cls=Command,
    old={"--from": "--input-format"},
    epilog=_epilog(
        "plot torus-4x4x4 -o torus.png",
        "plot edison -o edison.html",
        "plot fattree-k4 -o route.png --route 0 63",
        "plot titan -o d.png --distances",
    ),
    help=f"Draw the interconnect, or the distribution of its distances.\n\n{_WHAT}",
)
@machine_argument
@shared("output", ".png, .svg, .pdf or .html", required=True)
@click.option("--route", "pair", nargs=2, metavar="A B", help="Highlight the route between two nodes.")
@click.option("--distances", is_flag=True, help="Draw a histogram of the distances between nodes instead.")
@json_option
def plot(machine: Machine, output: str, pair: tuple[str, str] | None, distances: bool, as_json: bool) -> None:
    from ..plot import plot_distance_histogram, plot_topology

    if distances:
        plot_distance_histogram(machine.topology, output, title=machine.title)
    else:
        links = machine.topology.route(*(_node(machine, text) for text in pair)) if pair else None
        plot_topology(machine.topology, output, title=machine.title, route=links)
    if as_json:
        print_json({"file": output})
    else:
        click.echo(f"wrote {output}")


@command.command("validate", epilog=_epilog("validate mycluster.toml", "validate topology.conf fabric.ibnet"))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
def validate(files: tuple[str, ...], as_json: bool) -> None:
    """Check machine files in any format: one line per file, exit status 2 if one is malformed."""
    import errno
    import os
    from collections import Counter
    from pathlib import Path

    from ..errors import ParseError
    from ..loading import describes_node, load

    results: list[dict[str, Any]] = []
    for file in files:
        try:
            if not os.path.exists(file):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
            # A path, not text: the file may be called like a machine of the catalogue.
            node = describes_node(file)
            machine = load("ring:1", node=file) if node else load(Path(file))
            paths = [row["path"] for row in machine.frame() if not (node and row["path"].startswith("topology."))]
            count = Counter(machine.provenance(path).status for path in paths)
            results.append({"file": file, "ok": True, "nodes": machine.nodes, "values": dict(count)})
        except OSError as error:
            results.append({"file": file, "ok": False, "error": f"{file}: {error.strerror}"})
        except InvalidInput as error:
            results.append({"file": file, "ok": False, "error": f"{file}: {error}"})
        except ParseError as error:
            results.append({"file": file, "ok": False, "error": str(error), "line": error.line, "field": error.field})
    if as_json:
        print_json(results)
    else:
        for result in results:
            if result["ok"]:
                statuses = ", ".join(f"{n} {status}" for status, n in sorted(result["values"].items()))
                nodes = f"{result['nodes']:,} node{'' if result['nodes'] == 1 else 's'}"
                click.echo(f"{result['file']}: ok, {nodes}; values: {statuses}")
            else:
                click.echo(visible(f"isthmus: {result['error']}"), err=True)
    if not all(result["ok"] for result in results):
        raise click.exceptions.Exit(2)


@command.command(
    "convert",
    cls=Command,
    old={"--from": "--input-format", "--to": "--format"},
    epilog=_epilog(
        "convert topology.conf -o cluster.toml",
        "convert fabric.ibnet --node node.xml -o c.toml",
        "convert cielo --format spec",
        "convert fattree-k4 --format edges",
    ),
    help=f"Write a machine in another form.\n\n{_WHAT}",
)
@machine_argument
@shared("output", "; by default standard output")
@shared(
    "format",
    "toml (the full form), spec (one line) or edges (a list of the cables); by default what the suffix of -o says, "
    "else toml",
    type=click.Choice(["toml", "spec", "edges"]),
)
@json_option
def convert(machine: Machine, output: str | None, format: str | None, as_json: bool) -> None:
    from ..files import write_atomically

    suffix = output.rpartition(".")[2] if output else "toml"
    to = format or (suffix if suffix in ("toml", "spec", "edges") else "toml")
    if to == "edges":
        from ..machine.graph import format_edges

        text = format_edges(machine.topology)
    else:
        text = machine.toml() if to == "toml" else machine.spec + "\n"
    if output:
        write_atomically(output, text)
    if as_json:
        print_json({"format": to, "file": output} if output else {"format": to, "text": text})
    elif output:
        click.echo(f"wrote {output}")
    else:
        click.echo(text, nl=False)
