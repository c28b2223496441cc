"""Entry points of MPI that are put between a program and its library, in C and for Fortran.

``generate.py < preprocessed > entries.c``. Which functions they are follows from the tables below; only what the header
declares is written. A Fortran function that is not taken over goes to that of the library, with the same arguments.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "recorder"))

from functions import (  # type: ignore[import-not-found]
    HANDLES,
    Function,
    Language,
    Parameter,
    fortran_aliases,
    fortran_entry,
    fortran_languages,
    prototypes,
)

_TWO = "sbuf scount stype rbuf rcount rtype"
_GATHERED = "sbuf scount stype rbuf rcounts rdispls rtype"
_SCATTERED = "sbuf scounts sdispls stype rbuf rcount rtype"
_V = "sbuf scounts sdispls stype rbuf rcounts rdispls rtype"
_W = "sbuf scounts sdispls stypes rbuf rcounts rdispls rtypes"
#: Collectives: what their parameters are in ``struct arguments``. Two names: one parameter is both.
COLLECTIVES = {
    "Barrier": "comm",
    "Bcast": "rbuf rcount rtype root comm",
    "Reduce": "sbuf rbuf scount stype op root comm",
    "Allreduce": "sbuf rbuf scount stype op comm",
    "Gather": f"{_TWO} root comm",
    "Gatherv": f"{_GATHERED} root comm",
    "Scatter": f"{_TWO} root comm",
    "Scatterv": f"{_SCATTERED} root comm",
    "Allgather": f"{_TWO} comm",
    "Allgatherv": f"{_GATHERED} comm",
    "Alltoall": f"{_TWO} comm",
    "Alltoallv": f"{_V} comm",
    "Alltoallw": f"{_W} comm",
    "Reduce_scatter": "sbuf rbuf rcounts stype op comm",
    "Reduce_scatter_block": "sbuf rbuf rcount stype op comm",
    "Scan": "sbuf rbuf scount stype op comm",
    "Exscan": "sbuf rbuf scount stype op comm",
    "Neighbor_allgather": f"{_TWO} comm",
    "Neighbor_allgatherv": f"{_GATHERED} comm",
    "Neighbor_alltoall": f"{_TWO} comm",
    "Neighbor_alltoallv": f"{_V} comm",
    "Neighbor_alltoallw": f"{_W} comm",
}
#: Calls that make a communicator, which is their last parameter (Comm_spawn has more behind it: it makes none of ours).
MAKERS = (
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_split",
    "Comm_split_type",
    "Comm_create",
    "Comm_create_group",
    "Intercomm_merge",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
)
C = Language(fortran=False)


def _field(name: str, p: Parameter, language: Language) -> str:
    """The initializer of a member of ``struct arguments``."""
    if name in ("sbuf", "rbuf"):
        if not language.fortran:
            return f"(void *){p.name}"
        flags = [str(flag).lower() for flag in (language.descriptors, name == "rbuf")]
        return f"fortran_buffer({p.name}, {', '.join(flags)}, &sections)"
    if name in ("scounts", "rcounts", "sdispls", "rdispls"):
        return f"{{{p.name}, sizeof *{p.name}}}"
    if name in ("stypes", "rtypes"):
        return f"{{{p.name}, {'true' if language.fortran else 'false'}}}"
    value = f"*{p.name}" if language.fortran else p.name
    if language.fortran and p.base in HANDLES:
        return f"PMPI_{HANDLES[p.base]}_f2c({value})"
    return value


def _arguments(function: Function, parameters: tuple[Parameter, ...], language: Language) -> str:
    names = COLLECTIVES[function.name].split()
    fields = [f".{name} = {_field(name, p, language)}" for name, p in zip(names, parameters, strict=True)]
    return f"struct arguments a = {{.kind = {function.name.upper()}, {', '.join(fields)}}};"


def _collective(function: Function, language: Language) -> str:
    if not language.fortran:
        declared = ", ".join(p.declaration for p in function.parameters)
        call = f"P{function.symbol}({', '.join(p.name for p in function.parameters)})"
        return (
            f"EXPORT int {function.symbol}({declared}) {{\n"
            f"  if (!taking()) return {call};\n"
            f"  {_arguments(function, function.parameters, language)}\n"
            f"  struct turn turn;\n"
            f"  if (collective_run(&a, &turn)) return turn.error;\n"
            f"  turn.error = {call};\n"
            f"  collective_ran(&turn);\n"
            f"  return turn.error;\n}}\n"
        )
    entry = fortran_entry(function, language)
    return (
        f"{entry.head}  if (!taking()) {{\n    {entry.forward}\n    return;\n  }}\n"
        f"  MPI_Fint own_error = 0;\n  struct sections sections = {{0}};\n  if (!ierror) ierror = &own_error;\n"
        f"  {_arguments(function, entry.parameters, language)}\n"
        f"  struct turn turn;\n"
        f"  const bool taken = collective_run(&a, &turn);\n  sections_end(&sections, taken);\n"
        f"  if (taken) {{\n    *ierror = turn.error;\n    return;\n  }}\n"
        f"  {entry.forward}\n  turn.error = *ierror;\n  collective_ran(&turn);\n}}\n"
    )


def _around(function: Function, language: Language, before: str, after: str) -> str:
    """The library's function with a statement before it and one behind it; ``{last}`` is its last handle."""
    if not language.fortran:
        declared = ", ".join(p.declaration for p in function.parameters) or "void"
        call = f"P{function.symbol}({', '.join(p.name for p in function.parameters)})"
        after = after.replace("{last}", f"*{function.parameters[-1].name}") if function.parameters else after
        return (
            f"EXPORT int {function.symbol}({declared}) {{\n"
            f"  {before}\n  depth++;\n  int error = {call};\n  depth--;\n  if (error == MPI_SUCCESS) {{ {after} }}\n"
            f"  return error;\n}}\n"
        )
    entry = fortran_entry(function, language)
    if entry.parameters:
        last = entry.parameters[-1]
        after = after.replace("{last}", f"PMPI_{HANDLES.get(last.base, 'Comm')}_f2c(*{last.name})")
    return (
        f"{entry.head}  MPI_Fint own_error = 0;\n  if (!ierror) ierror = &own_error;\n"
        f"  {before}\n  depth++;\n  {entry.forward}\n  depth--;\n  if (*ierror == MPI_SUCCESS) {{ {after} }}\n}}\n"
    )


def _written(function: Function, language: Language) -> str:
    if function.name in COLLECTIVES:
        return _collective(function, language)
    if function.name in MAKERS:
        return _around(function, language, "", "communicator_made({last});")
    if function.name in ("Init", "Init_thread"):
        return _around(function, language, "", "process_begin();")
    if function.name == "Finalize":
        return _around(function, language, "process_end();", "")
    return ""


def generate(preprocessed: str) -> str:
    """The C source of all entry points.

    Raises ValueError if there is no MPI function in the text.
    """
    functions = prototypes(preprocessed)
    if not functions:
        raise ValueError("the preprocessed header declares no MPI function")
    out = ['/* Generated by generate.py. */\n#include "interpose.h"\n']
    for f in functions:
        text = _written(f, C)
        if not text:
            continue
        out.append(text)
        out += [_written(f, language) for language in fortran_languages(f, Language)]
        if not f.large:
            out.append(fortran_aliases(f))
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(generate(sys.stdin.read()))
