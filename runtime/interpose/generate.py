"""Entry points of MPI that are put between a program and its library, in C and for Fortran.

``generate.py < preprocessed > entries.c``. Which functions they are follows from the tables below; only what the header
declares is written. A Fortran function that is not taken over goes to that of the library, with the same arguments.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "recorder"))

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
    "Comm_create_from_group",
    "Intercomm_merge",
    "Cart_sub",
)
#: Calls that make one with a topology, in which the program may let ranks be reordered: the functions of reorder.c and
#: their parameters. `-`: one that they do not need; of weights they are told as well whether there are any. Names are
#: those of ``struct reordered`` where the MPI library may be given something else.
REORDERED = {
    "Cart_create": ("cart", "comm n dims periods reorder -"),
    "Graph_create": ("graph", "comm n index edges reorder -"),
    "Dist_graph_create": ("dist_graph", "comm n sources_ degrees destinations_ weights - reorder -"),
    "Dist_graph_create_adjacent": (
        "adjacent",
        "comm ins sources source_weights outs destinations destination_weights - reorder -",
    ),
}
_REPLACED = ("comm", "reorder", "ins", "outs", "sources", "source_weights", "destinations", "destination_weights")
#: Functions of waits.c, which have their arguments.
WAITS = {
    "Wait": "request status",
    "Test": "request flag status",
    "Waitall": "n requests statuses",
    "Testall": "n requests flag statuses",
    "Waitany": "n requests index status",
    "Testany": "n requests index flag status",
    "Waitsome": "n requests count indices statuses",
    "Testsome": "n requests count indices statuses",
    "Request_get_status": "value flag status",
    "Request_get_status_all": "n values flag statuses",
    "Request_get_status_any": "n values index flag status",
    "Request_get_status_some": "n values count indices statuses",
    "Start": "request",
    "Startall": "n requests",
    "Request_free": "request",
}
#: Calls that wait, and those that begin the same.
BEGINNING = {
    "Send": "Isend",
    "Ssend": "Issend",
    "Rsend": "Irsend",
    "Recv": "Irecv",
    "Mrecv": "Imrecv",
    "Sendrecv": "Isendrecv",
    "Sendrecv_replace": "Isendrecv_replace",
}
#: Others that wait for other ranks.
WAITING = re.compile(
    r"""Probe | Mprobe | Buffer_detach | Comm_(free|disconnect|accept|connect|spawn|spawn_multiple|join)
      | Intercomm_create(_from_groups)?
      | Win_(create|allocate|allocate_shared|create_dynamic|free|fence|start|complete|wait|lock|lock_all|unlock
             |unlock_all|flush|flush_all|flush_local|flush_local_all)
      | File_(open|close|set_view|set_size|preallocate|sync|(read|write)((_at)?_all(_end)?|_shared|_ordered))""",
    re.VERBOSE,
)
C = Language(fortran=False)


def _field(name: str, p: Parameter, language: Language) -> str:
    """The initializer of a member of ``struct arguments``."""
    if name in ("sbuf", "rbuf"):
        if not language.fortran:
            return f"(void *){p.name}"
        return f"fortran_buffer({p.name})"
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
    # Behind them may come an info and a request.
    fields = [f".{name} = {_field(name, p, language)}" for name, p in zip(names, parameters, strict=False)]
    return f"struct arguments a = {{.kind = {function.name.upper()}, {', '.join(fields)}}};"


def _call(function: Function) -> str:
    return f"P{function.symbol}({', '.join(p.name for p in function.parameters)})"


def _head(function: Function) -> str:
    declared = ", ".join(p.declaration for p in function.parameters) or "void"
    return f"EXPORT int {function.symbol}({declared}) {{\n"


_ERROR = "  MPI_Fint own_error = 0;\n  if (!ierror) ierror = &own_error;\n"


def _collective(function: Function, language: Language) -> str:
    if not language.fortran:
        return (
            f"{_head(function)}  if (!taking()) return {_call(function)};\n"
            f"  {_arguments(function, function.parameters, language)}\n  struct turn turn;\n"
            f"  if (collective_run(&a, &turn)) return turn.error;\n  turn.error = {_call(function)};\n"
            f"  collective_ran(&turn);\n  return turn.error;\n}}\n"
        )
    entry = fortran_entry(function, language)
    return (
        f"{entry.head}  if (!taking()) {{\n    {entry.forward}\n    return;\n  }}\n{_ERROR}"
        f"  {_arguments(function, entry.parameters, language)}\n  struct turn turn;\n"
        f"  if (collective_run(&a, &turn)) {{\n    *ierror = turn.error;\n    return;\n  }}\n"
        f"  {entry.forward}\n  turn.error = *ierror;\n  collective_ran(&turn);\n}}\n"
    )


def _started(function: Function, blocking: Function, language: Language) -> str:
    """A nonblocking or persistent form of a collective."""
    form = "PERSISTENT" if function.name.endswith("_init") else "NONBLOCKING"
    if not language.fortran:
        request = function.parameters[-1].name
        return (
            f"{_head(function)}  if (!taking()) return {_call(function)};\n"
            f"  {_arguments(blocking, function.parameters, language)}\n  struct started started;\n"
            f"  if (collective_start(&a, {form}, {request}, &started)) return started.error;\n"
            f"  started.error = {_call(function)};\n  collective_started(&started, {request});\n"
            "  return started.error;\n}\n"
        )
    entry = fortran_entry(function, language)
    request = entry.parameters[-1].name
    return (
        f"{entry.head}  if (!taking()) {{\n    {entry.forward}\n    return;\n  }}\n{_ERROR}"
        f"  {_arguments(blocking, entry.parameters, language)}\n  MPI_Request handle;\n  struct started started;\n"
        f"  if (collective_start(&a, {form}, &handle, &started)) {{\n"
        f"    *{request} = PMPI_Request_c2f(handle);\n    *ierror = started.error;\n    return;\n  }}\n"
        f"  {entry.forward}\n  started.error = *ierror;\n  handle = PMPI_Request_f2c(*{request});\n"
        f"  collective_started(&started, &handle);\n  *{request} = PMPI_Request_c2f(handle);\n"
        f"  *ierror = started.error;\n}}\n"
    )


def _wait(function: Function, language: Language) -> str:
    name = f"waits_{function.name.lower()}"
    if not language.fortran:
        names = ", ".join(p.name for p in function.parameters)
        return (
            f"{_head(function)}  if (LIKELY(requests_live == 0) || !taking()) return {_call(function)};\n  enter();\n"
            f"  exposed_begin();\n  const int error = {name}({names});\n  exposed_end();\n  leave();\n"
            "  return error;\n}\n"
        )
    entry = fortran_entry(function, language)
    before: list[str] = []
    given: list[str] = []
    after: list[str] = []
    number = "1"
    for token, p in zip(WAITS[function.name].split(), entry.parameters, strict=True):
        at = p.name
        if token == "n":
            number = f"*{at}"
            given.append(number)
        elif token in ("request", "requests", "value", "values"):
            before.append(f"MPI_Request* r = alloca((size_t)({number} + 1) * sizeof *r);")
            before.append(f"for (int i = 0; i < {number}; ++i) r[i] = PMPI_Request_f2c({at}[i]);")
            given.append("r[0]" if token == "value" else "r")
            if token not in ("value", "values"):
                after.append(f"for (int i = 0; i < {number}; ++i) {at}[i] = PMPI_Request_c2f(r[i]);")
        elif token in ("flag", "index", "count"):
            before.append(f"int {token}_ = 0;")
            given.append(f"&{token}_")
            plus = f" + ({token}_ != MPI_UNDEFINED)" if token == "index" else ""
            after.append(f"*{at} = {token}_{plus};")
        elif token == "indices":
            before.append(f"int* indices_ = alloca((size_t)({number} + 1) * sizeof *indices_);")
            given.append("indices_")
            after.append(f"if (count_ != MPI_UNDEFINED) for (int i = 0; i < count_; ++i) {at}[i] = indices_[i] + 1;")
        else:
            ignore = "MPI_STATUS_IGNORE" if token == "status" else "MPI_STATUSES_IGNORE"
            many = "1" if token == "status" else number
            before.append(f"const bool ignored = fortran_{'status' if many == '1' else 'statuses'}_ignored({at});")
            before.append(f"MPI_Status* s = ignored ? {ignore} : alloca((size_t)({many} + 1) * sizeof *s);")
            given.append("s")
            tokens = WAITS[function.name].split()
            written = "count_ == MPI_UNDEFINED ? 0 : count_" if "count" in tokens else many
            known = "!ignored && flag_" if "flag" in tokens else "!ignored"
            after.append(
                f"if ({known}) for (int i = 0, n_ = {written}; i < n_; ++i) "
                f"PMPI_Status_c2f(&s[i], (MPI_Fint*){at} + i * (int)STATUS_FINTS);"
            )
    statements = "".join(f"  {line}\n" for line in [*before, f"*ierror = {name}({', '.join(given)});", *after])
    return (
        f"{entry.head}  if (LIKELY(requests_live == 0) || !taking()) {{\n    {entry.forward}\n    return;\n  }}\n"
        f"{_ERROR}  enter();\n  exposed_begin();\n{statements}  exposed_end();\n  leave();\n}}\n"
    )


def _message(function: Function, beginning: Function) -> str:
    """A call that waits, in C: begun, and waited for while ours go on."""
    status = next((p.name for p in function.parameters if p.base == "MPI_Status"), None)
    given = ", ".join([*(p.name for p in function.parameters if p.name != status), "&request"])
    return (
        f"{_head(function)}  if (LIKELY(requests_busy == 0) || !taking()) return {_call(function)};\n"
        f"  MPI_Request request;\n  const int error = P{beginning.symbol}({given});\n"
        f"  return error == MPI_SUCCESS ? waits_for_theirs(&request, {status or 'MPI_STATUS_IGNORE'}) : error;\n}}\n"
    )


def _around(function: Function, language: Language, before: str, after: str, quiet: str = "false") -> str:
    """The library's function with a statement before it and one behind it; ``{last}`` is its last handle."""
    begin = f"{before}\n  const bool aside = aside_begin();\n  depth++;"
    if not language.fortran:
        last = function.parameters[-1].name if function.parameters else ""
        return (
            f"{_head(function)}  if ({quiet}) return {_call(function)};\n  {begin}\n"
            f"  const int error = {_call(function)};\n  depth--;\n  aside_end(aside);\n"
            f"  if (error == MPI_SUCCESS) {{ {after.replace('{last}', f'*{last}')} }}\n  return error;\n}}\n"
        )
    entry = fortran_entry(function, language)
    if entry.parameters:
        handle = entry.parameters[-1]
        after = after.replace("{last}", f"PMPI_{HANDLES.get(handle.base, 'Comm')}_f2c(*{handle.name})")
    return (
        f"{entry.head}  if ({quiet}) {{\n    {entry.forward}\n    return;\n  }}\n{_ERROR}"
        f"  {begin}\n  {entry.forward}\n  depth--;\n  aside_end(aside);\n"
        f"  if (*ierror == MPI_SUCCESS) {{ {after} }}\n}}\n"
    )


