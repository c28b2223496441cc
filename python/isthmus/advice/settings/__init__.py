"""Parameters of the MPI library: what queues a program needs, and whether another eager limit would be better.

- ``limits``: eager limits and progress, by simulation, and the memory that messages without receives take
- ``names``: what the parameters are called in Open MPI and MPICH
"""
