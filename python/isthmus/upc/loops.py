"""What is known of loops: their counters, what stays the same in them, and which elements an iteration deals with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .layout import size_of
from .tree import Node, Symbol
from .types import Type, block_of, is_shared, private


@dataclass
class Deal:
    """A upc_forall whose own iterations can be counted out: index ``counter + shift``, dealt out in blocks."""

    counter: Symbol
    start: Node
    bound: Node
    sign: str  #: of the test: <, <=, >, >=
    step: int
    shift: int
    block: int  #: in elements of the outermost dimension
    declared: bool  #: whether the counter belongs to the loop


class Reason(Exception):
    """Why a loop is left as it is."""


def bare(node: Node) -> Node:
    while node.kind in ("paren", "truth", "convert"):
        node = node.kids[0]
    return node


def walk(node: Node) -> Iterator[Node]:
    yield node
    for kid in node.kids:
        yield from walk(kid)


def symbol_of(node: Node) -> Symbol | None:
    node = bare(node)
    if node.kind != "ident":
        return None
    symbol: Symbol | None = node.data["symbol"]
    return symbol


def changed_in(node: Node) -> set[int]:
    """Names that are assigned to or whose address is taken, as ids of their symbols."""
    found = set()
    for part in walk(node):
        if part.kind in ("assign", "step", "address"):
            left = bare(part.kids[0])
            while left.kind in ("member", "index"):
                left = bare(left.kids[0])
            symbol = symbol_of(left)
            if symbol is not None:
                found.add(id(symbol))
    return found


def writes_anywhere(node: Node, pure: frozenset[str] = frozenset()) -> bool:
    """Whether it calls functions or writes through pointers, so that variables outside of functions may change.

    Functions of ``pure`` change nothing."""
    for part in walk(node):
        if part.kind in ("call", "asm", "statement_expression") and not is_call_of(part, pure):
            return True
        if part.kind in ("assign", "step") and not is_shared(part.kids[0].type):
            left = bare(part.kids[0])
            while left.kind == "member" or (left.kind == "index" and left.data["array"].type.kind == "array"):
                left = bare(left.kids[0])
            if left.kind != "ident":
                return True
    return False


def is_call_of(node: Node, names: frozenset[str]) -> bool:
    """Whether it calls one of these functions, which are not variables or of this file."""
    if node.kind != "call" or node.kids[0].kind != "ident":
        return False
    symbol: Symbol | None = node.kids[0].data["symbol"]
    return symbol is not None and symbol.kind == "function" and symbol.name in names


def is_integer(of: Type) -> bool:
    size = size_of(of)
    return (
        of.kind == "basic"
        and not {"double", "float", "char", "_Bool", "short", "_Complex"} & set(of.name.split())
        and size is not None
        and size[0] in (4, 8)
    )


def is_unsigned(of: Type) -> bool:
    return "unsigned" in of.name.split()


def is_steady(node: Node, body: Node, changed: set[int], free: bool) -> bool:
    """Whether a number stays the same while the body runs; ``free``: the body may write to what others name."""
    node = bare(node)
    if node.kind in ("const", "threads", "mythread", "sizeof"):
        return True
    if node.kind == "ident":
        symbol = symbol_of(node)
        if symbol is None or is_shared(node.type) or "volatile" in node.type.qualifiers or id(symbol) in changed:
            return False
        if symbol.kind == "constant":
            return True
        local = not symbol.file_level and symbol.storage not in ("static", "extern") and not symbol.addressed
        return symbol.kind == "variable" and (local or not free)
    if node.kind in ("binary", "unary", "cast") and not is_shared(node.type):
        return all(is_steady(kid, body, changed, free) for kid in node.kids)
    return False


def shift_of(node: Node, counter: Symbol) -> int | None:
    """``c`` of ``counter + c``."""
    node = bare(node)
    if symbol_of(node) is counter:
        return 0
    if node.kind == "binary" and node.data["sign"] in "+-":
        left, right = node.kids
        inner, number = (left, right) if right.constant is not None and not right.threads else (right, left)
        if number.constant is None or number.threads or abs(number.constant) > 1 << 30:
            return None
        if node.data["sign"] == "-" and inner is right:
            return None
        shift = shift_of(inner, counter)
        if shift is None:
            return None
        return shift + (number.constant if node.data["sign"] == "+" else -number.constant)
    return None


def outermost(node: Node) -> tuple[Node, Node, list[Node]] | None:
    """Of ``a[i][j]``: the name of the array, the first index, and the others."""
    indices: list[Node] = []
    node = bare(node)
    while node.kind == "index":
        indices.append(node.data["number"])
        node = bare(node.data["array"])
    if not indices or node.kind != "ident" or node.type.kind != "array" or not is_shared(node.type):
        return None
    return node, indices[-1], indices[-2::-1]


def rows(of: Type) -> int | None:
    """The block size of a shared array in elements of its outermost dimension, where that is a whole number."""
    inner, block = 1, block_of(of)
    look = of.target
    while look.kind == "array":
        if look.dimension is None or look.dimension.value is None or look.dimension.threads:
            return None
        inner *= look.dimension.value
        look = look.target
    return block // inner if block > 0 and inner > 0 and block % inner == 0 else None


def _affinity(node: Node, counter: Symbol) -> tuple[int, int]:
    """Shift and block size."""
    node = bare(node)
    if node.kind == "address":
        node = bare(node.kids[0])
        while node.kind == "member" and node.data["sign"] == ".":
            node = bare(node.kids[0])
    elif node.kind == "binary" and node.type.kind == "pointer" and node.data["sign"] == "+":
        array, number = bare(node.kids[0]), node.kids[1]
        if array.kind == "ident" and array.type.kind == "array" and is_shared(array.type):
            return _of_array(array.type, number, counter)
    elif node.type.kind != "array":
        if node.kind == "binary" and node.data["sign"] == "%" and bare(node.kids[1]).kind == "threads":
            node = bare(node.kids[0])
        shift = shift_of(node, counter)
        if shift is None:
            raise Reason("the affinity is not the counter, or the place of an element of an array at the counter")
        return shift, 1
    found = outermost(node)
    if found is None:
        raise Reason("the affinity is not the place of an element of an array")
    array, first, others = found
    look = array.type.target
    for other in others:
        size = look.dimension.value if look.kind == "array" and look.dimension is not None else None
        if other.constant is None or other.threads or size is None or not 0 <= other.constant < size:
            raise Reason("the affinity has an inner index that is not a constant")
        look = look.target
    return _of_array(array.type, first, counter)


def _of_array(of: Type, first: Node, counter: Symbol) -> tuple[int, int]:
    block, shift = rows(of), shift_of(first, counter)
    if shift is None:
        raise Reason("the index of the affinity is not the counter plus a constant")
    if block is None:
        raise Reason("blocks of the array of the affinity do not begin where its rows begin")
    return shift, block


def _counter(node: Node) -> tuple[Symbol, Node, bool]:
    declaration, init = node.data["declaration"], node.data["init"]
    if declaration is not None:
        parts = declaration.data["list"]
        if len(parts) == 1 and parts[0].data.get("init") is not None and not declaration.data["specifiers"].storage:
            return parts[0].data["symbol"], parts[0].data["init"], True
    elif init is not None and bare(init).kind == "assign" and bare(init).data["sign"] == "=":
        left, right = bare(init).kids
        symbol = symbol_of(left)
        if symbol is not None and symbol.kind == "variable":
            return symbol, right, False
    raise Reason("it does not begin with one counter that is given a value")


def step_of(node: Node | None, counter: Symbol) -> int | None:
    if node is None:
        return None
    node = bare(node)
    if node.kind not in ("step", "assign") or symbol_of(node.kids[0]) is not counter:
        return None
    sign = node.data["sign"]
    if node.kind == "step":
        return 1 if sign == "++" else -1
    right = node.kids[1]
    if sign == "=":
        return shift_of(right, counter)
    if sign not in ("+=", "-=") or right.constant is None or right.threads:
        return None
    return right.constant if sign == "+=" else -right.constant


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def test_of(node: Node | None, counter: Symbol) -> tuple[str, Node] | None:
    """Sign and bound of ``counter < bound``."""
    if node is None:
        return None
    node = bare(node)
    if node.kind != "binary" or node.data["sign"] not in _TURNED:
        return None
    left, right = node.kids
    if symbol_of(left) is counter:
        return node.data["sign"], right
    if symbol_of(right) is counter:
        return _TURNED[node.data["sign"]], left
    return None


def leaves(node: Node) -> bool:
    """Whether a ``break`` in it leaves the loop that it is the body of."""
    if node.kind == "jump":
        return bool(node.data.get("word") == "break")
    if node.kind in ("for", "while", "do", "switch", "forall"):
        return False
    return any(leaves(kid) for kid in node.kids)


def counting(
    counter: Symbol, test: Node | None, step: Node | None, body: Node, pure: frozenset[str] = frozenset()
) -> tuple[str, Node, int, set[int]]:
    """Of a loop that counts: sign of the test, bound, step, and the names that its body changes.

    Raises
    ------
    Reason
        If it does not count by a constant towards a bound that stays the same.
    """
    if not is_integer(private(counter.type)) or "volatile" in counter.type.qualifiers:
        raise Reason("the counter is not an int or a long")
    if counter.file_level or counter.storage in ("static", "extern") or counter.addressed:
        raise Reason("the counter can be changed from elsewhere")
    tested = test_of(test, counter)
    if tested is None:
        raise Reason("the test does not compare the counter with a bound")
    sign, bound = tested
    by = step_of(step, counter)
    if not by or abs(by) > 1 << 30 or (by > 0) != (sign in ("<", "<=")):
        raise Reason("the step is not a constant towards the bound")
    changed = changed_in(body)
    if id(counter) in changed:
        raise Reason("the body changes the counter")
    if not is_integer(private(bound.type)) or not is_steady(
        bound, body, changed | {id(counter)}, writes_anywhere(body, pure)
    ):
        raise Reason("the bound is not an integer that stays the same")
    return sign, bound, by, changed


def deal_of(node: Node) -> Deal:
    """How the iterations of a upc_forall are dealt out.

    Raises
    ------
    Reason
        If they have to be tested one by one.
    """
    counter, start, declared = _counter(node)
    body = node.data["body"]
    of = private(counter.type)
    sign, bound, step, _ = counting(counter, node.data["test"], node.data["step"], body)
    shift, block = _affinity(node.data["affinity"], counter)
    check_range(of, start, bound, step, node.data["affinity"])
    if step < 0 and block > 1:
        raise Reason("it goes down over blocks")
    for part in walk(body):
        if part.kind in ("label", "goto", "asm") or (part.kind == "declaration" and part.data["specifiers"].storage):
            raise Reason("its body has labels or static variables")
    if leaves(body):
        raise Reason("it is left by break")
    return Deal(counter, start, bound, sign, step, shift, block, declared)


def check_range(of: Type, start: Node | None, bound: Node, step: int, affinity: Node | None) -> None:
    """Signed and unsigned numbers are compared as C does."""
    one, other = is_unsigned(of), is_unsigned(private(bound.type))
    fixed = bound.constant is not None and bound.constant >= 0
    right = one == other
    if one and not other:
        right = fixed
    elif other and not one:
        right = start is not None and start.constant is not None and not start.threads and start.constant >= 0
    wide = size_of(private(bound.type)) == (8, 8) and other and not fixed
    counted = affinity is not None and affinity.type.kind == "basic"
    if not right or ((one or other) and step < 0) or (wide and counted):
        raise Reason("it compares signed with unsigned numbers, or goes down to an unsigned one")


def is_counted(test: Node | None, step: Node | None, body: Node) -> bool:
    """Whether a loop ends by counting, and not when somebody else writes to memory."""
    if test is None or step is None:
        return False
    look = bare(test)
    if look.kind != "binary" or look.data["sign"] not in _TURNED:
        return False
    if any(is_shared(part.type) or part.kind == "call" for part in [*walk(test), *walk(step)]):
        return False
    changed = changed_in(body)
    for side in look.kids:
        counter = symbol_of(side)
        if counter is not None and id(counter) not in changed and step_of(step, counter):
            return True
    return False
