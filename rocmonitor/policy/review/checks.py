"""Each window is one check: what it shows by itself, and the confidence sequences over all checks.

In every pair the challenger comes first, so that first minus second is challenger minus champion.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial
from math import inf

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.measure import shows_no_scatter
from rocmonitor.policy.record import HasCaveats, Row, caveats_of
from rocmonitor.policy.review.document import Comparison, Decision
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.policy.windows import Window
from rocmonitor.stats import (
    AucDifference,
    ConfidenceSequence,
    PairedSample,
    auc,
    auc_sequence,
    compare_auc_paired,
    confidence_sequence,
    vertical_difference,
)

THRESHOLDS = 200
"""Most thresholds per model used for a rate: the interval's ends move by less than 1 % of its length."""

NEAR = 0.1
"""A window has a rate if one of the r / n_neg lies within this share of it."""

TOO_FEW = "too-few-rows"
"""Why there is no comparison: a class has fewer rows than `min_per_class`."""

NO_SCATTER = "no-standard-error"
"""Why there is no comparison: every row shows the same difference."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One window by itself."""

    window: Window
    n_pos: int  # that both models scored, as n_neg
    n_neg: int
    areas: tuple[float, float] | None = None  # challenger, champion; None without two rows of each class
    difference: AucDifference | None = None  # None where it has no standard error
    rates: Mapping[float, tuple[float, float]] = field(default_factory=dict)
    """TPR difference and its standard error, at each rate that the window has."""
    why_not: str = ""  # `TOO_FEW` or `NO_SCATTER`; empty if it is checked

    @property
    def rows(self) -> int:
        """The number of rows that both models scored."""
        return self.n_pos + self.n_neg

    @property
    def precision(self) -> float:
        """The number of rows that the window's precision goes with: smaller if one class is rare."""
        return self.n_pos * self.n_neg / self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One comparison of the rule, tracked over the checks."""

    fpr: float | None  # the rate at which the TPR is compared; None: the AUROC is
    numbers: tuple[int, ...]  # the windows in which it was checked, counted from 0
    sequence: ConfidenceSequence | None  # one entry for each of `numbers`; None without any

    def bounds(self, number: float = inf) -> tuple[float, float]:
        """Return the interval of the mean difference after window `number`, by default after all.

        Infinite before the first check.
        """
        check = bisect_right(self.numbers, number) - 1
        if self.sequence is None or check < 0:
            return -inf, inf
        return float(self.sequence.low[check]), float(self.sequence.high[check])

    @property
    def result(self) -> Comparison:
        """The comparison after all checks."""
        low, high = self.bounds()
        return Comparison(
            fpr=self.fpr,
            estimate=None if self.sequence is None else float(self.sequence.estimate[-1]),
            low=None if self.sequence is None else low,
            high=None if self.sequence is None else high,
            checks=len(self.numbers),
            better="challenger" if low > 0 else "champion" if high < 0 else "",
        )


def check_windows(
    windows: Sequence[tuple[Window, PairedSample]], settings: ReviewSettings, progress: Progress
) -> list[Check]:
    """Return what each window shows by itself.

    Notes
    -----
    Cost of a window with n rows: O(n), and for each rate O(n + w² sqrt(n)), w at most `THRESHOLDS`.
    """
    checks = []
    step = max(1, len(windows) // 10)
    for number, (window, pair) in enumerate(windows):
        if number % step == 0:
            progress(f"window {number + 1} of {len(windows)}")
        checks.append(_check(window, pair, settings))
    return checks


def track_comparisons(checks: Sequence[Check], settings: ReviewSettings) -> tuple[Track, ...]:
    """Return the confidence sequences of the rule: the AUROC's first, then one for each rate."""
    rule, by_number = settings.rule, checked(checks)
    alpha = (1 - rule.confidence_level) / (2 if rule.fpr else 1)
    if rule.decides == "period" and by_number:  # few rows of all windows together widen its interval
        sequence = auc_sequence(
            tuple(by_number.values()),
            confidence_level=1 - alpha,
            tuned_for=rule.tuned_for,
            weights=[checks[number].rows for number in by_number],
        )
        tracks = [Track(fpr=None, numbers=tuple(by_number), sequence=sequence)]
    else:  # the scatter between windows shows how far they can lie apart
        areas = {number: (area.difference, area.se) for number, area in by_number.items()}
        tracks = [_track(None, checks, areas, 1 - alpha, rule)]
    for fpr in rule.fpr:
        rates = {number: check.rates[fpr] for number, check in enumerate(checks) if fpr in check.rates}
        tracks.append(_track(fpr, checks, rates, 1 - alpha / len(rule.fpr), rule))
    return tuple(tracks)


