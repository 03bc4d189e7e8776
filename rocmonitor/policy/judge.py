"""The judgement of one window: by its labels, with each rule; before them, by what its scores foretell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import LEVEL
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.episode import CHANGE
from rocmonitor.policy.evaluation import BROKEN, Counts, Finding, Reason, Status, Verdict
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.lessons import foretold, learned, withdrawn
from rocmonitor.policy.measure import Wanted, data_metrics, measure, rows, unmeasurable
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.record import Row, Tables, caveats_of
from rocmonitor.policy.reference import Reference, season_not_seen
from rocmonitor.rules import Rule, highest_floor, settings_of
from rocmonitor.rules.cost import cost_then
from rocmonitor.rules.evidence import AllLabels, Evidence
from rocmonitor.stats import (
    ForecastInterval,
    PairedSample,
    Sample,
    ScoreForecast,
    WindowAuc,
    condensed_error,
    explain_shift,
    vertical_difference_unpaired,
    vertical_intervals,
)
from rocmonitor.stats.forecast.learning import Answer, JudgedOutlook
from rocmonitor.stats.sample import ScoreCounts

ONLY_RANKING = Wanted()
"""AUROC, curve and costs."""


def judge(
    champion: Sample,
    pair: PairedSample | None,
    counts: Counts,
    *,
    ranges: NormalRanges,
    rules: Mapping[str, Rule],
    min_per_class: int,
    day: float | None = None,
    max_error: float = 0.5,
    wanted: Wanted = ONLY_RANKING,
    scores: ScoreCounts | None = None,
    past: Course | None = None,
) -> Finding:
    """Measure a window and apply the rules that need labels.

    With fewer usable rows of either class than `min_per_class` the window is ``insufficient`` and nothing is
    measured, nor where cells of neighbouring scores leave more than `max_error` of the AUROC open. `day`, on
    which the window starts, is for the season; by default the middle of the year. `wanted` is measured, too,
    with the costs that the reference has; `scores` are all usable champion scores, labelled or not (by
    default those of `champion`), and `past` the windows before, for the rule `lasting` (by default this is
    the first one).
    """
    reference, rules = ranges.reference, {name: rule for name, rule in rules.items() if rule.needs.labels}
    metrics = data_metrics(counts)
    if (small := too_few(counts, min_per_class) or unmeasurable(champion, max_error)) is not None:
        # For charts without gaps; the size is not known.
        usual = {name: ranges.range(name, day=day) for name in reference.fits if name in rules}
        metrics |= rule_metrics((), reference, usual)
        return Finding(outcome=Status.INSUFFICIENT, verdicts=(small,), metrics=metrics)
    wanted = replace(wanted, costs=reference.cost_thresholds)
    measured = measure(champion, pair, wanted, missing=counts.no_challenger)
    for row in measured.tables.get("costs", ()):
        row["reference_cost"] = cost_then(reference.cost_of(row["w"])[1], row["w"], LEVEL).cost
    scores = scores or ScoreCounts(champion.score, champion.pos + champion.neg)
    forecasts = dict[str, ForecastInterval]()
    if reference.cells is not None:
        batch = (champion.n_pos, champion.n_neg)
        error = 0.0 if champion.ends is None else condensed_error(champion).auc
        for name in (rule for rule in reference.fits if rule in rules):
            forecasts[name] = ranges.range(name, batch, day=day, error=error)
    now = WindowAuc(measured.champion.auc, counts.n_pos, counts.n_neg)
    evidence = Evidence(
        law=AllLabels(measured.champion),
        now=now,
        sample=champion,
        forecasts=forecasts,
        charts=ranges.charts,
        derived=ranges.derived,
        past=past,
        difference=measured.difference,
        calibration=measured.calibration,
    )
    verdicts = tuple(rule.judge(name, evidence, reference) for name, rule in rules.items())
    metrics |= measured.metrics | rule_metrics(verdicts, reference, forecasts)
    if ranges.level is not None:  # these show later whether a drop is over
        change = ranges.level.change(now._replace(day=day), measured.champion.se)
        metrics |= dict(zip(CHANGE, change, strict=True))
    caveats: list[Caveat] = []
    if len(champion.score) == 1:
        caveats.append(Caveat("one-score", rows=counts.used, score=champion.score[0]))
    stated = {lack for verdict in verdicts for lack in verdict.lacks}
    caveats += caveats_of(measured)
    caveats += [
        caveat for caveat in reference.caveats if caveat not in stated and caveat.bare() not in stated
    ]
    for name, interval in forecasts.items():
        caveats += caveats_of(interval, name)
    if any(rule.needs.auc for rule in rules.values()):
        caveats += season_not_seen(reference)
    for name in (rule for rule in rules if rule in ranges.charts):
        of_chart = caveats_of(ranges.charts[name], name)
        caveats += [caveat for caveat in of_chart if caveat.code != "season-not-seen"]
    finding = Finding(
        outcome=outcome_of(verdicts),
        verdicts=verdicts,
        metrics=metrics,
        tables=measured.tables,
        caveats=tuple(dict.fromkeys(caveats)),
    )
    return _explained(finding, reference, champion, scores)


def too_few(counts: Counts, min_per_class: int) -> Verdict | None:
    """Return the verdict on a window that is too small to be measured, or None when it is large enough."""
    if min(counts.n_pos, counts.n_neg) >= min_per_class:
        return None
    lack = Caveat("no-rows")
    if counts.rows:
        lack = Caveat("too-few-rows", min_per_class=min_per_class, **asdict(counts))
    return Verdict.lacking("data", "data", lack)


def outcome_of(verdicts: Iterable[Verdict]) -> Status:
    """Return the gravest: degraded, then insufficient (a rule that could not be applied), improved, ok."""
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
    warning: Answer | None = None,
) -> tuple[Reason, ...]:
    """Why a window led to a status: the verdicts behind its outcome; of a recovery, all but that of a chart
    which remembers the loss.

    Broken scores and unusable rows come first. When the warning of the window itself ends, the answer of its
    labels (`warning`) is said: nothing where it could not be judged.
    """
    if status is Status.AT_RISK:  # another window's scores
        return (Caveat("warning-waits"),)
    judged = before is Status.AT_RISK and finding.outcome is not Status.INSUFFICIENT
    ended = (Caveat("warning-ended", answer=str(warning)),) if judged and warning is not None else ()
    if status is Status.OK:
        remembered = ("lasting", Status.DEGRADED)
        return *ended, *(
            verdict
            for verdict in finding.verdicts
            if verdict.margin is not None and (verdict.kind, verdict.outcome) != remembered
        )
    agreeing = [verdict for verdict in finding.verdicts if verdict.outcome is finding.outcome]
    broken = [caveat for caveat in finding.caveats if caveat.code in BROKEN]
    others = row_caveats if finding.outcome is Status.INSUFFICIENT else ()
    return (*ended, *broken, *agreeing, *others)


def rule_metrics(
    verdicts: Sequence[Verdict], reference: Reference, forecasts: Mapping[str, ForecastInterval]
) -> dict[str, float]:
    """Return what the rules compared with, as metrics.

    ``RULE/margin`` of each verdict that has one. Of each forecast rule ``RULE/low`` and ``RULE/high``, the
    interval for a batch of the window's size, and within it ``RULE/sampling_low`` and ``RULE/sampling_high``,
    as wide as sampling alone makes it. ``RULE/distance`` is the Kullback-Leibler distance that the interval
    allows, in nats, which is the sum of ``RULE/sampling_distance`` (what that sampling takes) and
    ``RULE/drift_distance`` (what past windows have moved beyond that). ``reference/auc``,
    ``reference/auc_low`` and ``reference/auc_high``. Of each chart ``RULE/statistic`` and ``RULE/limit``;
    with an alarm ``RULE/change`` and its interval.
    """
    metrics = verdict_metrics(verdicts)
    ends = ("low", "high", "sampling_low", "sampling_high")
    names = (*ends, "distance", "sampling_distance", "drift_distance")
    for rule, interval in forecasts.items():
        values = {f"{rule}/{name}": getattr(interval, name) for name in names}
        metrics |= {name: value for name, value in values.items() if value is not None}
    if reference.auc is not None:
        low, high = reference.auc.ci()
        metrics |= {"reference/auc": reference.auc.auc, "reference/auc_low": low, "reference/auc_high": high}
    return metrics


def verdict_metrics(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """Return the part of `rule_metrics` that a window has only if its verdicts were reached."""
    metrics = {f"{verdict.rule}/margin": verdict.margin for verdict in verdicts if verdict.margin is not None}
    for verdict in verdicts:
        if verdict.kind == "lasting" and not verdict.lacks:
            values = {
                "statistic": verdict.details["statistic"],
                "limit": verdict.details["chart_limit"],
                "change": verdict.estimate,
                "change_low": verdict.low,
                "change_high": verdict.high,
            }
            metrics |= {f"{verdict.rule}/{k}": float(v) for k, v in values.items() if v is not None}
    return metrics


def _explained(finding: Finding, reference: Reference, champion: Sample, scores: ScoreCounts) -> Finding:
    """Return the finding with the scores that moved, where its AUROC has changed."""
    has_changed = finding.outcome in (Status.DEGRADED, Status.IMPROVED)
    if not has_changed or reference.cells is None or reference.auc is None:
        return finding
    shift = explain_shift(reference.cells, champion, joined=reference.joined)
    shift = replace(shift, reference_auc=reference.auc.auc)  # joined cells give it to five digits
    metrics = {"shift/from_positives": shift.from_positives, "shift/from_negatives": shift.from_negatives}
    if shift.similarity is not None:
        metrics["shift/similarity"] = shift.similarity
    if reference.history is not None:
        split = reference.history.split(reference.cells, champion, scores=scores)
        names = ("foreseen", "unforeseen", "thin_share", "outside_share", "score_distance", "label_distance")
        metrics |= {f"shift/{name}": float(getattr(split, name)) for name in names}
        metrics["shift/foreseen_known"] = float(split.known)
        metrics["shift/foreseen_low"], metrics["shift/foreseen_high"] = split.foreseen_ci()
    curve = curve_change(reference.cells, champion)
    return replace(
        finding,
        metrics=finding.metrics | metrics,
        tables=finding.tables | {"shift": shift.bins()} | ({"curve": curve} if curve else {}),
        caveats=(*finding.caveats, *caveats_of(shift, "explanation")),
    )


FPRS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""False positive rates at which the curves are compared."""

