"""Communication graphs in files of other tools."""
