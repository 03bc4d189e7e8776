"""A monitor's windows over a period as one HTML file: what happened, why, and what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition
from rocmonitor.policy.windows import Window
from rocmonitor.report import shift, timeline
from rocmonitor.report.html import environment
from rocmonitor.report.review.tables import NOTHING, Shown, number, share
from rocmonitor.wording import report as wording
from rocmonitor.wording.counts import CUT, set_aside
from rocmonitor.wording.format import forecast_span, instant, span
from rocmonitor.wording.shift import foretold
from rocmonitor.wording.verdicts import by_rule, reasons
from rocmonitor.wording.window import moved, moved_most

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a report shows of one monitor and segment.

    Attributes
    ----------
    monitor, segment : str
    period : Window
        Of the windows shown.
    evaluations : tuple of Evaluation
        The newest revision of each window, oldest first; at least one.
    changes : tuple of Transition
        Changes of status that begin in the period, oldest first.
    zone : ZoneInfo
        Of all dates.
    floor : float or None
        A line of the chart.
    owner, runbook : str or None
    """

    monitor: str
    segment: str = ""
    period: Window
    evaluations: tuple[Evaluation, ...]
    changes: tuple[Transition, ...] = ()
    zone: ZoneInfo
    floor: float | None = None
    owner: str | None = None
    runbook: str | None = None


def page(history: History, *, made: datetime) -> str:
    """The report as one HTML file that needs no network and no script.

    Parameters
    ----------
    history : History
    made : datetime
        When the report was written.

    Returns
    -------
    str
        UTF-8 is declared. Equal arguments give equal text. It reads on a telephone, on a screen, in the dark,
        and printed on A4.

    Notes
    -----
    All text of the rows is escaped. A few seconds, almost all of them for the figures.
    """
    evaluations, zone = history.evaluations, history.zone
    last, worst = evaluations[-1], min(evaluations, key=_badness)
    chosen = [("last", "Last window", last)]
    if worst is not last:
        chosen.append(("worst", "Worst window", worst))
    return (
        environment()
        .get_template("monitor.html.j2")
        .render(
            name=", ".join(filter(None, [history.monitor, history.segment])),
            model=last.model,
            version=last.champion_version,
            period=history.period.in_zone(zone),
            zone=str(zone),
            made=instant(made, zone),
            status=last.status,
            standing=wording.standing(last.status, history.changes, zone),
            sentence=wording.sentence(last),
            foreseen=foretold(last.metrics) or wording.foreseen_line(last),
            moved=moved_most(last),
            owner=history.owner,
            runbook=history.runbook,
            numbers=wording.numbers(evaluations),
            charts={size: _chart(history, narrow=size == "narrow") for size in ("wide", "narrow")},
            outcomes=[status for status in timeline.MARKERS if status in {*map(_outcome, evaluations)}],
            legend=wording.LEGEND,
            chart=wording.CHART,
            changes=[_change(change, zone) for change in reversed(history.changes)],
            chosen=[_chosen(*each, zone) for each in chosen],
            table=_table(evaluations, zone),
            facts=list(_facts(last)),
            query=str(last.provenance.get("query") or ""),
            command=_command(history),
        )
    )


def _outcome(evaluation: Evaluation) -> str:
    return str(evaluation.outcome)


def _badness(evaluation: Evaluation) -> float:
    """How far the AUROC lies inside its forecast: the least is the worst; without one, the AUROC itself."""
    metrics = evaluation.metrics
    return metrics.get("forecast/margin", metrics.get("champion/auc", 1.0))


def _chart(history: History, *, narrow: bool) -> str:
    return timeline.drawing(
        [
            Point(window=each.window, revision=each.revision, at=each.at, metrics=each.metrics)
            for each in history.evaluations
        ],
        label=wording.chart_label(history.evaluations),
        narrow=narrow,
        outcomes={each.window: each.outcome for each in history.evaluations},
        zone=history.zone,
        floor=history.floor,
        changes=history.changes,
        reference=history.evaluations[-1].reference.get("windows", ()),
    )


