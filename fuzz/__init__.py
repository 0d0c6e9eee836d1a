"""Hostile and broken files for every reader: `python -m fuzz --help`."""
