"""Older versions of the results format, brought to the present one as they are read. The files stay as they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def rows_of_version_1(rows: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Version 1 had no columns `origin` and `session`: nothing was merged, and all rows are of the one launch."""
    names = rows.dtype.names or ()
    if "key" not in names or {"origin", "session"} & set(names):
        raise ValueError("the columns are not those of version 1")
    # the dtypes of h5py carry in their metadata that object columns are text: keep them as they are
    fields = [(name, rows.dtype.fields[name][0]) for name in names] if rows.dtype.fields else []
    upgraded = np.zeros(len(rows), [*fields, ("origin", rows.dtype["key"]), ("session", "<i8")])
    for name in names:
        upgraded[name] = rows[name]
    upgraded["origin"] = rows["key"]
    return upgraded
