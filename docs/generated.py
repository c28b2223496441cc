"""Tables and texts made from the code, so that they cannot go stale.

A line ``<!-- generated: NAME ARGUMENT -->`` of a page is replaced by the Markdown that the function ``_NAME`` returns.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

import click

import isthmus
from isthmus import collectives, units
from isthmus.cli import cli
from isthmus.collectives import registry
from isthmus.collectives.order import ORDERS
from isthmus.gallery import machines
from isthmus.imports.machines.formats import FORMATS
from isthmus.machine import measured, parts
from isthmus.machine.kinds import KINDS, Parameter
from isthmus.mapping.launch import formats
from isthmus.mapping.methods import methods
from isthmus.mapping.metrics import DEFINITIONS
from isthmus.schedule.program import CollectiveKind

_MARK = re.compile(r"^<!-- generated: (\w+)(?: (\S+))? -->$", re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", lambda app, page, text: text.__setitem__(0, _MARK.sub(_made, text[0])))
    # Pages do not know the code that they are made from: all are read again.
    app.connect("env-get-outdated", lambda app, env, added, changed, removed: sorted(env.found_docs))
    # After napoleon, which takes what stands before a colon in the text of a property for its type.
    app.connect("autodoc-process-docstring", _plain_property, priority=900)
    return {"parallel_read_safe": True}


def _plain_property(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if what == "property":
        lines[:] = [*(inspect.getdoc(obj) or "").splitlines(), ""]


def _made(match: re.Match[str]) -> str:
    return str(globals()[f"_{match[1]}"](*filter(None, [match[2]])))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    # A column whose name ends in "." is set to the right.
    lines = [[cell.rstrip(".") for cell in head], ["--:" if cell.endswith(".") else "---" for cell in head], *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


# Parts of a machine


def _default(field: dataclasses.Field[Any], value: Any) -> str:
    if value is None or value == ():
        return "not set"
    if value == ():
        return "none"
    if isinstance(value, str):
        return f"`{value}`"
    unit = field.metadata["unit"]
    return f"{value:.0f} B" if unit == "B" else units.text(value, unit)


def _allowed(field: dataclasses.Field[Any]) -> str:
    meta = field.metadata
    if "choices" in meta:
        return ", ".join(f"`{choice}`" for choice in meta["choices"])
    if "of" in meta:
        return "tables of " + ", ".join(f"`{f.name}`" for f in dataclasses.fields(meta["of"]))
    if "least" in meta:
        return f"whole, from {meta['least']}"
    return {"stream": "square matrix, numbers from 0", "file": "path"}.get(field.name, "from 0")


def _fields(name: str) -> str:
    """The fields of Node, Piece or Noise."""
    return _table(
        ["field", "unit", "default", "allowed", "meaning"],
        [
            [f"`{f.name}`", f.metadata["unit"], _default(f, f.default), _allowed(f), f.metadata["doc"]]
            for f in dataclasses.fields(getattr(parts, name))
        ],
    )


def _levels() -> str:
    """The fields of Level, with the defaults of every level."""

    def default(level: str, f: dataclasses.Field[Any]) -> str:
        if (level, f.name) == ("network", "G"):
            return "slowest, see below"
        return _default(f, getattr(parts.DEFAULT_LEVELS[level], f.name))

    return _table(
        ["field", "unit", "meaning", *(f"default: {level}" for level in parts.DEFAULT_LEVELS)],
        [
            [f"`{f.name}`", f.metadata["unit"], f.metadata["doc"], *(default(x, f) for x in parts.DEFAULT_LEVELS)]
            for f in dataclasses.fields(parts.Level)
        ],
    )


def _measured() -> str:
    """The keys of [measured]."""
    kinds = {"": "text", 0: "whole, from 0", (): "list of text"}
    rows = [
        [f"`{f.name}`", "s" if isinstance(f.default, float) else kinds[f.default], f.metadata["doc"]]
        for f in dataclasses.fields(measured.Measured)
    ]
    return _table(["key", "type", "meaning"], rows)


def _units() -> str:
    return _table(
        ["unit", "spellings"],
        [[unit, ", ".join(map("`{}`".format, names))] for unit, names in units._SPELLINGS.items() if unit],
    )


# Mapping


def _metrics() -> str:
    return _table(
        ["metric", "definition", "source"],
        [[f"{d.words} (`{name}`)", d.definition, d.source] for name, d in DEFINITIONS.items()],
    )


def _methods() -> str:
    options = {m.name: ", ".join(f"`{k}={v}`" for k, v in m.options.items()) for m in methods().values()}
    return _table(
        ["method", "what it does", "where", "options"],
        [[f"`{m.name}`", m.words, m.needs, options[m.name]] for m in methods().values()],
    )


# Interconnects


def _kinds() -> str:
    return _table(
        ["kind", "what", "example", "parameters"],
        [
            [f"[`{k.name}`]({_page(k.name)})", k.doc, f"`{k.example}`", ", ".join(f"`{p.name}`" for p in k.parameters)]
            for k in KINDS.values()
        ],
    )


def _page(kind: str) -> str:
    family = {
        **dict.fromkeys(("linear", "ring", "mesh", "torus"), "grids"),
        **dict.fromkeys(("tree", "xgft", "fattree", "clos2", "clos3"), "trees"),
        "dragonfly+": "dragonfly-plus",
        "kautz": "shift",
        "debruijn": "shift",
    }
    return f"#topology-{family.get(kind, kind)}"


def _parameters(names: str) -> str:
    """The parameters of kinds that are documented together."""

    def default(p: Parameter) -> str:
        if p.required:
            return "required"
        return "none" if p.default in ("", ()) else f"`{p.default}`"

    rows: dict[tuple[str, ...], list[str]] = {}
    for name in names.split(","):
        for p in KINDS[name].parameters:
            choices = f": {', '.join(map('`{}`'.format, p.choices))}" if p.choices else ""
            rows.setdefault((f"`{p.name}`", p.type, default(p), p.doc + choices), []).append(name)
    # Whose parameter it is, unless all kinds have all of them.
    several = any(len(kinds) < len(names.split(",")) for kinds in rows.values())
    return _table(
        [*(["kind"] if several else []), "parameter", "type", "default", "meaning"],
        [[*([", ".join(kinds)] if several else []), *row] for row, kinds in rows.items()],
    )


# Catalogue


def _catalogue() -> str:
    statuses = ("exact", "derived", "estimated", "recalled")
    rows = []
    for name in machines():
        machine = isthmus.load(name)
        count = Counter(
            p.status for row in machine.frame() if (p := machine.provenance(row["path"])).source or p.status != "stated"
        )
        shares = "\u00a0/\u00a0".join(f"{100 * count[status] / sum(count.values()):.0f}" for status in statuses)
        title = f"{machine.title}<br>`{machine.topology.spec}`"
        rows.append([f"`{name}`", title, f"{machine.nodes:,}", f"{machine.cores:,}", shares])
    return _table(["name", "machine, interconnect", "nodes.", "cores.", "status, %"], rows)


# Collectives


def _collectives() -> str:
    """The catalogue: one table for each collective, the default first."""
    head = ["algorithm", "what it does", "order of operands", "options", "published in"]
    return "\n\n".join(
        f"### {kind.name}\n\n" + _table(head, [_algorithm(kind.name, n) for n in collectives.algorithms(kind.name)])
        for kind in CollectiveKind
    )


def _algorithm(kind: str, name: str) -> list[str]:
    info = collectives.describe(kind, name)

    def option(o: Any) -> str:
        default = registry.default_of(o)
        return f"`{o.name}`: {o.words}" + (f" ({default})" if default else "")

    return [f"`{name}`", info.words, ORDERS[info.order], ";<br>".join(map(option, info.options)), info.reference]


# Packages

#: What each extra of pyproject.toml is for.
_EXTRAS = {
    "cluster": "`isthmus study --on`: workers of Dask, here and in jobs of a queue",
    "data": "data frames, graphs of NetworkX, sparse matrices of SciPy",
    "otf2": "reading OTF2 traces",
    "plot": "pictures",
    "report": "the report of `isthmus advise` as HTML",
}


def _extras() -> str:
    needs: dict[str, list[str]] = {name: [] for name in metadata.metadata("isthmus").get_all("Provides-Extra") or []}
    for line in metadata.requires("isthmus") or []:
        package, _, condition = line.partition(";")
        if extra := re.search(r"""extra == ['"](\w+)['"]""", condition):
            needs[extra[1]].append(package.strip())
    return _table(
        ["extra", "for", "packages"], [[f"`{x}`", _EXTRAS.get(x, ""), ", ".join(needs[x])] for x in sorted(needs)]
    )


