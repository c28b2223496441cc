"""Finds what limits a program on a machine and what would help: the verb ``advise`` and its report.

- ``advice``: the result of ``advise``
- ``advise``: the verb ``advise``
- ``analysis/``: what a prediction consists of: simulations, what-ifs, and where the time goes
- ``collectives/``: which algorithms of collectives a library takes, and which would be better
- ``output/``: advice in words: sentences, text, JSON and the report in HTML
- ``settings/``: parameters of the MPI library: queues, eager limits, progress, memory
"""
