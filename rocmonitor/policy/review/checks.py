"""Every window as a look: what it shows by itself, and the confidence sequences over all looks so far.

In this package the challenger comes first in every pair, so that first minus second is challenger minus
champion; `rocmonitor.policy.review.comparison.compare` turns the pairs round once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from math import inf
from typing import Any

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.policy.windows import Window
from rocmonitor.stats import (
    AucDifference,
    ConfidenceSequence,
    PairedSample,
    auc,
    compare_auc_paired,
    confidence_sequence,
    vertical_difference,
)

THRESHOLDS = 200
"""Most thresholds of a model that enter the law at a rate: its ends move by less than 1 % of its length."""

NEAR = 0.1
"""A window has a rate when one of the r / n_neg lies within this share of it."""

Row = dict[str, Any]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One window, by itself.

    Attributes
    ----------
    window : Window
    n_pos, n_neg : int
        Rows that both models scored.
    areas : tuple of float or None
        AUROC of the challenger and of the champion; None without two rows of each class.
    difference : AucDifference or None
        None where it has no standard error.
    rates : dict of float to (float, float)
        TPR difference and its standard error, at each rate at which the window is a look.
    why_not : str
        Why the window is no look; empty if it is one.
    """

    window: Window
    n_pos: int
    n_neg: int
    areas: tuple[float, float] | None = None
    difference: AucDifference | None = None
    rates: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    why_not: str = ""

    @property
    def weight(self) -> float:
        """What the window counts beside others: by its rows alone, whatever they show."""
        return self.n_pos * self.n_neg / (self.n_pos + self.n_neg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One comparison, followed over its looks.

    Attributes
    ----------
    fpr : float or None
        At which the TPR is compared; None: the AUROC is.
    numbers : tuple of int
        The windows that are looks, counted from 0.
    sequence : ConfidenceSequence or None
        One entry for each of `numbers`; None without any.
    """

    fpr: float | None
    numbers: tuple[int, ...]
    sequence: ConfidenceSequence | None

    @property
    def name(self) -> str:
        """What is compared, for people."""
        return "AUROC" if self.fpr is None else f"TPR at FPR {self.fpr:g}"

    @property
    def estimate(self) -> float | None:
        """The difference over all looks; None without any."""
        return None if self.sequence is None else float(self.sequence.estimate[-1])

    @property
    def better(self) -> str:
        """Who is shown to be better after all looks: ``challenger``, ``champion`` or nobody."""
        low, high = self.bounds()
        return "challenger" if low > 0 else "champion" if high < 0 else ""

    def bounds(self, number: float = inf) -> tuple[float, float]:
        """Where the mean difference is known to lie after window `number`, by default after all.

        Anywhere before the first look.
        """
        look = bisect_right(self.numbers, number) - 1
        if self.sequence is None or look < 0:
            return -inf, inf
        return float(self.sequence.low[look]), float(self.sequence.high[look])


def take_looks(
    windows: Sequence[tuple[Window, PairedSample]], settings: ReviewSettings, progress: Progress
) -> list[Look]:
    """What each window shows by itself.

    Notes
    -----
    Cost of a window with n rows: O(n), and for each rate O(n + w² sqrt(n)), w at most `THRESHOLDS`.
    """
    looks = []
    step = max(1, len(windows) // 10)
    for number, (window, pair) in enumerate(windows):
        if number % step == 0:
            progress(f"window {number + 1} of {len(windows)}")
        looks.append(_look(window, pair, settings))
    return looks


def follow(looks: Sequence[Look], settings: ReviewSettings) -> tuple[Track, ...]:
    """The confidence sequences of the rule: the AUROC's first, then one for each rate."""
    rule = settings.rule
    alpha = (1 - rule.confidence_level) / (2 if rule.fpr else 1)
    areas = {
        number: (look.difference.difference, look.difference.se)
        for number, look in enumerate(looks)
        if look.difference is not None and not look.why_not
    }
    tracks = [_track(None, looks, areas, 1 - alpha, rule.tuned_for)]
    for fpr in rule.fpr:
        rates = {number: look.rates[fpr] for number, look in enumerate(looks) if fpr in look.rates}
        tracks.append(_track(fpr, looks, rates, 1 - alpha / len(rule.fpr), rule.tuned_for))
    return tuple(tracks)


def windows_table(looks: Sequence[Look], area: Track, confidence_level: float) -> list[Row]:
    """One row a window: by itself, and the sequence after it where it was a look."""
    return [_row(number, look, area, confidence_level) for number, look in enumerate(looks)]


def looks_caveats(looks: Sequence[Look], tracks: Sequence[Track]) -> list[str]:
    """Windows that are no look, at one rate or at all, and what the sequences over the others say."""
    caveats = []
    seen = sum(not look.why_not for look in looks)
    if missed := len(looks) - seen:
        caveats.append(f"{missed} of {len(looks)} windows are no look; the table of windows says why")
    for track in tracks:
        if track.fpr is not None and (missed := seen - len(track.numbers)):
            caveats.append(
                f"{missed} of {seen} looks are none at FPR {track.fpr:g}: they have no rate within "
                f"{NEAR:.0%} of it, or a model gave all rows one score"
            )
        if track.sequence is not None:
            caveats += [f"{track.name}, all looks: {caveat}" for caveat in track.sequence.caveats]
    return caveats


def _look(window: Window, pair: PairedSample, settings: ReviewSettings) -> Look:
    least = max(settings.min_per_class, 2)
    smallest = min(pair.n_pos, pair.n_neg)
    few = f"{pair.n_pos:,} positives and {pair.n_neg:,} negatives: fewer than {least:,} of a class"
    look = Look(window=window, n_pos=pair.n_pos, n_neg=pair.n_neg, why_not=few if smallest < least else "")
    if smallest < 2:
        return look
    look = replace(look, areas=(auc(pair.first).auc, auc(pair.second).auc))
    try:
        difference = compare_auc_paired(pair)
    except DegenerateDataError as error:  # the same difference in every row
        return replace(look, why_not=look.why_not or str(error))
    return replace(look, difference=difference, rates={} if look.why_not else _rates(pair, settings.rule.fpr))


def _rates(pair: PairedSample, fprs: Sequence[float]) -> dict[float, tuple[float, float]]:
    """TPR differences and their standard errors at the rates that the window has."""
    near = [fpr for fpr in fprs if has_rate(pair.n_neg, fpr)]
    if not near or one_score(pair):
        return {}
    found = vertical_difference(pair, near, max_thresholds=THRESHOLDS)
    values = zip(found.dtpr.tolist(), found.dtpr_se.tolist(), strict=True)
    return dict(zip(near, values, strict=True))


def has_rate(n_neg: int, fpr: float) -> bool:
    """Whether a rate r / n_neg, r = 1…n_neg - 1, lies near enough."""
    r = min(max(round(fpr * n_neg), 1), n_neg - 1)
    return abs(r / n_neg - fpr) <= NEAR * fpr


def one_score(pair: PairedSample) -> bool:
    """Whether a model gives all rows one score, so that it has no curve."""
    return min(len(pair.first.score), len(pair.second.score)) == 1


def so_far(track: Track) -> Row:
    """The columns of a track after all looks; None where nothing is known."""
    low, high = track.bounds()
    known = low > -inf
    return {
        "so_far": track.estimate,
        "always_low": low if known else None,
        "always_high": high if known else None,
        "better": track.better,
    }


def _track(
    fpr: float | None,
    looks: Sequence[Look],
    found: Mapping[int, tuple[float, float]],
    confidence_level: float,
    tuned_for: int,
) -> Track:
    sequence = None
    if found:
        estimates, errors = zip(*found.values(), strict=True)
        sequence = confidence_sequence(
            estimates,
            errors,
            confidence_level=confidence_level,
            tuned_for=tuned_for,
            weights=[looks[number].weight for number in found],
        )
    return Track(fpr=fpr, numbers=tuple(found), sequence=sequence)


def _row(number: int, look: Look, area: Track, confidence_level: float) -> Row:
    row: Row = {
        "start": look.window.start.astimezone(UTC).isoformat(),
        "end": look.window.end.astimezone(UTC).isoformat(),
        "rows": look.n_pos + look.n_neg,
        "n_pos": look.n_pos,
        "n_neg": look.n_neg,
        "champion_auc": None if look.areas is None else look.areas[1],
        "challenger_auc": None if look.areas is None else look.areas[0],
        **dict.fromkeys(("difference", "se", "low", "high", "so_far", "always_low", "always_high", "pvalue")),
        "looked": not look.why_not,
        "why_not": look.why_not,
    }
    if look.difference is not None:
        low, high = look.difference.ci(confidence_level)
        row |= {"difference": look.difference.difference, "se": look.difference.se, "low": low, "high": high}
    if number in area.numbers and area.sequence is not None:
        at, known = area.numbers.index(number), area.sequence
        values = (known.estimate[at], known.low[at], known.high[at], known.pvalue[at])
        names = ("so_far", "always_low", "always_high", "pvalue")
        row |= {name: float(value) for name, value in zip(names, values, strict=True)}
    return row
