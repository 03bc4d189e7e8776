"""A monitor's windows over a period as one HTML file: what happened, why, and what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.errors import escape_controls
from rocmonitor.policy.evaluation import Evaluation, Point, Status, Transition
from rocmonitor.policy.explanation import explanation_of
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.stops import AtAge
from rocmonitor.policy.windows import Window
from rocmonitor.report import chart, curves, shift
from rocmonitor.report.chart import Mark
from rocmonitor.report.html import environment
from rocmonitor.report.points import operating_points
from rocmonitor.report.review.tables import NOTHING, Shown, number
from rocmonitor.report.timeline import MARKERS
from rocmonitor.report.waterfall import waterfall
from rocmonitor.wording import page as words
from rocmonitor.wording import report as wording
from rocmonitor.wording.explanation import main_group, spread
from rocmonitor.wording.format import CUT, forecast_span, instant, percent, set_aside, span
from rocmonitor.wording.outlook import expected
from rocmonitor.wording.stops import LABELS, by_age
from rocmonitor.wording.verdicts import by_rule, reasons
from rocmonitor.wording.window import curve_moved, foretold, moved, moved_most

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The content of a report on one monitor and segment.

    Attributes
    ----------
    monitor, segment : str
    period : Window
        Of the windows shown.
    evaluations : tuple of Evaluation
        The newest revision of each window, oldest first; at least one.
    ahead : tuple of Outlook
        Of the windows after them, which have no labels yet, oldest first.
    waiting : frozenset of Window
        Judged windows whose labels may still come.
    changes : tuple of Transition
        Changes of status until the end of the period, oldest first; those that begin in it are shown.
    curves : dict of str to list of dict
        ROC curves of the references, by their digest, as from `rocmonitor.policy.reference.reference_curve`.
    zone : ZoneInfo
        Of all dates.
    floor : float or None
        A line of the chart.
    owner, runbook : str or None
    labels_by_age : sequence of AtAge
        How many rows have a label at some ages; empty for a segment.
    """

    monitor: str
    segment: str = ""
    period: Window
    evaluations: tuple[Evaluation, ...]
    ahead: tuple[Outlook, ...] = ()
    waiting: frozenset[Window] = frozenset()
    changes: tuple[Transition, ...] = ()
    curves: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    zone: ZoneInfo
    floor: float | None = None
    owner: str | None = None
    runbook: str | None = None
    labels_by_age: Sequence[AtAge] = ()

    @property
    def status(self) -> Status:
        """At the end of the period."""
        return self.changes[-1].after if self.changes else self.evaluations[-1].status

    @property
    def measured(self) -> Evaluation:
        """The newest window with an AUROC; the newest of all where none has one."""
        found = (each for each in reversed(self.evaluations) if "champion/auc" in each.metrics)
        return next(found, self.evaluations[-1])


def sentence(history: History) -> str:
    """Return the first sentence, as on the page."""
    since = instant(history.changes[-1].since, history.zone) if history.changes else None
    measured = history.measured
    return words.monitor_sentence(measured.metrics, measured.window, history.zone, str(history.status), since)


