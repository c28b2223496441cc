"""Compares the algorithms that a library takes with better ones.

- ``comparison``: which algorithms of collectives an MPI library takes by itself, and what better ones would save
- ``library``: whose decisions collectives follow: the MPI library of a recording, or one that is named
- ``tuner``: times of single collectives where a program's communicators sit, and the tables that come of them
- ``usage``: which collectives a program calls: at which sizes, on how many ranks, how often
"""
