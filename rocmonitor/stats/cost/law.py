"""The bootstrap law of a normalised cost: its moments, its quantiles, and intervals.

A cost adds up errors. In a resample, a class contributes D = (rows that cost more) - (rows that cost less):
for one model the rows that it gets wrong, and none that cost less; for two models the rows that only the
second gets wrong, less those that only the first does. At operating condition w the normalised cost is

- stratified (m_pos and m_neg rows drawn from the two classes): w D_pos / m_pos + (1 - w) D_neg / m_neg;
- full (m rows drawn from both classes together): (c_fn D_pos + c_fp D_neg) / (m max(c_fn, c_fp)), with
  c_fn = w / p_pos, c_fp = (1 - w) / p_neg and the sample's shares p of the classes.

Dugas and Gadoury (2008) is [DG08] below. Their eq. 5 lacks the class sizes, and eq. 10 and 13 are garbled:
under full sampling the rows are drawn independently, so the variance is that of one row's cost over m.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.curve.difference import difference_range, trinomial_difference
from rocmonitor.stats.curve.full_sampling import Sampling
from rocmonitor.stats.proportion import (
    LEVEL_ROUNDING,
    Intervals,
    clipped_intervals,
    normal_quantile,
    proportion_intervals,
)

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CostMethod = Literal["wald", "agresti", "exact", "mover"]

ENOUGH_ERRORS = 10
"""Errors that must carry the variance before the law of a cost may be taken as normal."""

_ONE_MODEL = (2.0, 4.0)  # Agresti & Coull: 2 errors in 4 more rows of a class
_TWO_MODELS = (0.5, 2.0)  # Agresti & Min: 1/2 disagreement to either side in 2 more rows
_BINS = 1 << 14  # of the first search for a quantile


class Errors(NamedTuple):
    """The rows of one class that cost more, and those that cost less, at each operating condition."""

    more: Counts
    less: Counts
    n: int
    """Rows of the class in the sample."""
    m: int
    """Rows of the class in a stratified resample."""
    paired: bool
    """Whether two models are compared; else `less` is 0 throughout."""


class Costs(NamedTuple):
    """Errors of both classes at operating conditions `w`, shape (h,)."""

    w: Floats
    pos: Errors
    neg: Errors
    sampling: Sampling

    def weights(self) -> tuple[Floats, Floats]:
        """What a unit of either class's rate adds to the cost: w and 1 - w, over the larger cost if full."""
        w_pos, w_neg = self.w, 1 - self.w
        if self.sampling == "full":
            n = self.pos.n + self.neg.n
            largest = np.maximum(w_pos * (n / self.pos.n), w_neg * (n / self.neg.n))
            return w_pos / largest, w_neg / largest
        return w_pos, w_neg


class _Shares(NamedTuple):
    """Shares of a class's rows that cost more and less, and the rows that a resample's rate is over."""

    more: Floats
    less: Floats
    rows: float

    def variance(self) -> Floats:
        """Of one row's contribution."""
        return np.maximum(self.more + self.less - (self.more - self.less) ** 2, 0.0)


def mean(costs: Costs) -> Floats:
    """Mean of the bootstrap law, which is the observed cost: [DG08] eq. 4, 7, 9 and 12."""
    return _mean(costs, _shares(costs.pos), _shares(costs.neg))


def variance(costs: Costs) -> Floats:
    """Variance of the bootstrap law: [DG08] eq. 5, 8, 10 and 13, corrected."""
    return _variance(costs, _shares(costs.pos), _shares(costs.neg))


def intervals(costs: Costs, method: CostMethod, tail: float, least: float) -> Intervals:
    """Intervals that leave `tail` on either side, within [least, 1]."""
    if method == "exact":
        ends = [_exact_ends(costs, i, tail) for i in range(len(costs.w))]
        return clipped_intervals(*np.array(ends, dtype=np.float64).T, least=least)
    if method == "mover":
        return clipped_intervals(*_mover_ends(costs, tail), least=least)
    smoothed = method == "agresti"
    pos, neg = _shares(costs.pos, smoothed=smoothed), _shares(costs.neg, smoothed=smoothed)
    centre = _mean(costs, pos, neg)
    half = normal_quantile(tail) * np.sqrt(_variance(costs, pos, neg))
    return clipped_intervals(centre - half, centre + half, least=least)


