"""Slow, obvious answers that the compiled core is held against. They know a topology by its list of links alone."""
