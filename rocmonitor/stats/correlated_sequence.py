"""The confidence sequence that allows for serial correlation: a Bayes factor, inverted after each window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rocmonitor.stats.dependence import SeriesLikelihood, log_mean_exp, series_likelihood
from rocmonitor.stats.rows import Floats

# Chosen by simulation (docs/coverage.md). More weight on correlation under the null hypothesis means fewer
# false decisions among correlated windows and slower ones among independent windows.
COEFFICIENTS = np.linspace(0.05, 0.95, 10)
CORRELATED = 0.2
"""Prior probability that windows correlate, spread over the coefficients in proportion to them."""

NULL_FACTOR = 1.5
"""The factor of that probability under the null hypothesis: above 1 the level is kept better."""

SCALES = 0.35 * 1.6 ** np.arange(13)
"""Standard deviations between windows beside 0, in standard errors of the first window."""

ALIKE = 0.25
"""Prior probability that windows do not differ beyond their sampling error."""

FIRST = 0.4
"""Weight of the alternative that starts from the first window; the other one starts from the tested mean."""

_LEAST_WINDOWS = 3  # before that, how much windows differ is not known
_LARGEST_RATIO = 8.0  # of the scatter to the unit, so that the scales reach well beyond it
_WEIGHT_RANGE = 1e100  # squares of squares stay finite
_STEPS, _FIRST_STEP, _STEP = 26, 0.25, 1.5  # of the search outwards, in standard errors of the mean
_HALVINGS = 32


class CorrelatedSequence(NamedTuple):
    """After each window, every array of shape (k,): ends, p-value, posterior mean of the coefficient."""

    low: Floats
    high: Floats
    pvalue: Floats
    serial: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Factor:
    """The Bayes factor against each mean, after each window."""

    # Of the differences in units of the first window's standard error as known after each window.
    likelihood: SeriesLikelihood
    unit: Floats  # (k, 1): That standard error, or an eighth of the scatter between windows if that is more
    null: Floats  # (g,): Weights of the grid under the null hypothesis and under its alternative
    other: Floats
    # (g,): Of the mean under the alternative, and of the first window, in squares of the unit.
    mean_variance: Floats
    first_variance: Floats
    # (k,): Log-density of the later windows given the first, whatever the mean, with the weight `FIRST`.
    after_first: Floats

    def log(self, mean: Floats) -> Floats:
        """Log of the factor against means of shape (k,)."""
        theta, of = mean[:, None] / self.unit, self.likelihood
        around = log_mean_exp(of.of_normal_mean(theta, self.mean_variance), (1 - FIRST) * self.other)
        from_first = self.after_first + log_mean_exp(self._of_first(theta), self.null / self.null.sum())
        return np.logaddexp(around, from_first) - log_mean_exp(of.of_mean(theta), self.null)

    def _of_first(self, theta: Floats) -> Floats:
        """Log-density of the first window's difference, which is 0, at each point of the grid."""
        return -0.5 * (np.log(self.first_variance) + theta * theta / self.first_variance)


