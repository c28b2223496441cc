"""Which algorithms of collectives a library takes, and which would be better."""
