"""Programs in terms of MPI, and schedules, the DAGs of operations that are simulated and run.

- ``builder``: the builder of programs: whole arrays of events at once, or event by event
- ``call_checks``: checks of a single call on a :class:`ProgramBuilder`
- ``checksums``: checksums of HDF5 files: a table behind the HDF5 content, by which damage is found before libhdf5
  sees the file
- ``collective_calls``: the collectives of the builder of programs
- ``columns``: columns of numbers: converts users' input to arrays of the core's types, or raises one clear sentence
- ``computation``: programs with other times of computation
- ``counters``: processor counters in a recording: what they counted in computations
- ``details``: details of events: lists of numbers in one array, each preceded by its length
- ``event``: events of a Program: their kinds, their columns, and a readable form
- ``event_names``: names of events in messages, and where they are
- ``events``: selection of events from the columns of a program
- ``goal``: GOAL files, text and binary: what LogGOPSim and its descendants read and write
- ``hdf5``: HDF5 files of Programs and Schedules: the list of their columns
- ``hdf5_columns``: HDF5 files of nouns: columns as datasets of one dimension, with their units
- ``matrices``: patterns as matrices of senders by receivers
- ``operation``: operations of a Schedule: their kinds, and the records that hold them and the bytes they move
- ``pattern``: the Pattern: who sends how much to whom, whatever the order
- ``program``: the Program: what each rank does, in terms of MPI, as columns of events
- ``program_checks``: checks of a program: columns that fit each other, and events that make sense
- ``program_order``: what a program must be over time: requests that are open when waited for, collectives that all
  members call alike
- ``rank``: the operations of one rank of a schedule in readable form
- ``recording``: the Recording: measurements of a run, beside the Program of what it did
- ``recording_hdf5``: recordings in the HDF5 file of their Program: the group ``recording/`` and attributes of the
  root
- ``schedule``: the Schedule: a DAG of operations per rank, between whatever produces communication and whatever
  consumes it
- ``shape``: regular patterns, recognised for display: grids and their stencils, hypercubes, trees, blocks, stars
- ``storing``: a file that HDF5 writes to: a full disk is reported as an error after all is closed
- ``summary``: sentences that summarise a program, schedule or pattern
- ``tally``: what a program has, in numbers that add up over its pieces
- ``tiling``: the order of steps in a pipelined loop
- ``unsealed``: HDF5 files without checksums: a child process copies what they hold into a file that has them
"""
