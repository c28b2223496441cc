"""The records of each MPI function's wrapper: generate.py makes C and Fortran of this table.

``RECORDED[name] = (parameters, before, after)``. Parameters are in the order of the C prototype; ``x*`` is a result,
``x[]`` an array, a bare ``x`` a value. ``{x}`` in the statements becomes the C value of the parameter in either
language: arrays become ``struct ints`` or ``struct handles``, requests and messages numbers, ``sbuf``, ``rbuf`` and
``buf`` whether they are MPI_IN_PLACE. Parameters ``status`` and ``statuses`` are given to the library even where the
program wants none: what matched is in them. The statements ``after`` follow calls that succeeded.
"""

from __future__ import annotations

import re

Entry = tuple[str, str, str]
RECORDED: dict[str, Entry] = {}

PLAIN = "record_plain(&call);"


def _add(name: str, parameters: str, after: str, before: str = "") -> None:
    RECORDED[name] = (parameters, before, after)


# Messages.
_ARGUMENTS = "{count}, {type}, {dest}, {tag}, {comm}"
for _prefix, _mode in (("", "STANDARD"), ("b", "BUFFERED"), ("s", "SYNCHRONOUS"), ("r", "READY")):
    _name = f"{_prefix}send"
    _add(_name.capitalize(), "buf count type dest tag comm", f"record_send(&call, {_mode}, {_ARGUMENTS});")
    _add(
        f"I{_name}",
        "buf count type dest tag comm request*",
        f"record_start(&call, SEND, {_mode}, {_ARGUMENTS}, {{request}});",
    )
    _add(
        f"{_name.capitalize()}_init",
        "buf count type dest tag comm request*",
        f"record_init(&call, SEND, {_mode}, 1, {_ARGUMENTS}, {{request}});",
    )
_add("Recv", "buf count type dest tag comm status*", "record_recv(&call, {dest}, {tag}, {type}, {comm}, {status});")
_add(
    "Irecv",
    "buf count type dest tag comm request*",
    f"record_start(&call, RECEIVE, STANDARD, {_ARGUMENTS}, {{request}});",
)
_add(
    "Recv_init",
    "buf count type dest tag comm request*",
    f"record_init(&call, RECEIVE, STANDARD, 1, {_ARGUMENTS}, {{request}});",
)
for _name, _direction in (("Psend_init", "SEND"), ("Precv_init", "RECEIVE")):
    _add(
        _name,
        "buf partitions count type dest tag comm info request*",
        f"record_init(&call, {_direction}, PARTITIONED, {{partitions}}, {_ARGUMENTS}, {{request}});",
    )
_add(
    "Sendrecv",
    "sbuf scount stype dest stag rbuf rcount rtype source rtag comm status*",
    "record_sendrecv(&call, {scount}, {stype}, {dest}, {stag}, {source}, {rtag}, {rtype}, {comm}, {status});",
)
_add(
    "Sendrecv_replace",
    "buf count type dest stag source rtag comm status*",
    "record_sendrecv(&call, {count}, {type}, {dest}, {stag}, {source}, {rtag}, {type}, {comm}, {status});",
)
_add(
    "Isendrecv",
    "sbuf scount stype dest stag rbuf rcount rtype source rtag comm request*",
    "record_isendrecv(&call, {scount}, {stype}, {dest}, {stag}, {rcount}, {rtype}, {source}, {rtag}, {comm}, "
    "{request});",
)
_add(
    "Isendrecv_replace",
    "buf count type dest stag source rtag comm request*",
    "record_isendrecv(&call, {count}, {type}, {dest}, {stag}, {count}, {type}, {source}, {rtag}, {comm}, {request});",
)
_add("Start", "request[]", "record_startall(&call, {request}, 1);")
_add("Startall", "n requests[]", "record_startall(&call, {requests}, {n});")
_add("Mprobe", "source tag comm message* st*", "record_matched(&call, {comm}, {message});")
_add(
    "Improbe",
    "source tag comm flag* message* st*",
    "if ({flag}) record_matched(&call, {comm}, {message}); else record_poll(&call);",
)
_IMRECV = "record_imrecv(&call, matched, {count}, {type}, {request});"
_MATCHED = "uint64_t matched = {message};"
_add("Mrecv", "buf count type message* status*", "record_mrecv(&call, matched, {type}, {status});", _MATCHED)
_add(
    "Imrecv", "buf count type message* request*", "record_imrecv(&call, matched, {count}, {type}, {request});", _MATCHED
)

