"""Choosing algorithms of collectives: tuning, decision tables, files for MPI libraries.

- ``candidates``: what is tried for a collective: every algorithm with sensible values of its options
- ``choice``: one choice: an algorithm of a collective with its options
- ``compare``: what differs between two sources of decisions, and what a table says today
- ``decisions``: what every source of decisions can do: tuned tables and the rules that MPI libraries come with
- ``operations``: how many operations a schedule would have, without making it
- ``plain_text``: decision tables as plain text, for what reads them at run time
- ``programs``: decisions from elsewhere than a table: those of a user, and several sources in turn
- ``rule``: A decision: from which size on a collective takes which algorithm
- ``runnable``: decisions for the collectives that a program calls, where they can run
- ``scenario``: where collectives are tuned: a machine, ranks on it, a model of the network
- ``table``: decision tables: which algorithm a collective takes at which number of ranks and size
- ``table_file``: decision tables in files: TOML and JSON with the same content
- ``text``: A tuning as text
- ``tune``: the verb ``tune``
- ``defaults/``: what MPI libraries decide without any file: rules for any number of ranks
- ``export/``: decision tables as files for MPI libraries
- ``libraries/``: what MPI libraries have: their algorithms in the terms of Isthmus, and how they count sizes
- ``search/``: the search for the best algorithm at every size: what is simulated, and what is known without it
- ``verify/``: proof on a real run that an MPI library follows a file: messages are counted with it, without it, and
  forced
"""
