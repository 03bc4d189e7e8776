"""Evaluations for tests: plausible, complete, and different only where a test says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Point, Status, Verdict
from rocmonitor.policy.measure import Wanted, data_metrics, measure
from rocmonitor.policy.windows import Window
from rocmonitor.stats.sample import PairedSample

FIRST = datetime(2013, 9, 2, tzinfo=UTC)
WEEK = timedelta(days=7)


def week(number: int) -> Window:
    """The weekly window `number`, counted from 0."""
    return Window(FIRST + number * WEEK, FIRST + (number + 1) * WEEK)


def point(number: int, auc: float, **more: float) -> Point:
    """The point of a weekly window, with an interval around its AUROC."""
    metrics = {"champion/auc": auc, "champion/auc_low": auc - 0.02, "champion/auc_high": auc + 0.02}
    return Point(window=week(number), revision=0, at=FIRST, metrics=metrics | more)


def evaluation(number: int = 0, **changes: Any) -> Evaluation:
    """The evaluation of a weekly window."""
    plain = Evaluation(
        monitor="flights",
        model="late-arrival",
        window=week(number),
        champion_version="3",
        challenger_version="4",
        at=week(number).end + timedelta(days=2),
        evaluated_at=week(number).end + timedelta(days=2, minutes=5),
        outcome=Status.DEGRADED,
        status=Status.DEGRADED,
        verdicts=(
            Verdict(
                rule="forecast",
                kind="forecast",
                outcome=Status.DEGRADED,
                estimate=0.7012,
                confidence_level=0.955,
                limit=(0.715, 0.761),
                margin=-0.0138,
                details={"method": "calibrated", "sampling_low": None, "sampling_high": None},
            ),
            Verdict(
                rule="floor",
                kind="floor",
                outcome=Status.OK,
                estimate=0.7012,
                low=0.679,
                high=0.7225,
                confidence_level=0.99,
                limit=(0.65, None),
                margin=0.0725,
            ),
        ),
        counts=Counts(rows=1300, n_pos=250, n_neg=950, unlabelled=88, duplicates=12),
        metrics={
            "champion/auc": 0.7012,
            "champion/auc_low": 0.6849,
            "champion/auc_high": 0.7169,
            "challenger/auc": 0.7204,
            "difference/auc": 0.0192,
            "difference/auc_low": 0.0101,
            "difference/auc_high": 0.0283,
            "reference/auc": 0.7381,
            "data/rows": 1300.0,
        },
        tables={
            "roc": [
                {"model": "champion", "fpr": 0.1, "tpr": 0.3, "tpr_low": 0.25, "tpr_high": 0.36},
                {"model": "champion", "fpr": 0.5, "tpr": 0.8, "tpr_low": 0.75, "tpr_high": 0.84},
            ],
            "fprs": [],
        },
        reference={"start": "2013-04-01T00:00:00+00:00", "end": "2013-09-02T00:00:00+00:00"},
        provenance={
            "source": "warehouse",
            "query": "SELECT scored_at, p, late FROM scored WHERE scored_at >= :start AND scored_at < :end",
            "columns": {"time": "scored_at", "champion": "p", "label": "late"},
            "timezone": "America/New_York",
            "data_digest": f"{number:064x}",
        },
        caveats=(Caveat("not-computed", why="88 rows have no label yet"),),
    )
    return replace(plain, **changes)


def measured_evaluation(
    *,
    n_pos: int = 1400,
    n_neg: int = 4600,
    shift: float = 0.8,
    challenger: float | None = 1.0,
    seed: int = 1,
    **changes: Any,
) -> Evaluation:
    """An evaluation whose metrics and tables are measured on drawn scores."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n_pos, n_neg])
    latent = rng.normal(size=n_pos + n_neg)
    champion = 1 / (1 + np.exp(-(latent + shift * y - 1)))
    other = 1 / (1 + np.exp(-(latent + 0.5 * rng.normal(size=len(y)) + (challenger or 0) * y - 1)))
    pair = PairedSample(y, other, champion)
    wanted = Wanted(fprs=(0.01, 0.05, 0.1), thresholds={0.5: 0.5})
    found = measure(pair.second, None if challenger is None else pair, wanted)
    counts = Counts(rows=n_pos + n_neg + 120, n_pos=n_pos, n_neg=n_neg, unlabelled=120)
    metrics = data_metrics(counts) | found.metrics
    return evaluation(
        **{"counts": counts, "metrics": metrics, "tables": found.tables, "caveats": found.caveats, **changes}
    )
