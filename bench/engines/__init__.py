"""Engines: the same operations on NumPy and CuPy."""
