"""A review's numbers: champion against challenger over windows, segments and the period in one.

The tables of `Compared`, every value a finite number, a text, True or False, or None where there is none:

==========  ================================================================================================
windows     start, end (ISO, UTC), rows, n_pos, n_neg, champion_auc, challenger_auc, difference, se, low, high
            of the window by itself; so_far, always_low, always_high, pvalue over all looks up to it; looked,
            why_not
auc         method, champion, challenger, difference, se, low, high, pvalue: of the period in one
fprs        fpr, champion_tpr, challenger_tpr, difference, low, high, method: of the period; so_far,
            always_low, always_high, better ("challenger", "champion" or ""): over all looks
thresholds  pairing ("given", "flagged share", "calibrated"), champion_threshold, challenger_threshold (None
            flags nothing), champion_flagged, challenger_flagged (shares of the rows), dtpr, dtpr_low,
            dtpr_high, dfpr, dfpr_low, dfpr_high, and the probabilities champion_better, challenger_better,
            both_higher (the challenger flags more of both classes), both_lower, tie
dominance   share (flagged), the two thresholds and the same probabilities
roc         model, fpr, tpr, tpr_low, tpr_high
band        fpr, difference, low, high: simultaneous, of this look alone
regions     from_fpr, to_fpr, better: by that band
costs       w, champion_threshold, challenger_threshold, champion_cost, challenger_cost, saved, low, high;
            with costs in money unit, false_positive, false_negative, prevalence, decisions, money_saved,
            money_low, money_high
segments    segment, rows, n_pos, n_neg, champion_auc, challenger_auc, difference, low, high, level,
            pvalue, note
forecast    method, confidence_level, distance, difference, low, high
==========  ================================================================================================

Every difference is challenger minus champion, and `saved` the champion's cost minus the challenger's: above 0
the challenger is better. Every interval has the rule's confidence level, those of `segments` together, and
those called always together and at all looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.measure import curves
from rocmonitor.policy.review.checks import (
    Progress,
    Row,
    Track,
    follow,
    looks_caveats,
    one_score,
    take_looks,
    windows_table,
)
from rocmonitor.policy.review.document import Decision
from rocmonitor.policy.review.period import areas, band, rates
from rocmonitor.policy.review.ruling import Ruling, rule_on
from rocmonitor.policy.review.settings import ReviewSettings
from rocmonitor.policy.review.supplementary import forecast, segments_table
from rocmonitor.policy.review.thresholds import at_thresholds, costs, dominance
from rocmonitor.policy.review.wording import LARGEST, advice, scale_caveats, summary
from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample, auc, windows_to_decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a review finds on its rows; the fields are those of `Review`.

    Attributes
    ----------
    decision : Decision
    decided_in : Window or None
        The window since which it has been so at every look.
    summary, advice : str
    metrics : dict of str to float
        ``review/rows``, ``n_pos``, ``n_neg``, ``windows``, ``looks``, ``champion_auc``, ``challenger_auc``;
        ``difference`` (DeLong, over the period) with ``_se``, ``_low``, ``_high``; ``so_far``,
        ``always_low``, ``always_high`` and ``pvalue`` of the AUROC over all looks, which decide;
        ``difference_at_fpr_F`` and ``saved_at_w_W`` with ``_low`` and ``_high`` (and ``_always_low``,
        ``_always_high``); ``forecast_low``, ``forecast_high``; ``windows_to_decide``. All under ``review/``,
        and left out where there is none.
    tables : dict of str to list of dict
        See `rocmonitor.policy.review.comparison`. Each is there, if empty.
    caveats : tuple of str
    """

    decision: Decision
    decided_in: Window | None
    summary: str
    advice: str
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()


def _silent(_: str) -> None:
    pass


