"""From programs to schedules: collectives become messages, and what it all sends becomes a pattern."""
