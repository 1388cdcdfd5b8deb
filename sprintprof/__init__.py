"""sprintprof: measure a machine, fit its coefficients, predict distributed training on it."""

__version__ = "0.1.0"