def checked(checks: Sequence[Check]) -> dict[int, AucDifference]:
    """Return the AUROC difference of each window that is checked, by its number."""
    return {
        number: check.difference
        for number, check in enumerate(checks)
        if check.difference is not None and not check.why_not
    }


def windows_table(checks: Sequence[Check], area: Track, confidence_level: float) -> list[Row]:
    """One row for each window: its own numbers, and the confidence sequence after it if it was checked."""
    table = []
    for number, check in enumerate(checks):
        row: Row = {
            "start": check.window.start.astimezone(UTC).isoformat(),
            "end": check.window.end.astimezone(UTC).isoformat(),
            "rows": check.rows,
            "n_pos": check.n_pos,
            "n_neg": check.n_neg,
            "champion_auc": None if check.areas is None else check.areas[1],
            "challenger_auc": None if check.areas is None else check.areas[0],
            **dict.fromkeys(("difference", "se", "low", "high")),
            **dict.fromkeys(("running_mean", "anytime_low", "anytime_high", "pvalue")),
            "checked": not check.why_not,
            "why_not": check.why_not,
        }
        if difference := check.difference:
            low, high = difference.ci(confidence_level)
            row |= {"difference": difference.difference, "se": difference.se, "low": low, "high": high}
        if number in area.numbers and area.sequence is not None:
            at, sequence = area.numbers.index(number), area.sequence
            values = (sequence.estimate[at], sequence.low[at], sequence.high[at], sequence.pvalue[at])
            names = ("running_mean", "anytime_low", "anytime_high", "pvalue")
            row |= {name: float(value) for name, value in zip(names, values, strict=True)}
        table.append(row)
    return table


def checks_caveats(checks: Sequence[Check], tracks: Sequence[Track]) -> list[Caveat]:
    """Windows that are not checked, at one rate or at all, and the caveats of the sequences."""
    caveats = []
    compared = sum(not check.why_not for check in checks)
    if missed := len(checks) - compared:
        caveats.append(Caveat("windows-not-checked", count=missed, total=len(checks)))
    for track in tracks:
        if track.fpr is not None and (missed := compared - len(track.numbers)):
            caveats.append(Caveat("rate-not-checked", fpr=track.fpr, count=missed, total=compared, near=NEAR))
        if track.sequence is not None:
            name = "AUROC" if track.fpr is None else f"TPR at FPR {track.fpr:g}"
            caveats += part_caveats(track.sequence, f"{name}, all checks")
    return caveats


def part_caveats(result: HasCaveats, part: str) -> list[Caveat]:
    """Return the caveats of a statistic as those of a part; its first model is the challenger."""
    models = {"first": "challenger", "second": "champion"}
    return [
        caveat.replacing(model=models[caveat.values["model"]])
        if caveat.values.get("model") in models
        else caveat
        for caveat in caveats_of(result, part)
    ]


def too_few(pair: PairedSample, min_per_class: int) -> bool:
    """Return True if a class has too few rows to be compared."""
    return min(pair.n_pos, pair.n_neg) < min_per_class or shows_no_scatter(pair)


def _check(window: Window, pair: PairedSample, settings: ReviewSettings) -> Check:
    why_not = TOO_FEW if too_few(pair, settings.min_per_class) else ""
    check = Check(window=window, n_pos=pair.n_pos, n_neg=pair.n_neg, why_not=why_not)
    if shows_no_scatter(pair):
        return check
    check = replace(check, areas=(auc(pair.first).auc, auc(pair.second).auc))
    try:
        difference = compare_auc_paired(pair)
    except DegenerateDataError:  # the same difference in every row
        return replace(check, why_not=why_not or NO_SCATTER)
    near, rates = list[float](), dict[float, tuple[float, float]]()  # that the window has
    for fpr in () if why_not else settings.rule.fpr:
        r = min(max(round(fpr * pair.n_neg), 1), pair.n_neg - 1)
        if abs(r / pair.n_neg - fpr) <= NEAR * fpr:
            near.append(fpr)
    if near and not has_constant_scores(pair):
        # The design effect is known for the AUROC, and taken for the points of its curve.
        effect = difference.design_effect
        worth = 1.0 if effect is None else math.sqrt(max(effect, 1.0))
        tpr = vertical_difference(pair, near, max_thresholds=THRESHOLDS)
        values = zip(near, tpr.dtpr.tolist(), tpr.dtpr_se.tolist(), strict=True)
        rates = {fpr: (value, worth * se) for fpr, value, se in values}
    return replace(check, difference=difference, rates=rates)


