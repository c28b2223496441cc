"""Studies: experiments at many points, their ledgers, figures and pages.

- ``applications``: programs of several arrays of tasks: who sends how much to whom
- ``backend``: where points are computed: the interface of backends, and the one of this machine
- ``batch``: what a worker of a cluster does: a batch of points, each written down when it is done
- ``claims``: published crossovers that studies of sizes compare with
- ``cluster``: points computed by workers of Dask: here, in jobs of a queue, or at a scheduler that is there
- ``collectives``: collectives on machines: algorithms and flavours by size
- ``collectives_page``: algorithms of collectives by size or ranks: table, figure and findings
- ``cycles``: cycles of a multigrid solver by the model: messages by cores, and mixes of processes and threads
- ``cycles_page``: cycles on Eos beside the published table, with one fitted constant and all variants that were tried
- ``drawing``: what figures of studies share: a sheet with a title and panels
- ``engine``: a process that holds a scheduler of Dask and asks for its workers
- ``exchanges``: exchanges of multigrid levels that were measured on Blue Waters, and what models say of each
- ``exchanges_page``: these beside models: seconds of each level, sums, and which model is nearest
- ``gathering``: coarse levels gathered on fewer processes: what setup and cycles gain by the model
- ``gathering_page``: these gains beside the published ones, levels and numbers of processes
- ``intensity``: solver cycles on a dragonfly: how much they lose by contention, by how much they send and over how
  many groups
- ``intensity_page``: what solver cycles on a dragonfly say: a map of slowdown over intensity and spread, and
  thresholds in it
- ``ledger``: the ledger of a study: an SQLite file with one row a point
- ``levels``: hierarchies for studies: counts that come along, in ``data``, and what a solver computes here
- ``live``: the page of a study that runs
- ``mapping``: applications on tori: what maps that know the network do to hops, links and time
- ``mapping_page``: what maps do to applications: table, figure and findings
- ``memory``: memory of an MPI library in every rank: receive buffers for each rank that it is in contact with
- ``memory_page``: this memory by ranks beside the published share: table, figure and findings
- ``models``: the same communication in several models of the network: how far they are from each other
- ``models_page``: what the models say of the same communication: their differences, as table and figure
- ``molecules``: molecular dynamics in the manner of NAMD: patches of atoms in space, computes that need two of them
- ``networks``: cycles of a multigrid solver, simulated with every message, on networks
- ``networks_page``: which network is faster at equal injection; a map of where a dragonfly degrades
- ``overlap``: programs that hide communication behind computation: how much of it is left
- ``overlap_page``: what is left of communication by way and number of ranks: table, figure and findings
- ``outcome``: the result of ``study``
- ``page``: the page of a study: what was published beside what came out, the figure, all points; one file without
  others
- ``pairs``: ping-pong between partners a given number of hops apart: the experiment of Bhatele and Kale
- ``pairs_page``: what ping-pongs of all pairs say: the figure of Bhatele and Kale, and the factors in it
- ``parameters``: what an experiment takes, what it gives: parameters, kinds, summaries
- ``reading``: studies from TOML
- ``run``: the verb ``study``
- ``simulation``: any program, schedule or collective on any machine: how long it takes, with and without contention
- ``sizes``: a program on machines over numbers of ranks: where one machine overtakes another
- ``sizes_page``: crossovers beside the published ones: table, figure and findings
- ``spool``: points that workers have computed, on disk before the ledger has them
- ``study``: the noun Study: an experiment, the points at which it is made, and what was published about it
- ``traffic``: steady traffic: offered load against accepted throughput
- ``traffic_page``: what steady traffic says: curves of saturation, and the textbook's numbers beside them
- ``worker``: A process that computes points: a task a line on standard input, an answer a line on standard output
"""

from __future__ import annotations

from .outcome import Outcome
from .run import study
from .study import Published, Study

__all__ = ["Outcome", "Published", "Study", "study"]
