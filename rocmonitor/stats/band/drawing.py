"""The curves that resamples are drawn from, empirical or smoothed, and resampled curves at any size's cost.

Bertail, Clémençon and Vayatis (2008) draw rows and add Gaussian noise of a bandwidth to each class. That is
drawing from the smoothed distribution functions, so all that a resample depends on is the smoothed curve
R(u) = 1 - G(H^-1(1 - u)): it is tabulated once, and no replicate meets a score again.

In the coordinate u, the share of the law's negatives above a score, negatives are uniform and positives have
the curve R(u) as their distribution function. So the r-th largest negative of a resample lies at the r-th
order statistic U_r of uniforms, and the positives above it are binomial with chance R(U_r); jointly, sums of
gamma spacings and a multinomial. That is the exact law of the resampled TPR at FPR r / n_neg.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.curve.kernel import (
    Bandwidth,
    ClassScores,
    class_scores,
    deviation,
    given_bandwidths,
    spread,
)
from rocmonitor.stats.curve.roc import require_rates
from rocmonitor.stats.proportion import whole_number
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
    """Ranks r, within 1…n_neg - 1, at whose rates r / n_neg a band is computed: all of them up to 2,048.

    Above, 2,048 or 8 sqrt(n_neg), at most 8,192, evenly spaced, and in growing steps from both (steep) ends.
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
    """TPR at FPR `ranks` / n_neg of resamples from the law with this curve, (n_resamples, h), O(h) each.

    With the empirical curve this is the naive bootstrap, ties broken at random.
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
    """Yield the lines of `drawn`, some at a time, to be filled; reports progress up to ten times."""
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function that takes a text, or None; it is {progress!r}")
    reported, total, at_once = 0, len(drawn), max(1, at_once)
    for start in range(0, total, at_once):
        yield drawn[start : start + at_once]
        done = min(start + at_once, total)
        if progress is not None and done * _REPORTS // total > reported:
            reported = done * _REPORTS // total
            progress(f"{done} of {total} {name}")


def cumulated(counts: NDArray[np.integer]) -> Counts:
    """Return sums of the first 0, 1, …, c counts of each line, (b, c + 1)."""
    total = np.zeros((len(counts), counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, dtype=np.int64, out=total[:, 1:])
    return total


def whole_resamples(n_resamples: int, tail: float, method: str) -> tuple[int, int, tuple[Caveat, ...]]:
    """Resamples B such that (1 + B) `tail` is whole, the place of that quantile, and what was adjusted.

    (1 + B) `tail` of the 1 + B gaps lie above it (Bertail, Clémençon and Vayatis 2008, remark 1).
    """
    asked = whole_number(n_resamples, "n_resamples")
    wanted = (1 + asked) * tail
    if wanted < 1 - _ROUNDING:
        raise InputError(
            f"n_resamples must be at least {math.ceil(1 / tail - _ROUNDING) - 1} with method {method!r} at "
            f"this confidence level, not {asked}: no resample lies beyond the quantile"
        )
    above = math.ceil(wanted - _ROUNDING)
    used = max(round(above / tail) - 1, asked)
    raised = () if used == asked else (Caveat("resamples-raised", asked=asked, used=used),)
    return used, used - above, raised


Rule = Literal["normal", "robust", "undersmoothed"]

_CELL = 1 / 8  # of the narrower bandwidth: rows so near to each other are taken together
_LEAST_CELL = 1 / 64  # of the wider bandwidth
FINEST = 1e-12  # the share of the largest score below which a deviation or bandwidth is taken as 0
_REACH = 5.0  # bandwidths around the rows that the table resolves
_TABLE = 2**24  # values of the normal law that a table may take: about a third of a second
_TABLE_AT_ONCE = 2**20


class Curve(NamedTuple):
    """An ROC curve as a line through its knots, both coordinates non-decreasing from (0, 0) to (1, 1)."""

    fpr: Floats
    tpr: Floats

    def at(self, fpr: Floats) -> Floats:
        """TPR at rates of any shape, 0 before 0 and 1 after 1; the lower end of a vertical rise."""
        # np.interp takes the upper end; seen from (1, 1) that is the lower one.
        return -np.interp(-fpr, -self.fpr[::-1], -self.tpr[::-1], left=-1.0, right=0.0)

    def back(self, tpr: Floats) -> Floats:
        """Return the smallest FPR at which the curve reaches rates of any shape."""
        return -np.interp(-tpr, -self.tpr[::-1], -self.fpr[::-1])


def empirical_curve(sample: Sample) -> Curve:
    """Through (FPR, TPR) at all distinct scores: steps, and straight lines across ties. O(k)."""
    return Curve(
        np.concatenate([[0.0], np.cumsum(sample.neg[::-1]) / sample.n_neg]),
        np.concatenate([[0.0], np.cumsum(sample.pos[::-1]) / sample.n_pos]),
    )


def normal_scores(sample: Sample) -> Sample:
    """Replace each score by the normal quantile of its midrank among all rows; O(k).

    Increasing maps of the scores do not change it, and the normal laws that bandwidths are made for are near.
    """
    rows = sample.pos + sample.neg
    below = np.cumsum(rows) - rows / 2
    above = rows.sum() - below
    # By the nearer end: the upper tail keeps its digits, and -score gives exactly the mirror image.
    z = scipy.special.ndtri(np.minimum(below, above) / rows.sum())
    return Sample.from_counts(np.where(below < above, z, -z), sample.pos, sample.neg)


class Smoothed(NamedTuple):
    """A smoothed curve and the thresholds of its knots, decreasing, in the unit of `class_scores`, (k,)."""

    curve: Curve
    threshold: Floats


def smoothed_curve(sample: Sample, bandwidth: tuple[float, float], *, shrunk: bool = False) -> Smoothed:
    """Return the curve of both distribution functions smoothed by a Gaussian kernel, (positives, negatives).

    With `shrunk` the noisy scores are drawn towards the mean of their class until its deviation is what it
    was (Silverman and Young 1987). Rows within 1/8 of a bandwidth are taken at their mean, and the curve is a
    line through its points at thresholds as far apart. Cost: O(k), then at most 2^24 values of the normal
    law; where this is too few for the spread of the scores, the cells are wider.
    """
    pos, neg, unit = class_scores(sample)
    h_pos, h_neg = (max(h / unit, FINEST) for h in bandwidth)
    if shrunk:
        (pos, h_pos), (neg, h_neg) = _shrunk(pos, h_pos), _shrunk(neg, h_neg)
    cell = max(_CELL * min(h_pos, h_neg), _LEAST_CELL * max(h_pos, h_neg))
    while (tabulated := _table(_merged(pos, cell), _merged(neg, cell), cell, h_pos, h_neg)) is None:
        cell *= 2
    return tabulated


def _table(
    pos: tuple[Floats, Floats], neg: tuple[Floats, Floats], cell: float, h_pos: float, h_neg: float
) -> Smoothed | None:
    """Return the curve at a threshold in each cell near a row; None where these would be too many."""
    rows = len(pos[0]) + len(neg[0])
    reach = math.ceil(_REACH * max(h_pos, h_neg) / cell)
    if rows * (2 * reach + 1) > _TABLE:
        return None
    occupied = np.unique(np.floor(np.concatenate([pos[0], neg[0]]) / cell))
    at = (np.unique(np.add.outer(occupied, np.arange(-reach, reach + 1.0)))[::-1] + 0.5) * cell
    if rows * len(at) > _TABLE:
        return None
    fpr, tpr = _above(*neg, at, h_neg), _above(*pos, at, h_pos)
    return Smoothed(
        Curve(np.concatenate([[0.0], fpr, [1.0]]), np.concatenate([[0.0], tpr, [1.0]])),
        np.concatenate([at[:1] + cell, at, at[-1:] - cell]),
    )


def bandwidths(sample: Sample, bandwidth: Bandwidth | Rule) -> tuple[float, float]:
    """Bandwidths of the positives and the negatives, in the units of the scores."""
    pos, neg, unit = class_scores(sample)
    if isinstance(bandwidth, str):
        if bandwidth not in _RULES:
            raise InputError(
                f"bandwidth must be a number, (positives, negatives) or one of {', '.join(_RULES)}; "
                f"it is {bandwidth!r}"
            )
        factor, power, robust = _RULES[bandwidth]
        widths = []
        for rows, name in ((pos, "positives"), (neg, "negatives")):
            width = spread(rows) if robust else deviation(rows)
            if width < FINEST:
                raise DegenerateDataError(
                    f"the bandwidth would be 0: all {rows.total} {name} have one score; give bandwidth in "
                    "the units of the scores, or use a naive method, which smooths nothing"
                )
            widths.append(float(factor * width * rows.total**-power) * unit)
        return widths[0], widths[1]
    return given_bandwidths(bandwidth, ": the naive methods are those that smooth nothing")


def deviations(sample: Sample, method: str, instead: str) -> tuple[float, float]:
    """Return standard deviations of both classes; refuse one of 0, and say what to do `instead`."""
    pos, neg, _ = class_scores(sample)
    sd_pos, sd_neg = deviation(pos), deviation(neg)
    if min(sd_pos, sd_neg) < FINEST:
        raise DegenerateDataError(
            f"method {method!r} needs scores that differ within each class; the "
            f"{'positives' if sd_pos < sd_neg else 'negatives'} have one score: {instead}"
        )
    return sd_pos, sd_neg


def _shrunk(rows: ClassScores, h: float) -> tuple[ClassScores, float]:
    """Scores and bandwidth whose smoothed law has the class's own mean and deviation."""
    own = deviation(rows)
    if own < FINEST:
        return rows, h
    mean = np.sum(rows.share * rows.score)
    factor = own / math.hypot(own, h)
    return rows._replace(score=mean + factor * (rows.score - mean)), max(factor * h, FINEST)


_RULES: dict[str, tuple[float, float, bool]] = {
    "normal": (1.06, 1 / 5, False),
    "robust": (0.9, 1 / 5, True),
    "undersmoothed": (1.06, 1 / 3, False),
}


def _merged(rows: ClassScores, cell: float) -> tuple[Floats, Floats]:
    place = np.floor(rows.score / cell)
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
    share = np.add.reduceat(rows.share, first)
    return np.add.reduceat(rows.share * rows.score, first) / share, share


def _above(score: Floats, share: Floats, at: Floats, h: float) -> Floats:
    """Return the smoothed share of a class above each of `at`, decreasing."""
    above = np.empty(len(at))
    step = max(1, _TABLE_AT_ONCE // len(score))
    for start in range(0, len(at), step):
        part = slice(start, start + step)
        above[part] = scipy.special.ndtr((score - at[part, np.newaxis]) / h) @ share
    return np.clip(np.maximum.accumulate(above), 0.0, 1.0)
