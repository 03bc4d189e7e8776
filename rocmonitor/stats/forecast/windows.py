"""Past windows against their reference: which can be used, and the signed root distance of each.

A window that is part of the reference is taken out of it first. Where the reference has many scores,
distances are found on joined cells; the AUCs that they lead to are exact all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import WHY_SET_ASIDE
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.delong import placements
from rocmonitor.stats.forecast.distance import (
    EXACT_DISTANCES,
    JOINED_CELLS,
    Window,
    cell_starts,
    fewer,
    joined,
    window_distances,
)
from rocmonitor.stats.forecast.kld import area, auc_distance
from rocmonitor.stats.rows import Floats, add_up, number_list, places_among, require_all
from rocmonitor.stats.sample import Sample

Places = NDArray[np.intp]


class CoarseSample(NamedTuple):
    """A sample for distances: few scores, and the AUC of all its rows."""

    sample: Sample
    auc: float


class UsedWindows(NamedTuple):
    """The windows that can be used."""

    kept: tuple[int, ...] = ()  # their positions in what was given
    distances: tuple[float, ...] = ()  # the smallest at which the reference has the statistic of each
    shifts: tuple[float, ...] = ()  # its root, sqrt(2 D), negative where the window's statistic is lower
    inside: bool = False  # whether each was taken out of the reference
    caveats: tuple[Caveat, ...] = ()  # which were set aside, and why


def used_windows(
    reference: Sample, windows: list[Sample], method: str, symmetric: bool, inside: bool | None
) -> UsedWindows:
    """Return the windows that a method uses; "fixed" uses none, and "bootstrap" only their sizes."""
    if method in ("calibrated", "dual"):
        return past_windows(reference, windows, take_out=method == "calibrated", inside=inside)
    if not windows:
        return UsedWindows()
    kept, caveats = _both_classes(windows)
    if method == "bootstrap":
        return UsedWindows(kept, caveats=caveats)
    distances = window_distances(reference, [windows[place] for place in kept], symmetric=symmetric)
    return UsedWindows(kept, tuple(distances.tolist()), caveats=caveats)


def past_windows(
    reference: Sample, windows: Sequence[Sample], *, take_out: bool, inside: bool | None = None
) -> UsedWindows:
    """Return the dual distances of all windows with both classes, parts taken out if `take_out`."""
    rest = resting(reference, windows, inside=inside) if take_out else None
    whole = CoarseSample(fewer(reference, EXACT_DISTANCES), area(reference)) if rest is None else None

    def root(place: int) -> tuple[float, float]:
        origin = whole if rest is None else rest(place)
        assert origin is not None
        auc = area(windows[place])
        try:
            distance = auc_distance(origin.sample, carried(auc, origin.auc, area(origin.sample)))
        except DegenerateDataError as error:
            raise DegenerateDataError(f"window {place + 1}: {error}") from error
        return distance, math.copysign(math.sqrt(2 * distance), auc - origin.auc)

    return past_of(reference, windows, root, inside=rest is not None)


def past_of(
    reference: Window, windows: Sequence[Window], root: Callable[[int], tuple[float, float]], *, inside: bool
) -> UsedWindows:
    """Return the windows with both classes, and with both left in the reference, with the `root` of each."""
    kept, caveats = _both_classes(windows)
    if inside:
        n_pos, n_neg = reference.n_pos, reference.n_neg
        left = tuple(place for place in kept if windows[place].n_pos < n_pos and windows[place].n_neg < n_neg)
        caveats = _set_aside(left, kept, len(windows), "rest-has-one-class", caveats)
        kept = left
    distances, shifts = zip(*map(root, kept), strict=True)
    return UsedWindows(kept, distances, shifts, inside, caveats)


def contained(
    reference: Any,
    windows: Sequence[Window],
    places: Callable[[Window], Places | None],
    *,
    inside: bool | None = None,
) -> list[Places] | None:
    """Return the `places` of the cells of each window; None: the windows are no parts of the reference.

    `reference` has the counts `pos` and `neg`, whose places these are. `inside` says whether they are parts;
    None: they are if all together are contained in it.
    """
    if inside is False:
        return None
    parts: list[Places] = []
    for window in windows:
        if (at := places(window)) is None:
            break
        parts.append(at)
    are_parts = len(parts) == len(windows)
    if are_parts:
        everywhere, none = np.concatenate([np.zeros(0, dtype=np.intp), *parts]), np.zeros(0, dtype=np.int64)
        pos = np.concatenate([none, *(window.pos for window in windows)])
        neg = np.concatenate([none, *(window.neg for window in windows)])
        are_parts = not any(
            (add_up(everywhere, counts, len(there)) > there).any()
            for there, counts in ((reference.pos, pos), (reference.neg, neg))
        )
    if inside and not are_parts:
        raise InputError(
            "inside=True says that the windows are parts of the reference, but together they have rows that "
            "it does not have: give the reference that was merged from them, or inside=False"
        )
    return parts if are_parts else None


def found_in(score: Floats, other: Floats) -> Places | None:
    """Return the positions of some increasing scores among others, None unless all are there."""
    at = places_among(score, other)
    return None if len(at) and (at[-1] == len(score) or (score[at] != other).any()) else at


def resting(
    reference: Sample, windows: Sequence[Sample], *, inside: bool | None = None
) -> Callable[[int], CoarseSample] | None:
    """Return a function of a window's number: the reference without it. None: they are no parts."""
    parts = contained(
        reference, windows, lambda window: found_in(reference.score, window.score), inside=inside
    )
    if parts is None:
        return None
    exact = len(reference.score) <= EXACT_DISTANCES
    starts = cell_starts(reference, EXACT_DISTANCES if exact else JOINED_CELLS)
    few = reference if exact else joined(reference, starts)
    below, above = placements(reference)
    pairs = float(np.sum(reference.pos * below))  # in the right order; multiples of 1/2, exact

    def rest(place: int) -> CoarseSample:
        window, at = windows[place], parts[place]
        cuts = np.append(np.searchsorted(at, starts), len(at))  # of the window, where cells begin
        pos, neg = (np.diff(np.append(0, np.cumsum(counts))[cuts]) for counts in (window.pos, window.neg))
        left = Sample.from_counts(few.score, few.pos - pos, few.neg - neg)
        if exact:
            return CoarseSample(left, area(left))
        lost = float(np.sum(window.pos * below[at]) + np.sum(window.neg * above[at]))
        within = area(window) * window.n_pos * window.n_neg if window.n_pos and window.n_neg else 0.0
        return CoarseSample(left, (pairs - lost + within) / (float(left.n_pos) * left.n_neg))

    return rest


