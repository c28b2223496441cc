"""The functions of an ``mpi.h``, and names and conventions of their Fortran interfaces: what all generators share.

Nothing is known of a function but what the header declares, so that one source serves all versions of MPI.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

# Not wrapped: they convert handles or ask the library about itself, or are called by it.
_LEFT_OUT = re.compile(r"\w+_(f2c|c2f|f2f08|f082f|c2f08|f082c|fromint|toint)|T_\w+|Aint_\w+|[A-Z0-9_]+")
HANDLES = {
    "MPI_Comm": "Comm",
    "MPI_Datatype": "Type",
    "MPI_Request": "Request",
    "MPI_Win": "Win",
    "MPI_Group": "Group",
    "MPI_Message": "Message",
    "MPI_File": "File",
    "MPI_Session": "Session",
    "MPI_Op": "Op",
}
_NUMBERS = ("MPI_Aint", "MPI_Offset", "MPI_Count")
_FORTRAN_LACKS = {"Init": 2, "Init_thread": 2}


@dataclass(frozen=True)
class Parameter:
    """One of a C prototype: its declaration with a name, the name, the type without qualifiers and stars."""

    declaration: str
    name: str
    base: str


@dataclass(frozen=True)
class Function:
    """A prototype; ``name`` is without ``MPI_`` and without the ``_c`` of large counts."""

    symbol: str
    name: str
    large: bool
    returns: str
    parameters: tuple[Parameter, ...]

    @property
    def choice(self) -> bool:
        """Whether buffers are among the arguments, which Fortran 2018 passes as descriptors."""
        return any(p.base == "void" for p in self.parameters)


def _without_attributes(text: str) -> str:
    out = []
    at = 0
    for match in re.finditer(r"__attribute__\s*\(", text):
        if match.start() < at:
            continue
        out.append(text[at : match.start()])
        level, at = 1, match.end()
        while level:
            level += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    return "".join(out) + text[at:]


def _split(text: str) -> list[str]:
    parts, level = [""], 0
    for character in text:
        level += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def _parameter(text: str, number: int) -> Parameter:
    text = " ".join(text.split())
    if text == "...":
        return Parameter(text, text, text)
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", text)
    if pointer:
        return Parameter(text, pointer[1], "function")
    bare = text.split("[")[0]
    words = re.findall(r"\w+", bare)
    typed = [word for word in words if word not in ("const", "struct", "unsigned")]
    if bare.rstrip().endswith("*") or len(typed) < 2:
        # Without a name.
        name = f"a{number}"
        text = f"{bare} {name}{text[len(bare) :]}"
        return Parameter(text, name, typed[0])
    return Parameter(text, words[-1], typed[0])


def prototypes(preprocessed: str) -> list[Function]:
    """All MPI functions with a PMPI name, in the order of the header."""
    text = _without_attributes(re.sub(r"^\s*#.*$", "", preprocessed, flags=re.MULTILINE))
    text = re.sub(r"\s+", " ", text)
    pattern = re.compile(
        r"(?:^|[;}])\s*(?:extern\s+)?(int|double|MPI_Aint)\s+(P?MPI_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?=;)"
    )
    profiled, functions = set(), []
    for match in pattern.finditer(text):
        returns, symbol, arguments = match[1], match[2], match[3]
        if symbol.startswith("P"):
            profiled.add(symbol[1:])
            continue
        name = symbol.removeprefix("MPI_")
        large = name.endswith("_c")
        parameters = tuple(_parameter(part, i) for i, part in enumerate(_split(arguments)))
        functions.append(Function(symbol, name.removesuffix("_c"), large, returns, parameters))
    kept = {f.symbol: f for f in functions if f.symbol in profiled and not _LEFT_OUT.fullmatch(f.name)}
    return list(kept.values())


@dataclass(frozen=True)
class Language:
    """The calling convention of one kind of wrapper: C, or one of the Fortran interfaces."""

    fortran: bool
    suffix: str = ""
    descriptors: bool = False


AnyLanguage = TypeVar("AnyLanguage", bound=Language)


def fortran_languages(function: Function, make: Callable[[bool, str, bool], AnyLanguage]) -> list[AnyLanguage]:
    """The Fortran interfaces of a function."""
    if function.large:
        both = [make(True, "_f08_large_", False)]
        return [*both, make(True, "_f08ts_large_", True)] if function.choice else both
    out = [make(True, "_", False), make(True, "_f08_", False)]
    if function.choice:
        out.append(make(True, "_f08ts_", True))
    if function.name in ("Win_allocate", "Win_allocate_shared", "Alloc_mem", "Win_shared_query"):
        out.append(make(True, "_cptr_", False))
    return out


@dataclass(frozen=True)
class FortranEntry:
    """A Fortran function of MPI: ``head`` begins its definition, ``forward`` calls the library's own."""

    head: str
    forward: str
    parameters: tuple[Parameter, ...]
    with_error: bool

    def forward_with(self, given: Mapping[str, str]) -> str:
        """``forward`` with other arguments in the places of some, by their names."""
        called, arguments = self.forward.rsplit("(", 1)
        names = arguments.removesuffix(");").split(", ")
        return f"{called}({', '.join(given.get(name, name) for name in names)});"


def _fortran_type(p: Parameter) -> str:
    if p.base in ("int", *HANDLES, "MPI_Info", "MPI_Errhandler"):
        return "MPI_Fint"
    return p.base if p.base in _NUMBERS else "void"


def fortran_entry(function: Function, language: Language) -> FortranEntry:
    """How a function with a status is called from Fortran."""
    lower = f"mpi_{function.name.lower()}"
    parameters = tuple(
        Parameter(f"{_fortran_type(p)} *{p.name}", p.name, p.base)
        for p in function.parameters[_FORTRAN_LACKS.get(function.name, 0) :]
        if p.declaration != "..."
    )
    # Lengths of strings come last, one for each.
    lengths = [f"length{i}" for i, p in enumerate(parameters) if p.base == "char"]
    with_error = function.name != "Pcontrol"
    names = [p.name for p in parameters] + ["ierror"] * with_error
    declared = [p.declaration for p in parameters] + ["MPI_Fint *ierror"] * with_error
    types = ["void *"] * len(names) + ["size_t"] * len(lengths)
    declared += [f"size_t {length}" for length in lengths]
    head = f"EXPORT void {lower}{language.suffix}({', '.join(declared)}) {{\n"
    head += f'  FORTRAN_FUNCTION(real, "{lower}", "{language.suffix}");\n'
    forward = f"((void (*)({', '.join(types)}))real)({', '.join(names + lengths)});"
    return FortranEntry(head, forward, parameters, with_error)


def fortran_aliases(function: Function) -> str:
    """Further spellings of compilers; the library's functions are one under all of them."""
    lower = f"mpi_{function.name.lower()}"
    out = ""
    for other in (f"{lower}__", lower.upper()):
        attribute = f'__attribute__((alias("{lower}_"), visibility("default")))'
        out += f"#ifndef {other}\nextern __typeof({lower}_) {other} {attribute};\n#endif\n"
    return out
