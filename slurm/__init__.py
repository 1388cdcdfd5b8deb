"""Campaigns: job templates, submit, states, resume, collect."""

if __name__ != "sprintprof.slurm":  # a second copy under the bare name would have its own registry and types
    raise ImportError("import sprintprof.slurm, not slurm")
