"""The change of P(y | score) that the labelled rows of a window show, for its rows that wait for labels.

A window whose law of the label given the score has changed fills its missing labels by the law of the past,
which hides the change. So the log odds of its labelled rows are compared with those of past rows that had
their label at the same age:

    logit P(y | s, labelled) = logit P_past(y | s, labelled) + a + beta l(s),    l(s) = logit P_past(y | s).

`a` is how many positives the window has, and how soon labels of each class come; only beta is carried to the
other rows, with the constant at which the change moves no positives into the window or out of it. beta is
shrunk: windows either differ as past ones do, or something has changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from rocmonitor.stats.dependence import scatter_between
from rocmonitor.stats.forecast.projection import rising
from rocmonitor.stats.sample import Floats, Sample

CHANGED = 0.5
"""Chance, before labels are seen, that something has changed; chosen by simulation, docs/coverage.md."""

SPREAD = 0.4
"""Standard deviation of beta where something has: 0.2 takes about 0.06 off an AUC of 0.85."""

_STEPS, _LARGEST = 25, 2.0  # of Newton's method; of a step
_RIDGE = 1e-4  # information on a slope without any
_HALVINGS = 40
_FAR = 20.0  # log odds


class PastLaw(NamedTuple):
    """The laws of past rows that had their label at an age, and of all; how they differ between windows."""

    known: Sample  # past rows that had their label at that age, and all that have one now
    whole: Sample
    scatter: float = 0.0  # variance of beta between past windows


class Slope(NamedTuple):
    """The beta of a window: as its labelled rows show it, and its sampling variance."""

    value: float
    variance: float

    def shrunk(self, scatter: float) -> tuple[float, float]:
        """Return mean and standard deviation of beta, given how past windows scatter.

        It has the variance `scatter` about 0 or, with the chance `CHANGED`, besides that of `SPREAD`.
        """
        prior = np.array([scatter, scatter + SPREAD**2])
        total = prior + self.variance
        log = np.log([1 - CHANGED, CHANGED]) - (np.log(total) + self.value**2 / total) / 2
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        means = prior / total * self.value
        mean = float(weight @ means)
        variance = float(weight @ (prior / total * self.variance + means**2)) - mean**2
        return mean, math.sqrt(max(variance, 0.0))


def slope(labelled: Sample, past: PastLaw) -> Slope:
    """Return the beta of a window: logistic regression by Newton's method, O(k) a step for k scores."""
    base, log_odds = (_log_odds(each, labelled.score) for each in (past.known, past.whole))
    x = np.stack([np.ones_like(log_odds), log_odds])
    rows = labelled.pos + labelled.neg
    found = np.zeros(2)
    for _ in range(_STEPS):
        p = expit(base + found @ x)
        information = (x * (rows * p * (1 - p))) @ x.T + _RIDGE * np.eye(2)
        step = np.linalg.solve(information, x @ (labelled.pos - rows * p) - _RIDGE * found)
        found = found + np.clip(step, -_LARGEST, _LARGEST)
        if np.abs(step).max() < 1e-9:
            break
    return Slope(float(found[1]), float(np.linalg.inv(information)[1, 1]))


def scatter_of(slopes: list[Slope]) -> float:
    """Return the variance of beta between windows, beyond what sampling makes."""
    if len(slopes) < 2:
        return 0.0
    values, variances = np.array(slopes).T
    return scatter_between(values, variances)


class ChangedLaw:
    """The law of a window's rows without labels, at any beta."""

    def __init__(self, past: PastLaw, score: Floats, p: Floats, window: tuple[Floats, Floats]) -> None:
        """Take P(y | s) of the past at the scores of these rows, and (score, rows) of the whole window."""
        with np.errstate(divide="ignore"):
            self._own = logit(p)
        self._log_odds = _log_odds(past.whole, score)
        self._all, self._rows = _log_odds(past.whole, window[0]), window[1]

    def p(self, beta: float) -> Floats:
        """Return P(y | s) at the scores."""
        if not beta:
            return np.asarray(expit(self._own))
        positives = float(self._rows @ expit(self._all))
        low, high = -_FAR, _FAR
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            more = float(self._rows @ expit((1 + beta) * self._all + middle)) > positives
            low, high = (low, middle) if more else (middle, high)
        return np.asarray(expit(self._own + high + beta * self._log_odds))


def _log_odds(sample: Sample, score: Floats) -> Floats:
    """Return the log odds of a positive at each score: isotonic, with half a row of each class more."""
    start = rising(sample.pos, sample.neg).start
    pos, neg = (np.add.reduceat(of, start) + 0.5 for of in (sample.pos, sample.neg))
    return np.asarray(np.log(pos / neg)[np.searchsorted(sample.score[start[1:] - 1], score)])
