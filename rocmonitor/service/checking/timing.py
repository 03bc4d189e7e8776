"""Whether a monitor's periods fit together: with the clock, with the labels, and with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import ConfigError
from rocmonitor.policy.windows import Window
from rocmonitor.service.empty import FEW, with_rows
from rocmonitor.wording.format import instant


def first_due(monitor: Monitor, ended: Sequence[Window]) -> str:
    """When the first window can be judged, for a monitor that has none yet."""
    zone = monitor.timezone
    first = ended[0] if ended else monitor.calendar.following(monitor.start)
    return (
        f"none can be judged yet: the first window ends {instant(first.end, zone)}"
        f"{_at_the_earliest(monitor)} and can be judged from {instant(monitor.labels.due_at(first), zone)}"
    )


def _at_the_earliest(monitor: Monitor) -> str:
    return "" if monitor.joining is None else " at the earliest"


def newest_with_rows(
    monitor: Monitor, due: Sequence[Window], count_rows: Callable[[Window], int]
) -> tuple[Window, list[str]]:
    """The window to look at, and that the stream has ended: where so many are empty that few are judged."""
    if count_rows(due[-1]):
        return due[-1], []
    last = with_rows(due, count_rows)[-1]
    empty = len(due) - 1 - due.index(last)
    if empty <= FEW:  # that is news
        return due[-1], []
    return last, [
        f"no rows since {instant(last.end, monitor.timezone)}: of the {empty:,} windows after that {FEW} are "
        "judged, and the others once rows come again"
    ]


def impossible(monitor: Monitor, now: datetime) -> Iterator[ConfigError]:
    """A reference that has not ended, or labels that would come later than all data are old."""
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
