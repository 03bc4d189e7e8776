"""What a window shows and what the rules say of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Counts, Status, Verdict
from rocmonitor.policy.measure import Measured, data_metrics, measure
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Challenger, Drop, Floor, Forecast, Rule
from rocmonitor.stats import (
    ForecastInterval,
    PairedSample,
    Sample,
    ShiftExplanation,
    compare_auc,
    explain_shift,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All that is found on one window; the fields are those of `Evaluation`."""

    outcome: Status
    verdicts: tuple[Verdict, ...]
    metrics: dict[str, float]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    explanation: str = ""
    caveats: tuple[str, ...] = ()


def judge(
    champion: Sample,
    pair: PairedSample | None,
    counts: Counts,
    *,
    reference: Reference,
    rules: Mapping[str, Rule],
    min_per_class: int,
    fprs: Sequence[float] = (),
    thresholds: Sequence[float] = (),
) -> Finding:
    """Measure a window and apply the rules.

    Parameters
    ----------
    champion : Sample
    pair : PairedSample or None
        Champion and challenger on the rows that both scored.
    counts : Counts
    reference : Reference
    rules : dict of str to Rule
        By name, as from `rocmonitor.policy.rules.named`.
    min_per_class : int
        With fewer usable rows of either class the window is ``insufficient``: nothing is measured.
    fprs, thresholds : sequence of float
        Operating points to report.
    """
    metrics = data_metrics(counts)
    if (small := too_few(counts, min_per_class)) is not None:
        expected = rule_metrics((), reference, _expected(rules, reference))  # for charts without gaps
        return Finding(outcome=Status.INSUFFICIENT, verdicts=(small,), metrics=metrics | expected)
    costs = reference.cost_thresholds
    measured = measure(champion, pair, fprs=fprs, thresholds=thresholds, costs=costs)
    forecasts, doubts = _forecasts(rules, reference, champion)
    verdicts = _verdicts(rules, measured, reference, forecasts)
    untold = [caveat for caveat in reference.caveats if not _told(caveat, verdicts)]
    broken = _one_score(champion)
    verdicts = _led_by(broken, verdicts)
    finding = Finding(
        outcome=outcome_of(verdicts),
        verdicts=verdicts,
        metrics=metrics | measured.metrics | rule_metrics(verdicts, reference, forecasts),
        tables=measured.tables,
        caveats=tuple(dict.fromkeys([*broken, *map(str, measured.caveats), *untold, *doubts])),
    )
    if finding.outcome not in (Status.DEGRADED, Status.IMPROVED):
        return finding
    return _explained(finding, reference, champion)


def too_few(counts: Counts, min_per_class: int) -> Verdict | None:
    """The verdict on a window that is too small to be measured, or None when it is large enough."""
    if min(counts.n_pos, counts.n_neg) >= min_per_class:
        return None
    aside = {
        "without a usable score": counts.bad_score,
        "without a label": counts.unlabelled,
        "with another label": counts.bad_label,
        "repeated": counts.duplicates,
        "outside of the window": counts.outside,
    }
    if not counts.rows:
        text = "no rows: nothing was scored in this window, or the query does not find it"
    else:
        told = ", ".join(f"{number:,} {what}" for what, number in aside.items() if number)
        text = (
            f"{counts.n_pos:,} positives and {counts.n_neg:,} negatives are usable of {counts.rows:,} rows"
            f"{f' ({told})' if told else ''}; min_per_class is {min_per_class:,}"
        )
    return Verdict(rule="data", outcome=Status.INSUFFICIENT, text=text)


def outcome_of(verdicts: Iterable[Verdict]) -> Status:
    """The gravest: degraded, then insufficient (a rule that could not be applied), improved, ok."""
    seen = {verdict.outcome for verdict in verdicts}
    for status in (Status.DEGRADED, Status.INSUFFICIENT, Status.IMPROVED):
        if status in seen:
            return status
    return Status.OK


def rule_metrics(
    verdicts: Iterable[Verdict], reference: Reference, forecasts: Mapping[str, ForecastInterval]
) -> dict[str, float]:
    """What the rules compared with, as metrics.

    Returns
    -------
    dict of str to float
        ``RULE/margin`` of each verdict that has one. Of each forecast rule ``RULE/low`` and ``RULE/high``,
        the interval for a batch of the window's size, and within it ``RULE/sampling_low`` and
        ``RULE/sampling_high``, as wide as sampling of so many rows alone makes it. ``RULE/distance`` is the
        Kullback-Leibler distance that the interval allows, in nats, which is the sum of
        ``RULE/sampling_distance`` (what that sampling takes) and ``RULE/drift_distance`` (what past
        windows have moved beyond that).
        ``reference/auc``, ``reference/auc_low`` and ``reference/auc_high``.
    """
    metrics = {f"{verdict.rule}/margin": verdict.margin for verdict in verdicts if verdict.margin is not None}
    ends = ("low", "high", "sampling_low", "sampling_high")
    names = (*ends, "distance", "sampling_distance", "drift_distance")
    for rule, interval in forecasts.items():
        values = {f"{rule}/{name}": getattr(interval, name) for name in names}
        metrics |= {name: value for name, value in values.items() if value is not None}
    if reference.auc is not None:
        low, high = reference.auc.ci(transform="logit")
        metrics |= {"reference/auc": reference.auc.auc, "reference/auc_low": low, "reference/auc_high": high}
    return metrics


