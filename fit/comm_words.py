"""What a reader of a message fit must know: switches, falling bandwidth, knees, forms that misfit."""

from __future__ import annotations

import numpy as np

from sprintprof.fit.comm_grid import Grid
from sprintprof.profile import Fit
from sprintprof.units import format_rate_Bps, format_share, format_size

BANDWIDTH_FALL = 0.95
MISFIT = 0.15
"""A form whose 90th percentile of errors on its own points is above this does not describe them."""


def remarks(fit: Fit, table: Grid, inside_p90: float) -> list[str]:
    """Lines for the fit's warnings."""
    lines = []
    if fit.error.method == "in-sample":
        lines.append("too few different points to leave any out: the error is not known")
    if inside_p90 > MISFIT:
        form = "one line" if len(fit.segments) == 1 else f"these {len(fit.segments)} pieces"
        lines.append(f"{form} misfit the measured points: 90 % of errors are up to {format_share(inside_p90)}")
    if len(table.ranks) == 1 and "ranks" not in fit.fixed:
        text = f"measured with {table.ranks[0]:g} ranks only"
        lines.append(f"{text}: for others the cheapest cost term, {fit.segments[0].term}, is assumed")
    lines += _breaks(fit) + _bandwidth(table) + _knees(fit)
    return lines


def _breaks(fit: Fit) -> list[str]:
    sizes = sorted({s.from_bytes for s in fit.segments} - {0.0})
    lines = [f"breaks at {', '.join(format_size(x) for x in sizes)}"] if sizes else []
    falls = sorted({s.from_bytes for s in fit.segments if s.falls})
    if falls:
        lines.append(f"the time falls at the switch at {', '.join(format_size(x) for x in falls)}")
    switches = sorted({s.from_ranks for s in fit.segments if s.from_ranks})
    if switches:
        lines.append(f"the algorithm switches at {', '.join(f'{x:g}' for x in switches)} ranks: the time falls there")
    return lines


def _bandwidth(table: Grid) -> list[str]:
    """Where bytes per second fall as the message grows, of one number of ranks."""
    if len(table.ranks) > 1 or not table.sizes.any():
        return []
    rate = table.sizes / table.times_s[:, 0]

    def at(place: int) -> str:
        return f"{format_rate_Bps(float(rate[place]))} at {format_size(float(table.sizes[place]))}"

    drops = [(i - 1, i) for i in range(1, len(rate)) if rate[i] < BANDWIDTH_FALL * rate[i - 1]]
    best, last = int(np.argmax(rate)), len(rate) - 1
    if not drops and rate[last] < BANDWIDTH_FALL * rate[best]:
        drops = [(best, last)]
    text = "; ".join(f"from {at(i)} to {at(j)}" for i, j in drops)
    return [f"the bandwidth falls as messages grow: {text}"] if drops else []


def _knees(fit: Fit) -> list[str]:
    lines = []
    for s in fit.segments:
        if s.kind == "incast":
            _, beta, receiver = fit.coefficients[s.first : s.first + 3]
            if beta > 0 and receiver > 0 and beta > receiver:
                text = f"from {format_size(s.from_bytes)} on the receiver is the limit from"
                lines.append(f"{text} {beta / receiver:.1f} senders on")
    return lines
