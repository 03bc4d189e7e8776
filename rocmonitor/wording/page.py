"""Sentences of the page: the head line of the overview, what a monitor shows, ages, names of windows.

The report of a monitor is the same as a file and says the same, in the words of this module.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.evaluation import Chart
from rocmonitor.policy.windows import Window
from rocmonitor.wording.format import (
    AREA,
    are,
    auc_and_range,
    count,
    duration,
    instant,
    listed,
    with_interval,
)
from rocmonitor.wording.status import WORDS

WAITING = "not judged yet"
MARKS = {status: words.mark for status, words in WORDS.items()} | {"waiting": "·"}
"""Signs by status."""
WORST_FIRST = ("error", "degraded", "at-risk", "insufficient", "improved", "waiting", "ok")
"""Statuses, the worst first."""
ALL_ROWS = "all rows"
NOT_FOUND = (
    "There is no such page here. It may have been removed from the configuration; the overview has all "
    "monitors."
)
UNFORESEEN = "The log of `rocmonitor ui` says why. Nothing is lost."
NO_SEGMENT = "{} has no segment {!r}. Its page lists those it has."
NO_REVISION = "This window of {} has no revision {}."
WRONG_TIME = "{0}={1} is not a date or time; write it like {0}=2026-06-01."
WRONG_REVISION = "revision={} is not the number of a revision; write it like revision=0."
WRONG_ORDER = "from={} must come before to={}."
CHAMPION_CHANGED = "champion changed from version {} to {}"
REVISED = "late labels: revision {}"
CHANGES = {"degraded": "alarm", "at-risk": "at risk", "error": "error"}
"""The words beside the mark of a change of status in the chart; a recovery has none."""
CHART_LABEL = "AUROC over {}; the table below has the same numbers"
SHIFT_LABEL = "Shares of the {} by score, reference and now; the table below has them"
SHIFT_CAPTION = "{}: share in each bin of scores, low scores left; grey in the reference, line now."
SEGMENTS_LEAD = "Window {} ({}). All rows first, then the segments, the worst first."
NORMAL, MEAN_BAND = "normal range", "interval of the mean"
"""The names of the bands in charts."""
DECIDED_HERE = "the decision has stood since this window"

SPARK_WINDOWS = 26
"""Windows in the small chart of the overview."""
NO_SEGMENTS = (
    "This monitor has no segments; `segments:` in its configuration names columns to split the rows by."
)
NO_CURVE = "No curve: too few rows, or one score for all of them."
FIRST_WINDOW = "Once it has been judged, this page shows its AUROC over time and its normal range."
CHART_KEYS = "Chart. Left and right arrow keys go from window to window, Enter opens the one that is marked."
CHART_SHOWS = (
    "AUROC of each window with its 95 % interval, over its normal range (band); beyond 100 windows the mean "
    "of each week. A hollow point still waits for labels."
)
OUTLOOKS_SHOWN = (
    "The dashed end is the outlook of windows without labels, from their scores; small squares are the "
    "same for windows that were judged since."
)
CHART_CAPTION = f"{CHART_SHOWS} Drag to zoom, double-click for all; click a window to see why below."
ROWS = {
    "positives": "positives",
    "prevalence": "prevalence",
    "labelled_share": "labelled",
    "distance": "how far the scores have moved",
}
"""The names of the rows below the chart, by the name of their number."""

ROC_CAPTION = "True positive rate (up) against false positive rate (right), from 0 to 1, with 95 % intervals."
FPRS = "Positives found at a false positive rate"
THRESHOLDS = "Rates at fixed thresholds"
COSTS = "Normalised cost at each operating condition w"
SHARES = "Precision when a share of all rows is flagged"
CALIBRATION = "Calibration of the champion's probabilities"

_PLAIN = str.maketrans("▲◆●↑○✕·–—−…×⁺⁻²", "!?*+ox.---.x+-2")
_ATTENTION = ("degraded", "error")
_ONE = {
    "degraded": "needs attention",
    "error": "needs attention",
    "at-risk": "is at risk",
    "insufficient": "cannot be judged",
    "waiting": "has not been judged yet",
}
"""The overview's sentence about the only model, by its status."""
_DAY = timedelta(days=1)


def as_of(ended: Sequence[tuple[datetime | None, ZoneInfo]]) -> str:
    """Return the day on which the last monitor's watch ended; empty while one is watched."""
    over = [(end, zone) for end, zone in ended if end is not None]
    return instant(*max(over, key=lambda pair: pair[0])) if over and len(over) == len(ended) else ""


