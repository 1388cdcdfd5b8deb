"""The only room that joins bench, fit, slurm and model."""
