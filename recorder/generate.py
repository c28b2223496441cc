"""Wrappers of all MPI functions that an ``mpi.h`` declares, in C and for Fortran.

``generate.py < preprocessed > wrappers.c``. What each wrapper records is in calls.py; functions that are not there are
timed, or only counted. Nothing is wrapped that the header does not declare, so that one source serves all versions of
MPI. A Fortran wrapper forwards to the Fortran function of the same name, with the same arguments.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from calls import COUNTED, PLAIN, RECORDED

# Not wrapped: they convert handles or ask the library about itself, or are called by it.
_LEFT_OUT = re.compile(r"\w+_(f2c|c2f|f2f08|f082f|c2f08|f082c|fromint|toint)|T_\w+|Aint_\w+|[A-Z0-9_]+")
# Written out below, for they begin and end the recording.
_LIFETIME = ("Init", "Init_thread", "Session_init", "Session_finalize", "Finalize", "Abort", "Pcontrol")
_HANDLES = {
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

    def value(self, token: str, parameter: Parameter) -> str:
        """The C expression that calls.py means by ``{token}``."""
        name, base = parameter.name, parameter.base
        bare = token.rstrip("*[]")
        if bare in ("buf", "sbuf", "rbuf"):
            if not self.fortran:
                return f"({name} == MPI_IN_PLACE)"
            return f"fortran_in_place({f'*(void **){name}' if self.descriptors else name})"
        if bare in ("status", "statuses") or (token.endswith("[]") and base in _HANDLES):
            return f"(struct handles){{{name}, {'true' if self.fortran else 'false'}}}"
        if token.endswith("[]"):
            return f"(struct ints){{{name}, sizeof *{name}}}"
        value = f"*{name}" if self.fortran or token.endswith("*") else name
        if base in _HANDLES and self.fortran:
            value = f"PMPI_{_HANDLES[base]}_f2c({value})"
        return f"HANDLE({value})" if base in ("MPI_Request", "MPI_Message") else value

    def substitutes(self, tokens: list[str], parameters: tuple[Parameter, ...]) -> str:
        """Statements that give the library statuses where the program wants none."""
        out = ""
        for token, p in zip(tokens, parameters, strict=True):
            if token == "status*":
                own = "own_statuses(1)"
                ignored = f"fortran_status_ignored({p.name})" if self.fortran else f"{p.name} == MPI_STATUS_IGNORE"
            elif token == "statuses[]":
                count = parameters[tokens.index("n")].name
                own = f"own_statuses({'*' if self.fortran else ''}{count})"
                ignored = f"fortran_statuses_ignored({p.name})" if self.fortran else f"{p.name} == MPI_STATUSES_IGNORE"
            else:
                continue
            out += f"  if ({ignored}) {p.name} = (void *){own};\n"
        return out

    def statements(self, text: str, tokens: list[str], parameters: tuple[Parameter, ...]) -> str:
        values = {t.rstrip("*[]"): self.value(t, p) for t, p in zip(tokens, parameters, strict=True)}
        text = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], text)
        return re.sub(r"\bBASE\b", "1" if self.fortran else "0", text)


C = Language(fortran=False)


def _recorded(function: Function) -> tuple[list[str], str, str] | None:
    """Tokens and statements of calls.py, unless the header's function is another one than that."""
    if function.name not in RECORDED:
        return None
    parameters, before, after = RECORDED[function.name]
    tokens = parameters.split()
    return (tokens, before, after) if len(tokens) == len(function.parameters) else None


def _timed(function: Function, number: int, language: Language, forward: str, error: str) -> str:
    """The body of a recorded call: ``forward`` calls the library, ``error`` is its result."""
    tokens, before, after = _recorded(function) or ([], "", PLAIN)
    parameters = function.parameters if tokens else ()
    substitutes = language.substitutes(tokens, parameters)
    before = language.statements(before, tokens, parameters)
    after = language.statements(after, tokens, parameters)
    if function.name in ("Type_free", "Op_free"):
        before = f"{function.name.lower()[:-5]}_freed();"
    place = "__builtin_return_address(0), __builtin_frame_address(0)"
    body = f"  struct call call CLEANUP;\n  call_begin(&call, {number}, {place});\n{substitutes}"
    body += f"  {before}\n" if before else ""
    body += f"  {forward}\n  call_end(&call, {error});\n"
    if after == PLAIN:
        return body + f"  {PLAIN}\n"
    return body + f"  if (call.error) {PLAIN[:-1]};\n  else {{ {after} }}\n"


def _lifetime(function: Function, number: int, language: Language, forward: str, error: str) -> str:
    """The body of what begins or ends the recording."""
    name = function.name
    if name in ("Init", "Init_thread", "Session_init"):
        end = f"lifetime_init(begin, {number}, {error});"
        if name == "Session_init":
            session = language.value("session*", function.parameters[-1])
            end = f"lifetime_session(begin, {number}, {error}, {session});"
        return f"  int64_t begin = lifetime_enter();\n  {forward}\n  {end}\n"
    if name in ("Finalize", "Session_finalize"):
        return f"  lifetime_finalize_begin();\n  {forward}\n  lifetime_finalize_end({error});\n"
    if name == "Abort":
        return f"  lifetime_abort();\n  {forward}\n"
    level = language.value("level", function.parameters[0])
    control = f"    depth = 1;\n    regions_control((int){level});\n    depth = 0;\n"
    return f"  if (recording()) {{\n{control}  }}\n  {forward}\n"


