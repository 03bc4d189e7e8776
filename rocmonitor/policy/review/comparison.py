"""A review's numbers: champion against challenger in windows, in segments and in the whole period.

The tables of `Compared`; each value is a finite number, a text, True, False or None:

==========  ================================================================================================
windows     start, end (ISO, UTC), rows, n_pos, n_neg, champion_auc, challenger_auc, difference, se, low, high
            of the window by itself; running_mean, anytime_low, anytime_high, pvalue over all checks up to it;
            checked, why_not (a code of `rocmonitor.policy.review.checks`, or empty)
auc         method, champion, challenger, difference, se, low, high, pvalue: of the whole period
fprs        fpr, champion_tpr, challenger_tpr, difference, low, high, method: of the whole period;
            running_mean, anytime_low, anytime_high, better ("challenger", "champion" or ""): over all checks
thresholds  pairing ("given", "flagged share", "calibrated"), champion_threshold, challenger_threshold (None
            flags nothing), champion_flagged, challenger_flagged (shares of the rows), dtpr, dtpr_low,
            dtpr_high, dfpr, dfpr_low, dfpr_high, and the probabilities champion_better, challenger_better,
            both_higher (the challenger flags more of both classes), both_lower, tie
dominance   share (flagged), the two thresholds and the same probabilities
roc         model, fpr, tpr, tpr_low, tpr_high
band        fpr, difference, low, high: simultaneous, of the whole period
regions     from_fpr, to_fpr, better: by that band
costs       w, champion_threshold, challenger_threshold, champion_cost, challenger_cost, saved, low, high;
            with costs in money unit, false_positive, false_negative, prevalence, decisions, money_saved,
            money_low, money_high
segments    segment, rows, n_pos, n_neg, champion_auc, challenger_auc, difference, low, high, level,
            pvalue, note (a code as why_not)
next        windows (how many follow), confidence_level, low, high: a prediction interval for the mean of
            their differences, if windows go on differing like those of the review
forecast    method, windows, basis ("reference" or "review": whose windows), confidence_level, distance,
            difference, low, high
==========  ================================================================================================

Every difference is challenger minus champion, and `saved` the champion's cost minus the challenger's: above 0
the challenger is better. Every interval has the rule's confidence level, those of `segments` together. The
``anytime`` intervals of all comparisons hold together at all checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.measure import curves
from rocmonitor.policy.record import Row
from rocmonitor.policy.reference import spanning
from rocmonitor.policy.review.checks import (
    Check,
    Progress,
    Track,
    blocked_by_few,
    check_windows,
    checked,
    checks_caveats,
    has_constant_scores,
    rule_on,
    too_few,
    track_comparisons,
    windows_table,
)
from rocmonitor.policy.review.document import Comparison, Decision
from rocmonitor.policy.review.period import areas, band, left_out, rates
from rocmonitor.policy.review.settings import NEXT, ReviewSettings
from rocmonitor.policy.review.supplementary import forecast, segments_table
from rocmonitor.policy.review.thresholds import at_thresholds, costs, dominance, scale_caveats
from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample, auc
from rocmonitor.stats.coming import next_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The values that a review finds on its rows; as the fields of `Review`.

    Metrics: ``data/rows``, ``data/positives``, ``data/negatives``, scored by both; ``champion/auc``,
    ``challenger/auc`` and ``difference/auc`` (with ``_se``, ``_low``, ``_high``, DeLong) of the whole period;
    ``difference/auc_mean``, ``difference/auc_anytime_low``, ``_anytime_high`` and ``_anytime_pvalue`` over
    all checks, which decide; ``difference/tpr_at_fpr_F`` with ``_low``, ``_high``, ``_anytime_low``,
    ``_anytime_high``; ``difference/saved_at_w_W`` with ``_low``, ``_high``; ``next/difference_4_low``,
    ``_high`` and the same of 13 windows; ``forecast/difference_low``, ``forecast/difference_high``;
    ``review/windows``, ``review/checks``, ``review/challenger_leads`` (in this many of them),
    ``review/windows_to_decide``. One that has no value is left out. Each table is present, even if empty.
    """

    decision: Decision
    decided_in: Window | None = None  # the window since whose check the decision has stood
    comparisons: tuple[Comparison, ...] = ()
    further_windows: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()


