"""The check of a monitor's periods: against the clock, the labels, and each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError, DegenerateDataError, RocmonitorError
from rocmonitor.policy.measure import too_coarse
from rocmonitor.policy.windows import Window
from rocmonitor.service.checking.words import Doubt
from rocmonitor.service.pieces import FEW, with_rows
from rocmonitor.sources import Batch
from rocmonitor.stats import condensed_error
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import instant


def first_due(monitor: Monitor, ended: Sequence[Window]) -> str:
    """When the first window can be judged, for a monitor that has none yet."""
    zone = monitor.timezone
    first = ended[0] if ended else monitor.calendar.following(monitor.start)
    return (
        f"none can be judged yet: the first window ends {instant(first.end, zone)}"
        f"{'' if monitor.joining is None else ' at the earliest'} and can be judged from "
        f"{instant(monitor.labels.due_at(first), zone)}"
    )


def newest_with_rows(
    monitor: Monitor, due: Sequence[Window], count_rows: Callable[[Window], int]
) -> tuple[Window, Sequence[str]]:
    """Return the window to look at, and that the stream has ended: where so many are empty that few are
    judged.
    """
    if count_rows(due[-1]):
        return due[-1], []
    last = with_rows(due, count_rows)[-1]
    empty = len(due) - 1 - due.index(last)
    if empty <= FEW:  # that is news
        return due[-1], []
    return last, [
        Doubt(
            f"no rows since {instant(last.end, monitor.timezone)}: of the {empty:,} windows after that {FEW} "
            "are judged, and the others once rows come again; where no more will come, end the watch "
            f"(window.end: {last.end.astimezone(monitor.timezone):%Y-%m-%d})"
        )
    ]


def impossible(monitor: Monitor, now: datetime) -> Iterator[ConfigError]:
    """Yield a reference that has not ended, or labels that would come later than all data are old."""
    zone, period = monitor.timezone, monitor.reference_period
    where = f"monitors.{monitor.name}"
    if period.end > now:
        when = "has not begun" if period.start > now else "has not ended"
        yield ConfigError(
            f"{where}.reference {when}: {period.in_zone(zone)}, and it is {instant(now, zone)} now; choose a "
            "period in the past whose labels are known (reference.from, reference.to)"
        )
    elif monitor.window.label_delay > now - period.start:
        yield ConfigError(
            f"{where}.window.label_delay ({written(monitor.window.label_delay)}) is longer than the data: "
            f"the reference began {(now - period.start).days} days ago; give the time that a label takes, "
            "such as 30d"
        )


def left_out(monitor: Monitor, windows: Sequence[Window], now: datetime) -> Iterator[tuple[Window, str]]:
    """Periods around the reference that belong to no window: where they are, and how to close the gap.

    `windows` are those of the reference.
    """
    period = monitor.reference_period
    if not windows:
        return
    zone = monitor.timezone
    align = (
        f"; with window.align: {instant(period.end, zone)} windows start where the reference ends"
        if windows[-1].end < period.end
        else ""
    )
    if period.start < windows[0].start:
        begin = f"; reference.from: {instant(windows[0].start, zone)} leaves them out on purpose"
        yield (
            Window(period.start, windows[0].start),
            f"before the reference's first whole window{align or begin}",
        )
    first = min(monitor.calendar.following(monitor.start).start, now)
    if windows[-1].end < first:
        where = "between the reference's last whole window and the first one that is judged"
        yield Window(windows[-1].end, first), f"{where}{align}"


def read_as(monitor: Monitor, batch: Batch) -> Iterator[str | RocmonitorError]:
    """Lines on groups or cells, and a problem where cells are too coarse to judge a window by them."""
    if not batch.condensed:
        if batch.grouped:
            yield "read as groups of equal rows, counted in the database"
        return
    settings, sample = monitor.condense, batch.segments[""].champion
    error = condensed_error(sample)
    yield (
        f"read as {len(sample.score):,} cells of neighbouring scores ({settings.grid}), counted in the "
        f"database: the AUROC is off by at most {error.auc:.2g}, its standard error by {error.se:.2g}"
    )
    for name, rows in batch.segments.items():
        is_measurable = min(rows.champion.n_pos, rows.champion.n_neg) > 0
        if is_measurable and (coarse := too_coarse(rows.champion, settings.max_error)) is not None:
            yield DegenerateDataError(f"{name or 'all rows'}: {words_of(coarse)}")


_MOST_UNREADABLE = 0.01  # of the cells of a column in one file


def unreadable(monitor: Monitor, caveats: Iterable[Caveat]) -> Iterator[Doubt]:
    """Yield a doubt for each column of which more than 1 % of the cells of one file cannot be read."""
    for caveat in caveats:
        if caveat.code != "cells-unreadable" or not caveat.values.get("file"):
            continue
        column, file, kind = (caveat.values[name] for name in ("column", "file", "kind"))
        unread, cells = caveat.values["in_file"]
        if unread <= _MOST_UNREADABLE * cells:
            continue
        key = f"sources.{monitor.source}"
        lost, way_out = "they count as missing", f"see {key}.decimal"
        if kind == "times":
            lost = "their rows are in no window"
            way_out = f"set {key}.date_format to the way they are written, such as '%d.%m.%Y'"
        yield Doubt(
            f"{unread:,} of {cells:,} {kind} in {file} cannot be read (column {column}, such as "
            f"{caveat.values['examples'][0]}), and {lost}: {way_out}, or correct the file"
        )
