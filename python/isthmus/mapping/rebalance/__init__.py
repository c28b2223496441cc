"""Dynamic load balancing that knows the network."""
