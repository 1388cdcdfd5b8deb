"""Memory benchmarks."""