def headline(statuses: Mapping[str, int], last_tick: timedelta | None, over: str = "") -> list[str]:
    """Return the overview in a few sentences: what needs attention, what may soon, and when it was last
    looked at.

    `statuses` counts monitors; `last_tick` is None when no monitor was ever worked on; `over` says until when
    monitors were watched, where none is any more.

    Examples
    --------
    >>> headline({"degraded": 2, "at-risk": 1, "ok": 28}, timedelta(minutes=3))
    ['2 of 31 models need attention.', '1 is at risk.', 'Checked 3 minutes ago.']
    >>> headline({"ok": 2}, None)
    ['Both models are ok.', 'Not checked yet.']
    >>> headline({"ok": 1}, timedelta(minutes=3), "2013-12-30")
    ['As of 2013-12-30, when the watch ended:', 'The model is ok.']
    """
    total = sum(statuses.values())
    if total == 1:
        status = next(status for status, number in statuses.items() if number)
        sentences = [f"The model {_ONE.get(status, 'is ok')}."]
    else:
        urgent = sum(statuses.get(status, 0) for status in _ATTENTION)
        if not total:
            sentences = ["No model is watched."]
        elif urgent:
            sentences = [f"{urgent} of {total} models {'needs' if urgent == 1 else 'need'} attention."]
        elif sum(statuses.get(status, 0) for status in ("ok", "improved")) == total:
            sentences = ["Both models are ok." if total == 2 else f"All {total} models are ok."]
        elif total == 2:
            sentences = ["Neither model is degraded."]
        else:
            sentences = [f"None of the {total} models is degraded."]
        if risky := statuses.get("at-risk", 0):
            sentences.append(f"{risky} {are(risky)} at risk.")
        if lacking := statuses.get("insufficient", 0):
            sentences.append(f"{lacking} cannot be judged.")
        if waiting := statuses.get("waiting", 0):
            sentences.append(f"{waiting} {'has' if waiting == 1 else 'have'} not been judged yet.")
    if over:
        return [f"As of {over}, when the watch ended:", *sentences]
    sentences.append("Not checked yet." if last_tick is None else f"Checked {ago(last_tick)}.")
    return sentences


def monitor_sentence(
    metrics: Mapping[str, float], window: Window, zone: ZoneInfo, status: str, since: str | None
) -> str:
    """Return what the newest measured window shows beside its normal range, and since when the status holds.

    `since` is None where there was no change.
    """
    where = window_name(window, zone)
    state = f" {status_word(status).capitalize()} since {since}." if since else ""
    auc, _, _, low, high = numbers = [metrics.get(name) for name in AREA]
    if auc is None:
        return f"AUROC not measured {where}.{state}"
    value, range_ = auc_and_range(*numbers)
    if since and status == "degraded" and low is not None and low <= auc <= (1 if high is None else high):
        return f"AUROC {value} {where}, inside its normal range, {range_}. Still degraded, since {since}."
    return f"AUROC {value} {where}{range_ and f', normal range {range_}'}.{state}"


def not_judged(monitor: str, first_due: str | None = None, *, joined: bool = False) -> str:
    """Return what to do about a monitor without windows.

    `first_due` is None if that is past; the first window of a monitor that joins them may fall due later.

    Examples
    --------
    >>> not_judged("credit", "2030-01-16")
    'credit has not been judged yet: its first window is due by 2030-01-16.'
    """
    if first_due is None:
        return (
            f"{monitor} has not been judged yet. `rocmonitor run {monitor}` judges the windows that are due."
        )
    when = f"on {first_due} or later" if joined else f"by {first_due}"
    return f"{monitor} has not been judged yet: its first window is due {when}."


def no_window(monitor: str, window: str, *, in_period: bool = False) -> str:
    """Return the refusal of a window that is not there."""
    period = " in this period" if in_period else ""
    return (
        f"{monitor} has no judged window {window!r}{period}. Its page lists those it has; an address "
        "names a window by its start, such as window=2026-06-01 or window=2026-06-01T06:00."
    )


def not_allowed(method: str, allowed: Sequence[str]) -> str:
    """Return the refusal of a method.

    Examples
    --------
    >>> not_allowed("PUT", ["POST"])
    'This address does not take PUT, only POST: it belongs to a button on the page of a monitor.'
    """
    button = ": it belongs to a button on the page of a monitor" if "POST" in allowed else ""
    return f"This address does not take {method}, only {listed(allowed)}{button}."


