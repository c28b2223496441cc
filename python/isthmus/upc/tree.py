"""Nodes of a program, and the names that it declares."""

from __future__ import annotations

from typing import Any

from .types import INT, Type


class Node:
    """A part of a program: the words from ``start`` to before ``end``, and the parts in them, in their order."""

    __slots__ = ("constant", "data", "end", "kids", "kind", "lvalue", "start", "strict", "threads", "type")

    def __init__(
        self, kind: str, start: int, end: int, kids: list[Node] | None = None, of: Type = INT, /, **data: Any
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.kids = kids or []
        self.type = of
        self.data = data
        self.lvalue = False
        self.strict = False  #: what the pragma says here
        self.constant: int | None = None
        self.threads = 0  #: THREADS, which is not known, so often is a factor of ``constant``


class Symbol:
    """A name: ``typedef``, ``variable``, ``function`` or ``constant``."""

    __slots__ = ("addressed", "file_level", "kind", "name", "storage", "type", "value")

    def __init__(
        self, kind: str, name: str, of: Type, storage: str, file_level: bool, value: int | None = None
    ) -> None:
        self.kind = kind
        self.name = name
        self.type = of
        self.storage = storage  #: "", static, extern, register
        self.file_level = file_level
        self.value = value
        self.addressed = False


class Scope:
    """Names that are known in a part of a program, inner ones before outer ones."""

    def __init__(self) -> None:
        self.names: list[dict[str, Symbol]] = [{}]
        self.tags: list[dict[str, Any]] = [{}]

    def push(self) -> None:
        self.names.append({})
        self.tags.append({})

    def pop(self) -> None:
        self.names.pop()
        self.tags.pop()

    def find(self, name: str) -> Symbol | None:
        for names in reversed(self.names):
            if name in names:
                return names[name]
        return None

    def find_tag(self, tag: str) -> Any:
        for tags in reversed(self.tags):
            if tag in tags:
                return tags[tag]
        return None

    def add(self, symbol: Symbol) -> None:
        self.names[-1][symbol.name] = symbol

    @property
    def at_file_level(self) -> bool:
        return len(self.names) == 1