def compare(
    windows: Sequence[tuple[Window, PairedSample]],
    segments: Mapping[str, PairedSample],
    *,
    settings: ReviewSettings,
    setting: PairedSample | None,
    past: Sequence[PairedSample] = (),
    rng: int,
    progress: Progress = _silent,
) -> Compared:
    """Compare champion and challenger on the rows that both scored, and decide by the written rule.

    Parameters
    ----------
    windows : sequence of (Window, PairedSample)
        In order of time, disjoint; the champion first in each pair. Each is a look.
    segments : dict of str to PairedSample
        The same rows, by segment, over the whole period.
    settings : ReviewSettings
    setting : PairedSample or None
        Rows on which thresholds are matched, calibrated and chosen for costs: never those compared. None, or
        too few: the tables that need them are left out, with a caveat.
    past : sequence of PairedSample
        Windows of the reference, for the forecast of the difference.
    rng : int
        Seed of the band.
    progress : callable
        Told a short text at each step.

    Returns
    -------
    Compared

    Raises
    ------
    DegenerateDataError
        No window, or fewer than two rows of a class in all of them together.
    InputError
        Windows that are out of order or overlap.

    Notes
    -----
    The error of the decision over all looks is at most 1 - `confidence_level` where windows are independent
    of each other, as far as simulated (see `ReviewRule` and
    `rocmonitor.stats.confidence_sequence`), the band and the intervals of the period are those of one look.

    Cost: O(n log n) for n rows, and the band's resamples, which take most of it.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> import numpy as np
    >>> random, weeks = np.random.default_rng(3), []
    >>> for number in range(8):
    ...     start = datetime(2026, 1, 5, tzinfo=UTC) + number * timedelta(days=7)
    ...     y = np.repeat([0, 1], [300, 100])
    ...     champion, challenger = y + random.normal(size=400), 2 * y + random.normal(size=400)
    ...     week = Window(start, start + timedelta(days=7))
    ...     weeks.append((week, PairedSample(y, champion, challenger)))
    >>> found = compare(weeks, {}, settings=ReviewSettings(n_resamples=99), setting=None, rng=1)
    >>> str(found.decision), found.decided_in == weeks[3][0]
    ('challenger better', True)
    """
    _require_order([window for window, _ in windows])
    turned = [(window, pair.swapped()) for window, pair in windows]
    pair = PairedSample.merge([pair for _, pair in turned]) if turned else PairedSample([], [], [])
    if min(pair.n_pos, pair.n_neg) < 2:
        raise DegenerateDataError(
            f"nothing to compare: {len(windows)} windows hold {pair.n_pos:,} positives and {pair.n_neg:,} "
            "negatives that both models scored, and at least 2 of each are needed; take a longer period, and "
            "see whether both models score the same rows and their labels have come"
        )
    looks = take_looks(turned, settings, progress)
    tracks = follow(looks, settings)
    ruling = rule_on(tracks, settings.rule.margin, len(looks))
    caveats: list[str] = []
    tables = {"windows": windows_table(looks, tracks[0], settings.rule.confidence_level)}
    tables |= _period(pair, tracks, settings, caveats, rng, progress)
    tables |= _in_use(pair, setting, settings, caveats, progress)
    progress("segments and forecast")
    tables["segments"] = segments_table({name: part.swapped() for name, part in segments.items()}, settings)
    tables["forecast"] = _attempted(
        "forecast of the difference",
        lambda: forecast([part.swapped() for part in past], [part for _, part in turned], settings, caveats),
        caveats,
    )
    further = _further(ruling, tracks[0], settings)
    first = [*looks_caveats(looks, tracks), *_at_odds(ruling, tracks[0], tables["auc"])]
    both = auc(pair.first).auc, auc(pair.second).auc
    return Compared(
        decision=ruling.decision,
        decided_in=None if ruling.number is None else looks[ruling.number].window,
        summary=summary(ruling, tracks, looks, both, tables["regions"], settings),
        advice=advice(ruling, tracks[0], looks, further, settings),
        metrics=_metrics(pair, both, tracks[0], tables, further),
        tables=tables,
        caveats=tuple(dict.fromkeys([*first, *caveats])),
    )


def _require_order(windows: Sequence[Window]) -> None:
    for first, second in pairwise(windows):
        if second.start < first.end:
            raise InputError(
                f"windows must follow each other in time without overlap: {second} comes after {first}"
            )


def _period(
    pair: PairedSample,
    tracks: Sequence[Track],
    settings: ReviewSettings,
    caveats: list[str],
    rng: int,
    progress: Progress,
) -> dict[str, list[Row]]:
    """The tables of the period in one; those of the curves are empty when a model has one score only."""
    level = settings.rule.confidence_level
    progress("AUROC over the period")
    tables: dict[str, list[Row]] = {"auc": areas(pair, level, caveats)}
    if one_score(pair):
        for model, sample in (("champion", pair.second), ("challenger", pair.first)):
            if len(sample.score) == 1:
                caveats.append(
                    f"the {model} gives all {pair.n_pos + pair.n_neg:,} rows the score {sample.score[0]:g}: "
                    "it has no curve, and nothing is compared at rates or thresholds; see whether its "
                    "scoring is broken"
                )
        return tables | {name: [] for name in ("fprs", "roc", "band", "regions")}
    progress("TPR at the rule's rates")
    tables["fprs"] = rates(pair, tracks, level, caveats)
    progress("curves")
    tables["roc"] = curves([("champion", pair.second), ("challenger", pair.first)], level)
    progress("band of the difference")
    try:
        tables["band"], tables["regions"] = band(pair, settings, rng, caveats, progress)
    except InputError as error:  # too few rows, or resamples for the level
        caveats.append(f"band of the difference left out: {error}")
        tables |= {"band": [], "regions": []}
    return tables


