"""Imports of the package's own modules, read from its source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "isthmus"


@dataclass(frozen=True)
class Import:
    """One module that another imports; `typing`: only for type checkers."""

    module: str
    of: str
    line: int
    typing: bool


@functools.cache
def modules() -> Mapping[str, Path]:
    """Modules by name below isthmus; the package itself is the empty name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, source: str | None = None) -> Iterator[Import]:
    """Own modules that a module imports: at its head, in functions, for type checkers."""
    path = modules()[module]
    tree = ast.parse(path.read_text(encoding="utf-8") if source is None else source)
    typing = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        for node in ast.walk(statement)
    }
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    package = [part for part in package if part]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[1:] for alias in node.names if alias.name.split(".")[0] == "isthmus"]
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "isthmus"):
            above = package[: len(package) - node.level + 1] if node.level else []
            within = (node.module or "").split(".") if node.module else []
            base = above + (within if node.level else within[1:])
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            full, parent = ".".join(name), ".".join(name[:-1])
            if name == ["_core"] or parent == "_core":
                continue
            yield Import(module, full if full in modules() else parent, node.lineno, node in typing)


@functools.cache
def all_imports() -> tuple[Import, ...]:
    """Those of all modules but of the package's face, which lists what others hold."""
    return tuple(found for module in modules() if module for found in imports_of(module) if found.of != module)


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other, by the algorithm of Tarjan."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in sorted(edges.get(module, ())):
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(edges):
        if module not in number:
            visit(module)
    return found
