"""Hypothesis strategies: small labelled samples, with ties and class imbalance unless told otherwise.

Scores are multiples of 1/8 in [-4, 4], drawn from a short pool, so that ties are common and the usual
increasing maps (3 s + 1, exp, cube) keep the order and the ties exactly.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]

increasing_maps = st.sampled_from([lambda s: 3 * s + 1, np.exp, lambda s: s**3 - 2, lambda s: s / 1024])


def pools(size: int) -> st.SearchStrategy[list[float]]:
    """Short lists of distinct scores."""
    return st.lists(st.integers(-32, 32).map(lambda k: k / 8.0), min_size=1, max_size=size, unique=True)


@st.composite
def labels(draw: st.DrawFn, *, min_per_class: int = 1, max_per_class: int = 8) -> Labels:
    """Shuffled labels; the class sizes are drawn apart, so imbalance is the rule."""
    n_pos = draw(st.integers(min_per_class, max_per_class))
    n_neg = draw(st.integers(min_per_class, max_per_class))
    return np.array(draw(st.permutations([1] * n_pos + [0] * n_neg)), dtype=np.int64)


@st.composite
def samples(
    draw: st.DrawFn, *, min_per_class: int = 1, max_per_class: int = 8, distinct: int = 6
) -> tuple[Labels, Floats]:
    """``(y_true, y_score)`` with at most `distinct` different scores."""
    y = draw(labels(min_per_class=min_per_class, max_per_class=max_per_class))
    return y, _scores(draw, len(y), distinct)


@st.composite
def paired_samples(
    draw: st.DrawFn, *, min_per_class: int = 1, max_per_class: int = 8, distinct: int = 6
) -> tuple[Labels, Floats, Floats]:
    """``(y_true, score_1, score_2)`` on the same rows, each with at most `distinct` different scores."""
    y = draw(labels(min_per_class=min_per_class, max_per_class=max_per_class))
    return y, _scores(draw, len(y), distinct), _scores(draw, len(y), distinct)


@st.composite
def grouped_counts(
    draw: st.DrawFn, *, min_per_class: int = 1, max_count: int = 5, distinct: int = 6
) -> tuple[Floats, Labels, Labels]:
    """``(score, n_pos, n_neg)``: one cell a distinct score, some of them empty of a class or of both."""
    score = np.array(draw(pools(distinct)))
    counts = st.lists(st.integers(0, max_count), min_size=len(score), max_size=len(score))
    large_enough = counts.filter(lambda c: sum(c) >= min_per_class)
    return score, np.array(draw(large_enough)), np.array(draw(large_enough))


def differing(drawn: tuple[NDArray[np.number], ...]) -> bool:
    """Whether the scores of every model differ: what a curve needs. For ``samples().filter(differing)``."""
    return all(len(np.unique(score)) > 1 for score in drawn[1:])


def _scores(draw: st.DrawFn, size: int, distinct: int) -> Floats:
    pool = st.sampled_from(draw(pools(distinct)))
    return np.array(draw(st.lists(pool, min_size=size, max_size=size)))
