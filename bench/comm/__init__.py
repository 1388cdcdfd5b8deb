"""MPI benchmarks."""
