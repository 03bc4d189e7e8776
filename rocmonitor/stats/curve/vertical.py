"""The true positive rate at a fixed false positive rate: its exact bootstrap law and intervals.

In a resample with `m_neg` negatives, the threshold T_r of the nominal false positive rate r / m_neg is the
r-th largest negative score, repeats counted, and "flagged" means score >= T_r. So at least r of its
negatives are flagged: exactly r when its r-th and (r+1)-th largest scores differ, more on a tie. No tie is
broken at random. Dugas and Gadoury (2009), section 4.1, is [DG09] below; its s_k range over distinct scores
here, which keeps equations 3 to 7 right under ties.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, special

from rocmonitor.errors import InputError
from rocmonitor.stats.curve.counting import negative_thresholds, threshold_levels, tie_caveats
from rocmonitor.stats.curve.kernel import Bandwidth, kernel_ends
from rocmonitor.stats.curve.points import nearest_ranks, require_rates
from rocmonitor.stats.proportion import (
    SMOOTHING,
    binomial_range,
    binomial_window,
    clipped_intervals,
    interval_caveats,
    law_ends,
    log_characteristic,
    normal_quantile,
    require_level,
    require_method,
    resample_caveats,
    resample_size,
)
from rocmonitor.stats.resampling import Rng, drawn_at_ranks, generator, percentiles
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import Sample, on_sample

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

VerticalMethod = Literal["agresti", "wald", "exact", "empirical", "kernel"]

_NEGLIGIBLE = 1e-16  # mass that the window of thresholds may leave out on each side
_FINE = 32  # cells to a standard deviation from which quadrature is exact
_NODES_A_DEVIATION = 7  # what a binomial has of frequencies above 7 a deviation is lost in rounding; 20 more
_LOG_NEGLIGIBLE = 37.0  # exp(-37) < 1e-16
_STEPS_A_BINOMIAL = 1000  # values of a characteristic function that take as long as a binomial law
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerticalIntervals(Table):
    """ROC points at given false positive rates, with an interval for the true positive rate.

    Attributes
    ----------
    fpr : ndarray, shape (h,)
        The rates r / m_neg that were used: the nearest to those asked for.
    tpr : ndarray, shape (h,)
        Mean of the exact bootstrap law: the vertically averaged curve.
    tpr_low, tpr_high : ndarray, shape (h,)
        Ends of the intervals, each with the confidence level by itself.
    method : str
    confidence_level : float
    n_pos, n_neg : int
        Class sizes.
    caveats : tuple of str
        Rates that had to move to r / m_neg, or that ties exceed; intervals that were clipped, have zero
        length, or lie off `tpr`.
    """

    fpr: Floats
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    method: str
    confidence_level: float
    n_pos: int
    n_neg: int
    caveats: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{len(self.fpr)} ROC points by false positive rate, {100 * self.confidence_level:g} % intervals "
            f"({self.method}), {self.n_pos} positives, {self.n_neg} negatives"
        )


@on_sample
def vertical_intervals(
    sample: Sample,
    fpr: ArrayLike,
    *,
    method: VerticalMethod = "agresti",
    confidence_level: float = 0.95,
    m_pos: int | None = None,
    m_neg: int | None = None,
    n_resamples: int = 999,
    rng: Rng | None = None,
    bandwidth: Bandwidth | None = None,
) -> VerticalIntervals:
    """Intervals of TPR at given false positive rates ([DG09] alg. 4).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    fpr : array_like, shape (h,)
        Rates within (0, 1). Offered are r / m_neg, r = 1…m_neg - 1; the nearest is used and reported.
    method : str
        ``agresti``: normal, with the exact moments of eq. 6 and 7 after adding 2 flagged and 2 unflagged
        positives; ``wald``: the same, nothing added; ``exact``: quantiles of the exact bootstrap law;
        ``empirical``: percentiles over drawn resamples; ``kernel``: normal, about the curve of smoothed
        distribution functions, by Hall, Hyndman and Fan (2004): see `rocmonitor.stats.curve.kernel`.
    confidence_level : float
        Of each interval, within (0, 1).
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default; ``kernel`` resamples nothing and refuses others.
    n_resamples : int
        Resamples drawn by ``empirical``.
    rng : int, SeedSequence or Generator, optional
        Randomness of ``empirical``, which needs it.
    bandwidth : float or (float, float), optional
        Of ``kernel`` only, in place of its rule: in the units of the scores, for both classes or for
        (positives, negatives).

    Returns
    -------
    VerticalIntervals
        ``agresti`` never gives an interval of zero length; the others can.

    Raises
    ------
    DegenerateDataError
        Fewer than one positive or two negatives (or `m_neg` below two): no rate lies within (0, 1). One score
        for all rows; or for a class, by ``kernel`` without a `bandwidth`.
    InputError
        No rates, rates outside (0, 1) or NaN, an unknown method, a level outside (0, 1), a `bandwidth` that
        is not above 0 or is given to another method, resample sizes given to ``kernel``.

    Notes
    -----
    Cost after sorting: O(k) for k distinct scores, then O(sqrt(m_neg)) for each rate, as only thresholds
    about the r-th largest negative carry mass; ``exact`` takes one Fourier transform of O(sqrt(m_pos)) more,
    ``kernel`` a sum over the rows within 9 bandwidths of the threshold. Its coverage beside that of
    ``agresti`` and ``exact`` is in `rocmonitor.stats.curve.kernel`; `tpr` is the mean of the exact law for
    it too.

    Examples
    --------
    >>> points = vertical_intervals([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], [0.5], method="wald")
    >>> points.fpr.tolist(), points.tpr.tolist()
    ([0.5], [0.625])
    """
    share, flagged = negative_thresholds(sample)
    size_pos, size_neg = _sizes(sample, m_pos, m_neg)
    require_method(method, get_args(VerticalMethod))
    tail = (1 - require_level(confidence_level)) / 2
    _require_apart(method, (size_pos, size_neg) == (sample.n_pos, sample.n_neg), bandwidth)
    r, moved = nearest_ranks(fpr, size_neg)
    laws = [_mixture(int(rank), size_neg, share, flagged) for rank in r]
    tpr = np.array([weight @ seen for weight, seen in laws]) / sample.n_pos
    if method == "empirical":
        drawn = drawn_at_ranks(
            r,
            sample.neg,
            sample.pos,
            (threshold_levels(sample),),
            (size_pos, size_neg),
            n_resamples,
            generator(rng, n_resamples),
        )
        ends = list(zip(*percentiles(drawn, tail), strict=True))
    elif method == "kernel":
        ends = list(zip(*kernel_ends(sample, r / size_neg, tail, bandwidth), strict=True))
    elif method == "exact":
        ends = [law_ends(*_true_positives(*law, sample.n_pos, size_pos), size_pos, tail) for law in laws]
    else:
        added = SMOOTHING if method == "agresti" else 0.0
        ends = [_normal_ends(weight, seen, sample.n_pos, size_pos, tail, added) for weight, seen in laws]
    intervals = clipped_intervals(*np.array(ends).T)
    return VerticalIntervals(
        fpr=r / size_neg,
        tpr=tpr,
        tpr_low=intervals.low,
        tpr_high=intervals.high,
        method=method,
        confidence_level=float(confidence_level),
        n_pos=sample.n_pos,
        n_neg=sample.n_neg,
        caveats=moved
        + resample_caveats(size_pos, sample.n_pos, size_neg, sample.n_neg)
        + tie_caveats("", share, sample.n_neg, r / size_neg)
        + interval_caveats("TPR", tpr, intervals),
    )


@on_sample
def vertical_law(sample: Sample, fpr: float, *, m_pos: int | None = None, m_neg: int | None = None) -> Floats:
    """Exact stratified bootstrap law of the number of true positives at a false positive rate ([DG09] eq. 5).

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels and scores, or one `Sample` in their place.
    fpr : float
        Within (0, 1); the nearest r / m_neg is used, as `vertical_intervals` reports it.
    m_pos, m_neg : int, optional
        Sizes of a resample, the class sizes by default.

    Returns
    -------
    ndarray, shape (m_pos + 1,)
        Probabilities of 0, 1, …, m_pos true positives.

    Raises
    ------
    DegenerateDataError, InputError
        As for `vertical_intervals`.

    Notes
    -----
    A mixture of binomials over the thresholds that carry mass: O(m_pos + sqrt(m_neg m_pos)) work at most,
    mostly less by its characteristic function. Absolute error about 1e-14.

    Examples
    --------
    >>> vertical_law([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], 0.5).round(12).tolist()
    [0.1875, 0.375, 0.4375]
    """
    share, flagged = negative_thresholds(sample)
    size_pos, size_neg = _sizes(sample, m_pos, m_neg)
    r, _ = nearest_ranks(fpr, size_neg)
    if len(r) != 1:
        raise InputError(f"fpr must be one number; {len(r)} were given")
    mixture = _mixture(int(r[0]), size_neg, share, flagged)
    low, mass = _true_positives(*mixture, sample.n_pos, size_pos)
    law = np.zeros(size_pos + 1)
    law[low : low + len(mass)] = mass
    return law


def _mixture(r: int, m: int, share: Floats, value: Floats) -> tuple[Floats, Floats]:
    """P(T_r = s_k) where it is not negligible ([DG09] eq. 3, 4), and `value` there.

    P(T_r >= s_k) = P(Bin(m, share_k) >= r) is the distribution function of Beta(r, m - r + 1) at share_k.
    """
    ends = special.betaincinv(r, m - r + 1, _NEGLIGIBLE), special.betainccinv(r, m - r + 1, _NEGLIGIBLE)
    first, last = np.searchsorted(share, ends)
    window = slice(first, last + 1)
    edges = np.concatenate([share[first - 1 : first] if first else [0.0], share[window]])
    variance = r * (m - r) / m
    if variance >= _FINE**2 and np.diff(edges).max() * _FINE <= np.sqrt(variance) / m:
        return _beta_cells(r, m, edges), value[window]
    reached = special.betainc(r, m - r + 1, edges)
    reached[[0, -1]] = 0.0, 1.0
    return np.diff(reached), value[window]


def _beta_cells(r: int, m: int, edges: Floats) -> Floats:
    """Mass of Beta(r, m - r + 1) in narrow cells that hold all of it: 5 times as fast as `betainc`.

    Three-point Gauss-Legendre. With cells of at most sd/32 the error is below h^6 2e-5 = 2e-14 in all.
    """
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    away = middle - (r - 1) / (m - 1) + _NODES[:, np.newaxis] * half  # from the mode
    # Relative to the mode the two logarithms nearly cancel while they are small: no digits are lost.
    log_density = (r - 1) * np.log1p(away * ((m - 1) / (r - 1))) + (m - r) * np.log1p(
        -away * ((m - 1) / (m - r))
    )
    mass = half * (_NODE_WEIGHTS @ np.exp(log_density))
    return np.asarray(mass / mass.sum())


def _normal_ends(
    weight: Floats, flagged: Floats, n_pos: int, m_pos: int, tail: float, added: float
) -> tuple[float, float]:
    """Mean and variance of [DG09] eq. 6 and 7, fitted by a normal law."""
    p = (flagged + added) / (n_pos + 2 * added)
    mean = weight @ p
    variance = weight @ (p * (1 - p)) / (m_pos + 2 * added) + weight @ (p - mean) ** 2
    half = normal_quantile(tail) * np.sqrt(variance)
    return float(mean - half), float(mean + half)


def _true_positives(weight: Floats, flagged: Floats, n_pos: int, m: int) -> tuple[int, Floats]:
    """The mixture of binomials of [DG09] eq. 5: first count, and probabilities from there on."""
    weight, flagged = _grouped(weight, flagged)
    if 2 * flagged.min() <= n_pos:
        return _mixed_binomials(weight, flagged / n_pos, m)
    # Misses are fewer, and their angles keep more digits.
    low, law = _mixed_binomials(weight, (n_pos - flagged) / n_pos, m)
    return m - low - len(law) + 1, law[::-1]


def _mixed_binomials(weight: Floats, share: Floats, m: int) -> tuple[int, Floats]:
    """The mixture of Bin(m, share): first count, and probabilities from there on."""
    low, high = binomial_range(m, float(share.min()))[0], binomial_range(m, float(share.max()))[1]
    law = np.zeros(high - low + 1)
    size = fft.next_fast_len(len(law), real=True)
    least = m * float((share * (1 - share)).min())
    # |characteristic function| <= exp(-variance (1 - cos angle)) of every binomial, negligible beyond this.
    widest = np.arccos(1 - _LOG_NEGLIGIBLE / max(least, _LOG_NEGLIGIBLE / 2))
    angle = np.asarray(2 * np.pi / size * np.arange(int(widest * size / (2 * np.pi) + 1e-9) + 1))
    nodes, p = _few_nodes(weight, share, m)
    if len(angle) * len(p) < _STEPS_A_BINOMIAL * len(share):
        each = np.exp(m * log_characteristic(angle, p) - 1j * low * angle[:, np.newaxis])
        phi = np.einsum("ap,p->a", each, nodes)  # not @: threads cost more than so small a product
        return low, np.maximum(np.fft.irfft(phi.conj(), size)[: len(law)], 0.0)
    for chance, rate in zip(weight.tolist(), share.tolist(), strict=True):
        first, mass = binomial_window(m, rate)
        law[first - low : first - low + len(mass)] += chance * mass
    return low, law


def _few_nodes(weight: Floats, p: Floats, m: int) -> tuple[Floats, Floats]:
    """Nodes of p and their weights that give the same mixture of binomial laws to 1e-14.

    A binomial law is smooth in p, on the scale of its deviation: its mean over all p is that of
    its Chebyshev interpolant, whose nodes are few where many p lie within a standard deviation.
    """
    low, high = float(p.min()), float(p.max())
    middle, half = (low + high) / 2, (high - low) / 2
    scale = np.sqrt(min(low * (1 - low), high * (1 - high)) / m)
    size = 20 + int(_NODES_A_DEVIATION * half / scale) if scale > 0 else len(p)
    if size >= len(p):
        return weight, p
    nodes = np.cos(np.pi * (np.arange(size) + 0.5) / size)
    moments = _chebyshev_moments(weight, (p - middle) / half, size)
    return fft.dct(moments, type=3) / size, middle + half * nodes


def _chebyshev_moments(weight: Floats, x: Floats, size: int) -> Floats:
    """Means of the Chebyshev polynomials T_0…T_(size - 1) of x, from the values of 2 sqrt(size) of them.

    T_(a step + b) = 2 T_(a step) T_b - T_(a step - b), and T_(a step) = T_a(T_step).
    """
    step = math.isqrt(size)
    near = _chebyshev(x, step)
    far = _chebyshev(near[step], size // step)
    moments = (weight * far) @ near[:step].T
    moments[:, 1:] *= 2
    moments[0, 1:] /= 2
    for before, line in itertools.pairwise(moments):
        line[1:] -= before[:0:-1]
    return np.asarray(moments.ravel()[:size])


def _chebyshev(x: Floats, order: int) -> Floats:
    """T_0…T_order at x, shape (order + 1, w)."""
    values = np.empty((order + 1, len(x)))
    values[0], values[1] = 1.0, x
    twice = 2 * x
    for i in range(2, order + 1):
        np.multiply(twice, values[i - 1], out=values[i])
        values[i] -= values[i - 2]
    return values


def _grouped(weight: Floats, flagged: Floats) -> tuple[Floats, Floats]:
    """One term for each number of flagged positives: thresholds with no positive between them act as one."""
    first = np.flatnonzero(np.concatenate([[True], flagged[1:] != flagged[:-1]]))
    return np.add.reduceat(weight, first), flagged[first]


def _require_apart(method: str, whole: bool, bandwidth: Bandwidth | None) -> None:
    """Refuse resample sizes to ``kernel``, and a bandwidth to the others."""
    if method == "kernel" and not whole:
        raise InputError("method 'kernel' knows no resampling: leave out m_pos and m_neg")
    if method != "kernel" and bandwidth is not None:
        raise InputError(f"bandwidth belongs to method 'kernel', not {method!r}: leave it out")


def _sizes(sample: Sample, m_pos: int | None, m_neg: int | None) -> tuple[int, int]:
    size_pos = resample_size(m_pos, sample.n_pos, "m_pos")
    size_neg = resample_size(m_neg, sample.n_neg, "m_neg")
    require_rates(size_neg)
    return size_pos, size_neg
