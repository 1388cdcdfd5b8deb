"""The nouns every room shares: points, measurements, errors. Nothing of ours is imported here."""

from sprintprof.records.errors import InputError, PartialError, SprintprofError
from sprintprof.records.measurement import FLAGS, SAMPLE_FIELDS, Measurement, SampleSet, Status
from sprintprof.records.missing import Missing
from sprintprof.records.point import Point, Value, point_key
from sprintprof.records.run import RunHeader

__all__ = [
    "FLAGS",
    "SAMPLE_FIELDS",
    "InputError",
    "Measurement",
    "Missing",
    "PartialError",
    "Point",
    "RunHeader",
    "SampleSet",
    "SprintprofError",
    "Status",
    "Value",
    "point_key",
]
