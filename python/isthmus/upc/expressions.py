"""Expressions: they are read and typed, and what UPC forbids is refused."""

from __future__ import annotations

import re
from typing import Any

from .constants import folded, number_of
from .layout import size_of
from .reader import Reader
from .tree import Node
from .types import (
    CHAR,
    INT,
    LONG,
    SIZE,
    UNKNOWN,
    VOID,
    Shared,
    Type,
    arithmetic,
    block_of,
    decayed,
    is_pointer_to_shared,
    is_shared,
    pointer_to,
    private,
    share,
    ultimate,
)

_BINARY = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_ASSIGN = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63}
_FUNCTIONS = {"__builtin_alloca": pointer_to(VOID), "alloca": pointer_to(VOID)}
#: Operators of UPC for the size of an object or a type.
SIZES = ("upc_localsizeof", "upc_blocksizeof", "upc_elemsizeof")


class Expressions(Reader):
    # The other parts of the parser.
    def type_name(self) -> Type:
        raise NotImplementedError

    def initializer_list(self, of: Type, static: bool) -> Node:
        raise NotImplementedError

    def block(self, own_scope: bool = True) -> Node:
        raise NotImplementedError

    # -- by precedence ------------------------------------------------------------------------------------------------

    def expression(self) -> Node:
        start = self.at
        node = self.assignment()
        while self.accept(","):
            right = self.assignment()
            node = self.node("comma", start, [node, right], decayed(right.type))
        return node

    def assignment(self) -> Node:
        start = self.at
        node = self.conditional()
        if self.word in _ASSIGN and self.kind == "sign":
            sign, at = self.word, self.at
            self.at += 1
            right = self.assignment()
            self.check_writable(node, at)
            if sign == "=":
                right = self.convert(right, node.type)
            elif is_pointer_to_shared(node.type):
                if sign not in ("+=", "-="):
                    self.fail(f"{sign!r} is not for pointers to shared", at)
                self.check_arithmetic(node.type, at)
            elif is_pointer_to_shared(decayed(right.type)):
                self.fail(f"{sign!r} with a pointer to shared on its right", at)
            node = self.node("assign", start, [node, right], private(node.type), sign=sign)
        return node

    def check_writable(self, node: Node, at: int) -> None:
        if is_shared(node.type):
            if not node.lvalue:
                self.fail("this part of a shared object is not assigned to: read it whole, and write it whole", at)
            if node.type.kind == "array":
                self.fail("an array cannot be assigned to", at)
            if "const" in node.type.qualifiers:
                self.fail("this is const", at)
            if node.type.kind == "void":
                self.fail("shared void has no value", at)

    def conditional(self) -> Node:
        start = self.at
        node = self.binary(0)
        if self.word == "?" and self.kind == "sign":
            at = self.at
            self.at += 1
            middle = None if self.word == ":" else self.expression()
            self.expect(":")
            right = self.conditional()
            test = self.truth(node)
            if middle is None:
                if is_pointer_to_shared(decayed(node.type)):
                    self.fail("?: without a middle operand is not for pointers to shared", at)
                return self.node("cond", start, [test, right], decayed(node.type))
            of = self.common(middle, right, at)
            if is_pointer_to_shared(of):
                middle, right = self.convert(middle, of), self.convert(right, of)
            result = self.node("cond", start, [test, middle, right], of)
            if node.constant is not None and not node.threads:
                chosen = middle if node.constant else right
                result.constant, result.threads = chosen.constant, chosen.threads
            return result
        return node

    def common(self, left: Node, right: Node, at: int) -> Type:
        one, other = decayed(left.type), decayed(right.type)
        if is_pointer_to_shared(one) or is_pointer_to_shared(other):
            if not is_pointer_to_shared(one):
                return other
            if not is_pointer_to_shared(other):
                return one
            if ultimate(one.target).kind == "void":
                return one
            if ultimate(other.target).kind == "void":
                return other
            if block_of(one.target) != block_of(other.target):
                self.fail("pointers to shared with different block sizes need a cast", at)
            return one
        if one.kind == "pointer":
            return other if one.target.kind == "void" and other.kind == "pointer" and self.is_null(left) else one
        if other.kind == "pointer" or one.kind in ("record", "void", "enum"):
            return other if other.kind != "basic" or one.kind == "void" else one
        return arithmetic(one, other)

    def binary(self, least: int) -> Node:
        start = self.at
        left = self.cast()
        while self.kind == "sign":
            sign = self.word
            precedence = _BINARY.get(sign)
            if precedence is None or precedence <= least:
                break
            at = self.at
            self.at += 1
            right = self.binary(precedence)
            left = self.combined(sign, start, left, right, at)
        return left

    def combined(self, sign: str, start: int, left: Node, right: Node, at: int) -> Node:
        one, other = decayed(left.type), decayed(right.type)
        of = INT
        if sign in ("&&", "||"):
            left, right = self.truth(left), self.truth(right)
        elif is_pointer_to_shared(one) or is_pointer_to_shared(other):
            return self.combined_shared(sign, start, left, right, at)
        elif sign in ("<<", ">>"):
            of = one
        elif sign in "+-" and (one.kind == "pointer" or other.kind == "pointer"):
            of = LONG if one.kind == other.kind else one if one.kind == "pointer" else other
        elif sign in ("+", "-", "*", "/", "%", "&", "|", "^"):
            of = arithmetic(one, other)
        node = self.node("binary", start, [left, right], of, sign=sign)
        node.constant, node.threads = folded(sign, left, right)
        return node

    def combined_shared(self, sign: str, start: int, left: Node, right: Node, at: int) -> Node:
        one, other = decayed(left.type), decayed(right.type)
        both = is_pointer_to_shared(one) and is_pointer_to_shared(other)
        if sign in ("==", "!=", "<", ">", "<=", ">="):
            if not both:
                pointer, value = (one, right) if is_pointer_to_shared(one) else (other, left)
                if sign not in ("==", "!=") or not self.is_null(value):
                    self.fail(f"{sign!r} of a pointer to shared and of something else, which needs a cast", at)
                if value is right:
                    right = self.convert(right, pointer)
                else:
                    left = self.convert(left, pointer)
            elif not self.compatible(one, other):
                self.fail("pointers to shared with different block sizes need a cast", at)
            elif sign not in ("==", "!=") and "void" in (ultimate(one.target).kind, ultimate(other.target).kind):
                self.fail(f"{sign!r} of pointers to shared void", at)
            return self.node("binary", start, [left, right], INT, sign=sign)
        if sign == "-" and both:
            if not self.compatible(one, other):
                self.fail("pointers to shared with different block sizes need a cast", at)
            self.check_arithmetic(one, at)
            self.check_arithmetic(other, at)
            return self.node("binary", start, [left, right], LONG, sign=sign)
        if (sign == "+" and not both) or (sign == "-" and is_pointer_to_shared(one) and not both):
            pointer = one if is_pointer_to_shared(one) else other
            number = other if pointer is one else one
            if number.kind in ("pointer", "record", "void") or "double" in number.name or "float" in number.name:
                self.fail(f"{sign!r} of a pointer to shared and of what is not an integer", at)
            self.check_arithmetic(pointer, at)
            return self.node("binary", start, [left, right], pointer, sign=sign)
        self.fail(f"{sign!r} is not for pointers to shared", at)
        return None

    def check_arithmetic(self, of: Type, at: int) -> None:
        if ultimate(of.target).kind == "void":
            self.fail("arithmetic with a pointer to shared void", at)
        record = ultimate(of.target).record
        if record is not None and record.members is None:
            self.fail("arithmetic with a pointer to shared memory of an incomplete type", at)

    def compatible(self, one: Type, other: Type) -> bool:
        if "void" in (ultimate(one.target).kind, ultimate(other.target).kind):
            return True
        return block_of(one.target) == block_of(other.target)

    # -- conversions --------------------------------------------------------------------------------------------------

    def is_null(self, node: Node) -> bool:
        while node.kind == "paren" or (
            node.kind == "cast" and node.type.kind == "pointer" and node.type.target.kind == "void"
        ):
            node = node.kids[-1]
        return node.constant == 0 and not node.threads and node.type.kind in ("basic", "unknown", "enum")

    def truth(self, node: Node) -> Node:
        """As a condition."""
        if not is_pointer_to_shared(decayed(node.type)):
            return node
        return Node("truth", node.start, node.end, [node], INT)

    def convert(self, node: Node, of: Type) -> Node:
        """As the value of something of this type."""
        source, of = decayed(node.type), private(of)
        if is_pointer_to_shared(of):
            if is_pointer_to_shared(source):
                if not self.compatible(source, of):
                    self.fail(
                        f"a pointer to shared with block size {_named(block_of(source.target))} becomes one with "
                        f"block size {_named(block_of(of.target))}: this needs a cast",
                        node.start,
                    )
            elif not self.is_null(node):
                if source.kind == "unknown":
                    self.check_declared(node)
                    return node
                self.fail(
                    "a pointer to shared is made of something else: this needs a cast, of 0 or of a pointer to shared",
                    node.start,
                )
            return Node("convert", node.start, node.end, [node], of)
        if is_pointer_to_shared(source) and of.kind != "unknown":
            if of.name == "_Bool":
                return self.truth(node)
            self.fail(
                "a pointer to shared becomes something else: this needs a cast"
                + (", which is for memory of this thread" if of.kind == "pointer" else ""),
                node.start,
            )
        return node

    def check_declared(self, node: Node) -> None:
        """What C takes for a function that returns int must not become a pointer to shared."""
        while node.kind == "paren":
            node = node.kids[0]
        called = node.kids[0] if node.kind == "call" else node
        if called.kind == "ident" and called.data["symbol"] is None:
            self.fail(f"{self.tokens[called.start].text!r} is not declared", called.start)

    # -- unary --------------------------------------------------------------------------------------------------------

    def cast(self) -> Node:
        start = self.at
        if self.word == "(" and self.kind == "sign" and self.is_type_name(self.at + 1):
            self.at += 1
            of = self.type_name()
            self.expect(")")
            if self.word == "{" and self.kind == "sign":
                inner = self.initializer_list(of, False)
                node = self.node("compound", start, [inner], of, of=of)
                node.lvalue = True
                return self.postfix_of(start, node)
            kid = self.cast()
            source = decayed(kid.type)
            if is_pointer_to_shared(of) and source.kind == "unknown":
                self.check_declared(kid)
            if is_shared(of):
                self.fail("a cast to a shared type: a value is not shared", start)
            if (
                is_pointer_to_shared(of)
                and not is_pointer_to_shared(source)
                and source.kind == "pointer"
                and not self.is_null(kid)
            ):
                self.fail("a pointer to memory of this thread cannot become a pointer to shared", start)
            node = self.node("cast", start, [kid], of)
            if of.kind in ("basic", "enum") and kid.constant is not None:
                node.constant, node.threads = kid.constant, kid.threads
                if (
                    "char" in of.name
                    or "short" in of.name
                    or "_Bool" in of.name
                    or "double" in of.name
                    or "float" in of.name
                ):
                    small = size_of(of)
                    if small and not 0 <= kid.constant < 2 ** (8 * small[0] - 1):
                        node.constant = None
            return node
        return self.unary()

    def unary(self) -> Node:
        start = self.at
        word = self.word
        if self.kind == "sign":
            if word in ("++", "--"):
                self.at += 1
                kid = self.unary()
                self.check_step(kid, start)
                return self.node("step", start, [kid], private(kid.type), sign=word, before=True)
            if word in ("&", "*", "+", "-", "~", "!"):
                self.at += 1
                return self.unary_sign(word, start, self.cast())
            if word == "&&":  # the address of a label
                self.at += 2
                return self.node("const", start, [], pointer_to(VOID))
        elif word in ("sizeof", "_Alignof", *SIZES) and self.kind == "name":
            return self.size(word, start)
        elif word in ("__extension__", "__real__", "__imag__"):
            self.at += 1
            kid = self.cast()
            return self.node("prefix", start, [kid], kid.type)
        return self.postfix_of(start, self.primary())

    def check_step(self, kid: Node, at: int) -> None:
        self.check_writable(kid, at)
        if is_pointer_to_shared(kid.type):
            self.check_arithmetic(kid.type, at)

    def unary_sign(self, word: str, start: int, kid: Node) -> Node:
        of = decayed(kid.type)
        if word == "&":
            inner = kid
            while inner.kind == "paren":
                inner = inner.kids[0]
            if inner.kind == "ident" and inner.data["symbol"]:
                inner.data["symbol"].addressed = True
            if is_shared(kid.type) and inner.data.get("bits"):
                self.fail("a bit-field has no address", start)
            return self.node("address", start, [kid], pointer_to(kid.type))
        if word == "*":
            target = of.target if of.kind == "pointer" else UNKNOWN
            node = self.node("deref", start, [kid], target)
            node.lvalue = True
            return node
        if word == "!":
            node = self.node("not", start, [self.truth(kid)], INT)
            if kid.constant is not None and not kid.threads:
                node.constant = int(not kid.constant)
            return node
        if is_pointer_to_shared(of):
            self.fail(f"{word!r} is not for pointers to shared", start)
        node = self.node("unary", start, [kid], arithmetic(of, INT) if of.kind == "basic" else of, sign=word)
        if kid.constant is not None and not kid.threads:
            node.constant = {"-": -kid.constant, "+": kid.constant, "~": ~kid.constant}[word]
        return node

    def size(self, word: str, start: int) -> Node:
        self.at += 1
        kids: list[Node] = []
        if self.word == "(" and self.is_type_name(self.at + 1):
            self.at += 1
            of = self.type_name()
            self.expect(")")
            if self.word == "{":
                kids = [self.initializer_list(of, False)]
        else:
            kid = self.unary()
            of, kids = kid.type, [kid]
        if word in SIZES and not is_shared(of):
            self.fail(f"{word} is for shared types and objects", start)
        element = ultimate(of)
        if is_shared(of) and (
            element.kind == "void" or (element.record is not None and element.record.members is None)
        ):
            self.fail(f"{word} of an incomplete type", start)
        node = self.node("sizeof", start, kids, SIZE, word=word, of=of)
        found = size_of(ultimate(of) if word == "upc_elemsizeof" else of)
        if word in ("sizeof", "upc_elemsizeof") and found:
            node.constant = found[0]
        elif word == "upc_blocksizeof":
            node.constant = block_of(of)
        return node

    def primary(self) -> Node:
        start, kind, word = self.at, self.kind, self.word
        if kind == "name":
            return self.name(start, word)
        if kind == "number":
            self.at += 1
            return number_of(self.node("const", start, [], INT), word)
        if kind == "character":
            self.at += 1
            node = self.node("const", start, [], INT)
            body = word[word.index("'") + 1 : -1]
            if len(body) == 1:
                node.constant = ord(body)
            elif re.fullmatch(r"\\[0-7]{1,3}", body):
                node.constant = int(body[1:], 8)
            elif re.fullmatch(r"\\x[0-9a-fA-F]+", body):
                node.constant = int(body[2:], 16)
            elif len(body) == 2:
                node.constant = _ESCAPES.get(body[1])
            return node
        if kind == "string":
            while self.kind == "string" or self.word in ("__func__",):
                self.at += 1
            return self.node("string", start, [], pointer_to(CHAR))
        if self.accept("("):
            if self.word == "{":
                before = self.foralls
                kid = self.block()
                self.foralls = before
                self.expect(")")
                last = (
                    kid.kids[-1].kids[0]
                    if kid.kids and kid.kids[-1].kind == "expression" and kid.kids[-1].kids
                    else None
                )
                return self.node("statement_expression", start, [kid], decayed(last.type) if last else VOID)
            kid = self.expression()
            self.expect(")")
            node = self.node("paren", start, [kid], kid.type)
            node.constant, node.threads, node.lvalue = kid.constant, kid.threads, kid.lvalue
            return node
        self.fail(f"{self.shown()} where an expression was expected")
        return None

    def name(self, start: int, word: str) -> Node:
        self.at += 1
        if word == "THREADS":
            node = self.node("threads", start, [], INT)
            node.constant, node.threads = (self.threads, 0) if self.threads else (1, 1)
            return node
        if word == "MYTHREAD":
            return self.node("mythread", start, [], INT)
        if word == "__builtin_offsetof":
            self.expect("(")
            of = self.type_name()
            self.expect(",")
            while not self.accept(")"):
                if self.word == "(":
                    self.skip_parentheses()
                else:
                    self.at += 1
            return self.node("offsetof", start, [], SIZE, of=of)
        if word == "__builtin_va_arg":
            self.expect("(")
            list_of = self.assignment()
            self.expect(",")
            of = self.type_name()
            self.expect(")")
            return self.node("va_arg", start, [list_of], of, of=of)
        if word == "__builtin_types_compatible_p":
            self.skip_parentheses()
            return self.node("const", start, [], INT)
        if word == "_Generic":
            self.skip_parentheses()
            return self.node("const", start, [], UNKNOWN)
        symbol = self.scope.find(word)
        node = self.node("ident", start, [], symbol.type if symbol else _FUNCTIONS.get(word, UNKNOWN), symbol=symbol)
        if symbol is not None:
            if symbol.kind == "typedef":
                self.fail(f"{word!r} is a type where an expression was expected", start)
            if symbol.kind == "constant":
                node.constant = symbol.value
            node.lvalue = symbol.kind == "variable"
        return node

    def postfix_of(self, start: int, node: Node) -> Node:
        while self.kind == "sign":
            word, at = self.word, self.at
            if word == "[":
                self.at += 1
                index = self.expression()
                self.expect("]")
                array, number = node, index
                if decayed(node.type).kind != "pointer" and decayed(index.type).kind == "pointer":
                    array, number = index, node
                of = decayed(array.type)
                if is_pointer_to_shared(of):
                    self.check_arithmetic(of, at)
                    if decayed(number.type).kind in ("pointer", "record"):
                        self.fail("the index is not an integer", at)
                node = self.node(
                    "index",
                    start,
                    [node, index],
                    of.target if of.kind == "pointer" else UNKNOWN,
                    array=array,
                    number=number,
                )
                node.lvalue = True
            elif word == "(":
                node = self.call(start, node)
            elif word in (".", "->"):
                self.at += 1
                name = self.tokens[self.at].text
                node = self.member(start, node, word, name)
            elif word in ("++", "--"):
                self.at += 1
                self.check_step(node, at)
                node = self.node("step", start, [node], private(node.type), sign=word, before=False)
            else:
                break
        return node

    def call(self, start: int, function: Node) -> Node:
        self.at += 1
        of = decayed(function.type)
        signature = of.target if of.kind == "pointer" and of.target.kind == "function" else None
        arguments: list[Node] = []
        while not self.accept(")"):
            argument = self.assignment()
            parameters = signature.parameters if signature else None
            if parameters is not None and len(arguments) < len(parameters):
                argument = self.convert(argument, parameters[len(arguments)][1])
            arguments.append(argument)
            if not self.accept(","):
                self.expect(")")
                break
        result = signature.target if signature else UNKNOWN
        if function.kind == "ident" and not signature:
            result = _FUNCTIONS.get(self.words[start], UNKNOWN)
        return self.node("call", start, [function, *arguments], result)

    def member_of(self, of: Type, name: str, at: int) -> Type:
        found = self.look_for_member(of, name)
        if found is None:
            if of.kind == "unknown" or of.record is None:
                return UNKNOWN
            self.fail(f"{of.record.word} {of.record.tag} has no member {name!r}", at)
        return found[0]

    def look_for_member(self, of: Type, name: str) -> tuple[Type, bool] | None:
        record = of.record
        for known, member, bits in (record.members or []) if record else []:
            if known == name:
                return member, bits
            if not known:
                inner = self.look_for_member(member, name)
                if inner:
                    return inner
        return None

    def member(self, start: int, node: Node, word: str, name: str) -> Node:
        at = self.at
        self.at += 1
        base: Any = node.type
        if word == "->":
            base = decayed(node.type)
            base = base.target if base.kind == "pointer" else UNKNOWN
        of = self.member_of(base, name, at)
        found = self.look_for_member(base, name)
        if base.shared is not None:
            # Members lie together: those that are arrays are on one thread as a whole.
            of = share(of, Shared(0, base.shared.strict))
            if "const" in base.qualifiers:
                of = Type(
                    of.kind,
                    of.name,
                    of.of,
                    of.dimension,
                    of.parameters,
                    of.variadic,
                    of.record,
                    of.qualifiers | {"const"},
                    of.shared,
                )
        result = self.node("member", start, [node], of, sign=word, name=name, bits=bool(found and found[1]), base=base)
        result.lvalue = True
        return result


def _named(block: int) -> str:
    return "[]" if block == 0 else str(block)
