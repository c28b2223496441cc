"""Expressions as C has them: accesses to shared memory become calls of the support header."""

from __future__ import annotations

from collections.abc import Callable

from .emit_kept import KeptEmission
from .emit_local import PLAIN, Improve
from .layout import size_of
from .loops import symbol_of
from .tokens import Token
from .tree import Node
from .types import (
    POINTER,
    Type,
    block_of,
    decayed,
    involves_shared,
    is_pointer_to_shared,
    is_shared,
    private,
    ultimate,
)
from .writer import Pieces

NULL = f"(({POINTER}){{0, 0, 0}})"


class ExpressionEmission(KeptEmission):
    def __init__(self, tokens: list[Token], threads: int | None, improve: Improve = PLAIN) -> None:
        super().__init__()
        self.tokens = tokens
        self.threads = threads
        self.improve = improve
        self.count = 0
        self.temporaries: list[str] = []

    # -- words and names ----------------------------------------------------------------------------------------------

    def copy(self, node: Node, inner: Callable[[Node], Pieces] | None = None) -> Pieces:
        """As it stands, but for its parts."""
        inner = inner or self.value
        out: Pieces = []
        at = node.start
        for kid in node.kids:
            out.extend(self.tokens[at : kid.start])
            out.append(inner(kid))
            at = kid.end
        out.extend(self.tokens[at : node.end])
        return out

    def temporary(self, of: Type) -> str:
        self.count += 1
        name = f"isthmus_upc_{self.count}"
        self.temporaries.append(self.declare(of, name) if of is not _PLACE else f"{POINTER} {name}")
        return name

    @property
    def ranks(self) -> str:
        return str(self.threads) if self.threads else "isthmus_upc_threads"

    # -- places -------------------------------------------------------------------------------------------------------

    def place(self, node: Node) -> Pieces:
        """Where a shared object is: a pointer to shared."""
        if node.kind == "paren":
            return self.place(node.kids[0])
        if node.kind == "ident":
            return ["isthmus_shared_first(", *self.copy(node), ")"]
        if node.kind == "index":
            array, number = node.data["array"], node.data["number"]
            return self.add(self.value(array), self.value(number), decayed(array.type))
        if node.kind == "deref":
            return self.value(node.kids[0])
        if node.kind == "member":
            base = self.base_of(node)
            record = self.declare(private(node.data["base"]))
            return ["isthmus_upc_member(", base, f", __builtin_offsetof({record}, {node.data['name']}))"]
        if node.kind == "comma":
            return ["(", self.value(node.kids[0]), ",", self.place(node.kids[1]), ")"]
        raise AssertionError(node.kind)

    def base_of(self, node: Node) -> Pieces:
        return self.place(node.kids[0]) if node.data["sign"] == "." else self.value(node.kids[0])

    def add(self, pointer: Pieces, number: Pieces, of: Type, minus: bool = False) -> Pieces:
        """So many elements of the target further."""
        target = ultimate(of.target)
        count = self.elements(of.target)
        each = "" if count == "1" else f" * ({count})"
        sign = "-" if minus else ""
        return [
            "isthmus_shared_add(", pointer, f", {sign}(int64_t)(", number, f"){each}, ",
            f"sizeof({self.declare(private(target))}), {block_of(of.target)}, {self.ranks})",
        ]  # fmt: skip

    def strict(self, node: Node) -> str:
        shared = ultimate(node.type).shared
        strict = shared.strict if shared is not None and shared.strict is not None else node.strict
        return "1" if strict else "0"

    def read(self, of: Type, place: Pieces, strict: str) -> Pieces:
        name = self.declare(private(of))
        unit = self.declare(private(of), "[1]")
        pointer = self.declare(private(of), "*")
        return [f"(*({pointer})isthmus_upc_read(({unit}){{0}}, ", place, f", sizeof({name}), {strict}))"]

    def write(self, of: Type, place: Pieces, value: Pieces, strict: str) -> Pieces:
        name = self.declare(private(of))
        unit = self.declare(private(of), "[1]")
        pointer = self.declare(private(of), "*")
        return [f"(*({pointer})isthmus_upc_write(", place, f", ({unit}){{", value, f"}}, sizeof({name}), {strict}))"]

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Pieces:
        method = getattr(self, f"_{node.kind}", None)
        if node.lvalue and is_shared(node.type):
            own = self.own(node)
            if own is not None:
                return own
            if node.type.kind == "array":
                return self.place(node)
            if node.kind == "member" and node.data["bits"]:
                base = node.data["base"]
                return ["(", self.read(base, self.base_of(node), self.strict(node)), f".{node.data['name']})"]
            return self.read(node.type, self.place(node), self.strict(node))
        if method is not None:
            found: Pieces = method(node)
            return found
        return self.copy(node)

    def _threads(self, node: Node) -> Pieces:
        return [str(self.threads)] if self.threads else ["((int)isthmus_upc_threads)"]

    def _mythread(self, node: Node) -> Pieces:
        return ["((int)isthmus_upc_thread)"]

    def _truth(self, node: Node) -> Pieces:
        return ["isthmus_upc_is(", self.value(node.kids[0]), ")"]

    def _address(self, node: Node) -> Pieces:
        kid = node.kids[0]
        if is_shared(kid.type):
            return self.place(kid)
        return self.copy(node)

    def _convert(self, node: Node) -> Pieces:
        kid = node.kids[0]
        source = decayed(kid.type)
        if not is_pointer_to_shared(source):
            return [NULL]
        return self.adjusted(self.value(kid), source, node.type)

    def adjusted(self, value: Pieces, source: Type, of: Type) -> Pieces:
        """A pointer to shared as one with another block size or element: section 6.4.3 of UPC 1.3."""
        one, other = ultimate(source.target), ultimate(of.target)
        before, after = block_of(source.target), block_of(of.target)
        if other.kind == "void":
            return value
        if one.kind == "void":
            return ["isthmus_upc_resetphase(", value, ")"] if after <= 1 else value
        sizes = size_of(private(one)), size_of(private(other))
        same = before == after and (sizes[0] == sizes[1] or None in sizes)
        if same or (before <= 1 and after <= 1):
            return value
        return ["isthmus_upc_resetphase(", value, ")"]

    def _cast(self, node: Node) -> Pieces:
        kid, of = node.kids[0], node.type
        source = decayed(kid.type)
        if is_pointer_to_shared(of):
            if is_pointer_to_shared(source):
                return self.adjusted(self.value(kid), source, of)
            if kid.constant == 0 or source.kind == "pointer":
                return [NULL]
            return ["isthmus_upc_of_integer((uint64_t)(", self.value(kid), "))"]
        if is_pointer_to_shared(source):
            if of.kind == "void":
                return ["((void)", self.value(kid), ")"]
            if of.kind == "pointer":
                return [f"(({self.declare(of)})isthmus_upc_local(", self.value(kid), "))"]
            if of.name == "_Bool":
                return ["isthmus_upc_is(", self.value(kid), ")"]
            return [f"(({self.declare(of)})isthmus_upc_integer(", self.value(kid), "))"]
        if involves_shared(of):
            return [f"(({self.declare(of)})", self.value(kid), ")"]
        return self.copy(node)

    def _compound(self, node: Node) -> Pieces:
        if involves_shared(node.type):
            return [f"({self.declare(node.type)})", self.initial(node.kids[0])]
        return self.copy(node, self.initial)

    def initial(self, node: Node) -> Pieces:
        """In an initialiser."""
        if node.kind == "convert" and not is_pointer_to_shared(decayed(node.kids[0].type)):
            return ["{0, 0, 0}"]
        if node.kind in ("list", "part"):
            return self.copy(node, self.initial)
        return self.value(node)

    def _va_arg(self, node: Node) -> Pieces:
        of = node.data["of"]
        if not involves_shared(of):
            return self.copy(node)
        return ["__builtin_va_arg(", self.value(node.kids[0]), f", {self.declare(of)})"]

    def _offsetof(self, node: Node) -> Pieces:
        return self.copy(node)

    def _sizeof(self, node: Node) -> Pieces:
        word, of = node.data["word"], node.data["of"]
        if word == "upc_blocksizeof":
            return [f"((size_t){block_of(of)})"]
        element = self.declare(private(ultimate(of)))
        if word == "upc_elemsizeof":
            return [f"sizeof({element})"]
        if word == "upc_localsizeof":
            return [
                f"((size_t)isthmus_shared_bytes({self.elements(of)}, sizeof({element}), {block_of(of)}, {self.ranks}))"
            ]
        if of.kind != "unknown" and (is_shared(of) or involves_shared(of)) and word == "sizeof":
            if of.kind == "array" and is_shared(of):
                return [f"((size_t)({self.elements(of)}) * sizeof({element}))"]
            return [f"sizeof({self.declare(private(of))})"]
        if involves_shared(of):
            return [f"{word}({self.declare(private(of))})"]
        return self.copy(node)

    def _binary(self, node: Node) -> Pieces:
        left, right = node.kids
        one, other = decayed(left.type), decayed(right.type)
        sign = node.data["sign"]
        if not (is_pointer_to_shared(one) or is_pointer_to_shared(other)) or sign in ("&&", "||"):
            return self.copy(node)
        if sign in ("==", "!="):
            negated = "!" if sign == "!=" else ""
            return [f"({negated}isthmus_shared_equal(", self.value(left), ",", self.value(right), "))"]
        if is_pointer_to_shared(one) and is_pointer_to_shared(other):
            target = ultimate(one.target)
            difference: Pieces = [
                "isthmus_shared_difference(", self.value(left), ",", self.value(right),
                f", sizeof({self.declare(private(target))}), {block_of(one.target)}, {self.ranks})",
            ]  # fmt: skip
            if sign == "-":
                count = self.elements(one.target)
                return difference if count == "1" else ["(", difference, f"/ ({count}))"]
            return ["(", difference, f"{sign} 0)"]
        if is_pointer_to_shared(one):
            return self.add(self.value(left), self.value(right), one, sign == "-")
        return self.add(self.value(right), self.value(left), other)

    def stepped(self, of: Type, value: Pieces, sign: str, number: Pieces) -> Pieces:
        """The value of ``value sign number``, of a left side of this type."""
        if is_pointer_to_shared(of):
            return self.add(value, number, of, sign == "-")
        return [value, f"{sign} (", number, ")"]

    def _assign(self, node: Node) -> Pieces:
        left, right = node.kids
        sign = node.data["sign"]
        own = self.own(left) if sign == "=" or not is_pointer_to_shared(left.type) else None
        if own is not None:
            return ["(", own, sign, "(", self.value(right), "))"]
        if is_shared(left.type):
            if inner_of(left).kind == "member" and inner_of(left).data["bits"]:
                return self.change_bits(inner_of(left), sign, self.value(right), True)
            if sign == "=":
                return self.write(left.type, self.place(left), self.value(right), self.strict(left))
            place = self.temporary(_PLACE)
            old = self.read(left.type, [place], self.strict(left))
            new = self.stepped(left.type, old, sign[:-1], self.value(right))
            return [f"({place} =", self.place(left), ",", self.write(left.type, [place], new, self.strict(left)), ")"]
        if is_pointer_to_shared(left.type) and sign != "=":
            if inner_of(left).kind == "ident":
                return [
                    "(",
                    self.value(left),
                    "=",
                    self.add(self.value(left), self.value(right), left.type, sign == "-="),
                    ")",
                ]
            return self.moved(left, self.value(right), sign[0], "isthmus_upc_move")
        return self.copy(node)

    def moved(self, left: Node, number: Pieces, sign: str, function: str) -> Pieces:
        target = left.type.target
        minus = "-" if sign == "-" else ""
        return [
            f"{function}(&(", self.value(left), f"), {minus}(int64_t)(", number, f") * ({self.elements(target)}), "
            f"sizeof({self.declare(private(ultimate(target)))}), {block_of(target)}, {self.ranks})",
        ]  # fmt: skip

    def change_bits(self, node: Node, sign: str, number: Pieces, new: bool) -> Pieces:
        """An assignment to a bit-field, whose struct is read and written as a whole."""
        record = private(node.data["base"])
        place, copy = self.temporary(_PLACE), self.temporary(record)
        name, strict = node.data["name"], self.strict(node)
        out: Pieces = [f"({place} =", self.base_of(node), f", {copy} =", self.read(record, [place], strict), ","]
        if new:
            change: Pieces = [f"{copy}.{name} {sign}", number]
            return [*out, change, ",", self.write(record, [place], [copy], strict), f", {copy}.{name})"]
        old = self.temporary(private(node.type))
        out.append([f"{old} = {copy}.{name}, {copy}.{name} {sign}", number, ","])
        return [*out, self.write(record, [place], [copy], strict), f", {old})"]

    def _step(self, node: Node, before: bool | None = None) -> Pieces:
        left = node.kids[0]
        before = node.data["before"] if before is None else before
        sign = node.data["sign"][0]
        own = None if is_pointer_to_shared(left.type) else self.own(left)
        if own is not None:
            return ["(", sign * 2, own, ")"] if before else ["(", own, sign * 2, ")"]
        if is_shared(left.type):
            strict = self.strict(left)
            if inner_of(left).kind == "member" and inner_of(left).data["bits"]:
                return self.change_bits(inner_of(left), f"{sign}=", ["1"], before)
            place = self.temporary(_PLACE)
            old = self.read(left.type, [place], strict)
            if before:
                new = self.stepped(left.type, old, sign, ["1"])
                return [f"({place} =", self.place(left), ",", self.write(left.type, [place], new, strict), ")"]
            kept = self.temporary(private(left.type))
            new = self.stepped(left.type, [kept], sign, ["1"])
            return [
                f"({place} =", self.place(left), f", {kept} =", old, ",",
                self.write(left.type, [place], new, strict), f", {kept})",
            ]  # fmt: skip
        if is_pointer_to_shared(left.type):
            if inner_of(left).kind != "ident":
                return self.moved(left, ["1"], sign, "isthmus_upc_move" if before else "isthmus_upc_move_after")
            value = self.value(left)
            target, symbol = left.type.target, symbol_of(left)
            in_memory = symbol is not None and (symbol.file_level or symbol.storage == "static")
            if before and sign == "+" and in_memory and not left.type.qualifiers and self.elements(target) == "1":
                size = f"sizeof({self.declare(private(ultimate(target)))})"
                return ["isthmus_upc_next(&(", value, f"), {size}, {block_of(target)}, {self.ranks})"]
            new = self.add(value, ["1"], left.type, sign == "-")
            if before:
                return ["(", value, "=", new, ")"]
            kept = self.temporary(_PLACE)
            return [f"({kept} =", value, ",", value, "=", new, f", {kept})"]
        return self.copy(node)

    def effect(self, node: Node) -> Pieces:
        """Of an expression whose value nobody uses."""
        if node.kind == "step":
            return self._step(node, before=True)
        if node.kind == "comma":
            return [self.effect(node.kids[0]), ",", self.effect(node.kids[1])]
        return self.value(node)


_PLACE = Type("basic", POINTER)


def inner_of(node: Node) -> Node:
    while node.kind == "paren":
        node = node.kids[0]
    return node