def carried(auc: float, own: float, to: float) -> float:
    """Return an AUC moved from `own` to `to`, keeping its share of the way to 0 or to 1."""
    if auc == own or own == to:
        return to if auc == own else auc
    return 1 - (1 - auc) * ((1 - to) / (1 - own)) if auc > own else auc * (to / own)


def valid_weights(weights: ArrayLike, n: int, kept: Sequence[int]) -> Floats:
    """Weights of the windows that are kept of `n`."""
    values = number_list(weights, "weights")
    if len(values) != n:
        raise InputError(f"weights must be one number for each of the {n} windows; there are {len(values)}")
    within = (values >= 0) & (values <= 1)
    require_all(within, "weights", "lie within [0, 1]", "1 is what the coming window weighs")
    used: Floats = values[list(kept)]
    if not used.any():
        raise InputError("weights are all 0 on the windows that can be used; give one of them a weight")
    return used


def _both_classes(windows: Sequence[Window]) -> tuple[tuple[int, ...], tuple[Caveat, ...]]:
    kept = tuple(place for place, window in enumerate(windows) if min(window.n_pos, window.n_neg))
    return kept, _set_aside(kept, range(len(windows)), len(windows), "one-class")


def _set_aside(
    kept: Sequence[int], among: Sequence[int], total: int, reason: str, before: tuple[Caveat, ...] = ()
) -> tuple[Caveat, ...]:
    """Return the caveats, with one on the windows that are set aside; refuse to set all of them aside."""
    caveats = before
    if lost := [place + 1 for place in among if place not in kept]:
        caveats += (Caveat("windows-set-aside", reason=reason, numbers=lost, n_windows=total),)
    if not kept:
        aside = [caveat.values for caveat in caveats if caveat.code == "windows-set-aside"]
        why = [f"{len(values['numbers'])} {WHY_SET_ASIDE[values['reason']]}" for values in aside]
        raise DegenerateDataError(
            f"none of the {total} windows can be used ({', '.join(why)}): give more or longer windows, or a "
            "fixed distance"
        )
    return caveats
