"""Formulas of curves: sums, differences, products and quotients of numbers and names, and the least or largest of some.

They come from machine files, which anybody may have written: nothing else is evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_CALLS: dict[str, Callable[..., float]] = {"min": min, "max": max}
#: Longer ones are none of ours, and deep ones would exhaust the stack.
_LONGEST = 200


def formula(text: str, numbers: Mapping[str, float]) -> Callable[[float], float] | None:
    """Return the function of one variable that a formula is: of the one name that is not among the numbers.

    None where the text is no such formula.

    Examples
    --------
    >>> formula("alone + search * length", {"alone": 1.0, "search": 0.5})(4)
    3.0
    """
    try:
        tree = ast.parse(text, mode="eval") if len(text) <= _LONGEST else None
    except (SyntaxError, ValueError):
        return None
    if tree is None:
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _CALLS.keys()
    free = names - numbers.keys()
    if len(free) != 1 or not _allowed(tree.body):
        return None
    variable = free.pop()
    return lambda x: _value(tree.body, {**numbers, variable: x})


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) in _OPERATORS and _allowed(node.left) and _allowed(node.right)
    if isinstance(node, ast.Call):
        known = isinstance(node.func, ast.Name) and node.func.id in _CALLS
        return known and len(node.args) > 1 and not node.keywords and all(map(_allowed, node.args))
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    return isinstance(node, ast.Name) and node.id not in _CALLS


def _value(node: Any, numbers: Mapping[str, float]) -> float:
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, numbers), _value(node.right, numbers)
        if isinstance(node.op, ast.Div) and right == 0:
            return float("nan")
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call):
        return _CALLS[node.func.id](*(_value(one, numbers) for one in node.args))  # type: ignore[attr-defined]
    if isinstance(node, ast.Name):
        return numbers[node.id]
    return float(node.value)
