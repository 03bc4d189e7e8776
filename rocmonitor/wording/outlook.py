"""The outlook from scores before the labels, in words; and its outcome."""

from __future__ import annotations

from collections.abc import Mapping

from rocmonitor.policy.evaluation import Status, Transition, known
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording.explanation import main_group
from rocmonitor.wording.format import apart, area, beside_normal, forecast_span, percent
from rocmonitor.wording.status import WORDS

ADVICE = (
    "the labels will decide. Meanwhile: which scores moved, did a source or the mix of cases change, and can "
    "decisions on these cases wait or be checked?"
)


def expected(metrics: Mapping[str, float]) -> str:
    """Return the AUROC that the scores foretell, with its interval; empty without one."""
    values = known(metrics, "outlook/auc", "outlook/low", "outlook/high")
    if values is None:
        return ""
    auc, low, high = values
    return f"{area(auc)} ({forecast_span(low, high)})"


def foreseen(metrics: Mapping[str, float]) -> str:
    """Return the outlook of a window, and what came of it; empty where either is not known."""
    if not (text := expected(metrics)) or "champion/auc" not in metrics:
        return ""
    warned = ", with a warning" if metrics.get("outlook/warned") else ""
    return f"{text}{warned}; came out {area(metrics['champion/auc'])}"


def headline(change: Transition, outlook: Outlook) -> str:
    """Return what the scores foretell, beside what is normal, in one line."""
    if change.after is Status.AT_RISK and expected(outlook.metrics):
        return f"Outlook from the scores: {_beside_normal(outlook)}; the labels are not due yet"
    return WORDS[change.after].headline


def title(change: Transition, outlook: Outlook) -> str:
    """Return what the title says after the monitor's name."""
    warning = next((verdict for verdict in outlook.verdicts if verdict.outcome is Status.AT_RISK), None)
    if warning is None:
        return f"was {change.before}"
    if warning.kind == "scores" or not expected(outlook.metrics):
        return "the scores have moved, labels not due yet"
    return f"outlook {_beside_normal(outlook)}"


def _beside_normal(outlook: Outlook) -> str:
    """Return what is expected, beside what it was compared with: the forecast, or the reference windows."""
    warnings = [verdict for verdict in outlook.verdicts if verdict.outcome is Status.AT_RISK]
    by_windows = next((warning for warning in warnings if warning.details.get("against") == "windows"), None)
    if by_windows is not None and by_windows.estimate is not None and by_windows.limit[0] is not None:
        shown, lowest = apart(by_windows.estimate, by_windows.limit[0])
        return f"AUROC {shown}, {lowest} or more in the reference"
    metrics = outlook.metrics
    low, high = metrics.get("forecast/low"), metrics.get("forecast/high")
    if low is None or high is None:
        return f"AUROC {expected(metrics)}"
    return beside_normal(metrics["outlook/auc"], low, high)


def moved(outlook: Outlook) -> str:
    """Return which group moved, or where most scores have come to and gone; empty if neither is known."""
    if text := main_group(explanation_of(outlook)):
        return text
    rows = outlook.tables.get("scores")
    if not rows:
        return ""
    more = max(rows, key=lambda row: row["window"] - row["reference"])
    fewer = min(rows, key=lambda row: row["window"] - row["reference"])
    parts = []
    for row in (more, fewer):
        low, high = row["low"], row["high"]
        if low is None:
            where = f"up to {high:.4g}"
        else:
            where = f"above {low:.4g}" if high is None else f"from {low:.4g} to {high:.4g}"
        now, before = percent(row["window"]), percent(row["reference"])
        parts.append(f"{now} of scores {where}, {before} in the reference")
    return f"{'; '.join(parts)}."
