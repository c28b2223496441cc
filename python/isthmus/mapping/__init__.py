"""Mapping: where ranks sit, what that costs, and where they had better sit.

- ``arrays``: mapping of several arrays of tasks that communicate, one after another, each near its partners
- ``bounds``: lower bounds that no placement can beat
- ``budget``: what the time of ``map`` goes to beside searches: processor seconds by size, so that they are the same
  everywhere
- ``clock``: simulation of placements
- ``graphs``: methods that use only the graph of tasks and the machine
- ``links``: bytes over links and between distances, from the routes of a machine
- ``map``: the verb ``map``: placements in which ranks that exchange much sit close together
- ``mapped``: the result of ``map``
- ``methods``: the table of mapping methods: name -> function
- ``metrics``: metrics of a placement, each with its definition and source
- ``portfolio``: the methods that ``method="auto"`` tries, and their order
- ``problem``: the input of a mapping method: tasks and what they exchange, and the nodes of a job with their capacity
- ``regular``: methods for regular patterns, and for tasks with coordinates
- ``search``: running methods, simulating what they find, and keeping the best
- ``selection``: the choice among the maps found: the objective, and what must not get worse
- ``sockets``: which cores of its node each task gets: those that exchange much on the same socket
- ``structure``: the regular pattern behind a communication graph: grids, tori, stencils, hypercubes, all-to-all in
  rows
- ``swaps``: swaps of tasks that improve a whole map, as judged mostly by simulation
- ``text``: the output of ``print(mapped)`` and ``isthmus map``
- ``trial``: one method that was run, and the placement that it found
- ``within``: how many places there are within a distance of one place
- ``launch/``: files for launchers: placements written and read, one format per module
- ``rebalance/``: dynamic load balancing that takes the network into account
"""
