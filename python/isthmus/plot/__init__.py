"""Pictures of interconnects: their parts, their cables, and what a route or a load looks like.

- ``breakdown``: pictures of simulations: where the time of ranks went
- ``chart``: charts on paper: a title, an axes, a legend beside it
- ``clusters``: groups of routers on a ring with the cables between groups as chords: the large view of dragonflies
- ``common``: style, and what every family asks about a network before it draws
- ``comparison``: times beside each other, as bars
- ``dragonfly``: dragonflies: all groups on a ring, and one of them enlarged
- ``dragonfly_plus``: dragonfly+: all groups on a ring, one of them enlarged with its leaves and spines
- ``facts``: the numbers in the subtitle of a picture, sampled where exact ones would take long
- ``families``: which module draws which kind of interconnect
- ``graph``: any network of cables: layers of switches above the nodes, or a ring where there are no switches
- ``grid``: lines, rings and two-dimensional meshes and tori
- ``grid_view``: arithmetic on meshes and tori, and what of a large one is drawn
- ``histogram``: how many pairs of nodes are how far apart
- ``hypercube``: hypercubes: copies of smaller ones next to each other, as they are built
- ``hyperx``: hyperX: a grid of routers, all-to-all along every dimension
- ``interactive``: pages for a browser: Plotly drawings with words on hover, everything in one file
- ``lattice``: meshes and tori of three dimensions, and of more as a lattice of blocks
- ``layout``: where things go: sizes shared by pictures and pages
- ``load_map``: loads of links as fields of cells, for networks that have such an order: grids, dragonflies, trees
- ``machine_charts``: what is drawn of machines: measured curves and those of their models, one or several machines
- ``machine_curves``: pictures of machines: charts of measured and modelled curves
- ``matrix``: pictures of patterns: the matrix of senders and receivers
- ``multigrid``: levels of hierarchies, who sends to whom on each, and what they cost
- ``nodes``: nodes of a job in their colours: as cubes in space, or side by side where a network has no three
  dimensions
- ``overlap``: how much of a nonblocking collective takes the processor: its share of the time by size and ranks
- ``placement``: pictures of a placement beside the one before: load of links, lengths of routes, tasks in space
- ``profile``: pictures of recorded programs: who talks to whom, how large messages are, where the time of ranks and
  calls goes
- ``queueing``: pictures of queues: waiting times by size, as boxes
- ``rail``: rail-optimised GPU clusters: domains as columns, rails as rows, leaves and spines above
- ``scene``: what a picture consists of, without saying how it is put on paper or on a screen
- ``shift``: kautz and de Bruijn graphs: all directed links of small ones, the reach of a router in large ones
- ``sizes``: machines over numbers of ranks: times, efficiency, and where they differ
- ``slim_fly``: slim Flies: two sets of groups, local links inside groups, global ones between the sets
- ``still``: pictures on paper: PNG, SVG and PDF by Matplotlib, without its global state
- ``task_space``: where tasks are in a program of which only the graph is known: tasks that are close get colours that
  are alike
- ``timeline``: pictures of simulations: what ranks did when
- ``topology``: pictures of interconnects: their parts, their cables, and what a route or a load looks like
- ``traffic``: pictures of the load of links: where it is, how it is distributed, and when it is there
- ``tree``: trees and fat trees: levels one above the other, large ones with first and last of every level
- ``tuning``: what a tuner found: time by size with crossovers; the best algorithm by ranks and size
"""

from __future__ import annotations

from .topology import plot_distance_histogram, plot_topology

__all__ = ["plot_distance_histogram", "plot_topology"]
