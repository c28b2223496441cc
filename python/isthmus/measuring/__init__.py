"""Measuring a machine: raw samples, what is fitted to them, and the machine file that comes out.

- ``programs``: the programs that measure: compiled from ``probes/`` for the MPI at hand, and their kinds of items
- ``samples``: raw samples of measurements: journals of runs, the HDF5 file beside the machine file
"""
