"""From programs to schedules: collectives become messages, and what it all sends becomes a pattern.

- ``lower``: from programs to schedules
- ``marked``: reductions of a program whose operators do not commute, as recordings mark them: which algorithms they
  take
- ``pattern``: the verb ``pattern``: who sends how much to whom in a Program or a Schedule
- ``rules``: rules of ``lower``: which algorithm a collective takes up to which number of ranks and bytes
"""