def _reordered(function: Function, language: Language) -> str:
    """A function that makes a communicator with a topology."""
    name, words = REORDERED[function.name]
    entry = fortran_entry(function, language) if language.fortran else None
    parameters = entry.parameters if entry else function.parameters
    given: list[str] = []
    weighted: list[str] = []
    instead: dict[str, str] = {}
    for word, p, declared in zip(words.split(), parameters, function.parameters, strict=True):
        pointer = "[" in declared.declaration or "*" in declared.declaration
        value = f"*{p.name}" if entry and not pointer else p.name
        if word == "comm" and entry:
            value = f"PMPI_Comm_f2c({value})"
        if "weights" in word:
            weighted.append(f"!fortran_unweighted({value})" if entry else f"({value} != MPI_UNWEIGHTED)")
        if word == "reorder":
            given += [" + ".join(weighted)] * bool(weighted)
        if word != "-":
            given.append(value)
        if word in _REPLACED:
            instead[p.name] = f"r.{word}" if not entry else f"&{word}_" if word == "comm" else f"(void *)r.{word}"
            if entry and not pointer and word != "comm":
                instead[p.name] = f"&r.{word}"
    last = parameters[-1].name
    begin = (
        f"  struct reordered r;\n  const bool aside = aside_begin();\n  depth++;\n"
        f"  reorder_{name}(&r, {', '.join(given)});\n"
    )
    end = "  reordered_end(&r);\n  depth--;\n  aside_end(aside);\n"
    if entry is None:
        arguments = ", ".join(instead.get(p.name, p.name) for p in parameters)
        return (
            f"{_head(function)}{begin}  const int error = P{function.symbol}({arguments});\n{end}"
            f"  if (error == MPI_SUCCESS) communicator_made(*{last});\n  return error;\n}}\n"
        )
    return (
        f"{entry.head}{_ERROR}{begin}  MPI_Fint comm_ = PMPI_Comm_c2f(r.comm);\n  {entry.forward_with(instead)}\n{end}"
        f"  if (*ierror == MPI_SUCCESS) communicator_made(PMPI_Comm_f2c(*{last}));\n}}\n"
    )


