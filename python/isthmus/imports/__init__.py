"""What other tools write: machines, traces and graphs."""
