"""What a window shows and what the rules say of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.calibrating import RANKING, Beyond, beyond_ranking, calibration_verdict
from rocmonitor.policy.condensing import allow_for_cells
from rocmonitor.policy.costing import cost_verdict
from rocmonitor.policy.evaluation import Counts, Reason, Status, Verdict
from rocmonitor.policy.lasting import Course, lasting_metrics, lasting_verdict
from rocmonitor.policy.levels import as_judged, for_batch, of_model, of_season, scatter_reach
from rocmonitor.policy.measure import Measured, data_metrics, measure, unmeasurable
from rocmonitor.policy.paired import Pair, challenger_verdict
from rocmonitor.policy.record import Tables, caveats_of
from rocmonitor.policy.reference import Reference, season_not_seen
from rocmonitor.policy.rules import (
    Calibration,
    Challenger,
    Cost,
    Drop,
    Floor,
    Forecast,
    Lasting,
    Rule,
    before_labels,
)
from rocmonitor.policy.shift import expected_metric, shift_of
from rocmonitor.stats import ForecastInterval, Sample, ScoreForecast, WindowAuc, compare_auc
from rocmonitor.stats.unlabelled import ScoreCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All that is found on one window; the fields are those of `Evaluation`."""

    outcome: Status
    verdicts: tuple[Verdict, ...]
    metrics: dict[str, float]
    tables: Tables = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()


def judge(
    champion: Sample,
    pair: Pair | None,
    counts: Counts,
    *,
    reference: Reference,
    rules: Mapping[str, Rule],
    min_per_class: int,
    max_error: float = 0.5,
    fprs: Sequence[float] = (),
    thresholds: Mapping[float, float] = MappingProxyType({}),
    scores: ScoreCounts | None = None,
    past: Course | None = None,
    beyond: Beyond = RANKING,
) -> Finding:
    """Measure a window and apply the rules that need labels.

    Parameters
    ----------
    champion : Sample
    pair : PairedSample, CondensedPair or None
        Champion and challenger on the rows that both scored.
    counts : Counts
    reference : Reference
    rules : dict of str to Rule
        By name, as from `rocmonitor.policy.rules.by_name`.
    min_per_class : int
        With fewer usable rows of either class the window is ``insufficient``: nothing is measured.
    max_error : float
        The same where cells of neighbouring scores leave more of the AUROC open; of the challenger's, there
        is no comparison.
    fprs : sequence of float
        Operating points to report.
    thresholds : dict of float to float, optional
        As for `rocmonitor.policy.measure.measure`.
    scores : ScoreCounts, optional
        All usable champion scores, labelled or not; default those of `champion`.
    past : Course, optional
        The windows before, for the rule `lasting`; by default this is the first one.
    beyond : Beyond
        What is measured besides the ranking.
    """
    rules = {name: rule for name, rule in rules.items() if not before_labels(rule)}
    metrics = data_metrics(counts)
    if (small := too_few(counts, min_per_class) or unmeasurable(champion, max_error)) is not None:
        return _insufficient(small, metrics, rules, reference)
    measured = measure(
        champion, pair, fprs=fprs, thresholds=thresholds, costs=reference.cost_thresholds, max_error=max_error
    )
    measured = beyond_ranking(measured, champion, pair, beyond)
    scores = scores or ScoreCounts(champion.score, champion.pos + champion.neg)
    metrics |= measured.metrics | expected_metric(rules, reference, scores)
    forecasts, doubts = _forecasts(rules, reference, champion, scores)
    now = WindowAuc(measured.champion.auc, counts.n_pos, counts.n_neg, metrics.get("expected/auc"))
    verdicts = tuple(
        _verdict(name, rule, champion, measured, reference, forecasts, now, past)
        for name, rule in rules.items()
    )
    doubts = [*_of_reference(reference, verdicts), *doubts, *_chart_caveats(rules, reference)]
    finding = Finding(
        outcome=outcome_of(verdicts),
        verdicts=verdicts,
        metrics=metrics | rule_metrics(verdicts, reference, forecasts),
        tables=measured.tables,
        caveats=tuple(dict.fromkeys([*_one_score(champion), *caveats_of(measured), *doubts])),
    )
    return _explained(finding, reference, champion, scores)


def _insufficient(
    small: Verdict, metrics: dict[str, float], rules: Mapping[str, Rule], reference: Reference
) -> Finding:
    expected = rule_metrics((), reference, _expected(rules, reference))  # for charts without gaps
    return Finding(outcome=Status.INSUFFICIENT, verdicts=(small,), metrics=metrics | expected)


def _of_reference(reference: Reference, verdicts: Sequence[Verdict]) -> list[Caveat]:
    """Its caveats, without those that a verdict states."""
    known = {lack for verdict in verdicts for lack in verdict.lacks}
    return [each for each in reference.caveats if each not in known and each.bare() not in known]