# Completion.
_POLL = "if ({flag}) record_idle(&call); else record_poll(&call);"
_ONE = "struct waiting w; waiting_one(&w, {request});"
_ALL = "struct waiting w; waiting_all(&w, {requests}, {n});"
_DONE = "record_done(&call, &w, {status});"
_DONE_ALL = "record_done(&call, &w, {statuses});"
_DONE_ONE = "record_done_one(&call, &w, {index}, BASE, {requests}, {status});"
_DONE_SOME = "record_done_some(&call, &w, {outcount}, {indices}, BASE, {requests}, {statuses});"
_add("Iprobe", "source tag comm flag* st*", _POLL)
_add("Request_get_status", "request flag* st*", _POLL)
_add("Parrived", "request partition flag*", _POLL)
_add("Wait", "request* status*", _DONE, _ONE)
_add("Waitall", "n requests[] statuses[]", _DONE_ALL, _ALL)
_add("Waitany", "n requests[] index* status*", _DONE_ONE, _ALL)
_add("Waitsome", "n requests[] outcount* indices[] statuses[]", _DONE_SOME, _ALL)
_add("Test", "request* flag* status*", f"if ({{flag}}) {_DONE} else record_poll(&call);", _ONE)
_add("Testall", "n requests[] flag* statuses[]", f"if ({{flag}}) {_DONE_ALL} else record_poll(&call);", _ALL)
_add("Testany", "n requests[] index* flag* status*", f"if ({{flag}}) {_DONE_ONE} else record_poll(&call);", _ALL)
_add(
    "Testsome",
    "n requests[] outcount* indices[] statuses[]",
    f"if ({{outcount}} != 0) {_DONE_SOME} else record_poll(&call);",
    _ALL,
)
_add("Cancel", "request*", "record_cancel(&call, {request});")
_add("Request_free", "request*", "record_freed(&call, &w);", _ONE)


# Collectives: blocking, nonblocking and persistent.
def _collective(name: str, parameters: str, fill: str) -> None:
    begin = f"struct collective k; {fill};"
    _add(name, parameters, f"{begin} record_collective(&call, &k);")
    _add(
        "I" + name[0].lower() + name[1:],
        f"{parameters} request*",
        f"{begin} record_icollective(&call, &k, {{request}});",
    )
    _add(f"{name}_init", f"{parameters} info request*", f"{begin} record_collective_init(&call, &k, {{request}});")


_BOTH = "{scount}, {stype}, {rcount}, {rtype}"
_TWO = "sbuf scount stype rbuf rcount rtype"
_collective("Barrier", "comm", "set_barrier(&k, {comm})")
_collective("Bcast", "buf count type root comm", "set_bcast(&k, {count}, {type}, {root}, {comm})")
_collective(
    "Reduce",
    "sbuf rbuf count type op root comm",
    "set_reduce(&k, {sbuf}, {count}, {type}, {root}, {comm}); set_op(&k, {op})",
)
for _name, _kind in (("Allreduce", "ALLREDUCE"), ("Scan", "SCAN"), ("Exscan", "EXSCAN")):
    _collective(
        _name,
        "sbuf rbuf count type op comm",
        f"set_vector(&k, COLLECTIVE_{_kind}, {{sbuf}}, {{count}}, {{type}}, {{comm}}); set_op(&k, {{op}})",
    )
_collective("Gather", f"{_TWO} root comm", f"set_gather(&k, {{sbuf}}, {_BOTH}, {{root}}, {{comm}})")
_collective("Scatter", f"{_TWO} root comm", f"set_scatter(&k, {{rbuf}}, {_BOTH}, {{root}}, {{comm}})")
_collective(
    "Gatherv",
    "sbuf scount stype rbuf rcounts[] displs[] rtype root comm",
    "set_gatherv(&k, {sbuf}, {scount}, {stype}, {rcounts}, {rtype}, {root}, {comm})",
)
_collective(
    "Scatterv",
    "sbuf scounts[] displs[] stype rbuf rcount rtype root comm",
    "set_scatterv(&k, {rbuf}, {scounts}, {stype}, {rcount}, {rtype}, {root}, {comm})",
)
for _name, _kind in (("Allgather", "ALLGATHER"), ("Alltoall", "ALLTOALL")):
    _collective(_name, f"{_TWO} comm", f"set_blocks(&k, COLLECTIVE_{_kind}, {{sbuf}}, {_BOTH}, {{comm}})")
