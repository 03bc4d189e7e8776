"""The largest change of a bilinear statistic by reweighting within a Kullback-Leibler distance.

Shares f of the negatives and g of the positives are reweighted to u and v. The statistic is
A(u, v) = sum_ij u_i v_j K_ij for a kernel K: an AUC, or the difference of two. It is maximised over
KL(u||f) + KL(v||g) <= D, [M18] eq. 2-9. The first-order conditions, with
d(u ln u/f)/du = ln(u/f) + 1 (eq. 36 prints a wrong derivative), are exponential tilts of one multiplier:

    u_i = f_i exp(lambda P_i) / c,    P_i = sum_j v_j K_ij,
    v_j = g_j exp(lambda Q_j) / c',   Q_j = sum_i u_i K_ij

What the code rests on:

1.  Let s be the largest |K_pj - K_qj - K_pi + K_qi| of a kernel. For da, db of sum 0 it is
    |da' K db| <= s |da|_1 |db|_1 / 4. With sum da^2/u >= |da|_1^2 it follows that lambda A - KL is concave
    for 0 <= lambda <= 4/s: a solution with lambda <= 4/s is *the* maximum, and A + s KL/4 is convex.
2.  Beyond there can be several solutions. Each is followed from a start that the kernel names, and the best
    one counts.
3.  Iterations keep the distance, not lambda: where D falls with lambda, a fixed lambda is no maximum.

Arrays have shape (2, k): negatives first, one column a cell. Sums are NumPy's own: threads of the BLAS that
wait for each other cost more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rocmonitor.stats.rows import Floats, class_sums, parts

_TOLERANCE = 1e-10  # on the residual; the statistic's own error is of its square
_ROUGH = 1e-4  # residual at which a further branch is compared with the others
_SWEEPS = 1000
_IDLE = 20  # sweeps without a larger value or a smaller residual
_LARGEST_SCALE = 1e12  # beyond, the rounding of a potential would separate equal cells
_LARGEST_START = 1e6  # a multiplier to begin with
_STUCK = 1e-6  # of the distance: what a solution in a corner leaves unused
_ROUNDING = 1e-12  # of a statistic added up over 1e6 cells
_NEWTON_STEPS = 200
_STRAIGHT_SWEEPS = 30  # most need 6 to 12
_SHORT = 1e-6  # of the way: what is left is made up to first order, with an error of its square
_CLOSE = 1e-8  # the same of sweeps that have no inner loop: one more costs little
_EXACT = 4e-15  # of a distance, for each unit of the exponents it is added up from
_LARGEST_EXPONENT = 64.0  # of cells with a weight that counts
_STAGES = 8  # of the way round a corner
_SMALL = 1e-3  # distances below need expm1 to keep their digits


class Kernel(Protocol):
    """A bilinear statistic of the weights of two classes, and the shares that they start from."""

    @property
    def shares(self) -> Floats:
        """(2, k): each class adds up to 1."""

    @property
    def unique(self) -> float:
        """4/s: a solution with a multiplier up to this is the global maximum."""

    def placement(self, weights: Floats) -> Floats:
        """(2, k): the statistic of a negative in each cell against all positives, and the other way round."""

    def limit(self) -> Extreme:
        """Return a value that weights reach and none exceeds, or a target beyond all asked for."""

    def starts(self) -> list[Floats]:
        """Potentials, (2, k), from which other solutions may be reached."""

    def thinned(self) -> tuple[Kernel, NDArray[np.intp]] | None:
        """Return the same statistic on fewer cells, and the place of each cell there; None: there are few."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extreme:
    """The largest value of a statistic within a distance."""

    value: float  # the value reached and the distance it takes
    distance: float
    # lambda = dD/dA; 0 at the reference itself, infinite where more distance would not help.
    multiplier: float
    residual: float  # of the first-order conditions, as in `AucBounds`
    # The variances of both classes' placement values: dA/dlambda where these stay; 0 where more distance
    # would not help.
    spread: float
    tilt: Floats  # (2, k): u/f and v/g, the factor of each cell; P and Q
    potential: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiltedPoint(Extreme):
    """Weights tilted by `scale` times `along`; at a solution `potential` has the same direction."""

    scale: float
    along: Floats


def highest(kernel: Kernel, distance: float) -> Extreme:
    """Return the largest value within `distance`."""
    return next(along(kernel, [distance]))


