"""Many segments judged at once: which that look degraded stay so once their number is allowed for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from rocmonitor.caveat import Caveat
from rocmonitor.halving import halved
from rocmonitor.policy.evaluation import Finding, Status
from rocmonitor.policy.judge import outcome_of
from rocmonitor.policy.record import OF_A_CHANGE
from rocmonitor.rules import Rule
from rocmonitor.stats.column_changes import adjusted_pvalues

SMALLEST = 1e-9
"""Smaller p-values are not looked for."""

_HALVINGS = 14

Outcome = Callable[[str, str, float], Status]
"""The finding of a rule on a segment at a chance of a false alarm: (segment, rule, chance)."""


def allow_for_segments(
    findings: Mapping[str, Finding], rules: Mapping[str, Rule], outcome: Outcome
) -> dict[str, Finding]:
    """Return the findings on one window, with the false discovery rate controlled over its segments.

    All rows (``""``) are a test of their own and are unchanged. A segment stays degraded (or improved) by a
    rule when its p-value, the smallest chance of a false alarm at which the rule still says so, is a
    discovery among the segments that the rule judged in this window, at the chance of a false alarm that the
    rule has. Else the verdict is ok, and a caveat says what it is alone. Verdicts that were degraded alone
    have the details ``pvalue``, ``adjusted_pvalue`` and ``segments``, and those that do not stay so
    ``alone``, the outcome without the others.

    Notes
    -----
    The step-up procedure of [BH95]. It holds the false discovery rate also for tests that depend on each
    other positively ([BY01], theorem 1.2): two segments that share rows, or lie in the same bad week, move
    together. (Under any dependence it would take sum 1 / i times as small a rate, 2.9 for 10 segments.)

    References
    ----------
    .. [BH95] Benjamini and Hochberg (1995). Journal of the Royal Statistical Society B 57, 289-300.
    .. [BY01] Benjamini and Yekutieli (2001). Annals of Statistics 29, 1165-1188.
    """
    changed = dict(findings)
    for name, rule in rules.items():
        tail = rule.tail
        judged = {
            segment: verdict.outcome
            for segment, finding in findings.items()
            for verdict in finding.verdicts
            if segment and verdict.rule == name and verdict.outcome is not Status.INSUFFICIENT
        }
        for status in (Status.DEGRADED, Status.IMPROVED):
            raised = [segment for segment, alone in judged.items() if alone is status]
            if not tail or not raised or len(judged) < 2:
                continue
            pvalues = dict.fromkeys(judged, 1.0)
            for segment in raised:
                pvalues[segment] = _pvalue(partial(outcome, segment, name), status, tail)
            adjusted = adjusted_pvalues(list(pvalues.values())).tolist()
            rates = dict(zip(pvalues, adjusted, strict=True))
            for segment in raised:
                values = {"pvalue": pvalues[segment], "adjusted_pvalue": rates[segment]}
                changed[segment] = _allowed(changed[segment], name, values | {"segments": len(judged)}, tail)
    return changed


def _pvalue(outcome: Callable[[float], Status], status: Status, tail: float) -> float:
    """Return the smallest chance at which a rule still finds so; it does at `tail`."""
    if outcome(SMALLEST) is status:
        return SMALLEST
    ends = math.log(SMALLEST), math.log(tail)
    _, least = halved(*ends, lambda log: outcome(math.exp(log)) is status, _HALVINGS)
    return min(math.exp(least), tail)


def _allowed(finding: Finding, rule: str, values: dict[str, float], tail: float) -> Finding:
    """Return the finding with the p-values of a rule, which is ok where they are no discovery."""
    stays = values["adjusted_pvalue"] <= tail
    verdicts, caveats = [], list(finding.caveats)
    for verdict in finding.verdicts:
        if verdict.rule != rule:
            verdicts.append(verdict)
            continue
        details = verdict.details | values | ({} if stays else {"alone": str(verdict.outcome)})
        verdicts.append(replace(verdict, outcome=verdict.outcome if stays else Status.OK, details=details))
        if not stays:
            stated = {"outcome": str(verdict.outcome), "needed": tail} | values
            caveats.append(Caveat("degraded-alone", **stated).concerning(rule))
    finding = replace(finding, verdicts=tuple(verdicts), caveats=tuple(caveats), outcome=outcome_of(verdicts))
    if finding.outcome in (Status.DEGRADED, Status.IMPROVED):
        return finding
    return replace(  # nothing is left to be explained
        finding,
        metrics={name: value for name, value in finding.metrics.items() if not name.startswith("shift/")},
        tables={name: table for name, table in finding.tables.items() if name not in OF_A_CHANGE},
    )
