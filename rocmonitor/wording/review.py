"""Reviews in words: summary and advice, the rule, and the codes in the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import (
    SET_ASIDE,
    count,
    decimals,
    listed,
    points_with_interval,
    signed,
    signed_with_interval,
    span_of,
)

Row = Mapping[str, Any]

KINDS = {
    "read": "read",
    "compared": "scored by both, labelled",
    "champion_only": "scored by the champion only",
    "challenger_only": "scored by the challenger only",
    **SET_ASIDE,
}
"""The use of the rows, by the name in the table ``counts``."""

_ESTIMANDS = {
    "period": "the average of the true differences over the windows so far",
    "future": "the mean of the true differences in the long run",
}

_LAST = 4  # windows whose differences stand beside the verdict

_DAY, _WEEK, _YEAR = timedelta(days=1), timedelta(days=7), timedelta(days=365)


def versions(review: Review) -> str:
    """Return the two versions."""
    return f"champion {review.champion_version} against challenger {review.challenger_version}"


def title(review: Review) -> str:
    """Return the decision, and the versions where a line has room for both."""
    words = decision(review)
    if words != review.decision:
        return words
    return f"{words} (champion {review.champion_version}, challenger {review.challenger_version})"


def decision(review: Review) -> str:
    """Return the decision; and that the challenger is better only while the champion is in a loss."""
    return decided(review.decision, review.rule.get("margin"), review.tables.get("episodes", ()))


def with_verdict(review: Review) -> dict[str, Any]:
    """Return a review as programs read it: with its decision in words as ``verdict``."""
    return review.to_dict() | {"verdict": decision(review)}


def decided(decision: str, margin: float | None, episodes: Sequence[Row]) -> str:
    """Return the same from a decision and the differences before, in and after losses."""
    better = {row["part"]: row["low"] > (margin or 0) for row in episodes}
    only = better.pop("in", False) and better and not any(better.values())
    challenger = decision == Decision.CHALLENGER
    return f"{decision}{', but only during a loss of the champion' if challenger and only else ''}"


def sentence(review: Review) -> str:
    """Return the decision, the versions and the difference that decides, in one line."""
    area = _area(review)
    sides = f"challenger {review.challenger_version} against champion {review.champion_version}"
    if area is None or area.estimate is None:
        return f"{decision(review)}, {sides}"
    return f"{decision(review)}, {sides}: AUROC {_estimate(area)}"


def summary(review: Review) -> list[str]:
    """Return the reason for the decision and what stands beside it, one line for each.

    They are read below the decision, which they do not repeat.
    """
    lines = [difference_by_episode(review), *_reasons(review)]
    differences = [row["difference"] for row in review.tables.get("windows", ()) if row.get("checked")]
    if differences:
        leads = sum(difference > 0 for difference in differences)
        last = ", ".join(signed(difference, 3) for difference in differences[-_LAST:])
        lines.append(
            f"The challenger leads in {leads} of {count(len(differences), 'window')}; the latest: {last}."
        )
    ends = [
        f"{signed_with_interval(0, row['low'], row['high'])[1]} in the next {row['windows']}"
        for row in review.tables.get("next", ())
    ]
    if ends:
        lines.append(
            f"If windows go on differing like these, the mean difference will be {listed(ends)} "
            f"({level(review.rule)})."
        )
    challenger, champion = (review.metrics.get(f"{model}/auc") for model in ("challenger", "champion"))
    if challenger is not None and champion is not None:
        lines.append(
            f"Over all rows of the period the AUROC is {challenger:.3f} for the challenger and "
            f"{champion:.3f} for the champion."
        )
    return list(filter(None, lines))


def difference_by_episode(review: Review) -> str:
    """Return the difference before, in and after a loss of the champion; empty where the period has none."""
    parts = [
        f"{signed(row['difference'], decimals(row['low'], row['high']))} "
        f"({span_of(row['low'], row['high'])}) {_PARTS[row['part']]} ({count(row['windows'], 'window')})"
        for row in review.tables.get("episodes", ())
    ]
    if len(parts) < 2:
        return ""
    return f"The period contains a loss of the champion: the difference is {listed(parts)}."


_PARTS = {"before": "before it", "in": "in it", "after": "after it"}


def one_check(review: Review) -> str:
    """Why a difference that looks clear is no decision; empty where there is nothing to explain."""
    low, high = (review.metrics.get(f"difference/auc_{end}") for end in ("low", "high"))
    area, margin = _area(review), review.rule.get("margin") or 0
    if review.decision is not Decision.UNDECIDED or low is None or high is None:
        return ""
    if -margin <= high and low <= margin:
        return ""
    holds = ""
    if area is not None and area.low is not None and area.high is not None:
        holds = f" ({signed_with_interval(0, area.low, area.high)[1]})"
    beyond = f"the margin of {margin:g}" if margin else "0"
    return (
        f"Why is a clear difference no decision? The interval of all rows, "
        f"{signed_with_interval(low, low, high)[1]}, "
        f"lies beyond {beyond}, but it holds for a single check only. A review is checked again with every "
        "window: such an interval would sooner or later exclude 0 by chance alone. The decision needs the "
        f"interval that holds at all checks together{holds}, and that one does not lie beyond {beyond} yet."
    )


def advice(review: Review) -> str:
    """Return what to do, or what more windows would bring."""
    if review.decision is Decision.TRADE_OFF:
        return (
            "Choose by the false positive rate at which the model is used; see the table of rates. More "
            "windows make the regions sharper but seldom remove a trade-off."
        )
    if review.decision is not Decision.UNDECIDED:
        return (
            "The decision is about these windows; later ones can differ. Further checks do not make it less "
            "certain."
            if _is_period(review)
            else "Further checks do not make the decision less certain. It stands as long as the windows "
            "support it: if later windows differ from the earlier ones, the interval widens."
        )
    area = _area(review)
    if area is None or area.estimate is None:
        return (
            "The table of windows gives the reasons. If rows are too few, make the windows longer "
            "(window.every) or min_per_class smaller, and check that both models score the same rows."
        )
    if (number := review.further_windows) is not None:
        more = f"{count(number, 'more window')}{_duration(review, number)}"
        return f"{more[0].upper()}{more[1:]} will probably decide, if windows go on differing like these."
    return "If you cannot wait for more windows, decide on other grounds."


def rule(review: Review) -> list[str]:
    """Return the rule, a sentence or two for each line; empty if the review does not store one."""
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
        f"Each window with enough rows is one check. With probability {level(written)} all intervals of the "
        f"rule contain {_ESTIMANDS[written.get('decides', 'period')]} at all checks together; of the "
        f"{100 * (1 - written['confidence_level']):.4g} % for error {spent}.",
        "Challenger better, or champion better: the AUROCs clearly differ"
        f"{f' by more than {margin:g}' if margin else ''}, and no other comparison contradicts.",
    ]
    if margin:
        lines.append(f"Challenger not worse: its AUROC is clearly at most {margin:g} lower.")
    if rates:
        lines.append(
            "Trade-off: one model is clearly better by one comparison, the other model by another, even "
            "if only slightly."
        )
    lines.append("No decision yet: none of the above.")
    if "tuned_for" in written:
        lines.append(
            f"The intervals are narrowest after {written['tuned_for']} windows, a number fixed beforehand."
        )
    if written.get("decides") == "future":
        lines.append(
            "The intervals allow for neighbouring windows that are alike, as far as the windows show it."
            if written.get("correlation") == "estimated"
            else "The intervals take windows as independent of each other."
        )
    return lines


def chosen(review: Review) -> str:
    """Return whether period and rows were fixed beforehand."""
    if review.registered:
        return "The configuration gives the period: it was not chosen by what the rows show."
    return (
        "The period or the segment was chosen by hand. The confidence level of the rule holds for the "
        "configured period only: do not decide by this review alone."
    )


def in_words(table: str, row: Row, review: Review) -> dict[str, Any]:
    """Return a row of a table with words in place of its codes."""
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
    """Return the confidence level."""
    return f"{100 * rule.get('confidence_level', 0.95):.4g} %"


def _area(review: Review) -> Comparison | None:
    return next((comparison for comparison in review.comparisons if comparison.fpr is None), None)


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
    not_above = f" and is not above {margin:g}" if area.high is not None and area.high < margin else ""
    others = _better([comparison for comparison in review.comparisons if comparison.fpr is not None])
    also = f"Also: {others}." if others else ""
    if review.decision is Decision.UNDECIDED:
        may_be = f"below −{margin:g}{not_above}" if margin else "0"
        mean = f"{_mean(review, area)}, which may be {may_be}."
        # Too few rows speak against the difference, and nothing else keeps the rule undecided.
        few = next((words_of(one) for one in review.caveats if one.code == "few-rows-keep-undecided"), "")
        few = f"{few[0].upper()}{few[1:]}." if few else ""
        return [mean, few, _earlier(review, margin), also]
    if review.decision is Decision.NOT_WORSE:
        assert area.low is not None
        least = "0" if area.low > 0 else f"−{margin:g}"
        shown = f", above {least}{not_above or f' but not clearly above {margin:g}'}"
        return [f"{_mean(review, area)}{shown}.", _since(review), _earlier(review, margin), also]
    beyond = f", more than {margin:g} from 0" if margin else ""
    return [f"{_mean(review, area)}{beyond}.", _since(review), also]


def _is_period(review: Review) -> bool:
    return bool(review.rule.get("decides", "period") == "period")


def _mean(review: Review, area: Comparison) -> str:
    """Return the mean that decides, with its interval."""
    windows = "" if area.checks is None else f" {count(area.checks, 'window')}"
    mean = f"average of these{windows}" if _is_period(review) else f"long-run mean, from{windows}"
    if (area.low, area.high) == (-1, 1):
        estimate = signed(area.estimate or 0.0, 3)
        return f"AUROC difference, {mean}: {estimate} (not bounded yet, at all checks together)"
    return f"AUROC difference, {mean}: {_estimate(area, ', at all checks together')}"


def _since(review: Review) -> str:
    ends = [datetime.fromisoformat(row["end"]) for row in review.tables.get("windows", ())]
    if review.decided_at not in ends:
        return ""
    return f"The decision has stood since window {ends.index(review.decided_at) + 1} of {len(ends)}."


def _earlier(review: Review, margin: float) -> str:
    """Return what the windows up to an earlier one showed; for the future that is seldom right."""
    if not _is_period(review):
        return ""
    rows = [
        (number, row["anytime_low"], row["anytime_high"])
        for number, row in enumerate(review.tables.get("windows", ()), 1)
        if row.get("anytime_low") is not None
    ]
    shown = [
        (number, f"above {margin:g}" if low > margin else f"below −{margin:g}")
        for number, low, high in rows
        if low > margin or high < -margin
    ]
    if not shown:
        return ""
    number, where = shown[-1]
    return f"The average of windows 1 to {number} was {where}; with the later ones it may not be."


def _better(comparisons: Sequence[Comparison]) -> str:
    """Return which model is better by which comparisons, with their intervals over all checks."""
    parts = []
    for better in ("challenger", "champion"):
        shown = []
        for comparison in comparisons:
            if comparison.better == better:
                rate = "" if comparison.fpr is None else f"TPR at {100 * comparison.fpr:g} % FPR"
                shown.append(f"{rate or 'AUROC'}, {_estimate(comparison)}")
        if shown:
            parts.append(f"the {better} is better by {', '.join(shown)}")
    return "; ".join(parts)


def _regions(regions: Sequence[Row]) -> str:
    parts: list[str] = []
    for better in ("challenger", "champion"):
        ends = [
            (f"{row['from_fpr']:.3g}", f"{row['to_fpr']:.3g}") for row in regions if row["better"] == better
        ]
        spans = [low if low == high else f"{low} to {high}" for low, high in ends]
        if spans:
            verb = "" if parts else " is better"
            parts.append(f"the {better}{verb} at FPR {listed(spans)}")
    return f"In the band over the whole period {', '.join(parts)}." if parts else ""


def _estimate(comparison: Comparison, more: str = "") -> str:
    """Return the difference with its interval."""
    value, low, high = comparison.estimate, comparison.low, comparison.high
    assert value is not None
    if low is None or high is None:
        return signed(value, 3)
    shown, ends = (points_with_interval if comparison.fpr else signed_with_interval)(value, low, high)
    return f"{shown} ({ends}{more})"


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
    """Return how long a number of windows takes."""
    lengths = [
        datetime.fromisoformat(row["end"]) - datetime.fromisoformat(row["start"])
        for row in review.tables.get("windows", ())
    ]
    if not lengths:
        return ""
    length: timedelta = median(one / _DAY for one in lengths) * windows * _DAY
    if length >= 2 * _YEAR:
        return f" ({length / _YEAR:.1f} years)"
    if length >= 2 * _WEEK:
        return f" ({length / _WEEK:.0f} weeks)"
    if length >= _DAY:
        return f" ({count(round(length / _DAY), 'day')})"
    return f" ({length / timedelta(hours=1):.1f} hours)"
