"""Types as C has them."""

from __future__ import annotations

from .tokens import Token
from .tree import Node
from .types import POINTER, Type, is_shared
from .writer import Pieces, text_of


class TypeEmission:
    """Declarations of types, in one line of text."""

    threads: int | None = None
    tokens: list[Token]

    def value(self, node: Node) -> Pieces:
        raise NotImplementedError

    def dimension(self, of: Type) -> str:
        dimension = of.dimension
        if dimension is None:
            return ""
        if dimension.value is not None and not dimension.threads:
            return str(dimension.value)
        if dimension.node is not None:
            return text_of(self.value(dimension.node))
        return ""

    def declare(self, of: Type, inner: str = "") -> str:
        """The declaration of ``inner``, a name or nothing, as this type."""
        if of.kind == "pointer":
            pointed = is_shared(of.target)
            words = " ".join(sorted(of.qualifiers - ({"_Atomic", "restrict"} if pointed else {"_Atomic"})))
            if is_shared(of.target):
                return f"{words} {POINTER} {inner}".strip()
            inner = f"* {words} {inner}".rstrip() if words else f"*{inner}"
            if of.target.kind in ("array", "function"):
                inner = f"({inner})"
            return self.declare(of.target, inner)
        if of.kind == "array":
            return self.declare(of.target, f"{inner}[{self.dimension(of)}]")
        if of.kind == "function":
            if of.parameters is None:
                inside = ""
            else:
                parts = [self.declare(parameter, name) for name, parameter, _ in of.parameters]
                inside = ", ".join([*parts, "..."] if of.variadic else parts) or "void"
            return self.declare(of.target, f"{inner}({inside})")
        words = " ".join(sorted(of.qualifiers))
        name = f"{of.record.word} {of.record.tag}" if of.record is not None else of.name
        return " ".join(part for part in (words, name, inner) if part)

    def elements(self, of: Type) -> str:
        """How many elements that are no arrays an element of this type has."""
        count, factors = 1, []
        while of.kind == "array":
            dimension = of.dimension
            if dimension is not None and dimension.value is not None and not dimension.threads:
                count *= dimension.value
            else:
                factors.append(f"({self.dimension(of)})")
            of = of.target
        return " * ".join([f"(int64_t){count}", *factors]) if factors else str(count)
