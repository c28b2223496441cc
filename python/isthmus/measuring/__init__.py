"""Measuring a machine: raw samples, what is fitted to them, and the machine file that comes out.

- ``samples``: raw samples of measurements: journals of runs, the HDF5 file beside the machine file
"""
