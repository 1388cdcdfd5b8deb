"""Kernel benchmarks: what training consists of."""
