"""How far windows lie from a sample, by the shares of quantile bins, as in [M18].

The bins of a class end at the scores at which its share in the sample first reaches 1/bins, 2/bins, …; the
outermost ones are open. A tie is never split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.resampling import Rng, generator
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample, on_sample

BINS = 10
"""Quantile bins a class ([M18], as in its simulation)."""

_FLOOR = 0.5  # rows that a bin is taken to hold at least, in the symmetric distance
_CHUNK = 10_000  # resamples that are held at once


class Bins(NamedTuple):
    """The bins of one class of a sample."""

    ends: Floats  # (h - 1,): upper ends of all bins but the last
    shares: Floats  # (h,): what the sample has in each of them; never 0


@on_sample
def binned_distance(
    sample: Sample, /, windows: Sequence[Sample], *, bins: int = BINS, symmetric: bool = False
) -> float:
    """Mean Kullback-Leibler distance of windows to a sample, over quantile bins of each class.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,)
        Labels 0 and 1, and finite scores; higher means more positive. Or one `Sample`.
    windows : sequence of Sample
        Windows (segments) of the same score, each with both classes.
    bins : int
        At least 2.
    symmetric : bool
        The symmetric distance of eq. 13, KL(window||sample) + KL(sample||window), in place of eq. 12.

    Returns
    -------
    float
        Mean over the windows, in nats, of the distance of the binned negatives plus that of the positives.

    Raises
    ------
    InputError
        Unusable data (see `Sample`), no windows, something that is no `Sample`, fewer than 2 bins.
    DegenerateDataError
        The sample or a window has one class only.

    Notes
    -----
    As the simulation of [M18] does (section 4.3, eq. 12). A score that reaches several shares at once leaves
    fewer bins, so every bin has a share of the sample, and one that a window leaves empty adds
    0 ln 0 = 0. The symmetric distance would be infinite there: an empty bin
    counts as half a row, and the other bins are left as they are, so that every term stays >= 0.

    In small windows this is mostly sampling noise, about (bins - 1) / (2 n) for each class of n rows
    even when nothing has changed, and twice that if symmetric.
    Cost: O(k) for the sample and O(k log bins) a window, for k distinct scores.

    References
    ----------
    .. [M18] Morin (2018). Forecast intervals for the area under the ROC curve. Working paper.

    Examples
    --------
    >>> sample = Sample([0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 3, 4, 5, 6])
    >>> round(binned_distance(sample, [Sample([0, 0, 1, 1], [1, 2, 5, 6])], bins=2), 4)
    1.3863
    """
    if bins < 2:
        raise InputError(f"bins must be at least 2; it is {bins}")
    sample.require_both_classes()
    if not windows:
        raise InputError("windows is empty; give at least one Sample")
    for number, window in enumerate(windows, 1):
        require_sample(window, f"window {number}")
        if not min(window.n_pos, window.n_neg):
            raise DegenerateDataError(f"window {number} has one class only; leave it out")
    return float(np.mean(window_distances(sample, windows, bins=bins, symmetric=symmetric)))


def window_distances(
    sample: Sample, windows: Sequence[Sample], *, bins: int = BINS, symmetric: bool = False
) -> Floats:
    """The distance of each window, shape (windows,); all have both classes."""
    negatives, positives = class_bins(sample, bins)
    total = np.zeros(len(windows))
    for place, window in enumerate(windows):
        for of, counts in ((negatives, window.neg), (positives, window.pos)):
            number = binned_counts(window.score, counts, of.ends)
            total[place] += _divergences(number[np.newaxis], of.shares, symmetric)[0]
    return np.maximum(total, 0.0)


def resampled_distance(
    sample: Sample, sizes: tuple[int, int], *, symmetric: bool = False, n_resamples: int, rng: Rng | None
) -> float:
    """Mean distance of resamples of `sizes` (positives, negatives) to the sample they are drawn from.

    The "bootstrap version" of [M18] section 3. Rows drawn with replacement fall into the bins by a
    multinomial law, which is drawn directly: O(bins) a resample, whatever its size.
    """
    draw = generator(rng, n_resamples)
    negatives, positives = class_bins(sample, BINS)
    total = 0.0
    for start in range(0, n_resamples, _CHUNK):
        size = min(_CHUNK, n_resamples - start)
        for of, rows in ((negatives, sizes[1]), (positives, sizes[0])):
            number = draw.multinomial(rows, of.shares, size=size)
            total += float(_divergences(number, of.shares, symmetric).sum())
    return max(total / n_resamples, 0.0)


def class_bins(sample: Sample, bins: int) -> tuple[Bins, Bins]:
    """The bins of the negatives and those of the positives."""
    ends = [bin_ends(sample.score, counts, bins) for counts in (sample.neg, sample.pos)]
    numbers = [binned_counts(sample.score, *of) for of in zip((sample.neg, sample.pos), ends, strict=True)]
    negatives, positives = (Bins(of, number / number.sum()) for of, number in zip(ends, numbers, strict=True))
    return negatives, positives


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


def require_sample(value: object, name: str, kind: type[Sample] | type[PairedSample] = Sample) -> None:
    """Refuse what is no sample of the kind."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}, not a {type(value).__name__}")


def _divergences(number: NDArray[np.int64] | Floats, shares: Floats, symmetric: bool) -> Floats:
    """(r,): the distance of each line of counts, shape (r, h), to the shares (h,)."""
    rows = number.sum(axis=1, keepdims=True)
    if symmetric:
        new = np.maximum(number, _FLOOR) / rows
        return np.asarray(((new - shares) * np.log(new / shares)).sum(axis=1))
    new = number / rows
    ratio = np.where(new > 0, new / shares, 1.0)
    return np.asarray((new * np.log(ratio)).sum(axis=1))
