"""Descriptions of machines that other tools write, read into the TOML form."""
