"""Bounds of areas, and of their differences, that allow for rows which the sample does not hold.

An AUC near 1 is a mean of losses within [0, 1], one a positive: 1 less its placement value. Where a few
positives carry the loss, a sample may hold none of them, and then its standard error is too small. The bound
here is that of the empirical likelihood ([O01]) with one value more than the sample has, a row that loses
everything: the largest mean of any law of losses whose likelihood is still at least exp(-c) of the sample's
own. Where many rows carry the loss the additional value gets no weight, and the bound is the usual one.

By Wilks, c is z²/2. A sample without any loss shows that the mean m has (1 - m)**n >= tail ([CP34]): c is
log(1 / tail). Between the two, c goes with 1 / k, for k rows that carry the loss (docs/coverage.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from rocmonitor.stats.rows import Counts, Floats, weighted_sum

FEW = 10  # rows that carry a loss below which a caveat says so; from twice as many on no difference is wider


VERY_FEW = 2.5
"""Rows that carry a loss up to which, near 1, a difference takes the whole bound; not from twice as many."""

_LEAST_TILT, _LARGEST_TILT = 1e-12, 1e12
_ROUNDED = 1e-9  # a share of rows so small is an error of rounding: no row
_ROUNDED_UP = 1.5  # for n - 1 in place of n rows of either class


class Part(NamedTuple):
    """The loss, or gain, of the rows of a class: its mean and mean square over all rows, within [0, 1]."""

    mean: float
    square: float

    def carried_by(self, n: float) -> float:
        """Return the number of rows that carry it, were all alike: (sum)² over the sum of squares ([K65])."""
        return min(n * self.mean**2 / self.square, n) if self.square > 0 else 0.0


class Balance(NamedTuple):
    """The loss and the gain of the rows of a class."""

    loss: Part
    gain: Part


NOTHING = Part(0.0, 0.0)


def balance_of(values: Floats, counts: Counts | Floats) -> Balance:
    """Losses (negative) and gains (positive) of rows whose value, shape (c,), occurs `counts` times."""
    n = float(counts.sum())
    loss, gain = (
        Part(weighted_sum(counts, amounts) / n, weighted_sum(counts, amounts * amounts) / n)
        for amounts in (np.maximum(-values, 0.0), np.maximum(values, 0.0))
    )
    return Balance(loss, gain)


def fewest(carriers: Sequence[float], sizes: Sequence[int]) -> dict[str, Any]:
    """Return the class of which the fewest rows carry the loss, for a caveat."""
    rows, size, at = min(
        (rows, size, at) for at, (rows, size) in enumerate(zip(carriers, sizes, strict=True))
    )
    return {"rows": rows, "kind": ("positives", "negatives")[at % 2], "of": size}


def error_at_0(beyond: Callable[[float], float], least: float, most: float) -> float:
    """Return the probability of error, from `least` to `most`, at which an interval ends at 0.

    `beyond` is how far the interval with such a probability reaches beyond 0; this where it does at `most`.
    """
    if beyond(most) > 0:
        return most
    log = scipy.optimize.brentq(lambda log: beyond(math.exp(log)), math.log(least), math.log(most))
    return math.exp(float(log))


class UnseenReach(NamedTuple):
    """The distance from the mean loss that was seen up to the bound."""

    bound: float  # all of it
    # What the value adds that the sample lacks; 0 where it gets no weight. It fades out from `FEW` rows on
    # that carry the loss.
    unseen: float


def reach_of(
    rows: Sequence[Balance], sizes: Sequence[float], *, z: float, tail: float, limit: float = 1.0
) -> UnseenReach:
    """Return how far above the mean loss, less the gains, the largest lies that `tail` leaves possible.

    rows: Of the positives and of the negatives.
    sizes: Class sizes; of clustered rows, as many independent ones as show as much.
    z: Quantile of the normal law, or of Student's t, that `tail` lies beyond.
    limit: What a row that the sample lacks may lose, above 0 and up to 1.

    What the two classes add is combined as by [N98]: the root of the sum of squares. O(1).
    """
    reaches = [_of_class(balance, n, z, tail, limit) for balance, n in zip(rows, sizes, strict=True)]
    return UnseenReach(
        math.hypot(*(reach.bound for reach in reaches)), math.hypot(*(reach.unseen for reach in reaches))
    )


def unseen_at_most(rows: Sequence[Balance], sizes: Sequence[float], *, tail: float, off: float) -> float:
    """Return what a difference is wider by at most, if rows may lose other amounts: in condensed samples.

    `off` is the guaranteed error of a standard error: the root of a sum of squares, over the number of rows.
    """
    bounds = []
    for balance, n in zip(rows, sizes, strict=True):
        of_rows = off * math.sqrt(n) * _ROUNDED_UP
        loss = Part(max(balance.loss.mean - of_rows, 0.0), (math.sqrt(balance.loss.square) + of_rows) ** 2)
        carriers = loss.carried_by(n)
        if carriers < 2 * VERY_FEW:  # no law whose likelihood is enough has a mean further away (Pinsker)
            bounds.append(math.sqrt(-math.log(tail) / (2 * n)))
        else:
            bounds.append(-math.expm1(math.log(tail) / n) if carriers < 2 * FEW else 0.0)
    return math.hypot(*bounds)


def _of_class(rows: Balance, n: float, z: float, tail: float, limit: float) -> UnseenReach:
    """Return the reach for one class: its losses and gains are taken as those of as many equal rows.

    A law with weights in proportion to 1 / (1 - t x) at the values x that occur is the likeliest of its mean,
    for a tilt t of 0 to 1 / limit; with the last the limit can get what weight is left.
    """
    losing, gaining = rows.loss.carried_by(n), rows.gain.carried_by(n)
    likelihood = z * z / 2
    likelihood += (-math.log(tail) - likelihood) / max(losing, 1.0)
    x = rows.loss.square / rows.loss.mean if losing else 0.0
    y = -rows.gain.square / rows.gain.mean if gaining else 0.0
    carried = (losing + gaining) / n
    others = 1 - carried if carried < 1 - _ROUNDED else 0.0  # the rows that show no difference
    whole = n if others else losing + gaining
    p, q = losing / whole, gaining / whole

    def total(tilt: float) -> float:
        return others + p / (1 - tilt * x) + q / (1 - tilt * y)

    def lost(tilt: float) -> float:
        more = p * tilt * x / (1 - tilt * x) + q * tilt * y / (1 - tilt * y)
        log = math.log1p(more) if more > -0.5 else math.log(total(tilt))
        return n * (log + p * math.log1p(-tilt * x) + q * math.log1p(-tilt * y))

    def mean(tilt: float) -> float:
        return (p * x / (1 - tilt * x) + q * y / (1 - tilt * y)) / total(tilt)

    def likeliest(least: float, most: float) -> float:
        if lost(most) <= likelihood:
            return mean(most)

        def short(tilt: float) -> float:
            return math.sqrt(max(lost(tilt), 0.0)) - math.sqrt(likelihood)

        return mean(float(scipy.optimize.brentq(short, least, most, xtol=1e-300, rtol=1e-13)))

    seen = mean(0.0)
    most = (1 - 1e-12) / x if x > 0 else _LARGEST_TILT
    if x >= limit or (left := likelihood - lost(1 / limit)) <= 0:
        return UnseenReach(likeliest(_LEAST_TILT, min(most, 1 / limit)) - seen, 0.0)
    beyond = -math.expm1(-left / n)
    bound = (1 - beyond) * mean(1 / limit) + beyond * limit
    fading = min(max(2 - losing / FEW, 0.0), 1.0)
    return UnseenReach(bound - seen, fading * max(bound - likeliest(1 / limit, most), 0.0))