def page(history: History, *, made: datetime) -> str:
    """Return the report as one HTML file that needs no network and no script.

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
    evaluations, zone, measured = history.evaluations, history.zone, history.measured
    last, worst = evaluations[-1], min(evaluations, key=_badness)
    chosen = [("last", "Last window", last)]
    if worst is not last:
        chosen.append(("worst", "Worst window", worst))
    marks = _marks(history)
    return escape_controls(
        environment()
        .get_template("monitor.html.j2")
        .render(
            words=words,
            name=", ".join(filter(None, [history.monitor, history.segment])),
            model=last.model,
            version=last.champion_version,
            period=history.period.in_zone(zone),
            zone=str(zone),
            made=instant(made, zone),
            status=history.status,
            sentence=sentence(history),
            ahead=words.ahead_sentence([_ahead(each, zone) for each in history.ahead]),
            advice=words.advice(history.status),
            moved=main_group(explanation_of(measured))
            or moved_most(measured)
            or foretold(measured.metrics)
            or wording.foreseen_line(measured),
            owner=history.owner,
            runbook=history.runbook,
            numbers=wording.numbers(evaluations),
            charts={size: _chart(history, marks, narrow=size == "narrow") for size in ("wide", "narrow")},
            legend=_legend(history),
            chart=_caption(history, marks),
            changes=_dated(marks, zone),
            chosen=[_chosen(*each, history) for each in chosen],
            table=_table(history),
            labels=Shown(caption=LABELS, columns=by_age(history.labels_by_age, zone)),
            facts=list(_facts(last)),
            query=str(last.provenance.get("query") or ""),
            command=_command(history),
        )
    )


def _dated(marks: Sequence[tuple[Mark, Transition | None]], zone: ZoneInfo) -> list[tuple[Mark, str]]:
    """Return each mark with when it was noticed."""
    return [
        (mark, wording.dated(mark.at, zone) if change is None else wording.noticed(change, zone))
        for mark, change in marks
    ]


def _badness(evaluation: Evaluation) -> float:
    """Return how far the AUROC lies inside its forecast: the least is the worst; without one, the AUROC
    itself.
    """
    metrics = evaluation.metrics
    return metrics.get("forecast/margin", metrics.get("champion/auc", 1.0))


def _marks(history: History) -> list[tuple[Mark, Transition | None]]:
    """Alarms, recoveries and new champions that begin in the period, oldest first."""
    zone, found = history.zone, list[tuple[Mark, Transition | None]]()
    for change in history.changes:
        if change.since >= history.period.start:
            text = words.changed(change.after, instant(change.since, zone), reasons(change.reasons))
            found.append((Mark(at=change.since, kind=str(change.after), text=text), change))
    for before, after in pairwise(history.evaluations):
        if before.champion_version != after.champion_version:
            text = words.champion_changed(before.champion_version, after.champion_version)
            found.append((Mark(at=after.window.start, kind="version", text=text), None))
    return sorted(found, key=lambda each: each[0].at)


def _chart(history: History, marks: Sequence[tuple[Mark, Any]], *, narrow: bool) -> str:
    judged = {each.window: each.outcome for each in history.evaluations}
    return chart.drawing(
        [
            Point(window=each.window, revision=each.revision, at=each.at, metrics=each.metrics)
            for each in history.evaluations
        ],
        label=wording.chart_label(history.evaluations),
        narrow=narrow,
        outcomes=judged | {each.window: each.outcome for each in history.ahead if each.outcome is not None},
        zone=history.zone,
        floor=history.floor,
        ahead=[
            Point(window=each.window, revision=0, at=each.at, metrics=each.metrics) for each in history.ahead
        ],
        waiting=history.waiting,
        marks=[mark for mark, _ in marks],
        reference=_reference(history),
    )


def _reference(history: History) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = history.evaluations[-1].reference.get("windows", ())
    return found


def _foreseen(history: History) -> bool:
    """Return True if any judged window has an outlook."""
    return any("outlook/auc" in each.metrics for each in history.evaluations)


def _legend(history: History) -> list[tuple[str, str]]:
    """Statuses first, then shades and marks that the chart has."""
    shown = {str(each.outcome) for each in history.evaluations}
    needed = {
        "band": any("forecast/low" in each.metrics for each in history.evaluations),
        "rule": any("reference/auc" in each.metrics for each in history.evaluations),
        "square": _foreseen(history),
        "hollow": any("outlook/auc" in each.metrics for each in history.ahead),
    }
    statuses = [(status, words.status_word(status)) for status in MARKERS if status in shown]
    return statuses + [(shape, text) for shape, text in wording.LEGEND.items() if needed[shape]]


def _caption(history: History, marks: Sequence[Any]) -> str:
    return wording.chart_caption(
        marks=bool(marks),
        revised=any(each.revision for each in history.evaluations),
        outlooks=_foreseen(history) or bool(history.ahead),
        reference=any(row.get("auc") is not None for row in _reference(history)),
    )


def _ahead(outlook: Outlook, zone: ZoneInfo) -> dict[str, Any]:
    numbers = {name: outlook.metrics.get(f"outlook/{name}") for name in ("auc", "low", "high")}
    return numbers | {"name": outlook.window.in_zone(zone), "outcome": outlook.outcome}


def _chosen(anchor: str, title: str, evaluation: Evaluation, history: History) -> dict[str, Any]:
    """Return a window in full."""
    counts, revision, zone = evaluation.counts, evaluation.revision, history.zone
    before = history.curves.get(str(evaluation.reference.get("digest")), ())
    tables, groups = operating_points(evaluation), explanation_of(evaluation)
    return {
        "anchor": anchor,
        "title": title,
        "window": evaluation.window.in_zone(zone) + (f", revision {revision}" if revision else ""),
        "outcome": evaluation.outcome,
        "verdicts": by_rule(sorted(evaluation.verdicts, key=lambda each: each.outcome is Status.OK)),
        "moved": moved(evaluation),
        "group_moved": main_group(groups) or spread(groups),
        "waterfall": waterfall(groups),
        "curve_moved": curve_moved(evaluation),
        "shift": shift.drawing(evaluation, f"shift-{anchor}") if evaluation.tables.get("shift") else "",
        "roc": curves.drawing(evaluation, before, f"roc-{anchor}"),
        "roc_caption": wording.curve_caption(tables),
        "curves": _curves(evaluation, bool(before)),
        "tables": tables,
        "rows": (
            f"{counts.rows:,} rows, {counts.used:,} used: {counts.n_pos:,} positive, "
            f"{counts.n_neg:,} negative"
            f"{f'; set aside: {aside}' if (aside := set_aside(counts)) else ''}"
            f"{CUT if counts.truncated else ''}."
        ),
        "caveats": [str(caveat) for caveat in evaluation.caveats],
    }


def _curves(evaluation: Evaluation, before: bool) -> list[tuple[str, str]]:
    """Return what the lines of the ROC curve are."""
    found = [("champion", f"champion {evaluation.champion_version}")]
    found += [("before", "reference")] if before else []
    if any(row.get("model") == "challenger" for row in evaluation.tables.get("roc", ())):
        found.append(("challenger", f"challenger {evaluation.challenger_version}"))
    return found


def _table(history: History) -> Shown:
    """Return all windows, newest first; above them those that have no labels yet."""
    zone = history.zone
    newest, ahead = list(reversed(history.evaluations)), list(reversed(history.ahead))
    nothing = [NOTHING] * len(ahead)
    outcomes = [str(each.outcome or "waiting") for each in ahead] + [str(each.outcome) for each in newest]
    columns = {
        "window": [
            *(each.window.in_zone(zone) for each in ahead),
            *(each.window.in_zone(zone) + (f" r{each.revision}" if each.revision else "") for each in newest),
        ],
        "outcome": [words.status_word(each) for each in outcomes],
        "AUROC": [*nothing, *(number(each.metrics.get("champion/auc")) for each in newest)],
        "95 % interval": [*nothing, *(_span(each.metrics, "champion/auc_", span) for each in newest)],
        "normal range": [_span(each.metrics, "forecast/", forecast_span) for each in (*ahead, *newest)],
        "outlook": [expected(each.metrics) or NOTHING for each in (*ahead, *newest)],
        "positives": [*nothing, *(f"{each.counts.n_pos:,}" for each in newest)],
        "negatives": [*nothing, *(f"{each.counts.n_neg:,}" for each in newest)],
        "labelled": [*nothing, *(percent(each.counts.labelled_share) for each in newest)],
        "status after it": [*nothing, *(words.status_word(each.status) for each in newest)],
    }
    if set(columns["outlook"]) == {NOTHING}:
        del columns["outlook"]
    return Shown(caption="All windows of the period, newest first.", columns=columns)


def _span(metrics: Mapping[str, float], prefix: str, words: Any) -> str:
    low, high = metrics.get(f"{prefix}low"), metrics.get(f"{prefix}high")
    return NOTHING if low is None or high is None else str(words(low, high))


def _facts(evaluation: Evaluation) -> Iterator[Fact]:
    """Yield what the last window rests on."""
    reference, provenance = evaluation.reference, evaluation.provenance
    if reference.get("start"):
        ends = (datetime.fromisoformat(reference[end]) for end in ("start", "end"))
        yield "reference", Window(*ends).in_zone(evaluation.zone)
    if reference.get("digest"):
        yield "reference digest", str(reference["digest"])
    if evaluation.challenger_version:
        yield "challenger", f"version {evaluation.challenger_version}"
    read_as = ("source", "columns", "positive", "grouped", "condense", "guaranteed_error", "data_digest")
    for name in (*read_as, "rocmonitor", "numpy", "scipy"):
        value = provenance.get(name)
        if value not in (None, "", {}):
            if isinstance(value, Mapping):
                value = ", ".join(f"{key} = {each}" for key, each in value.items())
            yield name.replace("_", " "), str(value)


def _command(history: History) -> str:
    """Return the shell command that writes the same report."""
    parts = ["rocmonitor", "report", history.monitor]
    for option, moment in (("--from", history.period.start), ("--to", history.period.end)):
        local = moment.astimezone(history.zone)
        parts += [option, f"{local:%Y-%m-%d}" if local.time() == time() else local.isoformat()]
    parts += ["--segment", history.segment] if history.segment else []
    return shlex.join([*parts, "--output", "report.html"])
