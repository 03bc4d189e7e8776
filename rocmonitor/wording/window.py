"""The words about one window besides its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Evaluation, Status, known
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.joining import Counted, Joining
from rocmonitor.policy.record import low_is_positive
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.explanation import curve_sentence, main_group, spread
from rocmonitor.wording.format import count, instant, one_line, percent, signed
from rocmonitor.wording.shift import explanation, main_part, rounded_parts
from rocmonitor.wording.verdicts import verdicts

CALIBRATION = {
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_slope": "slope (calibrated: 1)",
    "calibration_intercept": "intercept (calibrated: 0)",
}
"""The names of the calibration measures, by the metric."""


def calibration(metrics: Mapping[str, float]) -> list[dict[str, str | float | None]]:
    """``measure, value, low, high`` of the calibration; empty where scores are no probabilities."""
    return [
        {
            "measure": words,
            "value": metrics[f"champion/{metric}"],
            "low": metrics.get(f"champion/{metric}_low"),
            "high": metrics.get(f"champion/{metric}_high"),
        }
        for metric, words in CALIBRATION.items()
        if f"champion/{metric}" in metrics
    ]


def moved(evaluation: Evaluation) -> str:
    """Return which scores made the AUROC what it is, and what they showed; empty without a table."""
    return _explained(evaluation, explanation)


def moved_most(evaluation: Evaluation) -> str:
    """Return `moved` with only the class of rows that made most of the change."""
    return _explained(evaluation, main_part)


def moved_briefly(evaluation: Evaluation) -> str:
    """Return the same for an alarm: the group that made most of it, else the class of rows."""
    groups, metrics = explanation_of(evaluation), evaluation.metrics
    text = main_group(groups) or _explained(evaluation, main_part, told=False)
    shown = foretold(metrics, brief=True) if text else ""
    by_groups = spread(groups)
    of_groups = [caveat for caveat in evaluation.caveats if caveat.about == ("explanation",)]
    reasons = [caveat.values["why"] for caveat in of_groups if caveat.code == "not-computed"]
    if reasons and not by_groups:
        by_groups = f"Which group moved is not known: {one_line(reasons[0], 160).rstrip('.')}."
    return " ".join(filter(None, [text, shown, by_groups]))


def curve_moved(evaluation: Evaluation) -> str:
    """Return where on the ROC curve a window lost or won; empty if chance can explain it everywhere."""
    aucs = known(evaluation.metrics, "champion/auc", "reference/auc")
    if aucs is None:
        return ""
    return curve_sentence(evaluation.tables.get("curve", ()), aucs[0] - aucs[1])


def _explained(evaluation: Evaluation, words: Callable[..., str], *, told: bool = True) -> str:
    rows, metrics = evaluation.tables.get("shift"), evaluation.metrics
    names = ("reference_auc", "auc", "from_positives", "from_negatives")
    values = known(metrics, "reference/auc", "champion/auc", "shift/from_positives", "shift/from_negatives")
    if not rows or values is None:
        return ""
    parts = dict(zip(names, values, strict=True))
    text = words(rows, **parts, low_is_positive=low_is_positive(evaluation.provenance))
    return " ".join(filter(None, [text, foretold(metrics) if told else ""]))


def foretold(metrics: Mapping[str, float], *, brief: bool = False) -> str:
    """Say in one sentence how much of a change the scores showed; empty where that was not asked.

    `brief` leaves out what either part means, and what is not known.
    """
    values = known(metrics, "shift/foreseen", "champion/auc", "reference/auc")
    if values is None:
        return ""
    seen, change = values[0], values[1] - values[2]
    ends = known(metrics, "shift/foreseen_low", "shift/foreseen_high")
    if ends is not None and not metrics.get("shift/foreseen_known", 1):
        if brief:
            return ""
        low, high = (signed(end, 3) for end in ends)
        little_known = {
            "where the reference has few rows": metrics.get("shift/thin_share", 0.0),
            "beyond the reference's range": metrics.get("shift/outside_share", 0.0),
        }
        shares = [
            f"{percent(share, 2)} lie {where}" for where, share in little_known.items() if share >= 0.0005
        ]
        why = f" (of its scores, {' and '.join(shares)})" if shares else ""
        return f"How much of this the scores showed is not known: between {low} and {high}{why}."
    rest = change - seen
    printed = rounded_parts({"seen": seen, "rest": rest}, change)
    if brief:
        what = "rise" if change > 0 else "fall"
        scores, others = (signed(printed[name], 3) for name in ("seen", "rest"))
        return f"Of the {what}, {scores} showed in the scores and {others} did not."
    cases, model = "harder" if seen < 0 else "easier", "worse" if rest < 0 else "better"
    return (
        f"Of this, {signed(printed['seen'], 3)} showed in the scores (the cases became {cases} to rank) "
        f"and {signed(printed['rest'], 3)} did not (the model became {model}, or chance)."
    )


def why(evaluation: Evaluation) -> list[str]:
    """Why a window is not ok: what decided, and of an insufficient one what to know of its rows."""
    if evaluation.outcome is Status.OK:
        return []
    lines = verdicts([verdict for verdict in evaluation.verdicts if verdict.outcome is evaluation.outcome])
    if evaluation.outcome is Status.INSUFFICIENT:
        lines += map(words_of, evaluation.caveats)
    return lines


def unjudged_rows(rest: Counted, joining: Joining, zone: ZoneInfo) -> str:
    """Return what has come since the last window, and what it waits for.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from rocmonitor.policy.windows import Window
    >>> days = Window(datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 9, tzinfo=UTC))
    >>> rest = Counted(window=days, rows=3200, n_pos=40, n_neg=3160, pieces=4)
    >>> unjudged_rows(rest, Joining(rows=5000), ZoneInfo("UTC"))
    '3,200 of 5,000 rows since 2026-01-05'
    """
    since = instant(rest.window.start, zone)
    if joining.rows is None:
        return (
            f"{count(rest.pieces, 'window')} since {since}: labels are awaited, or a class has too few rows "
            f"(at most {joining.most} are pooled)"
        )
    if rest.rows < joining.rows:
        return f"{rest.rows:,} of {joining.rows:,} rows since {since}"
    return f"{rest.rows:,} rows since {since} wait for labels"


def pooled(caveats: Iterable[Caveat]) -> str:
    """Behind the dates of a window: of how many it is; empty for one."""
    return next(
        (f", {caveat.values['windows']} pooled" for caveat in caveats if caveat.code == "windows-pooled"), ""
    )
