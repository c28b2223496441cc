"""Choosing algorithms of collectives: tuning, decision tables, files for MPI libraries."""
