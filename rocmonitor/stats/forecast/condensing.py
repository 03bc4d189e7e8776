"""Fewer scores with nearly the same AUC: neighbouring ones joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.ends import CellEnds
from rocmonitor.stats.rows import run_starts
from rocmonitor.stats.sample import Sample

CELLS = 400  # scores that `condensed` leaves, about: a few kilobytes of JSON


def condensed(sample: Sample, *, cells: int = CELLS) -> Sample:
    """The same rows on fewer scores: neighbours are joined, and the highest score of each cell is kept.

    Parameters
    ----------
    sample : Sample
        Any sample, also an empty one.
    cells : int
        At least 2. Cells have about equal shares of the two classes; a tie is never split. A sample with up
        to that many distinct scores is returned as it is.

    Returns
    -------
    Sample
        At most `cells` scores, each with the exact counts of the rows up to it and above the score before.
        Where no more than `cells` runs of one class alternate (separated classes, say), up to twice as many:
        every cell stays within a run, and nothing is lost.

    Raises
    ------
    InputError
        Something that is no `Sample`; fewer than 2 cells.

    Notes
    -----
    What is lost is the order of positives and negatives within a cell: the AUC moves by the sum of
    f g (1/2 - A) over the cells, with the shares f and g of the classes and the AUC A within the cell.
    With 400 cells that is less than 1e-4 (docs/coverage.md); `condensed_error` gives the most that is
    possible. Cost: O(k) for k distinct scores.

    Examples
    --------
    >>> few = condensed(Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]), cells=2)
    >>> few.score.tolist(), few.pos.tolist(), few.neg.tolist()
    ([4.0, 8.0], [1, 3], [3, 1])
    """
    if not isinstance(sample, Sample):
        raise InputError(f"sample must be a Sample, not a {type(sample).__name__}")
    if cells != int(cells) or cells < 2:
        raise InputError(f"cells must be a whole number of at least 2, not {cells}")
    starts = cell_starts(sample, int(cells))
    return sample if len(starts) == len(sample.score) else _with_ends(sample, starts)


def _with_ends(sample: Sample, starts: NDArray[np.intp]) -> Sample:
    """The joined sample, with what `condensed_error` needs."""
    few = joined(sample, starts)
    low = sample.score if sample.ends is None else sample.ends.low
    high = sample.score if sample.ends is None else sample.ends.high
    last = np.append(starts[1:], len(sample.score)) - 1
    return few.with_ends(CellEnds(low[starts], high[last]))


def cell_starts(sample: Sample, cells: int) -> NDArray[np.intp]:
    """(h,): the position of the first score of each cell."""
    size = len(sample.score)
    if size <= cells:
        return np.arange(size)
    mass = sample.pos / max(sample.n_pos, 1)
    mass += sample.neg / max(sample.n_neg, 1)
    reached = np.cumsum(mass)
    mass /= 2
    middle = reached - mass
    middle *= cells / reached[-1]
    group = np.minimum(middle.astype(np.intp), cells - 1)
    first = np.concatenate([[True], group[1:] != group[:-1]])
    run = run_starts(sample.pos, sample.neg)
    if np.count_nonzero(run) <= cells:
        first |= run
    return np.flatnonzero(first)


def joined(sample: Sample, starts: NDArray[np.intp]) -> Sample:
    """The sample on the highest score of each cell."""
    ends = np.concatenate([starts[1:], [len(sample.score)]]) - 1
    return Sample.from_counts(
        sample.score[ends], np.add.reduceat(sample.pos, starts), np.add.reduceat(sample.neg, starts)
    )
