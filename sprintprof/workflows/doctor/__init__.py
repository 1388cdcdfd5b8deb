"""`sprintprof doctor`: what is here, and what would spoil a run, before it starts."""

from sprintprof.workflows.doctor.examine import Wanted, examine
from sprintprof.workflows.doctor.finding import Finding, Level

__all__ = ["Finding", "Level", "Wanted", "examine"]
