"""Where two models on the same rows differ: a simultaneous band for the difference of their ROC curves.

D(t) = R_1(t) - R_2(t) is the difference of the true positive rates at the same false positive rate t. Rows
are drawn with replacement in each class, both scores of a row together. The fluctuation of the difference in
a resample around that in the sample, in standard deviations of the resamples at that rate, has a maximum over
the rates; the quantile of this maximum is laid around the sample's difference at all rates at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.band.drawing import Progress, require_curve, whole_resamples
from rocmonitor.stats.band.pairing import drawn_differences, pairing
from rocmonitor.stats.curve.points import nearest_ranks
from rocmonitor.stats.proportion import normal_quantile, require_level, require_method
from rocmonitor.stats.resampling import Rng, generator
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.rows import Counts, Floats
from rocmonitor.stats.sample import PairedSample, on_pair

DifferenceBandMethod = Literal["studentized-sup", "naive-sup"]

Better = Literal["first", "second"]

SMOOTHING = 4.0
"""Positives added on which the models are assumed to disagree: see the notes of `roc_difference_band`."""

_ENDS = (0.001, 0.002, 0.005)  # rates beside 0.01, 0.02, …, 0.99, at both ends
_LEAST_RANK = 5  # negatives above the first threshold, and below the last
_FEW = 20  # rows of a class: the coverage was not measured with fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Region(Result):
    """False positive rates, from `low_fpr` to `high_fpr`, at all of which one model is better.

    Attributes
    ----------
    low_fpr, high_fpr : float
        The first and the last rate of the table at which the band leaves 0 out; they may be the same one.
    better : str
        ``first`` or ``second``.
    largest_difference, at_fpr : float
        The difference of largest size seen in the region, first minus second, and where.
    """

    low_fpr: float
    high_fpr: float
    better: Better
    largest_difference: float
    at_fpr: float

    def __str__(self) -> str:
        return (
            f"{self.better} model better from FPR {self.low_fpr:.4g} to {self.high_fpr:.4g}, "
            f"by up to {abs(self.largest_difference):.4f} at {self.at_fpr:.4g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocDifferenceBand(Table):
    """A band that holds the difference of two true ROC curves at all its rates with the confidence level.

    Attributes
    ----------
    fpr : ndarray, shape (h,)
        False positive rates r / n_neg, increasing, within (0, 1).
    difference : ndarray, shape (h,)
        TPR of the first model minus TPR of the second there; straight lines across ties.
    low, high : ndarray, shape (h,)
        Ends of the band, within [-1, 1]. Between two rates: on the straight lines (see the coverages).
    radius : float
        Half of the band's height before it is clipped: in TPR with "naive-sup"; with "studentized-sup" in
        standard deviations, which vary along the curve.
    n_resamples : int
        Resamples drawn.
    method, confidence_level, n_pos, n_neg, caveats
        As in `IntervalTable`; the level is that of the band, and so of all its regions together.
    """

    fpr: Floats
    difference: Floats
    low: Floats
    high: Floats
    radius: float
    method: str
    confidence_level: float
    n_resamples: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def regions(self) -> tuple[Region, ...]:
        """From which FPR to which one model is better, all of it at once with the confidence level.

        Runs of neighbouring rates of the table at which the band lies above 0, or below it, by increasing
        rate. None of them says that the models are equal elsewhere.
        """
        side = np.where(self.low > 0, 1, np.where(self.high < 0, -1, 0))
        start = np.flatnonzero(np.diff(side, prepend=0))
        stop = np.concatenate([start[1:], [len(side)]])
        return tuple(
            self._region(int(a), int(b)) for a, b in zip(start, stop[: len(start)], strict=True) if side[a]
        )

    def _region(self, start: int, stop: int) -> Region:
        largest = start + int(np.argmax(np.abs(self.difference[start:stop])))
        return Region(
            low_fpr=float(self.fpr[start]),
            high_fpr=float(self.fpr[stop - 1]),
            better="first" if self.low[start] > 0 else "second",
            largest_difference=float(self.difference[largest]),
            at_fpr=float(self.fpr[largest]),
        )

    def __str__(self) -> str:
        found = "; ".join(map(str, self.regions())) or "no rate at which one model is shown to be better"
        return (
            f"Difference of two ROC curves, {100 * self.confidence_level:g} % for all {len(self.fpr)} rates "
            f"({self.method}), {self.n_pos} positives, {self.n_neg} negatives: {found}"
        )


@on_pair
def roc_difference_band(
    pair: PairedSample,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: Rng | None = None,
    fpr: ArrayLike | None = None,
    method: DifferenceBandMethod = "studentized-sup",
    progress: Progress | None = None,
) -> RocDifferenceBand:
    """Band for the difference of two ROC curves, first minus second, over a range of false positive rates.

    Parameters
    ----------
    y_true, score_1, score_2 : array_like, shape (n,)
        Labels and the two models' scores on the same rows, or one `PairedSample` in their place.
    confidence_level, n_resamples, rng, progress
        As for `roc_band`; `rng` is needed.
    fpr : array_like, shape (h,), optional
        Rates within (0, 1), in any order; the nearest r / n_neg are used, each once. By default 0.01, 0.02,
        …, 0.99 and 0.001, 0.002, 0.005 from either end, but not nearer to an end than 5 negatives (a quarter
        of them where they are fewer than 20): there the curve hangs on single rows.
    method : str
        ``studentized-sup``: the largest fluctuation in standard deviations, narrow where the difference is
        known well; ``naive-sup``: in TPR, the same height at all rates, wider.

    Returns
    -------
    RocDifferenceBand

    Raises
    ------
    DegenerateDataError, InputError
        As for `roc_band`; no rates, or rates outside (0, 1).

    Notes
    -----
    Where both models flag the same positives no resample differs, and the truth still may. So the variance of
    the resamples has 4 / (n_pos + 2)² added at every rate, as if they disagreed on four more positives
    ([AM05] add one at 1.96 deviations; a band is 3 wide, and where a model misses five of its
    positives its deviation is known badly), and the radius is at least that of one rate. The band of a model
    against itself is 0 with ends of about ± 4 / n_pos. Coverage by simulation: docs/coverage.md.

    Rows and grouped counts, rows in any order, and scores under increasing maps give the same band for the
    same `rng`; with the two models swapped its mirror image.

    Cost: O(n log n), then O(n + h log n) a resample: 999 resamples of 1,000,000 rows in 20 s on one core.
    With 8 rows a cell of equal rows, or more, O(cells + h log n). Memory O(n + B h).

    References
    ----------
    .. [BCV08] Bertail, Clémençon, Vayatis (2008). On bootstrapping the ROC curve. NIPS 21.
    .. [AM05] Agresti, Min (2005). Simple improved confidence intervals for comparing matched proportions.
       Statistics in Medicine 24.

    Examples
    --------
    >>> y, first = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]
    >>> band = roc_difference_band(y, first, [1, 2, 5, 6, 3, 4, 7, 8], fpr=[0.25, 0.5], rng=1)
    >>> band.difference.tolist(), band.regions()
    ([0.5, 0.5], ())
    """
    require_method(method, get_args(DifferenceBandMethod))
    alpha = 1 - require_level(confidence_level)
    if progress is not None and not callable(progress):
        raise InputError(f"progress must be a function that takes a text, or None; it is {progress!r}")
    require_curve(pair)
    ranks, moved = _ranks(fpr, pair.n_neg)
    source = generator(rng, n_resamples, method=method)
    resamples, place, adjusted = whole_resamples(n_resamples, alpha, method)
    rows = pairing(pair)
    difference = rows.observed(ranks)
    fluctuation = np.abs(drawn_differences(rows, ranks, resamples, source, progress) - difference)
    least = SMOOTHING**0.5 / (pair.n_pos + 2)
    sd = np.full(len(ranks), least)
    if method == "studentized-sup":
        sd = np.sqrt(np.mean(fluctuation**2, axis=0) + least**2)
    largest = np.partition((fluctuation / sd).max(axis=1), place)[place]
    half = max(float(largest), normal_quantile(alpha / 2)) * sd
    return RocDifferenceBand(
        fpr=ranks / pair.n_neg,
        difference=difference,
        low=np.clip(difference - half, -1.0, 1.0),
        high=np.clip(difference + half, -1.0, 1.0),
        radius=float(half[0] if method == "naive-sup" else half[0] / sd[0]),
        method=method,
        confidence_level=float(confidence_level),
        n_resamples=resamples,
        n_pos=pair.n_pos,
        n_neg=pair.n_neg,
        caveats=(*moved, *adjusted, *_caveats(pair, fluctuation)),
    )


def _ranks(fpr: ArrayLike | None, n_neg: int) -> tuple[Counts, tuple[Caveat, ...]]:
    """The ranks of the band's rates, increasing, and a caveat about rates that moved."""
    if fpr is None:
        return _table_ranks(n_neg), ()
    asked, moved = nearest_ranks(fpr, n_neg)
    return np.unique(asked), moved


def _table_ranks(n_neg: int) -> Counts:
    rates = np.concatenate([np.arange(1, 100) / 100, _ENDS, 1 - np.array(_ENDS)])
    least = max(1, min(_LEAST_RANK, n_neg // 4))
    return np.unique(np.clip(np.rint(rates * n_neg), least, n_neg - least)).astype(np.int64)


def _caveats(pair: PairedSample, fluctuation: Floats) -> tuple[Caveat, ...]:
    found = []
    for name, sample in (("first", pair.first), ("second", pair.second)):
        if tied := np.count_nonzero((sample.pos > 0) & (sample.neg > 0)):
            found.append(Caveat("ties-between-classes", tied=tied, scores=len(sample.score), model=name))
    if min(pair.n_pos, pair.n_neg) < _FEW:
        found.append(Caveat("few-rows-for-band", n_pos=pair.n_pos, n_neg=pair.n_neg, enough=_FEW))
    if unchanged := np.count_nonzero(fluctuation.max(axis=0) == 0):
        rates = fluctuation.shape[1]
        found.append(Caveat("resamples-never-differ", unchanged=unchanged, rates=rates, added=SMOOTHING))
    return tuple(found)
