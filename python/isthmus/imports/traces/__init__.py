"""Traces of MPI programs that other tools write.

- ``dumpi``: traces of SST DUMPI as the text that dumpi2ascii prints, a file per rank
- ``dumpi_calls``: calls of one rank of a dumpi trace as a trace of a thread
- ``dumpi_comms``: communicators of dumpi traces: every rank has numbers of its own for them
- ``dumpi_text``: the text that dumpi2ascii of SST DUMPI prints of one rank: calls with their arguments, header and
  footer
- ``dumpi_types``: sizes of datatypes in dumpi traces: numbers of basic ones, and of those that the program makes of
  them
- ``otf2``: OTF2 traces, as Score-P and others write them, by the package otf2 of PyPI
- ``otf2_events``: events of one OTF2 location as calls: what is between entering and leaving an MPI region belongs to
  one call
"""
