"""Results to coefficients: features, families, selection by cross-validation, layers, communication."""

if __name__ != "sprintprof.fit":  # a second copy under the bare name would have its own registry and types
    raise ImportError("import sprintprof.fit, not fit")