def _c(function: Function, number: int) -> str:
    declared = ", ".join(p.declaration for p in function.parameters) or "void"
    given = ", ".join(p.name for p in function.parameters if p.name != "...")
    if function.name == "Pcontrol":
        given = function.parameters[0].name
    call = f"P{function.symbol}({given})"
    head = f"EXPORT {function.returns} {function.symbol}({declared}) {{\n"
    if function.name in _LIFETIME:
        return f"{head}{_lifetime(function, number, C, f'int error = {call};', 'error')}  return error;\n}}\n"
    if _counted(function):
        return f"{head}  if (recording()) count_call({number});\n  return {call};\n}}\n"
    if function.returns != "int":
        return ""
    body = _timed(function, number, C, f"int error = {call};", "error")
    return f"{head}  if (!recording()) return {call};\n{body}  return error;\n}}\n"


def _counted(function: Function) -> bool:
    return function.name not in RECORDED and COUNTED.fullmatch(function.name) is not None


def _fortran_type(p: Parameter) -> str:
    if p.base in ("int", *_HANDLES, "MPI_Info", "MPI_Errhandler"):
        return "MPI_Fint"
    return p.base if p.base in _NUMBERS else "void"


def _fortran(function: Function, number: int, language: Language) -> str:
    lower = f"mpi_{function.name.lower()}"
    symbol = lower + language.suffix
    parameters = tuple(
        Parameter(f"{_fortran_type(p)} *{p.name}", p.name, p.base)
        for p in function.parameters[_FORTRAN_LACKS.get(function.name, 0) :]
        if p.declaration != "..."
    )
    if function.returns == "double":
        return (
            f'EXPORT double {symbol}(void) {{\n  FORTRAN_FUNCTION(real, "{lower}", "{language.suffix}");\n'
            f"  if (recording()) count_call({number});\n  return ((double (*)(void))real)();\n}}\n"
        )
    if function.returns != "int":
        return ""
    # Lengths of strings come last, one for each.
    lengths = [f"length{i}" for i, p in enumerate(parameters) if p.base == "char"]
    with_error = function.name != "Pcontrol"
    names = [p.name for p in parameters] + ["ierror"] * with_error
    declared = [p.declaration for p in parameters] + ["MPI_Fint *ierror"] * with_error
    types = ["void *"] * len(names) + ["size_t"] * len(lengths)
    declared += [f"size_t {length}" for length in lengths]
    head = f"EXPORT void {symbol}({', '.join(declared)}) {{\n"
    head += f'  FORTRAN_FUNCTION(real, "{lower}", "{language.suffix}");\n'
    forward = f"((void (*)({', '.join(types)}))real)({', '.join(names + lengths)});"
    other = Function(function.symbol, function.name, function.large, function.returns, parameters)
    if function.name not in _LIFETIME:
        head += f"  if (!recording()) {{\n    {forward}\n    return;\n  }}\n"
    if with_error and not _counted(function):
        # Fortran 2008 may leave the error out.
        head += "  MPI_Fint own_error = 0;\n  if (!ierror) ierror = &own_error;\n"
    if function.name in _LIFETIME:
        return f"{head}{_lifetime(other, number, language, forward, '(int)*ierror')}}}\n"
    if _counted(function):
        return f"{head}  count_call({number});\n  depth = 1;\n  {forward}\n  depth = 0;\n}}\n"
    return f"{head}{_timed(other, number, language, forward, '(int)*ierror')}}}\n"


def _languages(function: Function) -> list[Language]:
    if function.large:
        both = [Language(True, "_f08_large_")]
        return [*both, Language(True, "_f08ts_large_", True)] if function.choice else both
    out = [Language(True, "_"), Language(True, "_f08_")]
    if function.choice:
        out.append(Language(True, "_f08ts_", True))
    if function.name in ("Win_allocate", "Win_allocate_shared", "Alloc_mem", "Win_shared_query"):
        out.append(Language(True, "_cptr_"))
    return out


def _aliases(function: Function) -> str:
    """Further spellings of compilers; the library's functions are one under all of them."""
    lower = f"mpi_{function.name.lower()}"
    out = ""
    for other in (f"{lower}__", lower.upper()):
        attribute = f'__attribute__((alias("{lower}_"), visibility("default")))'
        out += f"#ifndef {other}\nextern __typeof({lower}_) {other} {attribute};\n#endif\n"
    return out


def generate(preprocessed: str) -> str:
    """The C source of all wrappers.

    Raises ValueError if there is no MPI function in the text.
    """
    functions = prototypes(preprocessed)
    if not functions:
        raise ValueError("the preprocessed header declares no MPI function")
    names = sorted({f.name for f in functions})
    number = {name: i + 1 for i, name in enumerate(names)}
    out = ['/* Generated by generate.py. */\n#include "recorder.h"\n']
    listed = "".join(f',\n    "MPI_{name}"' for name in names)
    out.append(
        f"const char *const function_names[] = {{NULL{listed}}};\nconst unsigned function_count = {len(names)};\n"
    )
    for f in functions:
        out.append(_c(f, number[f.name]))
        made = [_fortran(f, number[f.name], language) for language in _languages(f)]
        out += made
        if made[0] and not f.large:
            out.append(_aliases(f))
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(generate(sys.stdin.read()))