def along(kernel: Kernel, distances: list[float]) -> Iterator[Extreme]:
    """Yield the largest value within each of increasing distances, each followed from the one before.

    With many cells a thinned kernel is solved first, on which other solutions are looked for as well.
    """
    limit, coarse = kernel.limit(), kernel.thinned()
    inner = [distance for distance in distances if 0 < distance < limit.distance]
    solutions = _each(kernel, coarse, inner)
    for distance in distances:
        if distance >= limit.distance:
            yield limit
        else:
            yield next(solutions) if distance > 0 else reference(kernel)


def _each(
    kernel: Kernel, coarse: tuple[Kernel, NDArray[np.intp]] | None, distances: list[float]
) -> Iterator[Extreme]:
    known: Extreme
    before: Extreme
    if coarse is not None:  # carry over what the coarse potential lacks: it changes slowly
        lacking: Floats | float = 0.0
        for distance, near in zip(distances, along(coarse[0], distances), strict=True):
            potential = near.potential[:, coarse[1]]
            known = _from(kernel, replace(near, potential=potential + lacking), distance)
            lacking = known.potential - potential
            yield known
        return
    known = before = reference(kernel)
    for distance in distances:
        # Start on a straight line in the root of the distance through the last two solutions.
        done, step = math.sqrt(known.distance), math.sqrt(known.distance) - math.sqrt(before.distance)
        start = known
        if step > 0:
            share = min((math.sqrt(distance) - done) / step, 1.0)
            start = replace(known, potential=known.potential + share * (known.potential - before.potential))
        solution = _from(kernel, start, distance)
        before, known = known, _better(kernel, solution, distance) or solution
        yield known


def closest(kernel: Kernel, target: float) -> Extreme | None:
    """Return the smallest distance at which the largest value is `target`; None when no weights reach it.

    `target` must be at least the value of the shares.
    """
    limit, origin = kernel.limit(), reference(kernel)
    if target >= limit.value:
        return limit if target == limit.value else None
    gap = min(target - origin.value, limit.value - target)
    if gap <= 0.0:
        return origin
    slope = math.sqrt(origin.spread)
    x, near = min((target - origin.value) / slope, kernel.unique * slope), origin
    coarse = kernel.thinned()
    if coarse is not None:
        rough = closest(coarse[0], target)
        if rough is not None and 0.0 < rough.multiplier < math.inf:
            x = math.sqrt(2 * rough.distance)
            near = replace(origin, multiplier=rough.multiplier, potential=rough.potential[:, coarse[1]])

    def aim(point: TiltedPoint) -> tuple[float, float]:
        short = target - point.value
        return short / gap, short / point.spread if point.spread else math.inf

    # The maximum at its own distance, whose distance is so the smallest, where that is proven.
    scale = near.multiplier or x / math.sqrt(near.spread)
    point = _straight(kernel, near.potential, scale, x * x / 2, aim)
    if point is not None:
        distance = point.distance + point.scale * (target - point.value)
        return replace(point, value=target, distance=max(distance, 0.0))
    branches = coarse is None  # others were looked for on the thinned kernel
    return _bracketed(kernel, target, near, (x, math.sqrt(2 * limit.distance)), gap, branches=branches)


def _bracketed(
    kernel: Kernel, target: float, near: Extreme, between: tuple[float, float], gap: float, *, branches: bool
) -> Extreme:
    """Return the solution by Newton's method on x = sqrt(2 D), from the first of two x, below the second.

    The value is nearly straight in x, with dA/dD = 1/lambda (envelope theorem).
    """
    origin = reference(kernel)
    x, high = between
    low = 0.0
    for _ in range(_NEWTON_STEPS):
        if not low < x < high:
            x = (low + high) / 2
        reached = _from(kernel, near, x * x / 2)
        if branches and reached.value < target:  # a poor branch must not raise the lower end
            reached = _better(kernel, reached, x * x / 2) or reached
        if abs(target - reached.value) <= _SHORT * gap or high - low <= 4e-16 * high:
            better = _better(kernel, reached, x * x / 2) if branches else None
            if better is None:
                break
            reached, low = better, 0.0
        short, near = target - reached.value, reached
        if _short(reached.distance, x * x / 2):
            near = origin
            x = math.sqrt(2 * reached.distance) if short < 0 else x  # a corner is within its own distance
        low, high = (x, high) if short > 0 else (low, x)
        x += min(short * reached.multiplier / x, x)
    distance = reached.distance
    if not _short(distance, x * x / 2):
        distance += reached.multiplier * (target - reached.value)
    return replace(reached, value=target, distance=max(distance, 0.0))


