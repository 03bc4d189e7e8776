"""Pairs of thresholds at which two models can be compared, chosen on a reference, never on the batch judged.

Scores of two models need not share a scale (Dugas and Gadoury, 2009, section 3.2).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.binomial import Floats
from rocmonitor.stats.curve.roc import rates_within
from rocmonitor.stats.proportion import require_method
from rocmonitor.stats.sample import PairedSample, Sample, on_pair

Calibration = Literal["isotonic", "platt"]


@on_pair
def matched_pairs(reference: PairedSample, flagged_shares: ArrayLike) -> Floats:
    """Pairs of thresholds that flag the same share of a reference, positives and negatives together.

    Parameters
    ----------
    y_true, score_1, score_2, shape (n,): The reference: labels and both models' scores, or one `PairedSample`
        in their place.
    flagged_shares, shape (h,): Shares within (0, 1).

    Returns
    -------
    ndarray, shape (h, 2): For each model the observed score whose flagged share is nearest, the higher one of
        two equally near.

    Raises
    ------
    DegenerateDataError, InputError: An empty reference, or a model with one score for all its rows; no
        shares, or shares outside (0, 1).

    Notes
    -----
    Cost: O(n + h log n). Labels play no part: unlabelled rows of a reference may carry any label.

    Examples
    --------
    >>> matched_pairs([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], [10, 20, 40, 30], [0.25, 0.5]).tolist()
    [[0.9, 40.0], [0.4, 30.0]]
    """
    shares = rates_within(flagged_shares, "flagged_shares", "number")
    if not len(reference.pos):
        raise DegenerateDataError("the reference is empty: no threshold can be matched on it")
    reference.require_distinct_scores()
    columns = []
    for model in (reference.first, reference.second):
        flagged = np.cumsum((model.pos + model.neg)[::-1])  # at the distinct scores, decreasing
        flagged = flagged / flagged[-1]
        after = np.clip(np.searchsorted(flagged, shares), 1, max(len(flagged) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(flagged) - 1)
        nearer = shares - flagged[before] <= flagged[after] - shares
        columns.append(model.score[::-1][np.where(nearer, before, after)])
    return np.column_stack(columns)


@on_pair
def calibrated_pairs(
    reference: PairedSample, probabilities: ArrayLike, *, method: Calibration = "isotonic"
) -> Floats:
    """Pairs of thresholds that mean the same probability after each model is calibrated on a reference.

    Parameters
    ----------
    y_true, score_1, score_2, shape (n,): The reference, as for `matched_pairs`.
    probabilities, shape (h,): Calibrated probabilities of being positive, within (0, 1).
    method: ``isotonic``: scikit-learn's isotonic regression of the label on the score; ``platt``:
        scikit-learn's logistic regression, with Platt's smoothed targets (n_pos + 1) / (n_pos + 2) and 1 /
        (n_neg + 2).

    Returns
    -------
    ndarray, shape (h, 2): For each model the lowest score whose calibrated probability reaches the one asked
        for: an observed score, or ``inf`` where none does (``isotonic``); any number (``platt``).

    Raises
    ------
    DegenerateDataError, InputError: As for `matched_pairs`; a reference of one class, or ``platt`` where the
        score does not rise with the share of positives; probabilities outside (0, 1), an unknown method.

    Notes
    -----
    Cost: O(n). Both fits keep the order of scores, so a pair of thresholds is all that calibration changes.

    Examples
    --------
    >>> calibrated_pairs([0, 0, 1, 1], [1, 3, 2, 4], [10, 20, 30, 40], [0.5, 0.9]).tolist()
    [[2.0, 30.0], [4.0, 30.0]]
    """
    wanted = rates_within(probabilities, "probabilities", "number")
    require_method(method, get_args(Calibration))
    reference.require_both_classes()
    reference.require_distinct_scores()
    models = reference.first, reference.second
    if method == "platt":
        return np.column_stack([_platt(model, wanted) for model in models])
    from sklearn.isotonic import IsotonicRegression

    columns = []
    for model in models:
        size = model.pos + model.neg
        fitted = IsotonicRegression().fit_transform(model.score, model.pos / size, sample_weight=size)
        # Pooled means carry rounding: a probability that is reached but for 1e-12 is reached.
        first = np.searchsorted(fitted, wanted - 1e-12)
        columns.append(np.append(model.score, np.inf)[first])
    return np.column_stack(columns)


def _platt(model: Sample, wanted: Floats) -> Floats:
    from sklearn.linear_model import LogisticRegression

    size = model.pos + model.neg
    high, low = (model.n_pos + 1) / (model.n_pos + 2), 1 / (model.n_neg + 2)
    as_pos = model.pos * high + model.neg * low
    centre = float(np.average(model.score, weights=size))
    scale = float(np.sqrt(np.average((model.score - centre) ** 2, weights=size))) or 1.0
    x = ((model.score - centre) / scale)[:, np.newaxis]
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.concatenate([x, x]),
        np.repeat([1, 0], len(x)),
        sample_weight=np.concatenate([as_pos, size - as_pos]),
    )
    slope, level = float(fit.coef_[0, 0]), float(fit.intercept_[0])
    if slope <= 1e-9:
        raise DegenerateDataError(
            "platt calibration needs scores that rise with the share of positives; on this reference the "
            f"fitted slope is {slope:.3g} per standard deviation: use isotonic, or matched_pairs"
        )
    return np.asarray(centre + scale * (np.log(wanted / (1 - wanted)) - level) / slope)


def flagged_shares(sample: Sample, thresholds: ArrayLike) -> Floats:
    """Share of all rows at or above each threshold."""
    below = np.concatenate([[0], np.cumsum(sample.pos + sample.neg)])
    return np.asarray((below[-1] - below[np.searchsorted(sample.score, thresholds)]) / below[-1])


def score_quartiles(sample: Sample) -> tuple[float, float]:
    """First and third quartile of the scores of all rows."""
    below = np.cumsum(sample.pos + sample.neg)
    first, third = np.searchsorted(below, [0.25 * below[-1], 0.75 * below[-1]])
    return float(sample.score[first]), float(sample.score[third])
