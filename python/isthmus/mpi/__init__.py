"""The MPI of the user: which one a command uses, C compiled for it, ranks started with it and stopped again.

- ``build``: compilation of C for the MPI of the user, once, into the cache
- ``command``: the command that starts an MPI program: which word is the launcher, which are programs, where options
  may go
- ``detection``: detection of the MPI library that a command uses, and of its compiler
- ``launch``: running a command whose ranks get environment variables, with or without libraries loaded into them
- ``launcher``: a launcher with its options as one text, and runs of programs under it that are ended for certain
"""