def correlated_sequence(
    d: Floats, weight: Floats, se: Floats, between: Floats, level: float, growth: float
) -> CorrelatedSequence:
    """Interval of the mean after each window, valid at all of them, with serial correlation estimated.

    Parameters
    ----------
    d, weight, shape (k,): Differences, and the weights to which their sampling variances are inverse.
    se, shape (k,): Standard errors: they are pooled over the windows so far. All 0: nothing is known yet.
    between, shape (k,): Moment estimate of the standard deviation of the true differences.
    growth: Variance of the mean under the alternative, in variances of the first window.

    The factor against a mean theta is

        (0.6 sum_g a_g N(d; theta, V_g + r_g 11') + 0.4 f_1 sum_g a_g q_g) / sum_g b_g N(d; theta, V_g),

        f_1 = sum_g b_g N(d_1; theta, v_g) / sum_g b_g,

    g over coefficients phi and standard deviations tau of an AR(1) process, V_g its covariance plus the
    sampling variances, v_g that of the first window, r_g = `growth` v_g, and q_g the density of the later
    windows given the first under a flat prior of the mean. The first part decides soon between means like
    theta; the second excludes those far from all windows, so that what is left is an interval.

    With a = b and (phi, tau) drawn from them, the factor passes 1 / `level` at any window with probability
    `level` at most (Ville's inequality); b is larger for phi > 0, which lowers that. At a given (phi, tau)
    the probability is known by simulation only. The ends are the outermost means at which the factor is
    1 / `level`.
    Cost: O(k g).
    """
    noise = np.cumsum((weight * se) ** 2) / np.cumsum(weight)  # of a window of weight 1
    known = (noise > 0) & (np.arange(1, len(d) + 1) >= _LEAST_WINDOWS)
    unit = np.sqrt(np.where(known, np.maximum(noise / weight[0], (between / _LARGEST_RATIO) ** 2), 1.0))
    phi, tau, other, null = _grid()
    sizes = np.clip(weight[0] / weight, 1 / _WEIGHT_RANGE, _WEIGHT_RANGE)
    start, of_window = d[0], 1 + tau * tau
    likelihood = _in_units(series_likelihood(d - start, sizes, phi, tau), unit[:, None])
    factor = _Factor(
        likelihood=likelihood,
        unit=unit[:, None],
        null=null,
        other=other,
        mean_variance=growth * of_window,
        first_variance=of_window,
        after_first=log_mean_exp(likelihood.of_any_mean(), FIRST * other),
    )
    posterior = _posterior(factor)
    centre = np.sum(posterior * likelihood.score / likelihood.information, axis=1) * unit
    spread = np.sqrt(np.sum(posterior / likelihood.information, axis=1)) * unit
    limit = -np.log(level)
    low, high = (start + centre + sign * _reach(factor, centre, sign * spread, limit) for sign in (-1, 1))
    return CorrelatedSequence(
        low=np.where(known, low, -np.inf),
        high=np.where(known, high, np.inf),
        pvalue=np.where(known, np.exp(np.minimum(-factor.log(np.full_like(d, -start)), 0.0)), 1.0),
        serial=np.where(known, posterior @ phi, 0.0),
    )


def typical_widening(number: Floats) -> Floats:
    """About how much wider than without correlation the interval is after `number` independent windows."""
    return 1.12 + 0.17 * np.maximum(14 - number, 0)  # by simulation


def _grid() -> tuple[Floats, Floats, Floats, Floats]:
    """Coefficients, standard deviations, and their weights under the alternative and the null, shape (g,)."""
    scales = np.concatenate([[0.0], SCALES])
    of_scale = np.concatenate([[ALIKE], np.full(len(SCALES), (1 - ALIKE) / len(SCALES))])
    phi = np.concatenate([[0.0], COEFFICIENTS])
    spread = CORRELATED * COEFFICIENTS / COEFFICIENTS.sum()
    other = np.concatenate([[1 - CORRELATED], spread])
    null = np.concatenate([[1 - CORRELATED], NULL_FACTOR * spread])
    repeated, tiled = np.repeat(phi, len(scales)), np.tile(scales, len(phi))
    return repeated, tiled, np.outer(other, of_scale).ravel(), np.outer(null, of_scale).ravel()


def _in_units(of: SeriesLikelihood, unit: Floats) -> SeriesLikelihood:
    """Return the likelihood of the values divided by `unit`; what it adds to every determinant cancels."""
    return SeriesLikelihood(
        log_det=of.log_det,
        information=of.information,
        score=of.score / unit,
        square=of.square / unit**2,
    )


def _posterior(factor: _Factor) -> Floats:
    """Probabilities of the grid after each window, shape (k, g), the mean being unknown."""
    log = factor.likelihood.of_any_mean() + np.log(factor.other)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _reach(factor: _Factor, centre: Floats, step: Floats, limit: float) -> Floats:
    """Distance from `centre`, in the direction of `step`, beyond which every factor is above the limit."""
    sizes = np.concatenate([[0.0], _FIRST_STEP * _STEP ** np.arange(_STEPS)])
    inside = np.array([factor.log(centre + size * step) <= limit for size in sizes])
    last = len(sizes) - 1 - np.argmax(inside[::-1], axis=0)
    unbounded = inside[-1]
    nearer, farther = sizes[last], sizes[np.minimum(last + 1, len(sizes) - 1)]
    for _ in range(_HALVINGS):
        middle = (nearer + farther) / 2
        within = factor.log(centre + middle * step) <= limit
        nearer, farther = np.where(within, middle, nearer), np.where(within, farther, middle)
    reach = np.where(inside.any(axis=0), farther, 0.0)
    return np.where(unbounded, np.inf, reach * abs(step))