def forecast_span(low: float, high: float) -> str:
    """A forecast interval in words; one that reaches 1 has no upper end that can be left."""
    return f"{low:.4f} or more" if low < 1 <= high else _span(low, high)


def _expected(rules: Mapping[str, Rule], reference: Reference) -> dict[str, ForecastInterval]:
    """The intervals for a batch whose size is not known: as large as the median reference window."""
    return {name: interval for name, interval in reference.forecasts.items() if name in rules}


def _forecasts(
    rules: Mapping[str, Rule], reference: Reference, champion: Sample
) -> tuple[dict[str, ForecastInterval], list[str]]:
    """The intervals for a batch of this size, and what is doubtful about them."""
    forecasts = _expected(rules, reference)
    if forecasts and reference.cells is None:
        return forecasts, [
            "the reference was frozen by an earlier version: its forecast is for windows of its own size, "
            "and a change is not explained"
        ]
    if reference.cells is not None:
        batch = (champion.n_pos, champion.n_neg)
        forecasts = {
            name: each if each.batch == batch else each.for_batch(reference.cells, batch)
            for name, each in forecasts.items()
        }
    return forecasts, [f"{name}: {text}" for name, each in forecasts.items() for text in each.caveats]


def _explained(finding: Finding, reference: Reference, champion: Sample) -> Finding:
    """The finding with a table and words that say which scores made the AUROC what it is."""
    if reference.cells is None or reference.auc is None:
        return finding
    shift = explain_shift(reference.cells, champion, joined=reference.joined)
    shift = replace(shift, reference_auc=reference.auc.auc)  # joined cells give it to five digits
    metrics = {"shift/from_positives": shift.from_positives, "shift/from_negatives": shift.from_negatives}
    if shift.similarity is not None:
        metrics["shift/similarity"] = shift.similarity
    return replace(
        finding,
        metrics=finding.metrics | metrics,
        tables=finding.tables | {"shift": _lines(shift)},
        explanation=shift.words(),
        caveats=(*finding.caveats, *(f"explanation: {caveat}" for caveat in shift.caveats)),
    )


