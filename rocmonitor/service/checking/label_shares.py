"""How many rows have a label when a window is judged, beside the reference, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from rocmonitor.config import Monitor
from rocmonitor.policy.arrival import ALIKE, needed_share
from rocmonitor.policy.windows import DAY, Window
from rocmonitor.sources import LabelCounts, SqlSource

WINDOWS_OF_CURVE = 6
"""The last windows of the reference that are counted at each age."""

Counted = tuple[Window, LabelCounts]


def label_shares(
    monitor: Monitor, source: SqlSource, last: Counted | None, reference: Sequence[Counted]
) -> list[str]:
    """The share of labelled rows in the last window and in the reference, and a conclusion.

    Parameters
    ----------
    monitor : Monitor
    source : SqlSource
        With ``columns.labelled_at`` the labels known at `window.label_delay` are counted, window by window.
    last : tuple of Window and LabelCounts, or None
        The last window that is old enough to be judged, with the labels that it has now.
    reference : sequence of tuple
        The same of the reference windows.
    """
    past = _share([counts for _, counts in reference])
    if past is None:
        return []
    if monitor.columns.labelled_at is not None:
        return _by_age(monitor, source, last, [window for window, _ in reference], past)
    now = None if last is None else _share([last[1]])
    if now is None:
        return [f"{past:.0%} of the reference's rows have a label"]
    both = f"{now:.0%} of the rows of the last window have a label, {past:.0%} of the reference's"
    needed = needed_share(monitor.window.min_labelled, past, dated=False)
    way_out = (
        "judge later (window.label_delay), or say when labels became known (columns.labelled_at), so that "
        "windows are estimated and compared with the reference at the same label age"
    )
    if now < needed:
        return [f"{both}; {needed:.0%} are needed, so such a window is insufficient: {way_out}"]
    if abs(now - past) > ALIKE:
        return [f"{both}: where labels come first to some scores, their AUROCs are not alike; {way_out}"]
    return [f"{both}: they can be compared as they are"]


def _by_age(
    monitor: Monitor, source: SqlSource, last: Counted | None, windows: Sequence[Window], past: float
) -> list[str]:
    then = [share for window in windows if (share := _share_when_due(monitor, source, window)) is not None]
    low, high = min(then), max(then)
    shares = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
    lines = [
        f"when due, {shares} of the rows of a reference window had a label, {past:.0%} in the end",
        _curve(monitor, source, windows[-WINDOWS_OF_CURVE:]),
    ]
    if sum(then) / len(then) > past - 0.005:
        return [*lines, "so labels are complete when a window is due, and windows are judged by them"]
    lines.append(
        "so a window is estimated when due, and compared with what reference windows showed at that label age"
    )
    if last is None:
        return lines
    now = _share_when_due(monitor, source, last[0])
    if now is None:
        return lines
    lines.append(f"the last window: {now:.0%} when due")
    if not low - ALIKE <= now <= high + ALIKE:
        lines[-1] += (
            ", unlike any reference window: the rules are insufficient until its labels are in; choose a "
            "reference in which labels came as they do now"
        )
    return lines


def _curve(monitor: Monitor, source: SqlSource, windows: Sequence[Window]) -> str:
    """The share of labelled rows at some ages, in the last windows of the reference."""
    said = []
    for age in monitor.labels.shown_ages:
        found = [source.label_counts(monitor, window, as_of=window.end + age) for window in windows]
        said.append(f"{_share(found) or 0:.0%} after {age / DAY:.3g} days")
    return f"labels by age, in its last {len(windows)} windows: {', '.join(said)}"


def _share_when_due(monitor: Monitor, source: SqlSource, window: Window) -> float | None:
    return _share([source.label_counts(monitor, window, as_of=monitor.labels.due_at(window))])


def _share(counts: Sequence[LabelCounts]) -> float | None:
    rows = sum(each.rows for each in counts)
    return sum(each.labelled for each in counts) / rows if rows else None
