"""Machine profiles: coefficients and the evaluation of every family."""
