"""Declarations: types are read, names are made known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .initializers import Initializers
from .reader import BASIC, DECLARATION_WORDS, QUALIFIERS, STORAGE
from .tokens import Token
from .tree import Node, Symbol
from .types import (
    INT,
    STAR,
    UNKNOWN,
    VOID,
    Dimension,
    Record,
    Shared,
    Type,
    block_of,
    is_pointer_to_shared,
    is_shared,
    pointer_to,
    share,
    ultimate,
)


@dataclass
class Specifiers:
    """What stands before the declarators."""

    type: Type = INT
    storage: list[str] = field(default_factory=list)
    kids: list[Node] = field(default_factory=list)  #: structs, unions and enums that are defined in it
    attributes: list[tuple[int, int]] = field(default_factory=list)


class Declarations(Initializers):
    anonymous = 0

    def specifiers(self) -> Specifiers:
        found = Specifiers()
        words: list[str] = []
        qualifiers: set[str] = set()
        shared: Shared | None = None
        strict: bool | None = None
        base: Type | None = None
        begin = self.at
        while True:
            word, start = self.word, self.at
            if self.kind != "name":
                break
            if word in STORAGE:
                found.storage.append(word)
                self.at += 1
            elif word in QUALIFIERS:
                qualifiers.add(word)
                self.at += 1
                if word == "_Atomic" and self.word == "(":
                    self.fail("_Atomic(type) is not translated: write _Atomic before the type", start)
            elif word == "shared":
                self.at += 1
                shared = self.merged(shared, self.layout_qualifier(), begin)
            elif word in ("strict", "relaxed"):
                if strict is not None and strict != (word == "strict"):
                    self.fail("'strict' and 'relaxed' exclude each other")
                strict = word == "strict"
                self.at += 1
            elif word in BASIC:
                words.append(word)
                self.at += 1
            elif word == "void" and base is None:
                base = VOID
                self.at += 1
            elif word in ("struct", "union") and base is None:
                base = self.record(found.kids)
            elif word == "enum" and base is None:
                base = self.enum(found.kids)
            elif word == "typeof" and base is None:
                self.at += 1
                self.expect("(")
                base = self.type_name() if self.is_type_name() else self.expression().type
                self.expect(")")
            elif word == "__builtin_va_list" and base is None and not words:
                base = Type("unknown", word)
                self.at += 1
            elif word == "__auto_type":
                base = UNKNOWN
                self.at += 1
            elif word in ("__attribute__", "__extension__"):
                if self.skip_attributes():
                    found.attributes.append((start, self.at))
            elif word == "_Alignas":
                self.at += 1
                self.skip_parentheses()
                found.attributes.append((start, self.at))
            else:
                symbol = self.scope.find(word)
                if symbol is None or symbol.kind != "typedef" or base is not None or words:
                    break
                base = symbol.type
                self.at += 1
        if base is None:
            base = Type("basic", " ".join(words)) if words else INT
        if strict is not None and shared is None and not is_shared(base):
            self.fail(f"'{'strict' if strict else 'relaxed'}' qualifies shared types alone", begin)
        if shared is not None or strict is not None:
            if base.kind == "function":
                self.fail("a function cannot be shared", begin)
            merged = self.merged(ultimate(base).shared, shared, begin) or Shared()
            if base.kind == "void" and merged.given and merged.block not in (0, 1):
                self.fail("shared void has no block size", begin)
            if strict is not None:
                if merged.strict not in (None, strict):
                    self.fail("'strict' and 'relaxed' exclude each other", begin)
                merged = replace(merged, strict=strict)
            base = share(base, merged)
        if qualifiers:
            base = self.qualified(base, qualifiers)
        found.type = base
        return found

    def qualified(self, of: Type, qualifiers: set[str]) -> Type:
        if of.kind == "array":
            return replace(of, of=self.qualified(of.target, qualifiers))
        return replace(of, qualifiers=of.qualifiers | qualifiers)

    def layout_qualifier(self) -> Shared:
        """What stands behind ``shared``."""
        given = self.word == "[" and self.kind == "sign"
        return Shared(self.block_size() if given else 1, given=given)

    def merged(self, one: Shared | None, other: Shared | None, at: int) -> Shared | None:
        """Two qualifiers of one type."""
        if one is None or other is None:
            return one or other
        if one.given and other.given and one.block != other.block:
            self.fail("the type has another block size already", at)
        chosen = one if one.given else other
        return replace(chosen, strict=one.strict if other.strict is None else other.strict)

    def block_size(self) -> int:
        """``[B]``, ``[*]`` or ``[]``."""
        self.expect("[")
        if self.accept("]"):
            return 0
        if self.word == "*" and self.ahead() == "]":
            self.at += 2
            return STAR
        start = self.at
        size = self.assignment()
        self.expect("]")
        if size.constant is None or size.threads:
            self.fail("the block size is not a constant known to the translator", start)
        if not 0 <= size.constant < 2**31:
            self.fail(f"the block size is {size.constant}: must be 0 to UPC_MAX_BLOCK_SIZE, {2**31 - 1}", start)
        return size.constant

    def record(self, kids: list[Node]) -> Type:
        start, word = self.at, self.word
        self.at += 1
        attributes = self.skip_attributes()
        tag = ""
        if self.kind == "name":
            tag = self.tokens[self.at].text
            self.at += 1
        if self.word != "{":
            found = self.scope.find_tag(tag)
            if self.word == ";" and tag not in self.scope.tags[-1]:
                found = None
            if found is None:
                found = Record(word, tag)
                self.scope.tags[-1][tag] = found
            return Type("record", record=found)
        named = bool(tag)
        if not tag:
            Declarations.anonymous += 1
            tag = f"isthmus_upc_{word}_{Declarations.anonymous}"
        found = self.scope.tags[-1].get(tag)
        if found is None or found.members is not None:
            found = Record(word, tag)
            self.scope.tags[-1][tag] = found
        body = self.at
        self.at += 1
        members: list[tuple[str, Type, bool]] = []
        fields: list[Node] = []
        while not self.accept("}"):
            if self.accept(";"):
                continue
            if self.kind == "pragma":
                self.at += 1
                continue
            fields.append(self.members(members))
        found.members = members
        found.attributes = self.skip_attributes() or attributes
        kids.append(Node("record", start, self.at, fields, Type("record", record=found), named=named, body=body))
        return Type("record", record=found)

    def members(self, members: list[tuple[str, Type, bool]]) -> Node:
        start = self.at
        if self.word == "_Static_assert":
            while not self.accept(";"):
                self.at += 1
            return Node("static_assert", start, self.at)
        specifiers = self.specifiers()
        list_of: list[Node] = []
        if self.word == ";":  # a struct without a name whose members are those of this one
            members.append(("", specifiers.type, False))
        while self.word != ";":
            begin = self.at
            self.sizes = []
            name, of, _ = self.declarator(specifiers.type)
            sizes = sorted(self.sizes, key=lambda kid: kid.start)
            bits: Node | None = None
            if self.accept(":"):
                bits = self.conditional()
            if self.skip_attributes():
                specifiers.attributes.append((0, 0))
            if is_shared(of):
                self.fail("a member of a struct cannot be shared: declare the struct shared, or a pointer", begin)
            members.append((name.text if name else "", of, bits is not None))
            symbol = Symbol("variable", name.text if name else "", of, "", False)
            list_of.append(
                Node("declarator", begin, self.at, [*sizes, *([bits] if bits else [])], of, symbol=symbol, bits=bits)
            )
            if not self.accept(","):
                break
        self.expect(";")
        return self.node("declaration", start, [*specifiers.kids, *list_of], VOID, specifiers=specifiers, list=list_of)

    def enum(self, kids: list[Node]) -> Type:
        start = self.at
        self.at += 1
        self.skip_attributes()
        tag = ""
        if self.kind == "name":
            tag = self.word
            self.at += 1
        if self.word != "{":
            return Type("enum", f"enum {tag}")
        named = bool(tag)
        if not tag:
            Declarations.anonymous += 1
            tag = f"isthmus_upc_enum_{Declarations.anonymous}"
        body = self.at
        self.at += 1
        value: int | None = -1
        inside: list[Node] = []
        while not self.accept("}"):
            name = self.tokens[self.at].text
            self.at += 1
            self.skip_attributes()
            if self.accept("="):
                expression = self.conditional()
                inside.append(expression)
                value = expression.constant if not expression.threads else None
            elif value is not None:
                value += 1
            self.scope.add(Symbol("constant", name, INT, "", False, value))
            if not self.accept(","):
                self.expect("}")
                break
        self.skip_attributes()
        kids.append(Node("enum", start, self.at, inside, named=named, body=body, tag=tag))
        return Type("enum", f"enum {tag}")

    def declarator(self, base: Type) -> tuple[Token | None, Type, list[Symbol]]:
        """The name, if it has one, its type, and the parameters of a function that may be defined."""
        self.skip_attributes()
        while self.accept("*"):
            if is_shared(base) and block_of(base) == STAR:
                self.fail("block size [*] is for arrays, not for what pointers point to")
            base = pointer_to(base)
            qualifiers: set[str] = set()
            while self.kind == "name" and (self.word in QUALIFIERS or self.word in ("shared", "strict", "relaxed")):
                if self.accept("shared"):
                    merged = self.merged(base.shared, self.layout_qualifier(), self.at)
                    assert merged is not None
                    base = share(base, merged)
                elif self.word in ("strict", "relaxed"):
                    if base.shared is None and "shared" not in self.words[self.at + 1 : self.at + 2]:
                        self.fail(f"{self.word!r} qualifies shared types alone")
                    base = share(base, replace(base.shared or Shared(), strict=self.word == "strict"))
                    self.at += 1
                else:
                    qualifiers.add(self.word)
                    self.at += 1
            self.skip_attributes()
            if qualifiers:
                base = self.qualified(base, qualifiers)
        if self.word == "(" and self.kind == "sign" and self._is_nested():
            begin = self.at
            self.skip_parentheses()
            of, _ = self.suffixes(base)
            end = self.at
            self.at = begin + 1
            name, of, parameters = self.declarator(of)
            self.expect(")")
            self.at = end
            return name, of, parameters
        name = None
        if self.kind == "name" and self.word not in DECLARATION_WORDS:
            name = self.tokens[self.at]
            self.at += 1
        of, symbols = self.suffixes(base)
        self.skip_attributes()
        return name, self.dealt_out(of), symbols

    def dealt_out(self, of: Type) -> Type:
        """Block size ``[*]`` of an array whose dimensions are known."""
        shared = ultimate(of).shared
        if shared is None or shared.block != STAR or of.kind == "pointer":
            return of
        total, threads, look = 1, 0, of
        while look.kind == "array":
            dimension = look.dimension
            if look is of and dimension is not None and dimension.node is None and dimension.value is None:
                return of  # the initialiser says how many
            if dimension is None or dimension.value is None:
                self.fail("block size [*] needs an array whose dimensions are known")
            total *= dimension.value
            threads += dimension.threads
            look = look.target
        if threads > 1 or (threads == 0 and self.threads is None and of.kind == "array"):
            self.fail("block size [*] needs THREADS once among the dimensions, unless -T gives the number of threads")
        block = total if threads else (total + (self.threads or 1) - 1) // (self.threads or 1)
        return share(of, replace(shared, block=block if of.kind == "array" else 1))

    def _is_nested(self) -> bool:
        after = self.ahead()
        if self.tokens[self.at + 1].kind == "name":
            return (after not in DECLARATION_WORDS and not self.is_type_name(self.at + 1)) or after == "__attribute__"
        return after in ("*", "(", "[", "^")

    def suffixes(self, base: Type) -> tuple[Type, list[Symbol]]:
        """Dimensions and parameters behind a name, the first of which is the outermost."""
        if self.word == "[" and self.kind == "sign":
            self.at += 1
            while self.word in ("static", *QUALIFIERS):
                self.at += 1
            if self.accept("]"):
                dimension = Dimension()
            elif self.word == "*" and self.ahead() == "]":
                self.at += 2
                dimension = Dimension()
            else:
                kept, self.sizes = self.sizes, []
                size = self.assignment()
                self.sizes = [*kept, size]
                dimension = Dimension(size, size.constant, size.threads)
                self.expect("]")
            of, _ = self.suffixes(base)
            return Type("array", of=of, dimension=dimension), []
        if self.word == "(" and self.kind == "sign":
            self.at += 1
            parameters, variadic, symbols = self.parameters()
            self.expect(")")
            self.skip_attributes()
            of, _ = self.suffixes(base)
            if is_shared(of):
                self.fail("a function cannot return a shared value, but it can return a pointer to shared")
            return Type("function", of=of, parameters=parameters, variadic=variadic), symbols
        return base, []

    def parameters(self) -> tuple[tuple[tuple[str, Type, Token | None], ...] | None, bool, list[Symbol]]:
        if self.word == ")":
            return None, True, []
        if self.word == "void" and self.ahead() == ")":
            self.at += 1
            return (), False, []
        found: list[tuple[str, Type, Token | None]] = []
        symbols: list[Symbol] = []
        if self.kind == "name" and not self.is_type_name():  # names alone: the old style
            while True:
                symbols.append(Symbol("variable", self.word, INT, "", False))
                self.at += 1
                if not self.accept(","):
                    return None, True, symbols
        variadic = False
        self.scope.push()
        while True:
            if self.accept("..."):
                variadic = True
                break
            begin = self.at
            specifiers = self.specifiers()
            name, of, _ = self.declarator(specifiers.type)
            if of.kind in ("array", "function"):
                of = pointer_to(of.target if of.kind == "array" else of)
            elif is_shared(of):
                self.fail("a parameter cannot be shared, but it can be a pointer to shared", begin)
            found.append((name.text if name else "", of, name))
            symbol = Symbol("variable", name.text if name else "", of, "", False)
            symbols.append(symbol)
            if name:
                self.scope.add(symbol)
            if not self.accept(","):
                break
        self.scope.pop()
        return tuple(found), variadic, symbols

    def type_name(self) -> Type:
        specifiers = self.specifiers()
        _, of, _ = self.declarator(specifiers.type)
        return of

    # -- declarations ------------------------------------------------------------------------------------------------

    def declaration(self) -> Node:
        """A declaration, or the definition of a function."""
        start = self.at
        if self.word == "_Static_assert":
            while not self.accept(";"):
                self.at += 1
            return self.node("static_assert", start, [], VOID)
        specifiers = self.specifiers()
        list_of: list[Node] = []
        while self.word != ";":
            begin = self.at
            self.sizes = []
            name, of, parameters = self.declarator(specifiers.type)
            if name is None:
                self.fail(f"{self.shown()} where a name was expected")
            attributes = self.at
            self.skip_attributes()
            if (
                of.kind == "function"
                and self.scope.at_file_level
                and (self.word == "{" or (of.parameters is None and self.is_type_name()))
            ):
                return self.function_definition(start, specifiers, begin, name, of, parameters)
            node = self.init_declarator(specifiers, begin, name, of, (attributes, self.at))
            list_of.append(node)
            if not self.accept(","):
                break
            self.skip_attributes()
        self.expect(";")
        return self.node("declaration", start, [*specifiers.kids, *list_of], VOID, specifiers=specifiers, list=list_of)

    def init_declarator(
        self, specifiers: Specifiers, begin: int, name: Token, of: Type, attributes: tuple[int, int]
    ) -> Node:
        storage = next((word for word in specifiers.storage if word in ("typedef", "extern", "static", "register")), "")
        sizes = sorted(self.sizes, key=lambda kid: kid.start)
        outside = self.scope.at_file_level
        kind = "typedef" if storage == "typedef" else "function" if of.kind == "function" else "variable"
        if kind == "variable" and is_shared(of):
            if not outside and storage not in ("static", "extern"):
                self.fail(
                    f"{name.text!r} is shared and automatic: shared variables are static, or outside functions", begin
                )
            if self.word != "=":
                self.check_layout(name.text, of, begin)
            if of.kind != "array" and ultimate(of).kind == "void":
                self.fail(f"{name.text!r} has the type shared void", begin)
            record = ultimate(of).record
            if record is not None and record.members is None and storage != "extern":
                self.fail(f"{name.text!r} has an incomplete type", begin)
        if kind == "function" and is_shared(of.target):
            self.fail("a function cannot return a shared value, but it can return a pointer to shared", begin)
        if kind == "function":
            self.check_same(name.text, of, begin)
        symbol = Symbol(kind, name.text, of, storage, outside)
        before = self.scope.names[-1].get(name.text)
        self.scope.add(symbol)
        open_ = of.kind == "array" and of.dimension is not None and of.dimension.node is None
        if open_ and kind == "variable" and before is not None and before.type.kind == "array":
            symbol.type = before.type  # the dimension was given before
        init = None
        if self.accept("="):
            static = kind == "variable" and (outside or storage == "static")
            init = self.initializer(of, static)
            if of.kind == "array" and of.dimension is not None and of.dimension.node is None:
                count = init.data.get("count")
                symbol.type = of = self.dealt_out(replace(of, dimension=Dimension(None, count)))
                if is_shared(of):
                    self.check_layout(name.text, of, begin)
        kids = [*sizes, init] if init else sizes
        return self.node(
            "declarator", begin, kids, symbol.type, symbol=symbol, init=init, attributes=attributes, outside=outside
        )

    def check_same(self, name: str, of: Type, begin: int) -> None:
        """C sees no difference between pointers to shared, so functions with different ones are refused here."""
        before = self.scope.find(name)
        if before is None or before.kind != "function":
            return
        pairs = [(before.type.target, of.target)]
        pairs += [
            (one[1], other[1]) for one, other in zip(before.type.parameters or (), of.parameters or (), strict=False)
        ]
        for one, other in pairs:
            if (
                is_pointer_to_shared(one)
                and is_pointer_to_shared(other)
                and block_of(one.target) != block_of(other.target)
            ):
                self.fail(f"{name!r} was declared with pointers to shared with other block sizes", begin)

    def check_layout(self, name: str, of: Type, begin: int) -> None:
        if of.kind != "array":
            return
        look, threads = of, 0
        first = True
        while look.kind == "array":
            dimension = look.dimension
            assert dimension is not None
            if dimension.node is not None:
                if dimension.value is None:
                    self.fail(f"a dimension of {name!r} is not a constant, nor a multiple of THREADS", begin)
                threads += dimension.threads
            elif not first:
                self.fail(f"a dimension of {name!r} is missing", begin)
            else:
                threads += 0 if dimension.value is not None else -1000
            first = False
            look = look.target
        block = block_of_elements(of)
        if block == STAR:
            self.fail(f"block size [*] of {name!r} needs its dimensions", begin)
        if threads == 1 and block == 0:
            self.fail(
                f"THREADS is among the dimensions of {name!r}, whose block size is []: all of it is on one thread",
                begin,
            )
        if threads > 1:
            self.fail(f"THREADS is {threads} times among the dimensions of {name!r}: must be there once", begin)
        if threads == 0 and self.threads is None and block != 0:
            self.fail(
                f"THREADS is not among the dimensions of {name!r}: give the number of threads (-T), or block size []",
                begin,
            )

    def function_definition(
        self, start: int, specifiers: Specifiers, begin: int, name: Token, of: Type, parameters: list[Symbol]
    ) -> Node:
        if is_shared(of.target):
            self.fail("a function cannot return a shared value, but it can return a pointer to shared", begin)
        storage = "static" if "static" in specifiers.storage else ""
        self.check_same(name.text, of, begin)
        self.scope.add(Symbol("function", name.text, of, storage, True))
        self.scope.push()
        header = self.at
        old: list[Node] = []
        known = {symbol.name: symbol for symbol in parameters}
        while self.word != "{":  # declarations of parameters in the old style
            declaration = self.declaration_of_parameters(known)
            old.append(declaration)
        for symbol in parameters:
            self.scope.add(symbol)
        self.scope.add(Symbol("variable", "__func__", pointer_to(Type("basic", "char")), "static", False))
        before, self.function = self.function, of
        self.foralls = []
        body = self.block(own_scope=False)
        self.function = before
        self.scope.pop()
        if old:
            of = replace(
                of, parameters=tuple((symbol.name, symbol.type, None) for symbol in parameters), variadic=False
            )
        return self.node(
            "function", start, [*specifiers.kids, body], of,
            specifiers=specifiers, name=name, name_at=begin, parameters=parameters, header=header, body=body, old=old,
        )  # fmt: skip

    def declaration_of_parameters(self, known: dict[str, Symbol]) -> Node:
        start = self.at
        specifiers = self.specifiers()
        while self.word != ";":
            name, of, _ = self.declarator(specifiers.type)
            if name is None or name.text not in known:
                self.fail("this is not a parameter")
            if of.kind in ("array", "function"):
                of = pointer_to(of.target if of.kind == "array" else of)
            known[name.text].type = of
            if not self.accept(","):
                break
        self.expect(";")
        return self.node("old", start, [], VOID)


def block_of_elements(of: Type) -> int:
    shared = ultimate(of).shared
    return shared.block if shared else 0
