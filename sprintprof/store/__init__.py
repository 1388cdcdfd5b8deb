"""Results files: journal, HDF5, recover, merge."""
