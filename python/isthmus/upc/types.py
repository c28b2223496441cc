"""Types of C with the qualifiers of UPC, and how they are written in C.

A pointer to shared memory is an ``isthmus_shared``; what it points to, and how that is dealt out, is known here alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tokens import Token

STAR = -1  #: block size ``[*]``, until the dimensions are known
POINTER = "isthmus_shared"


@dataclass(frozen=True)
class Shared:
    """The qualifier: block size (0: without an end) and whether accesses are strict; None: as the pragma says."""

    block: int = 1
    strict: bool | None = None
    given: bool = False  #: whether the block size is written down


@dataclass(frozen=True, eq=False)
class Dimension:
    """Of an array: the expression, what it is where that is known, and how often THREADS is a factor of it.

    With a static number of threads, ``value`` has it in it and ``threads`` is 0."""

    node: Any = None
    value: int | None = None
    threads: int = 0


@dataclass(eq=False)
class Record:
    """A struct or a union."""

    word: str
    tag: str
    members: list[tuple[str, Type, bool]] | None = None  #: name, type, whether it is a bit-field
    attributes: bool = False


@dataclass(frozen=True, eq=False)
class Type:
    kind: str  #: void basic pointer array function record enum unknown
    name: str = ""  #: of basic types and enums
    of: Type | None = None
    dimension: Dimension | None = None
    parameters: tuple[tuple[str, Type, Token | None], ...] | None = None
    variadic: bool = False
    record: Record | None = None
    qualifiers: frozenset[str] = field(default_factory=frozenset)
    shared: Shared | None = None

    @property
    def target(self) -> Type:
        assert self.of is not None
        return self.of


UNKNOWN = Type("unknown", "int")
VOID = Type("void", "void")
INT = Type("basic", "int")
UNSIGNED = Type("basic", "unsigned int")
LONG = Type("basic", "long")
SIZE = Type("basic", "unsigned long")
DOUBLE = Type("basic", "double")
CHAR = Type("basic", "char")


def pointer_to(of: Type) -> Type:
    return Type("pointer", of=of)


def ultimate(of: Type) -> Type:
    """The type of the elements of arrays of arrays."""
    while of.kind == "array":
        of = of.target
    return of


def is_shared(of: Type) -> bool:
    return ultimate(of).shared is not None


def is_pointer_to_shared(of: Type) -> bool:
    return of.kind == "pointer" and is_shared(of.target)


def private(of: Type) -> Type:
    """The type of a value: without qualifiers of its own."""
    if of.kind == "array":
        return replace(of, of=private(of.target))
    return replace(of, shared=None, qualifiers=frozenset()) if of.shared or of.qualifiers else of


def share(of: Type, shared: Shared) -> Type:
    if of.kind == "array":
        return replace(of, of=share(of.target, shared))
    return replace(of, shared=shared)


def block_of(of: Type) -> int:
    shared = ultimate(of).shared
    assert shared is not None
    return shared.block


def decayed(of: Type) -> Type:
    """What an expression of this type is as a value."""
    if of.kind == "array":
        return pointer_to(of.target)
    if of.kind == "function":
        return pointer_to(of)
    return of


def involves_shared(of: Type, seen: int = 0) -> bool:
    """Whether it cannot be written in C as it stands."""
    if of.shared is not None:
        return True
    if of.of is not None and involves_shared(of.of, seen + 1):
        return True
    return any(involves_shared(parameter, seen + 1) for _, parameter, _ in of.parameters or ())


def arithmetic(left: Type, right: Type) -> Type:
    """The usual arithmetic conversions, as far as anything here depends on them."""
    if left.kind == "unknown" or right.kind == "unknown":
        return UNKNOWN
    for rank in ("_Complex", "long double", "double", "float", "__int128", "unsigned long", "long"):
        for side in (left, right):
            if rank in side.name:
                return Type("basic", side.name)
    if "unsigned" in left.name.split() and "int" in left.name.split():
        return left
    if "unsigned" in right.name.split() and "int" in right.name.split():
        return right
    return INT
