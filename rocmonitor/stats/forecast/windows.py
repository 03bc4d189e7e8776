"""Past windows against their reference: which can be used, and the signed root distance of each.

A window that is part of the reference is taken out of it first. Where the reference has many scores,
distances are found on joined cells; the AUCs that they lead to are exact all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.placements import placements
from rocmonitor.stats.forecast.condensing import cell_starts, joined
from rocmonitor.stats.forecast.distance import window_distances
from rocmonitor.stats.forecast.kld import area, auc_distance
from rocmonitor.stats.rows import add_up
from rocmonitor.stats.sample import Sample

CELLS = 2048
"""Joined cells on which distances are computed; the error is that of `condensed`."""

EXACT_DISTANCES = 20_000
"""Distinct scores up to which distances are computed on all of them: some 30 ms a window."""

EXACT_BOUNDS = 1_000_000
"""The same for the two bounds, which are computed only once."""


Places = NDArray[np.intp]


class Grid(NamedTuple):
    """A sample for distances: few scores, and the AUC of all its rows."""

    sample: Sample
    auc: float


class Past(NamedTuple):
    """The windows that can be used."""

    kept: tuple[int, ...]
    """Their positions in what was given."""
    distances: tuple[float, ...]
    """The dual distance of each."""
    shifts: tuple[float, ...]
    """Its root, sqrt(2 D), negative where the window's AUC is the lower one."""
    inside: bool
    """Whether each was taken out of the reference."""
    caveats: tuple[Caveat, ...]
    """How many were set aside, and why."""


def used_windows(reference: Sample, windows: list[Sample], method: str, symmetric: bool) -> Past:
    """The windows that a method uses; "fixed" uses none, and "bootstrap" only their sizes."""
    if method in ("calibrated", "dual"):
        return past_windows(reference, windows, take_out=method == "calibrated")
    if not windows:
        return Past((), (), (), False, ())
    kept, caveats = both_classes(windows)
    if method == "bootstrap":
        return Past(kept, (), (), False, caveats)
    distances = window_distances(reference, [windows[place] for place in kept], symmetric=symmetric)
    return Past(kept, tuple(distances.tolist()), (), False, caveats)


def mean_sizes(windows: Sequence[Sample]) -> tuple[int, int]:
    """Mean class sizes, positives and negatives, at least 1."""
    n_pos = np.mean([window.n_pos for window in windows])
    n_neg = np.mean([window.n_neg for window in windows])
    return max(1, round(float(n_pos))), max(1, round(float(n_neg)))


def both_classes(windows: Sequence[Sample]) -> tuple[tuple[int, ...], tuple[Caveat, ...]]:
    """Positions of the windows with rows of both classes, and a caveat that counts the others."""
    kept = tuple(place for place, window in enumerate(windows) if min(window.n_pos, window.n_neg))
    caveats = set_aside(kept, len(windows), "one-class")
    require_some(kept, len(windows), caveats)
    return kept, caveats


def past_windows(reference: Sample, windows: Sequence[Sample], *, take_out: bool) -> Past:
    """The dual distances of all windows with both classes.

    With `take_out`, windows that all together are contained in the reference, at every score and in both
    classes, are each compared with the rest of it.
    """
    kept, caveats = both_classes(windows)
    rests = _rests(reference, windows) if take_out else None
    if rests is None:
        whole = grid(reference, EXACT_DISTANCES)
        pairs = [(place, whole) for place in kept]
    else:
        pairs = [(place, rest) for place in kept if (rest := rests[place]) is not None]
        left = tuple(place for place, _ in pairs)
        caveats += set_aside(left, len(windows), "rest-has-one-class", among=kept)
        kept = left
    require_some(kept, len(windows), caveats)
    areas = [area(windows[place]) for place in kept]
    distances = tuple(_dual(of, auc, place + 1) for (place, of), auc in zip(pairs, areas, strict=True))
    shifts = tuple(
        math.copysign(math.sqrt(2 * distance), auc - of.auc)
        for distance, auc, (_, of) in zip(distances, areas, pairs, strict=True)
    )
    return Past(kept, distances, shifts, rests is not None, caveats)