def _change(change: Transition, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "status": change.after,
        "line": wording.change_line(change, zone),
        "noticed": wording.noticed(change, zone),
        "why": reasons(change.reasons),
    }


def _chosen(anchor: str, title: str, evaluation: Evaluation, zone: ZoneInfo) -> dict[str, Any]:
    """A window in full."""
    counts, revision = evaluation.counts, evaluation.revision
    return {
        "anchor": anchor,
        "title": title,
        "window": evaluation.window.in_zone(zone) + (f", revision {revision}" if revision else ""),
        "outcome": evaluation.outcome,
        "verdicts": by_rule(sorted(evaluation.verdicts, key=lambda each: each.outcome is Status.OK)),
        "moved": moved(evaluation),
        "shift": shift.drawing(evaluation, f"shift-{anchor}") if evaluation.tables.get("shift") else "",
        "rows": (
            f"{counts.rows:,} rows, {counts.used:,} used: {counts.n_pos:,} positive, "
            f"{counts.n_neg:,} negative"
            f"{f'; set aside: {aside}' if (aside := set_aside(counts)) else ''}"
            f"{CUT if counts.truncated else ''}."
        ),
        "caveats": [str(caveat) for caveat in evaluation.caveats],
    }


def _table(evaluations: Sequence[Evaluation], zone: ZoneInfo) -> Shown:
    """All windows, newest first."""
    newest = list(reversed(evaluations))
    columns = {
        "window": [
            each.window.in_zone(zone) + (f" r{each.revision}" if each.revision else "") for each in newest
        ],
        "outcome": [str(each.outcome) for each in newest],
        "AUROC": [number(each.metrics.get("champion/auc")) for each in newest],
        "95 % interval": [_span(each.metrics, "champion/auc_", span) for each in newest],
        "normally": [_span(each.metrics, "forecast/", forecast_span) for each in newest],
        "positives": [f"{each.counts.n_pos:,}" for each in newest],
        "negatives": [f"{each.counts.n_neg:,}" for each in newest],
        "labelled": [share(each.counts.labelled_share) for each in newest],
        "status after it": [str(each.status) for each in newest],
    }
    return Shown(caption="All windows of the period, newest first.", columns=columns)


def _span(metrics: Mapping[str, float], prefix: str, words: Any) -> str:
    low, high = metrics.get(f"{prefix}low"), metrics.get(f"{prefix}high")
    return NOTHING if low is None or high is None else str(words(low, high))


def _facts(evaluation: Evaluation) -> Iterator[Fact]:
    """What the last window rests on."""
    reference, provenance = evaluation.reference, evaluation.provenance
    if reference.get("start"):
        ends = (datetime.fromisoformat(reference[end]) for end in ("start", "end"))
        yield "reference", Window(*ends).in_zone(evaluation.zone)
    if reference.get("digest"):
        yield "reference digest", str(reference["digest"])
    if evaluation.challenger_version:
        yield "challenger", f"version {evaluation.challenger_version}"
    for name in ("source", "columns", "positive", "grouped", "data_digest", "rocmonitor", "numpy", "scipy"):
        value = provenance.get(name)
        if value not in (None, "", {}):
            if isinstance(value, Mapping):
                value = ", ".join(f"{key} = {each}" for key, each in value.items())
            yield name.replace("_", " "), str(value)


def _command(history: History) -> str:
    """The shell command that writes the same report."""
    parts = ["rocmonitor", "report", history.monitor]
    for option, moment in (("--from", history.period.start), ("--to", history.period.end)):
        local = moment.astimezone(history.zone)
        parts += [option, f"{local:%Y-%m-%d}" if local.time() == time() else local.isoformat()]
    parts += ["--segment", history.segment] if history.segment else []
    return shlex.join([*parts, "--output", "report.html"])