def compare(
    windows: Sequence[tuple[Window, PairedSample]],
    segments: Mapping[str, PairedSample],
    *,
    settings: ReviewSettings,
    setting: PairedSample | None,
    past: Sequence[PairedSample] = (),
    rng: int,
    progress: Progress = lambda _: None,
) -> Compared:
    """Compare champion and challenger on the rows that both scored, and decide by the written rule.

    Windows are in order of time and disjoint (else InputError), with the challenger first in each pair. Each
    is one check. `segments` are the same rows over the whole period. On the rows of `setting` thresholds are
    matched, calibrated and chosen for costs: never on those compared; if there are none, or too few, the
    tables that need them are left out, with a caveat. `past` are windows of the reference, for the forecast
    of the difference, and `rng` is the seed of the band. DegenerateDataError without a window, or with fewer
    than two rows of a class in all of them together.

    Over all checks together the decision errs with probability at most 1 - `confidence_level`, for large
    windows. Under a rule that decides about the future it errs somewhat more often if neighbouring windows
    are alike (see `ReviewRule` and `rocmonitor.stats.confidence_sequence`). The band and the intervals of the
    whole period are valid for a single check.

    Cost: O(n log n) for n rows, and the band's resamples, which take most of it.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> import numpy as np
    >>> random, weeks = np.random.default_rng(3), []
    >>> for number in range(8):
    ...     start = datetime(2026, 1, 5, tzinfo=UTC) + number * timedelta(days=7)
    ...     y = np.repeat([0, 1], [300, 100])
    ...     champion, challenger = y + random.normal(size=400), 1.4 * y + random.normal(size=400)
    ...     week = Window(start, start + timedelta(days=7))
    ...     weeks.append((week, PairedSample(y, challenger, champion)))
    >>> found = compare(weeks, {}, settings=ReviewSettings(n_resamples=99), setting=None, rng=1)
    >>> str(found.decision), [week for week, _ in weeks].index(found.decided_in)
    ('challenger better', 2)
    """
    for (first, _), (second, _) in pairwise(windows):
        if second.start < first.end:
            raise InputError(
                f"windows must follow each other in time without overlap: {second} comes after {first}"
            )
    pairs = [pair for _, pair in windows]
    pair = PairedSample.merge(pairs) if pairs else PairedSample([], [], [])
    if min(pair.n_pos, pair.n_neg) < 2:
        raise DegenerateDataError(
            f"nothing to compare: {len(windows)} windows hold {pair.n_pos:,} positives and {pair.n_neg:,} "
            "negatives that both models scored, and at least 2 of each are needed; take a longer period, and "
            "check that both models score the same rows and that the labels have arrived"
        )
    checks = check_windows(windows, settings, progress)
    tracks = track_comparisons(checks, settings)
    ruling = rule_on(tracks, settings.rule.margin, len(checks))
    comparisons = tuple(track.result for track in tracks)
    caveats: list[Caveat] = [*spanning(pairs)]
    if pair.clusters is not None:
        caveats.append(Caveat("clusters-in-part"))
    level = settings.rule.confidence_level
    tables = {"windows": windows_table(checks, tracks[0], level)}
    tables |= _period(pair, comparisons, settings, caveats, rng, progress)
    tables |= _in_use(pair, setting, settings, caveats, progress)
    progress("segments and forecast")
    tables["segments"] = segments_table(segments, settings)
    tables["forecast"] = forecast(past, pairs, settings, caveats)
    by_number = checked(checks)
    differences = [area.difference for area in by_number.values()]
    # None if too few were checked; a window that was not is a gap.
    coming = next_windows(differences, [area.se for area in by_number.values()], tuple(by_number))
    ends = {} if coming is None else {number: coming.mean_of(number, level) for number in NEXT}
    tables["next"] = [
        {"windows": number, "confidence_level": level, "low": low, "high": high}
        for number, (low, high) in ends.items()
    ]
    rule, area, undecided = settings.rule, tracks[0], ruling.decision is Decision.UNDECIDED
    further = None  # a rule that decides about the future decides too seldom when it was expected to
    if undecided and rule.decides == "period" and area.sequence is not None and coming is not None:
        further = coming.until_decided(area.sequence, rule.margin)
    doubts = [*blocked_by_few(tracks, rule.margin), *checks_caveats(checks, tracks)]
    if undecided and comparisons[0].estimate is not None and not comparisons[0].better:
        doubts += [  # the whole period shows a difference that the rule does not
            Caveat("period-differs-more", difference=row["difference"], low=row["low"], high=row["high"])
            for row in tables["auc"]
            if row["method"] == "delong" and (row["low"] > 0 or row["high"] < 0)
        ]
    return Compared(
        decision=ruling.decision,
        decided_in=None if ruling.number is None else checks[ruling.number].window,
        comparisons=comparisons,
        further_windows=further,
        metrics=_metrics(pair, checks, tracks[0], tables, further),
        tables=tables,
        caveats=tuple(dict.fromkeys([*doubts, *caveats])),
    )


