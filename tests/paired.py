"""Windows of two models on the same rows, drawn for tests of the review."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = timedelta(days=7)


def week(number: int) -> Window:
    """The weekly window `number`, counted from 0."""
    return Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK)


def scores(
    seed: int | list[int],
    n_pos: int = 80,
    n_neg: int = 160,
    *,
    champion: float = 1.2,
    challenger: float = 1.2,
    spread: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, champion's and challenger's scores, correlated 0.5 within a class.

    Each model's positives lie higher by its number; those of the challenger scatter `spread` times as much.
    """
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, 0], [n_pos, n_neg]))
    common, own, other = np.sqrt(0.5) * rng.normal(size=(3, len(y)))
    return y, champion * y + common + own, challenger * y + np.where(y == 1, spread, 1.0) * (common + other)


def pair(seed: int | list[int], *sizes: int, **models: float) -> PairedSample:
    """The same rows, challenger first."""
    y, champion, challenger = scores(seed, *sizes, **models)
    return PairedSample(y, challenger, champion)


def weeks(number: int, seed: int, *sizes: int, **models: float) -> list[tuple[Window, PairedSample]]:
    """So many weekly windows with different rows."""
    return [(week(i), pair([seed, i], *sizes, **models)) for i in range(number)]
