"""Statements of C and of UPC."""

from __future__ import annotations

from .parse_declarations import Declarations
from .tree import Node
from .types import INT, UNKNOWN, VOID, decayed, is_pointer_to_shared

_UPC = ("upc_barrier", "upc_notify", "upc_wait", "upc_fence")


class Statements(Declarations):
    def block(self, own_scope: bool = True) -> Node:
        start = self.at
        self.expect("{")
        strict = self.strict
        if own_scope:
            self.scope.push()
        kids: list[Node] = []
        while not self.accept("}"):
            if self.kind == "end":
                self.fail("this block is not closed", start)
            kids.append(self.statement())
        if own_scope:
            self.scope.pop()
        self.strict = strict
        return self.node("block", start, kids, VOID)

    def pragma(self) -> Node:
        start = self.at
        words = self.tokens[self.at].text.replace("#", " ").split()
        if words[1:3] in (["upc", "strict"], ["upc", "relaxed"]):
            self.strict = words[2] == "strict"
        self.at += 1
        return self.node("pragma", start, [], VOID, upc=words[1:2] == ["upc"])

    def statement(self) -> Node:
        start, word = self.at, self.word
        if self.kind == "pragma":
            return self.pragma()
        if word == "{" and self.kind == "sign":
            return self.block()
        if self.kind == "name":
            if word in _UPC:
                return self.synchronisation(word)
            if word == "upc_forall":
                return self.forall()
            method = getattr(self, f"statement_{word}", None)
            if method is not None and word in _STATEMENTS:
                found: Node = method()
                return found
            if self.ahead() == ":" and self.tokens[self.at + 1].kind == "sign" and word not in ("default",):
                self.at += 2
                self.skip_attributes()
                if self.word == "}":
                    return self.node("label", start, [], VOID)
                return self.node("label", start, [self.statement()], VOID)
            if word in ("break", "continue"):
                self.at += 1
                self.expect(";")
                return self.node("jump", start, [], VOID, word=word)
            if word == "default":
                self.at += 1
                self.expect(":")
                return self.node("label", start, [] if self.word == "}" else [self.statement()], VOID)
            if word == "asm":
                self.skip_attributes()
                self.expect(";")
                return self.node("asm", start, [], VOID)
            if (self.is_type_name() and word != "__extension__") or word == "_Static_assert":
                return self.declaration()
        if self.accept(";"):
            return self.node("empty", start, [], VOID)
        kid = self.expression()
        self.expect(";")
        return self.node("expression", start, [kid], VOID)

    def condition(self) -> Node:
        self.expect("(")
        kid = self.truth(self.expression())
        self.expect(")")
        return kid

    def statement_if(self) -> Node:
        start = self.at
        self.at += 1
        kids = [self.condition(), self.statement()]
        if self.accept("else"):
            kids.append(self.statement())
        return self.node("if", start, kids, VOID)

    def statement_while(self) -> Node:
        start = self.at
        self.at += 1
        kids = [self.condition(), self.statement()]
        return self.node("while", start, kids, VOID, body=kids[1])

    def statement_do(self) -> Node:
        start = self.at
        self.at += 1
        body = self.statement()
        self.expect("while")
        kids = [body, self.condition()]
        self.expect(";")
        return self.node("do", start, kids, VOID, body=body)

    def statement_switch(self) -> Node:
        start = self.at
        self.at += 1
        self.expect("(")
        value = self.expression()
        self.expect(")")
        return self.node("switch", start, [value, self.statement()], VOID)

    def statement_case(self) -> Node:
        start = self.at
        self.at += 1
        kids = [self.conditional()]
        if self.accept("..."):
            kids.append(self.conditional())
        self.expect(":")
        if self.word != "}":
            kids.append(self.statement())
        return self.node("case", start, kids, VOID)

    def statement_goto(self) -> Node:
        start = self.at
        self.at += 1
        kids = [self.expression()] if self.word == "*" else []
        if not kids:
            self.at += 1
        self.expect(";")
        return self.node("goto", start, kids, VOID)

    def statement_return(self) -> Node:
        start = self.at
        self.at += 1
        kids: list[Node] = []
        if self.word != ";":
            value = self.expression()
            result = self.function.target if self.function is not None else UNKNOWN
            kids = [self.convert(value, result) if result.kind != "void" else value]
        self.expect(";")
        return self.node("return", start, kids, VOID)

    def statement_for(self) -> Node:
        start = self.at
        self.at += 1
        self.expect("(")
        self.scope.push()
        kids, test, step = self.header()
        self.expect(")")
        kids.append(self.statement())
        self.scope.pop()
        return self.node("for", start, kids, VOID, test=test, step=step, body=kids[-1])

    def header(self) -> tuple[list[Node], Node | None, Node | None]:
        """Up to the bracket that closes it; also test and step alone."""
        kids: list[Node] = []
        test = step = None
        if self.is_type_name():
            kids.append(self.declaration())
        else:
            if self.word != ";":
                kids.append(self.expression())
            self.expect(";")
        if self.word != ";":
            test = self.truth(self.expression())
            kids.append(test)
        self.expect(";")
        if self.word not in (")", ";"):
            step = self.expression()
            kids.append(step)
        return kids, test, step

    def forall(self) -> Node:
        """``upc_forall (init; test; step; affinity) body``."""
        start = self.at
        self.at += 1
        self.expect("(")
        self.scope.push()
        declaration = init = test = step = affinity = None
        if self.is_type_name():
            declaration = self.declaration()
        else:
            init = None if self.word == ";" else self.expression()
            self.expect(";")
        test = None if self.word == ";" else self.truth(self.expression())
        self.expect(";")
        step = None if self.word == ";" else self.expression()
        self.expect(";")
        if self.accept("continue"):
            pass
        elif self.word != ")":
            at = self.at
            affinity = self.expression()
            of = decayed(affinity.type)
            integer = of.kind in ("enum", "unknown") or (
                of.kind == "basic" and not {"double", "float"} & set(of.name.split())
            )
            if not is_pointer_to_shared(of) and not integer:
                self.fail("the affinity is an integer, a pointer to shared, or continue", at)
        self.expect(")")
        header = self.at
        self.foralls.append(affinity is not None)
        body = self.statement()
        self.foralls.pop()
        self.scope.pop()
        kids = [kid for kid in (declaration, init, test, step, affinity, body) if kid is not None]
        return self.node(
            "forall", start, kids, VOID, declaration=declaration, init=init, test=test, step=step, affinity=affinity,
            body=body, header=header, inside=any(self.foralls),
        )  # fmt: skip

    def synchronisation(self, word: str) -> Node:
        start = self.at
        self.at += 1
        if word != "upc_fence" and any(self.foralls):
            self.fail(f"{word} in a upc_forall whose iterations are dealt out: not all threads would come to it", start)
        kids: list[Node] = []
        if word != "upc_fence" and self.word != ";":
            at = self.at
            kid = self.expression()
            of = decayed(kid.type)
            if of.kind not in ("basic", "enum", "unknown"):
                self.fail(f"the value of {word} is an integer", at)
            kids = [kid]
        self.expect(";")
        return self.node("upc", start, kids, INT, word=word)


_STATEMENTS = frozenset(["if", "while", "do", "switch", "case", "goto", "return", "for"])


class Parser(Statements):
    """All of it."""

    def translation_unit(self) -> list[Node]:
        found: list[Node] = []
        while self.kind != "end":
            if self.kind == "pragma":
                found.append(self.pragma())
            elif self.accept(";"):
                continue
            elif self.word == "asm":
                start = self.at
                self.skip_attributes()
                self.expect(";")
                found.append(self.node("asm", start, [], VOID))
            else:
                found.append(self.declaration())
        return found
