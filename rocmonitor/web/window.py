"""The window that a page shows in full, with its revisions and the reference it was compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.policy.windows import Window
from rocmonitor.report.window import in_full
from rocmonitor.store.history import Kept
from rocmonitor.wording.format import instant

Row = dict[str, Any]


def chosen_window(kept: store.Store, monitor: Monitor, revisions: Sequence[Kept], one: Kept) -> Row:
    """``chosen``, the window in full, and ``reference``, what it was compared with; plain JSON types."""
    evaluation, zone = store.evaluation(kept, one.id), monitor.timezone
    chosen = in_full(evaluation, zone, store.reference_of(kept, evaluation)) | {
        "superseded": one is not revisions[-1],
        "revisions": [_revision(revision, zone) for revision in reversed(revisions)],
        "run": store.receipt_of(kept, one.id),
    }
    return {"chosen": chosen, "reference": _reference(evaluation, zone)}


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
    reference = evaluation.reference
    if not reference.get("start"):
        return None
    whole = reference.get("auc") or {}
    return {
        "start": reference["start"],
        "end": reference["end"],
        "auc": whole.get("auc"),
        "low": whole.get("low"),
        "high": whole.get("high"),
        "doubts": [str(doubt) for doubt in doubts_of(reference)],
        "windows": [
            _reference_window(row, zone)
            for row in reference.get("windows", ())
            if row["n_pos"] + row["n_neg"]
        ],
    }


def _reference_window(row: Mapping[str, Any], zone: ZoneInfo) -> Row:
    """One of them, named as the windows that were judged."""
    return {
        "name": f"reference, {Window.from_dict(row).in_zone(zone)}",
        "start": row["start"],
        "end": row["end"],
        "positives": row["n_pos"],
        "negatives": row["n_neg"],
        "prevalence": row["n_pos"] / (row["n_pos"] + row["n_neg"]),
        "auc": row.get("auc"),
        "low": row.get("auc_low"),
        "high": row.get("auc_high"),
    }
