"""Simulation: when everything in a program or schedule happens on a machine, and why.

- ``activity``: what CPU streams did: the bars of a picture of a simulation
- ``chrome``: traces in the Trace Event Format, which Perfetto and chrome://tracing show
- ``critical``: why the makespan is what it is: the critical path, and how the makespan follows the machine's
  parameters
- ``deadlock``: deadlock as a result: what waits, for whom, in which circle, and what arrived instead
- ``hdf5``: HDF5 files of Timelines: the result, the schedule and the machine in one file
- ``network``: what ``simulate`` is told about the network: model, routes, and the options of single models
- ``noise``: traces of operating system noise
- ``saved_result``: the result of a simulation as files of Timelines keep it
- ``simulate``: the verb ``simulate``
- ``text``: what ``print(timeline)`` and ``isthmus show`` say
- ``timeline``: the Timeline: what happened when, and why
- ``traffic``: what the links of the network carried in a simulation in which messages meet
- ``waits_for``: who waits for whom, after a simulation has got stuck
- ``work``: what ranks and interfaces have to do at least: lower bounds of simulated times, without a simulation
"""

from .simulate import simulate as simulate
from .timeline import SHARES as SHARES
from .timeline import Timeline as Timeline
