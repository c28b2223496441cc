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
from functions import (
    HANDLES,
    Function,
    Language,
    Parameter,
    fortran_aliases,
    fortran_entry,
    fortran_languages,
    prototypes,
)

# Written out below, for they begin and end the recording.
_LIFETIME = ("Init", "Init_thread", "Session_init", "Session_finalize", "Finalize", "Abort", "Pcontrol")


@dataclass(frozen=True)
class Wrapping(Language):
    """What statements of calls.py become in one calling convention."""

    def value(self, token: str, parameter: Parameter) -> str:
        """The C expression that calls.py means by ``{token}``."""
        name, base = parameter.name, parameter.base
        bare = token.rstrip("*[]")
        if bare in ("buf", "sbuf", "rbuf"):
            if not self.fortran:
                return f"({name} == MPI_IN_PLACE)"
            return f"fortran_in_place({f'*(void **){name}' if self.descriptors else name})"
        if bare in ("status", "statuses") or (token.endswith("[]") and base in HANDLES):
            return f"(struct handles){{{name}, {'true' if self.fortran else 'false'}}}"
        if token.endswith("[]"):
            return f"(struct ints){{{name}, sizeof *{name}}}"
        value = f"*{name}" if self.fortran or token.endswith("*") else name
        if base in HANDLES and self.fortran:
            value = f"PMPI_{HANDLES[base]}_f2c({value})"
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


C = Wrapping(fortran=False)


def _recorded(function: Function) -> tuple[list[str], str, str] | None:
    """Tokens and statements of calls.py, unless the header's function is another one than that."""
    if function.name not in RECORDED:
        return None
    parameters, before, after = RECORDED[function.name]
    tokens = parameters.split()
    return (tokens, before, after) if len(tokens) == len(function.parameters) else None


def _timed(function: Function, number: int, language: Wrapping, forward: str, error: str) -> str:
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


def _lifetime(function: Function, number: int, language: Wrapping, forward: str, error: str) -> str:
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
    beneath = f"isthmus_run_{function.symbol}"
    # `isthmus run` may be between the recorder and the library. An address of the library's function would have to be
    # known when the recorder is loaded, before the library may be.
    call = f"({beneath} ? {beneath}({given}) : P{function.symbol}({given}))"
    head = f'extern {function.returns} {beneath}({declared}) __attribute__((weak, visibility("default")));\n'
    head += f"EXPORT {function.returns} {function.symbol}({declared}) {{\n"
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


def _fortran(function: Function, number: int, language: Wrapping) -> str:
    if function.returns == "double":
        lower = f"mpi_{function.name.lower()}"
        return (
            f"EXPORT double {lower}{language.suffix}(void) {{\n"
            f'  FORTRAN_FUNCTION(real, "{lower}", "{language.suffix}");\n'
            f"  if (recording()) count_call({number});\n  return ((double (*)(void))real)();\n}}\n"
        )
    if function.returns != "int":
        return ""
    entry = fortran_entry(function, language)
    head, forward = entry.head, entry.forward
    other = Function(function.symbol, function.name, function.large, function.returns, entry.parameters)
    if function.name not in _LIFETIME:
        head += f"  if (!recording()) {{\n    {forward}\n    return;\n  }}\n"
    if entry.with_error and not _counted(function):
        # Fortran 2008 may leave the error out.
        head += "  MPI_Fint own_error = 0;\n  if (!ierror) ierror = &own_error;\n"
    if function.name in _LIFETIME:
        return f"{head}{_lifetime(other, number, language, forward, '(int)*ierror')}}}\n"
    if _counted(function):
        return f"{head}  count_call({number});\n  depth = 1;\n  {forward}\n  depth = 0;\n}}\n"
    return f"{head}{_timed(other, number, language, forward, '(int)*ierror')}}}\n"


def generate(preprocessed: str) -> str:
    """The C source of all wrappers.

    Raises ValueError if there is no MPI function in the text.
    """
    functions = prototypes(preprocessed)
    if not functions:
        raise ValueError("the preprocessed header declares no MPI function")
    names = sorted({f.name for f in functions})
    number = {name: i + 1 for i, name in enumerate(names)}
    out = ['/* Generated by generate.py. */\n#include "pgas.h"\n#include "recorder.h"\n']
    listed = "".join(f',\n    "MPI_{name}"' for name in names)
    out.append(
        '#define NAME(symbol, shown) , "isthmus_" shown\n'
        f"const char *const function_names[] = {{NULL{listed} PGAS_FUNCTIONS(NAME)}};\n"
        f"const unsigned function_count = {len(names)} + PGAS_COUNT;\nconst unsigned pgas_before = {len(names)};\n"
    )
    for f in functions:
        out.append(_c(f, number[f.name]))
        made = [_fortran(f, number[f.name], language) for language in fortran_languages(f, Wrapping)]
        out += made
        if made[0] and not f.large:
            out.append(fortran_aliases(f))
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(generate(sys.stdin.read()))
