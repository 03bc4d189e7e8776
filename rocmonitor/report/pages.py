"""The pages of a monitor, of the references of a check, and of one window.

A window in full: why, what moved, the curve, operating points, rows, revisions, provenance.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.record import plain
from rocmonitor.policy.windows import Window
from rocmonitor.report import shapes
from rocmonitor.report.chart import monitor_chart
from rocmonitor.report.html import render
from rocmonitor.report.review.tables import ShownTable
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.explanation import main_group, spread
from rocmonitor.wording.format import CUT, instant, set_aside_parts
from rocmonitor.wording.page import provenance
from rocmonitor.wording.stops import LABELS
from rocmonitor.wording.verdicts import by_rule
from rocmonitor.wording.window import calibration, curve_moved, moved, moved_most

Row = dict[str, Any]

_DRAWN = 100
"""Steps of either rate that the curve of a reference has at most."""
_NUMBERS = ("estimate", "low", "high", "margin")
_DIFFERENCES = ("challenger", "drop", "lasting")
"""Kinds of rules whose estimate is a difference, so that 0 is of interest."""


def monitor_page(view: Mapping[str, Any], **more: Any) -> str:
    """Return the page of a view, as from `rocmonitor.web.monitor`; equal arguments give equal text.

    A page that is served has ``home`` and ``json_address``; a file says when it was ``written``, and the
    ``command`` that writes it again. All text of the rows is escaped.
    """
    return render(
        "monitor.html.j2",
        view=view,
        chart=monitor_chart(view),
        still=shapes.still(view["points"]),
        labels=ShownTable(caption=LABELS, columns=view["labels_by_age"]),
        **{"form": None, **shapes.OF_WINDOWS, **more},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The content of the page on one monitor: answers by topic; ranges unless its rows were not read."""

    monitor: str
    zone: ZoneInfo
    answers: Mapping[str, str]
    doubts: Sequence[str]
    ranges: NormalRanges | None


def check_page(watched: Sequence[Watched], *, made: datetime) -> str:
    """Return the page as one HTML file that needs no network."""
    shown = []
    for entry in watched:
        page: Row = {"name": entry.monitor, "answers": entry.answers, "doubts": entry.doubts}
        shown.append(page)
        ranges = entry.ranges
        windows = [] if ranges is None else ranges.reference.windows
        rows = [row for row in windows if row.get("auc") is not None]
        if ranges is None or not rows:
            page |= {"chart": None, "label": ""}
            continue

        # The reference windows inside the normal range, as the page of a monitor draws its own.
        interval = ranges.first()
        points = [
            dict.fromkeys(("outlook_auc", "outlook_low", "outlook_high"))
            | {
                "slug": "",
                "name": Window.from_dict(row).in_zone(entry.zone),
                "start": row["start"],
                "end": row["end"],
                "revision": 0,
                "version": "",
                "outcome": "ok",
                "complete": True,
                "auc": row["auc"],
                "low": row["auc_low"],
                "high": row["auc_high"],
                "expected_low": None if interval is None else interval.low,
                "expected_high": None if interval is None else interval.high,
                "positives": row["n_pos"],
                "prevalence": row["n_pos"] / (row["n_pos"] + row["n_neg"]),
            }
            for row in rows
        ]
        view = dict.fromkeys(("reference", "chosen", "floor", "episode"))
        view |= {"zone": str(entry.zone), "points": points, "ahead": [], "changes": []}
        label = f"AUROC of the {len(points)} reference windows of {entry.monitor} and the normal range"
        page |= {"chart": monitor_chart(view), "label": label}
    zone = watched[0].zone if watched else ZoneInfo("UTC")
    return render("check.html.j2", monitors=shown, made=instant(made, zone), zone=str(zone))


