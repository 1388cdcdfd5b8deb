"""The harness: warm-up, sampling, stopping, cache state, flags."""
