"""The AUC within a Kullback-Leibler distance of a sample, and the distance that an AUC takes.

The optimisation, its proofs and where it departs from [M18] are in `climbing` and `tilting`; this module
speaks of samples and scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebval

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.area.delong import sums_over_parts
from rocmonitor.stats.condensed import extremes
from rocmonitor.stats.forecast.climbing import Extreme, along, closest, highest, optimum
from rocmonitor.stats.forecast.distance import EXACT_BOUNDS, fewer
from rocmonitor.stats.forecast.tilting import OneOrder, cell_shares, columns
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import Floats, run_starts
from rocmonitor.stats.sample import Sample, on_shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucBounds(Result):
    """The smallest and the largest AUC within a distance of a sample.

    Attributes
    ----------
    auc: The sample's own AUC.
    low, high: The bounds.
    score, shape (k,): The distinct scores.
    low_weights, high_weights, shape (2, k): The least favourable distributions, ``u, v =
        bounds.low_weights``: the share of the negatives (u) and of the positives (v) at each score, each
        adding up to 1. Computed when asked for.
    low_distance, high_distance: KL(u||f) + KL(v||g) of those weights. Less than `distance` where no more
        would help.
    low_multiplier, high_multiplier: How much distance one more unit of AUC takes at the bound; infinite where
        no distance helps.
    residual: The larger residual of the first-order conditions at the two ends: root mean square of ln(u/f) -
        lambda P and ln(v/g) - lambda Q around their means.
    optimum: "proven": no weights within the distance do better (multipliers up to 4, or the limit of any
        weights). "searched": the best of the solutions that were found.
    error: Of a condensed sample: how far the bounds of its rows may lie from `low` and `high`, which take the
        rows of a cell as tied; whatever their order, no further. Else 0.
    """

    _estimate: ClassVar[str | None] = "auc"
    _flat: ClassVar[bool] = True
    _unstored: ClassVar[str] = "its weights are not stored; compute it again with auc_bounds"

    auc: float
    low: float
    high: float
    distance: float
    low_distance: float
    high_distance: float
    low_multiplier: float
    high_multiplier: float
    residual: float
    optimum: str
    caveats: tuple[Caveat, ...] = ()
    error: float = 0.0
    _sample: Sample
    _tilts: tuple[
        Floats, Floats
    ]  # of the columns of `OneOrder`: the low end's of reversed cells, the high end's

    @property
    def score(self) -> Floats:
        """The distinct scores."""
        return self._sample.score

    @property
    def low_weights(self) -> Floats:
        """The least favourable distributions of `low`."""
        return _weights(self._sample, self._tilts[0], step=-1)

    @property
    def high_weights(self) -> Floats:
        """The least favourable distributions of `high`."""
        return _weights(self._sample, self._tilts[1], step=1)

    def _values(self) -> dict[str, Any]:
        values = Result._values(self)
        weights = {name: getattr(self, name) for name in ("score", "low_weights", "high_weights")}
        return values | weights | {"caveats": values.pop("caveats")}

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        note = f"all reweightings within Kullback-Leibler distance {self.distance:.4g}"
        plotting.rows(ax, ["bounds"], [(self.auc, self.low, self.high)], x="AUROC", note=note, label=label)

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.4f}, from {self.low:.4f} to {self.high:.4f} within distance {self.distance:.4g}"
        )


@on_shares
def auc_bounds(sample: Sample, /, distance: float) -> AucBounds:
    """Return the smallest and the largest AUC of all reweightings within a Kullback-Leibler distance.

    Parameters
    ----------
    y_true, y_score, shape (n,): Labels 0 and 1, and finite scores; higher means more positive. Or one
        `Sample`, or a weighted one (`research.weighted_sample`): only the shares within each class matter.
    distance: D >= 0, in nats: KL(u||f) + KL(v||g) of new shares u of the negatives and v of the positives
        against those of the sample, f and g.

    Notes
    -----
    [M18] eq. 2-9, with ties counting one half. From the distance on that separates the classes
    completely, min over t of -ln f(x < t) - ln g(y >= t), the bound is exactly 1 (likewise 0).
    Scores that are all equal have the AUC 1/2 under any weights: both bounds are 1/2.
    Cost: O(k) a sweep for k distinct scores. An end takes 5 to 15 sweeps of all of them, after many of
    fewer cells.

    Examples
    --------
    >>> bounds = auc_bounds([0, 0, 1, 1], [1, 2, 1, 2], 1.5 * math.log(3) - 2 * math.log(2))
    >>> round(bounds.low, 12), bounds.auc, round(bounds.high, 12)
    (0.25, 0.5, 0.75)
    >>> bounds.high_weights.round(12).tolist()  # of the negatives, then of the positives
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if not is_number(distance) or not 0 <= distance < math.inf:
        raise InputError(f"distance must be a finite number >= 0; it is {distance}")
    sample.require_both_classes()
    if sample.ends is not None:
        # New shares of the rows of a cell add up to a share of the cell, and no reweighting of cells is
        # further away than that of their rows. So both bounds of any order lie between those of the two
        # extreme ones, which are orders themselves.
        tied = auc_bounds(sample.with_ends(None), distance)
        others = [auc_bounds(order, distance) for order in extremes(sample)]
        off = [abs(getattr(other, end) - getattr(tied, end)) for other in others for end in ("low", "high")]
        return replace(tied, error=max(off))
    own = area(sample)
    low, high = (_end(sample, distance, step) for step in (-1, 1))
    at_limit = [name for name, end in (("low", low), ("high", high)) if math.isinf(end.multiplier)]
    caveats = tuple(Caveat("end-at-limit", end=name) for name in at_limit)
    if len(at_limit) == 2 and low.value + high.value <= 1:
        caveats = (Caveat("auc-cannot-move"),)
    return AucBounds(
        auc=own,
        low=min(1 - low.value, own),
        high=max(high.value, own),
        distance=float(distance),
        low_distance=low.distance,
        high_distance=high.distance,
        low_multiplier=low.multiplier,
        high_multiplier=high.multiplier,
        residual=max(low.residual, high.residual),
        optimum=optimum(OneOrder.unique, low, high),
        caveats=caveats,
        _sample=sample,
        _tilts=(low.tilt, high.tilt),
    )


