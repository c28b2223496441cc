"""What all parts of the parser use: the next word, names, errors."""

from __future__ import annotations

from typing import NoReturn

from .messages import UpcError, place
from .tokens import Token
from .tree import Node, Scope
from .types import Type

#: Spellings of GNU C for words of C.
SPELLINGS = {
    "__const": "const",
    "__const__": "const",
    "__volatile": "volatile",
    "__volatile__": "volatile",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__signed__": "signed",
    "__signed": "signed",
    "__typeof__": "typeof",
    "__typeof": "typeof",
    "__asm__": "asm",
    "__asm": "asm",
    "__alignof__": "_Alignof",
    "__alignof": "_Alignof",
    "__attribute": "__attribute__",
    "__complex__": "_Complex",
    "__thread": "_Thread_local",
}


class Reader:
    """Words one after the other; ``threads`` is the static number of threads, or None."""

    def __init__(self, tokens: list[Token], threads: int | None) -> None:
        self.tokens = tokens
        self.words = [SPELLINGS.get(token.text, token.text) for token in tokens]
        for at, token in enumerate(tokens):
            if token.kind == "plain":
                self.words[at] = f"plain {token.text}"
                token.kind = "name"
        self.at = 0
        self.threads = threads
        self.scope = Scope()
        self.strict = False
        self.strict_before: list[bool] = []
        self.function: Type | None = None
        #: Loops around this place that deal out iterations, innermost last: whether their affinity is not ``continue``.
        self.foralls: list[bool] = []
        self.sizes: list[Node] = []  #: dimensions of the declarator that is read

    @property
    def word(self) -> str:
        return self.words[self.at]

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def ahead(self, by: int = 1) -> str:
        return self.words[min(self.at + by, len(self.words) - 1)]

    def accept(self, word: str) -> bool:
        if self.words[self.at] == word and self.tokens[self.at].kind not in ("string", "character"):
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail(f"{self.shown()} where {word!r} was expected")

    def shown(self) -> str:
        return "the end of the file" if self.kind == "end" else repr(self.tokens[self.at].text)

    def where(self, at: int) -> str:
        token = self.tokens[at]
        before, look = 0, at - 1
        while look >= 0 and self.tokens[look].line == token.line and self.tokens[look].file == token.file:
            before += self.tokens[look].text == token.text
            look -= 1
        return place(token, before)

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        raise UpcError(f"{self.where(self.at if at is None else at)}: {what}")

    def skip_parentheses(self) -> None:
        """From an opening bracket to behind the closing one."""
        depth = 0
        begin = self.at
        while True:
            if self.kind == "end":
                self.fail("this bracket is not closed", begin)
            if self.kind == "sign":
                if self.word in "([{":
                    depth += 1
                elif self.word in ")]}":
                    depth -= 1
            self.at += 1
            if depth == 0:
                return

    def skip_attributes(self) -> bool:
        found = False
        while self.word in ("__attribute__", "asm", "__extension__"):
            found = found or self.word == "__attribute__"
            self.at += 1
            if self.words[self.at - 1] != "__extension__":
                if self.word in ("volatile", "goto"):
                    self.at += 1
                self.skip_parentheses()
        return found

    def is_type_name(self, at: int | None = None) -> bool:
        token = self.tokens[self.at if at is None else at]
        if token.kind != "name":
            return False
        word = self.words[self.at if at is None else at]
        if word in DECLARATION_WORDS:
            return True
        symbol = self.scope.find(word)
        return symbol is not None and symbol.kind == "typedef"

    def node(self, kind: str, start: int, kids: list[Node], of: Type, /, **data: object) -> Node:
        node = Node(kind, start, self.at, kids, of, **data)
        node.strict = self.strict
        return node


STORAGE = frozenset(["typedef", "extern", "static", "auto", "register", "inline", "_Noreturn", "_Thread_local"])
QUALIFIERS = frozenset(["const", "volatile", "restrict", "_Atomic"])
BASIC = frozenset(
    [
        "char",
        "short",
        "int",
        "long",
        "float",
        "double",
        "signed",
        "unsigned",
        "_Bool",
        "_Complex",
        "__int128",
        "__int128_t",
        "__uint128_t",
        "_Float16",
        "_Float32",
        "_Float64",
        "_Float128",
        "_Float32x",
        "_Float64x",
        "__float128",
        "__float80",
        "__bf16",
    ]
)
OTHER = frozenset(
    [
        "void",
        "struct",
        "union",
        "enum",
        "typeof",
        "__builtin_va_list",
        "shared",
        "strict",
        "relaxed",
        "__extension__",
        "__attribute__",
        "_Alignas",
        "__auto_type",
    ]
)
DECLARATION_WORDS = STORAGE | QUALIFIERS | BASIC | OTHER
