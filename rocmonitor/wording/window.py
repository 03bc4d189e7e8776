"""What is said of one window beside its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.record import low_is_positive
from rocmonitor.wording.shift import explanation, foretold, main_part
from rocmonitor.wording.verdicts import verdicts

CALIBRATION = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_slope": "slope (calibrated: 1)",
    "calibration_intercept": "intercept (calibrated: 0)",
}
"""What measures the calibration, by the metric."""


def calibration(metrics: Mapping[str, float]) -> list[dict[str, str | float | None]]:
    """``measure, value, low, high`` of the calibration; empty where scores are no probabilities."""
    return [
        {
            "measure": words,
            **{name: metrics.get(f"champion/{metric}{end}") for name, end in _ENDS.items()},
        }
        for metric, words in CALIBRATION.items()
        if f"champion/{metric}" in metrics
    ]


_ENDS = {"value": "", "low": "_low", "high": "_high"}


def moved(evaluation: Evaluation) -> str:
    """Which scores made the AUROC what it is, and what they foretold; empty without a table of the shift."""
    return _explained(evaluation, explanation)


def moved_most(evaluation: Evaluation) -> str:
    """As `moved`, with the class of rows that made most of the change only."""
    return _explained(evaluation, main_part)


def _explained(evaluation: Evaluation, words: Callable[..., str]) -> str:
    rows, metrics = evaluation.tables.get("shift"), evaluation.metrics
    if not rows:
        return ""
    text = words(
        rows,
        reference_auc=metrics["reference/auc"],
        auc=metrics["champion/auc"],
        from_positives=metrics["shift/from_positives"],
        from_negatives=metrics["shift/from_negatives"],
        low_is_positive=low_is_positive(evaluation.provenance),
    )
    return " ".join(filter(None, [text, foretold(metrics)]))


def why(evaluation: Evaluation) -> list[str]:
    """Why a window is not ok: what decided, and of an insufficient one what to know of its rows."""
    if evaluation.outcome is Status.OK:
        return []
    lines = verdicts([each for each in evaluation.verdicts if each.outcome is evaluation.outcome])
    if evaluation.outcome is Status.INSUFFICIENT:
        lines += map(str, evaluation.caveats)
    return lines