def window_page(evaluation: Evaluation, zone: ZoneInfo, frozen: Mapping[str, Any] | None = None) -> str:
    """Return one window as a file, with its frozen reference by segment, if kept; equal input, equal text."""
    return render(
        "one_window.html.j2",
        name=evaluation.monitor,
        segment=evaluation.segment,
        zone=zone.key,
        chosen=in_full(evaluation, zone, frozen),
        **shapes.OF_WINDOWS,
    )


def in_full(evaluation: Evaluation, zone: ZoneInfo, frozen: Mapping[str, Any] | None = None) -> Row:
    """Return what is shown of a window, in plain JSON types, without its other revisions and its run."""
    groups, window = explanation_of(evaluation), evaluation.window
    judged = {verdict.rule: verdict for verdict in evaluation.verdicts}
    why: list[Row] = []  # a line for each rule; rules that lack the same share one
    for rule, outcome, text in by_rule(evaluation.verdicts):
        numbers: Row = dict.fromkeys((*_NUMBERS, "limit_low", "limit_high")) | {"is_difference": False}
        if (verdict := judged.get(rule)) is not None:
            low, high = verdict.limit
            numbers = {name: getattr(verdict, name) for name in _NUMBERS}
            numbers |= {"limit_low": low, "limit_high": high, "is_difference": verdict.kind in _DIFFERENCES}
        why.append({"rule": rule, "outcome": str(outcome), "text": text, **numbers})

    again = ["rocmonitor", "backfill", evaluation.monitor, "--from", _typed(window.start, zone)]
    return {
        "slug": window_slug(evaluation.window, zone),
        "name": evaluation.window.in_zone(zone),
        "start": plain(evaluation.window.start),
        "end": plain(evaluation.window.end),
        "outcome": str(evaluation.outcome),
        "revision": evaluation.revision,
        "superseded": False,
        "version": evaluation.champion_version,
        "challenger_version": evaluation.challenger_version,
        "metrics": evaluation.metrics,
        "why": why,
        "moved": moved(evaluation),
        "because": main_group(groups) or moved_most(evaluation),
        "group_moved": main_group(groups) or spread(groups),
        "groups": evaluation.tables.get("groups", []),
        "curve": evaluation.tables.get("curve", []),
        "curve_moved": curve_moved(evaluation),
        "shift": evaluation.tables.get("shift", []),
        "roc": evaluation.tables.get("roc", []),
        "reference_roc": reference_curve(frozen, evaluation.segment),
        "fprs": evaluation.tables.get("fprs", []),
        "thresholds": evaluation.tables.get("thresholds", []),
        "shares": evaluation.tables.get("shares", []),
        "costs": evaluation.tables.get("costs", []),
        "calibration": calibration(evaluation.metrics),
        "counts": plain(evaluation.counts),
        "set_aside": set_aside_parts(evaluation.counts),
        "cut": CUT.lstrip("; ") if evaluation.counts.truncated else "",
        "revisions": [],
        "caveats": list(map(words_of, evaluation.caveats)),
        "provenance": provenance(
            evaluation.provenance | {"evaluated_at": plain(evaluation.evaluated_at)},
            zone,
            omitted=("query", "episode"),
        ),
        "query": str(evaluation.provenance.get("query") or ""),
        "run": None,
        # Computes the window again and saves nothing.
        "command": shlex.join([*again, "--to", _typed(window.end, zone), "--dry-run"]),
    }


def window_slug(window: Window, zone: ZoneInfo) -> str:
    """Return the name of a window in addresses: its start, such as ``2026-05-04`` or ``2026-05-04T06:00``."""
    return _typed(window.start, zone)


def _typed(moment: datetime, zone: ZoneInfo) -> str:
    """Return an instant in one word, as addresses and commands take it."""
    return instant(moment, zone).replace(" ", "T")


def reference_curve(frozen: Mapping[str, Any] | None, segment: str) -> list[Row]:
    """Return the ROC curve of a frozen reference for a drawing: at most about 200 points from (0, 0) on.

    It is empty where the reference is not kept or has no AUROC.
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
