"""The reference: the period that later windows are compared with, reduced to what the rules need."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate
from statistics import median_low
from typing import Any

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.condensing import too_coarse
from rocmonitor.policy.costing import Errors, errors_at
from rocmonitor.policy.label_history import LabelHistory, PastWindow, label_history
from rocmonitor.policy.lasting import chart_of
from rocmonitor.policy.measure import LEVEL, shows_no_scatter
from rocmonitor.policy.record import caveats_of
from rocmonitor.policy.rules import Forecast, Lasting, Rule
from rocmonitor.policy.windows import DAY, Window, day_of
from rocmonitor.stats import (
    AucResult,
    ForecastInterval,
    LastingChart,
    PairedSample,
    Sample,
    ScoreHistory,
    auc,
    condensed,
    cost_thresholds,
    forecast_interval,
    score_history,
)
from rocmonitor.stats.condensed import aligned
from rocmonitor.stats.forecast.following import Bounds, FollowedBounds
from rocmonitor.stats.forecast.serial import SerialCorrelation, serial_correlation
from rocmonitor.stats.season import WHOLE_YEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference period of one segment, frozen when it was first computed.

    Attributes
    ----------
    auc : AucResult or None
        Of the whole period; None when it has fewer than two rows of a class.
    forecasts : dict of str to ForecastInterval
        By the name of the rule that asks for it, for a batch as large as the median window; a rule is missing
        when its interval cannot be computed.
    charts : dict of str to LastingChart
        By the name of the rule `lasting`; a rule is missing when its chart cannot be computed.
    cells : Sample or None
        The rows, neighbouring scores joined (`rocmonitor.stats.condensed`): what later batches are compared
        with. None without an AUC, and when an earlier version froze the reference.
    joined : bool
        Whether scores were joined at all.
    history : ScoreHistory or None
        What the reference windows show of forecasts from scores; None with fewer than 8 of them, and when
        an earlier version froze the reference.
    serial : dict of str to SerialCorrelation
        By the name of a calibrated forecast rule: how alike neighbouring reference windows are, and what
        that does to the rule's level; missing with fewer than 8 windows, and when an earlier version froze
        the reference.
    cost_thresholds : dict of float to float
        The threshold that costs least in the reference, by operating condition w.
    cost_errors : dict of float to Errors
        The wrong decisions of the reference at these thresholds; empty when an earlier version froze it.
    labels : LabelHistory or None
        When the labels became known; None without ``columns.labelled_at``.
    windows : list of dict
        ``start, end, n_pos, n_neg`` of each reference window; ``auc, auc_low, auc_high`` where it has two
        rows of each class; ``unlabelled`` rows, unless an earlier version froze the reference.
    pieces : list of dict
        Where windows were joined: ``start, end, n_pos, n_neg, unlabelled`` of each piece when it was due; of
        all rows only.
    caveats : tuple of Caveat
        About one rule each, or about ``reference``.
    strict : frozenset of str
        Names of the rules that it serves at levels beyond what its windows show
        (`rocmonitor.policy.levels.at_levels`); not stored.
    bounds : callable or None
        Those of `cells`, remembered from window to window (`followed`); not stored.
    """

    auc: AucResult | None
    forecasts: dict[str, ForecastInterval] = field(default_factory=dict)
    charts: dict[str, LastingChart] = field(default_factory=dict)
    cells: Sample | None = None
    joined: bool = False
    history: ScoreHistory | None = None
    serial: dict[str, SerialCorrelation] = field(default_factory=dict)
    cost_thresholds: dict[float, float] = field(default_factory=dict)
    cost_errors: dict[float, Errors] = field(default_factory=dict)
    labels: LabelHistory | None = None
    windows: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[dict[str, Any]] = field(default_factory=list)
    caveats: tuple[Caveat, ...] = ()
    strict: frozenset[str] = frozenset()
    bounds: Bounds | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain: dict[str, Any] = {
            "auc": None,
            "forecasts": {name: interval.to_dict() for name, interval in self.forecasts.items()},
            "charts": {name: chart.to_dict() for name, chart in self.charts.items()},
            "cells": None,
            "history": None if self.history is None else self.history.to_dict(),
            "serial": {name: found.to_dict() for name, found in self.serial.items()},
            # JSON has no infinity: None flags nothing.
            "cost_thresholds": [
                {"w": w, "threshold": at if math.isfinite(at) else None, **self._errors(w)}
                for w, at in self.cost_thresholds.items()
            ],
            "labels": None if self.labels is None else self.labels.to_dict(),
            "windows": self.windows,
            **({"pieces": self.pieces} if self.pieces else {}),
            "caveats": [caveat.to_dict() for caveat in self.caveats],
        }
        if self.cells is not None:
            columns = {name: getattr(self.cells, name).tolist() for name in ("score", "pos", "neg")}
            plain["cells"] = {"joined": self.joined, **columns}
        if self.auc is not None:
            low, high = self.auc.ci(LEVEL)
            plain["auc"] = self.auc.to_dict() | {"low": low, "high": high}
        return plain

    def _errors(self, w: float) -> dict[str, int]:
        return self.cost_errors[w]._asdict() if w in self.cost_errors else {}

    def cost_at(self, w: float) -> float | None:
        """The operating condition of the reference that has the name of `w`; None where there is none."""
        return next((each for each in self.cost_thresholds if f"{each:g}" == f"{w:g}"), None)

    def cost_of(self, w: float) -> tuple[float, tuple[Errors, int, int] | None]:
        """Threshold of an operating condition that there is, and what the reference costs there, if known."""
        at = self.cost_at(w)
        assert at is not None
        if at not in self.cost_errors or self.auc is None:
            return self.cost_thresholds[at], None
        return self.cost_thresholds[at], (self.cost_errors[at], self.auc.n_pos, self.auc.n_neg)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Reference:
        """The inverse of `to_dict`."""
        whole, cells = plain["auc"], plain.get("cells")
        return cls(
            auc=None if whole is None else AucResult.from_dict(whole),
            forecasts={
                name: ForecastInterval.from_dict(interval) for name, interval in plain["forecasts"].items()
            },
            charts={name: LastingChart.from_dict(chart) for name, chart in plain.get("charts", {}).items()},
            cells=None if cells is None else Sample.from_counts(cells["score"], cells["pos"], cells["neg"]),
            joined=cells is not None and cells["joined"],
            history=None if plain.get("history") is None else ScoreHistory.from_dict(plain["history"]),
            serial={
                name: SerialCorrelation.from_dict(found) for name, found in plain.get("serial", {}).items()
            },
            cost_thresholds={
                point["w"]: math.inf if point["threshold"] is None else point["threshold"]
                for point in plain.get("cost_thresholds", ())
            },
            cost_errors={
                point["w"]: Errors(point["missed"], point["false_alarms"])
                for point in plain.get("cost_thresholds", ())
                if "missed" in point
            },
            labels=None if plain.get("labels") is None else LabelHistory.from_dict(plain["labels"]),
            windows=list(plain["windows"]),
            pieces=list(plain.get("pieces", ())),
            caveats=tuple(map(Caveat.from_dict, plain["caveats"])),
        )