def _in_use(
    pair: PairedSample,
    setting: PairedSample | None,
    settings: ReviewSettings,
    caveats: list[str],
    progress: Progress,
) -> dict[str, list[Row]]:
    """The tables of thresholds and costs."""
    progress("thresholds and costs")
    chosen = _usable(setting, settings, caveats)
    tables: dict[str, list[Row]] = {"thresholds": [], "dominance": [], "costs": []}
    if not one_score(pair):
        caveats += scale_caveats(pair, settings.thresholds)
        tables["thresholds"] = at_thresholds(pair, chosen, settings, caveats)
    if chosen is not None:
        if not one_score(pair):
            tables["dominance"] = dominance(pair, chosen, settings)
        tables["costs"] = costs(pair, chosen, settings, caveats)
    return tables


def _usable(
    setting: PairedSample | None, settings: ReviewSettings, caveats: list[str]
) -> PairedSample | None:
    """The rows on which thresholds are chosen, challenger first; None, with a caveat, if they do not do."""
    left_out = "matched and calibrated thresholds, dominance and costs are left out:"
    if setting is None:
        caveats.append(f"{left_out} there are no rows before the period on which to choose thresholds")
    elif min(setting.n_pos, setting.n_neg) < max(settings.min_per_class, 2):
        caveats.append(
            f"{left_out} the rows on which to choose thresholds are {setting.n_pos:,} positives and "
            f"{setting.n_neg:,} negatives, fewer than {max(settings.min_per_class, 2):,} of a class"
        )
    elif one_score(setting):
        caveats.append(f"{left_out} a model gave one score to all rows on which to choose thresholds")
    else:
        return setting.swapped()
    return None


def _attempted(what: str, table: Callable[[], list[Row]], caveats: list[str]) -> list[Row]:
    try:
        return table()
    except DegenerateDataError as error:
        caveats.append(f"{what} left out: {error}")
        return []


def _at_odds(ruling: Ruling, area: Track, areas: Sequence[Row]) -> list[str]:
    """Says why the period in one may show a difference that the rule does not."""
    if ruling.decision is not Decision.UNDECIDED or area.sequence is None or area.better:
        return []
    return [
        f"over the period in one the AUROC differs by {row['difference']:+.4f} ({row['low']:+.4f} to "
        f"{row['high']:+.4f}), which the rule does not show: that interval is of one look at these rows "
        "alone, and sets positives of one window against negatives of another; the rule goes by the mean "
        "within windows, by how much windows differ, and by all looks"
        for row in areas
        if row["method"] == "delong" and (row["low"] > 0 or row["high"] < 0)
    ]


def _further(ruling: Ruling, area: Track, settings: ReviewSettings) -> int | None:
    """Windows that would decide; None when that is too many, not to be told, or not needed."""
    if ruling.decision is not Decision.UNDECIDED or area.sequence is None:
        return None
    return windows_to_decide(area.sequence, margin=settings.rule.margin, largest=LARGEST)


def _metrics(
    pair: PairedSample,
    both: tuple[float, float],
    area: Track,
    tables: Mapping[str, list[Row]],
    further: int | None,
) -> dict[str, float]:
    metrics: dict[str, float | None] = {
        "rows": pair.n_pos + pair.n_neg,
        "n_pos": pair.n_pos,
        "n_neg": pair.n_neg,
        "windows": len(tables["windows"]),
        "looks": len(area.numbers),
        "challenger_auc": both[0],
        "champion_auc": both[1],
        "windows_to_decide": further,
    }
    for row in tables["auc"]:
        if row["method"] == "delong":
            metrics |= _with_ends("difference", row) | {"difference_se": row["se"]}
    if area.sequence is not None:
        low, high = area.bounds()
        metrics |= {"so_far": float(area.sequence.estimate[-1]), "always_low": low, "always_high": high}
        metrics["pvalue"] = float(area.sequence.pvalue[-1])
    for row in tables["fprs"]:
        name = f"difference_at_fpr_{row['fpr']:g}"
        metrics |= _with_ends(name, row)
        metrics |= {f"{name}_{end}": row[end] for end in ("always_low", "always_high")}
    for row in tables["costs"]:
        metrics |= _with_ends(f"saved_at_w_{row['w']:g}", row, "saved")
    for row in tables["forecast"]:
        metrics |= {"forecast_low": row["low"], "forecast_high": row["high"]}
    return {f"review/{name}": float(value) for name, value in metrics.items() if value is not None}


def _with_ends(name: str, row: Row, column: str = "difference") -> dict[str, float | None]:
    return {name: row[column], f"{name}_low": row["low"], f"{name}_high": row["high"]}
