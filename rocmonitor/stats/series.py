"""Series of windows: how alike neighbours are, the time of year, and what past windows leave possible.

The true value of a window is mean + x_j, where x_j = phi x_{j-1} + e_j is stationary with a standard
deviation `between`. Its estimate adds sampling noise of known variance. The Kalman filter gives the
likelihood of all windows so far, for a whole grid of (phi, between) at once, as a function of the mean.

A yearly wave is one cosine and one sine of the time of year. It is used only where the windows are spread
over the year, where it cannot be chance or a trend, and where each window is more like the others without it,
when these alone say what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from rocmonitor.errors import InputError
from rocmonitor.stats.rows import Floats, require_all, window_numbers

SERIAL = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Serial correlations that are thought possible."""

DEPENDENT = 0.05  # weight, before the windows are seen, of all correlations but 0 together


class Continuation(NamedTuple):
    """The next true value of a series, shape (g,) each.

    Given a mean m of the process, it is N(m + `value` - m `share`, `variance`).
    """

    value: Floats
    share: Floats
    variance: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesLikelihood:
    """Gaussian likelihoods of a series up to each window. Every array has shape (k, g).

    With V the covariance of the first j values under one (phi, between), and 1 a vector of ones:
    """

    log_det: Floats  # log det V
    information: Floats  # 1' V^-1 1: one over the variance of the best estimate of the mean
    score: Floats  # 1' V^-1 d; `score` / `information` is that estimate
    square: Floats  # d' V^-1 d
    ahead: Continuation

    def of_mean(self, mean: ArrayLike = 0.0) -> Floats:
        """Log-likelihood at a mean that broadcasts against (k, g), without the constant (j / 2) log 2 pi."""
        theta = np.asarray(mean, dtype=float)
        distance: Floats = self.square - 2 * theta * self.score + theta * theta * self.information
        return -0.5 * (self.log_det + distance)

    def of_normal_mean(self, mean: ArrayLike, variance: ArrayLike) -> Floats:
        """Return the same, averaged over means that are N(`mean`, `variance`)."""
        theta, spread = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
        growth = 1 + spread * self.information
        apart = self.score - theta * self.information
        gain = spread * apart * apart / growth
        distance: Floats = self.square - 2 * theta * self.score + theta * theta * self.information
        return -0.5 * (self.log_det + np.log(growth) + distance - gain)

    def of_any_mean(self) -> Floats:
        """Return the same under a flat prior of the mean: the restricted likelihood, without its constant."""
        seen = self.information > 0  # before the first value all is 0
        divisor = np.where(seen, self.information, 1.0)
        residual = np.maximum(self.square - self.score**2 / divisor, 0.0)
        return -0.5 * (self.log_det + np.log(divisor) + residual)


class Innovation(NamedTuple):
    """The share of a window in several series with the same gains, (c, g), and where these go on."""

    apart: Floats  # beyond what was expected
    spread: Floats  # (g,): variance of that
    ahead: Floats  # expected of the next window
    state: Floats  # (g,): variance of its true value


def innovations(columns: Floats, variances: Floats, serial: Floats, between: Floats) -> Iterator[Innovation]:
    """Run the Kalman filter of a stationary AR(1) plus noise on series, (k, c); what a gap adds is 0."""
    stationary = between**2
    fresh = stationary * (1 - serial**2)
    state, ahead = stationary, np.zeros((columns.shape[1], len(serial)))
    for seen, variance in zip(columns, variances.tolist(), strict=True):
        gap = math.isinf(variance)
        apart = np.zeros_like(ahead) if gap else seen[:, None] - ahead
        spread = np.ones_like(state) if gap else state + variance
        gain = 0.0 if gap else state / spread
        ahead, state = serial * (ahead + gain * apart), serial**2 * (1 - gain) * state + fresh
        yield Innovation(apart, spread, ahead, state)


def series_likelihood(
    values: ArrayLike, variances: ArrayLike, serial: ArrayLike, between: ArrayLike
) -> SeriesLikelihood:
    """Likelihood of a series after each window, at each point of a grid of (phi, between).

    values, shape (k,): One estimate for each window, in their order.
    variances, shape (k,): Sampling variances of `values`, above 0. Infinite: a gap in the series, whose value
        counts nothing.
    serial, shape (g,): AR(1) coefficients phi of the true values, within [0, 1).
    between, shape (g,): Standard deviations of the true values, at least 0.

    Kalman filter of a stationary AR(1) plus noise, run on the values and on a series of ones with the same
    gains ([DK12] sections 4.3 and 6.2). Cost: O(k g).
    """
    d, v = window_numbers(values, "values"), np.asarray(variances, dtype=float)
    phi, tau = (np.atleast_1d(np.asarray(numbers, dtype=float)) for numbers in (serial, between))
    if d.shape != v.shape or phi.shape != tau.shape or phi.ndim != 1:
        raise InputError(
            "values and variances must have one number for each window, serial and between one for each "
            f"point of the grid; their shapes are {d.shape}, {v.shape}, {phi.shape} and {tau.shape}"
        )
    require_all(v > 0, "variances", "be above 0", "of a gap it is infinite")
    require_all((phi >= 0) & (phi < 1), "serial", "lie within [0, 1)", "series are stationary")
    require_all((tau >= 0) & np.isfinite(tau), "between", "be finite and at least 0", "they are deviations")
    sums, rows = np.zeros((4, len(tau))), []
    for step in innovations(np.column_stack([d, np.ones(len(d))]), v, phi, tau):
        apart, unit = step.apart
        parts = np.log(step.spread), unit**2 / step.spread, unit * apart / step.spread, apart**2 / step.spread
        sums = sums + np.stack(parts)
        rows.append(sums)
    log_det, information, score, square = np.stack(rows, axis=1)
    value, share = step.ahead
    return SeriesLikelihood(
        log_det=log_det,
        information=information,
        score=score,
        square=square,
        ahead=Continuation(value, share, step.state),
    )


class PossibleProcesses(NamedTuple):
    """Processes that are possible, shape (g,) each, and how probable they are.

    The mean of a process is N(`mean`, `mean_variance`); `ahead` says where it goes on, given its mean.
    """

    weight: Floats
    serial: Floats
    between: Floats
    mean: Floats
    mean_variance: Floats
    ahead: Continuation
    prior: Floats = np.ones(1)  # before the windows are seen

    @property
    def mean_serial(self) -> float:
        """The serial correlation, on average of what is possible."""
        return float(self.weight @ self.serial)


def possible(
    values: Floats,
    noise: Floats,
    places: tuple[int, ...],
    *,
    serials: Sequence[float] = SERIAL,
    of_serial: Sequence[float] | None = None,
    scatters: int = 18,
    rare: float = 5e-4,
) -> PossibleProcesses:
    """Return what past windows at these places of a series leave possible, at least 2 of them.

    serials, of_serial: Serial correlations that are thought possible, from 0 on, and their prior weights.
    scatters, rare: How many sizes of the scatter are looked at, and how improbable the furthest are.

    The prior is flat in the mean and in the log of the scatter, sampling noise included; correlations but 0
    have the weight `DEPENDENT` together, unless others are given. Cost: O(n g).
    """
    if of_serial is None:
        rest = len(serials) - 1
        of_serial = [1 - DEPENDENT, *[DEPENDENT / rest] * rest]
    degrees = len(values) - 1
    typical = float(1 / np.mean(1 / noise))
    seen = max(float(values.var(ddof=1)), 1e-3 * typical)
    ends = 2 * scipy.special.gammaincinv(degrees / 2, np.array([rare, 1 - rare]))
    totals = seen * degrees / np.geomspace(ends[0], ends[1], scatters)
    sizes, count = np.unique(np.maximum(totals - typical, 0.0), return_counts=True)
    serial, variance = (grid.ravel() for grid in np.meshgrid(serials, sizes, indexing="ij"))
    prior = np.outer(of_serial, count / scatters).ravel()
    return posterior(values, noise, places, serial, np.sqrt(variance), prior)


def posterior(
    values: Floats, noise: Floats, places: tuple[int, ...], serial: Floats, between: Floats, prior: Floats
) -> PossibleProcesses:
    """Return how probable processes are after the windows, their means, and where they go on."""
    series, variances = np.zeros(places[-1] + 1), np.full(places[-1] + 1, np.inf)
    middle = float(values.mean())
    series[list(places)], variances[list(places)] = values - middle, noise
    likelihood = series_likelihood(series, variances, serial, between)
    ahead = likelihood.ahead
    log = likelihood.of_any_mean()[-1] + np.log(prior)
    weight = np.exp(log - log.max())
    return PossibleProcesses(
        weight=weight / weight.sum(),
        serial=serial,
        between=between,
        mean=middle + likelihood.score[-1] / likelihood.information[-1],
        mean_variance=1 / likelihood.information[-1],
        ahead=ahead._replace(value=ahead.value + middle * ahead.share),
        prior=prior,
    )


def scatter_between(values: Floats, noise: Floats) -> float:
    """Return the variance between windows that makes their scatter what was expected ([PM82]); at least 0."""

    def excess(between: float) -> float:
        weight = 1 / (noise + between)
        mean = weight @ values / weight.sum()
        return float(weight @ (values - mean) ** 2) - (len(values) - 1)

    most = 2 * float(np.sum((values - values.mean()) ** 2))
    least = 1e-18 * most  # above 0: noise may be 0
    if most == 0 or excess(least) <= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, least, most, xtol=least))


def log_mean_exp(log: Floats, weight: ArrayLike) -> Floats:
    """Log of the mean of exp(`log`) over the last axis, weighted by `weight`, shape (g,)."""
    return np.asarray(scipy.special.logsumexp(log, axis=-1, b=np.asarray(weight, dtype=float)))


YEAR_DAYS = 365.25
WHOLE_YEAR = 364.0  # days that the reference must cover before a season can be known: 52 weeks
LONGEST_GAP = 100.0  # days of the year without a window beyond which the others do not show a wave
CHANCE = 0.025  # share of references without a season of which a wave is taken off
_WORTH_IT = 0.95  # of the squared differences: what must be left, at most, for a term to be used


class FittedTerms(NamedTuple):
    """The part of some values that terms explain."""

    coefficients: Floats  # (t,)
    level: float  # mean of the values without the terms
    left: Floats  # (n,): What is left of each value when the others give the coefficients
    gaps: Floats  # (n,): How far that is from the mean of what is left of the others


def season(day: float) -> tuple[float, float]:
    """Cosine and sine of the time of year."""
    angle = 2 * math.pi * day / YEAR_DAYS
    return math.cos(angle), math.sin(angle)


def days_covered(days: Sequence[float | None]) -> float | None:
    """Days from the first window to the end of the last; None where one of their days is not known."""
    ordered = sorted(day for day in days if day is not None)
    if len(ordered) < max(len(days), 2):
        return None
    span = ordered[-1] - ordered[0]
    return span + span / (len(ordered) - 1)


def wave_of(values: ArrayLike, days: Sequence[float | None]) -> FittedTerms | None:
    """Return the yearly wave of some values, shape (n,); None where they do not show one.

    They show none with less than a year, with windows that all fall in one part of the year (each ``365d``),
    where `wave_pvalue` is above `CHANCE`, and where the wave does not predict windows that are left out.
    """
    covered = days_covered(days)
    values, dated = np.asarray(values, dtype=float), np.array([day for day in days if day is not None])
    if covered is None or covered < WHOLE_YEAR:
        return None
    phases = np.sort(dated % YEAR_DAYS)
    if np.max(np.diff(phases, append=phases[0] + YEAR_DAYS)) > LONGEST_GAP:
        return None
    if wave_pvalue(values, dated) > CHANCE:
        return None
    return _explained(values, np.array([season(day) for day in dated]))


def wave_pvalue(values: Floats, days: Floats) -> float:
    """Return the chance that values without a season show so large a wave; both of shape (n,).

    The F test of cosine and sine beside a level and a trend: a steady loss is no season. The statistic is
    divided by (1 + r) / (1 - r), r the correlation of neighbouring residuals, corrected for the terms fitted:
    windows that follow one another swing by chance. 1 with fewer than seven values, or equal ones.

    Cost: O(n).
    """
    order = np.argsort(days, kind="stable")
    values, days = values[order], days[order]
    n, trend = len(values), days - days.mean()
    if n < 7 or not np.ptp(values) > 0 or not np.ptp(trend) > 0:
        return 1.0
    plain = np.column_stack([np.ones(n), trend / np.abs(trend).max()])
    terms = np.column_stack([plain, [season(day) for day in days]])
    without, left = (values - part @ np.linalg.lstsq(part, values, rcond=None)[0] for part in (plain, terms))
    noise, freedom = float(left @ left), n - terms.shape[1]
    if noise <= 1e-20 * float(values @ values):  # nothing but a wave
        return 0.0
    alike = float(left[1:] @ left[:-1]) / noise + (1 + terms.shape[1]) / n
    alike = min(max(alike, 0.0), 0.95)
    ratio = (float(without @ without) - noise) / 2 / (noise / freedom)
    return float(fdtrc(2, freedom, max(ratio, 0.0) * (1 - alike) / (1 + alike)))


def _explained(values: Floats, terms: Floats) -> FittedTerms | None:
    """Return what terms, shape (n, t), explain of values; None where too little. O(n t²)."""
    if len(values) <= terms.shape[1] + 2:
        return None
    design = np.column_stack([np.ones(len(values)), terms])
    inverse = np.linalg.pinv(design)
    level, *coefficients = inverse @ values
    # Least squares without a value: what is left of it grows by 1 over 1 less its leverage.
    gaps = (values - level - terms @ coefficients) / (1 - np.sum(design * inverse.T, axis=1))
    plain = (values - values.mean()) * len(values) / (len(values) - 1)
    if gaps @ gaps >= _WORTH_IT * (plain @ plain):
        return None
    by_others = np.array(coefficients) - inverse[1:].T * gaps[:, None]
    left = values - np.sum(terms * by_others, axis=1)
    return FittedTerms(np.array(coefficients), float(level), left, gaps)


_SERIAL = (0.0, 0.3, 0.6, 0.9)
_LEAST_NOISE = 1e-9  # of the scatter


class NormalMixture(NamedTuple):
    """A mixture of normal laws, shape (g,) each."""

    weight: Floats
    mean: Floats
    deviation: Floats

    def below(self, value: float) -> float:
        """Return the chance of a value below this one."""
        return float(self.weight @ scipy.special.ndtr((value - self.mean) / self.deviation))

    def above(self, value: float) -> float:
        """Return the chance of a value above this one."""
        return float(self.weight @ scipy.special.ndtr((self.mean - value) / self.deviation))

    def quantile(self, probability: float) -> float:
        """Return the value below which lies so much of the mixture."""
        low, high = (float(np.min(sign * self.mean - 9 * self.deviation)) * sign for sign in (1, -1))
        root = scipy.optimize.brentq(lambda value: self.below(value) - probability, low, high, xtol=1e-15)
        return float(root)

    def reach(self, tail: float, *, two_sided: bool) -> float:
        """Return how far below 0 a value lies with the chance `tail`; or on either side, with twice of it."""

        def excess(reach: float) -> float:
            return self.below(-reach) + (self.above(reach) - 2 * tail if two_sided else -tail)

        furthest = float(np.max(np.abs(self.mean) + 40 * self.deviation))
        if excess(0.0) <= 0:
            return 0.0
        return float(scipy.optimize.brentq(excess, 0.0, furthest, xtol=1e-15))


def coming_window(values: ArrayLike, variances: ArrayLike, noise: float) -> NormalMixture:
    """Return what is expected of a coming window, from the values of past ones, beyond what ranks can show.

    A conformal interval of n windows has a level of n / (n + 1) at most. Beyond it only a model helps: true
    values that scatter normally, neighbours that may be alike, and known sampling noise. Of equal sizes and
    independent windows it is nearly Student's t with n - 1 degrees of freedom.

    values, shape (k,): Of past windows in their order, relative to what the coming one is compared with.
    variances, shape (k,): Their sampling variances, at least 0; infinite for a gap.
    noise: Sampling variance of the coming window.

    The likelihood of `series_likelihood` over 60 scatters and four correlations; flat priors of the mean and
    of the log of the whole scatter, 0.95 of the prior weight on independence. Cost: O(k g), some 3 ms.
    """
    series, own = np.asarray(values, dtype=float), np.asarray(variances, dtype=float)
    places = np.flatnonzero(np.isfinite(own))
    if len(places) < 2:
        raise InputError("values must have at least two windows: one alone shows no scatter")
    floor = _LEAST_NOISE * (float(series[places].var(ddof=1)) + 1e-12)
    levels = possible(
        series[places],
        np.maximum(own[places], floor),
        tuple(places.tolist()),
        serials=_SERIAL,
        scatters=60,
        rare=1e-8,
    )
    deviation = np.sqrt(levels.between**2 + levels.mean_variance + max(noise, floor))
    return NormalMixture(levels.weight, levels.mean, deviation)


def extreme_limit(values: Sequence[float], tail: float) -> float:
    """Return what a coming value, of the normal law of independent past ones, exceeds with chance `tail`."""
    past = np.asarray(values, dtype=float)
    spread = float(past.std(ddof=1)) * math.sqrt(1 + 1 / len(past))
    return float(past.mean()) - float(scipy.special.stdtrit(len(past) - 1, tail)) * spread
