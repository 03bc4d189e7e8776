"""The findings of the rules on a window, and the reason of a change of status, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rocmonitor.conventions import LEVEL
from rocmonitor.policy.episode import OF_EPISODE
from rocmonitor.policy.evaluation import Reason, Status, Verdict
from rocmonitor.wording.caveats import words_of
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


def verdict(finding: Verdict) -> str:
    """Return the finding of one rule, in one sentence."""
    if finding.lacks:
        return _lacking([finding])
    if finding.kind not in _SENTENCES:  # a rule of a newer version
        return f"{finding.rule}: {finding.outcome}"
    details, more = finding.details, ""
    if "label_age_days" in details:  # some labels are missing
        share, age = percent(details["labelled_share"]), days(details["label_age_days"])
        more = f"; estimated from {share} of the labels, {age} days after the window"
        if details["labelled_auc"] is not None:
            more += f" (labelled rows alone {details['labelled_auc']:.3f})"
    if "alone" in details:  # it does not hold once the number of segments is allowed for
        finding = replace(finding, outcome=Status(details["alone"]))
        more += (
            f"; {details['alone']} alone, but not as one of {details['segments']} segments judged together "
            f"(p = {details['pvalue']:.2g}, adjusted {details['adjusted_pvalue']:.2g})"
        )
    return _SENTENCES[finding.kind](finding) + more


def by_rule(findings: Sequence[Verdict]) -> list[tuple[str, Status, str]]:
    """Rule, outcome and sentence of each finding; rules that lack the same share one."""
    lines = []
    for finding in findings:
        alike = [other for other in findings if finding.lacks and other.lacks == finding.lacks]
        if not alike:
            lines.append((finding.rule, finding.outcome, verdict(finding)))
        elif finding is alike[0]:
            lines.append((", ".join(other.rule for other in alike), finding.outcome, _lacking(alike)))
    return lines


def verdicts(findings: Sequence[Verdict]) -> list[str]:
    """Return the findings of several rules, a sentence each; what more than one of them lacks is said
    once.
    """
    return [text for _, _, text in by_rule(findings)]


def reasons(given: Iterable[Reason]) -> list[str]:
    """Why a status changed, a sentence each."""
    findings, others, first = list[Verdict](), list[str](), list[str]()
    for reason in given:
        if isinstance(reason, Verdict):
            findings.append(reason)
        else:
            (first if reason.code in OF_EPISODE else others).append(words_of(reason))
    return [*first, *verdicts(findings), *others]


def without_basis(sentence: str) -> str:
    """Return a sentence without what it rests on, which stands in brackets at its end."""
    return _BASIS.sub("", sentence)


def _lacking(alike: Sequence[Verdict]) -> str:
    why = "; ".join(map(words_of, alike[0].lacks))
    if alike[0].kind == "data":
        return why
    return f"{why}, so {listed([finding.rule for finding in alike])} cannot be judged"


def _forecast(finding: Verdict) -> str:
    assert finding.estimate is not None
    low, high = finding.limit
    assert low is not None
    assert high is not None
    place = {Status.DEGRADED: "below", Status.IMPROVED: "above"}.get(finding.outcome, "inside")
    basis = finding.details["method"]
    if finding.confidence_level is not None:
        basis += f", {percent(finding.confidence_level)}"
    if "known_level" in finding.details:
        known_level, windows = finding.details["known_level"], finding.details["n_windows"]
        basis += f" by a model: {windows} windows alone show {percent(known_level)}"
    if "season" in finding.details:
        basis += f"; moved by {signed(finding.details['season'], 3)} for the season"
    ends = finding.details["sampling_low"], finding.details["sampling_high"]
    digits = beside(finding.estimate, low, high)
    if None not in ends and normal_range(*ends, digits) != normal_range(low, high, digits):
        basis += f"; from sampling alone {normal_range(*ends, digits)}"
    return (
        f"AUROC {finding.estimate:.{digits}f} is {place} its normal range {normal_range(low, high, digits)} "
        f"({basis})"
    )


def _lasting(finding: Verdict) -> str:
    details, mean = finding.details, finding.details["mean_change"]
    needed = abs(details["alarm_change"])
    ends = f"an alarm needs {needed:.3f}"
    if finding.estimate is not None:
        what = "lasting drop" if finding.outcome is Status.DEGRADED else "lasting rise"
        if abs(details["statistic"]) <= details["chart_limit"]:  # where the alarm still holds
            ends = f"the alarm ends at {needed / 2:.3f}"
    elif details["alternative"] == "less":
        what = "no lasting drop"
        ends += "" if mean < 0 else " below"
    else:
        what = "no lasting change"
        ends += " either way"
    return (
        f"{what} of the AUROC: the weighted mean of recent windows is {abs(mean):.3f} "
        f"{'below' if mean < 0 else 'above'} the reference; {ends}"
    )


def _floor(finding: Verdict) -> str:
    floor = finding.limit[0]
    assert finding.estimate is not None
    assert finding.low is not None
    assert finding.high is not None
    assert floor is not None
    value = with_interval(
        finding.estimate, finding.low, finding.high, beside(floor, finding.low, finding.high)
    )
    clearly = "clearly" if finding.outcome is Status.DEGRADED else "not clearly"
    return f"AUROC {value} is {clearly} below the floor {floor:g}{_at_level(finding, unless=LEVEL)}"


def _drop(finding: Verdict) -> str:
    assert finding.estimate is not None
    what = {Status.DEGRADED: "clearly a drop", Status.IMPROVED: "clearly a rise"}.get(
        finding.outcome, "no clear change"
    )
    beyond = finding.limit[1]
    more = f" of more than {beyond:g}" if beyond else ""
    now, before = apart(finding.details["auc"], finding.details["reference_auc"], most=4)
    return f"AUROC {now}, {before} in the reference: {_difference(finding, -(beyond or 0))}: {what}{more}"


def _cost(finding: Verdict) -> str:
    assert finding.estimate is not None
    details = finding.details
    where = f"cost {details['cost']:.3f} at w = {details['w']:g}"
    if "reference_cost" not in details:
        above = "is clearly above" if finding.outcome is Status.DEGRADED else "is not clearly above"
        return f"{where}, {_interval(finding)}, {above} {finding.limit[1]:g}"
    what = {Status.DEGRADED: "clearly a rise", Status.IMPROVED: "clearly a fall"}.get(
        finding.outcome, "no clear change"
    )
    more = f" of more than {finding.limit[1]:g}" if finding.limit[1] else ""
    return (
        f"{where}, {details['reference_cost']:.3f} in the reference: {signed(finding.estimate)}, "
        f"{_interval(finding, sign=True)}: {what}{more}"
    )


def _calibration(finding: Verdict) -> str:
    assert finding.estimate is not None
    is_clearly = "is clearly" if finding.outcome is Status.DEGRADED else "is not clearly"
    return (
        f"calibration {finding.details['what']} {finding.estimate:.3f}, {_interval(finding)}, {is_clearly} "
        f"outside of {finding.limit[0]:g} to {finding.limit[1]:g}"
    )


def _challenger(finding: Verdict) -> str:
    if finding.estimate is None:
        return "the challenger scored too few of these rows to be compared"
    assert finding.low is not None
    assert finding.high is not None
    ahead = "no clear difference"
    if finding.low > 0:
        ahead = "challenger ahead"
    elif finding.high < 0:
        ahead = "champion ahead"
    return (
        f"{ahead}: challenger minus champion {_difference(finding)}, in this window alone, on "
        f"{finding.details['rows']:,} rows"
    )


def _scores(finding: Verdict) -> str:
    assert finding.estimate is not None
    assert finding.limit[1] is not None
    moved = finding.outcome is Status.AT_RISK
    return (
        f"the scores have moved by {finding.estimate:.3g} nats, {'more' if moved else 'no more'} than "
        f"those of reference windows of this size ({finding.limit[1]:.3g}{_at_level(finding, ', ')})"
    )


def _outlook(finding: Verdict) -> str:
    assert finding.estimate is not None
    limit = finding.limit[0]
    assert limit is not None
    if finding.details["against"] == "windows":
        place = "below" if finding.outcome is Status.AT_RISK else "not below"
        value, lowest = apart(finding.estimate, limit, most=4)
        return (
            f"outlook AUROC {value} is {place} the lowest outlook of reference windows, "
            f"{lowest}{_at_level(finding)}"
        )
    assert finding.low is not None
    assert finding.high is not None
    floor = finding.details["against"] == "floor"
    digits = beside(limit, finding.low, finding.high)
    what = f"floor {limit:g}" if floor else f"normal range, {limit:.{digits}f} or more"
    ends = normal_range(finding.low, finding.high, digits)
    return f"outlook AUROC {ends}{_at_level(finding)} is all below the {what}"


def _at_level(finding: Verdict, before: str = "", *, unless: float | None = None) -> str:
    """Return the level of an interval, unless it is the one that goes without saying."""
    level = finding.confidence_level
    if level is None or level == unless:
        return ""
    return f"{before}{percent(level)}" if before else f" ({percent(level)})"


def _difference(finding: Verdict, limit: float = 0) -> str:
    """Return a difference with its interval."""
    assert finding.estimate is not None
    assert finding.low is not None
    assert finding.high is not None
    value, ends = signed_with_interval(finding.estimate, finding.low, finding.high, limit)
    return f"{value} ({ends}{_at_level(finding, ', ', unless=LEVEL)})"


def _interval(finding: Verdict, *, sign: bool = False) -> str:
    assert finding.low is not None
    assert finding.high is not None
    assert finding.confidence_level is not None
    return f"{percent(finding.confidence_level, 6)} interval {span(finding.low, finding.high, sign=sign)}"


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
