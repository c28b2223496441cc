"""Mapping: where ranks sit, what that costs, and where they had better sit.

- ``arrays``: several arrays of tasks that talk to each other, mapped one after another, each near its partners
- ``bounds``: what no placement can beat
- ``budget``: what the time of ``map`` goes to beside searches: processor seconds by size, so that they are the same
  everywhere
- ``clock``: simulated times of placements
- ``graphs``: methods that look at nothing but the graph of tasks and the machine
- ``links``: bytes over links and between distances, from the routes of a machine
- ``map``: the verb ``map``: where ranks had better sit
- ``mapped``: the result of ``map``
- ``methods``: the table of mapping methods: name -> function
- ``metrics``: what a placement costs: metrics, each with its definition and source
- ``portfolio``: what ``method="auto"`` tries, in which order
- ``problem``: what a mapping method is given: tasks with what they exchange, and the nodes of a job with what fits
  them
- ``regular``: methods for regular patterns, and for tasks with coordinates
- ``search``: running methods, simulating what they find, and keeping the best
- ``selection``: which of the maps that were found is kept: what decides, and what must not get worse
- ``sockets``: which cores of its node each task gets: those that exchange much on the same socket
- ``structure``: the regular pattern behind a communication graph: grids, tori, stencils, hypercubes, all-to-all in
  rows
- ``swaps``: swaps of tasks that a judge of whole maps finds better: the simulation, mostly
- ``text``: what ``print(mapped)`` and ``isthmus map`` say
- ``launch/``: files that tell launchers where ranks go: Placements written and read, one format a module
- ``rebalance/``: dynamic load balancing that knows the network
"""
