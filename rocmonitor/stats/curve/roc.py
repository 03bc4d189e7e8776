"""The points of the ROC curve of a sample, with the counts behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocmonitor.stats import plotting
from rocmonitor.stats.proportion import proportion_ends
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import Counts, Floats, Sample, on_sample

_SHOWN = 8  # thresholds whose intervals are drawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve(Table):
    """The points of an ROC curve: one for each distinct score, and the one at which no row is flagged.

    Attributes
    ----------
    threshold : ndarray, shape (k + 1,)
        Infinity, then the distinct scores, decreasing. Rows with score >= threshold are flagged.
    fpr, tpr : ndarray, shape (k + 1,)
        Flagged shares of the negatives and of the positives, from (0, 0) to (1, 1).
    fp, tp : ndarray of int64, shape (k + 1,)
        Flagged negatives and positives.
    """

    threshold: Floats
    fpr: Floats
    tpr: Floats
    fp: Counts
    tp: Counts
    n_pos: int
    n_neg: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        about = f"95 % intervals at some thresholds; {self.n_pos:,} positives, {self.n_neg:,} negatives"
        plotting.roc_plane(ax, about)
        plotting.curve(ax, self.fpr, self.tpr)
        some = np.unique(np.linspace(0, len(self.tpr) - 1, _SHOWN + 2)[1:-1].round().astype(int))
        rates = []
        for count, n in ((self.fp[some], self.n_neg), (self.tp[some], self.n_pos)):
            low, high = proportion_ends(count, n, n, "wilson", 0.025)
            rates.append((count / n, low, high))
        plotting.crosses(ax, rates[0], rates[1], label=label)

    def __str__(self) -> str:
        return f"ROC curve of {len(self.tpr)} points, {self.n_pos} positives, {self.n_neg} negatives"


@on_sample
def roc_curve(sample: Sample, /) -> RocCurve:
    """The points of the ROC curve.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,), or one `Sample` in their place

    Returns
    -------
    RocCurve

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data (see `Sample`).

    Notes
    -----
    The points are those of ``sklearn.metrics.roc_curve(…, drop_intermediate=False)``. Cost: the sort of the
    sample, then O(k) for k distinct scores.

    References
    ----------
    .. [F06] T. Fawcett (2006). An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874.

    Examples
    --------
    >>> curve = roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.threshold.tolist(), curve.fpr.tolist(), curve.tpr.tolist()
    ([inf, 0.8, 0.4, 0.1], [0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    sample.require_both_classes()
    tp, fp = (np.concatenate([[0], np.cumsum(counts[::-1])]) for counts in (sample.pos, sample.neg))
    return RocCurve(
        threshold=np.concatenate([[np.inf], sample.score[::-1]]),
        fpr=fp / sample.n_neg,
        tpr=tp / sample.n_pos,
        fp=fp,
        tp=tp,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )
