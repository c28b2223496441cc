"""Simulation: when everything in a program or schedule happens on a machine, and why.

- ``activity``: activities of CPU streams: the bars in a picture of a simulation
- ``chrome``: traces in the Trace Event Format, which Perfetto and chrome://tracing show
- ``critical``: why the makespan is what it is: the critical path, and how the makespan follows the machine's
  parameters
- ``deadlock``: deadlock as a result: what waits, for whom, in which cycle, and what arrived instead
- ``handshakes``: requests and answers of messages by rendezvous as messages of their own
- ``hdf5``: HDF5 files of Timelines: the result, the schedule and the machine in one file
- ``makespans``: makespans of many schedules on the same machine, with nothing else
- ``network``: network arguments of ``simulate``: model, routes, and the options of single models
- ``noise``: traces of operating system noise
- ``options``: the options of ``simulate`` as one type, for verbs that hand them on
- ``queues``: queues of MPI in a simulation: messages without receives, receives that wait, receive buffers
- ``ran``: what is known of a run that was carried out and measured
- ``saved_result``: the result of a simulation as files of Timelines keep it
- ``simulate``: the verb ``simulate``
- ``text``: the output of ``print(timeline)`` and ``isthmus show``
- ``words``: the names of the parts of time, in all outputs
- ``timeline``: the Timeline: what happened when, and why
- ``traffic``: the traffic of links in a simulation with contention
- ``waits_for``: the wait-for graph of a simulation that got stuck
- ``work``: lower bounds of simulated times from the work of ranks and interfaces, without a simulation
"""

from .simulate import simulate as simulate
from .timeline import SHARES as SHARES
from .timeline import Timeline as Timeline