def _period(
    pair: PairedSample,
    comparisons: Sequence[Comparison],
    settings: ReviewSettings,
    caveats: list[Caveat],
    rng: int,
    progress: Progress,
) -> dict[str, list[Row]]:
    """Return the tables of the whole period, without curves if a model gives all rows one score."""
    level = settings.rule.confidence_level
    progress("AUROC over the period")
    tables: dict[str, list[Row]] = {"auc": areas(pair, level, caveats)}
    if has_constant_scores(pair):
        n_rows = pair.n_pos + pair.n_neg
        caveats += [
            Caveat("constant-scores", model=model, rows=n_rows, score=sample.score[0])
            for model, sample in (("champion", pair.second), ("challenger", pair.first))
            if len(sample.score) == 1
        ]
        return tables | {name: [] for name in ("fprs", "roc", "band", "regions")}
    progress("TPR at the rule's rates")
    tables["fprs"] = rates(pair, comparisons, level, caveats)
    progress("curves")
    tables["roc"] = curves([("champion", pair.second), ("challenger", pair.first)], level)
    progress("band of the difference")
    try:
        tables["band"], tables["regions"] = band(pair, settings, rng, caveats, progress)
    except InputError as error:  # too few rows, or resamples for the level
        caveats.append(left_out("band of the difference", error))
        tables |= {"band": [], "regions": []}
    return tables


def _in_use(
    pair: PairedSample,
    setting: PairedSample | None,
    settings: ReviewSettings,
    caveats: list[Caveat],
    progress: Progress,
) -> dict[str, list[Row]]:
    """Return the tables of thresholds and costs."""
    progress("thresholds and costs")
    chosen = None  # the rows on which thresholds are chosen
    if setting is None:
        caveats.append(Caveat("no-rows-for-thresholds"))
    elif too_few(setting, settings.min_per_class):
        sizes = {"n_pos": setting.n_pos, "n_neg": setting.n_neg, "needed": max(settings.min_per_class, 2)}
        caveats.append(Caveat("few-rows-for-thresholds", **sizes))
    elif has_constant_scores(setting):
        caveats.append(Caveat("constant-scores-for-thresholds"))
    else:
        chosen = setting
    tables: dict[str, list[Row]] = {"thresholds": [], "dominance": [], "costs": []}
    if not has_constant_scores(pair):
        caveats += scale_caveats(pair, settings.thresholds)
        tables["thresholds"] = at_thresholds(pair, chosen, settings, caveats)
    if chosen is not None:
        if not has_constant_scores(pair):
            tables["dominance"] = dominance(pair, chosen, settings)
        tables["costs"] = costs(pair, chosen, settings, caveats)
    return tables


def _metrics(
    pair: PairedSample,
    checks: Sequence[Check],
    area: Track,
    tables: Mapping[str, list[Row]],
    further: int | None,
) -> dict[str, float]:
    metrics: dict[str, float | None] = {
        "data/rows": pair.n_pos + pair.n_neg,
        "data/positives": pair.n_pos,
        "data/negatives": pair.n_neg,
        "champion/auc": auc(pair.second).auc,
        "challenger/auc": auc(pair.first).auc,
        "review/windows": len(tables["windows"]),
        "review/checks": len(area.numbers),
        "review/challenger_leads": sum(difference.difference > 0 for difference in checked(checks).values()),
    }
    for row in tables["auc"]:
        if row["method"] == "delong":
            metrics |= _with_ends("difference/auc", row) | {"difference/auc_se": row["se"]}
    if area.sequence is not None:
        low, high = area.bounds()
        metrics |= {
            "difference/auc_mean": float(area.sequence.estimate[-1]),
            "difference/auc_anytime_low": low,
            "difference/auc_anytime_high": high,
            "difference/auc_anytime_pvalue": float(area.sequence.pvalue[-1]),
        }
    for row in tables["fprs"]:
        name = f"difference/tpr_at_fpr_{row['fpr']:g}"
        metrics |= _with_ends(name, row)
        metrics |= {f"{name}_{end}": row[end] for end in ("anytime_low", "anytime_high")}
    for row in tables["costs"]:
        metrics |= _with_ends(f"difference/saved_at_w_{row['w']:g}", row, "saved")
    for row in tables["next"]:
        metrics |= {f"next/difference_{row['windows']}_{end}": row[end] for end in ("low", "high")}
    for row in tables["forecast"]:
        metrics |= {f"forecast/difference_{end}": row[end] for end in ("low", "high")}
    metrics["review/windows_to_decide"] = further
    return {name: float(value) for name, value in metrics.items() if value is not None}


def _with_ends(name: str, row: Row, column: str = "difference") -> dict[str, float | None]:
    return {name: row[column], f"{name}_low": row["low"], f"{name}_high": row["high"]}
