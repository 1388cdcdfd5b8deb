"""The performance model: cycle times, distributions, strategies."""
