"""Differences that the next windows would show, if windows go on differing like those so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.coming import draw, learned
from rocmonitor.stats.proportion import require_level
from rocmonitor.stats.rows import Floats, window_numbers
from rocmonitor.stats.sequence import ConfidenceSequence, reach

LONGEST = 52
"""Windows ahead that are drawn: further ahead, such windows say nothing."""

LEAST = 3
"""Windows from which their scatter can be learned."""

SURE = 0.95
"""Share of the drawn series that must be decided by the window that is named."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NextWindows:
    """Series of coming windows, each as probable as the others."""

    seen: Floats  # (LONGEST, r): Differences of the windows of each series, sampling error included
    se: float  # standard error of each

    def mean_of(self, windows: int, confidence_level: float) -> tuple[float, float]:
        """Return the ends of a prediction interval for the mean of the next windows, within [-1, 1]."""
        if not 1 <= windows <= LONGEST:
            raise InputError(f"windows must be a number of windows, 1 to {LONGEST}, not {windows!r}")
        tail = (1 - require_level(confidence_level)) / 2
        low, high = np.quantile(self.seen[:windows].mean(axis=0), [tail, 1 - tail]).tolist()
        return max(low, -1.0), min(high, 1.0)

    def until_decided(self, sequence: ConfidenceSequence, margin: float) -> int | None:
        """Return the number of windows by which `SURE` of the series are decided; None beyond `LONGEST`.

        Parameters
        ----------
        sequence: Of the windows so far, with estimand "period". The coming ones weigh as much as these on
            average.
        margin: Decided is a sequence with ``low > margin``, ``high < -margin`` or, with a margin above 0,
            ``low > -margin``.
        """
        if sequence.estimand != "period":
            raise InputError(
                "sequence must have estimand 'period': of the future too few are decided in time"
            )
        so_far = len(sequence.estimate)
        windows = np.arange(1.0, LONGEST + 1)
        share = windows / (so_far + windows)
        means = self.seen.cumsum(axis=0) / windows[:, None]
        mean = sequence.estimate[-1] + share[:, None] * (means - sequence.estimate[-1])
        below, above = (each[:, None] for each in reach(sequence, windows))
        low, high = mean - below, mean + above
        decided = (low > margin) | (high < -margin) | ((margin > 0) & (low > -margin))
        by = np.logical_or.accumulate(decided, axis=0).mean(axis=1)
        return None if by[-1] < SURE else int(1 + np.argmax(by >= SURE))


def next_windows(differences: ArrayLike, ses: ArrayLike, places: tuple[int, ...]) -> NextWindows | None:
    """Draw coming windows from all that those so far leave possible; None with fewer than `LEAST`.

    Parameters
    ----------
    differences, shape (k,): Differences of AUCs or rates, one for each window.
    ses, shape (k,): Standard errors of them. 0 counts as the pooled one.
    places: The position of each window in the series, increasing. A place without a window is a gap.

    Returns
    -------
    NextWindows or None: None also while no window has any standard error.

    Random effects: true differences follow a stationary AR(1) process about a mean; mean, scatter and
    correlation are integrated over what the windows leave possible (`rocmonitor.stats.coming`). A coming
    window has the mean sampling variance of those so far. Coverage by simulation: docs/coverage.md. Cost:
    O(k g) and 0.1 s.
    """
    d, s = window_numbers(differences, "differences"), window_numbers(ses, "ses")
    if not len(d) == len(s) == len(places):
        raise InputError(
            "differences, ses and places must have one number for each window; "
            f"they have {len(d)}, {len(s)} and {len(places)}"
        )
    if np.any(np.diff(places) <= 0):
        raise InputError(f"places must increase: the windows in their order; they are {places}")
    if len(d) < LEAST or not np.any(s > 0):
        return None
    noise = s**2
    noise = np.where(noise > 0, noise, noise.mean())
    at = tuple(place - places[0] for place in places)
    drawn = draw(learned(d, noise, at), float(noise.mean()), LONGEST)
    return NextWindows(seen=drawn.seen, se=float(np.sqrt(noise.mean())))
