"""Constants and what operators make of them."""

from __future__ import annotations

import re

from .tree import Node
from .types import DOUBLE, Type


def number_of(node: Node, word: str) -> Node:
    text = word.lower()
    hexadecimal = text.startswith("0x")
    if "." in text or (not hexadecimal and "e" in text) or (hexadecimal and "p" in text):
        node.type = Type("basic", "float") if text.endswith("f") and not hexadecimal else DOUBLE
        return node
    digits = text.rstrip("ul")
    suffix = text[len(digits) :]
    try:
        node.constant = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    except ValueError:
        return node
    long = "l" in suffix or node.constant > 0x7FFFFFFF
    node.type = Type("basic", ("unsigned " if "u" in suffix else "") + ("long" if long else "int"))
    return node


def folded(sign: str, left: Node, right: Node) -> tuple[int | None, int]:
    one, other = left.constant, right.constant
    if one is None or other is None:
        return None, 0
    if left.threads or right.threads:
        if sign == "*":
            return one * other, left.threads + right.threads
        if sign == "/" and not right.threads and other and one % other == 0:
            return one // other, left.threads
        if sign in "+-" and left.threads == right.threads == 1:
            return (one + other if sign == "+" else one - other), 1
        return None, 0
    try:
        if sign in ("/", "%"):
            if other == 0:
                return None, 0
            quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
            return (quotient if sign == "/" else one - quotient * other), 0
        return {
            "+": lambda: one + other, "-": lambda: one - other, "*": lambda: one * other,
            "<<": lambda: one << other, ">>": lambda: one >> other, "&": lambda: one & other,
            "|": lambda: one | other, "^": lambda: one ^ other, "==": lambda: int(one == other),
            "!=": lambda: int(one != other), "<": lambda: int(one < other), ">": lambda: int(one > other),
            "<=": lambda: int(one <= other), ">=": lambda: int(one >= other),
            "&&": lambda: int(bool(one and other)), "||": lambda: int(bool(one or other)),
        }[sign](), 0  # fmt: skip
    except (KeyError, ValueError):
        return None, 0
