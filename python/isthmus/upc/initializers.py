"""Initialisers: which value goes to which member, so that pointers to shared get theirs."""

from __future__ import annotations

from .expressions import Expressions
from .tree import Node
from .types import UNKNOWN, Type, is_pointer_to_shared


class Initializers(Expressions):
    def initializer(self, of: Type, static: bool) -> Node:
        if self.word == "{" and self.kind == "sign":
            return self.initializer_list(of, static)
        return self.convert(self.assignment(), of)

    def initializer_list(self, of: Type, static: bool) -> Node:
        """A list in braces; ``count`` is the number of elements of an array without a dimension."""
        start = self.at
        self.expect("{")
        kids: list[Node] = []
        most = 0
        if of.kind not in ("array", "record"):
            while not self.accept("}"):
                kids.append(self.initializer(of, static))
                self.accept(",")
            return self.node("list", start, kids, of)
        index = 0
        while not self.accept("}"):
            target = None
            if self.word in ("[", ".") and self.kind == "sign":
                index, target = self.designator(of, kids)
                self.accept("=")
            elif self.ahead() == ":" and self.kind == "name":
                self.at += 2
                target = UNKNOWN
            if target is None:
                target = self.position(of, index)
            kids.append(self.elided(target, static))
            index += 1
            most = max(most, index)
            if not self.accept(","):
                self.expect("}")
                break
        return self.node("list", start, kids, of, count=most)

    def position(self, of: Type, index: int) -> Type:
        if of.kind == "array":
            return of.target
        if of.record is None or of.record.members is None:
            return UNKNOWN
        if of.record.word == "union":
            return of.record.members[0][1] if of.record.members else UNKNOWN
        return of.record.members[index][1] if index < len(of.record.members) else UNKNOWN

    def designator(self, of: Type, kids: list[Node]) -> tuple[int, Type]:
        index, here, first = 0, of, True
        while True:
            if self.accept("["):
                place = self.conditional()
                kids.append(place)
                if self.accept("..."):
                    place = self.conditional()
                    kids.append(place)
                self.expect("]")
                if first:
                    index = place.constant or 0
                here = here.target if here.kind == "array" else UNKNOWN
            elif self.accept("."):
                name = self.tokens[self.at].text
                if first and here.record is not None:
                    names = [member[0] for member in here.record.members or []]
                    index = names.index(name) if name in names else 0
                here = self.member_of(here, name, self.at)
                self.at += 1
            else:
                return index, here
            first = False

    def elided(self, of: Type, static: bool) -> Node:
        """A value for this place, whose braces may be left out."""
        if self.word == "{" and self.kind == "sign":
            return self.initializer_list(of, static)
        if of.kind not in ("array", "record"):
            return self.convert(self.assignment(), of)
        start = self.at
        first = self.assignment()
        if first.type.kind in ("record", "unknown") or first.kind == "string":
            return first
        return self.rest_of(of, start, first)

    def rest_of(self, of: Type, start: int, first: Node | None) -> Node:
        kids: list[Node] = []
        if of.kind == "array":
            count = of.dimension.value if of.dimension and of.dimension.value is not None else 1
            places = [of.target] * min(count, 100000)
        else:
            members = of.record.members if of.record and of.record.members else []
            places = [member[1] for member in members][: 1 if of.record and of.record.word == "union" else None]
        for number, place in enumerate(places):
            if first is not None:
                if place.kind in ("array", "record"):
                    kids.append(self.rest_of(place, start, first))
                else:
                    kids.append(self.convert(first, place))
                first = None
            else:
                kids.append(self.elided(place, False))
            if number + 1 < len(places):
                if self.word != "," or self.ahead() in ("}", "[", "."):
                    break
                self.at += 1
        return self.node("part", start, kids, of)

    def is_constant(self, node: Node) -> bool:
        """Whether C can initialise with it what is static."""
        if node.kind == "convert" and is_pointer_to_shared(node.type):
            return self.is_null(node.kids[0])
        if is_pointer_to_shared(node.type) and node.kind not in ("list", "part"):
            return False
        return all(self.is_constant(kid) for kid in node.kids)
