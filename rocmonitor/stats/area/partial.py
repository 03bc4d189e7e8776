"""The area under a part of the ROC curve: a range of false positive rates, or of true positive rates.

The curve is that of the sample, ties drawn as straight segments, cut exactly at the ends of the range. Its
sampling error comes from placement values as that of the whole area does, each truncated to the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.auc import AucResult
from rocmonitor.stats.area.delong import ROUNDING, mean_and_variance
from rocmonitor.stats.area.unseen import NOTHING, Balance, Part, reach_of
from rocmonitor.stats.nouns import classes, decimals
from rocmonitor.stats.proportion import is_number, quantile_beyond, require_level
from rocmonitor.stats.result import Interval, Result
from rocmonitor.stats.rows import weighted_sum
from rocmonitor.stats.sample import Counts, Sample, on_sample

_FEW = 5  # rows within the range, below which its first-order error is a rough one


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAucResult(Result):
    """An area under a part of the ROC curve.

    Attributes
    ----------
    auc: The area over the range; with `corrected`, McClish's index: 1/2 for chance, 1 for the largest area.
    se: Its standard error, to first order; 0 when the data of the range show no scatter (see `ci`).
    over, {"fpr", "tpr"}: Which rate the range is of. Over "tpr" the area is that between the curve and the
        right edge.
    low, high: Ends of the range.
    least, most: What the area can be at all.
    losses: Of the rows whose rate is found over the range (positives over "fpr"): mean and mean square of
        what they lack, as a share of the range. None for a result that was made without them.
    """

    _estimate: ClassVar[str | None] = "auc"
    _flat: ClassVar[bool] = True

    auc: float
    se: float
    over: Literal["fpr", "tpr"]
    low: float
    high: float
    least: float
    most: float
    n_pos: int
    n_neg: int
    corrected: bool
    caveats: tuple[Caveat, ...] = ()
    losses: tuple[float, float] | None = None

    @property
    def rests_on(self) -> float | None:
        """The number of rows that what is lacking rests on, as `AucResult.rests_on`; of one class here."""
        rows = self.n_pos if self.over == "fpr" else self.n_neg
        return None if self.losses is None else Part(*self.losses).carried_by(rows)

    def ci(self, confidence_level: float = 0.95, transform: Literal["none", "logit"] = "none") -> Interval:
        """Two-sided confidence interval, within [least, most]; all of it when `se` is 0.

        By default the lower end lies at least as far as rows allow that the sample may lack (`reach_of`).

        Parameters
        ----------
        confidence_level: Between 0 and 1, exclusive.
        transform, {"none", "logit"}: As in ``auc(…).ci()``; the logit is that of the share of the largest
            area.
        """
        tail = (1 - require_level(confidence_level)) / 2
        width = self.most - self.least
        share = AucResult(
            auc=min(max((self.auc - self.least) / width, 0.0), 1.0),
            se=self.se / width,
            n_pos=self.n_pos,
            n_neg=self.n_neg,
            method="delta",
        )
        low, high = (0.0, 1.0) if self.se == 0 else share.ci(confidence_level, transform)
        if transform == "none" and self.losses is not None:
            rows = self.n_pos if self.over == "fpr" else self.n_neg
            balance = Balance(Part(*self.losses), NOTHING)
            reach = reach_of([balance], [rows], z=quantile_beyond(tail), tail=tail)
            low = min(low, share.auc - reach.bound)
        return Interval(max(self.least + low * width, self.least), min(self.least + high * width, self.most))

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        kind = "corrected partial AUROC" if self.corrected else "partial AUROC"
        plotting.rows(
            ax,
            ["95 % interval"],
            [(self.auc, *self.ci())],
            x=f"{kind}, {self.over.upper()} {self.low:g} to {self.high:g}",
            note=f"{classes(self.n_pos, self.n_neg)}",
            label=label,
        )

    def __str__(self) -> str:
        kind = "corrected partial AUC" if self.corrected else "partial AUC"
        digits = f".{decimals(self.se)}f"
        return (
            f"{kind} {self.auc:{digits}} over {self.over} {self.low:g} to {self.high:g}, 95 % interval "
            f"{self.ci():{digits}} (standard error {self.se:{digits}}; {classes(self.n_pos, self.n_neg)})"
        )


@on_sample
def partial_auc(
    sample: Sample,
    /,
    *,
    max_fpr: float | None = None,
    min_tpr: float | None = None,
    fpr: tuple[float, float] | None = None,
    tpr: tuple[float, float] | None = None,
    corrected: bool = False,
) -> PartialAucResult:
    """Area under a part of the ROC curve, with its standard error.

    Parameters
    ----------
    max_fpr, min_tpr, fpr, tpr: The range, in exactly one of four ways: ``max_fpr=u`` is ``fpr=(0, u)`` and
        ``min_tpr=v`` is ``tpr=(v, 1)``. Over false positive rates it is the integral of TPR; over true
        positive rates that of 1 - FPR.
    corrected: [MC89]: (1 + (area - chance) / (largest - chance)) / 2, chance being the area under the
        diagonal.

    Raises
    ------
    InputError: Unusable data (see `Sample`); none or several of the four ranges; ends outside [0, 1], or not
        rising.
    DegenerateDataError: Fewer than two rows of a class (the variance is undefined).

    Notes
    -----
    The range is fixed, the threshold at its end is not. A negative that crosses that threshold moves it, and
    the area with it: the influence of a negative is its TPR *truncated* to those of the range (not set to 0
    outside), that of a positive the part of the range to the right of it. The variance is that of [DDC88]
    with these placement values, for any ties. How good this first-order error is: docs/coverage.md.
    Cost: the sort of the sample, then O(k) for k distinct scores.

    Examples
    --------
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9]
    >>> print(partial_auc(y_true, y_score, max_fpr=0.5))  # doctest: +NORMALIZE_WHITESPACE
    partial AUC 0.35 over fpr 0 to 0.5, 95 % interval 0.03 to 0.50
    (standard error 0.16; 3 positives, 3 negatives)
    """
    given = {"max_fpr": max_fpr, "min_tpr": min_tpr, "fpr": fpr, "tpr": tpr}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InputError(
            "partial_auc needs exactly one of max_fpr, min_tpr, fpr and tpr; given: "
            f"{', '.join(named) or 'none'}"
        )
    if max_fpr is not None:
        ends: tuple[float, ...] = (0.0, max_fpr)
    elif min_tpr is not None:
        ends = (min_tpr, 1.0)
    else:
        ends = tuple(np.ravel(np.asarray(given[named[0]], dtype=object)))
    if len(ends) != 2 or not all(map(is_number, ends)) or not 0 <= ends[0] < ends[1] <= 1:
        raise InputError(
            f"{named[0]} must give a range with 0 <= low < high <= 1; it is {given[named[0]]!r}, "
            f"for example {'max_fpr=0.1' if 'fpr' in named[0] else 'min_tpr=0.9'}"
        )
    over: Literal["fpr", "tpr"] = "fpr" if "fpr" in named[0] else "tpr"
    low, high = float(ends[0]), float(ends[1])
    sample.require_both_classes(at_least=2)
    # Over TPR: the same area of the curve seen from its other corner, where negatives are what is found.
    if over == "fpr":
        pos, neg, start, end = sample.pos[::-1], sample.neg[::-1], low, high
    else:
        pos, neg, start, end = sample.neg, sample.pos, 1 - high, 1 - low
    area, variance, held, losses = _area(pos, neg, start, end)
    least, most, scale, chance = 0.0, high - low, 1.0, (end**2 - start**2) / 2
    if corrected:
        scale = 2 * (most - chance)
        area, least, most = (0.5 + (value - chance) / scale for value in (area, 0.0, most))
    se, caveats = math.sqrt(variance) / scale, []
    if se == 0:
        caveats.append(Caveat("no-scatter-in-range"))
    elif held < _FEW:
        kind = "negatives" if over == "fpr" else "positives"
        caveats.append(Caveat("few-rows-in-range", rows=held, kind=kind))
    if corrected and area < 0.5:
        caveats.append(Caveat("below-chance"))
    return PartialAucResult(
        auc=min(max(area, least), most),
        se=se,
        over=over,
        low=low,
        high=high,
        least=least,
        most=most,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        corrected=corrected,
        losses=losses,
        caveats=tuple(caveats),
    )


def _area(
    pos: Counts, neg: Counts, start: float, end: float
) -> tuple[float, float, float, tuple[float, float]]:
    """Return the area over FPR from `start` to `end`, its variance, the negatives in the range, and losses.

    `pos` and `neg` are the counts at the distinct scores from the highest down.
    """
    n_pos, n_neg = int(pos.sum()), int(neg.sum())
    start, end = (
        float(round(rows)) if abs(rows - round(rows)) <= 1e-12 * n_neg else rows  # whole but for rounding
        for rows in (start * n_neg, end * n_neg)
    )
    right, top = np.cumsum(neg), np.cumsum(pos)
    left, bottom = right - neg, top - pos
    # Each cell is a segment of the curve; these are its parts before, after and within the range.
    before = np.clip(start - left, 0, neg)
    after = np.clip(right - end, 0, neg)
    within = neg - before - after
    middle = (np.maximum(left, start) + np.minimum(right, end)) / 2
    wide = np.maximum(neg, 1)
    v10 = np.where(
        neg > 0,
        (before * (end - start) + within * (end - middle)) / wide,
        np.clip(end - left, 0, end - start),
    )
    entry, leave = _height(left, right, bottom, top, start), _height(left, right, bottom, top, end)
    v01 = (before * entry + after * leave + within * (bottom + pos * (middle - left) / wide)) / wide
    area, variance10 = mean_and_variance(v10, pos)
    _, variance01 = mean_and_variance(v01, neg)
    variance = sum(
        # Cells that differ in rounding only have no variance.
        v / (n - 1) / scale**2 if v > (ROUNDING * scale) ** 2 else 0.0
        for v, n, scale in ((variance10, n_pos, n_neg), (variance01, n_neg, n_pos))
    )
    lost = np.clip(1 - v10 / (end - start), 0.0, 1.0)
    losses = weighted_sum(pos, lost) / n_pos, weighted_sum(pos, lost * lost) / n_pos
    return area / n_neg, variance, end - start, losses


def _height(left: Counts, right: Counts, bottom: Counts, top: Counts, at: float) -> float:
    """Positives flagged where the curve passes `at` negatives; half way up where it climbs there."""
    under, over = np.searchsorted(right, at, side="left"), np.searchsorted(left, at, side="right") - 1
    heights = []
    for cell in (int(under), int(over)):
        share = (at - left[cell]) / max(int(right[cell] - left[cell]), 1)
        heights.append(float(bottom[cell] + (top[cell] - bottom[cell]) * share))
    return sum(heights) / 2
