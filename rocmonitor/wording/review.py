"""Reviews in words: summary and advice, the rule, and the codes in the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.policy.review.settings import LARGEST_ADVICE
from rocmonitor.wording.counts import SET_ASIDE
from rocmonitor.wording.format import count, listed, signed, span

Row = Mapping[str, Any]

KINDS = {
    "read": "read",
    "compared": "scored by both, labelled",
    "champion_only": "scored by the champion only",
    "challenger_only": "scored by the challenger only",
    **SET_ASIDE,
}
"""What became of the rows: the table ``counts``."""

_DAY, _WEEK, _YEAR = timedelta(days=1), timedelta(days=7), timedelta(days=365)


def versions(review: Review) -> str:
    """The two versions."""
    return f"champion {review.champion_version} against challenger {review.challenger_version}"


def title(review: Review) -> str:
    """The decision and the versions, for one line."""
    return f"{review.decision} (champion {review.champion_version}, challenger {review.challenger_version})"


def sentence(review: Review) -> str:
    """The decision, the versions and the difference that decides, in one line."""
    area = _area(review)
    shown = "" if area is None or area.estimate is None else f": AUROC {signed(area.estimate)}"
    ends = "" if area is None else _interval(area)
    sides = f"challenger {review.challenger_version} against champion {review.champion_version}"
    return f"{review.decision}, {sides}{shown}{f' ({ends})' if shown and ends else ''}"


def difference_line(review: Review) -> str:
    """The AUROC difference that decides; empty where no window could be compared."""
    area = _area(review)
    if area is None or area.estimate is None:
        return ""
    return (
        f"AUROC difference, mean of the windows {area.estimate:+.4f} "
        f"({level(review.rule)}, valid under repeated checks: {_interval(area)})"
    )


def summary(review: Review) -> str:
    """The reason for the decision, with its numbers; read below the decision, which it does not repeat."""
    if review.recorded:
        return review.recorded.get("summary", "")
    return " ".join(filter(None, [*_reasons(review), _whole_period(review.metrics)]))


def one_check(review: Review) -> str:
    """Why a difference that looks clear is no decision; empty where there is nothing to explain."""
    low, high = (review.metrics.get(f"difference/auc_{end}") for end in ("low", "high"))
    area, margin = _area(review), review.rule.get("margin") or 0
    if review.decision is not Decision.UNDECIDED or low is None or high is None:
        return ""
    if -margin <= high and low <= margin:
        return ""
    holds = "" if area is None or not _interval(area) else f" ({_interval(area)})"
    beyond = f"the margin of {margin:g}" if margin else "0"
    return (
        f"Why is a clear difference no decision? The interval of all rows, {span(low, high, sign=True)}, "
        f"lies beyond {beyond}, but it holds for a single check only. A review is checked again with every "
        "window: such an interval would sooner or later exclude 0 by chance alone. The decision needs the "
        f"interval that holds at all checks together{holds}, and that one does not lie beyond {beyond} yet."
    )


def advice(review: Review) -> str:
    """What more windows would bring."""
    if review.recorded:
        return review.recorded.get("advice", "")
    if review.decision is Decision.TRADE_OFF:
        return (
            "Choose by the false positive rate at which the model is used; see the table of rates. More "
            "windows make the regions sharper but seldom remove a trade-off."
        )
    if review.decision is not Decision.UNDECIDED:
        return (
            "Further checks do not make the decision less certain. It stands as long as the windows support "
            "it: if later windows differ from the earlier ones, the interval widens."
        )
    area = _area(review)
    if area is None or area.estimate is None:
        return (
            "The table of windows gives the reasons. If rows are too few, make the windows longer "
            "(window.every) or min_per_class smaller, and check that both models score the same rows."
        )
    margin, seen = review.rule.get("margin") or 0, signed(area.estimate)
    if review.further_windows is not None:
        number = review.further_windows
        return (
            f"About {count(number, 'more window')}{_duration(review, number)} like these would decide, if "
            f"the true difference is the observed one, {seen}. Chance may make it fewer or more."
        )
    if abs(area.estimate) <= margin:
        return (
            f"More windows like these would not decide: the observed difference, {seen}, is within the "
            f"margin of {margin:g}. Decide on other grounds."
        )
    return (
        f"It would take more than {LARGEST_ADVICE} windows like these to decide, if the true difference is "
        f"the observed one, {seen}. The models hardly differ: decide on other grounds."
    )


def rule(review: Review) -> list[str]:
    """The rule, a sentence or two for each line; empty if the review does not store one."""
    written = review.rule
    if not {"confidence_level", "margin"} <= set(written):
        return []
    margin, rates = written["margin"], written.get("fpr") or []
    spent = "all of it is spent on the AUROC difference"
    if rates:
        spent = (
            "one half is spent on the AUROC difference, the other in equal parts on the TPR difference at "
            f"FPR {', '.join(f'{100 * rate:.4g} %' for rate in rates)}"
        )
    lines = [
        "Each window with enough rows is one check. With probability "
        f"{level(written)} all intervals of the rule contain the true mean differences at all checks "
        f"together; of the {100 * (1 - written['confidence_level']):.4g} % for error {spent}.",
        "Challenger better, or champion better: the AUROCs are shown to differ"
        f"{f' by more than {margin:g}' if margin else ''}, and no other comparison contradicts.",
    ]
    if rates:
        lines.append(
            "Trade-off: one model is shown to be better by one comparison, the other model by another, even "
            "if only slightly."
        )
    lines.append("No decision yet: none of the above.")
    lines.append("A decision can be withdrawn if later windows vary more.")
    if "tuned_for" in written:
        lines.append(
            f"The intervals are narrowest after {written['tuned_for']} windows, a number fixed beforehand."
        )
    lines.append(
        "The intervals allow for neighbouring windows that are alike, as far as the windows show it. What "
        "the interval would be if windows were independent of each other is given for comparison."
        if written.get("correlation") == "estimated"
        else "The intervals take windows as independent of each other."
    )
    return lines


def chosen(review: Review) -> str:
    """Whether period and rows were fixed beforehand."""
    if review.registered:
        return "The configuration gives the period: it was not chosen by what the rows show."
    return (
        "The period or the segment was chosen by hand. The confidence level of the rule holds for the "
        "configured period only: do not decide by this review alone."
    )


def in_words(table: str, row: Row, review: Review) -> dict[str, Any]:
    """A row of a table with words in place of its codes; text of an earlier version stays as it is."""
    words = dict(row)
    for column in ("why_not", "note"):
        if words.get(column):
            words[column] = _why_not(row, words[column], review.min_per_class)
    if table == "counts":
        words["kind"] = KINDS.get(row["kind"], row["kind"])
    if table == "forecast" and "windows" in row:
        words["basis"] = f"{row['windows']} windows of the {row['basis']}"
    return words


def level(rule: Mapping[str, Any]) -> str:
    """The confidence level."""
    return f"{100 * rule.get('confidence_level', 0.95):.4g} %"


def _area(review: Review) -> Comparison | None:
    return next((each for each in review.comparisons if each.fpr is None), None)


def _reasons(review: Review) -> list[str]:
    area = _area(review)
    windows = review.tables.get("windows", [])
    if area is None or area.estimate is None:
        why = _why_not(windows[0], windows[0]["why_not"], review.min_per_class) if windows else ""
        return [f"No window could be compared{f' ({why})' if why else ''}."]
    if review.decision is Decision.TRADE_OFF:
        better = _better(review.comparisons)
        return [f"{better[0].upper()}{better[1:]}.", _regions(review.tables.get("regions", ()))]
    margin = review.rule.get("margin") or 0
    others = _better([each for each in review.comparisons if each.fpr is not None])
    also = f"Also shown: {others}." if others else ""
    if review.decision is Decision.UNDECIDED:
        wanted = f"a difference of more than {margin:g}" if margin else "which model is better"
        return [f"The AUROC does not show {wanted}: {_mean(area)}.", _withdrawn(review), also]
    beyond = f", beyond the margin of {margin:g}" if margin else ""
    return [f"The AUROC decides: {_mean(area)}{beyond}.", _since(review), also]


def _mean(area: Comparison) -> str:
    checks = "" if area.checks is None else f" after {count(area.checks, 'check')}"
    ends = "still unbounded" if _is_unbounded(area.low, area.high) else _interval(area)
    text = f"the windows' mean difference is {area.estimate:+.4f}, and its interval{checks} is {ends}"
    low, high = area.independent_low, area.independent_high
    if low is None or high is None or _is_unbounded(low, high):
        return text
    return f"{text} (if windows were independent of each other: {span(low, high, sign=True)})"


def _is_unbounded(low: float | None, high: float | None) -> bool:
    return (low, high) == (-1, 1)


def _since(review: Review) -> str:
    ends = [datetime.fromisoformat(row["end"]) for row in review.tables.get("windows", ())]
    if review.decided_at not in ends:
        return ""
    return f"The decision has stood since window {ends.index(review.decided_at) + 1} of {len(ends)}."


def _withdrawn(review: Review) -> str:
    if review.withdrawn is None:
        return ""
    windows = round(review.metrics.get("review/windows", 0))
    later = "the last window" if windows == review.withdrawn.window + 1 else "later windows"
    until = f"window {review.withdrawn.window} of {windows}"
    return f"Until {until} the decision was “{review.withdrawn.decision}”; {later} withdrew it."


def _whole_period(metrics: Mapping[str, float]) -> str:
    challenger, champion = (metrics.get(f"{model}/auc") for model in ("challenger", "champion"))
    if challenger is None or champion is None:
        return ""
    return (
        f"Over all rows of the period the AUROC is {challenger:.4f} for the challenger and {champion:.4f} "
        "for the champion."
    )


def _better(comparisons: Sequence[Comparison]) -> str:
    """Which model is better by which comparisons, with their intervals over all checks."""
    parts = []
    for better in ("challenger", "champion"):
        shown = [
            f"{_name(each)} ({each.estimate:+.4f}; {_interval(each)})"
            for each in comparisons
            if each.better == better
        ]
        if shown:
            parts.append(f"the {better} is better by {', '.join(shown)}")
    return "; ".join(parts)


def _regions(regions: Sequence[Row]) -> str:
    parts: list[str] = []
    for better in ("challenger", "champion"):
        spans = [_span(row["from_fpr"], row["to_fpr"]) for row in regions if row["better"] == better]
        if spans:
            verb = "" if parts else " is better"
            parts.append(f"the {better}{verb} at FPR {listed(spans)}")
    return f"In the band over the whole period {', '.join(parts)}." if parts else ""


def _span(low: float, high: float) -> str:
    one, other = f"{low:.3g}", f"{high:.3g}"
    return one if one == other else f"{one} to {other}"


def _name(comparison: Comparison) -> str:
    return "AUROC" if comparison.fpr is None else f"TPR at FPR {comparison.fpr:g}"


def _interval(comparison: Comparison) -> str:
    if comparison.low is None or comparison.high is None:
        return ""
    return span(comparison.low, comparison.high, sign=True)


def _why_not(row: Row, code: str, needed: int | None) -> str:
    if code == TOO_FEW and needed is not None:
        sizes = f"{row['n_pos']:,} positives and {row['n_neg']:,} negatives"
        return f"{sizes}, at least {needed:,} of each are needed"
    words = {
        TOO_FEW: "too few rows of a class",
        NO_SCATTER: "every row shows the same difference, so there is no standard error",
    }
    return words.get(code, code)


def _duration(review: Review, windows: int) -> str:
    """How long so many windows take."""
    lengths = [
        datetime.fromisoformat(row["end"]) - datetime.fromisoformat(row["start"])
        for row in review.tables.get("windows", ())
    ]
    if not lengths:
        return ""
    length: timedelta = median(each / _DAY for each in lengths) * windows * _DAY
    if length >= 2 * _YEAR:
        return f" ({length / _YEAR:.1f} years)"
    if length >= 2 * _WEEK:
        return f" ({length / _WEEK:.0f} weeks)"
    if length >= _DAY:
        return f" ({count(round(length / _DAY), 'day')})"
    return f" ({length / timedelta(hours=1):.1f} hours)"