def freeze(
    windows: Sequence[tuple[Window, Sample]],
    rules: Mapping[str, Rule],
    cost_w: Sequence[float] = (),
    *,
    outlooks: bool = False,
    max_error: float = 0.5,
) -> Reference:
    """Reduce the reference windows of one segment to what `rules` and the operating conditions `cost_w` need.

    A rule whose interval cannot be computed on these windows is left out, with a caveat that says why. So is
    the history of scores, with a caveat when `outlooks` or a rule need it. There is no reference where cells
    of neighbouring scores leave more than `max_error` of the AUROC open.
    """
    samples = [sample for _, sample in windows]
    sizes = [_measured(window, sample) for window, sample in windows]
    try:
        whole = Sample.merge(samples)
        overall = auc(whole)
    except DegenerateDataError as error:
        return Reference(auc=None, windows=sizes, caveats=(_not_computed("reference", error),))
    if (coarse := too_coarse(whole, max_error)) is not None:
        return Reference(auc=None, windows=sizes, caveats=(coarse.concerning("reference"),))
    samples = aligned(whole, samples)
    windows = [(window, sample) for (window, _), sample in zip(windows, samples, strict=True)]
    forecasts, lacking = _forecasts(rules, windows, whole)
    history, missing = _history(whole, samples, rules, outlooks=outlooks)
    charts, absent = _charts(rules, windows, whole, history)
    serial = _serial(forecasts)
    alike = [caveat for name, found in serial.items() for caveat in caveats_of(found, name)]
    caveats = (*caveats_of(overall), *spanning(samples), *lacking, *absent, *missing, *alike)
    cells = condensed(whole)
    at = cost_thresholds(whole, cost_w).threshold.tolist() if cost_w else []
    return Reference(
        auc=overall,
        forecasts=forecasts,
        charts=charts,
        cells=cells,
        joined=len(cells.score) < len(whole.score) or whole.ends is not None,
        history=history,
        serial=serial,
        cost_thresholds=dict(zip(cost_w, at, strict=True)),
        cost_errors={w: errors_at(whole, each) for w, each in zip(cost_w, at, strict=True)},
        windows=sizes,
        caveats=tuple(dict.fromkeys(caveats)),
    )


