"""A review in words: the summary, the advice, and a warning where the scales of the scores differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from statistics import median

import numpy as np
from numpy.typing import NDArray

from rocmonitor.policy.review.checks import Look, Row, Track
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.ruling import Ruling
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.policy.review.thresholds import flagged_shares
from rocmonitor.stats import PairedSample, Sample

LARGEST = 520
"""Further windows beyond which the advice says only that they are too many."""

_DAY, _WEEK, _YEAR = timedelta(days=1), timedelta(days=7), timedelta(days=365)


def summary(
    ruling: Ruling,
    tracks: Sequence[Track],
    looks: Sequence[Look],
    areas: tuple[float, float],
    regions: Sequence[Row],
    settings: ReviewSettings,
) -> str:
    """Why it is decided so, with its numbers; `areas` are those of the period, challenger first.

    It is read below the decision, and does not repeat it.
    """
    seen = (
        f"In all rows of the period together the AUROC is {areas[0]:.4f} for the challenger and "
        f"{areas[1]:.4f} for the champion."
    )
    if tracks[0].sequence is None:
        return f"None of {len(looks)} windows is a look ({looks[0].why_not}). {seen}"
    if ruling.decision is Decision.TRADE_OFF:
        return f"{_trade_off(ruling, regions)} {seen}"
    others = [track for track in (*ruling.challenger, *ruling.champion) if track.fpr is not None]
    also = f" Also shown: {_by(others)}." if others else ""
    margin = settings.rule.margin
    if ruling.decision is Decision.UNDECIDED:
        wanted = f"a difference beyond the margin of {margin:g}" if margin else "which model is better"
        told = f"The AUROC does not show {wanted}: {_difference(tracks[0])}."
        return f"{told}{_withdrawn(ruling, len(looks))}{also} {seen}"
    beyond = f", beyond the margin of {margin:g}" if margin else ""
    since = f"so since window {(ruling.number or 0) + 1} of {len(looks)}"
    return f"The AUROC shows it: {_difference(tracks[0])}{beyond}; {since}.{also} {seen}"


def advice(
    ruling: Ruling, area: Track, looks: Sequence[Look], further: int | None, settings: ReviewSettings
) -> str:
    """What is to be expected of more windows; `further` of them would decide, None: more than `LARGEST`."""
    if ruling.decision is Decision.TRADE_OFF:
        return (
            "Choose by the false positive rate at which the model is used (table of rates); more windows "
            "make the regions sharper and seldom remove a trade-off."
        )
    if ruling.decision is not Decision.UNDECIDED:
        return (
            "Further looks cost nothing. The decision stands while the windows so far bear it out: one that "
            "is unlike the others widens the interval."
        )
    if area.sequence is None or area.estimate is None:
        return (
            "The table of windows says why none is a look. Where rows are too few, make the windows longer "
            "(window.every) or min_per_class smaller, and see whether both models score the same rows."
        )
    seems = f"if the difference is what it seems, {area.estimate:+.4f}"
    if further is not None:
        return (
            f"Another {_windows(further, looks)} like these would decide, {seems}; by chance it may take "
            "fewer or more."
        )
    if abs(area.estimate) <= settings.rule.margin > 0:
        return (
            f"No number of windows would decide, {seems}: it is within the margin of "
            f"{settings.rule.margin:g}. Whatever else speaks for one of the two may decide."
        )
    return (
        f"More than {LARGEST} further windows like these would be needed, {seems}: the models hardly "
        "differ, and whatever else speaks for one of the two may decide."
    )


def scale_caveats(pair: PairedSample, thresholds: Sequence[float]) -> list[str]:
    """Says where scores, or what a given threshold does, plainly differ between the models."""
    way_out = "compare them where they flag equally many rows, or once calibrated"
    (low_1, high_1), (low_2, high_2) = _middle(pair.first), _middle(pair.second)
    if low_1 > high_2 or low_2 > high_1:
        return [
            "the two models' scores are on different scales: half of the challenger's lie within "
            f"{low_1:.4g} to {high_1:.4g}, half of the champion's within {low_2:.4g} to {high_2:.4g}; "
            f"{way_out}"
        ]
    caveats = []
    if thresholds:
        shares = zip(
            thresholds,
            flagged_shares(pair.first, thresholds).tolist(),
            flagged_shares(pair.second, thresholds).tolist(),
            strict=True,
        )
        caveats = [
            f"at the given threshold {threshold:g} the challenger flags {first:.1%} of the rows and the "
            f"champion {second:.1%}: their scores may be on different scales; {way_out}"
            for threshold, first, second in shares
            if max(first, second) > 2 * min(first, second) and abs(first - second) > 0.01
        ]
    return caveats


def _difference(track: Track) -> str:
    low, high = track.bounds()
    looks = f"{len(track.numbers)} {'look' if len(track.numbers) == 1 else 'looks'}"
    mean = f"the windows' mean difference is {track.estimate:+.4f}"
    if (low, high) == (-1, 1):
        return f"{mean}, which {looks} cannot bound yet"
    return f"{mean}, over all of {looks} {low:+.4f} to {high:+.4f}"


def _withdrawn(ruling: Ruling, windows: int) -> str:
    if ruling.withdrawn is None:
        return ""
    decision, last = ruling.withdrawn
    return f" Up to window {last + 1} of {windows} it was “{decision}”; what came after took that back."


def _trade_off(ruling: Ruling, regions: Sequence[Row]) -> str:
    by = _by([*ruling.challenger, *ruling.champion])
    text = f"{by[0].upper()}{by[1:]}."
    whose = {
        better: [_rates(row["from_fpr"], row["to_fpr"]) for row in regions if row["better"] == better]
        for better in ("challenger", "champion")
    }
    told = [f"the {better} has FPR {' and '.join(parts)}" for better, parts in whose.items() if parts]
    if not told:
        return text
    return f"{text} By the band of this look alone {' and '.join(told)}."


def _rates(low: float, high: float) -> str:
    one, other = f"{low:.3g}", f"{high:.3g}"
    return one if one == other else f"{one} to {other}"


def _by(tracks: Sequence[Track]) -> str:
    """Who is better by which comparisons, with their intervals over all looks."""
    parts = []
    for better in ("challenger", "champion"):
        shown = [
            f"{track.name} ({track.estimate:+.4f}; {track.bounds()[0]:+.4f} to {track.bounds()[1]:+.4f})"
            for track in tracks
            if track.better == better
        ]
        if shown:
            parts.append(f"the {better} is better by {', '.join(shown)}")
    return "; ".join(parts)


def _windows(number: int, looks: Sequence[Look]) -> str:
    """So many windows, and how long they take."""
    named = f"{number} window{'' if number == 1 else 's'}"
    length: timedelta = median((look.window.end - look.window.start) / _DAY for look in looks) * number * _DAY
    if length >= 2 * _YEAR:
        return f"{named} (about {length / _YEAR:.1f} years)"
    if length >= 2 * _WEEK:
        return f"{named} (about {length / _WEEK:.0f} weeks)"
    if length >= _DAY:
        days = round(length / _DAY)
        return f"{named} (about {days} day{'' if days == 1 else 's'})"
    return f"{named} (about {length / timedelta(hours=1):.1f} hours)"


def _middle(sample: Sample) -> tuple[float, float]:
    """The quartiles of the scores."""
    below: NDArray[np.int64] = np.cumsum(sample.pos + sample.neg)
    first, third = np.searchsorted(below, [0.25 * below[-1], 0.75 * below[-1]])
    return float(sample.score[first]), float(sample.score[third])
