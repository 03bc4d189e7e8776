"""The rival of every exact law: percentiles over resamples that are really drawn.

``method="empirical"`` of the intervals, as Dugas and Gadoury (2009) compare it (they draw 100 resamples), and
``method="bootstrap"`` of the AUC. The ends carry the noise of the draws, and fall together where every
resample gives the same rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import Counts, Floats
from rocmonitor.stats.proportion import is_number

Rng = np.random.Generator | np.random.SeedSequence | int
"""What `numpy.random.default_rng` takes, but for None: a result must be repeatable."""


def generator(
    rng: Rng | None, n_resamples: int, *, method: str = "empirical", at_least: int = 1
) -> np.random.Generator:
    """The generator of a method that draws; refuses a missing `rng` and too few resamples."""
    if rng is None:
        raise InputError(f"method {method!r} draws resamples and needs rng: a seed, or a numpy Generator")
    if not is_number(n_resamples) or not at_least <= n_resamples < np.inf or n_resamples != int(n_resamples):
        raise InputError(f"n_resamples must be a whole number of at least {at_least}, not {n_resamples!r}")
    seeds = (np.random.Generator, np.random.SeedSequence, int, np.integer)
    if isinstance(rng, bool) or not isinstance(rng, seeds) or (isinstance(rng, int) and rng < 0):
        raise InputError(f"rng must be a seed (a whole number >= 0) or a numpy Generator, not {rng!r}")
    return np.random.default_rng(rng)


def percentiles(drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """Ends that leave `tail` of the resamples, shape (n_resamples, …), on either side: observed values."""
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low, high


def drawn_proportions(count: Counts, n: int, m: Counts, rng: np.random.Generator) -> Floats:
    """Proportions in resamples of `m` rows, shape (n_resamples, h), when `count` of `n` rows, (h,), count."""
    return np.asarray(rng.binomial(m, count / n) / m)


def drawn_differences(only_1: Counts, only_2: Counts, n: int, m: Counts, rng: np.random.Generator) -> Floats:
    """Differences of two proportions on the same rows, in resamples of `m`, shape (n_resamples, h)."""
    drawn = rng.multinomial(m, np.column_stack([only_1, only_2, n - only_1 - only_2]) / n)
    return np.asarray((drawn[..., 0] - drawn[..., 1]) / m)


def drawn_at_ranks(
    r: Counts,
    neg: Counts,
    pos: Counts,
    levels: tuple[NDArray[np.intp], ...],
    sizes: tuple[int, int],
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """TPR of the first model (less that of the second, if there is one) at ranks `r`, shape (n_resamples, h).

    `neg` and `pos` count the rows of each cell, `levels` give each model's first threshold that flags the
    cell, and `sizes` the positives and negatives of a resample. Each resample is one draw for all ranks.
    """
    drawn = np.zeros((n_resamples, len(r)))
    for line in drawn:
        rows_pos = rng.multinomial(sizes[0], pos / pos.sum())
        rows_neg = rng.multinomial(sizes[1], neg / neg.sum())
        for sign, level in zip((1, -1), levels, strict=False):
            threshold = np.searchsorted(np.cumsum(np.bincount(level, weights=rows_neg)), r)
            line += sign * np.cumsum(np.bincount(level, weights=rows_pos))[threshold]
    return drawn / sizes[0]