def _freed(function: Function, language: Language) -> str:
    """Type_free and Op_free."""
    kind = function.name.removesuffix("_free")
    name = function.parameters[0].name
    late = "requests_live > 0 && taking()"
    freed = "  handle_freed();\n"
    if not language.fortran:
        return (
            f"{_head(function)}  if ({late} && {kind.lower()}_put_off({name})) return MPI_SUCCESS;\n"
            f"{freed}  return {_call(function)};\n}}\n"
        )
    entry = fortran_entry(function, language)
    return (
        f"{entry.head}  if ({late}) {{\n    {function.parameters[0].base} handle = PMPI_{kind}_f2c(*{name});\n"
        f"    if ({kind.lower()}_put_off(&handle)) {{\n      *{name} = PMPI_{kind}_c2f(handle);\n"
        f"      if (ierror) *ierror = MPI_SUCCESS;\n      return;\n    }}\n  }}\n{freed}  {entry.forward}\n}}\n"
    )


def _named_for_recorder(function: Function) -> str:
    """A name by which a recorder above this library finds it, where it would call the MPI library's own."""
    own = f"isthmus_run_{function.symbol}"
    attribute = f'__attribute__((alias("{function.symbol}"), visibility("default")))'
    return f"extern __typeof({function.symbol}) {own} {attribute};\n"


