"""What is known to be on the thread that runs: iterations of upc_forall without tests, accesses as plain C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .emit_types import TypeEmission
from .layout import size_of
from .loops import Deal, Reason, bare, deal_of, is_counted, rows, shift_of
from .tokens import Token
from .tree import Node, Symbol
from .types import Type, is_shared, private, ultimate
from .writer import Pieces, text_of


@dataclass
class OwnIterations:
    """A loop over own iterations around a place: where its elements are on this thread."""

    deal: Deal
    origin: str  #: number of the first one
    at: str  #: so many further
    bases: dict[str, str] = field(default_factory=dict)  #: pointers to the first one, by the names of arrays
    declared: Pieces = field(default_factory=list)


@dataclass(frozen=True)
class Improve:
    """What is done for speed."""

    local: bool = False  #: accesses to the thread's own elements are plain C
    deal: bool = False  #: upc_forall goes over the thread's own iterations alone
    blocks: bool = False  #: loops read and write shared memory in blocks
    keep: bool = False  #: what they have read is kept for the next loop


PLAIN = Improve()


def at_line(token: Token) -> Pieces:
    """The line of a word, without it."""
    return [Token("mark", "", token.file, token.line, token.column, True)]


class LocalEmission(TypeEmission):
    improve: Improve
    count: int
    temporaries: list[str]

    #: Pointers to the own part of shared arrays, by the names of these; None: not in a function.
    hoisted: dict[str, str] | None = None
    #: How many loops around this place may wait for another thread: memory is read whenever they say so.
    waiting = 0
    #: Whether what is written is a second version of what is reported.
    silent = False

    def __init__(self) -> None:
        #: Lines of the report, each once.
        self.notes: dict[str, None] = {}
        #: Those around this place.
        self.deals: list[OwnIterations] = []

    @property
    def ranks(self) -> str:
        raise NotImplementedError

    def strict(self, node: Node) -> str:
        raise NotImplementedError

    def tested(self, node: Node, outer: str | None) -> Pieces:
        raise NotImplementedError

    def in_blocks(
        self, node: Node, counter: Symbol, step: int | None, loop: tuple[str, str, str, Callable[[str], str]],
        plain: Callable[[], Pieces],
    ) -> Pieces:  # fmt: skip
        raise NotImplementedError

    # -- report -------------------------------------------------------------------------------------------------------

    @property
    def report(self) -> list[str]:
        return list(self.notes)

    def note(self, node: Node, text: str) -> None:
        if not self.silent:
            token = self.tokens[node.start]
            self.notes[f"{token.file}:{token.line}: {text}"] = None

    # -- accesses -----------------------------------------------------------------------------------------------------

    def own(self, node: Node) -> Pieces | None:
        """A shared object that is known to be on this thread, as a left side of C."""
        improve = self.improve.local or self.improve.blocks
        if not is_shared(node.type) or not improve or self.hoisted is None or node.type.kind == "array":
            return None
        name = text_of(list(self.tokens[node.start : node.end])).replace(" ", "")
        if self.strict(node) == "1":
            self.note(node, f"{name} stays a call: it is strict")
            return None
        qualifiers = ultimate(node.type).qualifiers
        found = self.chain(node) if not qualifiers & {"volatile", "_Atomic"} else None
        of = private(node.type)
        size = size_of(of)
        if found is not None and self.waiting:
            if size is None or size[0] not in (1, 2, 4, 8) or bare(node).data.get("bits"):
                found = None
            else:
                found = [f"(*(volatile {self.declare(of)} *)&", *found, ")"]
        self.note(node, f"{name} is {self.as_what(node)}" if found else f"{name} stays a call: its thread is not known")
        return found

    def as_what(self, node: Node) -> str:
        return "plain C"

    def chain(self, node: Node) -> Pieces | None:
        node = bare(node)
        if node.kind == "member" and node.data["sign"] == ".":
            inside = self.chain(node.kids[0])
            return [inside, f".{node.data['name']}"] if inside else None
        if node.kind != "index":
            return None
        array, number = bare(node.data["array"]), node.data["number"]
        if array.type.kind != "array":
            return None
        if array.kind != "ident":
            inside = self.chain(array)
            return [inside, "[", self.value(number), "]"] if inside else None
        symbol = array.data["symbol"]
        known = symbol is not None and symbol.kind == "variable" and symbol.file_level and is_shared(array.type)
        if not known or not self.improve.local:
            return None
        return self.own_element(symbol.name, array.type, number)

    def own_element(self, name: str, of: Type, number: Node) -> Pieces | None:
        block = rows(of)
        if block is None:
            return None
        for own in self.deals:
            if own.deal.block == block and shift_of(number, own.deal.counter) == own.deal.shift:
                return [f"{self.base(own, name, of)}[{own.at}]"]
        at = _behind_thread(number, block)
        return None if at is None else [f"{self.pointer_to_own(name, of)}[{at}]"]

    def base(self, own: OwnIterations, name: str, of: Type) -> str:
        """A pointer to the first element: compilers see a loop from it on as one of C."""
        if name not in own.bases:
            self.count += 1
            own.bases[name] = f"isthmus_upc_base_{self.count}"
            pointer = Type("pointer", of=private(of.target), qualifiers=frozenset(["const"]))
            declaration = self.declare(pointer, own.bases[name])
            own.declared.append(
                f"{declaration} = isthmus_upc_start_of({self.pointer_to_own(name, of)} + {own.origin});"
            )
        return own.bases[name]

    def pointer_to_own(self, name: str, of: Type) -> str:
        assert self.hoisted is not None
        if name not in self.hoisted:
            self.count += 1
            self.hoisted[name] = f"isthmus_upc_own_{self.count}"
            pointer = Type("pointer", of=private(of.target), qualifiers=frozenset(["const"]))
            declaration = self.declare(pointer, self.hoisted[name])
            self.temporaries.append(f"{declaration} = (void *)(isthmus_upc_own + {name})")
        return self.hoisted[name]

    # -- loops --------------------------------------------------------------------------------------------------------

    def waits(self, node: Node, written: Callable[[], Pieces]) -> Pieces:
        """A loop that may wait for another thread reads memory each time; not one that counts or synchronises."""
        body = node.data["body"]
        if node.kind == "do" and node.kids[1].constant == 0:
            return written()
        parts = body.kids if body.kind == "block" else [body]
        waits = not any(part.kind == "upc" for part in parts) and not is_counted(
            node.data.get("test"), node.data.get("step"), body
        )
        self.waiting += waits
        out = written()
        self.waiting -= waits
        return out

    def deal(self, node: Node) -> Deal | None:
        if not self.improve.deal:
            return None
        try:
            deal = deal_of(node)
        except Reason as reason:
            self.note(node, f"upc_forall tests every iteration: {reason}")
            return None
        blocks = f" in blocks of {deal.block}" if deal.block > 1 else ""
        self.note(node, f"upc_forall goes over the thread's own iterations{blocks}")
        return deal

    def counted(self, node: Node, deal: Deal) -> Pieces:
        """Over the own iterations alone."""
        self.count += 1
        n = self.count
        of = self.declare(private(deal.counter.type))
        name, step, block, ranks = deal.counter.name, deal.step, deal.block, self.ranks
        beyond = {"<=": " + 1", ">=": " - 1"}.get(deal.sign, "")
        begin: Pieces = [
            at_line(self.tokens[node.start]),
            f"const int64_t isthmus_upc_from_{n} = ({of})(", self.value(deal.start), ");",
            f"const int64_t isthmus_upc_to_{n} = (int64_t)(", self.value(deal.bound), f"){beyond};",
        ]  # fmt: skip
        iterations = f"isthmus_upc_iterations(isthmus_upc_from_{n}, isthmus_upc_to_{n}, {step})"
        head = f"{of} {name}" if deal.declared else name
        body = node.data["body"]
        own = OwnIterations(deal, "", f"isthmus_upc_at_{n}")
        self.deals.append(own)
        if block == 1:
            local = str(step) if abs(step) == 1 else f"isthmus_upc_turns_{n}.local_step"
            turns, turn = f"isthmus_upc_turns_{n}", f"isthmus_upc_turn_{n}"
            begin.append(
                f"const isthmus_upc_turns {turns} = isthmus_upc_turns_of(isthmus_upc_from_{n}, "
                f"{iterations}, {step}, {deal.shift}, {ranks});"
            )
            own.origin = f"{turns}.local"

            def bind(number: str) -> str:
                return (
                    f"const int64_t isthmus_upc_at_{n} = {number} * {local}; {head} = ({of})("
                    f"{turns}.counter + {number} * {turns}.step); (void)isthmus_upc_at_{n}; (void){name};"
                )

            def plain() -> Pieces:
                return [
                    f"for (int64_t {turn} = 0; {turn} < {turns}.count; ++{turn}) {{ {bind(turn)}", self.value(body), "}"
                ]  # fmt: skip

            loop = (f"{turns}.counter", f"{turns}.step", f"{turns}.count", bind)
            out, end = self.in_blocks(node, deal.counter, None, loop, plain), ""
        else:
            first, last = f"isthmus_upc_first_{n}", f"isthmus_upc_end_{n}"
            begin.append(
                f"for (int64_t isthmus_upc_block_{n} = isthmus_upc_next_block(isthmus_upc_floor("
                f"isthmus_upc_from_{n} + {deal.shift}, {block}), {ranks}), isthmus_upc_round_{n} = isthmus_upc_floor("
                f"isthmus_upc_block_{n}, {ranks}); isthmus_upc_block_{n} * {block} - {deal.shift} < "
                f"isthmus_upc_to_{n}; isthmus_upc_block_{n} += {ranks}, ++isthmus_upc_round_{n}) {{"
                f"const int64_t isthmus_upc_low_{n} = isthmus_upc_block_{n} * {block} - {deal.shift}, "
                f"{first} = isthmus_upc_low_{n} <= isthmus_upc_from_{n} ? isthmus_upc_from_{n} : "
                f"isthmus_upc_from_{n} + (isthmus_upc_low_{n} - isthmus_upc_from_{n} + {step - 1}) / {step} * {step}, "
                f"{last} = isthmus_upc_low_{n} + {block} < isthmus_upc_to_{n} ? isthmus_upc_low_{n} + "
                f"{block} : isthmus_upc_to_{n}, isthmus_upc_far_{n} = isthmus_upc_round_{n} * {block} - "
                f"isthmus_upc_low_{n};"
            )
            turn, count = f"isthmus_upc_turn_{n}", f"isthmus_upc_count_{n}"
            begin.append(f"const int64_t {count} = isthmus_upc_iterations({first}, {last}, {step});")
            own.origin = f"{first} + isthmus_upc_far_{n}"

            def bind(number: str) -> str:
                return (
                    f"const int64_t isthmus_upc_at_{n} = {number} * {step}; {head} = ({of})({first} + {number} * "
                    f"{step}); (void)isthmus_upc_at_{n}; (void){name};"
                )

            def plain() -> Pieces:
                return [
                    f"for (int64_t {turn} = 0; {turn} < {count}; ++{turn}) {{ {bind(turn)}", self.value(body), "}"
                ]  # fmt: skip

            loop = (first, str(step), count, bind)
            out, end = self.in_blocks(node, deal.counter, step, loop, plain), "}"
        self.deals.pop()
        if not deal.declared:
            end += f"{name} = ({of})(isthmus_upc_from_{n} + {iterations} * {step});"
        return [*begin, own.declared, out, end]


def _behind_thread(number: Node, block: int) -> int | None:
    """``c`` of ``MYTHREAD * block + c``, which is below the block size."""
    number = bare(number)
    if number.kind == "mythread":
        return 0 if block == 1 else None
    if number.kind == "binary" and number.data["sign"] == "*":
        for one, other in (number.kids, number.kids[::-1]):
            if bare(one).kind == "mythread" and other.constant == block and not other.threads:
                return 0
    if number.kind == "binary" and number.data["sign"] == "+" and block > 1:
        for one, other in (number.kids, number.kids[::-1]):
            if _behind_thread(one, block) == 0 and other.constant is not None and not other.threads:
                return other.constant if 0 <= other.constant < block else None
    return None
