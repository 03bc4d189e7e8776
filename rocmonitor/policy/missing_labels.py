"""A finding on a window, once it is known that some of its labels are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rocmonitor.caveat import Caveat
from rocmonitor.policy import arrival
from rocmonitor.policy.arrival import Awaiting, Estimate
from rocmonitor.policy.evaluation import Counts, Finding, Status, Verdict
from rocmonitor.policy.judge import outcome_of, rule_metrics, verdict_metrics
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.record import OF_A_CHANGE, caveats_of
from rocmonitor.rules import Rule
from rocmonitor.stats import Sample


def allow_for_missing(
    finding: Finding,
    champion: Sample,
    counts: Counts,
    *,
    ranges: NormalRanges,
    rules: Mapping[str, Rule],
    awaiting: Awaiting,
    day: float | None = None,
    past: Course | None = None,
) -> Finding:
    """Return what holds of a finding on the labelled rows when other rows wait for their labels.

    Unchanged for a window that is too small, or has all labels that will come. With a history of the
    reference's labels the rules are applied to the estimate of all rows, and the explanation of a change,
    which compares labelled rows only, is left out. Without one the finding stands, with a caveat where the
    reference has other shares of labelled rows; with too few labels the window is ``insufficient``.
    """
    reference = ranges.reference
    if not counts.unlabelled or any(verdict.kind == "data" for verdict in finding.verdicts):
        return finding
    if (lack := arrival.refused(reference, counts, awaiting.min_labelled)) is not None:
        return refused(finding, lack)
    estimate = arrival.estimate(reference, champion, awaiting)
    if isinstance(estimate, Caveat) and counts.labelled_share < (
        awaiting.min_labelled or arrival.MIN_LABELLED
    ):
        return refused(finding, estimate)
    if not isinstance(estimate, Estimate):
        doubts = () if estimate is None else (estimate,)
        differ = arrival.shares_differ(reference, counts)
        return replace(finding, caveats=(*finding.caveats, *doubts, *differ))
    intervals = arrival.forecasts(estimate, rules, ranges, day)
    evidence = arrival.evidence(estimate, intervals, ranges, past)
    verdicts = tuple(
        verdict
        if rules[verdict.rule].needs.challenger
        else rules[verdict.rule].judge(verdict.rule, evidence, reference)
        for verdict in finding.verdicts
    )
    replaced = {verdict.rule for verdict in verdicts if verdict not in finding.verdicts}
    bare = _without_verdicts(finding)
    metrics = {name: value for name, value in bare.metrics.items() if name.split("/")[0] not in replaced}
    without = replaced | {"explanation"}
    kept = [caveat for caveat in finding.caveats if without.isdisjoint(caveat.about[:1])]
    caveats = [*estimate.caveats, *kept]
    for name, interval in intervals.items():
        caveats += caveats_of(interval, name)
    return replace(
        bare,
        outcome=outcome_of(verdicts),
        verdicts=verdicts,
        metrics=metrics | estimate.metrics | rule_metrics(verdicts, reference, intervals),
        caveats=tuple(dict.fromkeys(caveats)),
    )


def refused(finding: Finding, lack: Caveat) -> Finding:
    """Return a finding that is measured and not judged."""
    verdict = Verdict.lacking("data", "data", lack)
    return replace(_without_verdicts(finding), outcome=Status.INSUFFICIENT, verdicts=(verdict,))


def _without_verdicts(finding: Finding) -> Finding:
    """Return a finding without the metrics of its verdicts and what belongs to a change.

    The AUROC of the labelled rows is in it as what it is, too: where that is the only one, `course` skips the
    window.
    """
    judged, old, new = verdict_metrics(finding.verdicts), "champion/auc", "labelled/auc"
    kept = {
        name: value
        for name, value in finding.metrics.items()
        if name not in judged and not name.startswith("shift/")
    }
    return replace(
        finding,
        metrics={**kept, **{k.replace(old, new): v for k, v in kept.items() if k.startswith(old)}},
        tables={name: table for name, table in finding.tables.items() if name not in OF_A_CHANGE},
    )
