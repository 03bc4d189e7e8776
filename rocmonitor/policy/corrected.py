"""The effect of corrected data of an old window on the chart's findings in later windows.

Every evaluation keeps where its charts stood. Where the numbers of the windows before it have changed since,
the chart is computed again from them, without reading any rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Literal

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Verdict
from rocmonitor.policy.judge import outcome_of
from rocmonitor.policy.lasting import LONGEST, Course, numbers_of
from rocmonitor.policy.record import OF_A_CHANGE
from rocmonitor.policy.windows import Window
from rocmonitor.rules.lasting import lasting_metrics, lasting_verdict
from rocmonitor.stats import LastingChart, WindowAuc

Finding = Literal["withdrawn", "raised", "confirmed"]

_SAME = 1e-9  # a chart read back and computed again
_MOVED = 0.05  # of its limit: by how much a chart must have moved to change the size of an alarm


@dataclass(frozen=True, slots=True)
class Corrected:
    """A window of which a chart now says something else."""

    window: Window
    finding: Finding


def outdated(points: Sequence[Point], rule: str, chart: LastingChart, *, after: datetime) -> list[Corrected]:
    """Return the windows of which a chart says something else than was stored; oldest first.

    Parameters
    ----------
    points : sequence of Point
        Windows judged so far (newest revisions), oldest first.
    rule : str
        Its name. A window judged by another chart (its limit differs) is left alone.
    chart : LastingChart
    after : datetime
        End of the reference period.

    Notes
    -----
    An alarm that is withdrawn or raised counts. One that stays does when the new change lies outside of the
    interval that was stored: what that window said is wrong then. That is looked at for the newest window,
    and for others where the chart moved by more than a twentieth of its limit. All other windows keep what
    they said, although their chart has moved: their finding is the same, and each late label would make a
    revision of dozens of windows. Cost: O(windows), and that of `LastingChart.apply` for each alarm whose
    chart moved.
    """
    found: list[Corrected] = []
    recent = [point for point in points if point.window.start >= after][-LONGEST:]
    newest = recent[-1].window if recent else None
    for _, one in groupby(recent, key=lambda point: point.champion_version):
        reign = list(one)
        numbers = _numbers(reign)
        followed = chart.follow([numbers.get(point.window) for point in reign])
        for place, point in enumerate(reign):
            stored, limit, margin = (
                point.metrics.get(f"{rule}/{of}") for of in ("statistic", "limit", "margin")
            )
            if stored is None or margin is None or limit != chart.limit or numbers[point.window] is None:
                continue  # judged by no chart, or by another one
            moved = abs(stored - float(followed.statistic[place]))
            mended = point.window == newest and any(each.at > point.at for each in reign[:place])
            if moved <= _SAME and not mended:
                continue
            was, now = margin < 0, bool(followed.alarm[place])
            if was != now:
                found.append(Corrected(point.window, "raised" if now else "withdrawn"))
            elif now and (mended or moved > _MOVED * chart.limit):
                change = chart.apply([numbers.get(each.window) for each in reign[: place + 1]]).change
                ends = (point.metrics.get(f"{rule}/change_{end}") for end in ("low", "high"))
                if change is not None and not _within(change, *ends):
                    found.append(Corrected(point.window, "confirmed"))
    return found


def judged_again(
    old: Evaluation,
    rule: str,
    chart: LastingChart,
    now: WindowAuc,
    past: Course,
    *,
    finding: Finding,
    corrected: Sequence[str],
) -> Evaluation:
    """Return an evaluation with what a chart says now; its other fields are for the caller.

    Parameters
    ----------
    old : Evaluation
    rule : str
    chart : LastingChart
    now : WindowAuc
        Of its window.
    past : Course
        That leads to its window.
    finding : str
        What became of its alarm.
    corrected : sequence of str
        Starts of the windows whose data were corrected.
    """
    verdict = lasting_verdict(rule, chart, now, past)
    verdicts = tuple(_exchanged(each, verdict) if each.rule == rule else each for each in old.verdicts)
    outcome = outcome_of(verdicts)
    changed = outcome in (Status.DEGRADED, Status.IMPROVED)
    kept = {
        name: value
        for name, value in old.metrics.items()
        if name.split("/")[0] != rule and (changed or not name.startswith("shift/"))
    }
    why = Caveat("chart-corrected", rule=rule, finding=finding, windows=list(corrected))
    return replace(
        old,
        outcome=outcome,
        verdicts=verdicts,
        metrics=kept | lasting_metrics([verdict]) | {f"{rule}/margin": float(verdict.margin or 0.0)},
        tables={name: table for name, table in old.tables.items() if changed or name not in OF_A_CHANGE},
        caveats=(why, *(each for each in old.caveats if _holds(each, changed))),
    )


def _numbers(reign: Sequence[Point]) -> dict[Window, WindowAuc | None]:
    return {point.window: numbers_of(point) for point in reign}


def _exchanged(old: Verdict, new: Verdict) -> Verdict:
    """With what the old one says of labels that were missing."""
    early = {k: v for k, v in old.details.items() if k.startswith("label")}
    return replace(new, details=new.details | early)


def _holds(known: Caveat, changed: bool) -> bool:
    """Return True if a caveat is about something that the new evaluation has."""
    return known.code != "chart-corrected" and (changed or known.about[:1] != ("explanation",))


def _within(value: float, low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= value <= high
