"""Communication graphs in files of other tools.

- ``metis``: undirected graphs of tasks in the METIS format (also of KaHIP, Scotch's converters and the DIMACS
  challenges)
"""
