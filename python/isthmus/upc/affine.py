"""Numbers that change with the counter of a loop by the same amount in every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .layout import size_of
from .loops import bare, is_steady, is_unsigned, symbol_of, walk
from .tree import Node, Symbol
from .types import Dimension, Type, private

#: Sums of products: how often each product of names occurs. The counter is the name ``COUNTER``.
Sum = dict[tuple[str, ...], int]
COUNTER = ""
THREADS = "THREADS"


def constant(value: int) -> Sum:
    return {(): value} if value else {}


def plus(one: Sum, other: Sum, times: int = 1) -> Sum:
    out = dict(one)
    for product, count in other.items():
        out[product] = out.get(product, 0) + times * count
    return {product: count for product, count in out.items() if count}


def product(one: Sum, other: Sum) -> Sum:
    out: Sum = {}
    for left, count in one.items():
        for right, times in other.items():
            out = plus(out, {tuple(sorted(left + right)): count * times})
    return out


def is_constant(number: Sum) -> bool:
    return not number or list(number) == [()]


def value_of(number: Sum) -> int:
    return number.get((), 0)


def parts(number: Sum) -> tuple[Sum, Sum] | None:
    """What the counter is multiplied with, and the rest; None where it is multiplied with itself."""
    by: Sum = {}
    rest: Sum = {}
    for names, count in number.items():
        often = names.count(COUNTER)
        if often > 1:
            return None
        if often:
            by = plus(by, {tuple(name for name in names if name != COUNTER): count})
        else:
            rest = plus(rest, {names: count})
    return by, rest


@dataclass
class Affine:
    """What is known of numbers in the body of a loop."""

    counter: Symbol
    body: Node
    changed: set[int]
    free: bool  #: the body may write to what others name
    write: Callable[[Node], str]  #: a number that stays the same, as C
    texts: dict[str, str] = field(default_factory=dict)  #: of names, as C

    def __post_init__(self) -> None:
        self.declared: dict[int, Node | None] = {}
        for part in walk(self.body):
            if part.kind == "declarator" or "symbol" in part.data:
                symbol = part.data.get("symbol")
                if symbol is not None and part.kind != "ident":
                    self.declared[id(symbol)] = part.data.get("init")

    def is_steady(self, node: Node) -> bool:
        return is_steady(node, self.body, self.changed | {id(self.counter)}, self.free) and not any(
            id(part.data["symbol"]) in self.declared for part in walk(node) if part.kind == "ident"
        )

    def name(self, node: Node) -> Sum:
        """Of a number that stays the same."""
        symbols = [f"{id(part.data['symbol'])}" for part in walk(node) if part.kind == "ident"]
        text = f"((int64_t)({self.write(node)}))"
        key = "|".join([text, *symbols])
        self.texts[key] = text
        return {(key,): 1}

    def threads(self, count: int, often: int) -> Sum:
        return {(THREADS,) * often: count} if count else {}

    def elements(self, of: Type) -> Sum | None:
        """How many elements that are no arrays it has."""
        count = constant(1)
        while of.kind == "array":
            found = self.dimension(of.dimension)
            if found is None:
                return None
            count = product(count, found)
            of = of.target
        return count

    def dimension(self, dimension: Dimension | None) -> Sum | None:
        if dimension is None or dimension.value is None:
            return None
        return self.threads(dimension.value, dimension.threads)

    def sum_of(self, node: Node) -> Sum | None:
        """None where it is not known to change by the same amount."""
        node = bare(node)
        of = private(node.type)
        size = size_of(of)
        if size is None or of.kind not in ("basic", "enum") or {"double", "float", "_Complex"} & set(of.name.split()):
            return None
        if node.constant is not None and (node.constant >= 0 or not is_unsigned(of)):
            return self.threads(node.constant, node.threads)
        if node.kind == "ident":
            return self._of_name(node, of, size[0])
        if node.kind == "mythread":
            return self.name(node)
        wraps = is_unsigned(of) and size[0] < 8
        if node.kind == "binary" and node.data["sign"] in "+-*" and not wraps:
            left, right = (self.sum_of(kid) for kid in node.kids)
            if left is not None and right is not None:
                sign = node.data["sign"]
                return product(left, right) if sign == "*" else plus(left, right, 1 if sign == "+" else -1)
        if node.kind == "unary" and node.data["sign"] in "+-" and not wraps:
            kid = self.sum_of(node.kids[0])
            if kid is not None:
                return plus({}, kid, 1 if node.data["sign"] == "+" else -1)
        if node.kind == "cast":
            source = private(node.kids[0].type)
            before = size_of(source)
            if before is not None and before[0] <= size[0] and (is_unsigned(source) == is_unsigned(of) or size[0] == 8):
                kid = self.sum_of(node.kids[0])
                if kid is not None:
                    return kid
        return self.name(node) if self.is_steady(node) else None

    def _of_name(self, node: Node, of: Type, size: int) -> Sum | None:
        symbol = symbol_of(node)
        if symbol is self.counter:
            return {(COUNTER,): 1}
        if symbol is None:
            return None
        if id(symbol) in self.declared:
            init = self.declared[id(symbol)]
            if init is None or id(symbol) in self.changed or symbol.addressed or symbol.storage == "static":
                return None
            source = private(init.type)
            before = size_of(source)
            if before is None or before[0] > size or (is_unsigned(source) != is_unsigned(of) and size < 8):
                return None
            return self.sum_of(init)
        return self.name(node) if self.is_steady(node) else None