def untrusted(costs: Costs, method: CostMethod, tail: float) -> NDArray[np.bool_]:
    """Where the law is too far from a normal one, or from a smooth one, for `method`, shape (h,).

    ``wald`` and ``exact`` rest on the errors that were seen: fewer than `ENOUGH_ERRORS` of them carry the
    variance, counted as (sum v)^2 / sum(v^2 / errors) over the kinds of errors, v their parts of the
    variance. ``agresti`` adds errors: they move the centre by more than half of its margin.
    """
    if method == "mover":
        return np.zeros(len(costs.w), dtype=bool)
    if method == "agresti":
        pos, neg = _shares(costs.pos, smoothed=True), _shares(costs.neg, smoothed=True)
        half = normal_quantile(tail) * np.sqrt(_variance(costs, pos, neg))
        return np.asarray(np.abs(_mean(costs, pos, neg) - mean(costs)) > half / 2)
    total, weak = np.zeros_like(costs.w), np.zeros_like(costs.w)
    for kind in _kinds(costs):
        errors = np.minimum(kind.seen, kind.n - kind.seen) + 0.5  # the next sample may have one
        share = errors / (kind.n + 1)
        part = kind.weight**2 * share * (1 - share) / kind.n
        total += part
        weak += part**2 / errors
    return np.asarray(total**2 < ENOUGH_ERRORS * weak)


def _shares(errors: Errors, *, smoothed: bool = False) -> _Shares:
    kind, rows = (_TWO_MODELS if errors.paired else _ONE_MODEL) if smoothed else (0.0, 0.0)
    n = errors.n + rows
    more, less = (errors.more + kind) / n, (errors.less + kind * errors.paired) / n
    return _Shares(np.asarray(more), np.asarray(less), errors.m + rows)


def _mean(costs: Costs, pos: _Shares, neg: _Shares) -> Floats:
    w_pos, w_neg = costs.weights()
    return w_pos * (pos.more - pos.less) + w_neg * (neg.more - neg.less)


def _variance(costs: Costs, pos: _Shares, neg: _Shares) -> Floats:
    w_pos, w_neg = costs.weights()
    if costs.sampling == "stratified":
        return w_pos**2 * pos.variance() / pos.rows + w_neg**2 * neg.variance() / neg.rows
    p_pos = costs.pos.n / (costs.pos.n + costs.neg.n)
    square = w_pos**2 * (pos.more + pos.less) / p_pos + w_neg**2 * (neg.more + neg.less) / (1 - p_pos)
    spread = np.maximum(square - _mean(costs, pos, neg) ** 2, 0.0)
    return np.asarray(spread / (costs.pos.m + costs.neg.m))


def _exact_ends(costs: Costs, i: int, tail: float) -> tuple[float, float]:
    """Quantiles of the exact law at the i-th operating condition."""
    if costs.sampling == "stratified":
        (low_pos, law_pos), (low_neg, law_neg) = (
            trinomial_difference(errors.m, errors.more[i] / errors.n, errors.less[i] / errors.n)
            for errors in (costs.pos, costs.neg)
        )
        mass = np.multiply.outer(law_pos, law_neg)
        rows_pos, rows_neg = float(costs.pos.m), float(costs.neg.m)
    else:
        low_pos, low_neg, mass = _joint_difference(costs, i)
        m = costs.pos.m + costs.neg.m
        n = costs.pos.n + costs.neg.n
        rows_pos, rows_neg = m * costs.pos.n / n, m * costs.neg.n / n
    w_pos, w_neg = (float(weight[i]) for weight in costs.weights())
    value = np.add.outer(
        w_pos * (low_pos + np.arange(mass.shape[0])) / rows_pos,
        w_neg * (low_neg + np.arange(mass.shape[1])) / rows_neg,
    )
    return _quantiles(value.ravel(), mass.ravel(), tail)


def _quantiles(value: Floats, mass: Floats, tail: float) -> tuple[float, float]:
    """Smallest values at which the distribution function reaches `tail` and 1 - tail; O(size)."""
    least, width = float(value.min()), float(np.ptp(value))
    if width == 0.0:
        return least, least
    number = np.minimum(((value - least) * (_BINS / width)).astype(np.intp), _BINS - 1)
    reached = np.cumsum(np.bincount(number, weights=mass, minlength=_BINS))
    ends = []
    for level in (tail, reached[-1] - tail):
        hit = min(int(np.searchsorted(reached, level - LEVEL_ROUNDING)), _BINS - 1)
        inside = np.flatnonzero(number == hit)
        inside = inside[np.argsort(value[inside])]
        before = reached[hit - 1] if hit else 0.0
        place = np.searchsorted(before + np.cumsum(mass[inside]), level - LEVEL_ROUNDING)
        ends.append(float(value[inside[min(int(place), len(inside) - 1)]]))
    return ends[0], ends[1]


