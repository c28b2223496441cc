"""Declarations and statements as C has them."""

from __future__ import annotations

from .emit_expressions import ExpressionEmission
from .emit_local import at_line
from .initializers import Initializers
from .loops import walk
from .tree import Node
from .types import STAR, Type, block_of, decayed, involves_shared, is_pointer_to_shared, is_shared, private, ultimate
from .writer import Pieces

_SECTION = '__attribute__((section("isthmus_upc_list_{}"), used, aligned(8)))'


class Emission(ExpressionEmission):
    """Writes what the parser read."""

    def program(self, nodes: list[Node]) -> Pieces:
        self.defined = frozenset(node.data["name"].text for node in nodes if node.kind == "function")
        out: Pieces = [self.value(node) for node in nodes]
        threads = self.threads or 0
        out.append(f"\nstatic const uint64_t isthmus_upc_static {_SECTION.format('threads')} = {threads};\n")
        return out

    # -- declarations -------------------------------------------------------------------------------------------------

    def _record(self, node: Node) -> Pieces:
        if node.data["named"] or node.data.get("inside"):
            return self.copy(node)
        out: Pieces = list(self.tokens[node.start : node.data["body"]])
        record = node.type.record
        assert record is not None
        kept = Node("kept", node.data["body"], node.end, node.kids)
        return [*out, record.tag, *self.copy(kept)]

    def _enum(self, node: Node) -> Pieces:
        if node.data["named"]:
            return self.copy(node)
        kept = Node("kept", node.data["body"], node.end, node.kids)
        return [*self.tokens[node.start : node.data["body"]], node.data["tag"], *self.copy(kept)]

    def _declaration(self, node: Node) -> Pieces:
        specifiers, list_of = node.data["specifiers"], node.data["list"]
        if not list_of:
            for kid in specifiers.kids:
                if kid.kind == "record":
                    kid.data["inside"] = True
        if not any(self.is_changed(kid) or self.is_kept_back(kid) for kid in list_of) and not is_shared(
            specifiers.type
        ):
            return self.copy(node)
        out: Pieces = []
        for kid in specifiers.kids:
            out.append([self.value(kid), ";"])
        for kid in list_of:
            out.append(self.declared(kid, specifiers.storage))
        out.append(self.tokens[node.end - 1])
        return out

    def is_kept_back(self, node: Node) -> bool:
        """Types that C does not have, which are written out where they are used: one with a THREADS to be found out."""
        look, threads = node.type, 0
        while look.kind == "array":
            threads += look.dimension.threads if look.dimension is not None else 0
            look = look.target
        symbol = node.data["symbol"]
        return symbol.kind == "typedef" and (is_shared(node.type) or (threads > 0 and symbol.file_level))

    def is_changed(self, node: Node) -> bool:
        init = node.data.get("init")
        return involves_shared(node.type) or (
            init is not None and node.data["symbol"].storage == "static" and not is_constant(init)
        )

    def declared(self, node: Node, storage: list[str]) -> Pieces:
        symbol, init = node.data["symbol"], node.data.get("init")
        name, of = symbol.name, node.type
        words = " ".join(storage)
        first = self.tokens[node.start]
        if self.is_kept_back(node):
            return []
        if symbol.kind == "variable" and is_shared(of):
            return self.shared_object(node, name, of, init)
        begin, end = node.data.get("attributes", (0, 0))
        attributes = list(self.tokens[begin:end])
        text: Pieces = [at_line(first), f"{words} {self.declare(of, name)}", *attributes]
        if node.data.get("bits") is not None:
            text += [":", self.value(node.data["bits"])]
        if init is None:
            return [*text, ";"]
        static = symbol.kind == "variable" and (node.data["outside"] or symbol.storage == "static")
        if not static or is_constant(init):
            return [*text, "=", self.initial(init), ";"]
        before, self.temporaries = self.temporaries, []
        hoisted, self.hoisted = self.hoisted, None
        of = Type(
            of.kind, of.name, of.of, of.dimension, of.parameters, of.variadic, of.record, of.qualifiers - {"const"}
        )
        setting: Pieces = [f"{self.declare(of, 'isthmus_upc_value')} =", self.initial(init), ";"]
        setting += [f"memcpy((void *)&{name}, (void *)&isthmus_upc_value, sizeof(isthmus_upc_value));"]
        temporaries, self.temporaries = self.temporaries, before
        self.hoisted = hoisted
        declarations = "".join(f"{temporary};" for temporary in temporaries)
        text = [f"{words} {self.declare(of, name)};"]
        self.count += 1
        if node.data["outside"]:
            function = f"isthmus_upc_start_{self.count}"
            return [
                *text, f"static void {function}(void) {{ {declarations}", *setting,
                f"}} static void (*const {function}_at)(void) {_SECTION.format('starts')} = {function};",
            ]  # fmt: skip
        once = f"isthmus_upc_once_{self.count}"
        return [*text, f"static int {once}; if (!{once}) {{ {declarations} {once} = 1;", *setting, "}"]

    def shared_object(self, node: Node, name: str, of: Type, init: Node | None) -> Pieces:
        """Of a shared object there is its offset, the same on all threads, and what is to be allocated."""
        symbol = node.data["symbol"]
        missing = of.kind == "array" and (
            of.dimension is None or (of.dimension.node is None and of.dimension.value is None)
        )
        if (symbol.storage == "extern" and init is None) or missing:
            return [at_line(self.tokens[node.start]), f"extern uint64_t {name};"]
        static = symbol.storage == "static"
        head = f"static uint64_t {name};" if static else f"uint64_t {name} __attribute__((weak));"
        element = self.declare(private(ultimate(of)))
        count, threads, look = 1, 0, of
        while look.kind == "array":
            dimension = look.dimension
            assert dimension is not None
            assert dimension.value is not None
            count *= dimension.value
            threads += dimension.threads
            look = look.target
        self.count += 1
        values = "0, 0"
        out: Pieces = [at_line(self.tokens[node.start]), head]
        if init is not None:
            constant = f"isthmus_upc_values_{self.count}"
            given = private(of)
            if threads:
                given = Type("array", of=given.of)
            out += [f"static const {self.declare(given, constant)} =", self.initial(init), ";"]
            values = f"&{constant}, sizeof({constant}) / sizeof({element})"
        out.append(
            f"static const isthmus_upc_object isthmus_upc_object_{self.count} = "
            f'{{&{name}, "{name}", {count}, {threads}, sizeof({element}), {max(block_of(of), 0)}, '
            f"{int(of.kind == 'array')}, {values}}}; static const isthmus_upc_object *const "
            f"isthmus_upc_object_{self.count}_at {_SECTION.format('objects')} = &isthmus_upc_object_{self.count};"
        )
        return out

    def _function(self, node: Node) -> Pieces:
        body, of, specifiers = node.data["body"], node.type, node.data["specifiers"]
        self.temporaries = []
        self.hoisted = {}
        self.waiting = int(any(part.kind == "goto" for part in walk(body)))
        inside = self.value(body)
        self.hoisted = None
        if self.temporaries:
            inside = [inside[0], "".join(f"{temporary};" for temporary in self.temporaries), *inside[1:]]
        self.temporaries = []
        if not involves_shared(of):
            kids = [*specifiers.kids, body]
            kept = Node("kept", node.start, node.end, kids)
            return self.copy(kept, lambda kid: inside if kid is body else self.value(kid))
        out: Pieces = [[self.value(kid), ";"] for kid in specifiers.kids]
        name = node.data["name"]
        signature = of
        if of.parameters is not None:
            parameters = node.data["parameters"]
            signature = Type(
                "function", of=of.of, variadic=of.variadic,
                parameters=tuple((symbol.name, symbol.type, None) for symbol in parameters),
            )  # fmt: skip
        words = " ".join(specifiers.storage)
        attributes: Pieces = [self.tokens[begin:end] for begin, end in specifiers.attributes]
        return [*out, at_line(name), words, *attributes, self.declare(signature, name.text), *inside]

    def _static_assert(self, node: Node) -> Pieces:
        return self.copy(node)

    def _declarator(self, node: Node) -> Pieces:
        init = node.data.get("init")
        return self.copy(node, lambda kid: self.initial(kid) if kid is init else self.value(kid))

    # -- statements ---------------------------------------------------------------------------------------------------

    def _pragma(self, node: Node) -> Pieces:
        return [] if node.data["upc"] else self.copy(node)

    def _expression(self, node: Node) -> Pieces:
        return self.copy(node, self.effect)

    def _while(self, node: Node) -> Pieces:
        return self.waits(node, lambda: self.copy(node))

    _do = _while

    def _for(self, node: Node) -> Pieces:
        return self.waits(node, lambda: self.for_loop(node))

    def for_loop(self, node: Node) -> Pieces:
        blocks = self.loop_in_blocks(node)
        if blocks is not None:
            return blocks
        first = node.kids[0]
        if first.kind == "declaration" and any(self.is_changed(kid) for kid in first.data["list"]):
            rest = Node("kept", first.end, node.end, node.kids[1:])
            return ["{", self.value(first), *self.tokens[node.start : node.start + 2], ";", *self.copy(rest), "}"]
        return self.copy(node)

    def _upc(self, node: Node) -> Pieces:
        word = node.data["word"]
        first = at_line(self.tokens[node.start])
        if word == "upc_fence":
            return [first, "isthmus_upc_fence();"]
        value: Pieces = [self.value(node.kids[0])] if node.kids else ["0"]
        return [first, f"isthmus_{word}({len(node.kids)}, (int)(", *value, "));"]

    def _forall(self, node: Node) -> Pieces:
        data = node.data
        affinity = data["affinity"]
        dealt = affinity is not None and not data["inside"]
        deal = self.deal(node) if dealt else None
        self.count += 1
        outer = f"isthmus_upc_outer_{self.count}"
        silent, self.silent = self.silent, self.silent or deal is not None
        tests = self.waits(node, lambda: self.tested(node, outer if dealt and not deal else None))
        self.silent = silent
        if not dealt:
            return ["{", tests, "}"]
        control = f"const int {outer} = isthmus_upc_control; isthmus_upc_control = 1;"
        if deal is not None:
            tests = [f"if (__builtin_expect({outer}, 0)) {{", tests, "} else {", self.counted(node, deal), "}"]
        return ["{", control, tests, f"isthmus_upc_control = {outer};", "}"]

    def tested(self, node: Node, outer: str | None) -> Pieces:
        """As a loop of C; ``outer`` is said where iterations are this thread's or not."""
        data = node.data
        out: Pieces = []
        if data["declaration"] is not None:
            out.append(self.value(data["declaration"]))
        test = self.value(data["test"]) if data["test"] else []
        step = self.effect(data["step"]) if data["step"] else []
        init = self.effect(data["init"]) if data["init"] else []
        out += [at_line(self.tokens[node.start]), "for (", init, ";", test, ";", step, ")"]
        if outer:
            out += [f"if ({outer} ||", self.is_mine(data["affinity"]), ")"]
        return [*out, self.value(data["body"])]

    def is_mine(self, affinity: Node) -> Pieces:
        if is_pointer_to_shared(decayed(affinity.type)):
            return ["isthmus_upc_is_mine(", self.value(affinity), ")"]
        return ["isthmus_upc_is_turn((int64_t)(", self.value(affinity), f"), {self.ranks})"]


def is_constant(node: Node) -> bool:
    return Initializers.is_constant(_ANY, node)


class _Any(Initializers):
    def __init__(self) -> None:
        pass


_ANY = _Any()
__all__ = ["STAR", "Emission"]
