"""Measuring a machine: raw samples, what is fitted to them, and the machine file that comes out.

- ``check``: predicted beside measured: messages that no fit saw, and what the fitted levels say
- ``conditions``: conditions of a measurement: what makes its numbers less certain, detected and said
- ``curves``: curves of a measured machine: medians of what was measured over sizes, ranks or threads, with intervals
- ``disturbed``: rounds in which something else slowed everything down, left out
- ``document``: the machine that comes out of samples: every number with its interval, method and number of samples
- ``fit/``: what is fitted to samples: LogGOPS parameters of levels, each number with its interval
- ``levels``: LogGOPS parameters and noise in the TOML form, from what was fitted to samples
- ``measure``: the verb measure: plans, runs, fits, writes
- ``measurement``: what measure returns: the machine, its raw samples, and what could not be measured
- ``models``: few numbers with intervals that curves follow: queues, starting, memory, injection, hops
- ``node``: what can be known of a node without running anything: cores, sockets, caches, memory
- ``places``: where the ranks of a launch landed, and which pairs of ranks stand for which level
- ``plan``: plans: what is measured in which launch, and for how long
- ``programs``: the programs that measure: compiled from ``probes/`` for the MPI at hand, and their kinds of items
- ``run``: runs of the programs that measure: journals, continuing, progress, and what went wrong in one sentence
- ``samples``: raw samples of measurements: journals of runs, the HDF5 file beside the machine file
- ``schedules``: items that are schedules, which libisthmus carries out: messages, copies, reductions, collectives
- ``statistics``: medians with distribution-free intervals, bootstrap over rounds, change points
- ``text``: the output of ``print(measurement)`` and ``isthmus measure``
- ``transport``: the transport of libisthmus in the TOML form: levels, and the start, copies and reductions of a node
"""