class _Header:
    """The functions that there are, by their symbols."""

    def __init__(self, functions: list[Function]) -> None:
        self._known = {f.symbol: f for f in functions}

    def blocking(self, function: Function) -> Function | None:
        """The collective of which a function is a nonblocking or persistent form."""
        large = "_c" if function.large else ""
        for name in (function.name.removesuffix("_init"), function.name[1:].capitalize()):
            if name != function.name and name in COLLECTIVES:
                return self._known.get(f"MPI_{name}{large}")
        return None

    def beginning(self, function: Function) -> Function | None:
        large = "_c" if function.large else ""
        return self._known.get(f"MPI_{BEGINNING.get(function.name)}{large}")

    def written(self, function: Function, language: Language) -> str:
        """The entry point of a function; empty if it has none."""
        name = function.name
        if name in COLLECTIVES:
            return _collective(function, language)
        if blocking := self.blocking(function):
            return _started(function, blocking, language)
        if name in WAITS:
            return _wait(function, language)
        if name in REORDERED:
            return _reordered(function, language)
        if name in MAKERS:
            return _around(function, language, "", "communicator_made({last});")
        if name == "Session_init":
            return _around(function, language, "", "process_session({last});")
        if name in ("Init", "Init_thread"):
            return _around(function, language, "", "process_begin();")
        if name == "Finalize":
            return _around(function, language, "process_end();", "")
        if name in ("Type_free", "Op_free"):
            return _freed(function, language)
        if not language.fortran and (beginning := self.beginning(function)):
            return _message(function, beginning)
        if name in BEGINNING or WAITING.fullmatch(name):
            return _around(function, language, "", "", "LIKELY(requests_busy == 0) || !taking()")
        return ""


def generate(preprocessed: str) -> str:
    """The C source of all entry points.

    Raises ValueError if there is no MPI function in the text.
    """
    functions = prototypes(preprocessed)
    if not functions:
        raise ValueError("the preprocessed header declares no MPI function")
    header = _Header(functions)
    out = ['/* Generated by generate.py. */\n#include <alloca.h>\n\n#include "interpose.h"\n']
    for f in functions:
        text = header.written(f, C)
        if not text:
            continue
        out.append(text)
        out.append(_named_for_recorder(f))
        # Those that take descriptors of arrays call the functions of C, with types for arrays with gaps.
        out += [header.written(f, language) for language in fortran_languages(f, Language) if not language.descriptors]
        if not f.large:
            out.append(fortran_aliases(f))
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(generate(sys.stdin.read()))
