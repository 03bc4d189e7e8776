"""Resampled curves at fixed false positive rates, without a resample: any size costs the same.

In the coordinate u, the share of the law's negatives above a score, negatives are uniform and positives have
the curve R(u) as their distribution function. So the r-th largest negative of a resample lies at the r-th
order statistic U_r of uniforms, and the positives above it are binomial with chance R(U_r); jointly, sums of
gamma spacings and a multinomial. That is the exact law of the resampled TPR at FPR r / n_neg.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.band.smoothing import Curve
from rocmonitor.stats.curve.points import require_rates
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import PairedSample, Sample

Progress = Callable[[str], None]

_POINTS = 2048
_MOST_POINTS = 8192
_AT_ONCE = 2**18  # values held in memory beside the result
_ROUNDING = 1e-6
_REPORTS = 10  # of progress, at most


def require_curve(rows: Sample | PairedSample) -> None:
    """Refuse rows whose curve, or curves, have no point between the ends."""
    rows.require_both_classes()
    require_rates(rows.n_neg)
    rows.require_distinct_scores()


def band_ranks(n_neg: int) -> Counts:
    """Ranks r, within 1…n_neg - 1, at whose rates r / n_neg a band is computed.

    All of them up to 2,048; above, 2,048 or 8 sqrt(n_neg), at most 8,192, evenly spaced, so that a step is a
    small part of a band's width, and 1, 2, 3, … in growing steps from both ends, where curves are steep.
    """
    size = min(max(_POINTS, 8 * math.isqrt(n_neg)), _MOST_POINTS)
    if n_neg <= size:
        return np.arange(1, n_neg)
    even = np.linspace(1, n_neg - 1, size)
    from_end = np.geomspace(1, n_neg / size, 64)
    return np.unique(np.rint(np.concatenate([even, from_end, n_neg - from_end]))).astype(np.int64)


def drawn_curves(
    curve: Curve,
    ranks: Counts,
    n_pos: int,
    n_neg: int,
    n_resamples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Floats:
    """TPR at FPR `ranks` / n_neg of resamples from the law with this curve, shape (n_resamples, h).

    O(h) a resample. With the empirical curve this is the naive bootstrap, ties broken at random.
    """
    gaps = np.diff(ranks, prepend=0, append=n_neg + 1).astype(np.float64)
    drawn = np.empty((n_resamples, len(ranks)))
    for part in in_parts(drawn, _AT_ONCE // len(gaps), progress, "resampled ROC curves"):
        reached = np.cumsum(rng.standard_gamma(gaps, (len(part), len(gaps))), axis=1)
        chance = curve.at(reached[:, :-1] / reached[:, -1:])
        cells = np.maximum(np.diff(chance, axis=1, prepend=0.0, append=1.0), 0.0)
        np.cumsum(rng.multinomial(n_pos, cells)[:, :-1], axis=1, out=part)
    drawn /= n_pos
    return drawn


def in_parts(
    drawn: Floats, at_once: int, progress: Progress | None = None, name: str = ""
) -> Iterator[Floats]:
    """The lines of `drawn`, some at a time, to be filled; reports progress up to ten times."""
    reported, total, at_once = 0, len(drawn), max(1, at_once)
    for start in range(0, total, at_once):
        yield drawn[start : start + at_once]
        done = min(start + at_once, total)
        if progress is not None and done * _REPORTS // total > reported:
            reported = done * _REPORTS // total
            progress(f"{done} of {total} {name}")


def whole_resamples(n_resamples: int, tail: float, method: str) -> tuple[int, int, tuple[Caveat, ...]]:
    """Resamples B such that (1 + B) `tail` is whole, the place of that quantile, and what was adjusted.

    The place counts from 0 in increasing order: (1 + B) `tail` of the 1 + B gaps lie above it (Bertail,
    Clémençon and Vayatis 2008, remark 1, after Hall 1986).
    """
    if not is_number(n_resamples) or not 0 < n_resamples < np.inf or n_resamples != int(n_resamples):
        raise InputError(f"n_resamples must be a whole number of at least 1, not {n_resamples!r}")
    wanted = (1 + n_resamples) * tail
    if wanted < 1 - _ROUNDING:
        raise InputError(
            f"n_resamples must be at least {math.ceil(1 / tail - _ROUNDING) - 1} with method {method!r} at "
            f"this confidence level, not {n_resamples}: no resample lies beyond the quantile"
        )
    above = math.ceil(wanted - _ROUNDING)
    used = max(round(above / tail) - 1, int(n_resamples))
    if used == n_resamples:
        return used, used - above, ()
    return used, used - above, (Caveat("resamples-raised", asked=int(n_resamples), used=used),)
