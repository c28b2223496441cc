"""The architecture, checked on the source: who may use whom, who may print, how long a file may be."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from isthmus.views import VIEWS
from python_imports import all_imports, circles, imports_of, modules

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
PRINTS = re.compile(r"<iostream>|<cstdio>|<stdio\.h>|<print>|\bf?printf\s*\(|\bputs\s*\(|\bstd::c(?:out|err|log)\b")


def layers(folder: Path = CORE) -> dict[str, dict[str, list[str]]]:
    """Sources and dependencies of every isthmus_layer() of a CMakeLists.txt."""
    text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
    found = {}
    for call in re.findall(r"isthmus_layer\(([^)]*)\)", text):
        name, *words = call.split()
        table: dict[str, list[str]] = {"SOURCES": [], "DEPENDS": []}
        key = ""
        for word in words:
            if word in table:
                key = word
            else:
                table[key].append(word)
        found[name] = table
    return found


LAYERS = layers()
RUNTIME = ROOT / "runtime"
#: Of the runtime, which may use some layers of the core.
RUNTIME_LAYERS = layers(RUNTIME)


def sources(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp"))


def test_layers_are_the_folders_of_the_core() -> None:
    assert set(LAYERS) == {p.name for p in CORE.iterdir() if p.is_dir()}
    for name, layer in LAYERS.items():
        assert sorted(layer["SOURCES"]) == sorted(str(p.relative_to(CORE / name)) for p in (CORE / name).rglob("*.cpp"))


def test_layers_depend_downwards_only() -> None:
    seen: list[str] = []
    for name, layer in LAYERS.items():
        assert set(layer["DEPENDS"]) <= set(seen), f"{name} depends on a layer that is not declared before it"
        seen.append(name)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_includes_only_what_it_names(name: str) -> None:
    allowed = {name, *LAYERS[name]["DEPENDS"]}
    wrong = [
        f"{path.relative_to(ROOT)}: {include}"
        for path in sources(CORE / name)
        for include in INCLUDE.findall(path.read_text())
        if include.split("/")[0] not in allowed or not (CORE / include).is_file()
    ]
    assert wrong == []


@pytest.mark.parametrize("name", LAYERS)
def test_layer_names_only_what_it_includes(name: str) -> None:
    used = {inc.split("/")[0] for path in sources(CORE / name) for inc in INCLUDE.findall(path.read_text())}
    assert set(LAYERS[name]["DEPENDS"]) <= used


NAMESPACE = re.compile(r"^namespace (isthmus[\w:]*) \{", re.MULTILINE)


@pytest.mark.parametrize("name", LAYERS)
def test_files_of_a_layer_open_its_namespace(name: str) -> None:
    """Names of two layers cannot clash: `isthmus::mapping::Fold` is no `isthmus::collectives::Fold`."""
    wanted = "isthmus" if name == "base" else f"isthmus::{name}"
    for path in sources(CORE / name):
        opened = NAMESPACE.findall(path.read_text())
        assert opened or path.name == "vector.hpp", path
        assert all(space == wanted or space.startswith(f"{wanted}::") for space in opened), path


@pytest.mark.parametrize("name", RUNTIME_LAYERS)
def test_layers_of_the_runtime_use_what_they_name(name: str) -> None:
    """Transports know no schedules, and the executor knows no collectives."""
    layer = RUNTIME_LAYERS[name]
    assert sorted(layer["SOURCES"]) == sorted(
        str(p.relative_to(RUNTIME / name)) for p in (RUNTIME / name).rglob("*.cpp")
    )
    used = set()
    for path in sources(RUNTIME / name):
        assert set(NAMESPACE.findall(path.read_text())) == {"isthmus::runtime"}, path
        for include in INCLUDE.findall(path.read_text()):
            root = ROOT if include.startswith("runtime/") else CORE
            assert (root / include).is_file(), (path, include)
            used.add(
                include.removeprefix("runtime/").split("/")[0] if root == CORE else f"runtime_{include.split('/')[1]}"
            )
    assert used - {f"runtime_{name}"} == set(layer["DEPENDS"])
    core = {"base", "schedule", "collectives", *(("mapping", "topology") if name == "reorder" else ())}
    assert {word for word in layer["DEPENDS"] if not word.startswith("runtime_")} <= core


def test_the_runtime_prints_nothing() -> None:
    assert [str(p) for p in sources(RUNTIME) if PRINTS.search(p.read_text())] == []


def test_algorithms_of_collectives_stand_in_files_of_their_names() -> None:
    folder = CORE / "collectives" / "algorithms"
    # The dissemination allgather is that of Bruck with radix 2.
    home = {"dissemination": "bruck"}
    for family, body in re.findall(
        r"^namespace (\w+) \{\n(.*?)^\}", (folder / "algorithms.hpp").read_text(), re.MULTILINE | re.DOTALL
    ):
        files = {path.stem: path.read_text() for path in folder.glob(f"{home.get(family, family)}*.cpp")}
        for function in re.findall(r"^void (\w+)\(", body, re.MULTILINE):
            written = (
                rf"^namespace (isthmus::collectives::)?{family} \{{.*^void {function}\(|^void {family}::{function}\("
            )
            assert any(re.search(written, text, re.MULTILINE | re.DOTALL) for text in files.values()), (
                family,
                function,
            )


def test_bindings_open_their_namespace() -> None:
    for path in sources(ROOT / "bindings"):
        assert set(NAMESPACE.findall(path.read_text())) == {"isthmus::bindings"}, path


@pytest.mark.parametrize("name", LAYERS)
def test_folders_of_a_layer_use_each_other_one_way(name: str) -> None:
    uses: dict[str, set[str]] = {}
    for path in sources(CORE / name):
        folder = str(path.parent.relative_to(CORE))
        uses.setdefault(folder, set()).update(
            str(Path(include).parent) for include in INCLUDE.findall(path.read_text()) if include.startswith(f"{name}/")
        )
    left = {folder: used - {folder} for folder, used in uses.items()}
    while free := {folder for folder, used in left.items() if not used & left.keys()}:
        left = {folder: used for folder, used in left.items() if folder not in free}
    assert left == {}, "folders that use each other in a circle"


def test_core_prints_nothing() -> None:
    talkative = [str(p.relative_to(CORE)) for p in sources(CORE) if PRINTS.search(p.read_text())]
    # A failed assertion is the last word of a program.
    assert set(talkative) <= {"base/assert.hpp"}


def test_files_are_short() -> None:
    files = [*sources(CORE), *sources(ROOT / "bindings"), *sources(ROOT / "tests")]
    files += [*(ROOT / "python").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    assert len(files) > 50
    long = {str(p.relative_to(ROOT)): n for p in files if (n := len(p.read_text().splitlines())) >= 600}
    assert long == {}


def imported(code: str) -> set[str]:
    """Modules that a fresh interpreter holds after the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split("\n")[-2].split())


