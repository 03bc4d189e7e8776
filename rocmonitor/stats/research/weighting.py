"""Weighted rows: labelled scores whose shares of their class follow weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.rows import Counts, Floats, same_order, valid_labels, valid_scores
from rocmonitor.stats.sample import Sample, WeightedSample

_UNIT = 2**52  # counts a class: each share is as exact as float64 holds it


def weighted_sample(y_true: ArrayLike, y_score: ArrayLike, weights: ArrayLike) -> WeightedSample:
    """Labelled scores in which every row has a share of its class that is proportional to its weight.

    For `auc_bounds`, `auc_distance` and `auc_path`, which depend on a sample through these shares only.
    Functions that state a sampling error, such as `auc`, need numbers of rows and refuse the result.

    Parameters
    ----------
    y_true, y_score, shape (n,): Labels and scores.
    weights, shape (n,): Finite numbers >= 0, on any scale, for example ``0.5 ** (age / half_life)``. A weight
        below 2**-53 of the total of its class counts as 0.

    Returns
    -------
    ``.score .pos .neg``: the distinct scores and the shares of the two classes at each.

    Raises
    ------
    DegenerateDataError, InputError: A class without weight; unusable data (see `Sample`), unequal lengths, a
        negative weight.

    Examples
    --------
    >>> weighted = weighted_sample([0, 0, 1], [1, 2, 2], [1.5, 0.5, 3.0])
    >>> weighted.neg.tolist()
    [0.75, 0.25]
    """
    same_order(y_true=y_true, y_score=y_score, weights=weights)
    positive, score = valid_labels(y_true), valid_scores(y_score, "y_score")
    weight = valid_scores(weights, "weights")
    if not len(positive) == len(score) == len(weight):
        raise InputError(
            "y_true, y_score and weights must have one entry a row; "
            f"they have {len(positive)}, {len(score)} and {len(weight)}"
        )
    if negative := np.count_nonzero(weight < 0):
        raise InputError(f"weights must be >= 0: {negative} of {len(weight)} are not")
    return WeightedSample(Sample.from_counts(score, _counts(weight, positive), _counts(weight, ~positive)))


def _counts(weight: Floats, rows: NDArray[np.bool_]) -> Counts:
    share = np.where(rows, weight, 0.0)
    largest = share.max(initial=0.0)
    if largest == 0:
        raise DegenerateDataError("a class has no row with a weight above 0; both classes are needed")
    share /= largest  # first, so that the sum is finite
    return np.asarray(np.rint(share / share.sum() * _UNIT), dtype=np.int64)