@on_shares
def auc_distance(sample: Sample, /, target: float) -> float:
    """Return the smallest Kullback-Leibler distance at which a reweighting has a given AUC.

    Parameters
    ----------
    y_true, y_score: As in `auc_bounds`.
    target: An AUC within [0, 1]. 1 and 0 take the distance of complete separation.

    Returns
    -------
    float: min KL(u||f) + KL(v||g), in nats ([M18] eq. 6-9); 0 when the target is the AUC of the sample.

    Raises
    ------
    InputError: Unusable data (see `Sample`); a target outside [0, 1].
    DegenerateDataError: A class without rows; a target that no weights reach, because the scores do not
        overlap in the direction asked for (perfect separation, one score for all).

    Notes
    -----
    Cost: less than an end of `auc_bounds` where the multiplier of the target is proof (up to 4: an AUC of
    0.8 falls by 0.3 or rises by 0.15); further away ten to thirty ends, with a search for other solutions.

    Examples
    --------
    >>> round(auc_distance([0, 0, 1, 1], [1, 2, 1, 2], 0.75), 9)  # 1.5 ln 3 - 2 ln 2
    0.261624072
    """
    if not is_number(target) or not 0 <= target <= 1:
        raise InputError(f"target must be an AUC within [0, 1]; it is {target}")
    sample.require_both_classes()
    target, own = float(target), area(sample)
    if target == own:
        return 0.0
    return nearest(cell_shares(sample.pos, sample.neg), own, target).distance


def _end(sample: Sample, distance: float, step: int) -> Extreme:
    """Return the largest value, without the potential: much memory while the other end is looked for."""
    extreme = highest(OneOrder.of(cell_shares(sample.pos, sample.neg)[:, ::step]), distance)
    kept = {field.name: getattr(extreme, field.name) for field in fields(Extreme)}
    return Extreme(**kept | {"potential": np.empty((2, 0))})


def nearest(shares: Floats, own: float, target: float) -> Extreme:
    """Return the closest weights with the AUC `target`, of cells whose AUC is `own`; one tilt a cell."""
    step = 1 if target > own else -1
    along = shares[:, ::step]
    extreme = closest(OneOrder.of(along), target if target > own else 1 - target)
    if extreme is None:
        raise DegenerateDataError(
            f"no reweighting of the sample moves its AUC from {own:.6g} to {target:.6g}: no negative is "
            f"{'below' if target > own else 'above'} any positive; take a sample whose scores overlap"
        )
    return replace(extreme, value=target, tilt=extreme.tilt[:, columns(along)][:, ::step])


def area(sample: Sample) -> float:
    """Return the AUC itself, ties one half; both classes must be present."""
    [total] = sums_over_parts(sample, lambda below, _, pos, __: (np.sum(pos * (below / sample.n_neg)),))
    return total / sample.n_pos