def _joint_difference(costs: Costs, i: int) -> tuple[int, int, Floats]:
    """Law of (D_pos, D_neg) under full sampling: the first values, and the probabilities from there on.

    One inverse FFT of the characteristic function (1 + sum of share (e^(i angle) - 1))^m over a window in
    each direction that leaves out less than 2e-16 of the mass, as in `trinomial_difference`.
    """
    m, n = costs.pos.m + costs.neg.m, costs.pos.n + costs.neg.n
    real, imaginary, shift = np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1))
    lows, sizes = [], []
    for axis, errors in enumerate((costs.pos, costs.neg)):
        a, b = errors.more[i] / n, errors.less[i] / n
        low, high = difference_range(m, a, b)
        size = 1 << (high - low).bit_length()  # a power of 2, above high - low
        angle = 2 * np.pi * np.arange(size if axis == 0 else size // 2 + 1) / size
        angle = angle[:, np.newaxis] if axis == 0 else angle
        real = real - 2 * (a + b) * np.sin(angle / 2) ** 2
        imaginary = imaginary + (a - b) * np.sin(angle)
        shift = shift + low * angle
        lows.append(low)
        sizes.append(size)
    with np.errstate(divide="ignore"):
        log_modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0)) / 2
    phase = m * np.arctan2(imaginary, 1 + real) - shift
    law = np.fft.irfft2(np.exp(m * log_modulus) * np.exp(-1j * phase), s=sizes, axes=(0, 1))
    return lows[0], lows[1], np.maximum(law, 0.0)


class _Kind(NamedTuple):
    """Errors that cost the same: `seen` in `n` rows of the `drawn`-th sample; their share has a weight."""

    weight: Floats
    seen: Counts
    n: int
    drawn: int


def _mover_ends(costs: Costs, tail: float) -> tuple[Floats, Floats]:
    """Clopper-Pearson limits of each kind of error, put together (Zou & Donner 2008, eq. 2 and 3).

    The distances from the shares to their limits are added like standard deviations, with the correlation
    that shares of one sample have.
    """
    kinds = _kinds(costs)
    below, above = [], []
    for kind in kinds:
        share = kind.seen / kind.n
        limits = proportion_intervals(
            kind.seen, kind.n, method="clopper-pearson", confidence_level=1 - 2 * tail
        )
        ends = [kind.weight * (share - limits.low), kind.weight * (share - limits.high)]
        below.append(np.maximum(*ends))
        above.append(-np.minimum(*ends))
    centre = mean(costs)
    return centre - _combined(kinds, below), centre + _combined(kinds, above)


def _kinds(costs: Costs) -> list[_Kind]:
    full, n = costs.sampling == "full", costs.pos.n + costs.neg.n
    kinds = []
    for number, (weight, errors) in enumerate(zip(costs.weights(), (costs.pos, costs.neg), strict=True)):
        drawn, rows = (0, n) if full else (number, errors.n)
        of_share = weight * (rows / errors.n)
        kinds.append(_Kind(of_share, errors.more, rows, drawn))
        if errors.paired:
            kinds.append(_Kind(-of_share, errors.less, rows, drawn))
    return kinds


def _combined(kinds: list[_Kind], distances: list[Floats]) -> Floats:
    """Square root of the sum of squares, with -2 r times the products; r > 0 for shares of one sample."""
    total = np.sum(np.square(distances), axis=0)
    for i, one in enumerate(kinds):
        for j, other in enumerate(kinds[:i]):
            if one.drawn == other.drawn:
                odds = [kind.seen / np.maximum(kind.n - kind.seen, 1) for kind in (one, other)]
                sign = np.sign(one.weight) * np.sign(other.weight)
                total -= 2 * sign * np.sqrt(np.minimum(odds[0] * odds[1], 1.0)) * distances[i] * distances[j]
    return np.asarray(np.sqrt(np.maximum(total, 0.0)))
