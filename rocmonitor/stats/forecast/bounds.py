"""Both bounds of one reference at many distances, as windows of many sizes ask for them.

As long as one solution of the first-order conditions is the best, a bound is an analytic function of
x = sqrt(2 D), with the slope x / lambda: a polynomial through ten solved points gives all between them. So a
piece of the axis is solved once and read off from then on. Where another solution takes over, or complete
separation does, the function bends, and the coefficients of its polynomial do not fall off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebinterpolate, chebval

from rocmonitor.caveat import Caveat
from rocmonitor.stats.forecast.climbing import Extreme, along
from rocmonitor.stats.forecast.kld import auc_bounds
from rocmonitor.stats.forecast.tilting import OneOrder, cell_shares
from rocmonitor.stats.forecast.windows import EXACT_BOUNDS, fewer
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample

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


Bounds = Callable[[float], Ends]
"""Both bounds of a reference within a distance."""


def bounds_of(reference: Sample) -> Bounds:
    """Return the bounds of a reference, each distance by itself; cells are taken as ties."""
    return partial(_solved, fewer(reference, EXACT_BOUNDS).with_ends(None))


def _solved(few: Sample, distance: float) -> Ends:
    found = auc_bounds(few, distance)
    return Ends(found.auc, found.low, found.high, found.caveats)


class FollowedBounds:
    """The bounds of a reference, which become cheap once many distances were asked for.

    Parameters
    ----------
    reference: With both classes.

    A piece is read off when the last two coefficients of its polynomials are below 1e-13 and the eight bounds
    that were solved before agree to 1e-13 (the tests find 3e-15). Otherwise each distance is solved by
    itself, as `auc_bounds` does it. Cost: `auc_bounds` for each of the first eight distances of a piece and
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
            found = self._solve(distance)
            if len(solved) < _PATIENCE:
                solved[distance] = found
            return found
        return _read(piece, number, x, next(iter(solved.values())).auc)

    def _piece(self, number: int, solved: dict[float, Ends]) -> Floats | None:
        """Coefficients of both ends over a piece, shape (degree + 1, 2); None where they may not serve."""
        shares = cell_shares(self._sample.pos, self._sample.neg)
        ends = [_coefficients(OneOrder.of(along), number) for along in (shares[:, ::-1], shares)]
        if ends[0] is None or ends[1] is None:
            return None
        piece = np.stack([ends[0], ends[1]], axis=1)
        for distance, known in solved.items():
            read = _read(piece, number, math.sqrt(2 * distance), known.auc)
            if max(abs(read.low - known.low), abs(read.high - known.high)) > _AGREEMENT:
                return None
        return piece


def _coefficients(kernel: OneOrder, number: int) -> Floats | None:
    """Chebyshev coefficients of the largest value over a piece of the axis."""
    points: list[Extreme] = []

    def values(place: Floats) -> Floats:
        x = (number + (place + 1) / 2) * PIECE
        points.extend(along(kernel, (x * x / 2).tolist()))
        return np.array([point.value for point in points])

    found: Floats = np.asarray(chebinterpolate(values, _DEGREE))  # type: ignore[type-var]
    smooth = np.abs(found[-2:]).max() <= _AGREEMENT and math.isfinite(max(each.multiplier for each in points))
    return found if smooth else None


def _read(piece: Floats, number: int, x: float, auc: float) -> Ends:
    low, high = np.asarray(chebval(2 * (x / PIECE - number) - 1, piece), dtype=np.float64).tolist()
    return Ends(auc, min(1 - low, auc), max(high, auc))
