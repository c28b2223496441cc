"""Closed forms of the costs of collectives, their lower bounds, and how much of them computation can hide.

- ``bounds``: lower bounds: what no algorithm of a collective can do without, on a machine on which all pairs are
  equally far
- ``chains``: along the chain of ranks, whole messages
- ``closed_forms``: costs of collectives by closed form: what the simulator finds, at once
- ``combining``: blocks that travel in several hops, in messages of several blocks, with copies between them
- ``cost``: what a closed form answers
- ``everyone``: everybody directly to everybody, all at once
- ``fan_in``: a rank that takes messages of others, and does nothing else
- ``flights``: messages of which several are under way at once: windows, blocks that go on as soon as they are there
- ``folding``: ranks beyond a number of places: they hand their vector to one that has a place, and get the result
  from it
- ``forms``: the table of closed forms, and how a module enters its own
- ``groups``: groups of ranks of which the first of each speaks for all
- ``halving``: halves of vectors exchanged and gathered: recursive halving, Rabenseifner; blocks between pairs of
  neighbours
- ``hypercubes``: rounds at distances 1, 2, 4 ...: dissemination, recursive doubling
- ``multiplying``: recursive doubling of more ways
- ``node_bounds``: lower bounds between nodes whose ranks share interfaces: what has to enter or leave a node
- ``one_rank``: recurrences: what one rank does, operation by operation, where all ranks do the same at the same time
- ``optimal``: the tree that is best for messages without bytes, whatever is sent along it
- ``overlap``: how much of a nonblocking collective computation can hide
- ``parameters``: LogGOPS parameters in the simulator's units: whole picoseconds, picoseconds a byte
- ``parts``: vectors that go out in parts and are put together by all, and roots that ask; times that nothing goes
  below
- ``pipelines``: segments that follow each other down a tree, to the picosecond
- ``reductions``: segments that follow each other up a tree, to the picosecond: a recurrence over subtrees
- ``rings``: P-1 rounds: rings and pairs
- ``rooted``: trees: broadcast, reduction, scatter and gather over binomial, k-nomial and flat ones, and what is made
  of two
- ``rounds``: rounds in which every rank does the same: one rank's clock stands for all
- ``scans``: scans over a binomial tree of ranges of ranks
- ``segments``: messages in segments
- ``shapes``: shapes of trees: of a subtree only its number of ranks and its place in the scheme count, so that few
  are different
- ``streams``: messages in segments along trees: times that the simulator does not go below, for where there is no
  exact form
- ``tori``: allreduce on tori: parts of the vector in all directions at once
- ``trees``: costs of trees: down from an idle root, up from leaves that begin at once; by recurrence over subtrees
"""

from __future__ import annotations

from .bounds import Bound, bound
from .closed_forms import cost, forms
from .cost import Cost, Work
from .overlap import Overlap, overlap

__all__ = ["Bound", "Cost", "Overlap", "Work", "bound", "cost", "forms", "overlap"]