# Commands and classes


#: Commands in the order of the work; others follow.
_ORDER = (
    *(
        "record",
        "measure",
        "show",
        "advise",
        "map",
        "tune",
        "simulate",
        "run",
        "compare",
        "prove",
        "schedule",
        "machine",
    ),
    "study",
)


def _commands() -> str:
    """Help texts of all commands, which have every option."""
    out = []

    def add(command: click.Command, context: click.Context, depth: int) -> None:
        out.append(f"{'#' * depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n")
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                below = command.get_command(context, sub)
                assert below is not None
                add(below, click.Context(below, info_name=sub, parent=context), depth + (depth < 3))

    settings = {**cli.context_settings, "terminal_width": 88, "max_content_width": 88}
    top = click.Context(cli, info_name="isthmus", **settings)
    out.append(f"```text\n{cli.get_help(top)}\n```\n")
    names = cli.list_commands(top)
    for name in sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)):
        command = cli.get_command(top, name)
        assert command is not None
        add(command, click.Context(command, info_name=name, parent=top), 2)
    return "\n".join(out)


def _formats() -> str:
    return _table(["`--from`, `format=`", "file"], [[f"`{name}`", doc] for name, (_, doc) in FORMATS.items()])


def _launchers() -> str:
    head = ["`--format`", "file", "says", "how a program is started with it"]
    says = {True: "cores", False: "nodes"}
    rows = [[f"`{f.name}`", f.title, says[f.cores], f.command and f"`{f.command}`"] for f in formats()]
    return _table(head, rows)


