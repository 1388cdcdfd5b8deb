"""Statistics of samples: intervals, modes, drift, comparison."""