def changed(after: str, when: str, reasons: Sequence[str]) -> str:
    """Return a change of status, as a mark in the chart."""
    return f"{status_word(after)} from {when}" + (f": {'; '.join(reasons)}" if reasons else "")


def ahead_sentence(outlooks: Sequence[Mapping[str, Any]], *, in_loss: bool = False) -> str:
    """Return what the scores say of the windows without labels; empty where there are none.

    in_loss: A loss is open, which an outlook without a warning does not show.
    """
    with_auc = [outlook for outlook in outlooks if outlook["auc"] is not None]
    if not with_auc:
        return ""
    last = with_auc[-1]
    text = (
        f"Before its labels, the outlook of the window {last['name']} is "
        f"{with_interval(last['auc'], last['low'], last['high'])} from its scores"
    )
    if last["outcome"] == "at-risk":
        return f"{text}, which is a warning."
    return f"{text}{', which do not show the open loss' if in_loss else ''}."


def spark_label(outcomes: Sequence[str]) -> str:
    """Return the small chart for those who do not see it; empty where no window is degraded."""
    degraded = sum(outcome == "degraded" for outcome in outcomes)
    return f"{degraded} of the last {count(len(outcomes), 'window')} degraded" if degraded else ""


def monitor_lead(
    model: str,
    version: str | None,
    zone: str,
    next_due: str | None,
    unjudged: str = "",
    foresees: bool = True,
    delay: str = "",
) -> str:
    """Return the model, the zone, and when and how windows are judged.

    Examples
    --------
    >>> monitor_lead("m", "7", "UTC", "2026-05-20", delay="59d")
    'Model m, version 7; times in UTC; a window is judged within 59d of its end, the next by 2026-05-20.'
    """
    parts = [f"Model {model}" + ("" if version is None else f", version {version}"), f"times in {zone}"]
    if delay:
        due = "" if next_due is None else f", the next by {next_due}"
        parts.append(f"a window is judged within {delay} of its end{due}")
    elif next_due is not None:
        parts.append(f"the next window is judged by {next_due}")
    if unjudged:
        parts.append(f"waiting: {unjudged}")
    if not foresees:
        parts.append("no outlook configured")
    return "; ".join(parts) + "."


def window_lead(version: str, challenger: str | None, revision: int, superseded: bool) -> str:
    """Whose window this is, and which state of its labels."""
    text = f"Champion version {version}"
    text += "" if challenger is None else f", challenger version {challenger}"
    text += f"; revision {revision}" if revision or superseded else ""
    return text + ("; late labels have replaced this revision." if superseded else ".")


def rows_line(counts: Mapping[str, int]) -> str:
    """Return how many rows were used."""
    return (
        f"{counts['n_pos']:,} positives and {counts['n_neg']:,} negatives of {count(counts['rows'], 'row')}."
    )


def margin_label(margin: float | None) -> str:
    """Return the bar of a verdict for those who do not see it."""
    if margin is None:
        return "estimate and limits"
    return f"{abs(margin):.3f} {'inside' if margin >= 0 else 'outside'} the limit"


def roc_label(metrics: Mapping[str, float]) -> str:
    """Return the curve for those who do not see it."""
    auc = metrics.get("champion/auc")
    return "ROC curve" if auc is None else f"ROC curve with an AUROC of {auc:.2f}; rates in the table below"


def forest_caption(low: float | None, high: float | None) -> str:
    """Return what the drawings of the segments show."""
    if low is None or high is None:
        return "No segment has an AUROC in this window."
    return (
        f"Drawn from {low:.2f} to {high:.2f}: AUROC with its interval, its normal range behind it, and a "
        "line where all rows are. Intervals hold for one segment each."
    )


def is_link(receipt: str) -> bool:
    """Return True if what MLflow answered can be opened."""
    return receipt.startswith(("http://", "https://"))


def place_in_mlflow(receipt: str) -> str:
    """Return where a run is that has no address here, without its number.

    Examples
    --------
    >>> place_in_mlflow("experiment rocmonitor/credit, run 716dea1dd8594ea69d0c5a082e699b67")
    'experiment rocmonitor/credit'
    """
    return receipt.partition(", run ")[0]


def status_word(status: str) -> str:
    """Return a status as people read it."""
    return {"at-risk": "at risk", "waiting": WAITING}.get(status, status)


