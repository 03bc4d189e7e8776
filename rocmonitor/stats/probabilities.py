"""The calibration of probabilities: proper scores and the recalibrating regression, with intervals.

The regression is logit P(y = 1) = a + b logit(p) ([C58]): b is the slope, and the intercept is a where b is
held at 1 ("calibration in the large"). All of it depends on the rows through counts at distinct p only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from scipy.special import expit

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.nouns import classes
from rocmonitor.stats.proportion import quantile_beyond, require_level
from rocmonitor.stats.result import Interval, Result
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample, on_sample

_LEAST = 2.0**-52  # as scikit-learn: a p of exactly 0 or 1 is moved by so much
_STEPS = 100
_FAR = 50.0  # log odds beyond those of all rows, where no intercept is
_STEEPEST = 1e3  # a slope beyond this is none: the classes are separated


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationResult(Result):
    """The distance of probabilities from the shares they promise; each with a standard error.

    Attributes
    ----------
    log_loss, brier: Means over the rows of -log(probability of what came) and of (p - y)²; smaller is better.
    slope: 1 where calibrated; below 1 the probabilities are too extreme. None where it has no finite value:
        all p are equal, or they separate the classes.
    intercept: 0 where calibrated; above 0 there are more positives than the probabilities promise, in log
        odds.
    log_loss_se, brier_se, slope_se, intercept_se: The last two by the sandwich formula, which holds whatever
        the shape of the miscalibration.
    """

    _estimate: ClassVar[str | None] = "log_loss"

    log_loss: float
    log_loss_se: float
    brier: float
    brier_se: float
    slope: float | None
    slope_se: float | None
    intercept: float
    intercept_se: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def log_loss_ci(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the log-loss, normal on the log scale."""
        return _on_log_scale(self.log_loss, self.log_loss_se, confidence_level)

    def brier_ci(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the Brier score, normal on the log scale."""
        return _on_log_scale(self.brier, self.brier_se, confidence_level)

    def slope_ci(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the slope, normal."""
        if self.slope is None or self.slope_se is None:
            raise DegenerateDataError(
                "there is no calibration slope: all probabilities are equal, or they separate the classes; "
                "take more rows"
            )
        return _normal(self.slope, self.slope_se, confidence_level)

    def intercept_ci(self, confidence_level: float = 0.95) -> Interval:
        """Confidence interval of the intercept, normal."""
        return _normal(self.intercept, self.intercept_se, confidence_level)

    def __str__(self) -> str:
        slope = "none" if self.slope is None else f"{self.slope:.3f}"
        return (
            f"Calibration: slope {slope}, intercept {self.intercept:+.3f}, log-loss {self.log_loss:.4f}, "
            f"Brier {self.brier:.4f} ({classes(self.n_pos, self.n_neg)})"
        )


@on_sample
def calibration(sample: Sample) -> CalibrationResult:
    """Log-loss, Brier score, calibration slope and intercept of probabilities.

    Parameters
    ----------
    y_true, y_score, shape (n,): Or one `Sample` in their place. The scores are the probabilities of y = 1,
        within [0, 1].

    Raises
    ------
    InputError: Scores outside of [0, 1], such as percentages.
    DegenerateDataError: Fewer than two rows of a class.

    Notes
    -----
    Coverage of the intervals: docs/coverage.md. A p of exactly 0 or 1 is moved by 2.2e-16, with a caveat.
    Cost: O(k) for k distinct p after sorting, times the steps of Newton's method (about 6).

    Examples
    --------
    >>> print(calibration([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.7, 0.9]))
    Calibration: slope 1.505, intercept +0.000, log-loss 0.4594, Brier 0.1533 (3 positives, 3 negatives)
    """
    require_probabilities(sample)
    sample.require_both_classes(at_least=2)
    p = np.clip(sample.score, _LEAST, 1 - _LEAST)
    moved = int((sample.pos + sample.neg)[p != sample.score].sum())
    pos, neg = sample.pos.astype(np.float64), sample.neg.astype(np.float64)
    log_loss, log_loss_se = _mean(-np.log(p), -np.log1p(-p), pos, neg)
    brier, brier_se = _mean((1 - sample.score) ** 2, sample.score**2, pos, neg)
    logits = np.log(p) - np.log1p(-p)
    intercept, intercept_se = _intercept(logits, pos, neg)
    slope, slope_se = None, None
    of_pos, of_neg = logits[pos > 0], logits[neg > 0]
    # None if all are equal, or all positives lie on one side of all negatives, ties at the border included.
    if len(logits) > 1 and of_pos[0] < of_neg[-1] and of_pos[-1] > of_neg[0]:
        steepness, error = _slope(logits, pos, neg)
        if abs(steepness) < _STEEPEST and math.isfinite(error):
            slope, slope_se = steepness, error
    caveats = [Caveat("certain-probabilities", rows=moved)] if moved else []
    if slope is None:
        caveats.append(Caveat("no-calibration-slope"))
    return CalibrationResult(
        log_loss=log_loss,
        log_loss_se=log_loss_se,
        brier=brier,
        brier_se=brier_se,
        slope=slope,
        slope_se=slope_se,
        intercept=intercept,
        intercept_se=intercept_se,
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=tuple(caveats),
    )


def require_probabilities(sample: Sample) -> None:
    """Refuse scores that are no probabilities."""
    if not len(sample.score) or (sample.score[0] >= 0 and sample.score[-1] <= 1):
        return
    bad = (sample.score < 0) | (sample.score > 1)
    count, rows = int((sample.pos + sample.neg)[bad].sum()), sample.n_pos + sample.n_neg
    percent = sample.score[0] >= 0 and sample.score[-1] <= 100
    way_out = "they look like percentages: divide by 100" if percent else "map them to probabilities first"
    raise InputError(
        f"scores must be probabilities, from 0 to 1: {count:,} of {rows:,} are not, for example "
        f"{sample.score[bad][-1]:g}; {way_out}"
    )


def _mean(of_pos: Floats, of_neg: Floats, pos: Floats, neg: Floats) -> tuple[float, float]:
    n = float(pos.sum() + neg.sum())
    mean = float(of_pos @ pos + of_neg @ neg) / n
    square = float((of_pos - mean) ** 2 @ pos + (of_neg - mean) ** 2 @ neg)
    return mean, math.sqrt(square / (n - 1) / n)


def _intercept(logits: Floats, pos: Floats, neg: Floats) -> tuple[float, float]:
    """Return the shift of the logits that gives as many positives as there are, and its sandwich error."""
    n, far = pos + neg, float(np.abs(logits).max()) + _FAR
    shift = scipy.optimize.brentq(lambda at: pos.sum() - n @ expit(at + logits), -far, far, xtol=1e-13)
    return float(shift), _sandwich(np.ones((len(logits), 1)), shift + logits, pos, neg)


def _slope(logits: Floats, pos: Floats, neg: Floats) -> tuple[float, float]:
    """Return the slope of a logistic regression on the logits, and its sandwich error.

    Newton's method on the concave likelihood from 0, where it is curved, halving a step that makes it worse.
    """
    design = np.column_stack([np.ones(len(logits)), logits])
    n, beta = pos + neg, np.zeros(2)
    value = _likelihood(design @ beta, pos, neg)
    for _ in range(_STEPS):
        fitted = expit(design @ beta)
        bread = (design * (n * fitted * (1 - fitted))[:, np.newaxis]).T @ design
        step = np.linalg.lstsq(bread, design.T @ (pos - n * fitted), rcond=None)[0]
        size = 1.0
        while size > 1e-10:
            after = _likelihood(design @ (beta + size * step), pos, neg)
            if after >= value - 1e-12 * abs(value):
                break
            size /= 2
        beta, value = beta + size * step, after
        if float(np.abs(size * step).max()) < 1e-9:
            break
    return float(beta[1]), _sandwich(design, design @ beta, pos, neg)


def _sandwich(design: Floats, eta: Floats, pos: Floats, neg: Floats) -> float:
    """Return the standard error of the last coefficient of a logistic regression with these log odds."""
    n, fitted = pos + neg, expit(eta)
    bread = (design * (n * fitted * (1 - fitted))[:, np.newaxis]).T @ design
    meat = (design * (pos * (1 - fitted) ** 2 + neg * fitted**2)[:, np.newaxis]).T @ design
    inverse, rows = np.linalg.pinv(bread), float(n.sum())
    covariance = inverse @ meat @ inverse * (rows / max(rows - design.shape[1], 1.0))
    return math.sqrt(max(float(covariance[-1, -1]), 0.0))


def _likelihood(eta: Floats, pos: Floats, neg: Floats) -> float:
    return float(-(pos @ np.logaddexp(0, -eta)) - neg @ np.logaddexp(0, eta))


def _normal(value: float, error: float, confidence_level: float) -> Interval:
    half = quantile_beyond((1 - require_level(confidence_level)) / 2) * error
    return Interval(value - half, value + half)


def _on_log_scale(value: float, error: float, confidence_level: float) -> Interval:
    if value <= 0.0:  # no row is off at all
        return Interval(0.0, 0.0)
    factor = math.exp(quantile_beyond((1 - require_level(confidence_level)) / 2) * error / value)
    return Interval(value / factor, value * factor)
