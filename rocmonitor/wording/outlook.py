"""What scores say before the labels, in words; and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.wording.format import apart, area, forecast_span, percent

ADVICE = (
    "the labels will decide. Meanwhile: which scores moved, did a source or the mix of cases change, and can "
    "decisions on these cases wait or be checked?"
)


def expected(metrics: Mapping[str, float]) -> str:
    """The AUROC that the scores foretell, with its interval; empty without one."""
    if "outlook/auc" not in metrics:
        return ""
    low, high = metrics["outlook/low"], metrics["outlook/high"]
    return f"{area(metrics['outlook/auc'])} ({forecast_span(low, high)})"


def foreseen(metrics: Mapping[str, float]) -> str:
    """What the scores foretold of a window, and what came of it; empty where either is not known."""
    if not (said := expected(metrics)) or "champion/auc" not in metrics:
        return ""
    warned = " with a warning" if metrics.get("outlook/warned") else ""
    return f"foreseen {said}{warned}, came out {area(metrics['champion/auc'])}"


def headline(change: Transition, outlook: Outlook) -> str:
    """What the scores foretell, beside what is normal, in one line."""
    if change.after is Status.AT_RISK and (said := expected(outlook.metrics)):
        usual = outlook.metrics.get("forecast/low"), outlook.metrics.get("forecast/high")
        normally = "" if None in usual else f", normally {forecast_span(*usual)}"  # type: ignore[arg-type]
        return f"At risk: AUROC {said} expected from the scores{normally}. No labels yet."
    return f"{change.after.capitalize()}."


def title(change: Transition, outlook: Outlook) -> str:
    """What the title says after the monitor's name."""
    warning = next((each for each in outlook.verdicts if each.outcome is Status.AT_RISK), None)
    if warning is None:
        return f"was {change.before}"
    if warning.kind == "scores":
        return "the scores have moved, no labels yet"
    assert warning.estimate is not None
    assert warning.limit[0] is not None
    shown, limit = apart(warning.estimate, warning.limit[0])
    return f"AUROC {shown} expected from the scores, limit {limit}"


def moved(outlook: Outlook) -> str:
    """Where most scores have come to, and where most have gone; empty without a table of them."""
    rows = outlook.tables.get("scores")
    if not rows:
        return ""
    more = max(rows, key=lambda row: row["window"] - row["reference"])
    fewer = min(rows, key=lambda row: row["window"] - row["reference"])
    return f"{_share(more)}; {_share(fewer)}."


def _share(row: Mapping[str, Any]) -> str:
    low, high = row["low"], row["high"]
    if low is None:
        where = f"up to {high:.4g}"
    else:
        where = f"above {low:.4g}" if high is None else f"from {low:.4g} to {high:.4g}"
    return f"{percent(row['window'])} of scores {where}, {percent(row['reference'])} in the reference"
