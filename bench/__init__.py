"""Measures: harness, engines, kernels, memory, storage, MPI. One benchmark = one function + one decorator."""

if __name__ != "sprintprof.bench":  # a second copy under the bare name would have its own registry and types
    raise ImportError("import sprintprof.bench, not bench")