def _straight(
    kernel: Kernel,
    potential: Floats,
    scale: float,
    near: float,
    aim: Callable[[TiltedPoint], tuple[float, float]],
) -> TiltedPoint | None:
    """Return a solution with a multiplier up to `Kernel.unique`, potential and multiplier improved together.

    `aim` says what a point lacks to the goal, as a share of the way, and what its multiplier lacks. None
    where the sweeps leave what is proven, or do not end.
    """
    for _ in range(_STRAIGHT_SWEEPS):
        if not 0.0 < scale <= kernel.unique:
            break
        tilt, reached, _ = _tilted(kernel.shares, _at_most_0(kernel, potential), scale, near)
        point = _point(kernel, potential, scale, tilt, reached)
        lacks, step = aim(point)
        if point.residual <= _TOLERANCE * max(1.0, scale) and abs(lacks) <= _CLOSE:
            return point
        potential, scale = point.potential, point.multiplier + step
    return None


def optimum(unique: float, *solutions: Extreme) -> str:
    """Return "proven" if no weights can do better than these (`Kernel.unique`), or "searched"."""
    proven = all(solution.multiplier <= unique or math.isinf(solution.multiplier) for solution in solutions)
    return "proven" if proven else "searched"


def reference(kernel: Kernel) -> TiltedPoint:
    """Return the shares themselves, at distance 0."""
    ones = np.ones_like(kernel.shares)
    return _point(kernel, kernel.placement(kernel.shares), 0.0, ones, 0.0)


def at_limit(kernel: Kernel, tilt: Floats, distance: float) -> Extreme:
    """Return what a tilt reaches, where more distance does not help."""
    weights = kernel.shares * tilt
    potential = kernel.placement(weights)
    value = float(np.sum(weights[0] * potential[0]))
    return Extreme(
        value=value,
        distance=distance,
        multiplier=math.inf,
        residual=0.0,
        spread=0.0,
        tilt=tilt,
        potential=potential,
    )


def _from(kernel: Kernel, near: Extreme, distance: float) -> Extreme:
    """Return the solution at `distance` that is reached from a known one.

    Where that is a corner, which more distance does not leave, the kernel's starts are tried as well.
    """

    def aim(point: TiltedPoint) -> tuple[float, float]:
        share = distance / point.distance if point.distance > 0 else math.inf
        return share - 1, point.multiplier * (math.sqrt(share) - 1)  # the distance goes with its square

    scale = near.multiplier or (math.sqrt(2 * distance / near.spread) if near.spread else math.inf)
    point = _straight(kernel, near.potential, scale, distance, aim)
    if point is not None:
        point = _at_distance(kernel, point.potential, point.multiplier, distance)
        solved = point.residual <= _TOLERANCE * max(1.0, point.multiplier)
        if solved and point.multiplier <= kernel.unique and not _short(point.distance, distance):
            return point

    scale = near.multiplier if 0.0 < near.multiplier < _LARGEST_START else 1.0
    solution = climb(kernel, distance, near.potential, scale, _TOLERANCE)
    if not _short(solution.distance, distance):
        return solution
    return _better(kernel, solution, distance) or solution


def _better(kernel: Kernel, solution: Extreme, distance: float) -> Extreme | None:
    """Return a solution within `distance` with a larger value, followed from another start, or None."""
    if solution.multiplier <= kernel.unique and not _short(solution.distance, distance):
        return None
    scale = min(solution.multiplier, _LARGEST_START)
    starts = [*kernel.starts(), kernel.placement(kernel.shares)]
    branches = [_uphill(kernel, distance, start, scale, _ROUGH) for start in starts]
    best = max(branches, key=lambda branch: branch.value)
    point = climb(kernel, distance, best.along, best.scale, _TOLERANCE)
    return point if point.value > solution.value + _ROUNDING else None


