"""The distance of windows from a sample by laws of the scores that are fitted by maximum likelihood.

Morin (2018), section 3.5, as the rival of `binned_distance`, which is the same with the multinomial law of
quantile bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.distance import require_windows
from rocmonitor.stats.proportion import require_method
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Counts, Floats, Sample, on_sample

Law = Literal["normal", "exponential"]

_ROUNDING = 1e-14  # of a variance, by which equal scores may seem to vary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LikelihoodDistance(Result):
    """The mean distance of windows from a sample, between fitted laws.

    Attributes
    ----------
    distance : float
        Mean over the windows, in nats.
    window_distances : ndarray, shape (windows,)
        KL of the negatives' laws plus that of the positives' laws, window against sample.
    sampling : float
        What sampling alone adds to `distance` on average, to first order, if the windows have the sample's
        law: parameters / (2 rows) for each class of a window.
    law : str
    """

    distance: float
    window_distances: Floats
    sampling: float
    law: str
    n_pos: int
    n_neg: int

    def __str__(self) -> str:
        return (
            f"Distance {self.distance:.4g} of {len(self.window_distances)} windows ({self.law} laws; "
            f"sampling alone {self.sampling:.4g})"
        )


@on_sample
def likelihood_distance(
    sample: Sample, /, windows: Sequence[Sample], *, law: Law = "normal", symmetric: bool = False
) -> LikelihoodDistance:
    """Return the mean Kullback-Leibler distance of windows from a sample, by laws fitted to each class.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels 0 and 1, and finite scores; higher means more positive. Or one `Sample`.
    windows : sequence of Sample
        Windows (segments) of the same score, each with both classes.
    law : {"normal", "exponential"}
        The binormal and the bi-exponential model of [M18]; the latter for scores above 0.
    symmetric : bool
        The symmetric distance of eq. 13 in place of eq. 12.

    Returns
    -------
    LikelihoodDistance
        ``forecast_interval(sample, method="fixed", distance=…)`` takes its `distance`.

    Raises
    ------
    InputError
        Unusable data (see `Sample`), no windows, something that is no `Sample`, an unknown law, scores of 0
        and less with "exponential".
    DegenerateDataError
        The sample or a window has one class only; scores of a class are all equal with "normal".

    Notes
    -----
    [M18] section 3.5, with eq. 12 for densities. Both laws are exponential families: the distance of a fitted
    law from the sample's is the mean log-likelihood ratio of the window's own rows, so that 2 n times it is
    the likelihood-ratio statistic ([W38]), whose mean is the number of parameters: `sampling`. Unlike the
    bins, a law that does not fit leaves part of a change out. Cost: O(k) for k distinct scores.

    References
    ----------
    .. [M18] Morin (2018). Forecast intervals for the area under the ROC curve. Working paper.
    .. [W38] Wilks (1938). Annals of Mathematical Statistics 9, 60-62.

    Examples
    --------
    >>> sample = Sample([0, 0, 1, 1], [-1, 1, 0, 2])
    >>> likelihood_distance(sample, [Sample([0, 0, 1, 1], [0, 2, 0, 2])]).distance  # one class shifted by 1
    0.5
    """
    require_method(law, get_args(Law), "law")
    require_windows(sample, windows)
    fit, distance, parameters = _LAWS[law]
    own = _fitted(sample, fit, "the sample")
    found, sampling = [], 0.0
    for number, window in enumerate(windows, 1):
        total = 0.0
        for new, old in zip(_fitted(window, fit, f"window {number}"), own, strict=True):
            total += distance(new, old) + (distance(old, new) if symmetric else 0.0)
        found.append(total)
        sampling += (1 + symmetric) * parameters / 2 * (1 / window.n_pos + 1 / window.n_neg) / len(windows)
    return LikelihoodDistance(
        distance=float(np.mean(found)),
        window_distances=np.array(found),
        sampling=sampling,
        law=law,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
    )


class _Fit(NamedTuple):
    """A law with the largest likelihood: its mean and, of the normal one, its variance."""

    mean: float
    variance: float = 0.0


def _fitted(sample: Sample, fit: Callable[[Floats, Counts, str], _Fit], name: str) -> tuple[_Fit, _Fit]:
    negatives, positives = (
        fit(sample.score[of > 0], of[of > 0], f"the {kind} of {name}")
        for of, kind in ((sample.neg, "negatives"), (sample.pos, "positives"))
    )
    return negatives, positives


def _normal(score: Floats, rows: Counts, name: str) -> _Fit:
    mean = float(np.average(score, weights=rows))
    variance = float(np.average((score - mean) ** 2, weights=rows))
    if variance <= _ROUNDING * max(float(np.max(np.abs(score))) ** 2, 1e-300):
        raise DegenerateDataError(
            f"the scores of {name} are all equal, so a normal law has no density; use binned_distance"
        )
    return _Fit(mean, variance)


def _exponential(score: Floats, rows: Counts, name: str) -> _Fit:
    if wrong := int(rows[score <= 0].sum()):
        raise InputError(
            f"law 'exponential' needs scores above 0: {wrong} of {name} are not; shift the scores, or use "
            "law 'normal'"
        )
    return _Fit(float(np.average(score, weights=rows)))


def _normal_distance(new: _Fit, old: _Fit) -> float:
    """KL(N(new) || N(old))."""
    ratio = new.variance / old.variance
    return (ratio - 1 - math.log(ratio) + (new.mean - old.mean) ** 2 / old.variance) / 2


def _exponential_distance(new: _Fit, old: _Fit) -> float:
    """KL(Exp(new) || Exp(old)) of exponential laws with these means."""
    ratio = new.mean / old.mean
    return ratio - 1 - math.log(ratio)


_LAWS = {"normal": (_normal, _normal_distance, 2), "exponential": (_exponential, _exponential_distance, 1)}
