"""The reference: the period that later windows are compared with, reduced to what the rules need.

It has what was learned, at no level that may change: `rocmonitor.policy.normal_ranges` gives ranges from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import ENOUGH_WINDOWS, Outliers
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.left_out import doubt, learned
from rocmonitor.policy.measure import LEVEL, shows_no_scatter, too_coarse
from rocmonitor.policy.outlying import Far, far_from_others, marked
from rocmonitor.policy.record import caveats_of
from rocmonitor.policy.windows import DAY, Window, day_of
from rocmonitor.rules import Rule
from rocmonitor.rules.evidence import LearnedReference, ReferenceWindows
from rocmonitor.stats import (
    AucResult,
    ForecastFit,
    LastingChart,
    PairedSample,
    Sample,
    ScoreHistory,
    auc,
    condensed,
    cost_thresholds,
    score_history,
)
from rocmonitor.stats.cells import repeated
from rocmonitor.stats.condensed import aligned
from rocmonitor.stats.cost.conditions import WrongDecisions, cross_fitted
from rocmonitor.stats.forecast.label_history import LabelHistory, PastWindow, label_history
from rocmonitor.stats.forecast.serial import SerialCorrelation, serial_correlation
from rocmonitor.stats.series import WHOLE_YEAR

_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(LearnedReference):
    """A reference period of one segment, frozen when it was first computed.

    Fits, by the name of the rule that asks for one, give the normal range of any window and are made for a
    batch as large as the median window. A rule is missing in `fits` or `charts` when its fit or chart cannot
    be computed, in `serial` with fewer than 8 windows; then `history` is None, too.

    Of each reference window `windows` has ``start, end, n_pos, n_neg``; ``auc, auc_low, auc_high`` where it
    has two rows of each class; ``unlabelled`` rows, and the share of ``unusable`` ones. One that was left out
    has ``left_out`` in place of its AUROC, one far above the others ``above`` (`rocmonitor.policy.outlying`).
    Where windows were joined, `pieces` has ``start, end, n_pos, n_neg, unlabelled`` of each piece when it was
    due; of all rows only.
    """

    fits: dict[str, ForecastFit] = field(default_factory=dict)
    charts: dict[str, LastingChart] = field(default_factory=dict)
    joined: bool = False  # True if scores were joined at all
    serial: dict[str, SerialCorrelation] = field(default_factory=dict)  # of calibrated forecast rules
    labels: LabelHistory | None = None  # when they became known; None without ``columns.labelled_at``
    pieces: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        plain: dict[str, Any] = {
            "auc": None,
            "fits": {name: fit.to_dict() for name, fit in self.fits.items()},
            "charts": {name: chart.to_dict() for name, chart in self.charts.items()},
            "cells": None,
            "history": None if self.history is None else self.history.to_dict(),
            "serial": {name: correlation.to_dict() for name, correlation in self.serial.items()},
            # JSON has no infinity: None flags nothing.
            "cost_thresholds": [
                {"w": w, "threshold": at if math.isfinite(at) else None}
                | (self.cost_errors[w]._asdict() if w in self.cost_errors else {})
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

    @property
    def learned(self) -> list[Mapping[str, Any]]:
        """The windows that everything was learned from: all that were not left out."""
        return learned(self.windows, self.windows)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Reference:
        """Return the inverse of `to_dict`."""
        whole, kept = plain["auc"], plain.get("cells")
        cells = None if kept is None else Sample.from_counts(kept["score"], kept["pos"], kept["neg"])
        return cls(
            auc=None if whole is None else AucResult.from_dict(whole),
            fits={name: ForecastFit.from_dict(fit) for name, fit in plain["fits"].items()},
            charts={name: LastingChart.from_dict(chart) for name, chart in plain.get("charts", {}).items()},
            cells=cells,
            joined=kept is not None and kept["joined"],
            history=None if plain.get("history") is None else ScoreHistory.from_dict(plain["history"]),
            serial={
                name: SerialCorrelation.from_dict(correlation)
                for name, correlation in plain.get("serial", {}).items()
            },
            cost_thresholds={
                point["w"]: math.inf if point["threshold"] is None else point["threshold"]
                for point in plain.get("cost_thresholds", ())
            },
            cost_errors={
                point["w"]: WrongDecisions(point["missed"], point["false_alarms"])
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
    min_per_class: int = 0,
    outliers: Outliers = "leave-out",
    zone: ZoneInfo = _UTC,
) -> Reference:
    """Reduce the reference windows of one segment to what `rules` and the operating conditions `cost_w` need.

    A rule whose interval cannot be computed on these windows is left out, with a caveat that says why. So is
    the history of scores, with a caveat when `outlooks` need it. There is no reference where cells
    of neighbouring scores leave more than `max_error` of the AUROC open. A window with fewer rows of a class
    than `min_per_class` would not be judged, so the rules learn from it together with its neighbour.

    Windows far below the others are left out of all of this, with a caveat that names them by their start in
    `zone`; `outliers="keep"` leaves out none.
    """
    areas = [None if shows_no_scatter(sample) else auc(sample) for _, sample in windows]
    far = far_from_others([window for window, _ in windows], areas) if outliers == "leave-out" else Far()
    sizes = marked([_measured(*entry, area) for entry, area in zip(windows, areas, strict=True)], far)
    above = [window for place, (window, _) in enumerate(windows) if place in far.high]
    windows = [entry for place, entry in enumerate(windows) if place not in far.low]
    samples = [sample for _, sample in windows]
    try:
        whole = Sample.merge(samples)
        overall = auc(whole)
    except DegenerateDataError as error:
        return Reference(auc=None, windows=sizes, caveats=(_not_computed("reference", error),))
    if (coarse := too_coarse(whole, max_error)) is not None:
        return Reference(auc=None, windows=sizes, caveats=(coarse.concerning("reference"),))
    every = samples = aligned(whole, samples)
    windows = [(window, sample) for (window, _), sample in zip(windows, samples, strict=True)]
    typical = [entry for entry in windows if entry[0] not in above]
    windows, pooled = large_enough(typical if len(typical) >= ENOUGH_WINDOWS else windows, min_per_class)
    samples = [sample for _, sample in windows]
    periods = [window for window, _ in windows]
    past = ReferenceWindows(samples, [day_of(window) for window in periods], ages(periods))
    learned, lacking = _learned(rules, past, whole)
    fits = {name: fit for name, fit in learned.items() if isinstance(fit, ForecastFit)}
    charts = {name: chart for name, chart in learned.items() if isinstance(chart, LastingChart)}
    history, missing = None, list[Caveat]()
    try:
        history = score_history(whole, samples, inside=True)
    except DegenerateDataError as error:
        missing = [_not_computed("outlook", error)] if outlooks else []
    serial, alike = dict[str, SerialCorrelation](), list[Caveat]()
    for name, fit in fits.items():
        with suppress(DegenerateDataError):  # nothing can be known, and nothing is claimed
            serial[name] = serial_correlation(fit)
            alike += caveats_of(serial[name], name)
    doubts = (*pooled, *lacking, *missing, *alike, *doubt(sizes, zone))
    caveats = (*caveats_of(overall), *spanning(samples), *doubts)
    cells = condensed(whole)
    at = cost_thresholds(whole, cost_w).threshold.tolist() if cost_w else []
    return Reference(
        auc=overall,
        fits=fits,
        charts=charts,
        cells=cells,
        joined=len(cells.score) < len(whole.score) or whole.ends is not None,
        history=history,
        serial=serial,
        cost_thresholds=dict(zip(cost_w, at, strict=True)),
        cost_errors=dict(zip(cost_w, cross_fitted(whole, every, cost_w), strict=True)) if cost_w else {},
        windows=sizes,
        caveats=tuple(dict.fromkeys(caveats)),
    )


def large_enough(
    windows: Sequence[tuple[Window, Sample]], min_per_class: int
) -> tuple[list[tuple[Window, Sample]], tuple[Caveat, ...]]:
    """Return the windows with those that are too small pooled with their neighbours, and a caveat if any is.

    A window without rows is unchanged, and so are all where only one would be left.
    """
    filled = sorted(
        (entry for entry in windows if entry[1].n_pos + entry[1].n_neg), key=lambda entry: entry[0]
    )
    small = sum(min(sample.n_pos, sample.n_neg) < min_per_class for _, sample in filled)
    pools: list[list[tuple[Window, Sample]]] = []
    n_pos = n_neg = min_per_class
    for entry in filled:
        if min(n_pos, n_neg) >= min_per_class:
            pools.append([])
            n_pos = n_neg = 0
        pools[-1].append(entry)
        n_pos, n_neg = n_pos + entry[1].n_pos, n_neg + entry[1].n_neg
    if len(pools) > 1 and min(n_pos, n_neg) < min_per_class:
        pools[-2:] = [pools[-2] + pools[-1]]
    if not small or len(pools) < 2:
        return list(windows), ()
    joined = [
        part[0]
        if len(part) == 1
        else (Window(part[0][0].start, part[-1][0].end), Sample.merge([sample for _, sample in part]))
        for part in pools
    ]
    empty = [entry for entry in windows if not entry[1].n_pos + entry[1].n_neg]
    caveat = Caveat("reference-windows-pooled", windows=small, min_per_class=min_per_class)
    return sorted([*joined, *empty], key=lambda entry: entry[0]), (caveat.concerning("reference"),)


def spanning(windows: Sequence[Sample] | Sequence[PairedSample]) -> tuple[Caveat, ...]:
    """Return a caveat if clusters come again in later windows, which then depend on the earlier ones."""
    ids = [sample.clusters.ids for sample in windows if sample.clusters is not None]
    if not ids:
        return ()
    shared, clusters = repeated(ids)
    return (Caveat("clusters-span-windows", shared=shared, clusters=clusters),) if shared else ()


def season_not_seen(reference: Reference) -> tuple[Caveat, ...]:
    """Return a caveat if the reference covers less than a year: a season looks like a change."""
    dated = [window for window in reference.windows if "start" in window]  # not where it is counted only
    starts, ends = ([datetime.fromisoformat(window[end]) for window in dated] for end in ("start", "end"))
    days = (max(ends) - min(starts)) / DAY if dated else 0.0
    return (Caveat("season-not-seen", days=round(days)),) if 0 < days < WHOLE_YEAR else ()


def _measured(window: Window, sample: Sample, area: AucResult | None) -> dict[str, Any]:
    """Return a reference window for charts: its sizes, and its AUROC with an interval where there is one."""
    measured: dict[str, Any] = {**window.to_dict(), "n_pos": sample.n_pos, "n_neg": sample.n_neg}
    if area is None:
        return measured
    low, high = area.ci(LEVEL)
    return measured | {"auc": area.auc, "auc_low": low, "auc_high": high}


def with_labels(reference: Reference, windows: Sequence[PastWindow], ages: Sequence[timedelta]) -> Reference:
    """Return the reference with how many labels are missing and, with ages, when they came."""
    counted = [{"unlabelled": window.unlabelled.rows, "unusable": window.unusable} for window in windows]
    return replace(
        reference,
        windows=[plain | more for plain, more in zip(reference.windows, counted, strict=True)],
        labels=label_history(learned(reference.windows, windows), ages) if ages else None,
    )


def _learned(
    rules: Mapping[str, Rule], past: ReferenceWindows, whole: Sample
) -> tuple[dict[str, ForecastFit | LastingChart | None], list[Caveat]]:
    """Return what each rule learns, and why one cannot."""
    learned: dict[str, ForecastFit | LastingChart | None] = {}
    caveats = []
    for name, rule in rules.items():
        try:
            learned[name] = rule.learn(past, whole)
        except DegenerateDataError as error:
            caveats.append(_not_computed(name, error))
    return learned, caveats


def _not_computed(what: str, error: DegenerateDataError) -> Caveat:
    return Caveat("not-computed", why=str(error)).concerning(what)


def ages(windows: Sequence[Window]) -> list[int]:
    """Return how many windows lie between each and the latest."""
    latest = max(window.start for window in windows)
    # Whole windows of age: an hour of daylight saving is none.
    mean = sum((window.end - window.start for window in windows), timedelta()) / len(windows)
    return [round((latest - window.start) / mean) for window in windows]
