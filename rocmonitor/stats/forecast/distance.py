"""Distances of windows from a sample: by quantile bins of each class, as in [M18], or by cells of scores.

The bins of a class end at the scores at which its share in the sample first reaches 1/bins, 2/bins, …; the
outermost ones are open. A tie is never split. Where labels are not known, the distance is that of the law of
the scores, over cells of the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.stats.cells import CellEnds
from rocmonitor.stats.forecast.calibration import Root, noisy_root, observed_root
from rocmonitor.stats.proportion import Rng, generator, whole_number
from rocmonitor.stats.rows import run_starts
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample, on_sample

Window = TypeVar("Window", Sample, PairedSample)

BINS = 10  # quantile bins a class ([M18], as in its simulation)
FLOOR = 0.5  # rows that a bin holds at least in the symmetric distance, and a cell of the reference
_CHUNK = 10_000  # resamples that are held at once


@on_sample
def binned_distance(
    sample: Sample, /, windows: Sequence[Sample], *, bins: int = BINS, symmetric: bool = False
) -> float:
    """Mean Kullback-Leibler distance of windows to a sample, over quantile bins of each class.

    Parameters
    ----------
    windows: Windows (segments) of the same score, each with both classes.
    bins: At least 2.
    symmetric: The symmetric distance of eq. 13, KL(window||sample) + KL(sample||window), in place of eq. 12.

    Returns
    -------
    float: Mean over the windows, in nats, of the distance of the binned negatives plus that of the positives.

    Notes
    -----
    As the simulation of [M18] does (section 4.3, eq. 12). A score that reaches several shares at once leaves
    fewer bins, so every bin has a share of the sample, and one that a window leaves empty adds
    0 ln 0 = 0. The symmetric distance would be infinite there: an empty bin
    counts as half a row, and the other bins are left as they are, so that every term stays >= 0.

    In small windows this is mostly sampling noise, about (bins - 1) / (2 n) for each class of n rows
    even when nothing has changed, and twice that if symmetric.
    Cost: O(k) for the sample and O(k log bins) a window, for k distinct scores.

    Examples
    --------
    >>> sample = Sample([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 3, 4, 5, 6])
    >>> round(binned_distance(sample, [Sample([0, 0, 1, 1], [1, 2, 5, 6])], bins=2), 4)
    1.3863
    """
    whole_number(bins, "bins", 2)
    sample.require_both_classes()
    given = valid_windows(windows, Sample)
    if not given:
        raise InputError("windows is empty; give at least one Sample")
    for number, window in enumerate(given, 1):
        window.require_both_classes(what=f"window {number}: ")
    return float(np.mean(window_distances(sample, given, bins=bins, symmetric=symmetric)))


def window_distances(
    sample: Sample, windows: Sequence[Sample], *, bins: int = BINS, symmetric: bool = False
) -> Floats:
    """Return the distance of each window, shape (windows,); all have both classes."""
    classes = class_bins(sample, bins)
    total = np.zeros(len(windows))
    for place, window in enumerate(windows):
        for (ends, shares), counts in zip(classes, (window.neg, window.pos), strict=True):
            number = binned_counts(window.score, counts, ends)
            total[place] += _divergences(number[np.newaxis], shares, symmetric)[0]
    return np.maximum(total, 0.0)


def resampled_distance(
    sample: Sample, sizes: tuple[int, int], *, symmetric: bool = False, n_resamples: int, rng: Rng | None
) -> float:
    """Mean distance of resamples of `sizes` (positives, negatives) to the sample they are drawn from.

    The "bootstrap version" of [M18] section 3. Rows drawn with replacement fall into the bins by a
    multinomial law, which is drawn directly: O(bins) a resample, whatever its size.
    """
    draw = generator(rng, n_resamples)
    classes = class_bins(sample, BINS)
    total = 0.0
    for start in range(0, n_resamples, _CHUNK):
        size = min(_CHUNK, n_resamples - start)
        for (_, shares), rows in zip(classes, sizes[::-1], strict=True):
            number = draw.multinomial(rows, shares, size=size)
            total += float(_divergences(number, shares, symmetric).sum())
    return max(total / n_resamples, 0.0)


def class_bins(sample: Sample, bins: int) -> list[tuple[Floats, Floats]]:
    """Return the bins of the negatives and of the positives: `bin_ends`, and the shares; none is 0."""
    classes = []
    for counts in (sample.neg, sample.pos):
        ends = bin_ends(sample.score, counts, bins)
        number = binned_counts(sample.score, counts, ends)
        classes.append((ends, number / number.sum()))
    return classes


def bin_ends(score: Floats, counts: Counts | Floats, bins: int) -> Floats:
    """Upper ends of all bins but the last: each bin holds some of the counts."""
    reached = np.cumsum(counts) * bins
    position = np.searchsorted(reached, np.arange(1, bins) * counts.sum())
    ends: Floats = np.unique(score[position])
    inner: Floats = ends[ends < score[np.flatnonzero(counts)[-1]]]
    return inner


def binned_counts(score: Floats, counts: Counts | Floats, ends: Floats) -> Floats:
    """(h,): the counts in each bin."""
    # Of two sorted arrays the shorter one is looked up in the longer.
    stops = np.concatenate([np.searchsorted(score, ends, side="right"), [len(score)]])
    reached = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(np.diff(reached[stops], prepend=0), dtype=np.float64)


def valid_windows(windows: object, kind: type[Window]) -> list[Window]:
    """Return the windows as a list, each of the kind."""
    if not isinstance(windows, Iterable):
        raise InputError(f"windows must be a list of {kind.__name__}, not a {type(windows).__name__}")
    given = list(windows)
    for number, window in enumerate(given, 1):
        require_sample(window, f"window {number}", kind)
    return given


def require_sample(value: object, name: str, kind: type[Sample] | type[PairedSample] = Sample) -> None:
    """Refuse what is no sample of the kind."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}, not a {type(value).__name__}")


