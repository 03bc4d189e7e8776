"""The bootstrap law of a normalised cost: its moments, its quantiles, and intervals.

A cost adds up errors. In a resample, a class contributes D = (rows that cost more) - (rows that cost less):
for one model the rows that it gets wrong, and none that cost less; for two models the rows that only the
second gets wrong, less those that only the first does. At operating condition w the normalised cost is

- stratified (m_pos and m_neg rows drawn from the two classes): w D_pos / m_pos + (1 - w) D_neg / m_neg;
- full (m rows drawn from both classes together): (c_fn D_pos + c_fp D_neg) / (m max(c_fn, c_fp)), with
  c_fn = w / p_pos, c_fp = (1 - w) / p_neg and the sample's shares p of the classes.

Under full sampling the share of positives P+ has a binomial law, or any other with the sample's mean (section
4): the mean of the cost given P+ is linear in it, so that only its standard deviation counts for the moments.

[DG08] is Dugas and Gadoury (2008). Their eq. 5 lacks the class sizes, and eq. 10 and 13 are garbled: under
full sampling the rows are drawn independently, so the variance is that of one row's cost over m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.binomial import (
    Counts,
    Floats,
    joint_difference,
    require_room,
    trinomial_difference,
    value_quantiles,
)
from rocmonitor.stats.curve.laws import BootstrapLaw, IntervalOptions, Sampling
from rocmonitor.stats.proportion import AGRESTI_MIN, NOT_SMOOTHED, Smoothing, proportion_ends, quantile_beyond

CostMethod = Literal["wald", "agresti", "exact", "mover", "empirical"]

_ALIKE = 1e-12  # correlation of two rows' classes below which they are drawn one by one
ENOUGH_ERRORS = 10  # errors that must carry the variance before the law of a cost may be taken as normal


class ErrorCounts(NamedTuple):
    """The rows of one class that cost more, and those that cost less, at each operating condition."""

    more: Counts
    less: Counts
    n: int  # rows of the class in the sample
    m: int  # rows of the class in a stratified resample


class _Kind(NamedTuple):
    """Errors that cost the same: `seen` in `n` rows of the `drawn`-th sample; their share has a weight."""

    weight: Floats
    seen: Counts
    n: int
    drawn: int


@dataclass(frozen=True, eq=False)
class CostLaw(BootstrapLaw):
    """Law of the cost of a model at operating conditions `w`, shape (h,)."""

    w: Floats
    pos: ErrorCounts
    neg: ErrorCounts
    sampling: Sampling
    prevalence_sd: float | None = None
    paired = False

    @property
    def mean(self) -> Floats:
        """The observed cost: [DG08] eq. 4, 7, 9 and 12."""
        return self.moments(NOT_SMOOTHED)[0]

    def moments(self, added: Smoothing) -> tuple[Floats, Floats]:
        """Mean, and variance: [DG08] eq. 5, 8, 10 and 13, corrected."""
        gaps, both, variances = [], [], []  # by class, of the shares of rows that cost more and less
        for errors in (self.pos, self.neg):
            more = added.share(errors.more, errors.n)
            less = added.share(errors.less, errors.n) if self.paired else np.zeros_like(more)
            gaps.append(more - less)
            both.append(more + less)
            variances.append(np.maximum(more + less - (more - less) ** 2, 0.0))
        w_pos, w_neg = self._weights()
        mean = w_pos * gaps[0] + w_neg * gaps[1]
        if self.sampling == "stratified":
            m_pos, m_neg = self.pos.m + added.rows, self.neg.m + added.rows
            return mean, w_pos**2 * variances[0] / m_pos + w_neg**2 * variances[1] / m_neg
        p_pos, rows = self.pos.n / (self.pos.n + self.neg.n), self.pos.m + self.neg.m
        square = w_pos**2 * both[0] / p_pos + w_neg**2 * both[1] / (1 - p_pos)
        variance = np.maximum(square - mean**2, 0.0) / rows
        if self.prevalence_sd is not None:  # V_N{E[C | N+]} of another law in place of the binomial one
            slope = w_pos * gaps[0] / p_pos - w_neg * gaps[1] / (1 - p_pos)
            variance += (self.prevalence_sd**2 - p_pos * (1 - p_pos) / rows) * slope**2
        return mean, variance

    def quantiles(self, i: int, tail: float) -> tuple[float, float]:
        """Return quantiles of the exact law; O(sqrt(m_pos m_neg))."""
        pos, neg = self.pos, self.neg
        if self.sampling == "stratified":
            (low_pos, law_pos), (low_neg, law_neg) = (
                trinomial_difference(errors.m, errors.more[i] / errors.n, errors.less[i] / errors.n)
                for errors in (pos, neg)
            )
            require_room(len(law_pos) * len(law_neg))
            mass = np.multiply.outer(law_pos, law_neg)
            rows_pos, rows_neg = float(pos.m), float(neg.m)
        else:
            m, n = pos.m + neg.m, pos.n + neg.n
            shares = [(errors.more[i] / n, errors.less[i] / n) for errors in (pos, neg)]
            (low_pos, low_neg), mass = joint_difference(m, shares)
            rows_pos, rows_neg = m * pos.n / n, m * neg.n / n
        w_pos, w_neg = (float(weight[i]) for weight in self._weights())
        value = np.add.outer(
            w_pos * (low_pos + np.arange(mass.shape[0])) / rows_pos,
            w_neg * (low_neg + np.arange(mass.shape[1])) / rows_neg,
        )
        return value_quantiles(value.ravel(), mass.ravel(), tail)

    def drawn(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Costs in drawn resamples, (n_resamples, h): at each point resamples of its own."""
        pos, neg = self.pos, self.neg
        shape = (n_resamples, *np.shape(pos.more))
        if self.sampling == "stratified":
            rows_pos, rows_neg = np.full(shape, pos.m), np.full(shape, neg.m)
            over: tuple[float, float] = pos.m, neg.m
        else:
            m, n = pos.m + neg.m, pos.n + neg.n
            over = m * pos.n / n, m * neg.n / n
            share: Floats | float = pos.n / n
            if self.prevalence_sd is not None:
                p = pos.n / n
                alike = (self.prevalence_sd**2 / (p * (1 - p) / m) - 1) / (m - 1)
                if alike > _ALIKE:
                    share = rng.beta(p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike, shape)
            rows_pos = rng.binomial(m, share, shape)
            rows_neg = m - rows_pos
        parts = []
        for weight, errors, rows, whole in zip(
            self._weights(), (pos, neg), (rows_pos, rows_neg), over, strict=True
        ):
            more = rng.binomial(rows, errors.more / errors.n)
            rest = np.maximum(errors.n - errors.more, 1)  # 0: no row is left to draw
            less = rng.binomial(rows - more, np.minimum(errors.less / rest, 1.0))
            parts.append(weight * (more - less) / whole)
        return np.asarray(parts[0] + parts[1])

    def ends(self, options: IntervalOptions) -> tuple[Floats, Floats]:
        """Return the ends of the interval, by ``mover`` too.

        That puts together Clopper-Pearson limits of each kind of error (Zou & Donner 2008, eq. 2 and 3). The
        distances to the limits add like standard deviations, with the correlation of shares of one sample.
        """
        if options.method != "mover":
            return super().ends(options)
        kinds, below, above = self._kinds(), [], []
        for kind in kinds:
            share = kind.seen / kind.n
            low, high = proportion_ends(kind.seen, kind.n, kind.n, "clopper-pearson", options.tail)
            ends = [kind.weight * (share - low), kind.weight * (share - high)]
            below.append(np.maximum(*ends))
            above.append(-np.minimum(*ends))
        return self.mean - _combined(kinds, below), self.mean + _combined(kinds, above)

    def untrusted(self, method: str, tail: float) -> NDArray[np.bool_]:
        """Return where the law is too far from a normal one, or from a smooth one, for `method`, shape (h,).

        ``wald``, ``exact`` and ``empirical`` rest on the errors that were seen: fewer than `ENOUGH_ERRORS` of
        them carry the variance, counted as (sum v)^2 / sum(v^2 / errors) over the kinds of errors, v their
        parts of the variance. ``agresti`` adds errors: they move the centre by more than half of its margin.
        """
        if method == "mover":
            return np.zeros(len(self.w), dtype=bool)
        if method == "agresti":
            mean, variance = self.moments(self.smoothing)
            return np.asarray(np.abs(mean - self.mean) > quantile_beyond(tail) * np.sqrt(variance) / 2)
        total, weak = np.zeros_like(self.w), np.zeros_like(self.w)
        for kind in self._kinds():
            errors = np.minimum(kind.seen, kind.n - kind.seen) + 0.5  # the next sample may have one
            share = errors / (kind.n + 1)
            part = kind.weight**2 * share * (1 - share) / kind.n
            total += part
            weak += part**2 / errors
        return np.asarray(total**2 < ENOUGH_ERRORS * weak)

    def _weights(self) -> tuple[Floats, Floats]:
        """Return what a unit of either rate adds to the cost: w and 1 - w; over the larger cost if full."""
        w_pos, w_neg = self.w, 1 - self.w
        if self.sampling == "full":
            n = self.pos.n + self.neg.n
            largest = np.maximum(w_pos * (n / self.pos.n), w_neg * (n / self.neg.n))
            return w_pos / largest, w_neg / largest
        return w_pos, w_neg

    def _kinds(self) -> list[_Kind]:
        full, n = self.sampling == "full", self.pos.n + self.neg.n
        kinds = []
        for number, (weight, errors) in enumerate(zip(self._weights(), (self.pos, self.neg), strict=True)):
            drawn, rows = (0, n) if full else (number, errors.n)
            of_share = weight * (rows / errors.n)
            kinds.append(_Kind(of_share, errors.more, rows, drawn))
            if self.paired:
                kinds.append(_Kind(-of_share, errors.less, rows, drawn))
        return kinds


class CostDifferenceLaw(CostLaw):
    """Law of the difference of two models' costs on the same rows."""

    smoothing = AGRESTI_MIN
    least = -1.0
    paired = True


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