def climb(kernel: Kernel, distance: float, potential: Floats, scale: float, tolerance: float) -> TiltedPoint:
    """From a start to a solution of the first-order conditions at `distance`.

    A potential that is followed to its end before `distance` leaves weight on its highest cells only, where
    the conditions hold whatever the others would add: no step gives them weight again. On smaller distances
    they keep theirs, and the potential changes direction: so smaller distances are solved first.
    """
    point = _uphill(kernel, distance, potential, scale, tolerance)
    if not _short(point.distance, distance):
        return point
    for stage in range(1, _STAGES + 1):
        part = distance * stage / _STAGES
        turned = _uphill(kernel, part, potential, scale, tolerance if stage == _STAGES else _ROUGH)
        if _short(turned.distance, part):
            break
        potential, scale = turned.potential, turned.scale
    if turned.value > point.value:
        point = turned
    # A corner's own multiplier is that of any weights which place alike: 0, or rounding.
    return replace(point, multiplier=point.scale) if _short(point.distance, distance) else point


def _short(used: float, distance: float) -> bool:
    """Return True if some of the distance is left, as in a corner: its multiplier proves nothing."""
    return used < distance * (1 - _STUCK)


def _uphill(
    kernel: Kernel, distance: float, potential: Floats, scale: float, tolerance: float
) -> TiltedPoint:
    """From a start to a solution, or to a corner; the value never falls."""
    point = _at_distance(kernel, potential, scale, distance)
    affordable = distance * (1 + 1e-9) + _EXACT * _LARGEST_EXPONENT
    mixing, least, idle = Mixing(), math.inf, 0
    for _ in range(_SWEEPS):
        if point.residual <= tolerance * max(1.0, point.multiplier) or idle > _IDLE:
            break
        for step in _steps(point, kernel, mixing):
            new = _at_distance(kernel, step, point.scale, distance)
            if new.distance <= affordable and new.value >= point.value - _ROUNDING:
                gained = new.value > point.value + _ROUNDING or new.residual < least
                idle = 0 if gained else idle + 1
                point, least = new, min(least, new.residual)
                break
            mixing = Mixing()
        else:
            break
    return point


def _steps(point: TiltedPoint, kernel: Kernel, mixing: Mixing) -> Iterator[Floats]:
    """Potentials to try, from the fastest to the one that cannot fail.

    The last maximises the tangent of the convex A + s KL/4, less s KL/4: a lower bound of A that touches it.
    """
    yield mixing.step(point.along, point.potential, kernel.shares, point.tilt)
    yield point.potential
    bend = 1 / kernel.unique
    yield (point.potential + bend * point.scale * point.along) / (1 + bend * point.multiplier)


def _at_distance(kernel: Kernel, potential: Floats, scale: float, distance: float) -> TiltedPoint:
    """Return the tilt along `potential` that lies exactly at `distance`.

    Newton's method for ln KL as a function of ln scale, bracketed; KL increases with the scale.
    """
    below = _at_most_0(kernel, potential)
    low, high = 0.0, math.inf
    for _ in range(60):
        tilt, reached, slope = _tilted(kernel.shares, below, scale, distance)
        if abs(reached - distance) <= _EXACT * (distance + min(scale, _LARGEST_EXPONENT)):
            break
        low, high = (scale, high) if reached < distance else (low, scale)
        new = math.inf
        if reached > 0.0 and slope > 0.0:
            step = math.log(distance / reached) * reached / (scale * slope)
            new = scale * math.exp(min(2.0, max(-2.0, step)))
        if not low < new < high:
            new = 100 * low if math.isinf(high) else math.sqrt(low * high) or high / 16
        if new == scale or new > _LARGEST_SCALE:
            break
        scale = new
    affordable = distance * (1 + 1e-9) + _EXACT * _LARGEST_EXPONENT
    if reached > affordable:  # a jump between equal distances: before it
        scale = low
        tilt, reached, _ = _tilted(kernel.shares, below, scale, distance)
    del below  # memory
    return _point(kernel, potential, scale, tilt, reached)


def _at_most_0(kernel: Kernel, potential: Floats) -> Floats:
    """Return the potential less its largest value of each class, among cells with a share."""
    top = np.max(potential, axis=1, where=kernel.shares > 0, initial=-np.inf, keepdims=True)
    below: Floats = potential - top
    np.minimum(below, 0.0, out=below)  # above 0 only where there is no share
    return below