def grid(sample: Sample, exact: int) -> Grid:
    """A sample with both classes, on about `CELLS` scores if it has more than `exact`."""
    few = sample if len(sample.score) <= exact else joined(sample, cell_starts(sample, CELLS))
    return Grid(few, area(sample))


def carried(auc: float, own: float, to: float) -> float:
    """An AUC relative to `own`, moved to be relative to `to`: its share of the way to 0 or to 1 is kept."""
    if auc == own or own == to:
        return to if auc == own else auc
    return 1 - (1 - auc) * ((1 - to) / (1 - own)) if auc > own else auc * (to / own)


def set_aside(
    kept: Sequence[int], total: int, reason: str, among: Sequence[int] | None = None
) -> tuple[Caveat, ...]:
    """A caveat that names the windows that were not kept, or none."""
    lost = sorted(set(range(total) if among is None else among) - set(kept))
    if not lost:
        return ()
    return (Caveat("windows-set-aside", reason=reason, numbers=[p + 1 for p in lost], n_windows=total),)


def require_some(kept: Sequence[int], total: int, caveats: Sequence[Caveat]) -> None:
    """Refuse to go on without a window."""
    if not kept:
        raise DegenerateDataError(
            f"none of the {total} windows can be used ({'; '.join(map(str, caveats))}): give more or longer "
            "windows, or a fixed distance"
        )


def _dual(of: Grid, auc: float, number: int) -> float:
    try:
        return auc_distance(of.sample, carried(auc, of.auc, area(of.sample)))
    except DegenerateDataError as error:
        raise DegenerateDataError(f"window {number}: {error}") from error


def _rests(reference: Sample, windows: Sequence[Sample]) -> list[Grid | None] | None:
    """The reference without each window, None where it lacks a class then; or None: they are no parts."""
    cut = _Cut(reference)
    rests: list[Grid | None] = []
    for window in windows:
        at = cut.take(window)
        if at is None:
            return None
        rests.append(cut.rest(window, at))
    return rests


class _Cut:
    """A reference from which windows are taken: all of them together for the check, each for its rest."""

    def __init__(self, reference: Sample) -> None:
        self._reference = reference
        self._left_pos, self._left_neg = reference.pos.copy(), reference.neg.copy()
        self._below, self._above = placements(reference)
        self._pairs = float(
            np.sum(reference.pos * self._below)
        )  # in the right order; multiples of 1/2, exact
        self._exact = len(reference.score) <= EXACT_DISTANCES
        self._starts = cell_starts(reference, EXACT_DISTANCES if self._exact else CELLS)
        self._sample = reference if self._exact else joined(reference, self._starts)

    def take(self, window: Sample) -> Places | None:
        """Where the window's scores are in the reference; None if what is left of it does not hold them."""
        score = self._reference.score
        at = np.searchsorted(score, window.score)
        if len(at) and (at[-1] == len(score) or (score[at] != window.score).any()):
            return None
        self._left_pos[at] -= window.pos
        self._left_neg[at] -= window.neg
        short = (self._left_pos[at] < 0).any() or (self._left_neg[at] < 0).any()
        return None if short else at

    def rest(self, window: Sample, at: Places) -> Grid | None:
        """The whole reference less the window."""
        n_pos, n_neg = self._reference.n_pos - window.n_pos, self._reference.n_neg - window.n_neg
        if not (n_pos and n_neg):
            return None
        cell = np.searchsorted(self._starts, at, side="right") - 1
        pos = self._sample.pos - add_up(cell, window.pos, len(self._starts))
        neg = self._sample.neg - add_up(cell, window.neg, len(self._starts))
        rest = Sample.from_counts(self._sample.score, pos, neg)
        if self._exact:
            return Grid(rest, area(rest))
        lost = float(np.sum(window.pos * self._below[at]) + np.sum(window.neg * self._above[at]))
        within = area(window) * window.n_pos * window.n_neg if window.n_pos and window.n_neg else 0.0
        return Grid(rest, (self._pairs - lost + within) / (float(n_pos) * n_neg))
