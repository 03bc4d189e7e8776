"""The findings of the rules on a window, and the reason of a change of status, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rocmonitor.conventions import LEVEL
from rocmonitor.policy.episode import OF_EPISODE
from rocmonitor.policy.evaluation import Reason, Status, Verdict
from rocmonitor.wording.format import (
    apart,
    beside,
    days,
    listed,
    normal_range,
    percent,
    signed,
    signed_with_interval,
    span,
    with_interval,
)

_BASIS = re.compile(r" \([^()]*\)$")


def verdict(found: Verdict) -> str:
    """Return the finding of one rule, in one sentence."""
    if found.lacks:
        return _lacking([found])
    if found.kind not in _SENTENCES:  # a rule of a newer version
        return f"{found.rule}: {found.outcome}"
    if "alone" in found.details:
        alone = replace(found, outcome=Status(found.details["alone"]))
        return f"{_SENTENCES[found.kind](alone)}{_early(found)}; {_among(found)}"
    return _SENTENCES[found.kind](found) + _early(found)


def by_rule(found: Sequence[Verdict]) -> list[tuple[str, Status, str]]:
    """Rule, outcome and sentence of each finding; rules that lack the same share one."""
    lines = []
    for each in found:
        alike = [other for other in found if each.lacks and other.lacks == each.lacks]
        if not alike:
            lines.append((each.rule, each.outcome, verdict(each)))
        elif each is alike[0]:
            lines.append((", ".join(other.rule for other in alike), each.outcome, _lacking(alike)))
    return lines


def verdicts(found: Sequence[Verdict]) -> list[str]:
    """Return the findings of several rules, a sentence each; what more than one of them lacks is said
    once.
    """
    return [text for _, _, text in by_rule(found)]


def reasons(given: Iterable[Reason]) -> list[str]:
    """Why a status changed, a sentence each."""
    found, others, first = list[Verdict](), list[str](), list[str]()
    for each in given:
        if isinstance(each, Verdict):
            found.append(each)
        else:
            (first if each.code in OF_EPISODE else others).append(str(each))
    return [*first, *verdicts(found), *others]


def without_basis(sentence: str) -> str:
    """Return a sentence without what it rests on, which stands in brackets at its end."""
    return _BASIS.sub("", sentence)


def _lacking(alike: Sequence[Verdict]) -> str:
    why = "; ".join(map(str, alike[0].lacks))
    if alike[0].kind == "data":
        return why
    return f"{why}, so {listed([each.rule for each in alike])} cannot be judged"


def _forecast(found: Verdict) -> str:
    assert found.estimate is not None
    low, high = found.limit
    assert low is not None
    assert high is not None
    place = {Status.DEGRADED: "below", Status.IMPROVED: "above"}.get(found.outcome, "inside")
    basis = found.details["method"]
    if found.confidence_level is not None:
        basis += f", {percent(found.confidence_level)}"
    if "known_level" in found.details:
        known, windows = found.details["known_level"], found.details["n_windows"]
        basis += f" by a model: {windows} windows alone show {percent(known)}"
    if "season" in found.details:
        basis += f"; moved by {found.details['season']:+.3f} for the season"
    ends = found.details["sampling_low"], found.details["sampling_high"]
    if None not in ends:
        basis += f"; from sampling alone {normal_range(*ends)}"
    digits = beside(found.estimate, low, high)
    return (
        f"AUROC {found.estimate:.{digits}f} is {place} its normal range {normal_range(low, high, digits)} "
        f"({basis})"
    )


def _lasting(found: Verdict) -> str:
    of = found.details
    if found.estimate is None:
        return _nothing_lasts(of)
    assert found.low is not None
    assert found.high is not None
    way = "lower" if found.outcome is Status.DEGRADED else "higher"
    sign = -1 if way == "lower" else 1
    low, high = sorted((sign * found.low, sign * found.high))
    text = f"AUROC has been {sign * found.estimate:.3f} {way} ({low:.3f} to {high:.3f})"
    return f"{text}{_since(of)}{_closer_again(of)}"


def _since(of: Mapping[str, Any]) -> str:
    if "since" not in of:
        return ""
    span = "" if of["since_first"] == of["since_last"] else f" ({of['since_first']} to {of['since_last']})"
    day = "" if of["unit"] == "day" else f"the {of['unit']} of "
    return f" since {day}{of['since']}{span}"


def _closer_again(of: Mapping[str, Any]) -> str:
    """Say that an alarm holds although its chart is inside the limit."""
    if abs(of["statistic"]) > of["chart_limit"]:
        return ""
    return (
        f"; recent windows are closer again (weighted mean {_beside(of['mean_change'])}), and the alarm ends "
        f"at {abs(of['alarm_change']) / 2:.3f}"
    )


def _nothing_lasts(of: Mapping[str, Any]) -> str:
    what = "drop" if of["alternative"] == "less" else "change"
    side = " either way"
    if of["alternative"] == "less":
        side = "" if of["mean_change"] < 0 else " below"
    return (
        f"no lasting {what} of the AUROC: the weighted mean of recent windows is "
        f"{_beside(of['mean_change'])} the reference; an alarm needs {abs(of['alarm_change']):.3f}{side}"
    )


def _beside(change: float) -> str:
    """Return a difference of AUROCs in words."""
    return f"{abs(change):.3f} {'below' if change < 0 else 'above'}"


def _floor(found: Verdict) -> str:
    floor = found.limit[0]
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    assert floor is not None
    value = with_interval(found.estimate, found.low, found.high, beside(floor, found.low, found.high))
    clearly = "clearly" if found.outcome is Status.DEGRADED else "not clearly"
    return f"AUROC {value} is {clearly} below the floor {floor:g}{_other_level(found)}"


def _drop(found: Verdict) -> str:
    assert found.estimate is not None
    what = {Status.DEGRADED: "clearly a drop", Status.IMPROVED: "clearly a rise"}.get(
        found.outcome, "no clear change"
    )
    beyond = found.limit[1]
    more = f" of more than {beyond:g}" if beyond else ""
    now, before = apart(found.details["auc"], found.details["reference_auc"], most=4)
    return f"AUROC {now}, {before} in the reference: {_difference(found, -(beyond or 0))}: {what}{more}"


def _cost(found: Verdict) -> str:
    assert found.estimate is not None
    of = found.details
    where = f"cost {of['cost']:.3f} at w = {of['w']:g}"
    if "reference_cost" not in of:
        above = "is clearly above" if found.outcome is Status.DEGRADED else "is not clearly above"
        return f"{where}, {_interval(found)}, {above} {found.limit[1]:g}"
    what = {Status.DEGRADED: "clearly a rise", Status.IMPROVED: "clearly a fall"}.get(
        found.outcome, "no clear change"
    )
    more = f" of more than {found.limit[1]:g}" if found.limit[1] else ""
    return (
        f"{where}, {of['reference_cost']:.3f} in the reference: {signed(found.estimate)}, "
        f"{_interval(found, sign=True)}: {what}{more}"
    )


def _calibration(found: Verdict) -> str:
    assert found.estimate is not None
    is_clearly = "is clearly" if found.outcome is Status.DEGRADED else "is not clearly"
    return (
        f"calibration {found.details['what']} {found.estimate:.3f}, {_interval(found)}, {is_clearly} "
        f"outside of {found.limit[0]:g} to {found.limit[1]:g}"
    )


def _challenger(found: Verdict) -> str:
    if found.estimate is None:
        return "the challenger scored too few of these rows to be compared"
    assert found.low is not None
    assert found.high is not None
    ahead = "no clear difference"
    if found.low > 0:
        ahead = "challenger ahead"
    elif found.high < 0:
        ahead = "champion ahead"
    return (
        f"{ahead}: challenger minus champion {_difference(found)}, in this window alone, on "
        f"{found.details['rows']:,} rows"
    )


def _early(found: Verdict) -> str:
    """From how many of the labels, where some are missing."""
    if "label_age_days" not in found.details:
        return ""
    age, share = found.details["label_age_days"], found.details["labelled_share"]
    alone = found.details["labelled_auc"]
    said = f"; estimated from {percent(share)} of the labels, {days(age)} days after the window"
    return said if alone is None else f"{said} (labelled rows alone {alone:.3f})"


def _among(found: Verdict) -> str:
    """Say that a verdict does not hold once the number of segments is allowed for."""
    of = found.details
    return (
        f"{of['alone']} alone, but not as one of {of['segments']} segments judged together "
        f"(p = {of['pvalue']:.2g}, adjusted {of['adjusted_pvalue']:.2g})"
    )


def _scores(found: Verdict) -> str:
    assert found.estimate is not None
    assert found.limit[1] is not None
    moved = found.outcome is Status.AT_RISK
    return (
        f"the scores have moved by {found.estimate:.3g} nats, {'more' if moved else 'no more'} than those of "
        f"reference windows of this size ({found.limit[1]:.3g}{_at_level(found, ', ')})"
    )


def _outlook(found: Verdict) -> str:
    assert found.estimate is not None
    limit = found.limit[0]
    assert limit is not None
    if found.details["against"] == "windows":
        place = "below" if found.outcome is Status.AT_RISK else "not below"
        value, lowest = apart(found.estimate, limit, most=4)
        return (
            f"outlook AUROC {value} is {place} the lowest outlook of reference windows, "
            f"{lowest}{_at_level(found)}"
        )
    assert found.low is not None
    assert found.high is not None
    floor = found.details["against"] == "floor"
    digits = beside(limit, found.low, found.high)
    what = f"floor {limit:g}" if floor else f"normal range, {limit:.{digits}f} or more"
    ends = normal_range(found.low, found.high, digits)
    return f"outlook AUROC {ends}{_at_level(found)} is all below the {what}"


def _at_level(found: Verdict, before: str = "") -> str:
    level = found.confidence_level
    return "" if level is None else f"{before}{percent(level)}" if before else f" ({percent(level)})"


def _difference(found: Verdict, limit: float = 0) -> str:
    """Return a difference with its interval."""
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    value, ends = signed_with_interval(found.estimate, found.low, found.high, limit)
    return f"{value} ({ends}{_other_level(found, ', ')})"


def _other_level(found: Verdict, before: str = "") -> str:
    """Return the level of an interval that is not the usual one."""
    return "" if found.confidence_level in (None, LEVEL) else _at_level(found, before)


def _interval(found: Verdict, *, sign: bool = False) -> str:
    assert found.low is not None
    assert found.high is not None
    assert found.confidence_level is not None
    return f"{percent(found.confidence_level, 6)} interval {span(found.low, found.high, sign=sign)}"


_SENTENCES = {
    "forecast": _forecast,
    "lasting": _lasting,
    "floor": _floor,
    "drop": _drop,
    "cost": _cost,
    "calibration": _calibration,
    "challenger": _challenger,
    "scores": _scores,
    "outlook": _outlook,
}