def test_import_of_the_package_is_lazy() -> None:
    ours = {name for name in imported("import isthmus") if name.startswith("isthmus.")}
    assert ours == set()


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import isthmus; isthmus.Machine", ["isthmus.plot", "isthmus.imports", "isthmus.gallery", "isthmus.cli"]),
        (
            "import isthmus; isthmus.Machine.parse('ring:4').spec",
            ["isthmus.plot", "isthmus.imports", "isthmus.gallery", "click"],
        ),
        ("import isthmus; isthmus.load('ring-16')", ["isthmus.plot", "isthmus.imports", "matplotlib", "click", "rich"]),
        ("import isthmus.cli", ["isthmus.machine", "isthmus.plot", "numpy", "rich"]),
        ("import isthmus.plot", ["matplotlib", "plotly", "isthmus.cli", "isthmus.imports"]),
    ],
)
def test_parts_load_without_the_others(code: str, without: list[str]) -> None:
    assert imported(code).isdisjoint(without)


PYTHON = tomllib.loads((ROOT / "python" / "layers.toml").read_text(encoding="utf-8"))
HOLDS = {module: name for name, layer in PYTHON.items() for module in layer.get("holds", [name])}


def layer_of(module: str) -> str:
    """The layer of a module: the longest name that holds it."""
    parts = module.split(".")
    names = [".".join(parts[:k]) for k in range(len(parts), 0, -1)]
    return next((HOLDS[name] for name in names if name in HOLDS), "")


