"""The tables of the operating points of a window, and of its calibration, as cells of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.report.review.tables import NOTHING, Shown
from rocmonitor.wording import page as words
from rocmonitor.wording.format import percent
from rocmonitor.wording.window import calibration

Row = Mapping[str, Any]


def operating_points(evaluation: Evaluation) -> dict[str, Shown]:
    """``fprs``, ``thresholds``, ``shares``, ``costs`` and ``calibration``, as far as the window has them."""
    makers = {"fprs": _fprs, "thresholds": _thresholds, "shares": _shares, "costs": _costs}
    found = {name: make(rows) for name, make in makers.items() if (rows := evaluation.tables.get(name))}
    if rows := calibration(evaluation.metrics):
        found["calibration"] = _calibration(rows)
    return found


def _fprs(rows: Sequence[Row]) -> Shown:
    return Shown(
        caption=words.FPRS,
        columns={
            "model": [row["model"] for row in rows],
            "FPR": [percent(row["fpr"]) for row in rows],
            "TPR": [percent(row["tpr"]) for row in rows],
            "95 % interval": [_interval(row, "tpr") for row in rows],
        },
    )


def _thresholds(rows: Sequence[Row]) -> Shown:
    rates = {
        f"{rate.upper()}, 95 % interval": [
            f"{percent(row[rate])} ({_interval(row, rate).replace(' %', '')})" for row in rows
        ]
        for rate in ("tpr", "fpr")
    }
    return Shown(
        caption=words.THRESHOLDS,
        columns={
            "model": [row["model"] for row in rows],
            "threshold": [f"{row['threshold']:.4g}" for row in rows],
            **rates,
        },
    )


def _shares(rows: Sequence[Row]) -> Shown:
    return Shown(
        caption=words.SHARES,
        columns={
            "model": [row["model"] for row in rows],
            "flagged": [percent(row["share"]) for row in rows],
            "precision": [percent(row["precision"]) for row in rows],
            "95 % interval": [_interval(row, "precision") for row in rows],
        },
    )


def _calibration(rows: Sequence[Row]) -> Shown:
    ends = [
        NOTHING if None in (row["low"], row["high"]) else f"{row['low']:.3f} to {row['high']:.3f}"
        for row in rows
    ]
    return Shown(
        caption=words.CALIBRATION,
        columns={
            "measure": [row["measure"] for row in rows],
            "value": [f"{row['value']:.3f}" for row in rows],
            "95 % interval": ends,
        },
    )


def _costs(rows: Sequence[Row]) -> Shown:
    return Shown(
        caption=words.COSTS,
        columns={name.replace("_", " "): [_cell(row.get(name)) for row in rows] for name in rows[0]},
    )


def _interval(row: Row, rate: str) -> str:
    low, high = row.get(f"{rate}_low"), row.get(f"{rate}_high")
    return NOTHING if low is None or high is None else f"{percent(low)} to {percent(high)}"


def _cell(value: Any) -> str:
    if value is None:
        return NOTHING
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)
