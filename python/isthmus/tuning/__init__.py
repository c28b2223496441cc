"""Choosing algorithms of collectives: tuning, decision tables, files for MPI libraries.

- ``candidates``: candidates for a collective: every algorithm with sensible values of its options
- ``choice``: one choice: an algorithm of a collective with its options
- ``compare``: differences between two sources of decisions, and a fresh check of a table
- ``decisions``: the interface of all sources of decisions: tuned tables and the rules of MPI libraries
- ``operations``: estimates of the number of operations of a schedule, without making it
- ``plain_text``: decision tables as plain text, for programs that read them at run time
- ``programs``: decisions of a user, and several sources of decisions in turn
- ``rule``: a decision: the size from which a collective uses an algorithm
- ``runnable``: decisions for the collectives of a program, restricted to algorithms that can run
- ``scenario``: the conditions under which collectives are tuned: machine, ranks, placement, network model
- ``table``: decision tables: the algorithm of a collective by number of ranks and size
- ``table_file``: decision tables in files: TOML and JSON with the same content
- ``text``: a tuning as text
- ``tune``: the verb ``tune``
- ``defaults/``: the built-in decisions of MPI libraries: rules for any number of ranks
- ``export/``: decision tables as files for MPI libraries
- ``libraries/``: MPI libraries: their algorithms in the terms of Isthmus, and how they count sizes
- ``measured/``: tuning by real runs: candidates are timed on the machine itself, in turn with the library's default
- ``search/``: the search for the best algorithm at every size: what to simulate, and what can be ruled out without it
- ``verify/``: checks by real runs that an MPI library follows a file: messages are counted with it, without it, and
  forced
"""