def _lines(shift: ShiftExplanation) -> list[dict[str, Any]]:
    columns = {name: value for name, value in shift.to_dict().items() if isinstance(value, list)}
    del columns["caveats"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _one_score(champion: Sample) -> list[str]:
    """What is to be said before anything else of rows that all have the same score."""
    if len(champion.score) != 1:
        return []
    rows, score = champion.n_pos + champion.n_neg, float(champion.score[0])
    return [f"all {rows:,} scores are {score:g}: is the scoring broken?"]


def _led_by(broken: Sequence[str], verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts, the first that decides with these words in front."""
    outcome = outcome_of(verdicts)
    decisive = [verdict for verdict in verdicts if verdict.outcome is outcome]
    if not broken or not decisive or outcome is Status.OK:
        return verdicts
    told = replace(decisive[0], text=" ".join([*broken, decisive[0].text]))
    return tuple(told if verdict is decisive[0] else verdict for verdict in verdicts)


def _verdicts(
    rules: Mapping[str, Rule],
    measured: Measured,
    reference: Reference,
    forecasts: Mapping[str, ForecastInterval],
) -> tuple[Verdict, ...]:
    """One for each rule; what several of them lack is told once, reason first."""
    verdicts, first = [], dict[str, str]()
    for name, rule in rules.items():
        lack = _lack(name, rule, reference, forecasts)
        if lack is None:
            verdicts.append(_verdict(name, rule, measured, reference, forecasts))
            continue
        same = first.setdefault(lack, name)
        text = f"{lack}; so {name} cannot be judged"
        if same != name:
            text = f"{name} cannot be judged for the same reason as {same}"
        verdicts.append(Verdict(rule=name, outcome=Status.INSUFFICIENT, text=text))
    return tuple(verdicts)


def _lack(
    name: str, rule: Rule, reference: Reference, forecasts: Mapping[str, ForecastInterval]
) -> str | None:
    """Why the reference cannot serve a rule, or None when it can."""
    if isinstance(rule, Forecast):
        lacks = name not in forecasts
    else:
        lacks = isinstance(rule, Drop) and reference.auc is None
    if not lacks:
        return None
    own = [caveat.removeprefix(f"{name}: ") for caveat in reference.caveats if caveat.startswith(f"{name}: ")]
    return "; ".join(own or reference.caveats) or "the reference has no rows of this segment"


def _told(caveat: str, verdicts: Iterable[Verdict]) -> bool:
    return any(caveat.removeprefix(f"{verdict.rule}: ") in verdict.text for verdict in verdicts)


def _verdict(
    name: str,
    rule: Rule,
    measured: Measured,
    reference: Reference,
    forecasts: Mapping[str, ForecastInterval],
) -> Verdict:
    if isinstance(rule, Forecast):
        return _forecast(name, measured, forecasts[name])
    if isinstance(rule, Floor):
        return _floor(name, rule, measured)
    if isinstance(rule, Drop):
        return _drop(name, rule, measured, reference)
    return _challenger(name, rule, measured)


def _forecast(name: str, measured: Measured, interval: ForecastInterval) -> Verdict:
    auc = measured.champion.auc
    place, outcome = "inside", Status.OK
    if auc < interval.low:
        place, outcome = "below", Status.DEGRADED
    elif auc > interval.high:
        place, outcome = "above", Status.IMPROVED
    span = forecast_span(interval.low, interval.high)
    what = "of" if span.endswith("more") else "interval"
    text = f"AUROC {auc:.4f} is {place} its forecast {what} {span} ({_basis(interval)})"
    return Verdict(rule=name, outcome=outcome, text=text, margin=interval.margin(auc))


def _basis(interval: ForecastInterval) -> str:
    """Method and level, and how wide sampling alone makes the interval."""
    told = interval.method
    if interval.achieved_level is not None:
        told += f", {100 * interval.achieved_level:.3g} %"
    if interval.sampling_low is not None and interval.sampling_high is not None:
        told += f"; by sampling alone {forecast_span(interval.sampling_low, interval.sampling_high)}"
    return told


def _floor(name: str, rule: Floor, measured: Measured) -> Verdict:
    low, high = measured.champion.ci(rule.confidence_level, transform="logit")
    below = high < rule.value
    text = (
        f"AUROC {measured.champion.auc:.4f}, {100 * rule.confidence_level:g} % interval {_span(low, high)}, "
        f"{'lies wholly below' if below else 'is not shown to be below'} the floor {rule.value:g}"
    )
    return Verdict(
        rule=name, outcome=Status.DEGRADED if below else Status.OK, text=text, margin=high - rule.value
    )


def _drop(name: str, rule: Drop, measured: Measured, reference: Reference) -> Verdict:
    assert reference.auc is not None  # else the rule lacks it
    try:
        change = compare_auc(measured.champion, reference.auc)
    except DegenerateDataError:  # one score for all here, complete separation there
        text = (
            f"AUROC {measured.champion.auc:.4f} against {reference.auc.auc:.4f} in the reference, and "
            f"neither shows any scatter to compare by; so {name} cannot be judged"
        )
        return Verdict(rule=name, outcome=Status.INSUFFICIENT, text=text)
    low, high = change.ci(rule.confidence_level)
    lower, higher = high < -rule.value, low > rule.value
    found = "a drop" if lower else "a rise" if higher else "no change"
    text = (
        f"AUROC {measured.champion.auc:.4f} against {reference.auc.auc:.4f} in the reference: "
        f"{change.difference:+.4f}, {100 * rule.confidence_level:g} % interval "
        f"{_span(low, high, sign=True)}: {found} of more than {rule.value:g} is shown"
    )
    outcome = Status.DEGRADED if lower else Status.IMPROVED if higher else Status.OK
    return Verdict(rule=name, outcome=outcome, text=text, margin=high + rule.value)


def _challenger(name: str, rule: Challenger, measured: Measured) -> Verdict:
    if measured.difference is None:
        text = "the challenger scored too few of these rows to be compared"
        return Verdict(rule=name, outcome=Status.OK, text=text)
    low, high = measured.difference.ci(rule.confidence_level)
    found = "challenger ahead" if low > 0 else "champion ahead" if high < 0 else "no difference shown"
    text = (
        f"{found}: challenger minus champion {measured.difference.difference:+.4f}, "
        f"{100 * rule.confidence_level:g} % interval {_span(low, high, sign=True)}, this window alone, "
        f"on {measured.difference.n_pos_1 + measured.difference.n_neg_1:,} rows"
    )
    return Verdict(rule=name, outcome=Status.OK, text=text)


def _span(low: float, high: float, *, sign: bool = False) -> str:
    return f"{low:+.4f} to {high:+.4f}" if sign else f"{low:.4f} to {high:.4f}"
