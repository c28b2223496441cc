"""Recordings of real MPI programs: raw traces become Programs that know when, where and how long every call took.

- ``align_collectives``: collectives of a recording: the k-th call of every member of a communicator is one collective
- ``alone``: whether a command runs a program that uses libisthmus without MPI
- ``assembly``: assembly of the traces of all ranks into one Program with its Recording
- ``build``: compilation of the recorder, once per MPI library, and once for programs without MPI
- ``by_function``: a recorded program by functions: calls, time, computation and bytes of every function path
- ``by_function_text``: the tree of functions of a profile as lines of a table
- ``clocks``: clocks of hosts: times of every rank by the clock of rank 0
- ``communicators``: communicators of a recording: ids that all members share become communicators of the Program
- ``compaction``: removal of events that do nothing from a Program in the making
- ``concatenate``: concatenation of all ranks' columns, with communicators and ranks of the Program
- ``counters``: processor counters: which are requested, and what they counted in the computations of a recording
- ``emission``: events of one rank, collected kind by kind and put into the order of the program at the end
- ``endings``: sentences on how ranks ended
- ``flops``: counters of floating-point operations: their numbers on a processor, and what one count stands for
- ``functions``: the meaning of MPI functions for a Program where their records do not give it
- ``headers``: the headers of raw traces: facts about the run and its ranks
- ``matching``: messages of a recording: the k-th send of a channel goes to its k-th receive
- ``merge``: raw traces of all ranks as one Program with its Recording
- ``one_sided``: conversion of one-sided calls of one rank to events
- ``own``: which place of a call path is the user's own code: what is named in tables, and what libraries and wrappers
  hide
- ``part``: what one rank of a recording did: its events, messages and calls, in numbers of its own
- ``paths``: call paths of all ranks as one tree: every path is its caller's path and a place, and stands in it once
- ``profile``: the profile of a recorded program: time and bytes of its calls by function, place, rank and size
- ``profile_text``: what ``print(profile)`` and ``isthmus show`` say of a recorded program
- ``rank_records``: records of one rank: those of all its threads in one order, by the clock of rank 0
- ``raw``: raw traces as recorder/trace.h describes them: one file per thread of a process, read into columns
- ``record``: the verb ``record``: run an MPI program and record its communication and computation
- ``region``: the recorded part of a run: iteration markers and regions, as passed to the recorder
- ``requests``: requests of one rank: which completion belongs to which call that opened it
- ``sites``: places in the program: addresses become functions and "file.c:57" by addr2line of GNU binutils, where it
  is there
- ``spill``: columns that grow piece after piece: in memory, and past a size in files without a name, which are mapped
- ``trace_builder``: traces of one thread built call by call, for readers of foreign formats
- ``translate``: conversion of the calls of one rank to events of a Program
- ``unseen``: why nothing was recorded of a program that uses MPI
"""
