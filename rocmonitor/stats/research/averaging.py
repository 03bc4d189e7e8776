"""One operating point, three questions: what is held fixed when its uncertainty is stated.

Averaging by threshold or by false positive rate are different problems (Dugas and Gadoury 2009, section 2.4);
their conclusion asks for a third, averaging by total positive rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.stats.curve.threshold import threshold_intervals
from rocmonitor.stats.curve.total_rate import total_rate_intervals
from rocmonitor.stats.curve.vertical import vertical_intervals
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AveragingTable(Table):
    """Operating points, and intervals of the TPR by what is held fixed; see `averaging_table`.

    Attributes
    ----------
    threshold, shape (h,): As given.
    tpr, fpr, total_rate, shape (h,): Observed shares of the positives, of the negatives and of all rows at or
        above the threshold.
    by_threshold_low, by_threshold_high, by_fpr_low, by_fpr_high, by_total_rate_low, by_total_rate_high:
        Intervals of the TPR with the threshold, the FPR or the total positive rate held fixed, shape (h,).
    confidence_level: Of each interval by itself.
    caveats: Rates that had to move away from 0 or 1, and those of the three intervals.
    """

    threshold: Floats
    tpr: Floats
    fpr: Floats
    total_rate: Floats
    by_threshold_low: Floats
    by_threshold_high: Floats
    by_fpr_low: Floats
    by_fpr_high: Floats
    by_total_rate_low: Floats
    by_total_rate_high: Floats
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...]

    def __str__(self) -> str:
        return (
            f"TPR at {len(self.tpr)} operating points by what is held fixed, "
            f"{100 * self.confidence_level:g} % intervals, {classes(self.n_pos, self.n_neg)}"
        )


@on_sample
def averaging_table(
    sample: Sample, thresholds: ArrayLike, *, confidence_level: float = 0.95
) -> AveragingTable:
    """Return the TPR at operating points, with its intervals by threshold, FPR and total positive rate.

    ===========  ===================  ==========================  ==========================================
    columns      held fixed           varies between resamples    the question of
    ===========  ===================  ==========================  ==========================================
    threshold    the threshold        TPR, FPR, share flagged     a model in use with its cut-off set
    fpr          the FPR, r / n_neg   TPR, threshold, share       comparing models at a tolerated false
                                                                  alarm rate; known only afterwards
    total_rate   the share flagged,   TPR, FPR, threshold         a budget: a fixed number of rows,
                 r / (n_pos + n_neg)                              whichever they are
    ===========  ===================  ==========================  ==========================================

    The rates are those that each threshold has on this sample, so that a line is one operating point. By
    threshold a positive is flagged or not by itself. By rate the threshold moves too, with the negatives
    drawn (by FPR), which adds to the spread, or with all rows (by total rate), where more high positives
    raise the threshold, which takes from it: much where positives are many.

    Parameters
    ----------
    thresholds, shape (h,): At least one; any order.

    Returns
    -------
    Agresti's smoothing in all three: ``agresti-coull`` by threshold, ``agresti`` by the two rates.

    Notes
    -----
    The cost is that of `total_rate_intervals`. In place of a rate of 0 or 1, which cannot be held fixed,
    stands the nearest one within (0, 1), with a caveat.

    Examples
    --------
    >>> table = averaging_table([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5])
    >>> table.tpr.tolist(), table.fpr.tolist(), table.total_rate.tolist()
    ([0.5], [0.5], [0.5])
    >>> table.by_threshold_low.round(4).tolist(), table.by_total_rate_low.round(4).tolist()
    ([0.0999], [0.1889])
    """
    by_threshold = threshold_intervals(sample, thresholds, joint=False, confidence_level=confidence_level)
    tpr, fpr, n = by_threshold.tpr, by_threshold.fpr, sample.n_pos + sample.n_neg
    total_rate = (tpr * sample.n_pos + fpr * sample.n_neg) / n
    held, moved = [], []  # at 0 and 1 no rate can be held: the nearest multiple of 1 / rows is
    for rate, rows, name in ((fpr, sample.n_neg, "FPR"), (total_rate, n, "total positive rate")):
        held.append(np.clip(rate, 1 / max(rows, 2), 1 - 1 / max(rows, 2)))
        if count := np.count_nonzero((rate <= 0) | (rate >= 1)):
            moved.append(Caveat("rate-cannot-be-held", count=count, total=len(rate), rate=name))
    by_fpr = vertical_intervals(sample, held[0], confidence_level=confidence_level)
    by_total = total_rate_intervals(sample, held[1], confidence_level=confidence_level)
    return AveragingTable(
        threshold=by_threshold.threshold,
        tpr=tpr,
        fpr=fpr,
        total_rate=total_rate,
        by_threshold_low=by_threshold.tpr_low,
        by_threshold_high=by_threshold.tpr_high,
        by_fpr_low=by_fpr.tpr_low,
        by_fpr_high=by_fpr.tpr_high,
        by_total_rate_low=by_total.tpr_low,
        by_total_rate_high=by_total.tpr_high,
        confidence_level=float(confidence_level),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=tuple(moved)
        + tuple(
            caveat.concerning(f"by {held}")
            for held, result in (("threshold", by_threshold), ("FPR", by_fpr), ("total rate", by_total))
            for caveat in result.caveats
            if caveat.values.get("rate") == "TPR"
        ),
    )
