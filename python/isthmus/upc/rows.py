"""Loops in blocks: which accesses to shared memory go over rows of elements, and which keep others from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from .affine import Affine, Sum, constant, is_constant, parts, plus, product, value_of
from .loops import Reason, bare, changed_in, is_call_of, is_counted, leaves, symbol_of, walk, writes_anywhere
from .tree import Node, Symbol
from .types import Type, involves_shared, is_pointer_to_shared, is_shared, private, ultimate

#: Functions of C and UPC that neither read nor write shared memory.
_REAL = [
    "acos", "asin", "atan", "atan2", "cos", "sin", "tan", "acosh", "asinh", "atanh", "cosh", "sinh", "tanh", "exp",
    "exp2", "expm1", "log", "log10", "log1p", "log2", "fabs", "hypot", "pow", "sqrt", "cbrt", "erf", "erfc", "lgamma",
    "tgamma", "ceil", "floor", "trunc", "round", "rint", "nearbyint", "fmod", "remainder", "copysign", "fdim", "fmax",
    "fmin", "fma", "ldexp",
]  # fmt: skip
PURE = frozenset(
    [*_REAL, *(f"{name}f" for name in _REAL), *(f"{name}l" for name in _REAL), "abs", "labs", "llabs", "isdigit",
     "isalpha", "isspace", "toupper", "tolower", "upc_threadof", "upc_phaseof", "upc_addrfield"]
)  # fmt: skip
_FAR_SHIFT = 64


@dataclass
class Access:
    """One place of the program where shared memory is read or written."""

    node: Node
    reads: bool
    writes: bool
    sure: bool  #: in every iteration
    element: Node | None = None  #: what of it is an element of an array or of what a pointer leads to
    root: str = ""  #: the array or the pointer
    pointer: bool = False
    own: bool = False  #: plain C
    by: Sum = field(default_factory=dict)
    rest: Sum = field(default_factory=dict)
    total: Sum | None = None  #: elements of the array
    first: Node | None = None  #: the name of the array or the pointer
    why: str = ""  #: it is no part of a row


@dataclass
class Row:
    accesses: list[tuple[Access, int]]  #: with the step, from that of the row, at which it is
    by: Sum
    rest: Sum
    fixed: bool

    @property
    def one(self) -> Access:
        return self.accesses[0][0]

    @property
    def reads(self) -> bool:
        return any(access.reads for access, _ in self.accesses)

    @property
    def writes(self) -> bool:
        return any(access.writes for access, _ in self.accesses)

    @property
    def shifts(self) -> list[int]:
        return [shift for _, shift in self.accesses]

    @property
    def is_sure(self) -> bool:
        """Whether all elements are certain to be used."""
        sure = {shift for access, shift in self.accesses if access.sure}
        return bool(sure) and min(sure) <= min(self.shifts) and max(sure) >= max(self.shifts)


@dataclass
class Plan:
    rows: list[Row]
    guards: list[Row]  #: own accesses, which stay as they are
    pairs: list[tuple[int, int, bool]]  #: rows and guards that have to be apart; whether of one array
    pointers: list[Node]  #: private ones that must not lead to shared memory
    others: list[Access]  #: that stay as they are
    affine: Affine


def _shares(node: Node) -> bool:
    return any(is_shared(part.type) and part.lvalue for part in walk(node))


def element_of(node: Node) -> tuple[Node, bool]:
    """Of ``a[i].x[2]`` the element ``a[i]``, and whether the access is to a part of it."""
    node, part = bare(node), False
    while True:
        if node.kind == "member" and node.data["sign"] == ".":
            node, part = bare(node.kids[0]), True
        elif node.kind == "index" and _is_in_member(node):
            node, part = bare(node.data["array"]), True
        else:
            return node, part


def _is_in_member(node: Node) -> bool:
    while node.kind == "index":
        node = bare(node.data["array"])
    return node.kind == "member" and node.type.kind == "array" and node.data["sign"] == "."


class Reader:
    """Reads the body of a loop."""

    not_followed = frozenset(
        ["label", "goto", "asm", "return", "statement_expression", "forall", "switch", "case", "va_arg"]
    )

    def __init__(
        self, affine: Affine, step: int | None, is_own: Callable[[Node], bool], is_strict: Callable[[Node], bool],
        pure: frozenset[str],
    ) -> None:  # fmt: skip
        self.affine, self.step, self.is_own, self.is_strict, self.pure = affine, step, is_own, is_strict, pure
        self.accesses: list[Access] = []
        self.pointers: list[tuple[Node | None, bool]] = []  #: private ones, and whether they are written through
        self.skips = self.continues(affine.body)

    def continues(self, node: Node) -> bool:
        if node.kind == "jump":
            return bool(node.data.get("word") == "continue")
        if node.kind in ("for", "while", "do", "forall"):
            return False
        return any(self.continues(kid) for kid in node.kids)

    # -- what there is ------------------------------------------------------------------------------------------------

    def read(self) -> None:
        body = self.affine.body
        if leaves(body):
            raise Reason("it is left by break")
        self.visit(body, not self.skips)

    def visit(self, node: Node, sure: bool) -> None:
        kind = node.kind
        if kind == "upc":
            raise Reason(f"there is {node.data['word']} in it")
        if kind in self.not_followed:
            raise Reason("its body has a statement that is not followed")
        if kind == "call" and not is_call_of(node, self.pure):
            raise Reason("it calls functions, which may use shared memory")
        if kind == "declaration" and node.data["specifiers"].storage:
            raise Reason("its body has static variables")
        if kind in ("sizeof", "offsetof"):
            return
        once = kind == "do" and node.kids[1].constant == 0
        if kind in ("while", "do") and not once and _shares(node):
            raise Reason("a loop in it may wait for another thread")
        if kind in ("assign", "step"):
            left = bare(node.kids[0])
            reads = kind == "step" or node.data["sign"] != "="
            if is_shared(left.type) and left.lvalue:
                self.access(left, reads, True, sure)
            else:
                self.private_use(left, True)
                self.inside(left, sure)
            for kid in node.kids[1:]:
                self.visit(kid, sure)
            return
        if kind == "for" and not is_counted(node.data["test"], node.data["step"], node.data["body"]) and _shares(node):
            raise Reason("a loop in it may wait for another thread")
        if kind == "address":
            self.inside(bare(node.kids[0]), sure)
            return
        if node.lvalue and kind != "paren" and is_shared(node.type):
            if node.type.kind == "array":
                self.inside(node, sure)
            else:
                self.access(node, True, False, sure)
            return
        self.private_use(node, False)
        if kind in ("if", "cond") or (kind == "binary" and node.data["sign"] in ("&&", "||")):
            self.visit(node.kids[0], sure)
            for kid in node.kids[1:]:
                self.visit(kid, False)
            return
        for kid in node.kids:
            self.visit(kid, sure and kind not in ("for", "while", "do"))

    def inside(self, node: Node, sure: bool) -> None:
        """The parts of a place that is not read itself."""
        for kid in node.kids:
            if bare(kid).lvalue and is_shared(kid.type) and kid.type.kind in ("array", "record"):
                self.inside(bare(kid), sure)
            else:
                self.visit(kid, sure)

    def private_use(self, node: Node, written: bool) -> None:
        """Of memory that a private pointer leads to."""
        while node.kind == "member" and node.data["sign"] == ".":
            node = bare(node.kids[0])
        pointer = None
        if node.kind == "index" and not is_shared(node.type):
            pointer = bare(node.data["array"])
            if pointer.type.kind == "array":
                if pointer.kind != "ident":
                    self.private_use(pointer, written)
                return
        elif node.kind == "deref" or (node.kind == "member" and node.data["sign"] == "->"):
            pointer = bare(node.kids[0])
        if pointer is not None and not is_pointer_to_shared(pointer.type):
            self.pointers.append((self.root_pointer(pointer), written))

    @cached_property
    def given(self) -> set[int]:
        """Names that get another value, as ids of their symbols."""
        body = walk(self.affine.body)
        return {id(symbol_of(part.kids[0])) for part in body if part.kind == "assign" and part.data["sign"] == "="}

    def root_pointer(self, node: Node) -> Node | None:
        """A name that leads into the same object as this pointer; None where there is none to look at."""
        while True:
            node = bare(node)
            if node.kind == "binary" and node.data["sign"] in "+-":
                node = next((kid for kid in node.kids if kid.type.kind in ("pointer", "array")), node.kids[0])
            elif node.kind == "step" or (node.kind == "cast" and node.kids[0].type.kind in ("pointer", "array")):
                node = node.kids[0]
            elif node.kind == "ident":
                break
            else:
                return None
        symbol: Symbol | None = node.data["symbol"]
        if symbol is None or id(symbol) in self.affine.declared or node.type.kind not in ("pointer", "array"):
            return None
        if is_pointer_to_shared(node.type) or is_shared(node.type):
            return None
        if symbol.addressed or ((symbol.file_level or symbol.storage in ("static", "extern")) and self.affine.free):
            return node if node.type.kind == "array" else None
        return None if id(symbol) in self.given else node

    # -- accesses -----------------------------------------------------------------------------------------------------

    def access(self, node: Node, reads: bool, writes: bool, sure: bool) -> None:
        if self.is_strict(node):
            raise Reason("there is a strict access in it")
        found = Access(node, reads, writes, sure)
        self.accesses.append(found)
        self.inside(node, sure)
        element, part = element_of(node)
        of = element.type
        found.own = self.is_own(node)
        self.place(found, element)
        if found.why:
            return
        found.element = element
        if involves_shared(private(of)) or _has_pointers(of):
            found.why = "its elements are pointers to shared"
        elif (ultimate(of).qualifiers | ultimate(node.type).qualifiers) & {"volatile", "_Atomic"}:
            found.why = "it is volatile"
        elif writes and part:
            found.why = "a part of an element is written"
        elif writes and not sure:
            found.why = "it is not written in every iteration"

    def place(self, found: Access, element: Node) -> None:
        """Which element of what array or behind what pointer."""
        number: Sum | None = {}
        node = element
        if node.kind == "deref":
            node = bare(node.kids[0])
            if node.kind == "binary" and node.data["sign"] == "+":
                left, right = node.kids
                if not is_pointer_to_shared(left.type) and left.type.kind != "array":
                    left, right = right, left
                number, node = self.scaled(right, element.type), bare(left)
        while node.kind == "index" and (node is element or node.type.kind == "array"):
            more = self.scaled(node.data["number"], node.type)
            number = plus(number, more) if number is not None and more is not None else None
            node = bare(node.data["array"])
        symbol = symbol_of(node)
        if symbol is None or symbol.kind != "variable":
            found.why = "its pointer is not a variable"
            found.pointer = True
            return
        found.first = node
        if is_shared(node.type) and node is not element and node.type.kind != "array":
            found.why = "its pointer is itself in shared memory"
            found.pointer = True
            return
        if is_shared(node.type):
            elsewhere = symbol.file_level or symbol.storage == "extern"
            found.root = symbol.name if elsewhere else f"{symbol.name} {id(symbol)}"
            found.total = self.affine.elements(node.type)
        else:
            found.pointer = True
            found.root = f"* {id(symbol)}"
            if not self.affine.is_steady(node):
                found.why = "its pointer changes in the loop"
                return
        split = parts(number) if number is not None else None
        if split is None:
            found.why = "its index does not change by the same amount in every iteration"
            return
        found.by, found.rest = split

    def scaled(self, number: Node, of: Type) -> Sum | None:
        one, count = self.affine.sum_of(number), self.affine.elements(of)
        return None if one is None or count is None else product(one, count)


def _has_pointers(of: Type) -> bool:
    record = ultimate(of).record
    if record is None:
        return False
    return record.members is None or any(
        involves_shared(member) or is_pointer_to_shared(ultimate(member)) or _has_pointers(member)
        for _, member, _ in record.members
    )


def plan_of(reader: Reader, least: bool = True) -> Plan:
    """What is done with the accesses of a loop.

    Raises
    ------
    Reason
        If nothing is.
    """
    reader.read()
    accesses = reader.accesses
    if not any(not access.own for access in accesses):
        raise Reason("")
    if not any(not access.own and not access.why for access in accesses):
        raise Reason(next(access.why for access in accesses if not access.own))
    rows = _rows([access for access in accesses if not access.own and not access.why], reader.step)
    guards = _rows([access for access in accesses if access.own and not access.why], reader.step)
    others = [access for access in accesses if access.why]
    rows, others = _without_doubt(rows, guards, others)
    if not rows:
        raise Reason(next((access.why for access in others if not access.own and access.why), "nothing is left of it"))
    every = [*rows, *guards]
    pairs = []
    for i, one in enumerate(every):
        for k in range(i + 1, len(every)):
            other = every[k]
            if (i < len(rows) or k < len(rows)) and (one.writes or other.writes) and _may_meet(one.one, other.one):
                pairs.append((i, k, one.one.root == other.one.root))
    writes = any(row.writes for row in rows)
    pointers: list[Node] = []
    for pointer, written in reader.pointers:
        if not written and not writes:
            continue
        if pointer is None:
            raise Reason("it uses a private pointer that may lead to shared memory")
        if pointer.type.kind == "pointer" and all(symbol_of(pointer) is not symbol_of(known) for known in pointers):
            pointers.append(pointer)
    return Plan(rows, guards, pairs, pointers, others, reader.affine)


def _may_meet(one: Access, other: Access) -> bool:
    return one.pointer or other.pointer or one.root == other.root


def _rows(accesses: list[Access], step: int | None) -> list[Row]:
    rows: list[Row] = []
    for access in sorted(accesses, key=lambda access: not access.writes):
        for row in rows:
            shift = _shift(row, access, step)
            if shift is not None:
                row.accesses.append((access, shift))
                break
        else:
            rows.append(Row([(access, 0)], access.by, access.rest, not access.by))
    return rows


def _shift(row: Row, access: Access, step: int | None) -> int | None:
    """By how many iterations it is before the row."""
    if access.root != row.one.root or access.by != row.by:
        return None
    apart = plus(access.rest, row.rest, -1)
    if not apart:
        return 0
    if not is_constant(apart) or not is_constant(row.by) or step is None:
        return None
    each = value_of(row.by) * step
    if not each or value_of(apart) % each or abs(value_of(apart) // each) > _FAR_SHIFT:
        return None
    return value_of(apart) // each


def _without_doubt(rows: list[Row], guards: list[Row], others: list[Access]) -> tuple[list[Row], list[Access]]:
    """Rows that no access outside of rows can meet; the others stay as they are."""
    others = list(others)
    while True:
        for row in rows:
            why = _doubt(row, rows, others)
            if why:
                for access, _ in row.accesses:
                    access.why = why
                    others.append(access)
                rows = [kept for kept in rows if kept is not row]
                break
        else:
            return rows, others


def _doubt(row: Row, rows: list[Row], others: list[Access]) -> str:
    written = {shift for access, shift in row.accesses if access.writes}
    if len(written) > 1:
        return "several elements of it are written in an iteration"
    if written and (row.fixed or 0 not in written):
        return "all iterations write the same element"
    if not row.is_sure and (row.one.pointer or row.one.total is None):
        return "it is not used in every iteration, and its length is not known"
    for other in others:
        if (row.writes or other.writes) and _may_meet(row.one, other):
            if other.pointer or row.one.pointer:
                return "an access through a pointer to shared may be to the same elements"
            return "another access to the same array is not in blocks"
    return ""


__all__ = ["PURE", "Plan", "Reader", "Row", "changed_in", "constant", "plan_of", "writes_anywhere"]