CURVE_LEVEL = 0.95
"""The confidence level of all intervals of a table together, by Bonferroni."""


def curve_change(reference: Sample, window: Sample) -> list[Row]:
    """Return the true positive rates of a window and its reference at some false positive rates.

    Each line has ``fpr, tpr, reference_tpr, difference, low, high``. Empty where a sample has no curve, such
    as one of a single score. Rates are those that both samples offer.
    """
    rates = [fpr for fpr in FPRS if fpr * min(window.n_neg, reference.n_neg) >= 1]
    if not rates:
        return []
    level = 1 - (1 - CURVE_LEVEL) / len(rates)
    try:
        change = vertical_difference_unpaired(window, reference, rates, confidence_level=level)
        tpr, before = (vertical_intervals(sample, rates).tpr for sample in (window, reference))
    except InputError:  # one class or one score: the AUROC says all there is
        return []
    ends = {"difference": change.dtpr, "low": change.dtpr_low, "high": change.dtpr_high}
    return rows({"fpr": rates, "tpr": tpr, "reference_tpr": before, **ends})


OUTLOOK_LEVEL = 0.95
"""The level of the interval, unless a rule ``outlook`` asks for another."""


def foresee(
    scores: ScoreCounts,
    *,
    ranges: NormalRanges,
    rules: Mapping[str, Rule],
    min_rows: int,
    day: float | None = None,
    since: Sequence[JudgedOutlook] = (),
) -> Finding:
    """Forecast the AUROC of a window from its scores, and apply the rules that need no labels.

    `scores` are all usable champion scores of the window, labelled or not. Of the rules that need labels, a
    ``floor`` and a ``forecast`` limit the rule ``outlook``. `since` are the windows since the reference that
    were judged after their outlook, oldest first.

    The outcome is ``at-risk`` when a rule warns, ``insufficient`` when there can be no outlook (with fewer
    scores than `min_rows`), else ``ok``: which here says no more than that nothing warns.
    """
    reference = ranges.reference
    history, cells = reference.history, reference.cells
    if not scores.rows:
        return no_outlook(Caveat("no-rows"))
    if scores.rows < min_rows:
        return no_outlook(Caveat("too-few-scores", rows=scores.rows, min_rows=min_rows))
    if history is None or cells is None:
        about = (("outlook",), ("reference",))
        own = [caveat.bare() for caveat in reference.caveats if caveat.about[:1] in about]
        return no_outlook(next(iter(own), Caveat("segment-not-in-reference")))
    try:
        expected = forecast_of(scores, ranges, rules)
    except DegenerateDataError as error:
        return no_outlook(Caveat("not-computed", why=str(error)).concerning("outlook"))
    limits = outlook_limits(rules, ranges, expected, day)
    expected, moved = learned(expected, since)
    evidence = Evidence(
        law=None,
        now=None,
        sample=None,
        derived=ranges.derived,
        expected=expected,
        limits=limits,
        since=since,
    )
    verdicts = [
        rule.judge(name, evidence, reference) for name, rule in rules.items() if not rule.needs.labels
    ]
    warns = any(verdict.outcome is Status.AT_RISK for verdict in verdicts)
    usual = history.expected_limit(scores.rows, confidence_level=OUTLOOK_LEVEL).limit
    moved |= foretold(expected, verdicts, usual)
    values = {"auc": expected.foreseen, "expected_auc": expected.auc}  # with and without learned strength
    for name in ("low", "high", "strength", "prevalence", "score_distance", "outside_share"):
        values[name] = float(getattr(expected, name))
    metrics = {f"outlook/{name}": value for name, value in values.items()}
    if (interval := ranges.first(day)) is not None:  # what is normal, for the words
        metrics |= {"forecast/low": interval.low, "forecast/high": interval.high}
    metrics |= verdict_metrics(verdicts)
    tables: Tables = {}
    if warns:
        shift = history.shift(cells, scores)
        names = {"reference": shift.reference_share, "window": shift.window_share, "nats": shift.nats}
        tables["scores"] = rows({"low": shift.low, "high": shift.high, **names})
    return Finding(
        outcome=Status.AT_RISK if warns else Status.OK,
        verdicts=tuple(verdicts),
        metrics=metrics | moved,
        tables=tables,
        caveats=(*withdrawn(since), *dict.fromkeys(caveats_of(expected, "outlook"))),
    )


