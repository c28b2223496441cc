"""Queues of machines: which nodes a job gets and when, how its time varies, and where it is done first.

- ``decide``: where a job is done first: machines and policies by the expected time from submission to the end
- ``easy``: first come, first served with EASY backfilling, event by event
- ``lublin``: synthetic workloads: the model of Lublin and Feitelson
- ``neighbours``: traffic of other jobs: steady messages beside those of a program
- ``policies``: which free nodes a job gets: the table of allocation policies
- ``queue``: the verb ``queue``: jobs of a workload on a machine, the nodes they get and how long they wait
- ``queued``: the result of ``queue``: waiting times by size, and how far apart the nodes of jobs are
- ``swf``: workloads in the Standard Workload Format: a job a line, 18 numbers each, and comments that begin with ";"
- ``variation``: the result of ``vary``: times as distributions, and parts of their variance
- ``vary``: how the time of a program varies: over the nodes that a queue gives it, its neighbours there, and noise
- ``workload``: workloads, and the jobs that they are on a machine: when they come, how many nodes they need, how long
  they run
"""

from __future__ import annotations

from .decide import Decision, decide
from .lublin import lublin
from .policies import POLICIES
from .queue import queue
from .queued import Queued
from .swf import read_swf, write_swf
from .variation import Variation
from .vary import vary
from .workload import Jobs, Workload

__all__ = [
    "POLICIES", "Decision", "Jobs", "Queued", "Variation", "Workload", "decide", "lublin", "queue", "read_swf", "vary",
    "write_swf",
]  # fmt: skip