def _weights(sample: Sample, tilt: Floats, step: int) -> Floats:
    """Return the weight of every score, from tilts of the columns of the cells, upwards or downwards."""
    shares = cell_shares(sample.pos, sample.neg)
    cell = np.cumsum(run_starts(sample.pos, sample.neg).astype(np.intp)) - 1
    weights = tilt[:, columns(shares[:, ::step])[::step][cell]]
    weights *= np.stack([sample.neg, sample.pos])
    weights /= [[sample.n_neg], [sample.n_pos]]
    weights.setflags(write=False)
    return weights


PIECE = 1 / 32  # of the axis x = sqrt(2 D)
_DEGREE = 9

_PATIENCE = 8  # distances that are solved one by one before their piece is: as much work as the piece
_AGREEMENT = 1e-13  # last coefficients, and deviations from those distances: the solutions' own rounding


class Ends(NamedTuple):
    """The part of `AucBounds` that a forecast interval needs."""

    auc: float
    low: float
    high: float
    caveats: tuple[Caveat, ...] = ()


Bounds = Callable[[float], Ends]  # both bounds of a reference within a distance


def bounds_of(reference: Sample) -> Bounds:
    """Return the bounds of a reference, each distance by itself; cells are taken as ties."""
    return partial(_solved, fewer(reference, EXACT_BOUNDS).with_ends(None))


def _solved(few: Sample, distance: float) -> Ends:
    bounds = auc_bounds(few, distance)
    return Ends(bounds.auc, bounds.low, bounds.high, bounds.caveats)


class FollowedBounds:
    """The bounds of a reference with both classes, which become cheap once many distances were asked for.

    As long as one solution of the first-order conditions is the best, a bound is an analytic function of x =
    sqrt(2 D): a polynomial through ten solved points gives all between them. So a piece of the axis is solved
    once and read off from then on, where the last two coefficients and the deviations from the eight bounds
    solved before are below 1e-13; where another solution takes over, or complete separation does, each
    distance is solved by itself. Cost: `auc_bounds` for each of the first eight distances of a piece and
    about four times for the ninth, then 30 µs. Keeps at most eight distances and 20 numbers a piece.
    """

    def __init__(self, reference: Sample) -> None:
        self._sample = fewer(reference, EXACT_BOUNDS)
        self._solve = bounds_of(self._sample)
        self._solved: dict[int, dict[float, Ends]] = {}
        self._pieces: dict[int, Floats | None] = {}

    def __call__(self, distance: float) -> Ends:
        """Return `auc_bounds` for the reference."""
        x = math.sqrt(2 * distance)
        number = int(x / PIECE)
        solved = self._solved.setdefault(number, {})
        if distance in solved:
            return solved[distance]
        if len(solved) == _PATIENCE and number not in self._pieces:
            self._pieces[number] = self._piece(number, solved)
        piece = self._pieces.get(number)
        if piece is None:
            ends = self._solve(distance)
            if len(solved) < _PATIENCE:
                solved[distance] = ends
            return ends
        return _read(piece, number, x, next(iter(solved.values())).auc)

    def _piece(self, number: int, solved: dict[float, Ends]) -> Floats | None:
        """Coefficients of both ends over a piece, shape (degree + 1, 2); None where they may not serve."""
        shares = cell_shares(self._sample.pos, self._sample.neg)
        ends = [_coefficients(OneOrder.of(along), number) for along in (shares[:, ::-1], shares)]
        if ends[0] is None or ends[1] is None:
            return None
        piece = np.stack([ends[0], ends[1]], axis=1)
        for distance, bounds in solved.items():
            read = _read(piece, number, math.sqrt(2 * distance), bounds.auc)
            if max(abs(read.low - bounds.low), abs(read.high - bounds.high)) > _AGREEMENT:
                return None
        return piece


def _coefficients(kernel: OneOrder, number: int) -> Floats | None:
    """Chebyshev coefficients of the largest value over a piece of the axis."""
    points: list[Extreme] = []

    def values(place: Floats) -> Floats:
        x = (number + (place + 1) / 2) * PIECE
        points.extend(along(kernel, (x * x / 2).tolist()))
        return np.array([point.value for point in points])

    coefficients: Floats = np.asarray(chebinterpolate(values, _DEGREE))  # type: ignore[type-var]
    bounded = math.isfinite(max(point.multiplier for point in points))
    return coefficients if bounded and np.abs(coefficients[-2:]).max() <= _AGREEMENT else None


def _read(piece: Floats, number: int, x: float, auc: float) -> Ends:
    low, high = np.asarray(chebval(2 * (x / PIECE - number) - 1, piece), dtype=np.float64).tolist()
    return Ends(auc, min(1 - low, auc), max(high, auc))
