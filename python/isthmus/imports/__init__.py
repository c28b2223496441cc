"""Readers of files from other tools: machines, traces and graphs.

- ``source``: what every importer does with the text it is given before it looks at the format
- ``graphs/``: communication graphs in files of other tools
- ``machines/``: descriptions of machines that other tools write, read into the TOML form
- ``traces/``: traces of MPI programs that other tools write
"""
