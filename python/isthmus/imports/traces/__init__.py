"""Traces of MPI programs that other tools write."""