def test_python_layers_hold_all_modules() -> None:
    assert [module for module in modules() if module and not layer_of(module)] == []
    assert [name for name in HOLDS if name not in modules()] == []
    assert [found for found in all_imports() if found.of not in modules()] == []


def test_python_layers_use_those_before_them() -> None:
    seen: list[str] = []
    for name, layer in PYTHON.items():
        assert set(layer["uses"]) <= set(seen), f"{name} uses a layer that is not listed before it"
        seen.append(name)


def test_python_layers_import_only_what_they_list() -> None:
    """Those in functions and for type checkers too. Of the face of the package only its version may be asked."""
    wrong = [
        f"{found.module.replace('.', '/')}.py:{found.line}: {found.of}"
        for found in all_imports()
        if found.of
        and layer_of(found.of) not in {layer_of(found.module), "base", *PYTHON[layer_of(found.module)]["uses"]}
    ]
    assert wrong == []


def test_python_layers_list_only_what_they_import() -> None:
    used = {(layer_of(found.module), layer_of(found.of)) for found in all_imports()}
    assert [
        (name, other) for name, layer in PYTHON.items() for other in layer["uses"] if (name, other) not in used
    ] == []


def test_imports_are_read_wherever_they_stand() -> None:
    """The reader finds what the tests above forbid: at the head, in functions, for type checkers, by any spelling."""
    source = (
        "from typing import TYPE_CHECKING\nfrom ..plot import chart\nimport isthmus.cli\n"
        "if TYPE_CHECKING:\n    from ..advice.advice import Advice\n"
        "def f():\n    from isthmus.studies import run\n    from . import text\n    from .. import _core, units\n"
    )
    found = [(i.of, i.line, i.typing) for i in imports_of("machine.machine", source)]
    assert sorted(found) == [
        ("advice.advice", 5, True),
        ("cli", 3, False),
        ("machine.text", 8, False),
        ("plot.chart", 2, False),
        ("studies.run", 7, False),
        ("units", 9, False),
    ]


#: Circles that only type checkers see, each with what the methods of one noun call and what names that noun for it.
#: The nouns Machine and Allocation name each other.
KNOWN_TO_EACH_OTHER = {
    "machine.machine": {"machine.allocation"},
    "schedule.program": {
        "schedule.details", "schedule.event_names", "schedule.events", "schedule.program_checks",
        "schedule.program_order", "schedule.recording", "schedule.tally",
    },
    "simulation.timeline": {
        "simulation.activity", "simulation.critical", "simulation.deadlock", "simulation.traffic",
    },
    "tuning.search.search": {
        "tuning.search.intervals", "tuning.search.large", "tuning.search.neighbours", "tuning.search.told",
    },
}  # fmt: skip


def edges_of(*, typing: bool) -> dict[str, set[str]]:
    """What each module imports, in functions too; with ``typing`` also names that only type checkers need."""
    edges: dict[str, set[str]] = {}
    for found in all_imports():
        if found.of and (typing or not found.typing):
            edges.setdefault(found.module, set()).add(found.of)
    return edges


def test_no_python_files_in_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]
    assert circles(edges_of(typing=False)) == []


def test_circles_for_type_checkers_are_nouns_with_their_helpers() -> None:
    """Any other circle is refused, and so is one that is listed and no longer there."""
    assert circles(edges_of(typing=True)) == sorted(sorted({noun, *of}) for noun, of in KNOWN_TO_EACH_OTHER.items())
    # Without the names of these nouns no circle is left: their helpers do not know each other by roundabout ways.
    pruned = {
        module: {of for of in used if module not in KNOWN_TO_EACH_OTHER.get(of, ())}
        for module, used in edges_of(typing=True).items()
    }
    assert circles(pruned) == []


