"""Machine profiles: coefficients and the evaluation of every family."""

from sprintprof.profile.estimate import Estimate, Estimator, NoFit
from sprintprof.profile.files import load_profile, save_profile
from sprintprof.profile.schema import Fit, FitError, Profile, Quality, Source, Spread

__all__ = [
    "Estimate",
    "Estimator",
    "Fit",
    "FitError",
    "NoFit",
    "Profile",
    "Quality",
    "Source",
    "Spread",
    "load_profile",
    "save_profile",
]
