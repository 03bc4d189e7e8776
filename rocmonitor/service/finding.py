"""What the rules say of the rows of one window, with scores as the models gave them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from rocmonitor.config import Monitor
from rocmonitor.policy.arrival import Awaiting
from rocmonitor.policy.calibrating import Beyond
from rocmonitor.policy.foresight import foresee
from rocmonitor.policy.judge import Finding, judge
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.missing_labels import allow_for_missing
from rocmonitor.policy.orientation import as_scored, negated
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Rule
from rocmonitor.sources import Rows


def find(
    monitor: Monitor,
    rows: Rows,
    reference: Reference,
    age: timedelta,
    past: Course | None = None,
    *,
    rules: Mapping[str, Rule],
) -> Finding:
    """Judge the rows of a window, some of which may wait for a label.

    Parameters
    ----------
    monitor : Monitor
    rows : Rows
    reference : Reference
    age : timedelta
        From the end of the window to the instant at which labels had to be known.
    past : Course, optional
        The windows before, for the rule `lasting`.
    rules : dict of str to Rule
        By name, at the levels at which they are judged.
    """
    low_is_positive = monitor.positive.low_is_positive
    thresholds = monitor.operating_points.thresholds
    finding = judge(
        rows.champion,
        rows.pair,
        rows.counts,
        scores=rows.scores,
        past=past,
        reference=reference,
        rules=rules,
        min_per_class=monitor.min_per_class,
        max_error=monitor.condense.max_error,
        fprs=monitor.operating_points.fpr,
        thresholds={each: negated(each) if low_is_positive else each for each in thresholds},
        beyond=Beyond(monitor.operating_points.flagged_shares, monitor.is_probability),
    )
    finding = allow_for_missing(
        finding,
        rows.champion,
        rows.counts,
        reference=reference,
        rules=rules,
        awaiting=Awaiting(unlabelled=rows.unlabelled, age=age, min_labelled=monitor.window.min_labelled),
        past=past,
    )
    if low_is_positive:
        tables, caveats = as_scored(finding.tables, finding.caveats)
        return replace(finding, tables=tables, caveats=caveats)
    return finding


def find_before_labels(
    monitor: Monitor, rows: Rows, reference: Reference, rules: Mapping[str, Rule]
) -> Finding:
    """What the scores of a window say before its labels, in scores as the models gave them."""
    found = foresee(rows.scores, reference=reference, rules=rules, min_rows=2 * monitor.min_per_class)
    if monitor.positive.low_is_positive:
        tables, caveats = as_scored(found.tables, found.caveats)
        return replace(found, tables=tables, caveats=caveats)
    return found