def _tilted(shares: Floats, below: Floats, scale: float, near: float) -> tuple[Floats, float, float]:
    """Weights over shares for a potential of at most 0, their distance and its derivative in `scale`."""
    tilt = scale * below
    (np.expm1 if near < _SMALL else np.exp)(tilt, out=tilt)
    lost = class_sums(shares, tilt)
    if near < _SMALL:
        tilt += 1.0
        total = class_sums(shares, tilt)
        # Either form of ln(total) alone would lose digits: at small scales, or near separation.
        log_total = np.where(lost > -0.5, np.log1p(np.maximum(lost, -0.5)), np.log(total))
    else:
        total, log_total = lost, np.log(lost)
    first, second = np.zeros(2), np.zeros(2)
    for part in parts(shares.shape[1]):
        exponent = scale * below[:, part]
        weighted = shares[:, part] * tilt[:, part]
        weighted *= exponent
        first += np.add.reduce(weighted, axis=1)  # the ufunc: its method takes twice as long
        weighted *= exponent
        second += np.add.reduce(weighted, axis=1)
    mean = first / total
    variance = second / total - mean**2
    tilt /= total[:, np.newaxis]
    return tilt, float((mean - log_total).sum()), float(variance.sum()) / scale


def _point(kernel: Kernel, potential: Floats, scale: float, tilt: Floats, distance: float) -> TiltedPoint:
    weights = kernel.shares * tilt
    values = kernel.placement(weights)
    value = float(class_sums(weights, values)[0])
    middle = class_sums(weights, potential)[:, np.newaxis]

    def centred(part: slice) -> tuple[Floats, Floats, Floats]:
        off = potential[:, part] - middle
        off *= scale
        return weights[:, part], values[:, part] - value, off

    cells = parts(weights.shape[1])
    only_cell = [centred(cells[0])] if len(cells) == 1 else None  # of many cells it is memory
    spread, along, residual = 0.0, 0.0, 0.0
    for weight, own, off in only_cell or map(centred, cells):
        pull = weight * own
        spread += float(np.add.reduce(pull * own, axis=None))
        pull *= off
        along += float(np.add.reduce(pull, axis=None))
    multiplier = along / spread if spread > 0 else scale
    for weight, own, off in only_cell or map(centred, cells):
        own *= multiplier
        off -= own
        off *= off
        off *= weight
        residual += float(np.add.reduce(off, axis=None))
    return TiltedPoint(
        value=value,
        distance=distance,
        multiplier=multiplier,
        residual=math.sqrt(residual),
        spread=spread,
        tilt=tilt,
        potential=values,
        scale=scale,
        along=potential,
    )


_MEMORY = 3  # earlier sweeps that are mixed


class Mixing:
    """Anderson acceleration of ``potential -> placement``, weighted by the weights that it began with."""

    def __init__(self) -> None:
        self._images: list[Floats] = []
        self._changes: list[Floats] = []
        self._products: Floats = np.empty((0, 0))
        self._weights: Floats = np.empty((2, 0))

    def step(self, potential: Floats, image: Floats, shares: Floats, tilt: Floats) -> Floats:
        """Return the mixture of the last images whose changes nearly cancel."""
        if not self._images:
            self._weights = shares * tilt
        for kept in (self._images, self._changes):
            del kept[:-_MEMORY]  # before there are more
        change = image - potential
        self._images.append(image)
        self._changes.append(change)
        row = np.zeros(len(self._changes))
        for part in parts(change.shape[1]):
            weighted = self._weights[:, part] * change[:, part]
            row += [float((weighted * earlier[:, part]).sum(axis=1).sum()) for earlier in self._changes]
        before, products = len(row) - 1, np.empty((len(row), len(row)))
        if before:
            products[:-1, :-1] = self._products[-before:, -before:]
        products[-1], products[:, -1] = row, row
        self._products = products
        if len(row) == 1:
            return image
        # From products of changes to those of their differences to the latest.
        gram = self._products[:-1, :-1] - row[:-1] - row[:-1, np.newaxis] + row[-1]
        share = np.linalg.lstsq(gram, row[-1] - row[:-1], rcond=1e-14)[0]
        mixed = (1 - float(share.sum())) * image
        for part in parts(mixed.shape[1]):
            for factor, earlier in zip(share, self._images[:-1], strict=True):
                mixed[:, part] += factor * earlier[:, part]
        return mixed
