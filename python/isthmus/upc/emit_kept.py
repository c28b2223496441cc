"""Statements in which nothing changes what loops read: rows are kept from one loop to the next."""

from __future__ import annotations

from collections.abc import Callable

from .affine import Affine
from .emit_blocks import BlockEmission
from .loops import Reason, changed_in, leaves, walk, writes_anywhere
from .rows import Plan, Reader, Row
from .tree import Node, Symbol
from .types import INT
from .writer import Pieces, text_of

_NOBODY = Symbol("variable", "", INT, "", False)


def _has_loop(node: Node) -> bool:
    return any(part.kind in ("for", "forall") for part in walk(node))


class RunReader(Reader):
    """Reads statements that follow each other."""

    not_followed = Reader.not_followed - {"forall"}

    def visit(self, node: Node, sure: bool) -> None:
        if node.kind in ("for", "forall") and leaves(node.data["body"]) and _has_loop(node.data["body"]):
            raise Reason("a loop in it may wait for another thread, until what loops in it have read says so")
        super().visit(node, sure)


class Run:
    """Statements of a block in which rows can be kept."""

    def __init__(self, statements: list[Node], reader: Reader) -> None:
        self.statements = statements
        written = [access for access in reader.accesses if access.writes]
        self.written = {access.root for access in written}
        self.anywhere = any(access.pointer or not access.root for access in written)
        self.pointers = [pointer for pointer, through in reader.pointers if through and pointer is not None]
        self.names: dict[str, None] = {}
        self.loops = 0  #: whose rows are kept
        self.nested = False  #: whether such a loop is in another one

    def keeps(self, row: Row) -> bool:
        if row.writes or self.anywhere:
            return False
        return not self.written if row.one.pointer else row.one.root not in self.written


class KeptEmission(BlockEmission):
    run: Run | None = None

    def copy(self, node: Node, inner: Callable[[Node], Pieces] | None = None) -> Pieces:
        raise NotImplementedError

    def may_keep(self, row: Row) -> bool:
        if self.run is None or not self.run.keeps(row):
            return False
        if not self.silent:
            self.run.names[self.name_of(row.one.node)] = None
        return True

    def strips(
        self, plan: Plan, body: Node, first: str, by: str, count: str, bind: Callable[[str], str],
        plain: Callable[[], Pieces], end: str,
    ) -> Pieces:  # fmt: skip
        if self.run is not None and not self.silent:
            self.run.loops += any(self.run.keeps(row) for row in plan.rows)
            self.run.nested |= all(kid.data.get("body") is not body for kid in self.run.statements)
        return super().strips(plan, body, first, by, count, bind, plain, end)

    def _block(self, node: Node) -> Pieces:
        if not (self.improve.keep and self.improve.blocks) or self.hoisted is None or self.run is not None:
            return self.copy(node)
        first: dict[int, Run] = {}
        last: dict[int, Run] = {}
        for run in self.runs(node):
            first[id(run.statements[0])] = last[id(run.statements[-1])] = run
        begin: Pieces = []

        def inner(kid: Node) -> Pieces:
            nonlocal begin
            before: Pieces = []
            if id(kid) in first:
                self.run, begin = first[id(kid)], before
            out: Pieces = [before, self.value(kid)]
            if id(kid) in last:
                run, self.run = last[id(kid)], None
                if run.names and (run.nested or run.loops > 1):
                    begin.append(self.begun(run))
                    out.append("isthmus_upc_keep_end();")
            return out

        return self.copy(node, inner)

    def begun(self, run: Run) -> str:
        end = self.tokens[run.statements[-1].end - 1].line
        self.note(run.statements[0], f"what loops read of {', '.join(run.names)} is kept until line {end}")
        pointers = dict.fromkeys(text_of(self.value(pointer)) for pointer in run.pointers)
        if not pointers:
            return "isthmus_upc_keep(0, 0);"
        texts = ", ".join(f"(const void *)({text})" for text in pointers)
        return f"isthmus_upc_keep((const void *const[]){{{texts}}}, {len(pointers)});"

    def runs(self, node: Node) -> list[Run]:
        """As long as they can be, from a loop with accesses to shared memory to the last one."""
        found: list[Run] = []
        part: list[Node] = []
        for kid in [*node.kids, None]:
            if kid is not None and self.read_run([kid]) is not None:
                part.append(kid)
            elif part:
                found += self.runs_of(part)
                part = []
        return found

    def runs_of(self, part: list[Node]) -> list[Run]:
        """Of statements each of which can be in one by itself; where all fail together, by halves."""
        loops = [i for i, one in enumerate(part) if any(self.is_loop(inner) for inner in walk(one))]
        if not loops:
            return []
        part = part[loops[0] : loops[-1] + 1]
        reader = self.read_run(part)
        if reader is not None:
            return [Run(part, reader)]
        middle = len(part) // 2
        return [*self.runs_of(part[:middle]), *self.runs_of(part[middle:])]

    def is_loop(self, node: Node) -> bool:
        return node.kind in ("for", "forall") and self.has_shared(node)

    def read_run(self, statements: list[Node]) -> Reader | None:
        """None where something in them may change what others see, or what this thread does."""
        body = Node("block", statements[0].start, statements[-1].end, statements)
        free = writes_anywhere(body, self.pure)
        affine = Affine(_NOBODY, body, changed_in(body), free, lambda part: text_of(self.value(part)))
        reader = RunReader(affine, None, lambda _: False, lambda part: self.strict(part) == "1", self.pure)
        if leaves(body) or reader.skips or self.calls_unseen(body):
            return None
        try:
            reader.read()
        except Reason:
            return None
        if any(pointer is None for pointer, through in reader.pointers if through):
            return None
        return reader

    def calls_unseen(self, body: Node) -> bool:
        """Whether functions may be called at the end of a variable's life, or for the length of an array in a type."""

        def words(start: int, end: int) -> list[str]:
            return [token.text for token in self.tokens[start:end]]

        for part in walk(body):
            if part.kind == "declaration":
                if any(word in ("cleanup", "__cleanup__") for word in words(part.start, part.end)):
                    return True
            elif part.kind == "cast" and "[" in words(part.start, part.kids[0].start):
                return True
            elif part.kind == "sizeof":
                inside = words(part.start, part.end)
                if "[" in inside and inside.count("(") > 1:
                    return True
        return False
