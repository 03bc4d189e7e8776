"""One window in full: why, what moved, the curve, operating points, rows, revisions, provenance."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation, Verdict
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.record import plain
from rocmonitor.policy.reference import reference_curve
from rocmonitor.policy.windows import Window
from rocmonitor.store.history import Kept
from rocmonitor.wording import page as wording
from rocmonitor.wording.explanation import main_group, spread
from rocmonitor.wording.format import CUT, instant, set_aside_parts
from rocmonitor.wording.verdicts import by_rule
from rocmonitor.wording.window import calibration, curve_moved, moved, moved_most

Row = dict[str, Any]


def chosen_window(
    kept: store.Store, monitor: Monitor, revisions: Sequence[Kept], one: Kept
) -> dict[str, Any]:
    """``chosen``, the window in full, and ``reference``, what it was compared with; plain JSON types.

    Raises
    ------
    StoreError
    """
    evaluation = store.evaluation(kept, one.id)
    zone, groups = monitor.timezone, explanation_of(evaluation)
    slug = instant(one.window.start, zone).replace(" ", "T")
    chosen = {
        "slug": slug,
        "name": one.window.in_zone(zone),
        "start": plain(one.window.start),
        "end": plain(one.window.end),
        "outcome": str(one.outcome),
        "revision": one.revision,
        "superseded": one is not revisions[-1],
        "version": one.version,
        "challenger_version": evaluation.challenger_version,
        "metrics": one.metrics,
        "why": _why(evaluation),
        "moved": moved(evaluation),
        "because": main_group(groups) or moved_most(evaluation),
        "group_moved": main_group(groups) or spread(groups),
        "groups": evaluation.tables.get("groups", []),
        "curve": evaluation.tables.get("curve", []),
        "curve_moved": curve_moved(evaluation),
        "shift": evaluation.tables.get("shift", []),
        "roc": evaluation.tables.get("roc", []),
        "reference_roc": _reference_curve(kept, evaluation),
        "fprs": evaluation.tables.get("fprs", []),
        "thresholds": evaluation.tables.get("thresholds", []),
        "shares": evaluation.tables.get("shares", []),
        "costs": evaluation.tables.get("costs", []),
        "calibration": calibration(one.metrics),
        "counts": plain(evaluation.counts),
        "set_aside": set_aside_parts(evaluation.counts),
        "cut": CUT.lstrip("; ") if evaluation.counts.truncated else "",
        "revisions": [_revision(each, zone) for each in reversed(revisions)],
        "caveats": [str(caveat) for caveat in evaluation.caveats],
        "provenance": _facts(evaluation),
        "query": str(evaluation.provenance.get("query") or ""),
        "run": store.receipt_of(kept, one.id),
        "command": _command(monitor, one),
    }
    return {"chosen": chosen, "reference": _reference(evaluation, zone)}


def _why(evaluation: Evaluation) -> list[Row]:
    """One line a rule; rules that lack the same share one."""
    values = {verdict.rule: verdict for verdict in evaluation.verdicts}
    return [
        {"rule": rule, "outcome": str(outcome), "text": text, **_numbers(values.get(rule))}
        for rule, outcome, text in by_rule(evaluation.verdicts)
    ]


def _numbers(verdict: Verdict | None) -> Row:
    names = ("estimate", "low", "high", "margin")
    if verdict is None:
        return dict.fromkeys((*names, "limit_low", "limit_high")) | {"is_difference": False}
    low, high = verdict.limit
    numbers = {name: getattr(verdict, name) for name in names} | {"limit_low": low, "limit_high": high}
    return numbers | {"is_difference": verdict.kind in _DIFFERENCES}


_DIFFERENCES = ("challenger", "drop", "lasting")
"""Kinds of rules whose estimate is a difference, so that 0 is of interest."""


def _revision(one: Kept, zone: ZoneInfo) -> Row:
    return {
        "revision": one.revision,
        "at": instant(one.at, zone),
        "outcome": str(one.outcome),
        "auc": one.metrics.get("champion/auc"),
        "low": one.metrics.get("champion/auc_low"),
        "high": one.metrics.get("champion/auc_high"),
        "positives": one.metrics.get("data/positives"),
        "labelled_share": one.metrics.get("data/labelled_share"),
    }


def _reference(evaluation: Evaluation, zone: ZoneInfo) -> Row | None:
    """Period, sizes of its windows, AUROC; None for a window that was compared with nothing."""
    found = evaluation.reference
    if not found.get("start"):
        return None
    whole = found.get("auc") or {}
    return {
        "start": found["start"],
        "end": found["end"],
        "auc": whole.get("auc"),
        "low": whole.get("low"),
        "high": whole.get("high"),
        "windows": [
            _reference_window(row, zone) for row in found.get("windows", ()) if row["n_pos"] + row["n_neg"]
        ],
    }


def _reference_window(row: Mapping[str, Any], zone: ZoneInfo) -> Row:
    """One of them, named as the windows that were judged."""
    start, end = (datetime.fromisoformat(row[name]) for name in ("start", "end"))
    return {
        "name": wording.reference_window(Window(start, end).in_zone(zone)),
        "start": row["start"],
        "end": row["end"],
        "positives": row["n_pos"],
        "negatives": row["n_neg"],
        "prevalence": row["n_pos"] / (row["n_pos"] + row["n_neg"]),
        "auc": row.get("auc"),
        "low": row.get("auc_low"),
        "high": row.get("auc_high"),
    }


def _reference_curve(kept: store.Store, evaluation: Evaluation) -> list[Row]:
    """Return the ROC curve of the frozen reference, from its cells; empty where it is no longer kept."""
    digest = evaluation.reference.get("digest")
    frozen = store.reference(kept, evaluation.monitor, digest) if digest else None
    return reference_curve(frozen, evaluation.segment)


def _facts(evaluation: Evaluation) -> list[list[str]]:
    """Return the provenance by name, without the query, which is shown by itself."""
    found: Mapping[str, Any] = evaluation.provenance | {"evaluated at": plain(evaluation.evaluated_at)}
    return [
        [name.replace("_", " "), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]
        for name, value in found.items()
        if name != "query" and value not in (None, "", [], {})
    ]


def _command(monitor: Monitor, one: Kept) -> str:
    """Return the shell command that computes the window again and saves nothing."""
    ends = [
        instant(moment, monitor.timezone).replace(" ", "T") for moment in (one.window.start, one.window.end)
    ]
    parts = ["rocmonitor", "backfill", monitor.name, "--from", ends[0], "--to", ends[1], "--dry-run"]
    return shlex.join(parts)
