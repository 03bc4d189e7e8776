"""How far a reweighting within a Kullback-Leibler distance can move the AUC: the optimisation.

Shares f of the negatives and g of the positives at increasing scores are reweighted to u and v. Here
A(u, v) = sum_ij u_i v_j psi_ij (psi = 1, 1/2, 0: a tie counts one half) is maximised over
KL(u||f) + KL(v||g) <= D, Morin (2018) [M18] eq. 2-9; the smallest AUC is the largest of the reversed
scores. The first-order conditions, with d(u ln u/f)/du = ln(u/f) + 1 (eq. 36 prints a wrong derivative),
are exponential tilts of one multiplier:

    u_i = f_i exp(lambda P_i) / c,    P_i = sum_j v_j psi_ij,
    v_j = g_j exp(lambda Q_j) / c',   Q_j = sum_i u_i psi_ij

What the code rests on:

1.  For da, db of sum 0, |da' psi db| <= |da|_1 |db|_1 / 4, because psi_pj - psi_qj runs over an interval
    of length 1 for any p, q. With sum da^2/u >= |da|_1^2 it follows that lambda A - KL is concave for
    0 <= lambda <= 4: a solution with lambda <= 4 is *the* maximum, and A + KL/4 is convex.
2.  Beyond lambda = 4 there can be several solutions (f = (1, 1, 0)/2, g = (0, 1, 1)/2 has three at
    D = 0.9 ln 2). Each is followed from the complete separation at one threshold; the best one counts.
3.  At D = min_t [ -ln f(x < t) - ln g(y >= t) ] complete separation is affordable and the AUC is exactly
    1: u ln u -> 0, so zero weights do not cost an infinite distance, as [M18] says below eq. 36.
4.  The distance is kept exact while iterating, rather than lambda: on branches that bend, where D falls
    with lambda, a fixed lambda is no maximum at all.

Arrays have shape (2, k): negatives first, one column a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNIQUE_MULTIPLIER = 4.0
"""A solution with a multiplier up to this is the global optimum (proof in the module's text)."""

_TOLERANCE = 1e-10  # on the residual; the AUC's own error is of its square
_ROUGH = 1e-4  # residual at which a further branch is compared with the others
_SWEEPS = 1000
_MEMORY = 5  # earlier sweeps that the acceleration mixes
_LARGEST_SCALE = 1e15
_ROUNDING = 1e-12  # of an AUC added up over 1e6 cells
_STARTS = 32
_THIN = 2048  # cells: more than these are solved on thinned ones first
_NEWTON_STEPS = 200
_SHORT = 1e-6  # of the way: what is left is made up to first order, with an error of its square


class Cells(NamedTuple):
    """The cells that matter, in score order.

    Neighbouring scores that hold the same one class have equal placement values, hence equal tilts,
    and are one cell without any loss.
    """

    shares: Floats
    """(2, k): each class adds up to 1."""
    cell: NDArray[np.intp]
    """(number of scores,): the cell of each score."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extreme:
    """The largest AUC within a distance.

    Attributes
    ----------
    auc, distance : float
        The AUC reached and the distance it takes.
    multiplier : float
        lambda = dD/dA; 0 at the reference itself, infinite where more distance would not help.
    residual : float
        Of the first-order conditions: root mean square, under u and v, of ln(u/f) - lambda P and
        ln(v/g) - lambda Q around their means.
    tilt : ndarray, shape (2, k)
        u/f and v/g, the factor of each cell.
    """

    auc: float
    distance: float
    multiplier: float
    residual: float
    tilt: Floats


class _Point(NamedTuple):
    """Weights tilted by `scale` times `potential`, and what decides the next step."""

    auc: float
    distance: float
    multiplier: float
    residual: float
    tilt: Floats
    potential: Floats
    scale: float
    placement: Floats


def cells(pos: NDArray[np.int64], neg: NDArray[np.int64]) -> Cells:
    """The cells of counts at increasing scores; both classes must be present."""
    kind = 2 * (pos > 0) + (neg > 0)
    first = np.concatenate([[True], (kind[1:] != kind[:-1]) | (kind[1:] == 3)])
    start = np.flatnonzero(first)
    counts = np.stack([np.add.reduceat(neg, start), np.add.reduceat(pos, start)])
    return Cells(counts / counts.sum(axis=1, keepdims=True), np.cumsum(first) - 1)


def placement(weights: Floats) -> Floats:
    """(2, k): P(a positive is higher) at each cell, and P(a negative is lower)."""
    negatives, positives = weights
    above = np.cumsum(positives[::-1])[::-1] - positives / 2
    below = np.cumsum(negatives) - negatives / 2
    return np.stack([above, below])


def ceiling(shares: Floats) -> Extreme:
    """The largest AUC that any weights reach, at the smallest distance that it takes."""
    separation = _separation_distances(shares)
    if len(separation) and math.isfinite(separation.min()):
        cut = int(np.argmin(separation))
        return _limit(1.0, float(separation[cut]), _separated(shares, cut))
    tied = np.all(shares > 0, axis=0)
    if tied.any():  # no positive is above a negative, so there is one tie and all weight goes to it
        return _limit(0.5, float(-np.log(shares[:, tied]).sum()), tied / shares[:, tied])
    return _limit(0.0, 0.0, np.ones_like(shares))


def highest_auc(shares: Floats, distance: float) -> Extreme:
    """The largest AUC within `distance`."""
    limit = ceiling(shares)
    if distance >= limit.distance:
        return limit
    known = _reference(shares)
    if distance == 0.0:
        return known
    if shares.shape[1] > _THIN:
        thin, group = _thinned(shares)
        rough = highest_auc(thin, distance)
        known = replace(rough, tilt=rough.tilt[:, group])
    found = _from(shares, known, distance)
    return _better(shares, found) or found


def closest(shares: Floats, target: float) -> Extreme | None:
    """The smallest distance at which the largest AUC is `target`; None when no weights reach it.

    `target` must be at least the AUC of `shares`. Newton's method on x = sqrt(2 D), in which the AUC is
    nearly straight, with dA/dD = 1/lambda (envelope theorem), bracketed.
    """
    limit = ceiling(shares)
    if target >= limit.auc:
        return limit if target == limit.auc else None
    reached = _reference(shares)
    gap = min(target - reached.auc, limit.auc - target)
    if gap <= 0.0:
        return reached
    x = (target - reached.auc) / _deviation(shares)
    if shares.shape[1] > _THIN:
        thin, group = _thinned(shares)
        rough = closest(thin, target)
        if rough is not None and 0.0 < rough.multiplier < math.inf:
            x, reached = math.sqrt(2 * rough.distance), replace(rough, tilt=rough.tilt[:, group])
    low, high = 0.0, math.sqrt(2 * limit.distance)
    for _ in range(_NEWTON_STEPS):
        if not low < x < high:
            x = (low + high) / 2
        reached = _from(shares, reached, x * x / 2)
        if abs(target - reached.auc) <= _SHORT * gap or high - low <= 4e-16 * high:
            better = _better(shares, reached)
            if better is None:
                break
            reached, low = better, 0.0
        short = target - reached.auc
        low, high = (x, high) if short > 0 else (low, x)
        x += short * reached.multiplier / x
    distance = reached.distance + reached.multiplier * (target - reached.auc)
    return replace(reached, auc=target, distance=distance)


def _reference(shares: Floats) -> Extreme:
    return _extreme(_point(shares, placement(shares), 0.0, np.ones_like(shares), 0.0))


def _from(shares: Floats, known: Extreme, distance: float) -> Extreme:
    """The solution at `distance` that is reached from one known at another distance, or on thinned cells."""
    scale = known.multiplier if 0.0 < known.multiplier < math.inf else 1.0
    return _extreme(_climb(shares, distance, placement(shares * known.tilt), scale, _TOLERANCE))


def _better(shares: Floats, found: Extreme) -> Extreme | None:
    """A solution at the same distance with a larger AUC, followed from complete separation, or None."""
    if found.multiplier <= UNIQUE_MULTIPLIER:
        return None
    branches = [
        _climb(shares, found.distance, placement(shares * _separated(shares, cut)), found.multiplier, _ROUGH)
        for cut in _cuts(shares)
    ]
    if not branches:  # the limit is the one tie: A = u v / 2 at it, whose logarithm is concave
        return None
    best = max(branches, key=lambda branch: branch.auc)
    point = _climb(shares, found.distance, best.potential, best.scale, _TOLERANCE)
    return _extreme(point) if point.auc > found.auc + _ROUNDING else None


def _thinned(shares: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Neighbouring cells joined to at most `_THIN` of about equal mass, and the group of each cell."""
    mass = np.cumsum(shares.sum(axis=0)) / 2
    group = np.minimum((mass * _THIN).astype(np.intp), _THIN - 1)
    first = np.concatenate([[True], group[1:] != group[:-1]])
    thin: Floats = np.add.reduceat(shares, np.flatnonzero(first), axis=1)
    return thin, np.cumsum(first) - 1


def _separation_distances(shares: Floats) -> Floats:
    """(k - 1,): what it costs to put all negatives up to each cell and all positives after it."""
    below = np.cumsum(shares[0])[:-1]
    above = np.cumsum(shares[1][::-1])[::-1][1:]
    with np.errstate(divide="ignore"):
        cost: Floats = np.maximum(-np.log(below) - np.log(above), 0.0)
    return cost


def _separated(shares: Floats, cut: int) -> Floats:
    """The tilt of complete separation after cell `cut`."""
    tilt = np.zeros_like(shares)
    tilt[0, : cut + 1] = 1 / shares[0, : cut + 1].sum()
    tilt[1, cut + 1 :] = 1 / shares[1, cut + 1 :].sum()
    return tilt


def _cuts(shares: Floats) -> list[int]:
    """Cells after which to separate: the cheapest, spread over the scores.

    Only local minima of the cost of separation: a cut beside a cheaper one led nowhere better in any
    of the small cases that were searched exhaustively. With many cells the thinned ones have been searched
    before, and only the cheapest cut is left, which they hide.
    """
    cost = _separation_distances(shares)
    if len(cost) >= _THIN:
        return [int(np.argmin(cost))]
    padded = np.concatenate([[math.inf], cost, [math.inf]])
    cuts = np.flatnonzero((cost <= padded[:-2]) & (cost <= padded[2:]) & np.isfinite(cost))
    mass = np.cumsum(shares.sum(axis=0))[cuts] / 2
    segment = np.arange(len(cuts)) if len(cuts) <= _STARTS else (mass * _STARTS).astype(np.intp)
    order = np.lexsort((cost[cuts], segment))
    cheapest = order[np.diff(segment[order], prepend=-1) > 0]
    return [int(cut) for cut in cuts[cheapest]]


def _deviation(shares: Floats) -> float:
    """Square root of the sum of both classes' variances of the placement values: dA/dx at x = 0."""
    values = placement(shares)
    mean = np.vecdot(shares, values)[:, np.newaxis]
    return math.sqrt(float((shares * (values - mean) ** 2).sum()))


def _climb(shares: Floats, distance: float, potential: Floats, scale: float, tolerance: float) -> _Point:
    """From a start to a solution of the first-order conditions at `distance`; the AUC never falls."""
    point = _at_distance(shares, potential, scale, distance)
    mixing = _Mixing()
    for _ in range(_SWEEPS):
        if point.residual <= tolerance * max(1.0, point.multiplier):
            break
        for step in _steps(point, shares, mixing):
            new = _at_distance(shares, step, point.scale, distance)
            within = new.distance <= distance * (1 + 1e-9) + 1e-15 * new.scale
            if within and new.auc >= point.auc - _ROUNDING:
                point = new
                break
            mixing.forget()
        else:
            break
    return point


def _steps(point: _Point, shares: Floats, mixing: _Mixing) -> Iterator[Floats]:
    """Potentials to try, from the fastest to the one that cannot fail.

    The last maximises the tangent of the convex A + KL/4, less KL/4: a lower bound of A that touches it.
    """
    yield mixing.step(point.potential, point.placement, shares * point.tilt)
    yield point.placement
    yield (point.placement + 0.25 * point.scale * point.potential) / (1 + 0.25 * point.multiplier)


class _Mixing:
    """Anderson acceleration of ``potential -> placement``, weighted by the weights themselves."""

    def __init__(self) -> None:
        self._images: list[Floats] = []
        self._changes: list[Floats] = []

    def step(self, potential: Floats, image: Floats, weights: Floats) -> Floats:
        """The mixture of the last images whose changes nearly cancel."""
        self._images = [*self._images[-_MEMORY:], image]
        self._changes = [*self._changes[-_MEMORY:], image - potential]
        if len(self._images) == 1:
            return image
        latest = self._changes[-1]
        differences = [latest - change for change in self._changes[:-1]]
        gram = np.array([[np.vdot(a * weights, b) for b in differences] for a in differences])
        right = np.array([np.vdot(a * weights, latest) for a in differences])
        share = np.linalg.lstsq(gram, right, rcond=1e-14)[0]
        mixed = image.copy()
        for part, earlier in zip(share, self._images[:-1], strict=True):
            mixed -= part * (image - earlier)
        return mixed

    def forget(self) -> None:
        self._images.clear()
        self._changes.clear()


def _at_distance(shares: Floats, potential: Floats, scale: float, distance: float) -> _Point:
    """The tilt along `potential` that lies exactly at `distance`.

    Newton's method for ln KL as a function of ln scale, bracketed; KL increases with the scale.
    """
    low, high = 0.0, math.inf
    for _ in range(60):
        tilt, reached, slope = _tilted(shares, potential, scale)
        if abs(reached - distance) <= 1e-15 * (distance + scale):
            break
        low, high = (scale, high) if reached < distance else (low, scale)
        new = _newton(scale, reached, slope, distance)
        if not low < new < high:
            new = 2 * low if math.isinf(high) else (low + high) / 2
        if new == scale or new > _LARGEST_SCALE:
            break
        scale = new
    return _point(shares, potential, scale, tilt, reached)


def _newton(scale: float, reached: float, slope: float, distance: float) -> float:
    if reached <= 0.0 or slope <= 0.0:
        return math.inf
    return scale * math.exp(min(2.0, max(-2.0, math.log(distance / reached) * reached / (scale * slope))))


def _tilted(shares: Floats, potential: Floats, scale: float) -> tuple[Floats, float, float]:
    """Weights over shares, their distance and its derivative in `scale`."""
    top = np.where(shares > 0, potential, -np.inf).max(axis=1, keepdims=True)
    exponent = scale * (potential - top)
    np.minimum(exponent, 0.0, out=exponent)  # above 0 only where there is no share
    tilt = np.expm1(exponent)
    lost = np.vecdot(shares, tilt)
    tilt += 1.0
    tilted = shares * tilt
    total = tilted.sum(axis=1)
    # Either form of ln(total) alone would lose digits: at small scales, or near separation.
    log_total = np.where(lost > -0.5, np.log1p(np.maximum(lost, -0.5)), np.log(total))
    tilted *= exponent
    mean = tilted.sum(axis=1) / total
    variance = np.vecdot(tilted, exponent) / total - mean**2
    tilt /= total[:, np.newaxis]
    return tilt, float((mean - log_total).sum()), float(variance.sum()) / scale


def _point(shares: Floats, potential: Floats, scale: float, tilt: Floats, distance: float) -> _Point:
    weights = shares * tilt
    values = placement(weights)
    auc = float(weights[0] @ values[0])
    centred = values - auc
    force = scale * (potential - np.vecdot(weights, potential)[:, np.newaxis])
    pull = weights * centred
    spread = float(np.vdot(pull, centred))
    multiplier = float(np.vdot(pull, force)) / spread if spread > 0 else scale
    centred *= multiplier
    force -= centred
    residual = math.sqrt(float(np.vdot(weights * force, force)))
    return _Point(auc, distance, multiplier, residual, tilt, potential, scale, values)


def _extreme(point: _Point) -> Extreme:
    return Extreme(
        auc=point.auc,
        distance=point.distance,
        multiplier=point.multiplier,
        residual=point.residual,
        tilt=point.tilt,
    )


def _limit(auc: float, distance: float, tilt: Floats) -> Extreme:
    return Extreme(auc=auc, distance=distance, multiplier=math.inf, residual=0.0, tilt=tilt)