def _topology() -> str:
    """Properties and methods of the compiled class, from its docstrings."""
    lines = ["```{eval-rst}", ".. py:class:: Topology", ""]
    for name, member in vars(isthmus.Topology).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            text = (member.__doc__ or "").strip()
            about = ["Number of nodes and switches." if "(self)" in text else text]
            lines.append(f"   .. py:property:: {name}")
        else:
            overloads = [(signature, text) for signature, text, *_ in member.__nb_signature__]
            about = [text for _, text in overloads if text]
            head = "   .. py:method:: "
            for signature, _ in overloads:
                signature = re.sub(r"(?:numpy\.)?ndarray\[dtype=(\w+)[^\]]*\]", r"NDArray[\1]", signature)
                signature = re.sub(r"numpy\.typing\.|numpy\.(?=uint|int)", "", signature)
                lines.append(head + re.sub(r"self(, )?", "", signature.removeprefix("def ")))
                head = " " * len(head)
        lines += ["", *(f"      {line}" for text in about for line in (text, "")), ""]
    return "\n".join([*lines, "```"])


#: Packages of the public names, in the order of the reference; others follow under their names.
_GROUPS = {
    "loading": "Loading",
    "sweeps": "Sweeps",
    "machine": "Machines",
    "schedule": "Programs, schedules and patterns",
    "collectives": "Collectives",
    "comparison": "Comparisons",
    "proof": "Proofs",
    "simulation": "Simulation",
    "running": "Running schedules",
    "recording": "Recordings and profiles",
    "measuring": "Measuring a machine",
    "examples": "Examples",
    "advice": "Advice",
    "mapping": "Mapping and load balancing",
    "tuning": "Tuning",
    "studies": "Studies",
    "errors": "Errors",
}
#: Packages whose names stand with those of another.
_BESIDE = {"lowering": "schedule", "reading": "schedule"}


