"""Which threshold to use at an operating condition: the lower envelope of a sample's cost lines.

Each threshold is a straight line in w, from its FPR at w = 0 to its FNR at w = 1; the cheapest one at each w
makes the lower envelope, and only the thresholds of the ROC curve's convex hull lie on it (Drummond & Holte,
2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.cost.conditions import valid_conditions
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import Sample, on_sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostThresholds(Table):
    """The cheapest threshold of a sample at each operating condition.

    Attributes
    ----------
    w, threshold : ndarray, shape (h,)
        Operating conditions; rows with score >= threshold are flagged, and ``inf`` flags nothing.
    cost : ndarray, shape (h,)
        Normalised cost there on this sample: the lower envelope. Too low for other rows.
    tpr, fpr : ndarray, shape (h,)
        The point of the ROC curve's hull.
    """

    w: Floats
    threshold: Floats
    cost: Floats
    tpr: Floats
    fpr: Floats
    n_pos: int
    n_neg: int


@on_sample
def cost_thresholds(sample: Sample, w: ArrayLike) -> CostThresholds:
    """The thresholds t(w) that cost least on a sample, and the lower envelope of its cost lines.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores of the rows to choose on (a reference, not the batch to be judged), or one `Sample`.
    w : array_like, shape (h,)
        Operating conditions within [0, 1].

    Returns
    -------
    CostThresholds
        Among thresholds of equal cost, the one that flags fewest rows.

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; w outside [0, 1].

    Notes
    -----
    The hull's corners are the blocks of an isotonic fit of the label on the score: within a block the ratio
    of the two classes does not rise, and a block is flagged where w (positives / n_pos) exceeds
    (1 - w) (negatives / n_neg). Cost: O(k + h log k) for k distinct scores after sorting.

    References
    ----------
    .. [DH06] Drummond, Holte (2006). Cost curves: an improved method for visualizing classifier performance.
       Machine Learning 65.

    Examples
    --------
    >>> chosen = cost_thresholds([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.5, 0.7, 0.8], [0.2, 0.5, 0.9])
    >>> chosen.threshold.tolist()
    [0.7, 0.7, 0.4]
    >>> chosen.cost.round(4).tolist()
    [0.0667, 0.1667, 0.0333]
    """
    from scipy.optimize import isotonic_regression  # takes half a second to import

    sample.require_both_classes()
    conditions = valid_conditions(w)
    rows = sample.pos + sample.neg
    starts = isotonic_regression(sample.pos / rows, weights=rows).blocks[:-1]
    pos, neg = np.add.reduceat(sample.pos, starts), np.add.reduceat(sample.neg, starts)
    tpr = np.append(np.cumsum(pos[::-1])[::-1], 0) / sample.n_pos
    fpr = np.append(np.cumsum(neg[::-1])[::-1], 0) / sample.n_neg
    # The w at which flagging a block costs as much as not flagging it; it falls from block to block.
    level = neg * float(sample.n_pos) / (pos * float(sample.n_neg) + neg * float(sample.n_pos))
    first = np.searchsorted(-level, -conditions, side="right")
    return CostThresholds(
        w=conditions,
        threshold=np.append(sample.score[starts], np.inf)[first],
        cost=conditions * (1 - tpr[first]) + (1 - conditions) * fpr[first],
        tpr=tpr[first],
        fpr=fpr[first],
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )
