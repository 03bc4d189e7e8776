"""Confidence sequences: the difference of two models, checked after every window, for as long as one likes.

A confidence sequence contains the true value at all checks together. No horizon and no number of checks has
to be planned, and one may stop, or go on, for any reason. The true differences of the windows differ too. The
sequence is for their average over the windows so far, with sampling error only; or for their mean in the long
run, with their scatter beyond sampling error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import Correlation, Estimand
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.nouns import decimals, many
from rocmonitor.stats.proportion import is_number, require_level, require_method, whole_number
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import Floats, require_all, same_length, window_numbers
from rocmonitor.stats.series import log_mean_exp, series_likelihood

_TUNED_FOR = {"period": 8.0, "future": 12.0}
LARGEST = 520  # windows, ten years of weeks: a plan beyond that is of no use
_MOST = 1_000_000
_DEGREES_AHEAD = 4  # of freedom, of the variance before the first window: the most that keep the level
_ROUNDING = 1e-12
_NO_SCATTER = 1e-50  # squares of squares would be near the least number
_LEAST_WEIGHT = 1e-300
_LEAST_SERIES = 8  # windows from which their order is judged
_ONE_IN_TWENTY = 1.645  # standard errors that one correlation in twenty exceeds by chance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceSequence(Table):
    """The difference after each window. The arrays have shape (k,).

    Attributes
    ----------
    estimate: Weighted mean of the windows so far.
    low, high: Ends, within [-1, 1], for the average of the true differences over the windows so far
        (`estimand` "period"), or for their mean in the long run ("future"). -1 and 1 while nothing is known:
        before a window has shown scatter, and for "future" until differences between windows can be
        estimated. Those of "future" may widen again.
    between: Estimated standard deviation of the true differences among the windows so far; 0 if sampling
        error accounts for what they show.
    information: Precision of `estimate`, one over its variance, for "future" with `between`; 0 while no
        window has shown any scatter.
    elapsed: Sampling noise gathered so far, in windows like the first.
    pvalue: Of the hypothesis that the average (or mean) is 0, after this window, valid whenever one stops: it
        may rise again. At most 1 - `confidence_level` where 0 is outside of the interval; with `correlation`
        "none" exactly there.
    serial: Coefficient from one window's true difference to the next that is allowed for; 0 with
        `correlation` "none".
    unseen_low, unseen_high: How much further `low` and `high` lie for rows that the windows may lack: of
        `auc_sequence`, else 0.
    """

    estimate: Floats
    low: Floats
    high: Floats
    between: Floats
    information: Floats
    elapsed: Floats
    pvalue: Floats
    serial: Floats
    unseen_low: Floats
    unseen_high: Floats
    confidence_level: float
    tuned_for: float
    correlation: Correlation
    caveats: tuple[Caveat, ...]
    estimand: Estimand = "future"

    @property
    def mean(self) -> Floats:
        """The weighted mean of the windows so far, `estimate`."""
        return self.estimate

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax)
        known = self.high - self.low < 2  # nothing is known after the first windows
        window = np.arange(1.0, len(self.estimate) + 1)[known]
        plotting.along(ax, window, self.estimate[known], self.low[known], self.high[known], label=label)
        note = f"mean so far, {100 * self.confidence_level:g} % for all checks together"
        plotting.describe(ax, x="windows", y="difference of the AUROC", note=note)

    def __str__(self) -> str:
        digits = f".{decimals((self.high[-1] - self.low[-1]) / 4)}f"
        return (
            f"Difference after {many(len(self.estimate), 'window')} {self.estimate[-1]:+{digits}}, "
            f"from {self.low[-1]:+{digits}} to {self.high[-1]:+{digits}} "
            f"({100 * self.confidence_level:g} % for all checks together, p = {self.pvalue[-1]:.3g})"
        )


def confidence_sequence(
    estimates: ArrayLike,
    standard_errors: ArrayLike,
    *,
    confidence_level: float = 0.95,
    tuned_for: float | None = None,
    weights: ArrayLike | None = None,
    correlation: Correlation = "none",
    estimand: Estimand = "future",
) -> ConfidenceSequence:
    """Intervals of a difference after each window, which contain the true value at all checks together.

    Parameters
    ----------
    estimates, shape (k,): Differences within [-1, 1] of AUCs or rates, one for each window, in the order of
        the windows. Windows share no row.
    standard_errors, shape (k,): Standard errors of `estimates`. A window in which the models never differ may
        have 0. For "period", nothing else enters, so that few rows need an allowance: for differences of AUCs
        take `auc_sequence`.
    confidence_level: Of all checks together, within (0, 1).
    tuned_for: The number of windows like the first after which the interval is narrowest for its information,
        at least 1; by default 8 for "period", 12 for "future". To be fixed before the first check.
    weights, shape (k,): What each window counts, above 0, known without its scores: all alike by default. For
        windows of several sizes n_pos n_neg / (n_pos + n_neg), to which the variance is about inverse. Not 1
        / s²: a window's difference and its standard error are dependent unless the models can be exchanged.
    correlation, {"none", "estimated"}: Whether the windows' true differences are taken as independent of each
        other, or may resemble their neighbours. "estimated" needs windows in the order of time; for
        independent windows of one mean it decides about a third later. Of "future" only.
    estimand, {"future", "period"}: What the interval is for. "period": the average of the true differences of
        the windows so far, weighted like them. The windows may drift, turn round and depend on each other in
        any way. "future": the mean of a process from which they, and all windows to come, are drawn.

    Raises
    ------
    InputError: No windows, unequal lengths, values that are not finite, estimates outside [-1, 1], standard
        errors outside [0, 2], weights of 0 or less, a level outside (0, 1), `tuned_for` outside 1 to
        1,000,000, an unknown `correlation` or `estimand`, `correlation` "estimated" for the period.

    Notes
    -----
    Period. With S = sum w_j d_j, W = sum w_j and V = sum w_j² s_j² the interval is

        (S ± sqrt((V + r) log((V + r) / (r alpha²)))) / W,  alpha = 1 - `confidence_level`.

    Given the windows' populations, S - sum w_j delta_j is a sum of independent sampling errors with variance
    V, whatever the true differences delta_j: a mixture of exp(b (S - sum w_j delta_j) - b² V / 2) over
    normal b with variance 1 / r ever passes 1 / alpha with probability alpha at most ([R70]; [H21] eq. 14;
    for averages that change [WS24]). r is 1 / rho of below. A standard error of 0 counts as the pooled one,
    as below. Errors are those of normal sums: [WS24] shows that the level holds in the limit of many rows.

    Future. With v_j = s_j² + tau² and V = sum w_j² v_j the interval of "none" is

        S / W ± sqrt((m - 1) V (C - 1) / (1 - C / (1 + a))) / W,  C = ((1 + a) / alpha²)^(1 / m),

    m = k + 4, a = rho sum w_j² s_j²; all of [-1, 1] while C >= 1 + a. With
    more and more windows it becomes S / W ± sqrt(V (1 + 1 / a) log((1 + a) / alpha²)) / W, of the mixture of
    exp(b (S - theta W) - b² V / 2) over normal b, which ever passes 1 / alpha with probability alpha at most
    ([R70]; [H21] eq. 14). The former is that of normal windows whose variance is unknown, gamma in its
    inverse with 4 degrees of freedom ([L76], [W23]). rho is such that the latter is narrowest after
    `tuned_for` windows like the first: there a = u, u - log(1 + u) = -2 log(alpha) ([H21] prop. 3).

    tau² is `between` squared: what sum w_j (d_j - S / W)² has in excess of its expectation under s_j² alone,
    over W - sum w_j² / W ([D07], general moments); at least 0.

    s_j² is the given one, or the pooled sum w² s² / sum w over w_j where that is more. A window whose
    standard error is small by chance, or 0, would decide alone. What is pooled is all windows so far, so
    their order means nothing but for the unit, the first window's.

    `correlation` "estimated": the means against which a Bayes factor is below 1 / alpha. Its two hypotheses
    are mixtures over AR(1) processes of the true differences: coefficients from 0 to 0.95, standard
    deviations from 0 to about 100 standard errors; under the alternative the mean is normal. The likelihoods
    come from the Kalman filter with the pooled sampling noise over w_j ([DK12];
    `rocmonitor.stats.series`). The factor passes 1 / alpha at any window with probability alpha at most
    when the process is drawn from the mixture ([V39]), and more often for one of strong correlation.

    With "none" weeks are taken as independent. Where neighbouring ones are alike, the level is not kept with
    "none" and not fully with "estimated", and a caveat says so. Levels and speed by simulation:
    docs/coverage.md. Cost: O(k²), of windows, not rows; O(k g) in addition with "estimated", g about 150.

    Examples
    --------
    >>> weeks = confidence_sequence([0.03, 0.01, 0.02, 0.02], [0.005, 0.005, 0.006, 0.005])
    >>> print(weeks)
    Difference after 4 windows +0.020, from -0.001 to +0.041 (95 % for all checks together, p = 0.0569)
    >>> print(confidence_sequence([0.03, 0.01, 0.02, 0.02], [0.005, 0.005, 0.006, 0.005], estimand="period"))
    Difference after 4 windows +0.0200, from +0.0119 to +0.0281 (95 % for all checks together, p = 1.27e-10)
    """
    level = 1 - require_level(confidence_level)
    require_method(estimand, get_args(Estimand), "estimand")
    require_method(correlation, get_args(Correlation), "correlation")
    if estimand == "period" and correlation != "none":
        raise InputError(
            f"correlation={correlation!r} is for estimand='future': the average of the windows so far holds "
            "however they depend on each other; leave correlation out, or take estimand='future'"
        )
    tuned_for = _TUNED_FOR[estimand] if tuned_for is None else tuned_for
    _require_number(tuned_for, "tuned_for", "a number of windows, 1 to 1,000,000", 1, _MOST)
    d, s, w = _windows(estimates, standard_errors, weights)
    total, squares, number = np.cumsum(w), np.cumsum(w * w), np.arange(1.0, len(w) + 1)
    estimate, serial = np.cumsum(w * d) / total, np.zeros_like(d)
    noise, expected, first = _noise(w, s)
    between = _between(d, w, estimate, expected, noise > 0)
    if estimand == "period":
        own = w * s**2
        pooled = np.cumsum(w * own) / np.cumsum(w)  # s², in place of one that is 0
        noise = np.cumsum(w * own) + pooled * np.cumsum(np.where(own == 0, w, 0.0))
    age = _age(noise / first, level, tuned_for)
    if correlation == "estimated":
        growth = float(_age(np.ones(1), level, tuned_for)[0])
        low, high, pvalue, serial = correlated_sequence(d, w, s, np.sqrt(between), level, growth)
    spread = noise.copy()
    if estimand == "future":
        spread += between * squares * (1 + serial) / (1 - serial)
    information = np.divide(total**2, spread, out=np.zeros_like(noise), where=noise > 0)
    if correlation == "none":
        degrees = None if estimand == "period" else number + _DEGREES_AHEAD
        half = _half_width(information, age, degrees, level)
        pvalue = _pvalue(estimate**2 * information, age, degrees)
        low, high = estimate - half, estimate + half
    caveats = _of_errors(s)
    if estimand == "future":
        variances, apart = (between[-1], noise[-1] / squares[-1]), np.sqrt(w) * (d - estimate[-1])
        caveats += _of_differences(s, high[-1], variances, apart, correlation)
    return ConfidenceSequence(
        estimate=estimate,
        low=np.maximum(np.minimum(low, estimate), -1.0),
        high=np.minimum(np.maximum(high, estimate), 1.0),
        between=np.sqrt(between),
        information=information,
        elapsed=noise / first,
        pvalue=pvalue,
        serial=serial,
        unseen_low=np.zeros_like(d),
        unseen_high=np.zeros_like(d),
        confidence_level=float(confidence_level),
        tuned_for=float(tuned_for),
        correlation=correlation,
        caveats=caveats,
        estimand=estimand,
    )


def windows_to_decide(
    sequence: ConfidenceSequence,
    *,
    margin: float = 0.0,
    difference: float | None = None,
    largest: int = LARGEST,
) -> int | None:
    """Return how many further windows like those so far would show a difference of more than `margin`.

    Parameters
    ----------
    sequence
    margin: Decided is a sequence with ``low > margin`` or ``high < -margin``; at least 0.
    difference: The true difference that is supposed, within [-1, 1]; by default the present estimate.
    largest: Windows beyond which no answer is given, at least 1.

    Returns
    -------
    int or None: 0 when it is decided. None when `largest` windows would not do, and when no window has shown
        any scatter yet.

    Raises
    ------
    InputError: Not a ConfidenceSequence, a margin outside [0, 1], a difference outside [-1, 1], `largest` not
        a whole number of 1 to 1,000,000.

    Notes
    -----
    The interval's own formula, with the present `between` and with windows of the mean weight and noise of
    those so far, each of which shows `difference` exactly. Real ones scatter: about half of the sequences are
    decided at that check (docs/coverage.md). Cost: O(largest).

    Examples
    --------
    >>> weeks = confidence_sequence([0.01, 0.03, 0.01], [0.01, 0.01, 0.01])
    >>> windows_to_decide(weeks), windows_to_decide(weeks, difference=0.01)
    (5, 10)
    """
    if not isinstance(sequence, ConfidenceSequence):
        raise InputError(
            "sequence must be a ConfidenceSequence, as from confidence_sequence(), "
            f"not {type(sequence).__name__}"
        )
    _require_number(margin, "margin", "a difference within [0, 1]", 0.0, 1.0)
    more = np.arange(1.0, whole_number(largest, "largest", most=_MOST) + 1)
    reached = float(sequence.estimate[-1])
    if difference is not None:
        _require_number(difference, "difference", "a difference within [-1, 1]", -1.0, 1.0)
        reached = float(difference)
    low, high = sequence.low[-1], sequence.high[-1]
    if low > margin or high < -margin:
        return 0
    if sequence.information[-1] == 0:
        return None
    share = more / (len(sequence.estimate) + more)
    estimate = sequence.estimate[-1] + share * (reached - sequence.estimate[-1])
    below, above = reach(sequence, more)
    over = np.flatnonzero((estimate - below > margin) | (estimate + above < -margin))
    return int(more[over[0]]) if len(over) else None


def reach(sequence: ConfidenceSequence, more: Floats) -> tuple[Floats, Floats]:
    """Return how far both ends lie from the estimate after more windows like those so far, shape (k,).

    What they lie further for rows that the windows may lack goes with one over the rows, or falls faster.
    """
    so_far = len(sequence.estimate)
    number, level = so_far + more, 1 - sequence.confidence_level
    growth = number / so_far
    age = _age(sequence.elapsed[-1] * growth, level, sequence.tuned_for)
    degrees = None if sequence.estimand == "period" else number + _DEGREES_AHEAD
    half = _half_width(sequence.information[-1] * growth, age, degrees, level)
    if sequence.correlation == "estimated":
        # By simulation, about how much wider than without correlation it is after independent windows.
        half = half * (1.12 + 0.17 * np.maximum(14 - number, 0))
    share = so_far / number
    return half + share * sequence.unseen_low[-1], half + share * sequence.unseen_high[-1]


def half_at(sequence: ConfidenceSequence, look: int, error: float) -> float:
    """Return half of the length of a period's interval at a look, if it errs with another probability."""
    at = slice(look, look + 1)
    age = _age(sequence.elapsed[at], 1 - sequence.confidence_level, sequence.tuned_for)
    return float(_half_width(sequence.information[at], age, None, error)[0])


def _noise(weight: Floats, se: Floats) -> tuple[Floats, Floats, float]:
    """Sum w² s², and the expected sum w (d - S / W)² of sampling error, after each window, shape (k,).

    Last comes the first window's part of the former, 1 while nothing scatters.
    """
    own = weight * se**2
    pooled = np.cumsum(weight * own) / np.cumsum(weight)
    parts = [np.maximum(own[: k + 1], pooled[k]) for k in range(len(own))]
    noise = np.array([weight[: len(part)] @ part for part in parts])
    expected = np.array([part.sum() for part in parts]) - noise / np.cumsum(weight)
    known = np.flatnonzero(noise)
    return noise, expected, float(weight[0] * pooled[known[0]]) if len(known) else 1.0


def _between(d: Floats, w: Floats, mean: Floats, expected: Floats, scatters: NDArray[np.bool_]) -> Floats:
    """tau² after each window, shape (k,): 0 after the first, and while no window has any standard error."""
    total, squares = np.cumsum(w), np.cumsum(w * w)
    # Each window adds w (d - mean before it)² times its share, which cannot cancel.
    apart = w[1:] * (d[1:] - mean[:-1]) ** 2 * total[:-1] / total[1:]
    excess = np.concatenate([[0.0], np.cumsum(apart)]) - expected
    others = total - squares / total
    # Where one window is nearly all of the weight, nothing is left to compare it with.
    known = scatters & (others > _ROUNDING * total)
    return np.maximum(np.divide(excess, others, out=np.zeros_like(total), where=known), 0.0)


def _age(elapsed: Floats, level: float, tuned_for: float) -> Floats:
    """Return rho V: u, with u - log(1 + u) = -2 log(level), after `tuned_for` windows."""
    # At 1 rounding would miss the branch point, where u is 0.
    narrowest = -float(scipy.special.lambertw(-(min(level, 1 - 1e-9) ** 2) / math.e, -1).real) - 1
    return elapsed / tuned_for * narrowest


def _half_width(information: Floats, age: Floats, degrees: Floats | None, level: float) -> Floats:
    """Half of the interval's length; infinite where no scatter is known, or too few windows show it.

    `degrees` None: the variance is that of sampling, which is known.
    """
    grown, needed, known = np.log1p(age), -2 * math.log(level), information > 0
    if degrees is None:
        square, room = (grown + needed) * (1 + age), age * information
    else:
        passed = (grown + needed) / degrees  # log C
        known = known & (passed < grown)
        square = np.expm1(passed) * (degrees - 1)
        room = -np.expm1(passed - grown) * information
    return np.sqrt(np.divide(square, room, out=np.full_like(age, np.inf), where=known))


def _pvalue(square: Floats, age: Floats, degrees: Floats | None) -> Floats:
    """One over the mixture at S² / V = `square`, 1 at most."""
    if degrees is None:
        log = np.log1p(age) - square * age / (1 + age)
    else:
        apart = square / (degrees - 1)
        log = np.log1p(age) + degrees * (np.log1p(apart / (1 + age)) - np.log1p(apart))
    return np.asarray(np.exp(np.minimum(log / 2, 0.0)))


def _windows(
    estimates: ArrayLike, standard_errors: ArrayLike, weights: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    d, s = window_numbers(estimates, "estimates"), window_numbers(standard_errors, "standard_errors")
    w = np.ones_like(d) if weights is None else window_numbers(weights, "weights")
    if not len(d):
        raise InputError("estimates is empty: a sequence begins with the first window")
    same_length(estimates=d, standard_errors=s, weights=w)
    rules = (
        ("estimates", "lie within [-1, 1]", abs(d) <= 1, "give differences of AUCs or of rates"),
        ("standard_errors", "lie within [0, 2]", (s >= 0) & (s <= 2), "give those of such differences"),
        ("weights", "be above 0", w > 0, "leave a window out that counts nothing"),
    )
    for name, rule, kept, hint in rules:
        require_all(kept, name, rule, hint)
    return d, np.where(s < _NO_SCATTER, 0.0, s), np.maximum(w / w.max(), _LEAST_WEIGHT)


def _require_number(value: object, name: str, what: str, least: float, most: float) -> None:
    if not is_number(value) or not least <= float(value) <= most:  # type: ignore[arg-type]
        raise InputError(f"{name} must be {what}, not {value!r}")


def _of_errors(se: Floats) -> tuple[Caveat, ...]:
    zero, n_windows = int(np.count_nonzero(se == 0)), len(se)
    if zero == n_windows:
        return (Caveat("no-window-scatters"),)
    return (Caveat("zero-standard-errors", zero=zero, n_windows=n_windows),) if zero else ()


def _of_differences(
    se: Floats, half: float, variances: tuple[float, float], apart: Floats, treatment: Correlation
) -> tuple[Caveat, ...]:
    """Return what is to be said of how windows differ: their scatter, and neighbours that are alike.

    variances: Of the true differences, and of a window's sampling error.
    apart, shape (k,): Standardised distances of the windows from their mean.
    """
    caveats, (between, own) = [], variances
    if se.any() and half == math.inf:
        caveats.append(Caveat("too-few-windows-to-compare", n_windows=len(se)))
    if between > own:
        caveats.append(Caveat("windows-differ", between=math.sqrt(between), standard_error=math.sqrt(own)))
    k, squares = len(apart), float(apart @ apart)
    if k < _LEAST_SERIES or squares < _NO_SCATTER:
        return tuple(caveats)
    correlation = float(apart[1:] @ apart[:-1]) / squares
    if (correlation + 1 / k) * k * math.sqrt(k - 1) / (k - 2) >= _ONE_IN_TWENTY:
        code = "windows-correlated" if treatment == "none" else "windows-correlated-allowed"
        caveats.append(Caveat(code, correlation=correlation))
    return tuple(caveats)


# Chosen by simulation (docs/coverage.md). More weight on correlation under the null hypothesis means fewer
# false decisions among correlated windows and slower ones among independent windows.
COEFFICIENTS = np.linspace(0.05, 0.95, 10)

CORRELATED = 0.2
"""Prior probability that windows correlate, spread over the coefficients in proportion to them."""

NULL_FACTOR = 1.5
"""The factor of that probability under the null hypothesis: above 1 the level is kept better."""

SCALES = 0.35 * 1.6 ** np.arange(13)
"""Standard deviations between windows beside 0, in standard errors of the first window."""

ALIKE = 0.25  # prior probability that windows do not differ beyond their sampling error
FIRST = 0.4
"""Weight of the alternative that starts from the first window; the other one starts from the tested mean."""

_LEAST_WINDOWS = 3  # before that, how much windows differ is not known
_LARGEST_RATIO = 8.0  # of the scatter to the unit, so that the scales reach well beyond it
_WEIGHT_RANGE = 1e100  # squares of squares stay finite

_STEPS, _FIRST_STEP, _STEP = 26, 0.25, 1.5  # of the search outwards, in standard errors of the mean

_HALVINGS = 32


def correlated_sequence(
    d: Floats, weight: Floats, se: Floats, between: Floats, level: float, growth: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Interval of the mean after each window, valid at all of them, with serial correlation estimated.

    Returns ends, p-value, and posterior mean of the coefficient, shape (k,) each.

    d, weight, se, shape (k,): Differences, the weights to which their sampling variances are inverse, and
        standard errors, which are pooled over the windows so far. All 0: nothing is known yet.
    between, shape (k,): Moment estimate of the standard deviation of the true differences.
    growth: Variance of the mean under the alternative, in variances of the first window.

    The factor against a mean theta is

        (0.6 sum_g a_g N(d; theta, V_g + r_g 11') + 0.4 f_1 sum_g a_g q_g) / sum_g b_g N(d; theta, V_g),

        f_1 = sum_g b_g N(d_1; theta, v_g) / sum_g b_g,

    g over coefficients phi and standard deviations tau of an AR(1) process, V_g its covariance plus the
    sampling variances, v_g that of the first window, r_g = `growth` v_g, and q_g the density of the later
    windows given the first under a flat prior of the mean. The first part decides soon between means like
    theta; the second excludes those far from all windows, so that what is left is an interval. The ends are
    the outermost means at which the factor is 1 / `level`. Cost: O(k g).
    """
    noise = np.cumsum((weight * se) ** 2) / np.cumsum(weight)  # of a window of weight 1
    known = (noise > 0) & (np.arange(1, len(d) + 1) >= _LEAST_WINDOWS)
    unit = np.sqrt(np.where(known, np.maximum(noise / weight[0], (between / _LARGEST_RATIO) ** 2), 1.0))
    # Coefficients, standard deviations, and their weights under the alternative and the null, shape (g,).
    scales = np.concatenate([[0.0], SCALES])
    of_scale = np.concatenate([[ALIKE], np.full(len(SCALES), (1 - ALIKE) / len(SCALES))])
    coefficients = np.concatenate([[0.0], COEFFICIENTS])
    phi, tau = np.repeat(coefficients, len(scales)), np.tile(scales, len(coefficients))
    correlated = CORRELATED * COEFFICIENTS / COEFFICIENTS.sum()
    other = np.outer(np.append(1 - CORRELATED, correlated), of_scale).ravel()
    null = np.outer(np.append(1 - CORRELATED, NULL_FACTOR * correlated), of_scale).ravel()
    sizes = np.clip(weight[0] / weight, 1 / _WEIGHT_RANGE, _WEIGHT_RANGE)
    start, of_window = d[0], 1 + tau * tau
    likelihood = series_likelihood(d - start, sizes, phi, tau)
    # In units; what dividing by them adds to every determinant cancels.
    likelihood = replace(
        likelihood, score=likelihood.score / unit[:, None], square=likelihood.square / unit[:, None] ** 2
    )
    # (k,): Log-density of the later windows given the first, whatever the mean, with the weight `FIRST`.
    after_first = log_mean_exp(likelihood.of_any_mean(), FIRST * other)

    def log_factor(mean: Floats) -> Floats:
        """Log of the factor against means of shape (k,)."""
        theta = mean[:, None] / unit[:, None]
        around = log_mean_exp(likelihood.of_normal_mean(theta, growth * of_window), (1 - FIRST) * other)
        # Log-density of the first window's difference, which is 0, at each point of the grid.
        first = -0.5 * (np.log(of_window) + theta * theta / of_window)
        from_first = after_first + log_mean_exp(first, null / null.sum())
        return np.logaddexp(around, from_first) - log_mean_exp(likelihood.of_mean(theta), null)

    # Probabilities of the grid after each window, shape (k, g), the mean being unknown.
    log = likelihood.of_any_mean() + np.log(other)
    posterior = np.exp(log - log.max(axis=1, keepdims=True))
    posterior = posterior / posterior.sum(axis=1, keepdims=True)
    centre = np.sum(posterior * likelihood.score / likelihood.information, axis=1) * unit
    spread = np.sqrt(np.sum(posterior / likelihood.information, axis=1)) * unit
    limit = -np.log(level)
    low, high = (start + centre + sign * _reach(log_factor, centre, sign * spread, limit) for sign in (-1, 1))
    pvalue = np.exp(np.minimum(-log_factor(np.full_like(d, -start)), 0.0))
    return (
        np.where(known, low, -np.inf),
        np.where(known, high, np.inf),
        np.where(known, pvalue, 1.0),
        np.where(known, posterior @ phi, 0.0),
    )


def _reach(log_factor: Callable[[Floats], Floats], centre: Floats, step: Floats, limit: float) -> Floats:
    """Distance from `centre`, in the direction of `step`, beyond which every factor is above the limit."""
    sizes = np.concatenate([[0.0], _FIRST_STEP * _STEP ** np.arange(_STEPS)])
    inside = np.array([log_factor(centre + size * step) <= limit for size in sizes])
    last = len(sizes) - 1 - np.argmax(inside[::-1], axis=0)
    unbounded = inside[-1]
    nearer, farther = sizes[last], sizes[np.minimum(last + 1, len(sizes) - 1)]
    for _ in range(_HALVINGS):
        middle = (nearer + farther) / 2
        within = log_factor(centre + middle * step) <= limit
        nearer, farther = np.where(within, middle, nearer), np.where(within, farther, middle)
    reach = np.where(inside.any(axis=0), farther, 0.0)
    return np.where(unbounded, np.inf, reach * abs(step))