def _public() -> str:
    """Every name of ``isthmus.__all__``, and the classes that its functions and properties return."""
    classes = _classes()
    titles = dict(_GROUPS)
    groups: dict[str, list[Any]] = {group: [] for group in titles}
    constants = []
    for name in isthmus.__all__:
        thing = getattr(isthmus, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            constants.append((name, thing))
        elif name != "Topology":
            package = isthmus._listed()[name].split(".")[0]
            groups[_BESIDE.get(package, package)].append(thing)
    named = {thing for group in groups.values() for thing in group}
    seen = set(named)
    out = []
    for group, things in groups.items():
        things.sort(key=lambda thing: (inspect.isclass(thing), thing.__name__.lower()))
        found = list(things)
        for thing in found:  # grows
            for cls in _returned(thing, classes):
                package = cls.__module__.split(".")[1]
                if cls not in seen and (package == group or package not in titles):
                    seen.add(cls)
                    found.append(cls)
        out += [f"## {titles[group]}", "", "```{eval-rst}", ".. currentmodule:: isthmus", ""]
        for thing in found:
            public = thing in named
            path = thing.__name__ if public else f"{thing.__module__}.{thing.__qualname__}"
            out += _directive(thing, path)
        out += ["```", ""]
    out += ["## Constants", "", _table(["name", "value"], [[f"`isthmus.{n}`", f"`{v!r}`"] for n, v in constants]), ""]
    return "\n".join(out)


def _directive(thing: Any, path: str) -> list[str]:
    if inspect.isfunction(thing):
        return [f".. autofunction:: {path}", ""]
    if issubclass(thing, Exception):
        return [f".. autoexception:: {path}", ""]
    # Fields are in the docstring of the class, as attributes or parameters.
    members = [
        name
        for name, member in _members(thing).items()
        if not name.startswith("_") and not _is_field(thing, name) and _documented(member)
    ]
    return [f".. autoclass:: {path}", *([f"   :members: {', '.join(members)}"] if members else []), ""]


def _members(cls: Any) -> dict[str, Any]:
    """What stands in a class and in those of its package that it is made of."""
    package = cls.__module__.rpartition(".")[0]
    own = [base for base in cls.__mro__ if base.__module__.rpartition(".")[0] == package]
    return {name: member for base in reversed(own) for name, member in vars(base).items()}


def _is_field(cls: Any, name: str) -> bool:
    return name in {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else False


def _documented(member: Any) -> bool:
    member = getattr(member, "func", member)  # of a cached property
    return bool(inspect.getdoc(member)) and (
        inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
    )


def _classes() -> dict[str, Any]:
    """Public classes of the package by name."""
    found = {}
    for module in pkgutil.walk_packages(isthmus.__path__, "isthmus."):
        if "._" in module.name or module.name.startswith("isthmus.cli"):
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(thing) and thing.__module__ == module.name and not name.startswith("_"):
                found[name] = thing
    return found


def _returned(thing: Any, classes: dict[str, Any]) -> list[Any]:
    """Classes of what a function returns, or of the fields, properties and methods of a class."""
    if inspect.isfunction(thing):
        texts = [thing.__annotations__.get("return", "")]
    else:
        texts = list(getattr(thing, "__annotations__", {}).values())
        for name, member in vars(thing).items():
            member = getattr(member, "fget", getattr(member, "func", getattr(member, "__func__", member)))
            if not name.startswith("_") and inspect.isfunction(member):
                texts.append(member.__annotations__.get("return", ""))
    return [classes[word] for text in texts for word in re.findall(r"\b[A-Z]\w+", str(text)) if word in classes]
