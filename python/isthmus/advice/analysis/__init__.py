"""The parts of a prediction: simulations, what-ifs, and where the time goes.

- ``calls``: which calls and messages matter: the critical path and the ranks' time by call, by pair of ranks and by
  size
- ``event_of_operation``: which event of a program every operation of its schedule comes from, and which event
  completes it
- ``excerpt``: pieces of a program that are a program together: for simulations that the whole is too large for
- ``links``: what the links of the network carry, whose messages that are, and what these lose to each other
- ``numbers_used``: which numbers of a machine a prediction rests on, and how well each is known
- ``path_shares``: what of the critical path is what: its seconds by share, and step by step for whoever groups them
- ``pieces``: a large program cut into pieces that are looked at one after another
- ``piecewise``: the prediction of a large program, by simulations that go through its pieces
- ``pipelining``: which calls could go on behind computation, and what that would save
- ``prediction``: one program on one machine: the simulations that a prediction takes, and what they tell
- ``remapping``: what another placement of the ranks would change
- ``simulator``: the simulations that an analysis takes, in threads
- ``tables``: tables of calls and messages of pieces, added up to those of the whole
- ``what_if``: machines and programs with something changed: what what-ifs simulate
"""
