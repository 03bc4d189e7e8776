"""Which of two models dominates at a threshold, from cells of rows: exact where cells were cut there."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import InputError
from rocmonitor.stats.curve.difference import ThresholdDominance, dominance_of
from rocmonitor.stats.curve.points import valid_thresholds
from rocmonitor.stats.paired_cells import CondensedPair


def condensed_dominance(pair: CondensedPair, thresholds: ArrayLike) -> ThresholdDominance:
    """`threshold_dominance` at thresholds that are the same for both models, from cells of the rows.

    Parameters
    ----------
    pair : CondensedPair
    thresholds : array_like, shape (h,)
        Some of ``pair.thresholds``.

    Returns
    -------
    ThresholdDominance
        With no error: joint cells are cut at these thresholds, so each row is known to reach them or not.

    Raises
    ------
    InputError
        Something that is no `CondensedPair`; another threshold, at which cells are not cut.
    DegenerateDataError
        A class without rows; a model with all rows in one cell.

    Examples
    --------
    >>> from rocmonitor.stats import PairedSample, condensed_pair
    >>> cells = condensed_pair(PairedSample([0, 1], [0.2, 0.9], [0.6, 0.4]), thresholds=[0.5])
    >>> condensed_dominance(cells, [0.5]).first.tolist()
    [1.0]
    """
    if not isinstance(pair, CondensedPair):
        raise InputError(f"pair must be a CondensedPair, not a {type(pair).__name__}")
    pair.require_both_classes()
    pair.first.require_distinct_scores("first model: ")
    pair.second.require_distinct_scores("second model: ")
    values = valid_thresholds(thresholds)
    if len(other := values[~np.isin(values, pair.thresholds)]):
        raise InputError(
            f"thresholds must be some of {pair.thresholds.tolist()}, at which the joint cells are cut; "
            f"{other[0]:g} is not: condense the rows again with it, or use threshold_dominance on the rows"
        )
    number = np.searchsorted(pair.thresholds, values) + 1  # thresholds that a flagged row reaches
    flagged_1, flagged_2 = (
        reached[:, np.newaxis] >= number for reached in (pair.joint.reached_1, pair.joint.reached_2)
    )
    only = []
    for among in (pair.joint.positive, ~pair.joint.positive):
        rows = pair.joint.rows * among
        only += [rows @ (flagged_1 & ~flagged_2), rows @ (flagged_2 & ~flagged_1)]
    at, classes = np.column_stack([values, values]), (pair.n_pos, pair.n_neg)
    return dominance_of(np.array(only, dtype=np.int64), at, classes, classes, "stratified")
