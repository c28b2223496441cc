"""The Machine: an interconnect, its nodes, LogGP parameters per level, and the source of every number."""

from __future__ import annotations

import difflib
import math
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Literal, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import units
from .._core import Topology
from ..errors import InvalidInput, ParseError
from ..extras import Later
from ..tabular import Tabular
from ..views import view
from .description import LEVELS, Description, normalise
from .kinds import KINDS
from .measured import Curve, Measured
from .parts import DEFAULT_LEVELS, Level, Levels, Node, Noise, Provenance, ValueRow

if TYPE_CHECKING:
    import matplotlib.figure
    import networkx

    from . import allocation
else:
    matplotlib = Later("matplotlib")
    networkx = Later("networkx")
    allocation = Later("isthmus.machine.allocation")


class Machine(Tabular):
    """A machine: its interconnect, nodes, LogGP parameters and noise.

    Make one with :meth:`parse` (one-line specification), :func:`isthmus.load` (catalogue name, file, specification).
    Machines are immutable; two are equal if all their values are. If one was measured, :attr:`measured` says how, and
    :attr:`curves` has what no parameter stands for.

    Attributes
    ----------
    topology : Topology
        Interconnect.
    node : Node
        One node.
    level : Levels
        LogGP parameters: ``level.socket``, ``level.node``, ``level.network``.
    noise : Noise
        Operating system noise.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        v = description.values
        links = [(name, link.get("bandwidth", -1.0), link.get("latency", -1.0)) for name, link in v["links"].items()]
        # "default" first, whatever the order in the file: the other classes override it.
        links.sort(key=lambda link: link[0] != "default")
        try:
            self.topology: Topology = KINDS[v["topology"]["kind"]].build(v["topology"], links)
        except ParseError as error:  # of an edge list
            if error.file != os.path.abspath(description.file):
                raise
            raise ParseError(description.file, error.line, error.field, error.message) from None
        except InvalidInput as error:
            at = [f"links.{name}" for name, _, _ in links if str(error).startswith(f"link class '{name}'")]
            description.fail(at[0] if at else "topology", str(error))
        self.node = Node(**v["node"])
        self.level = Levels(**{name: self._level(name) for name in LEVELS})
        self.noise = Noise(**v["noise"])
        if (v["compute_nodes"] or 0) > self.topology.nodes:
            description.fail(
                "compute_nodes",
                f"is {v['compute_nodes']}: must be 1 to {self.topology.nodes}, the nodes of the interconnect",
            )
        if v["hostnames"]:
            names = len(self.hostnames)
            if names != self.topology.nodes:
                description.fail(
                    "hostnames",
                    f"has {names} names: must have {self.topology.nodes}, one for each node of the interconnect",
                )

    def _level(self, name: str) -> Level:
        given = dict(self.description.values["level"].get(name, {}))
        default = DEFAULT_LEVELS[name]
        if name == "network" and "G" not in given:
            # The slowest of what every message passes: its interface and one link of the slowest class.
            bandwidths = [c[1] for c in self.topology.link_classes] + [self.node.nic_bandwidth or float("inf")]
            given["G"] = 1 / min(bandwidths)
        if name == "network" and "per_hop" not in given:
            given["per_hop"] = self.topology.link_classes[0][2]
        return Level(**{f: given.get(f, getattr(default, f)) for f in default.__dataclass_fields__})

    @classmethod
    def parse(cls, spec: str) -> Machine:
        """Make a machine from a one-line specification; raises ParseError (a ValueError).

        Examples
        --------
        >>> Machine.parse("torus:8x8x16 link=425MB/s hop=64ns cores=4").nodes
        1024
        """
        from .spec import parse_spec

        return cls(parse_spec(spec))

    @classmethod
    def from_dict(cls, raw: Mapping[str, object], file: str = "machine") -> Machine:
        """Make a machine from a dict in the form of its TOML file; raises ParseError, which names ``file``."""
        return cls(normalise(dict(raw), file))

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, switch: str = "switch", **description: object) -> Machine:
        """Make a machine whose interconnect is a NetworkX graph.

        Parameters
        ----------
        graph : networkx.Graph, MultiGraph, DiGraph or MultiDiGraph
            Edges are cables, with the attributes ``bandwidth`` (B/s, or in words such as ``"10GB/s"``), ``latency``
            (s) and ``count``. In a directed graph every link needs an equal link in the other direction.
        switch : str
            Name of the attribute that is true for switches; all other vertices are nodes.
        **description
            Other parts of a machine's TOML form: ``name="mine"``, ``node={"cores": 64}``, ``level={...}``.

        Raises
        ------
        InvalidInput
            If two vertices have the same name, or a link has no equal link in the other direction.
        ParseError
            If a value is out of range.

        Examples
        --------
        >>> import networkx
        >>> Machine.from_networkx(networkx.petersen_graph(), name="petersen", node={"cores": 4}).cores
        40
        """
        from .networkx import description_of

        return cls.from_dict({**description, "topology": description_of(graph, switch)}, "graph")

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return the interconnect as a graph; :meth:`from_networkx` reads it back if links come in pairs.

        Returns
        -------
        networkx.MultiDiGraph
            One vertex per node and switch, by name, with the attributes ``switch`` and ``vertex`` (its number); one
            edge per link, whose key is its number, with ``link``, ``link_class``, ``bandwidth`` (B/s) and ``latency``
            (s).

        Raises
        ------
        Unsupported
            If the package networkx is missing.
        """
        from .networkx import graph_of

        names = cast("list[str] | None", self.topology.names)
        if names is None:
            switches = [self.topology.label(v) for v in range(self.topology.nodes, self.topology.vertices)]
            names = [*self.hostnames, *switches]
        return graph_of(self.topology, names)

    @property
    def spec(self) -> str:
        """One-line specification; :meth:`parse` of it gives an equal machine, but for notes, provenance, and a name or
        title with blanks."""
        from .spec import format_spec

        return format_spec(self.description)

    def toml(self) -> str:
        """Return the machine as TOML, with the provenance of every value."""
        from .toml import format_toml

        return format_toml(self.description)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the TOML form atomically."""
        from .toml import write_toml

        write_toml(self.description, path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Machine) and self.description.values == other.description.values

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        # Without the text whose lines it names in errors, and without what follows from the rest.
        kept = {name: self.__dict__[name] for name in ("topology", "node", "level", "noise")}
        return kept | {"description": self.description.without_lines()}

    @property
    def name(self) -> str:
        """Name of the machine, or the specification of its interconnect if it has none."""
        return self.description.values["name"] or self.topology.spec

    @property
    def title(self) -> str:
        """Title of the machine, or its name if it has none."""
        return self.description.values["title"] or self.name

    @property
    def notes(self) -> list[str]:
        """Remarks of the author of the description."""
        return list(self.description.values["notes"])

    @property
    def nodes(self) -> int:
        """Number of nodes that jobs can use: ``compute_nodes`` if given, else all nodes of the interconnect."""
        return self.description.values["compute_nodes"] or self.topology.nodes

    @property
    def cores(self) -> int:
        """Number of cores of all usable nodes."""
        return self.nodes * self.node.cores

    @property
    def measured(self) -> Measured | None:
        """When, where and how the machine was measured; None for one that was not."""
        return cast("Measured | None", self.description.values["measured"])

    @property
    def curves(self) -> Mapping[str, Curve]:
        """Measured curves by name, such as latency over the size of messages; read-only."""
        return MappingProxyType(self.description.values["curves"])

    def provenance(self, path: str) -> Provenance:
        """Return what is known of a value by its TOML path, such as ``"links.default.bandwidth"``: its source, status
        and note, and of a measured one interval, samples and method."""
        return self.description.provenance.get(path, Provenance())

    @cached_property
    def hostnames(self) -> Sequence[str]:
        """Names of all nodes: from the imported network, the ``hostnames`` expression, or node0, node1, ..."""
        names = cast("list[str] | None", self.topology.names)
        if names is not None:
            return names[: self.topology.nodes]
        expression = self.description.values["hostnames"]
        if not expression:
            return [f"node{i}" for i in range(self.topology.nodes)]
        from ..hostlist import expand

        return expand(expression)

    def node_id(self, node: int | str | Sequence[int]) -> int:
        """Return the id of a node given by id, name or coordinates; raises InvalidInput if there is none."""
        if isinstance(node, str):
            return self._named(node)
        if isinstance(node, (tuple, list)):
            return int(self.nodes_at([node])[0])
        try:
            index = operator.index(cast("SupportsIndex", node))
        except TypeError:
            raise InvalidInput(f"node {node!r} of {self.name}: must be an id, a name or coordinates") from None
        if not 0 <= index < self.topology.nodes:
            raise InvalidInput(f"node {units.shown(index)} of {self.name}: nodes are 0 to {self.topology.nodes - 1}")
        return index

    def _named(self, name: str) -> int:
        if self.topology.names is None and not self.description.values["hostnames"]:
            # node0, node1, ...: without a list of all of them, for interconnects of a billion nodes.
            match = re.fullmatch(r"node(0|[1-9][0-9]{0,9})", name)
            if match and int(match[1]) < self.topology.nodes:
                return int(match[1])
            last = f"node{self.topology.nodes - 1}"
            raise InvalidInput(f"node {units.shown(name)} of {self.name}: names are node0 to {last}")
        try:
            return self._ids[name]
        except KeyError:
            close = difflib.get_close_matches(name, self.hostnames[:10_000], 1)
            hint = f"; a close one is {close[0]}" if close else ""
            raise InvalidInput(
                f"node {units.shown(name)} of {self.name}: names are {self.hostnames[0]} to {self.hostnames[-1]}{hint}"
            ) from None

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.hostnames)}

    def _array(self, nodes: ArrayLike) -> NDArray[np.uint32]:
        from .node_pairs import node_ids

        return node_ids(nodes, self.topology.nodes, self.name)

    def coordinates(self, nodes: ArrayLike) -> NDArray[np.uint32]:
        """Return coordinates of nodes: shape ``(..., len(topology.dims))`` for node ids of shape ``(...)``."""
        ids = self._array(nodes)
        return self.topology.coordinates(ids.reshape(-1)).reshape(*ids.shape, -1)

    def nodes_at(self, coordinates: ArrayLike) -> NDArray[np.uint32]:
        """Return node ids at coordinates of shape ``(..., len(topology.dims))``; the inverse of :meth:`coordinates`."""
        import numpy as np

        given = np.asarray(coordinates)
        dims = self.topology.dims
        if given.ndim == 0 or given.shape[-1] != len(dims):
            got = given.shape[-1] if given.ndim else 1
            raise InvalidInput(f"{got} coordinate{'' if got == 1 else 's'}: {self.name} has {len(dims)}")
        if given.dtype.kind not in "iu" or (given.size and not (given.min() >= 0 and given.max() < 2**32)):
            raise InvalidInput(f"coordinates of {self.name} must be whole numbers below {' x '.join(map(str, dims))}")
        flat = np.ascontiguousarray(given.reshape(-1, given.shape[-1]), dtype=np.uint32)
        return self.topology.nodes_at(flat).reshape(given.shape[:-1])

    def distance(self, a: ArrayLike, b: ArrayLike) -> int | NDArray[np.uint32]:
        """Return the number of links on a shortest path between nodes; for routes see :meth:`route_length`.

        Parameters
        ----------
        a, b : int or array of int
            Node ids; arrays are broadcast against each other.

        Returns
        -------
        int or ndarray of uint32
        """
        return self._of_pairs(self.topology.distances, a, b)

    def route_length(self, a: ArrayLike, b: ArrayLike) -> int | NDArray[np.uint32]:
        """Return the number of links on the deterministic minimal route from a to b, as counted by hop-bytes.

        On dragonflies this route has at most one local, one global and one local link. It may be longer than a shortest
        path through a third group.

        Parameters
        ----------
        a, b : int or array of int
            Node ids; arrays are broadcast against each other.

        Returns
        -------
        int or ndarray of uint32
        """
        return self._of_pairs(self.topology.route_lengths, a, b)

    def _of_pairs(
        self, numbers: Callable[..., NDArray[np.uint32]], a: ArrayLike, b: ArrayLike
    ) -> int | NDArray[np.uint32]:
        from .node_pairs import of_pairs

        return of_pairs(numbers, a, b, self.topology.nodes, self.name)

    def route(self, a: int, b: int) -> NDArray[np.uint32]:
        """Return the link ids of the deterministic minimal route between two nodes."""
        return self.topology.route(self.node_id(a), self.node_id(b))

    def routes(self, a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Return ``(offsets, links)`` for many pairs of nodes; route i is ``links[offsets[i]:offsets[i + 1]]``."""
        from .node_pairs import columns_of

        return self.topology.routes(*columns_of(self._array(a), self._array(b)))

    def message_time(self, bytes: float, a: int, b: int, *, level: Literal["socket", "node"] = "node") -> float:
        """Return the time of one message on a quiet machine by LogGOPS, seconds.

        The time is ``o_send + L + (hops - 1) per_hop + bytes (G + O + O_recv) + o_recv``: both processors spend time on
        every byte. Where the level has pieces, the one for this size holds, and bytes count after as many as it says.
        For two cores of the same node, ``level`` says how near they are.
        """
        if not 0 <= bytes < math.inf:
            raise InvalidInput(f"bytes = {bytes}: must be a number from 0")
        if level not in ("socket", "node"):
            raise InvalidInput(f"level {level!r}: must be socket or node")
        hops = self.topology.route_length(self.node_id(a), self.node_id(b))
        p = self.level.network if hops else getattr(self.level, level)
        distance = max(hops - 1, 0) * p.per_hop
        piece = p.piece(bytes)
        paid = bytes - piece.after if piece.above else bytes
        return piece.o_send + piece.L + distance + paid * (piece.G + piece.O + piece.O_of_receiver) + piece.o_recv

    def allocate(
        self,
        nodes: ArrayLike | str | None = None,
        *,
        fraction: float | None = None,
        seed: int = 0,
        first: int = 0,
        ranks_per_node: int | None = None,
        order: str = "block",
    ) -> allocation.Allocation:
        """Allocate nodes of the machine to a job; see :meth:`isthmus.Allocation.of`."""
        from .allocation import Allocation

        return Allocation.of(
            self, nodes, fraction=fraction, seed=seed, first=first, ranks_per_node=ranks_per_node, order=order
        )

    def frame(self) -> list[ValueRow]:
        """Return one row per given value: path, value (with unit), source, status, note, interval (with unit; empty
        where nobody knows), samples and method."""
        rows: list[ValueRow] = view("Machine.frame")(self)
        return rows

    def plot(
        self, name: str, target: str | os.PathLike[str] | IO[bytes] | None = None, format: str | None = None
    ) -> matplotlib.figure.Figure:
        """Draw one picture of what was measured, and of the model beside it.

        Parameters
        ----------
        name : str
            ``"latency"``, ``"bandwidth"``, ``"overheads-network"``, ``"stream"``, ``"rate"``,
            ``"collective-allreduce"``, ...; those of a model alone are there for every machine.
        target : path or binary stream, optional
            .png, .svg or .pdf; by default none.
        format : str, optional
            Format of what is written to a stream.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InvalidInput
            If the machine has no such picture; the message lists those that it has.
        """
        figure: matplotlib.figure.Figure = view("Machine.plot")(self, name, target, format)
        return figure

    def html(self) -> str:
        """Return a page that works offline: pictures of all curves, all values with their sources and intervals."""
        page: str = view("Machine.html")(self)
        return page

    def __str__(self) -> str:
        text: str = view("Machine.__str__")(self)
        return text

    def __repr__(self) -> str:
        v = self.description.values
        cores = f"{self.node.cores} core{'' if self.node.cores == 1 else 's'}"
        return f"<Machine {v['name'] or self.topology.spec}: {units.text(self.nodes, '')} nodes of {cores}>"
