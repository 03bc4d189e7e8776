"""Reviews that an earlier version stored, with sentences and other names, in the names of this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]

_METRICS = {
    "rows": "data/rows",
    "n_pos": "data/positives",
    "n_neg": "data/negatives",
    "looks": "review/checks",
    "champion_auc": "champion/auc",
    "challenger_auc": "challenger/auc",
    "difference": "difference/auc",
    "difference_se": "difference/auc_se",
    "difference_low": "difference/auc_low",
    "difference_high": "difference/auc_high",
    "so_far": "difference/auc_mean",
    "always_low": "difference/auc_anytime_low",
    "always_high": "difference/auc_anytime_high",
    "pvalue": "difference/auc_anytime_pvalue",
    "forecast_low": "forecast/difference_low",
    "forecast_high": "forecast/difference_high",
}
_COLUMNS = {
    "so_far": "running_mean",
    "always_low": "anytime_low",
    "always_high": "anytime_high",
    "looked": "checked",
    "what": "kind",
}
_KINDS = {
    "rows": "read",
    "scored by both, labelled": "compared",
    "scored by the champion only": "champion_only",
    "scored by the challenger only": "challenger_only",
    "without a usable score": "bad_score",
    "with a label of neither class": "bad_label",
    "with an id seen before": "duplicates",
    "with a time outside the window": "outside",
}


def is_earlier(stored: Mapping[str, Any]) -> bool:
    """Whether these are the fields of a version that stored sentences."""
    return "summary" in stored


def translated(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as this version stores them; the sentences stay, as recorded text."""
    metrics = {_metric(name.removeprefix("review/")): value for name, value in stored["metrics"].items()}
    tables = {name: [_row(row) for row in rows] for name, rows in stored["tables"].items()}
    further = metrics.get("review/windows_to_decide")
    return {
        **stored,
        "metrics": metrics,
        "tables": tables,
        "comparisons": _comparisons(metrics, tables),
        "withdrawn": None,
        "further_windows": None if further is None else int(further),
        "recorded": {name: stored[name] for name in ("summary", "advice") if stored[name]},
    }


def _metric(name: str) -> str:
    if known := _METRICS.get(name):
        return known
    if name.startswith("difference_at_fpr_"):
        return name.replace("difference_at_", "difference/tpr_at_").replace("_always_", "_anytime_")
    return f"difference/{name}" if name.startswith("saved_at_w_") else f"review/{name}"


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {_COLUMNS.get(name, name): value for name, value in row.items()}
    if "kind" in renamed:
        renamed["kind"] = _KINDS.get(renamed["kind"], renamed["kind"])
    return renamed


def _comparisons(metrics: Mapping[str, float], tables: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """Estimates and intervals over all checks; the number of checks was stored for the AUROC only."""
    low, high = (metrics.get(f"difference/auc_anytime_{end}") for end in ("low", "high"))
    area = {
        "fpr": None,
        "estimate": metrics.get("difference/auc_mean"),
        "low": low,
        "high": high,
        "checks": int(metrics["review/checks"]) if "review/checks" in metrics else None,
        "better": "challenger" if low is not None and low > 0 else "champion" if (high or 0) < 0 else "",
    }
    return [area] + [
        {
            "fpr": row["fpr"],
            "estimate": row["running_mean"],
            "low": row["anytime_low"],
            "high": row["anytime_high"],
            "checks": None,
            "better": row["better"],
        }
        for row in tables.get("fprs", ())
    ]