def followed(reference: Reference) -> Reference:
    """The reference for many windows: what their sizes have in common is computed once."""
    return (
        reference if reference.cells is None else replace(reference, bounds=FollowedBounds(reference.cells))
    )


def spanning(windows: Sequence[Sample] | Sequence[PairedSample]) -> tuple[Caveat, ...]:
    """That clusters come again in later windows, which are then not independent of the earlier ones."""
    ids = [each.clusters.ids for each in windows if each.clusters is not None]
    if not ids:
        return ()
    times = np.unique(np.concatenate(ids), return_counts=True)[1]
    shared = int(np.count_nonzero(times > 1))
    return (Caveat("clusters-span-windows", shared=shared, clusters=len(times)),) if shared else ()


def season_not_seen(reference: Reference) -> tuple[Caveat, ...]:
    """That a season cannot be told from a change, where the reference covers less than a year."""
    dated = [window for window in reference.windows if "start" in window]  # not where it is counted only
    starts, ends = ([datetime.fromisoformat(window[end]) for window in dated] for end in ("start", "end"))
    days = (max(ends) - min(starts)) / DAY if dated else 0.0
    return (Caveat("season-not-seen", days=round(days)),) if 0 < days < WHOLE_YEAR else ()


def _measured(window: Window, sample: Sample) -> dict[str, Any]:
    """A reference window for charts: its sizes, and its AUROC with an interval where there is one."""
    found: dict[str, Any] = {
        "start": window.start.isoformat(),
        "end": window.end.isoformat(),
        "n_pos": sample.n_pos,
        "n_neg": sample.n_neg,
    }
    if shows_no_scatter(sample):
        return found
    area = auc(sample)
    low, high = area.ci(LEVEL)
    return found | {"auc": area.auc, "auc_low": low, "auc_high": high}


def with_labels(reference: Reference, windows: Sequence[PastWindow], ages: Sequence[timedelta]) -> Reference:
    """The reference with what is known of its labels: how many are missing and, with ages, when they came."""
    unlabelled = [{"unlabelled": window.unlabelled.rows} for window in windows]
    return replace(
        reference,
        windows=[known | more for known, more in zip(reference.windows, unlabelled, strict=True)],
        labels=label_history(windows, ages) if ages else None,
    )


def _forecasts(
    rules: Mapping[str, Rule], windows: Sequence[tuple[Window, Sample]], whole: Sample
) -> tuple[dict[str, ForecastInterval], list[Caveat]]:
    """The interval of each forecast rule, and why one is missing."""
    forecasts, caveats = {}, []
    for name, rule in rules.items():
        if isinstance(rule, Forecast):
            try:
                forecasts[name] = _forecast(rule, windows, whole)
            except DegenerateDataError as error:
                caveats.append(_not_computed(name, error))
    return forecasts, caveats


