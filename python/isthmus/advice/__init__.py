"""What limits a program on a machine, and what would help: the verb ``advise`` and its report."""
