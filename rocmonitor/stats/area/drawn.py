"""Areas of resamples that are really drawn: the Monte Carlo bootstrap, stratified, on counts.

Neighbouring scores that hold rows of one class are one run, and a resample is the number of rows that each
run gets. No resample is sorted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rocmonitor.stats.rows import run_starts
from rocmonitor.stats.sample import Counts, Floats, Sample

_CELLS_AT_ONCE = 2**15  # rows or runs held in memory together: few enough for the processor's cache
_ROWS_PER_RUN = 20  # above, drawing the count of a run is cheaper than drawing its rows


def drawn_areas(sample: Sample, m_pos: int, m_neg: int, n_resamples: int, rng: np.random.Generator) -> Floats:
    """AUCs of `n_resamples` resamples of m_pos positives and m_neg negatives, shape (n_resamples,).

    Cost of a resample: O(m_pos + m_neg) where rows are drawn; O(k) where a class has many rows to a run, and
    their counts are drawn. Memory: O(k + m_pos + m_neg), whatever `n_resamples` is.
    """
    begins = np.flatnonzero(run_starts(sample.pos, sample.neg))
    pos, neg = np.add.reduceat(sample.pos, begins), np.add.reduceat(sample.neg, begins)
    draw_pos, draw_neg = _drawing(pos, m_pos, rng), _drawing(neg, m_neg, rng)
    at_once = max(1, _CELLS_AT_ONCE // max(len(pos), _largest_draw(pos, m_pos), _largest_draw(neg, m_neg)))
    areas = np.empty(n_resamples)
    for start in range(0, n_resamples, at_once):
        part = areas[start : start + at_once]
        drawn_pos, drawn_neg = draw_pos(len(part)), draw_neg(len(part))
        below = np.cumsum(drawn_neg, axis=1).astype(np.float64)  # faster than adding up as float64
        below -= 0.5 * drawn_neg
        below *= drawn_pos
        np.sum(below, axis=1, out=part)
    areas /= float(m_pos) * m_neg
    return areas


def _drawing(counts: Counts, m: int, rng: np.random.Generator) -> Callable[[int], Counts]:
    """A function that draws how often each run is hit by `m` rows: shape (resamples, runs)."""
    runs, n = len(counts), int(counts.sum())
    if not _largest_draw(counts, m):
        return lambda resamples: rng.multinomial(m, counts / n, size=resamples)
    run = np.repeat(np.arange(runs), counts)

    def draw(resamples: int) -> Counts:
        hit = run[rng.integers(n, size=(resamples, m))]
        hit += runs * np.arange(resamples)[:, np.newaxis]
        return np.bincount(hit.ravel(), minlength=resamples * runs).reshape(resamples, runs)

    return draw


def _largest_draw(counts: Counts, m: int) -> int:
    """Rows of a class in memory for each resample: all when single rows are drawn, none when counts are."""
    return m if max(m, int(counts.sum())) <= _ROWS_PER_RUN * np.count_nonzero(counts) else 0
