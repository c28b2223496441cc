"""Loops whose accesses to shared memory are made in blocks, before and after strips of iterations."""

from __future__ import annotations

from collections.abc import Callable

from .affine import COUNTER, THREADS, Affine, Sum
from .emit_local import LocalEmission, at_line
from .loops import Reason, bare, changed_in, check_range, counting, symbol_of, walk, writes_anywhere
from .rows import PURE, Plan, Reader, Row, element_of, plan_of
from .tree import Node, Symbol
from .types import is_shared, private, ultimate
from .writer import Pieces, text_of


class BlockEmission(LocalEmission):
    #: Functions that this file defines, which may do anything.
    defined: frozenset[str] = frozenset()

    def __init__(self) -> None:
        super().__init__()
        #: Elements that are found in memory of this thread, by the ids of their nodes.
        self.found: dict[int, str] = {}

    def effect(self, node: Node) -> Pieces:
        raise NotImplementedError

    def may_keep(self, row: Row) -> bool:
        """Whether what is read stays as it is for the loops that follow."""
        raise NotImplementedError

    @property
    def pure(self) -> frozenset[str]:
        return PURE - self.defined

    def chain(self, node: Node) -> Pieces | None:
        text = self.found.get(id(bare(node)))
        return [text] if text is not None else super().chain(node)

    def as_what(self, node: Node) -> str:
        return "in a block" if id(element_of(node)[0]) in self.found else super().as_what(node)

    # -- plans --------------------------------------------------------------------------------------------------------

    def plan(self, counter: Symbol, body: Node, step: int | None) -> Plan:
        """
        Raises
        ------
        Reason
            If the accesses of this loop are not made in blocks.
        """
        for part in walk(body):
            if part.kind == "for" and self.is_planned(part):
                raise Reason("")  # said of the inner loop
        affine = Affine(
            counter, body, changed_in(body), writes_anywhere(body, self.pure), lambda node: text_of(self.value(node))
        )
        return plan_of(Reader(affine, step, self.is_own, lambda node: self.strict(node) == "1", self.pure))

    def is_own(self, node: Node) -> bool:
        return self.improve.local and not self.waiting and super().chain(node) is not None

    def is_planned(self, node: Node) -> bool:
        try:
            self.plan_of_for(node)
        except Reason:
            return False
        return True

    def plan_of_for(self, node: Node) -> tuple[Symbol, str, Node, int, Plan]:
        data = node.data
        step = bare(data["step"]) if data["step"] is not None else None
        counter = symbol_of(step.kids[0]) if step is not None and step.kind in ("step", "assign") else None
        if counter is None:
            raise Reason("it does not count")
        sign, bound, by, _ = counting(counter, data["test"], step, data["body"], self.pure)
        check_range(private(counter.type), _start(node.kids[0], counter), bound, by, None)
        return counter, sign, bound, by, self.plan(counter, data["body"], by)

    # -- loops --------------------------------------------------------------------------------------------------------

    def loop_in_blocks(self, node: Node) -> Pieces | None:
        """A ``for`` loop; None where it stays as it is."""
        if not self.improve.blocks or self.hoisted is None or not self.has_shared(node):
            return None
        try:
            counter, sign, bound, by, plan = self.plan_of_for(node)
        except Reason as reason:
            self.note_reason(node, reason)
            return None
        self.note_plan(node, plan)
        first = node.kids[0]
        begin: Pieces = []
        if first.kind == "declaration":
            begin = [self.value(first)]
        elif first is not node.data["test"]:
            begin = [at_line(self.tokens[node.start]), self.effect(first), ";"]
        self.count += 1
        n, of = self.count, self.declare(private(counter.type))
        beyond = {"<=": " + 1", ">=": " - 1"}.get(sign, "")
        from_, count = f"isthmus_upc_from_{n}", f"isthmus_upc_count_{n}"
        begin += [
            at_line(self.tokens[node.start]), f"const int64_t {from_} = (int64_t){counter.name}, {count} = "
            f"isthmus_upc_iterations({from_}, (int64_t)(", self.value(bound), f"){beyond}, {by});",
        ]  # fmt: skip
        body = node.data["body"]

        def bind(number: str) -> str:
            return f"{counter.name} = ({of})({from_} + {number} * {by});"

        def plain() -> Pieces:
            return [
                at_line(self.tokens[node.start]), "for (;", self.value(node.data["test"]), ";",
                self.effect(node.data["step"]), ")", self.value(body),
            ]  # fmt: skip

        end = f"{counter.name} = ({of})({from_} + {count} * {by});"
        return ["{", *begin, *self.strips(plan, body, from_, str(by), count, bind, plain, end), "}"]

    def has_shared(self, node: Node) -> bool:
        return any(part.lvalue and is_shared(part.type) and part.type.kind != "array" for part in walk(node))

    def note_reason(self, node: Node, reason: Reason) -> None:
        if str(reason):
            self.note(node, f"the loop is not in blocks: {reason}")

    def note_plan(self, node: Node, plan: Plan) -> None:
        words = []
        for row in plan.rows:
            done = "read and written" if row.reads and row.writes else "written" if row.writes else "read"
            names = dict.fromkeys(self.name_of(access.node) for access, _ in row.accesses)
            words.append(f"{', '.join(names)} {done}")
        proof = ", where they turn out to be apart" if plan.pairs or plan.pointers else ""
        self.note(node, f"the loop is in blocks: {'; '.join(words)}{proof}")
        for access in plan.others:
            if not access.own:
                self.note(access.node, f"{self.name_of(access.node)} is not in a block: {access.why}")

    def name_of(self, node: Node) -> str:
        return text_of(list(self.tokens[node.start : node.end])).replace(" ", "")

    def in_blocks(
        self, node: Node, counter: Symbol, step: int | None, loop: tuple[str, str, str, Callable[[str], str]],
        plain: Callable[[], Pieces],
    ) -> Pieces:  # fmt: skip
        """The iterations of a upc_forall that are this thread's; ``loop``: first counter, its step, how many."""
        body = node.data["body"]
        first, by, count, bind = loop
        if self.improve.blocks and self.has_shared(body):
            try:
                plan = self.plan(counter, body, step)
            except Reason as reason:
                self.note_reason(node, reason)
            else:
                self.note_plan(node, plan)
                return self.strips(plan, body, first, by, count, bind, plain, "")
        return plain()

    def strips(
        self, plan: Plan, body: Node, first: str, by: str, count: str, bind: Callable[[str], str],
        plain: Callable[[], Pieces], end: str,
    ) -> Pieces:  # fmt: skip
        self.count += 1
        n = self.count
        rows, site, loop = f"isthmus_upc_rows_{n}", f"isthmus_upc_site_{n}", f"isthmus_upc_loop_{n}"
        texts = [self.row(plan.affine, row, first, by, True) for row in plan.rows]
        texts += [self.row(plan.affine, row, first, by, False) for row in plan.guards]
        pairs = ", ".join(f"{{{one}, {other}, {int(same)}}}" for one, other, same in plan.pairs)
        pointers = ", ".join(f"(const void *)({text_of(self.value(pointer))})" for pointer in plan.pointers)
        out: Pieces = [
            f"int isthmus_upc_left_{n} = 1; if ({count} >= isthmus_upc_least) {{"
            f"static isthmus_upc_site {site}; isthmus_upc_row {rows}[] = {{{', '.join(texts)}}};",
            f"static const isthmus_upc_pair isthmus_upc_pairs_{n}[] = {{{pairs}}};" if pairs else "",
            f"const void *const isthmus_upc_pointers_{n}[] = {{{pointers}}};" if pointers else "",
            f"isthmus_upc_loop {loop} = {{&{site}, {rows}, {f'isthmus_upc_pairs_{n}' if pairs else '0'}, "
            f"{f'isthmus_upc_pointers_{n}' if pointers else '0'}, {len(texts)}, {len(plan.pairs)}, "
            f"{len(plan.pointers)}, {count}}};",
            f"if (isthmus_upc_rows_begin(&{loop})) {{ isthmus_upc_left_{n} = 0;"
            f"int64_t isthmus_upc_strip_{n}, isthmus_upc_before_{n} = 0;"
            f"while ((isthmus_upc_strip_{n} = isthmus_upc_rows_next(&{loop})) > 0) {{",
        ]
        at = f"isthmus_upc_k_{n}"
        for i, row in enumerate(plan.rows):
            name = f"isthmus_upc_row_{n}_{i}"
            out.append(self.rows_pointer(row, name, f"{rows}[{i}].now"))
            for access, shift in row.accesses:
                place = "0" if row.fixed else f"{at} + {shift}" if shift else at
                self.found[id(access.element)] = f"{name}[{place}]"
        kept = self.hoisted
        inner = self.value(body)
        for row in plan.rows:
            for access, _ in row.accesses:
                del self.found[id(access.element)]
        self.hoisted = kept
        out += [
            f"for (int64_t {at} = 0; {at} < isthmus_upc_strip_{n}; ++{at}) {{ "
            f"{bind(f'(isthmus_upc_before_{n} + {at})')}", inner,
            f"}} isthmus_upc_before_{n} += isthmus_upc_strip_{n}; }} {end} }} }} if (isthmus_upc_left_{n}) {{",
        ]  # fmt: skip
        silent, self.silent = self.silent, True
        out += [plain(), "}"]
        self.silent = silent
        return out

    def rows_pointer(self, row: Row, name: str, now: str) -> str:
        element, _ = element_of(row.one.node)
        of = private(ultimate(element.type))
        return f"{self.declare(of, f'*const {name}')} = (void *){now};"

    def row(self, affine: Affine, row: Row, first: str, by: str, moved: bool) -> str:
        one = row.one
        element, _ = element_of(one.node)
        of = ultimate(element.type)
        shared = of.shared
        assert shared is not None
        assert one.first is not None
        name = text_of(self.value(one.first)) if one.pointer else None
        symbol = one.first.data["symbol"]
        at = name if name is not None else f"isthmus_shared_first({symbol.name})"
        block = self.block_of_root(one.first)
        index = f"{self.sum_text(affine, row.by)} * ({first}) + {self.sum_text(affine, row.rest)}"
        step = f"{self.sum_text(affine, row.by)} * ({by})"
        total = "0" if row.is_sure or one.total is None else self.sum_text(affine, one.total)
        use = int(row.reads) + 2 * int(row.writes) + 4 * int(self.may_keep(row)) if moved else 0
        low, high = min(row.shifts), max(row.shifts)
        size = f"sizeof({self.declare(private(of))})"
        return f"{{{at}, {index}, {step}, {low}, {high}, {total}, {size}, {block}, {use}, {int(row.fixed)}}}"

    def block_of_root(self, node: Node) -> int:
        of = node.type.target if node.type.kind == "pointer" else node.type
        shared = ultimate(of).shared
        assert shared is not None
        return max(shared.block, 0)

    def sum_text(self, affine: Affine, number: Sum) -> str:
        terms = []
        for names, count in number.items():
            assert COUNTER not in names
            factors = [f"(int64_t){self.ranks}" if name == THREADS else affine.texts[name] for name in names]
            terms.append(" * ".join([f"(int64_t){count}", *factors]))
        return f"({' + '.join(terms)})" if terms else "(int64_t)0"


def _start(first: Node, counter: Symbol) -> Node | None:
    """What the counter begins with, where the loop says so."""
    if first.kind == "declaration":
        for part in first.data["list"]:
            if part.data.get("symbol") is counter:
                found: Node | None = part.data.get("init")
                return found
    elif bare(first).kind == "assign" and bare(first).data["sign"] == "=" and symbol_of(bare(first).kids[0]) is counter:
        return bare(first).kids[1]
    return None
