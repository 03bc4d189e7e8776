"""What the scores of a window say before its labels, and what the rules that need no labels say of it."""

from __future__ import annotations

from collections.abc import Mapping

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.judge import Finding
from rocmonitor.policy.levels import for_batch, largest_distance, lowest_expected
from rocmonitor.policy.record import Row, caveats_of
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Floor, Forecast, Outlook, Rule, Scores
from rocmonitor.stats import Sample, ScoreForecast, ScoreHistory
from rocmonitor.stats.unlabelled import ScoreCounts

LEVEL = 0.95
"""Of the interval, unless a rule ``outlook`` asks for another."""


def foresee(
    scores: ScoreCounts, *, reference: Reference, rules: Mapping[str, Rule], min_rows: int
) -> Finding:
    """Forecast the AUROC of a window from its scores, and apply the rules that need no labels.

    Parameters
    ----------
    scores : ScoreCounts
        All usable champion scores of the window, labelled or not.
    reference : Reference
    rules : dict of str to Rule
        By name. Of those that need labels, a ``floor`` and a ``forecast`` limit the rule ``outlook``.
    min_rows : int
        With fewer scores the outlook is ``insufficient``.

    Returns
    -------
    Finding
        ``at-risk`` when a rule warns, ``insufficient`` when there can be no outlook, else ``ok``: which here
        says no more than that nothing warns.
    """
    if (lack := _lack(scores, reference, min_rows)) is not None:
        return _insufficient(lack)
    history, cells = reference.history, reference.cells
    assert history is not None
    assert cells is not None
    level = min(
        (rule.confidence_level for rule in rules.values() if isinstance(rule, Outlook)), default=LEVEL
    )
    try:
        expected = history.forecast(cells, scores, confidence_level=level)
    except DegenerateDataError as error:
        return _insufficient(Caveat("not-computed", why=str(error)).concerning("outlook"))
    limits = _limits(rules, reference, cells, expected)
    verdicts = []
    for name, rule in rules.items():
        if isinstance(rule, Scores):
            verdicts.append(_scores(name, rule, expected, reference, history))
        elif isinstance(rule, Outlook):
            verdicts.append(_outlook(name, rule, expected, reference, history, limits))
    warns = any(verdict.outcome is Status.AT_RISK for verdict in verdicts)
    return Finding(
        outcome=Status.AT_RISK if warns else Status.OK,
        verdicts=tuple(verdicts),
        metrics=_metrics(expected, verdicts, reference),
        tables={"scores": _moved(history, cells, scores)} if warns else {},
        caveats=tuple(dict.fromkeys(caveats_of(expected, "outlook"))),
    )


def _lack(scores: ScoreCounts, reference: Reference, min_rows: int) -> Caveat | None:
    """Why there can be no outlook; None when there can."""
    if not scores.rows:
        return Caveat("no-rows")
    if scores.rows < min_rows:
        return Caveat("too-few-scores", rows=scores.rows, min_rows=min_rows)
    if reference.history is None or reference.cells is None:
        own = [each.bare() for each in reference.caveats if each.about[:1] in (("outlook",), ("reference",))]
        return next(iter(own), Caveat("segment-not-in-reference"))
    return None


def _insufficient(lack: Caveat) -> Finding:
    verdict = Verdict.lacking("data", "data", lack)
    return Finding(outcome=Status.INSUFFICIENT, verdicts=(verdict,), metrics={})


def _scores(
    name: str, rule: Scores, expected: ScoreForecast, reference: Reference, history: ScoreHistory
) -> Verdict:
    shown = history.distance_limit(expected.n_rows, confidence_level=rule.confidence_level)
    limit, level = largest_distance(
        name, reference, rule.confidence_level, (shown.limit, shown.achieved_level)
    )
    return Verdict(
        rule=name,
        kind="scores",
        outcome=_warns(expected.score_distance > limit),
        estimate=expected.score_distance,
        confidence_level=level,
        limit=(None, limit),
        margin=limit - expected.score_distance,
        details={"rows": expected.n_rows},
    )


def _outlook(
    name: str,
    rule: Outlook,
    expected: ScoreForecast,
    reference: Reference,
    history: ScoreHistory,
    limits: Mapping[str, float],
) -> Verdict:
    """The limit of the windows is on the expected AUROC; those of other rules are on its whole interval."""
    shown = history.expected_limit(expected.n_rows, confidence_level=rule.confidence_level)
    lowest, level = lowest_expected(
        name, reference, rule.confidence_level, (shown.limit, shown.achieved_level)
    )
    beyond = {against: at for against, at in limits.items() if expected.high < at}
    against, limit = "windows", lowest
    if expected.auc >= lowest and beyond:
        against, limit = max(beyond.items(), key=lambda each: each[1])
    if against == "windows":
        return Verdict(
            rule=name,
            kind="outlook",
            outcome=_warns(expected.auc < limit),
            estimate=expected.auc,
            confidence_level=level,
            limit=(limit, None),
            margin=expected.auc - limit,
            details={"against": against},
        )
    return Verdict(
        rule=name,
        kind="outlook",
        outcome=Status.AT_RISK,
        estimate=expected.foreseen,
        low=expected.low,
        high=expected.high,
        confidence_level=expected.achieved_level,
        limit=(limit, None),
        margin=expected.high - limit,
        details={"against": against},
    )


def _limits(
    rules: Mapping[str, Rule], reference: Reference, cells: Sample, expected: ScoreForecast
) -> dict[str, float]:
    """What the whole interval of an outlook is compared with: the highest floor, and the forecast."""
    limits = {}
    floors = [rule.value for rule in rules.values() if isinstance(rule, Floor)]
    if floors:
        limits["floor"] = max(floors)
    for name, rule in rules.items():
        interval = reference.forecasts.get(name)
        if isinstance(rule, Forecast) and interval is not None and expected.batch is not None:
            limits["forecast"] = for_batch(name, reference, cells, expected.batch).low
            break
    return limits


def _metrics(expected: ScoreForecast, verdicts: list[Verdict], reference: Reference) -> dict[str, float]:
    values = {"auc": expected.foreseen, "expected_auc": expected.auc}  # with and without learned strength
    for name in ("low", "high", "strength", "prevalence", "score_distance", "outside_share"):
        values[name] = float(getattr(expected, name))
    metrics = {f"outlook/{name}": value for name, value in values.items()}
    for interval in list(reference.forecasts.values())[:1]:  # what is normal, for the words
        metrics |= {"forecast/low": interval.low, "forecast/high": interval.high}
    return metrics | {
        f"{verdict.rule}/margin": verdict.margin for verdict in verdicts if verdict.margin is not None
    }


def _moved(history: ScoreHistory, cells: Sample, scores: ScoreCounts) -> list[Row]:
    shift = history.shift(cells, scores)
    columns = {
        "low": shift.low,
        "high": shift.high,
        "reference": shift.reference_share,
        "window": shift.window_share,
        "nats": shift.nats,
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, line, strict=True)) for line in lines]


def _warns(beyond: bool) -> Status:
    return Status.AT_RISK if beyond else Status.OK
