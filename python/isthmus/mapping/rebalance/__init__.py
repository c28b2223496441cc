"""Dynamic load balancing that takes the network into account.

- ``object_moves``: moves of objects that unload cores and shorten the ways of their messages
- ``object_places``: where objects are, what each core has to do, and what the messages of an object cost on any node
- ``packing``: objects into bins of given sizes, few of them elsewhere than before: what single moves and exchanges do
  not reach
- ``rebalance``: dynamic load balancing that knows the network: measured loads, where objects are, what moving them
  costs
"""