def forecast_of(scores: ScoreCounts, ranges: NormalRanges, rules: Mapping[str, Rule]) -> ScoreForecast:
    """Return the forecast of an AUROC from scores, at the lowest level that a rule asks of its interval.

    DegenerateDataError if the scores give none.
    """
    reference = ranges.reference
    assert reference.history is not None
    assert reference.cells is not None
    level = min(
        (settings_of(rule)["confidence_level"] for rule in rules.values() if rule.kind == "outlook"),
        default=OUTLOOK_LEVEL,
    )
    # The normal range allows for neighbours that are alike, and so does an outlook.
    widening = max((fit.widening for fit in reference.fits.values()), default=1.0)
    return reference.history.forecast(reference.cells, scores, confidence_level=level, widening=widening)


def no_outlook(lack: Caveat) -> Finding:
    """Return the finding of a window that can have no outlook."""
    verdict = Verdict.lacking("data", "data", lack)
    return Finding(outcome=Status.INSUFFICIENT, verdicts=(verdict,), metrics={})


def outlook_limits(
    rules: Mapping[str, Rule], ranges: NormalRanges, expected: ScoreForecast, day: float | None
) -> dict[str, float]:
    """Return what the whole interval of an outlook is compared with: the highest floor, and the forecast."""
    limits = {}
    if (floor := highest_floor(rules.values())) is not None:
        limits["floor"] = floor
    for name in rules:
        if name in ranges.reference.fits and expected.batch is not None:
            limits["forecast"] = ranges.range(name, expected.batch, day=day).low
            break
    return limits