def too_few(counts: Counts, min_per_class: int) -> Verdict | None:
    """The verdict on a window that is too small to be measured, or None when it is large enough."""
    if min(counts.n_pos, counts.n_neg) >= min_per_class:
        return None
    lack = Caveat("no-rows")
    if counts.rows:
        lack = Caveat("too-few-rows", min_per_class=min_per_class, **asdict(counts))
    return Verdict.lacking("data", "data", lack)


def outcome_of(verdicts: Iterable[Verdict]) -> Status:
    """The gravest: degraded, then insufficient (a rule that could not be applied), improved, ok."""
    seen = {verdict.outcome for verdict in verdicts}
    for status in (Status.DEGRADED, Status.INSUFFICIENT, Status.IMPROVED):
        if status in seen:
            return status
    return Status.OK


def reasons_for(
    finding: Finding,
    status: Status,
    row_caveats: Sequence[Caveat],
    *,
    before: Status,
    warned: bool = False,
) -> tuple[Reason, ...]:
    """Why a window led to a status: the verdicts behind its outcome; of a recovery, all.

    Broken scores come first. When the warning of the window itself (`warned`) ends, what its labels made of
    it is said: nothing where it could not be judged.
    """
    if status is Status.AT_RISK:  # another window's scores
        return (Caveat("warning-waits"),)
    judged = warned and before is Status.AT_RISK and finding.outcome is not Status.INSUFFICIENT
    came = Caveat("warning-ended", confirmed=finding.outcome is Status.DEGRADED)
    ended = (came,) if judged else ()
    if status is Status.OK:
        return (*ended, *(verdict for verdict in finding.verdicts if verdict.margin is not None))
    agreeing = [verdict for verdict in finding.verdicts if verdict.outcome is finding.outcome]
    broken = [caveat for caveat in finding.caveats if caveat.code == "one-score"]
    others = row_caveats if finding.outcome is Status.INSUFFICIENT else ()
    return (*ended, *broken, *agreeing, *others)