_collective(
    "Allgatherv",
    "sbuf scount stype rbuf rcounts[] displs[] rtype comm",
    "set_allgatherv(&k, {sbuf}, {scount}, {stype}, {rcounts}, {rtype}, {comm})",
)
_V = "sbuf scounts[] sdispls[] stype rbuf rcounts[] rdispls[] rtype comm"
_W = "sbuf scounts[] sdispls[] stypes[] rbuf rcounts[] rdispls[] rtypes[] comm"
_collective("Alltoallv", _V, "set_alltoallv(&k, {sbuf}, {scounts}, {stype}, {rcounts}, {rtype}, {comm})")
_collective("Alltoallw", _W, "set_alltoallw(&k, {sbuf}, {scounts}, {stypes}, {rcounts}, {rtypes}, {comm})")
_collective(
    "Reduce_scatter",
    "sbuf rbuf rcounts[] type op comm",
    "set_reduce_scatter(&k, {sbuf}, {rcounts}, {type}, {comm}); set_op(&k, {op})",
)
_collective(
    "Reduce_scatter_block",
    "sbuf rbuf rcount type op comm",
    "set_reduce_scatter_block(&k, {sbuf}, {rcount}, {type}, {comm}); set_op(&k, {op})",
)
for _name in ("Neighbor_allgather", "Neighbor_alltoall"):
    _collective(_name, f"{_TWO} comm", f"set_neighbor(&k, {_BOTH}, {{comm}})")
_collective(
    "Neighbor_allgatherv",
    "sbuf scount stype rbuf rcounts[] displs[] rtype comm",
    "set_neighbor_gatherv(&k, {scount}, {stype}, {rcounts}, {rtype}, {comm})",
)
_collective("Neighbor_alltoallv", _V, "set_neighbor_alltoallv(&k, {scounts}, {stype}, {rcounts}, {rtype}, {comm})")
_collective("Neighbor_alltoallw", _W, "set_neighbor_alltoallw(&k, {scounts}, {stypes}, {rcounts}, {rtypes}, {comm})")

# Communicators. The last number keeps those apart that are made of the same members in different ways.
for _name, _parameters, _salt in (
    ("Comm_dup", "comm newcomm*", "0"),
    ("Comm_dup_with_info", "comm info newcomm*", "0"),
    ("Comm_split", "comm color key newcomm*", "0"),
    ("Comm_split_type", "comm kind key info newcomm*", "0"),
    ("Comm_create", "comm group newcomm*", "0"),
    ("Comm_create_group", "comm group tag newcomm*", "100 + (uint64_t){tag}"),
    ("Intercomm_create", "comm leader peers remote tag newcomm*", "3"),
    ("Intercomm_merge", "comm high newcomm*", "0"),
    ("Cart_create", "comm n dims[] periods[] reorder newcomm*", "0"),
    ("Cart_sub", "comm remain[] newcomm*", "0"),
    ("Graph_create", "comm n index[] edges[] reorder newcomm*", "0"),
    ("Dist_graph_create", "comm n sources[] degrees[] dests[] weights[] info reorder newcomm*", "0"),
    ("Dist_graph_create_adjacent", "comm ins sources[] sw[] outs dests[] dw[] info reorder newcomm*", "0"),
    ("Comm_accept", "port info root comm newcomm*", "4"),
    ("Comm_connect", "port info root comm newcomm*", "4"),
    ("Comm_spawn", "command argv n info root comm newcomm* codes", "4"),
    ("Comm_spawn_multiple", "count command argv n info root comm newcomm* codes", "4"),
):
    _add(_name, _parameters, f"record_comm_made(&call, {{comm}}, {{newcomm}}, {_salt});")
for _name, _parameters in (
    ("Comm_create_from_group", "group tag info handler newcomm*"),
    ("Intercomm_create_from_groups", "local leader remote remote_leader tag info handler newcomm*"),
    ("Comm_join", "fd newcomm*"),
):
    _add(_name, _parameters, "record_comm_made(&call, MPI_COMM_NULL, {newcomm}, 5);")
_IDUP = "record_comm_idup(&call, {comm}, {newcomm}, {request});"
_add("Comm_idup", "comm newcomm[] request*", _IDUP)
_add("Comm_idup_with_info", "comm info newcomm[] request*", _IDUP)
for _name in ("Comm_free", "Comm_disconnect"):
    _add(_name, "comm*", "record_comm_freed(&call, freed);", "uint64_t freed = communicator_id({comm});")

# One-sided.
for _name, _parameters in (
    ("Win_create", "base size unit info comm win*"),
    ("Win_allocate", "size unit info comm base win*"),
    ("Win_allocate_shared", "size unit info comm base win*"),
    ("Win_create_dynamic", "info comm win*"),
):
    _add(_name, _parameters, "record_win_made(&call, {comm}, {win});")
