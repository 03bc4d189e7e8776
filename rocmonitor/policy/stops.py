"""Rows and labels that stop arriving: how many a window should have by its age, and whether it has too few.

What is expected comes from the reference windows and, by age, from windows that earlier ticks counted. When a
window comes like n others, it is below all of them with probability 1 / (n + 1) at most. Rows or labels have
stopped when it has less than half of the lowest: that is rarer still.

Rows that cannot be used (a score, a label or a time that is none, or an id that comes again) seldom fail at
random, so what is left of a window with many of them is not the window: an alarm likewise.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.episode import Decline, Episode, in_doubt
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.windows import DAY, Window

if TYPE_CHECKING:
    from rocmonitor.policy.reference import Reference

Kind = Literal["rows", "labels", "usable", "judged", "watch"]
"""Rows, their labels, rows that can be used, windows that are judged, or the watch itself."""

CountedKind = Literal["rows", "labels"]
"""The kinds that a count by age shows; that rows can be used shows only when a window is read."""

ARRIVES = "arrives again"
"""Why a stop ended."""

FEWEST_WINDOWS = 8
"""With fewer nothing is expected."""

FEWEST_LABELS = 20
"""Labels that the lowest share means for a window: with fewer half of them may be missing by chance."""

SHORT = 0.5
"""Less than this part of the lowest is a stop."""

WEEK = 7 * DAY
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The rows that a tick counted of a window."""

    window: Window
    at: datetime
    rows: int
    labelled: int

    @property
    def age(self) -> timedelta:
        """From the end of the window."""
        return self.at - self.window.end

    @property
    def share(self) -> float | None:
        """The share of rows that have a label; None without rows."""
        return self.labelled / self.rows if self.rows else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The number of rows, or the share of labelled rows, that windows like this one had at its age."""

    lowest: float
    mean: float
    highest: float
    n_windows: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Expected | None:
        """None of too few windows."""
        if len(values) < FEWEST_WINDOWS:
            return None
        return cls(lowest=min(values), mean=fmean(values), highest=max(values), n_windows=len(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Episode):
    """Rows, labels or usable rows that stopped arriving, or do so again; of one monitor."""

    window: Window  # the newest that was looked at; `start` is that of the first that has too few
    rows: int = 0  # of that window
    labelled: int = 0
    lowest: float = 0.0  # rows, or the share of labelled or usable rows, that windows like it had at least
    n_windows: int = 0  # how many these are; 0 where too few are known, for usable rows only
    unusable: Mapping[str, int] = field(default_factory=dict)  # rows of that window, by name in `Counts`


@dataclass(frozen=True, slots=True, kw_only=True)
class AtAge:
    """The number of rows with a label at an age."""

    age: timedelta  # from the end of the window
    expected: Expected | None  # shares of earlier windows; None where too few are known
    latest: Arrived | None  # the newest window that is so old, as it was then


class Arrival:
    """The expectation for the windows of a monitor.

    `reference` is that of all rows, in plain JSON types; None where none is frozen. `counted` is by earlier
    ticks, oldest first. Windows shorter than a week are compared with those at the same time of the week in
    `zone`, where they are enough.
    """

    def __init__(
        self,
        reference: Mapping[str, Any] | None,
        counted: Sequence[Arrived],
        *,
        label_delay: timedelta,
        zone: ZoneInfo,
    ) -> None:
        frozen = reference or {}
        self._windows = [
            (Window.from_dict(window), window["n_pos"] + window["n_neg"], window.get("unlabelled"))
            for window in frozen.get("pieces") or frozen.get("windows", ())
        ]
        self._final_shares = [  # of labelled rows, whenever they were counted
            labelled / (labelled + waiting)
            for _, labelled, waiting in self._windows
            if waiting is not None and labelled + waiting
        ]
        by_age = []
        # Labels by the age of a long window say nothing of the pieces that it was joined from.
        if frozen.get("labels") and not frozen.get("pieces"):
            # Slow to import: only a tick comes here.
            from rocmonitor.stats.forecast.label_history import LabelHistory

            by_age = LabelHistory.from_dict(frozen["labels"]).window_shares()
        self._ages, self._shares = [age for age, _ in by_age], [shares for _, shares in by_age]
        self._delay, self._zone = label_delay, zone
        self._counted_until = max((arrived.at for arrived in counted), default=_NEVER)
        self._counted: dict[Window, list[Arrived]] = {}
        for arrived in counted:
            self._counted.setdefault(arrived.window, []).append(arrived)

    def rows(self, window: Window, age: timedelta) -> Expected | None:
        """Rows of windows like this one at this age."""
        alike = [(other, labelled + (waiting or 0)) for other, labelled, waiting in self._windows]
        length, comparable = window.end - window.start, {other for other, _ in alike}
        if length < WEEK:
            zone, time_of_week = self._zone, "%w %H:%M"
            now = f"{window.start.astimezone(zone):{time_of_week}}"
            same = {other for other in comparable if f"{other.start.astimezone(zone):{time_of_week}}" == now}
            comparable = same if len(same) >= FEWEST_WINDOWS else comparable
        counts = [rows * (length / (other.end - other.start)) for other, rows in alike if other in comparable]
        expected = Expected.of(counts)
        if expected is None:
            return None
        seen = [
            float(arrived.rows)
            for arrived in self._at(window, age)
            if self._counted[arrived.window][-1].rows >= SHORT * expected.lowest
        ]
        # The last rows of a window may come late, as they did before.
        return Expected.of([*counts, *seen]) if len(seen) >= FEWEST_WINDOWS else expected

    def labels(self, window: Window, age: timedelta) -> Expected | None:
        """Shares of labelled rows of windows like this one at this age, or those that `label_delay` promises.

        Without enough windows that were counted at an age from `label_delay` on, the final shares of the
        reference windows stand for it.
        """
        observed = self.observed_labels(window, age)
        if self._ages or observed is not None or age < self._delay:
            return observed
        return Expected.of(self._final_shares)

    def observed_labels(self, window: Window, age: timedelta) -> Expected | None:
        """Shares of labelled rows of windows like this one that were counted at this age; None of too few."""
        if self._ages:
            place = bisect_right(self._ages, age) - 1
            return None if place < 0 else Expected.of(self._shares[place])
        lowest = SHORT * min(self._final_shares, default=0.0)
        seen = [
            arrived.share
            for arrived in self._at(window, age)
            if arrived.share is not None and (self._counted[arrived.window][-1].share or 0.0) >= lowest
        ]
        return Expected.of(seen)

    def by_age(self, ages: Sequence[timedelta]) -> list[AtAge]:
        """Return how many rows have a label at some ages, as far as that was observed of any window."""
        after_all = max([*self._counted, *(window for window, *_ in self._windows)], default=None)
        if after_all is None:
            return []
        later = Window(after_all.end, after_all.end + (after_all.end - after_all.start))
        rows = []
        for age in ages:
            expected = self.observed_labels(later, age)
            latest = max(self._at(later, age), key=lambda arrived: arrived.window, default=None)
            if expected is not None or latest is not None:
                rows.append(AtAge(age=age, expected=expected, latest=latest))
        return rows

    def is_short(self, kind: CountedKind, arrived: Arrived) -> bool | None:
        """Return whether a window has too few; None where that cannot be said."""
        expected = self.expected(kind, arrived)
        if expected is None or expected.lowest <= 0:
            return None
        if kind == "rows":
            return arrived.rows < SHORT * expected.lowest
        if arrived.share is None or arrived.rows * expected.lowest < FEWEST_LABELS:
            return None
        return arrived.share < SHORT * expected.lowest

    def expected(self, kind: CountedKind, arrived: Arrived) -> Expected | None:
        """Return what to expect of a window as it was counted."""
        return (self.rows if kind == "rows" else self.labels)(arrived.window, arrived.age)

    def _at(self, window: Window, age: timedelta) -> list[Arrived]:
        """Earlier windows that have reached an age, as they were then; only changes are counted anew."""
        counted = []
        for other, counts in self._counted.items():
            before = [arrived for arrived in counts if arrived.age <= age]
            if other < window and before and other.end + age <= self._counted_until:
                counted.append(before[-1])
        return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A status as people see it."""

    status: str
    since: datetime | None  # from when it holds; None where it never changed
    stops: list[Stop]  # what stopped arriving, and the lapse where nothing else explains it
    lapse: Stop | None = None  # nothing was judged for too long, or the watch has ended

    @property
    def not_judged_since(self) -> datetime | None:
        """When a window should have been judged, and none has been since; None while they are."""
        return self.lapse.start if self.lapse and self.lapse.kind == "judged" else None

    @property
    def watched_until(self) -> datetime | None:
        """When the watch ended; None while it goes on."""
        return self.lapse.start if self.lapse and self.lapse.kind == "watch" else None


