"""The architecture, checked on the source: who may use whom, who may print, how long a file may be."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
PRINTS = re.compile(r"<iostream>|<cstdio>|<stdio\.h>|<print>|\bf?printf\s*\(|\bputs\s*\(|\bstd::c(?:out|err|log)\b")


def layers() -> dict[str, dict[str, list[str]]]:
    """Sources and dependencies of every isthmus_layer() of core/CMakeLists.txt."""
    text = re.sub(r"#.*", "", (CORE / "CMakeLists.txt").read_text())
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


def test_python_parts_know_only_those_below() -> None:
    """Machines know nothing of how they are drawn, imported, kept or asked for on the command line."""
    below = {
        "machine": {
            "_core",
            "errors",
            "extras",
            "files",
            "hostlist",
            "named",
            "tabular",
            "toml_text",
            "units",
            "machine",
        },
        "imports": {"errors", "filekinds", "hostlist", "units", "imports", "recording", "schedule", "separate"},
        "plot": {
            "_core",
            "collectives",
            "errors",
            "files",
            "machine",
            "mapping",
            "plot",
            "recording",
            "schedule",
            "simulation",
            "tuning",
            "units",
        },
        "gallery": set(),
    }
    package = ROOT / "python" / "isthmus"
    for part, allowed in below.items():
        for path in (package / part).rglob("*.py"):
            text = path.read_text()
            outside = re.findall(r"^\s*from \.\.(\w+)", text, re.MULTILINE)
            outside += re.findall(r"^\s*from isthmus\.(\w+)", text, re.MULTILINE)
            outside += [
                name.strip()
                for names in re.findall(r"^\s*from \.\. import ([\w, ]+)", text, re.MULTILINE)
                for name in re.split(r",| as \w+", names)
                if name.strip()
            ]
            assert set(outside) <= allowed, path