def require_own(reference: Sample, n_pos: int, n_neg: int) -> None:
    """Refuse all but the reference of these class sizes, which may be condensed."""
    require_sample(reference, "reference")
    reference.require_both_classes()
    if (reference.n_pos, reference.n_neg) != (n_pos, n_neg):
        raise InputError(
            f"reference must be the same as before, with {n_pos} positives and {n_neg} negatives, or that "
            f"one condensed; it has {reference.n_pos} and {reference.n_neg}"
        )


def _divergences(number: NDArray[np.int64] | Floats, shares: Floats, symmetric: bool) -> Floats:
    """(r,): the distance of each line of counts, shape (r, h), to the shares (h,)."""
    rows = number.sum(axis=1, keepdims=True)
    if symmetric:
        new = np.maximum(number, FLOOR) / rows
        return np.asarray(((new - shares) * np.log(new / shares)).sum(axis=1))
    return np.asarray(scipy.special.rel_entr(number / rows, shares).sum(axis=1))


CELLS = 400  # scores that `condensed` leaves, about: a few kilobytes of JSON


def condensed(sample: Sample, *, cells: int = CELLS) -> Sample:
    """Return the same rows on fewer scores: neighbours are joined; the highest score of a cell is kept.

    Parameters
    ----------
    sample: Any sample, also an empty one.
    cells: At least 2. Cells have about equal shares of the two classes; a tie is never split. A sample with
        up to that many distinct scores is returned unchanged.

    Returns
    -------
    At most `cells` scores, each with the exact counts of the rows up to it and above the score before. Where
    no more than `cells` runs of one class alternate (separated classes, say), up to twice as many: every cell
    stays within a run, and nothing is lost.

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
    require_sample(sample, "sample")
    starts = cell_starts(sample, whole_number(cells, "cells", 2))
    if len(starts) == len(sample.score):
        return sample
    low = sample.score if sample.ends is None else sample.ends.low
    high = sample.score if sample.ends is None else sample.ends.high
    last = np.append(starts[1:], len(sample.score)) - 1
    return joined(sample, starts).with_ends(CellEnds(low[starts], high[last]))


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
    """Return the sample on the highest score of each cell."""
    ends = np.concatenate([starts[1:], [len(sample.score)]]) - 1
    return Sample.from_counts(
        sample.score[ends], np.add.reduceat(sample.pos, starts), np.add.reduceat(sample.neg, starts)
    )


JOINED_CELLS = 2048  # joined ones, on which distances are computed; the error is that of `condensed`
EXACT_DISTANCES = 20_000  # scores up to which distances are computed on all of them: some 30 ms a window
EXACT_BOUNDS = 1_000_000  # the same for the two bounds, which are computed only once


def fewer(sample: Sample, exact: int) -> Sample:
    """Return a sample with both classes, on about `JOINED_CELLS` scores if it has more than `exact`."""
    return sample if len(sample.score) <= exact else joined(sample, cell_starts(sample, JOINED_CELLS))


FEW_SCORES = 50  # distinct scores of a reference up to which each is a cell
_SCORE_CELLS = 20  # quantile cells of a reference that has more
_FAR = 9.0  # standard deviations, of a gamma law also scales, that hardly any noise leaves


class ScoreCells(NamedTuple):
    """Cells of the score, and the rows of the reference in each."""

    ends: Floats  # (h - 1,): upper ends, included; the last cell has none
    rows: Floats  # (h,)

    def distance(self, window: Counts) -> float:
        """KL(window || reference) in nats, of rows in each cell."""
        return max(0.0, float(self.contributions(window).sum()))

    def contributions(self, window: Counts) -> Floats:
        """Return what each cell adds to the distance, shape (h,); negative where the window has fewer rows.

        A cell of the reference that is empty because a part was taken out counts as half a row.
        """
        old = np.maximum(self.rows, FLOOR) / self.rows.sum()
        return np.asarray(scipy.special.rel_entr(window / window.sum(), old))

    def sampling_distance(self, rows: float) -> float:
        """Return the mean distance of rows drawn from the law of the reference, to first order."""
        return (len(self.rows) - 1) / 2 * (1 / rows + 1 / float(self.rows.sum()))


def score_cells(reference: Sample) -> ScoreCells:
    """Return distinct scores if they are few, else quantile cells of the rows; no tie is split."""
    rows = reference.pos + reference.neg
    few = len(reference.score) <= FEW_SCORES
    return cells_between(
        reference, reference.score[:-1] if few else bin_ends(reference.score, rows, _SCORE_CELLS)
    )


def cells_between(reference: Sample, ends: Floats) -> ScoreCells:
    """Return the cells that end at given scores."""
    return ScoreCells(ends, binned_counts(reference.score, reference.pos + reference.neg, ends))


class Thinning(NamedTuple):
    """The moments that give the score distances of smaller samples of past windows, shape (n,) each."""

    rows: Counts  # of each window
    log_variance: Floats  # of ln(window / reference) over its rows
    occupied: Counts  # cells that it has rows in
    inverse_shares: Floats  # sum of 1 / share over them

    def mean_and_variance(self, distances: Floats, rows: int) -> tuple[Floats, Floats]:
        """Return moments of the distance of `rows` rows of each window, without replacement, to second order.

        2 n KL of n rows to their own law is q times a chi-square variable with occupied - 1 degrees of
        freedom, where q = 1 + (inverse_shares - 1) / (6 n (occupied - 1)) [W76].
        """
        missing = np.maximum(1 / rows - 1 / self.rows, 0.0)
        free = self.occupied - 1
        wider = 1 + (self.inverse_shares - 1) / (6 * rows * np.maximum(free, 1))
        more = wider * missing
        return distances + free / 2 * more, missing * self.log_variance + free / 2 * more**2


def thinned_quantile(
    distances: Floats, thinning: Thinning, rows: int, weights: Floats, confidence_level: float
) -> Root:
    """Return the conformal quantile of score distances, for a coming window of a given size.

    Past windows with more rows are taken as samples of `rows` of them, whose distance is a gamma variable
    with the mean and the variance of `Thinning`; those with fewer stay as they are.
    """
    mean, variance = thinning.mean_and_variance(distances, rows)
    used = weights > 0
    distances, weights, mean, variance = distances[used], weights[used], mean[used], variance[used]
    if not variance.any():
        return observed_root(distances, weights, confidence_level)
    noisy = variance > 0
    shape = np.where(noisy, mean**2 / np.where(noisy, variance, 1.0), 1.0)
    scale = np.where(noisy, variance / np.where(noisy, mean, 1.0), 1.0)

    def outside(value: float) -> Floats:
        return np.asarray(
            np.where(noisy, scipy.special.gammaincc(shape, value / scale), distances > value), np.float64
        )

    largest = float(np.max(mean + _FAR * (np.sqrt(variance) + scale)))
    return noisy_root(outside, distances, weights, confidence_level, largest)


def mixture_distance(reference: Sample, ends: Floats, window: Counts) -> float:
    """Return the distance of a window's rows from the nearest mix of the reference's two classes, in nats.

    Over the cells that `ends` divides, shape (h - 1,), with the window's rows in each, shape (h,). It is as
    small as sampling makes it where only the prevalence has changed. A cell where a class has no rows counts
    half a row of it.
    """
    neg, pos = (binned_counts(reference.score, counts, ends) for counts in (reference.neg, reference.pos))
    seen = window > 0
    share = window[seen] / window.sum()
    neg, pos = (np.maximum(counts, FLOOR)[seen] / counts.sum() for counts in (neg, pos))

    def rising(prevalence: float) -> float:
        return float(share @ ((neg - pos) / (neg + prevalence * (pos - neg))))

    if rising(0.0) >= 0:
        prevalence = 0.0
    elif rising(1.0) <= 0:
        prevalence = 1.0
    else:
        prevalence = float(scipy.optimize.brentq(rising, 0.0, 1.0))
    return max(0.0, float(share @ np.log(share / (neg + prevalence * (pos - neg)))))
