"""Wrong decisions of a reference at its own thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rocmonitor.stats.cost.conditions import cost_thresholds
from rocmonitor.stats.sample import Counts, Sample

FOLDS = 10  # parts of a reference; each is judged at the threshold that the others choose


class WrongDecisions(NamedTuple):
    """The wrong decisions of some rows at a threshold: missed positives and false alarms."""

    missed: int
    false_alarms: int


def errors_at(sample: Sample, threshold: float) -> WrongDecisions:
    """Missed positives and false alarms of a sample when scores of `threshold` and more are flagged."""
    below = sample.score < threshold
    return WrongDecisions(int(sample.pos[below].sum()), int(sample.neg[~below].sum()))


def cross_fitted(whole: Sample, windows: Sequence[Sample], w: Sequence[float]) -> list[WrongDecisions]:
    """Count the wrong decisions of a reference, each part of it at the threshold that its other parts choose.

    At the threshold chosen on the same rows the cost is too low, so later windows would seem to cost more.

    Parameters
    ----------
    whole: All rows of the reference, with both classes.
    windows: The same rows by window. Neighbouring windows are one part where there are more than 10.
    w: Operating conditions.

    The rows of a single window are dealt to 10 parts by chance, with a fixed seed; so are those of windows of
    which one holds all rows of a class. Where that leaves a part's others without a class, the threshold is
    that of all rows.
    """
    for parts in _foldings(whole, windows):
        rest = [np.stack([whole.pos, whole.neg]) - part for part in parts]
        if all(each.sum(axis=1).all() for each in rest):
            break
    else:
        return [errors_at(whole, at) for at in cost_thresholds(whole, w).threshold]
    total = np.zeros((len(w), 2), dtype=np.int64)
    for part, others in zip(parts, rest, strict=True):
        chosen = cost_thresholds(Sample.from_counts(whole.score, *others), w).threshold
        total += [errors_at(Sample.from_counts(whole.score, *part), at) for at in chosen]
    return [WrongDecisions(*map(int, each)) for each in total]


def _foldings(whole: Sample, windows: Sequence[Sample]) -> Iterator[list[Counts]]:
    """Yield ways to part a reference: counts (2, k) of positives and negatives at its scores, by part."""
    filled = [each for each in windows if each.n_pos + each.n_neg]
    if len(filled) > 1:
        each = [_placed(whole, sample) for sample in filled]
        ends = np.linspace(0, len(each), min(FOLDS, len(each)) + 1).round().astype(int)
        yield [np.sum(each[a:b], axis=0) for a, b in pairwise(ends)]
    rng = np.random.default_rng(0)
    dealt = rng.multinomial(np.stack([whole.pos, whole.neg]), [1 / FOLDS] * FOLDS)
    yield list(np.moveaxis(dealt, -1, 0))


def _placed(whole: Sample, part: Sample) -> Counts:
    """Return the counts (2, k) of a part at the scores of the whole, or in the cells that begin there."""
    at = np.searchsorted(whole.score, part.score, side="right") - 1
    counts = np.zeros((2, len(whole.score)), dtype=np.int64)
    for line, rows in zip(counts, (part.pos, part.neg), strict=True):
        np.add.at(line, at, rows)
    return counts