def test_modules_are_named_in_strings_only_in_tables() -> None:
    """What is imported by a string escapes the tests above: each of these modules is a table of such names."""
    dynamic = {module for module, path in modules().items() if "import_module" in path.read_text(encoding="utf-8")}
    assert dynamic == {
        "",  # public names
        "cli",  # commands
        "extras",  # packages of others
        "imports.machines.formats",
        "mapping.launch",
        "mapping.methods",
        "plot.families",
        "plot.interactive",  # plotly
        "studies.parameters",  # experiments
        "tuning.export.export",  # files of libraries
        "tuning.verify.verify",
        "views",
        "skeletons.skeleton",  # skeletons
    }


def test_nouns_do_not_know_who_draws_them() -> None:
    views = ("text", "plot", "html", "chrome", "hdf5", "goal_text", "as_json", "table_file")
    nouns = {"machine.machine", "schedule.program", "schedule.schedule", "schedule.pattern", "simulation.timeline"}
    nouns |= {"machine.placement", "studies.study", "advice.advice", "mapping.mapped", "tuning.table", "tuning.tune"}
    assert nouns <= set(modules())
    known = [f"{i.module}: {i.of}" for i in all_imports() if i.module in nouns and set(i.of.split(".")) & set(views)]
    assert known == []


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_there(name: str) -> None:
    kind, method = name.split(".")
    module, function = VIEWS[name].split(":")
    assert callable(getattr(importlib.import_module(f"isthmus.{module}"), function))
    owners = [
        path
        for path in modules().values()
        if f"class {kind}" in (text := path.read_text(encoding="utf-8")) and f'view("{name}")' in text
    ]
    assert len(owners) == 1, f"{name}: no class {kind} asks for it"
    assert f"def {method}(" in owners[0].read_text(encoding="utf-8")


def test_public_names_stand_once() -> None:
    """What type checkers read is what there is, and ``dir`` and ``__all__`` say the same."""
    import isthmus

    tree = ast.parse((ROOT / "python" / "isthmus" / "__init__.py").read_text(encoding="utf-8"))
    listed = {
        alias.asname: (node.module or "")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert len(listed) > 40
    assert {"__version__", *listed} == set(isthmus.__all__) == set(dir(isthmus))
    for name, module in listed.items():
        assert getattr(isthmus, name) is getattr(importlib.import_module(f"isthmus.{module}"), name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        isthmus.nothing  # noqa: B018


def test_packages_carry_their_map() -> None:
    """The docstring of a package names each of its modules and folders, and nothing that is not there."""
    packages = [module for module, path in modules().items() if path.name == "__init__.py"]
    assert len(packages) > 20
    for package in packages:
        path = modules()[package]
        there = {child.stem for child in path.parent.glob("*.py")} - {"__init__", "__main__"}
        there |= {f"{child.parent.name}/" for child in path.parent.glob("*/__init__.py")}
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        named = re.findall(r"^- ``(\w+/?)``: \S", text, re.MULTILINE)
        assert sorted(named) == sorted(there), path


def paths_in(text: str) -> list[str]:
    """Paths of the repository in backquotes: with a slash or a suffix, without placeholders in capitals."""
    found = re.findall(r"`((?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:toml|txt|md))`", text)
    return [path for path in found if not re.search(r"\b[A-Z]{3,}\b", path.replace(".md", ""))]


def test_questions_of_a_newcomer_lead_to_paths_that_exist() -> None:
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    section = text.split("## Where is what?")[1].split("\n## ")[0]
    rows = [row for row in section.splitlines() if row.startswith("|") and row.count("|") == 3][2:]
    assert len(rows) >= 10
    for row in rows:
        paths = paths_in(row)
        assert paths, row
        assert [path for path in paths if not (ROOT / path).exists()] == [], row


def test_contributing_is_one_screen_of_paths_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    paths = [path for row in rows for path in re.findall(r"`([^`]+)`", row)]
    assert len(paths) >= 15
    assert [path for path in paths if not list(ROOT.glob(path.rstrip("/")))] == []