_add("Win_free", "win*", "record_win_freed(&call, number);", "uint64_t number = window_number({win});")
_NOTHING = "0, MPI_BYTE"
_TARGET = "target disp tcount ttype"
for _name, _parameters, _amounts in (
    ("Put", f"buf count type {_TARGET}", f"RMA_PUT, {{count}}, {{type}}, {_NOTHING}"),
    ("Get", f"buf count type {_TARGET}", f"RMA_GET, {_NOTHING}, {{count}}, {{type}}"),
    ("Accumulate", f"buf count type {_TARGET} op", f"RMA_ACCUMULATE, {{count}}, {{type}}, {_NOTHING}"),
    (
        "Get_accumulate",
        f"buf count type rbuf rcount rtype {_TARGET} op",
        "RMA_GET_ACCUMULATE, {count}, {type}, {rcount}, {rtype}",
    ),
):
    _add(_name, f"{_parameters} win", f"record_rma(&call, {_amounts}, {{target}}, {{win}}, 0);")
    _add(
        f"R{_name.lower()}",
        f"{_parameters} win request*",
        f"record_rma(&call, {_amounts}, {{target}}, {{win}}, {{request}});",
    )
_add(
    "Fetch_and_op",
    "buf rbuf type target disp op win",
    "record_rma(&call, RMA_GET_ACCUMULATE, 1, {type}, 1, {type}, {target}, {win}, 0);",
)
_add(
    "Compare_and_swap",
    "buf cbuf rbuf type target disp win",
    "record_rma(&call, RMA_GET_ACCUMULATE, 2, {type}, 1, {type}, {target}, {win}, 0);",
)
for _name, _parameters in (
    ("fence", "assert win"),
    ("complete", "win"),
    ("wait", "win"),
    ("lock", "kind target assert win"),
    ("lock_all", "assert win"),
    ("unlock", "target win"),
    ("unlock_all", "win"),
    ("flush", "target win"),
    ("flush_all", "win"),
    ("flush_local", "target win"),
    ("flush_local_all", "win"),
    ("sync", "win"),
):
    _at = "{target}" if "target" in _parameters else "TRACE_NONE"
    _add(f"Win_{_name}", _parameters, f"record_sync(&call, RMA_{_name.upper()}, {_at}, {{win}});")
for _name in ("post", "start"):
    _add(f"Win_{_name}", "group assert win", f"record_group_sync(&call, RMA_{_name.upper()}, {{group}}, {{win}});")
_add(
    "Win_test",
    "win flag*",
    "if ({flag}) record_sync(&call, RMA_TEST, TRACE_NONE, {win}); else record_poll(&call);",
)

# Files.
_add("File_open", "comm name mode info fh*", "file_opened(&call, {comm}, {fh});")
_add("File_close", "fh*", "record_file_closed(&call, id);", "uint64_t id = file_close({fh});")
for _name, _parameters in (
    ("set_view", "fh disp etype ftype rep info"),
    ("set_size", "fh size"),
    ("preallocate", "fh size"),
    ("sync", "fh"),
):
    _add(f"File_{_name}", _parameters, "record_io(&call, 2, true, 0, MPI_BYTE, {fh});")
for _verb, _write in (("read", 0), ("write", 1)):
    for _form in ("", "_all", "_shared", "_ordered", "_at", "_at_all"):
        _all = "true" if "_all" in _form or "_ordered" in _form else "false"
        _parameters = f"fh{' offset' if '_at' in _form else ''} buf count type"
        _after = f"record_io(&call, {_write}, {_all}, {{count}}, {{type}}, {{fh}});"
        _add(f"File_{_verb}{_form}", f"{_parameters} st*", _after)
        _add(f"File_i{_verb}{_form}", f"{_parameters} req*", _after)
        _add(f"File_{_verb}{_form}_begin", _parameters, _after)

# Calls that are only counted: they neither communicate nor take long, and some are called very often.
COUNTED = re.compile(
    r"""Comm_(rank|size|remote_\w+|group|compare|test_inter|get_\w+|set_\w+|call_errhandler|create_errhandler
          |create_keyval|free_keyval|delete_attr)
      | (Group|Info|Error|Errhandler|Attr|Keyval|Status)_\w+ | (Type|Op)_(?!free$)\w+
      | Get_(?!accumulate)\w+ | Wtime | Wtick | Initialized | Finalized | Is_thread_main | Query_thread | Test_cancelled
      | Topo_test | Cart_(coords|get|rank|shift|map) | Cartdim_get | Graph_(get|map|neighbors|neighbors_count)
      | Graphdims_get | Dist_graph_neighbors(_count)? | Dims_create | Pack(_external)?_size | Add_error_\w+
      | Win_(get_\w+|set_\w+|call_errhandler|create_errhandler|create_keyval|free_keyval|delete_attr|shared_query)
      | File_(get_\w+|set_(errhandler|atomicity|info)|call_errhandler|create_errhandler)
      | Session_(get_\w+|set_\w+|call_errhandler|create_errhandler) | Reduce_local | Address""",
    re.VERBOSE,
)