def marked(status: str) -> str:
    """Return the sign of a status and its word."""
    return f"{MARKS[status]} {status_word(status)}"


def plain(text: str) -> str:
    """Return the text for a terminal that knows ASCII only: each sign as one that looks like it."""
    return text.translate(_PLAIN)


def window_name(window: Window, zone: ZoneInfo) -> str:
    """Return a window within a sentence: a day and a week by their first day."""
    start, length = window.start.astimezone(zone), window.end - window.start
    midnight = start.time() == datetime.min.time()
    day = f"{start.day} {start:%B %Y}"
    if midnight and abs(length - 7 * _DAY) <= _DAY / 12:
        return f"in the week of {day}"
    if midnight and abs(length - _DAY) <= _DAY / 12:
        return f"on {day}"
    return f"from {window.in_zone(zone)}"


NEAR = 0.5
"""Share of the way to its limit from which a chart is a sign of a drift."""


def signs(warned: int, outlooks: int, charts: Mapping[str, Chart]) -> str:
    """Return the signs of a drift; empty where there is none.

    Examples
    --------
    >>> signs(3, 8, {"lasting": Chart(0.7, 0.6)})
    '3 of the last 8 outlooks warned; lasting: 70 % of the way to an alarm, and growing'
    """
    parts = [_warned(warned, outlooks)] if warned > 1 or warned == outlooks > 0 else []
    for rule, chart in charts.items():
        if chart.share >= NEAR:
            way = ""
            if chart.before not in (None, chart.share):
                way = ", and growing" if chart.share > (chart.before or 0) else ", and shrinking"
            parts.append(f"{rule}: {min(round(100 * chart.share), 99)} % of the way to an alarm{way}")
    return "; ".join(parts)


def no_signs(warned: int, outlooks: int, charts: int) -> str:
    """Return the sentence of monitors without a sign; empty where nothing could give one.

    Examples
    --------
    >>> no_signs(1, 8, 0)
    'No early sign of a drift: 1 of the last 8 outlooks warned.'
    """
    parts = [_warned(warned, outlooks)] if outlooks else []
    parts += [f"no lasting change is {100 * NEAR:.0f} % of the way to an alarm"] if charts else []
    return f"No early sign of a drift: {', and '.join(parts)}." if parts else ""


def _warned(warned: int, outlooks: int) -> str:
    if outlooks == 1:
        return f"the only outlook {'warned' if warned else 'did not warn'}"
    return f"{warned or 'none'} of the last {outlooks:,} outlooks warned"


def ago(age: timedelta) -> str:
    """Return how long ago, in its largest unit."""
    return "just now" if age < timedelta(minutes=1) else f"{duration(age)} ago"


def failing(destination: str, error: str, waiting: int) -> str:
    """Return a destination that deliveries do not reach."""
    where = "MLflow" if destination == "mlflow" else destination.replace(":", " ", 1)
    text = error if error.startswith(where) else f"{where}: {error}"
    return f"{text} ({count(waiting, 'delivery', 'deliveries')} waiting in all)"


def segments_line(statuses: Mapping[str, int]) -> str:
    """Return how the segments of a monitor stand, worst first.

    Examples
    --------
    >>> segments_line({"ok": 3, "degraded": 1})
    '1 of 4 segments degraded'
    """
    total = sum(statuses.values())
    bad = [f"{number} {status_word(status)}" for status, number in statuses.items() if status != "ok"]
    if not bad:
        return f"{count(total, 'segment')} ok"
    first, *others = bad
    number, _, word = first.partition(" ")
    return ", ".join([f"{number} of {count(total, 'segment')} {word}", *others])


def provenance(
    entries: Mapping[str, Any], zone: ZoneInfo, *, omitted: Container[str]
) -> list[tuple[str, str]]:
    """Return where numbers come from, by name and in words; what is shown elsewhere is `omitted`."""
    return [
        (name.replace("_", " "), _in_words(value, zone))
        for name, value in entries.items()
        if name not in omitted and value not in (None, "", [], {})
    ]


def _in_words(value: Any, zone: ZoneInfo) -> str:
    if isinstance(value, Mapping) and any(isinstance(item, Mapping | list) for item in value.values()):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_in_words(item, zone)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_in_words(item, zone) for item in value)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        moment = None
    return str(value) if moment is None or moment.tzinfo is None else instant(moment, zone)
