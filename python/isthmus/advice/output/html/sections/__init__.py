"""The sections of the report.

- ``collectives``: the section of the report on algorithms of collectives
- ``network``: the section of the report on the network under load
- ``sections``: the sections of the report: each a function of the advice, in the order of the page
- ``settings``: the section of the report on queues of MPI and parameters of its library
"""
