"""What ranks do: programs in terms of MPI, and schedules, the DAGs of operations that are simulated and run."""