def _serial(forecasts: Mapping[str, ForecastInterval]) -> dict[str, SerialCorrelation]:
    """The serial correlation of the windows of each forecast that has a level and enough of them."""
    found = {}
    for name, interval in forecasts.items():
        try:
            found[name] = serial_correlation(interval)
        except DegenerateDataError:  # nothing can be known, and nothing is claimed
            continue
    return found


def _charts(
    rules: Mapping[str, Rule],
    windows: Sequence[tuple[Window, Sample]],
    whole: Sample,
    history: ScoreHistory | None,
) -> tuple[dict[str, LastingChart], list[Caveat]]:
    """The chart of each rule `lasting`, and why one is missing; what the history lacks is said elsewhere."""
    charts, caveats = {}, []
    for name, rule in rules.items():
        if isinstance(rule, Lasting) and (history is not None or rule.given is None):
            try:
                charts[name] = chart_of(windows, whole, rule, history)
            except DegenerateDataError as error:
                caveats.append(_not_computed(name, error))
    return charts, caveats


def _history(
    whole: Sample, samples: Sequence[Sample], rules: Mapping[str, Rule], *, outlooks: bool
) -> tuple[ScoreHistory | None, list[Caveat]]:
    """The history of scores, and for whom it is missing."""
    try:
        return score_history(whole, samples, inside=True), []
    except DegenerateDataError as error:
        given = {name: rule for name, rule in rules.items() if isinstance(rule, Forecast | Lasting)}
        needing = [name for name, rule in given.items() if rule.given]
        if outlooks:
            needing.append("outlook")
        return None, [_not_computed(name, error) for name in needing]


def _forecast(rule: Forecast, windows: Sequence[tuple[Window, Sample]], whole: Sample) -> ForecastInterval:
    """The interval of one rule, for a batch as large as the median window."""
    samples = [sample for _, sample in windows]
    return forecast_interval(
        whole,
        windows=None if rule.method == "fixed" else samples,
        inside=True if rule.method == "calibrated" else None,
        distance=rule.distance,
        method=rule.method,
        confidence_level=rule.confidence_level,
        batch=(
            median_low(sample.n_pos for sample in samples if sample.n_pos),
            median_low(sample.n_neg for sample in samples if sample.n_neg),
        ),
        alternative=rule.alternative,
        correlation="estimated" if rule.widens else "none",
        days=([day_of(window) for window, _ in windows], None) if rule.takes_season else None,
        weights=None
        if rule.half_life is None
        else weights([window for window, _ in windows], rule.half_life),
    )


def _not_computed(what: str, error: DegenerateDataError) -> Caveat:
    return Caveat("not-computed", why=str(error)).concerning(what)


def weights(windows: Sequence[Window], half_life: float) -> list[float]:
    """What each window counts against the latest: half as much for every `half_life` windows of age."""
    latest = max(window.start for window in windows)
    # Whole windows of age: an hour of daylight saving is none.
    mean = sum((window.end - window.start for window in windows), timedelta()) / len(windows)
    ages = [round((latest - window.start) / mean) for window in windows]
    return [0.5 ** (age / half_life) for age in ages]


def reference_curve(frozen: Mapping[str, Any] | None, segment: str) -> list[dict[str, float]]:
    """The ROC curve of a frozen reference, as a drawing needs it.

    Parameters
    ----------
    frozen : dict or None
        Its content in the store, by segment; None where it is not kept.
    segment : str

    Returns
    -------
    list of dict
        ``fpr`` and ``tpr``, from (0, 0) on, at most about 200; empty where an earlier version froze the
        reference, or where it has no AUROC.
    """
    cells = ((frozen or {}).get(segment) or {}).get("cells")
    if not cells:
        return []
    n_pos, n_neg = sum(cells["pos"]), sum(cells["neg"])
    flagged = (accumulate(reversed(cells[name])) for name in ("pos", "neg"))
    thinned, last = [{"fpr": 0.0, "tpr": 0.0}], (0, 0)
    for pos, neg in zip(*flagged, strict=True):
        at = (_DRAWN * neg // n_neg, _DRAWN * pos // n_pos)
        if at != last:
            thinned.append({"fpr": neg / n_neg, "tpr": pos / n_pos})
            last = at
    return thinned


_DRAWN = 100
"""Steps of either rate that a drawing of a curve can show."""