def as_shown(
    status: str,
    since: datetime | None,
    stops: Sequence[Stop],
    seen: Stop | None,
    episode: Decline | None = None,
) -> Shown:
    """Return a status as people see it: ok expires when nothing has been judged for too long, and is at risk
    while a loss may go on that no rule finds any more.

    `status` and `since` are as the last window left them, `stops` what has stopped arriving, as it was told,
    `seen` is the lapse as it is now, and `episode` the newest one.
    """
    status = in_doubt(status, episode)
    of_loss = ("degraded", "at-risk") if episode and episode.is_uncertain else ("degraded",)
    if episode and episode.is_open and status in of_loss:
        since = episode.start
    others = [other for other in stops if other.kind not in ("judged", "watch")]
    if seen is None:
        return Shown(status=status, since=since, stops=others)
    if seen.kind == "judged" and status in ("ok", "improved", "at-risk"):
        status, since = "insufficient", seen.start
    explained = seen.kind == "judged" and any(other.kind == "rows" for other in others)
    return Shown(status=status, since=since, stops=others if explained else [*others, seen], lapse=seen)


def stop(
    monitor: str, kind: CountedKind, counted: Sequence[Arrived], arrival: Arrival
) -> Stop | Arrived | None:
    """Return what the newest window of which something can be said shows; `counted` has windows in any order.

    A stop; the window that shows that enough arrives; None when nothing can be said. One window decides, so
    that looking at many makes false alarms no more frequent.
    """
    newest_first = sorted(counted, key=lambda arrived: arrived.window, reverse=True)
    judged = [
        (arrived, is_short)
        for arrived in newest_first
        if (is_short := arrival.is_short(kind, arrived)) is not None
    ]
    if not judged:
        return None
    if not judged[0][1]:
        return judged[0][0]
    short = [arrived for arrived, _ in takewhile(lambda pair: pair[1], judged)]
    expected = arrival.expected(kind, short[0])
    assert expected is not None
    return Stop(
        monitor=monitor,
        kind=kind,
        start=short[-1].window.start,
        window=short[0].window,
        rows=short[0].rows,
        labelled=short[0].labelled,
        lowest=expected.lowest,
        n_windows=expected.n_windows,
    )


