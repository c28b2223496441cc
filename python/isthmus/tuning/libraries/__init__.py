"""MPI libraries: their algorithms in the terms of Isthmus, and how they count sizes.

- ``canonical``: choices written in one way: what does the same is equal
- ``library``: an algorithm of a library, and the nearest one to a choice
- ``mpich``: MPICH: its algorithms in the terms of Isthmus
- ``mpich_tree``: the trees by which MPICH selects algorithms: taken from an installed library, and walked as it walks
  them
- ``openmpi``: open MPI: algorithms of its component "tuned" by version, and how it counts sizes
- ``ucc``: UCC: algorithms of its layer over UCX (tl/ucp) in the terms of Isthmus
"""