def rule_metrics(
    verdicts: Sequence[Verdict], reference: Reference, forecasts: Mapping[str, ForecastInterval]
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
        ``reference/auc``, ``reference/auc_low`` and ``reference/auc_high``. Of each chart those of
        `rocmonitor.policy.lasting.lasting_metrics`.
    """
    metrics = {f"{verdict.rule}/margin": verdict.margin for verdict in verdicts if verdict.margin is not None}
    metrics |= lasting_metrics(verdicts)
    ends = ("low", "high", "sampling_low", "sampling_high")
    names = (*ends, "distance", "sampling_distance", "drift_distance")
    for rule, interval in forecasts.items():
        values = {f"{rule}/{name}": getattr(interval, name) for name in names}
        metrics |= {name: value for name, value in values.items() if value is not None}
    if reference.auc is not None:
        low, high = reference.auc.ci()
        metrics |= {"reference/auc": reference.auc.auc, "reference/auc_low": low, "reference/auc_high": high}
    return metrics


def _expected(rules: Mapping[str, Rule], reference: Reference) -> dict[str, ForecastInterval]:
    """The intervals for a batch whose size is not known: as large as the median reference window."""
    return {name: interval for name, interval in reference.forecasts.items() if name in rules}


def _chart_caveats(rules: Mapping[str, Rule], reference: Reference) -> list[Caveat]:
    """What is doubtful about comparing with the reference: the season, once, and the rest of each chart."""
    comparing = any(isinstance(rule, Forecast | Drop | Lasting) for rule in rules.values())
    found = list(season_not_seen(reference)) if comparing else []
    for name in (each for each in rules if each in reference.charts):
        found += [each for each in caveats_of(reference.charts[name], name) if each.code != "season-not-seen"]
    return found


def _forecasts(
    rules: Mapping[str, Rule], reference: Reference, champion: Sample, scores: ScoreCounts
) -> tuple[dict[str, ForecastInterval], list[Caveat]]:
    """The intervals for a batch of this size, and what is doubtful about them."""
    forecasts = _expected(rules, reference)
    if forecasts and reference.cells is None:
        return forecasts, [Caveat("old-reference")]
    if reference.cells is not None:
        batch = (champion.n_pos, champion.n_neg)
        forecasts = {
            name: for_batch(name, reference, reference.cells, batch) for name in forecasts
        } | _given_scores(rules, reference, reference.cells, scores, batch)
        forecasts = allow_for_cells(forecasts, champion)
    return forecasts, [caveat for name, each in forecasts.items() for caveat in caveats_of(each, name)]


def _given_scores(
    rules: Mapping[str, Rule],
    reference: Reference,
    cells: Sample,
    scores: ScoreCounts,
    batch: tuple[int, int],
) -> dict[str, ForecastInterval]:
    """The intervals of the forecast rules that take the scores as given."""
    if reference.history is None:
        return {}
    return {
        name: as_judged(
            name,
            reference,
            reference.history.forecast(
                cells,
                scores,
                batch=batch,
                confidence_level=rule.confidence_level,
                alternative=rule.alternative,
            ),
        )
        for name, rule in rules.items()
        if isinstance(rule, Forecast) and rule.given is not None
    }


def _explained(finding: Finding, reference: Reference, champion: Sample, scores: ScoreCounts) -> Finding:
    """The finding with a table that shows which scores made the AUROC what it is, where that has changed."""
    has_changed = finding.outcome in (Status.DEGRADED, Status.IMPROVED)
    found = shift_of(reference, champion, scores) if has_changed else None
    if found is None:
        return finding
    return replace(
        finding,
        metrics=finding.metrics | found.metrics,
        tables=finding.tables | {"shift": found.table},
        caveats=(*finding.caveats, *found.caveats),
    )


def _one_score(champion: Sample) -> list[Caveat]:
    """What is said before anything else of rows that all have the same score."""
    if len(champion.score) != 1:
        return []
    return [Caveat("one-score", rows=champion.n_pos + champion.n_neg, score=champion.score[0])]


def _lacks(
    name: str, rule: Rule, reference: Reference, forecasts: Mapping[str, ForecastInterval]
) -> tuple[Caveat, ...]:
    """Why the reference cannot serve a rule; empty when it can."""
    if isinstance(rule, Forecast):
        lacking = name not in forecasts or (rule.given is not None and reference.history is None)
    elif isinstance(rule, Lasting):
        lacking = name not in reference.charts
    elif isinstance(rule, Cost):
        lacking = reference.cost_at(rule.w) is None
    else:
        lacking = isinstance(rule, Drop) and reference.auc is None
    if not lacking:
        return ()
    own = tuple(each.bare() for each in reference.caveats if each.about[:1] == (name,))
    return own or reference.caveats or (Caveat("segment-not-in-reference"),)


def _verdict(
    name: str,
    rule: Rule,
    champion: Sample,
    measured: Measured,
    reference: Reference,
    forecasts: Mapping[str, ForecastInterval],
    now: WindowAuc,
    past: Course | None,
) -> Verdict:
    if lacks := _lacks(name, rule, reference, forecasts):
        return Verdict.lacking(name, rule.kind, *lacks)
    if isinstance(rule, Forecast):
        return _forecast(name, measured, forecasts[name])
    if isinstance(rule, Lasting):
        return lasting_verdict(name, reference.charts[name], now, past)
    if isinstance(rule, Floor):
        return _floor(name, rule, measured)
    if isinstance(rule, Drop):
        return _drop(name, rule, measured, reference)
    if isinstance(rule, Cost):
        return cost_verdict(name, rule, champion, *reference.cost_of(rule.w))
    if isinstance(rule, Calibration):
        return calibration_verdict(name, rule, measured.calibration)
    assert isinstance(rule, Challenger)
    return challenger_verdict(name, rule, measured.difference, measured.caveats)


def _forecast(name: str, measured: Measured, interval: ForecastInterval) -> Verdict:
    auc = measured.champion.auc
    return Verdict(
        rule=name,
        kind="forecast",
        outcome=_beyond(auc < interval.low, auc > interval.high),
        estimate=auc,
        confidence_level=interval.achieved_level,
        limit=(interval.low, interval.high),
        margin=interval.margin(auc),
        details={
            "method": interval.method,
            "sampling_low": interval.sampling_low,
            "sampling_high": interval.sampling_high,
            **({"expected": interval.auc} if isinstance(interval, ScoreForecast) else {}),
            **of_season(interval),
            **of_model(interval),
        },
    )


def _floor(name: str, rule: Floor, measured: Measured) -> Verdict:
    low, high = measured.champion.ci(rule.confidence_level)
    return Verdict(
        rule=name,
        kind="floor",
        outcome=_beyond(high < rule.value, False),
        estimate=measured.champion.auc,
        low=low,
        high=high,
        confidence_level=rule.confidence_level,
        limit=(rule.value, None),
        margin=high - rule.value,
    )


def _drop(name: str, rule: Drop, measured: Measured, reference: Reference) -> Verdict:
    assert reference.auc is not None  # else the rule lacks it
    both = {"auc": measured.champion.auc, "reference_auc": reference.auc.auc}
    try:
        change = compare_auc(measured.champion, reference.auc)
    except DegenerateDataError:  # one score for all here, complete separation there
        lack = Caveat("no-scatter-to-compare", **both)
        return Verdict.lacking(name, "drop", lack)
    low, high = change.ci(rule.confidence_level)
    area = measured.champion
    reach = scatter_reach(name, rule, reference, (area.n_pos, area.n_neg))
    low, high = min(low, change.difference - reach), max(high, change.difference + reach)
    return Verdict(
        rule=name,
        kind="drop",
        outcome=_beyond(high < -rule.value, low > rule.value),
        estimate=change.difference,
        low=low,
        high=high,
        confidence_level=rule.confidence_level,
        limit=(-rule.value, rule.value),
        margin=high + rule.value,
        details=both,
    )


def _beyond(below: bool, above: bool) -> Status:
    return Status.DEGRADED if below else Status.IMPROVED if above else Status.OK
