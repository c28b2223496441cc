"""Recordings of real MPI programs: raw traces become Programs that know when, where and how long every call took."""
