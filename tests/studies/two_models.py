"""Two models with correlated normal scores, drawn a hundred samples at a time, as counts of disagreement.

At a pair of thresholds a row of a class is flagged by the first model only, by the second only, or alike. The
studies' pairs of thresholds rise together, so a row is flagged by the first model only at a run of pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from studies.figures import Floats

Counts = NDArray[np.int64]


class ScoreLaw(NamedTuple):
    """A class: means of both models' scores, their common deviation and correlation."""

    mean_1: float
    mean_2: float
    sd: float
    correlation: float

    def draw(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Scores of rows by both models."""
        first, other = rng.standard_normal((2, *np.atleast_1d(shape)))
        second = self.correlation * first + (1 - self.correlation**2) ** 0.5 * other
        return self.mean_1 + self.sd * first, self.mean_2 + self.sd * second


def disagreements(
    law: ScoreLaw, at_1: Floats, at_2: Floats, rows: int, size: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Rows that only the first, and only the second, model flags: (size, h), thresholds decreasing."""
    first, second = law.draw((size, rows), rng)
    place_1 = np.searchsorted(-at_1, -first.ravel()).reshape(first.shape)
    place_2 = np.searchsorted(-at_2, -second.ravel()).reshape(first.shape)
    return _runs(place_1, place_2, len(at_1)), _runs(place_2, place_1, len(at_1))


def _runs(begin: Counts, end: Counts, h: int) -> Counts:
    """How many runs begin <= j < end hold each j, for each sample."""
    size = len(begin)
    some = begin < end
    sample = np.broadcast_to(np.arange(size)[:, np.newaxis], begin.shape)[some] * (h + 1)
    starts = np.bincount(sample + begin[some], minlength=size * (h + 1))
    stops = np.bincount(sample + end[some], minlength=size * (h + 1))
    return np.cumsum((starts - stops).reshape(size, h + 1), axis=1)[:, :h]
