"""What ranks do: programs in terms of MPI, and schedules, the DAGs of operations that are simulated and run.

- ``builder``: building programs: whole arrays of events at once, or event by event
- ``call_checks``: what a call on a :class:`ProgramBuilder` alone shows to be wrong
- ``checksums``: checksums of HDF5 files: a table behind the HDF5 content, by which damage is found before libhdf5
  sees the file
- ``columns``: columns of numbers: what users pass becomes arrays of the core's types, or one clear sentence
- ``counters``: counters of the processor in a recording: what they counted in computations
- ``details``: details of events: lists of numbers in one array, each preceded by its length
- ``event``: events of a Program: their kinds, the columns that hold them, and one of them for people to read
- ``event_names``: what messages call an event of a Program, and where they say it is
- ``events``: events of a program, picked out of its columns
- ``goal``: GOAL files, text and binary: what LogGOPSim and its descendants read and write
- ``hdf5``: HDF5 files of Programs and Schedules: which columns they have
- ``hdf5_columns``: HDF5 files of nouns: columns as datasets of one dimension, with their units
- ``matrices``: patterns as matrices of senders by receivers
- ``operation``: operations of a Schedule: their kinds, and the records that hold them and the bytes they move
- ``pattern``: the Pattern: who sends how much to whom, whatever the order
- ``program``: the Program: what each rank does, in terms of MPI, as columns of events
- ``program_checks``: what a program must be: columns that fit each other, and events that make sense
- ``program_order``: what a program must be over time: requests that are open when waited for, collectives that all
  members call alike
- ``rank``: one rank of a schedule, for people to read
- ``recording``: the Recording: what was measured while a program ran, beside the Program of what it did
- ``recording_hdf5``: recordings in the HDF5 file of their Program: the group ``recording/`` and attributes of the
  root
- ``schedule``: the Schedule: a DAG of operations per rank, between whatever produces communication and whatever
  consumes it
- ``shape``: regular patterns, recognised for display: grids and their stencils, hypercubes, trees, blocks, stars
- ``storing``: A file to which HDF5 writes: what does not fit onto the disk is an error after all is closed
- ``summary``: sentences that say what a program, schedule or pattern holds
- ``unsealed``: HDF5 files without checksums: a child process copies what they hold into a file that has them
"""
