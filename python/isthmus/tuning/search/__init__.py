"""The search for the best algorithm at every size: what to simulate, and what can be ruled out without it.

- ``intervals``: the best of large schedules of which is known what each has to do at least: few simulations settle it
- ``large``: times of schedules that are too large to simulate at every size: from a few simulations, of smaller ones
  too
- ``neighbours``: times of small schedules whose messages meet, from those at the sizes on both sides
- ``result``: what a sweep of sizes finds: times of candidates, and by which rule others were left out
- ``search``: which candidates are simulated at which sizes
- ``sweep``: the best algorithm of one collective for a sweep of sizes, without simulating what cannot be it
- ``told``: times without contention that need no simulation of their own
"""
