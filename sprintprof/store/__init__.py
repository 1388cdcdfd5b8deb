"""Results that no kill can take away: a journal while a run measures, one sealed HDF5 file when it ends."""

from sprintprof.store.gather import gather_environments
from sprintprof.store.merge import MergeReport, merge_results
from sprintprof.store.paths import journal_path
from sprintprof.store.peek import peek_header
from sprintprof.store.recover import Recovered, recover_journal, write_results
from sprintprof.store.results import Completeness, Results, load_results
from sprintprof.store.run import RunWriter, open_run
from sprintprof.store.schema import HISTORY, MISSING_INT, SCHEMA_VERSION

__all__ = [
    "HISTORY",
    "MISSING_INT",
    "SCHEMA_VERSION",
    "Completeness",
    "MergeReport",
    "Recovered",
    "Results",
    "RunWriter",
    "gather_environments",
    "journal_path",
    "load_results",
    "merge_results",
    "open_run",
    "peek_header",
    "recover_journal",
    "write_results",
]