NOTICED = 0.05
"""Share of unusable rows that is an alarm, unless half as many are usual in the reference windows."""
MOST = 0.2
"""Share beyond which a window is not judged, under the same condition."""

_UNUSABLE = ("bad_score", "bad_label", "duplicates", "two_labels", "outside")


def unusable(reference: Reference, counts: Counts) -> Caveat | None:
    """Return what to say of unusable rows; None where they are few, or as many as in the reference.

    With `refused` in the caveat they are too many to judge the window by the rest. Reference windows count
    from 8 on: a share of up to twice their highest is usual.
    """
    shares = _usual(reference)
    usual = max(shares, default=None)
    least, share = 2 * (usual or 0.0), counts.unusable_share
    if share <= max(NOTICED, least):
        return None
    refused = share > max(MOST, least)
    return Caveat("rows-unusable", share=share, usual=usual, most=MOST, refused=refused, **asdict(counts))


def usable_stop(monitor: str, window: Window, counts: Counts, reference: Reference) -> tuple[Stop, bool]:
    """Return how many rows of a window can be used, as the stop that it may be, and True if it is one."""
    shares = _usual(reference)
    possible = Stop(
        monitor=monitor,
        kind="usable",
        start=window.start,
        window=window,
        rows=counts.rows,
        labelled=counts.used,
        lowest=1 - max(shares, default=0.0),
        n_windows=len(shares),
        unusable={name: getattr(counts, name) for name in _UNUSABLE},
    )
    return possible, unusable(reference, counts) is not None


def _usual(reference: Reference) -> list[float]:
    """Shares of unusable rows in the reference windows; empty where too few are known."""
    shares = [window["unusable"] for window in reference.windows if "unusable" in window]
    return shares if len(shares) >= FEWEST_WINDOWS else []