def has_constant_scores(pair: PairedSample) -> bool:
    """Return True if a model gives all rows one score, so that it has no curve."""
    return min(len(pair.first.score), len(pair.second.score)) == 1


def _track(
    fpr: float | None,
    checks: Sequence[Check],
    by_number: Mapping[int, tuple[float, float]],
    confidence_level: float,
    rule: ReviewRule,
) -> Track:
    sequence = None
    if by_number:
        estimates, errors = zip(*by_number.values(), strict=True)
        period = rule.decides == "period"
        sequence_of = partial(
            confidence_sequence,
            estimates,
            errors,
            confidence_level=confidence_level,
            tuned_for=rule.tuned_for,
            weights=[checks[number].rows if period else checks[number].precision for number in by_number],
            estimand=rule.decides,
        )
        sequence = sequence_of(correlation="none" if period else rule.correlation)
        caveats = list(sequence.caveats)
        for at, caveat in enumerate(caveats):
            if caveat.code == "windows-correlated":  # with the interval that would allow for it
                allowing = sequence_of(correlation="estimated")
                series = {"low": allowing.low, "high": allowing.high, "pvalue": allowing.pvalue}
                allowance = {name: float(values[-1]) for name, values in series.items()}
                caveats[at] = Caveat(caveat.code, **caveat.values, **allowance)
        sequence = replace(sequence, caveats=tuple(caveats))
    return Track(fpr=fpr, numbers=tuple(by_number), sequence=sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The decision by the rule after the last window."""

    decision: Decision
    number: int | None  # the window since which it has stood, counted from 0; None without a decision


def rule_on(tracks: Sequence[Track], margin: float, windows: int) -> Ruling:
    """Return the decision after the last window, and since which window it has stood.

    The track of the AUROC comes first. `margin` is the smallest AUROC difference that matters. A trade-off
    needs none: any difference that is shown contradicts one in favour of the other model.

    With the rule's confidence level all sequences contain the truth at all checks together, so that ruling
    again after each costs nothing. Later windows may differ from earlier ones: a decision stands as long as
    the windows so far support it.
    """
    decisions = [_decided([track.bounds(number) for track in tracks], margin) for number in range(windows)]
    final = decisions[-1]
    # The last window after which it was otherwise.
    other = next((i for i in reversed(range(windows)) if decisions[i] is not final), None)
    since = 0 if other is None else other + 1
    return Ruling(decision=final, number=None if final is Decision.UNDECIDED else since)


def blocked_by_few(tracks: Sequence[Track], margin: float) -> list[Caveat]:
    """Return a caveat if the allowance for rows that the windows may lack keeps the rule from a decision."""
    sequence = tracks[0].sequence
    bounds = [track.bounds() for track in tracks]
    if sequence is None or _decided(bounds, margin) is not Decision.UNDECIDED:
        return []
    low, high = bounds[0]
    low, high = low + float(sequence.unseen_low[-1]), high - float(sequence.unseen_high[-1])
    if _decided([(low, high), *bounds[1:]], margin) is Decision.UNDECIDED:
        return []
    few = [caveat for caveat in sequence.caveats if caveat.code == "difference-rests-on-few"]
    return [Caveat("few-rows-keep-undecided", **caveat.values, low=low, high=high) for caveat in few]


def _decided(bounds: Sequence[tuple[float, float]], margin: float) -> Decision:
    if any(low > 0 for low, _ in bounds) and any(high < 0 for _, high in bounds):
        return Decision.TRADE_OFF
    low, high = bounds[0]
    if low > margin:
        return Decision.CHALLENGER
    if high < -margin:
        return Decision.CHAMPION
    return Decision.NOT_WORSE if margin and low > -margin else Decision.UNDECIDED
