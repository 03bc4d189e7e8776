"""Episodes: the periods in which something is wrong, from their start to their end.

A decline, in which a model ranks worse than in the reference, begins with an alarm, gathers the windows since
its estimated start, and ends on evidence only. That no rule finds a loss in the newest window does not show
that the loss is over. What stops arriving is in `rocmonitor.policy.stops`, what fails in
`rocmonitor.policy.outages`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self
from zoneinfo import ZoneInfo

from rocmonitor.conventions import NORMAL_95
from rocmonitor.policy.evaluation import IN_DOUBT, Evaluation, Point, Status, Verdict, known
from rocmonitor.policy.explanation import Explanation
from rocmonitor.policy.record import Row, Stored, plain
from rocmonitor.policy.status import SegmentState
from rocmonitor.policy.windows import Window
from rocmonitor.rules import kind_of

if TYPE_CHECKING:
    from rocmonitor.stats.recovery import Change

CHANGE = ("change/auc", "change/error", "change/reference_error")
"""Metrics of a window: its AUROC less that of the reference windows, and the errors of both."""

CHALLENGER = ("challenger/auc", "difference/auc", "difference/auc_low", "difference/auc_high")
"""Metrics of a window: the challenger's AUROC, and that less the champion's, with its interval."""

UPDATE_EVERY = timedelta(days=7)
"""No two messages about one episode are closer, but for its first and its last."""

RECOVERED, VERSION, CLOSED, REMOVED = "recovered", "another version", "closed", "not watched any more"
ANOTHER = "another loss began later"
"""Why an episode ended."""

OF_EPISODE = (IN_DOUBT, "recovered")
"""Codes of the caveats that say how an episode stands after a window."""

_OF_AUC = frozenset({"forecast", "drop", "floor", "lasting"})
_YEAR = timedelta(days=365)
_MOST_GROUPS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Stored):
    """A period in which something is wrong; `monitor` and `segment` are empty where it is about several.

    Its kind is ``performance`` of a `Decline`; ``outlook`` of a `Warned`; ``rows``, ``labels``, ``usable``,
    ``judged`` or ``watch`` of a `Stop`; ``source``, ``mlflow``, ``channel``, ``store``, ``executor`` or
    ``monitor`` of an `Outage`.
    """

    kind: str
    monitor: str = ""
    segment: str = ""
    start: datetime
    first_message: datetime | None = None
    last_message: datetime | None = None
    told_to: tuple[str, ...] = ()  # the channels that got the last message
    end: datetime | None = None  # start of the first window after it, or when it works again; None while open
    end_why: str | None = None

    @property
    def is_open(self) -> bool:
        """True until the end is shown."""
        return self.end is None

    def told(self, at: datetime, channels: Iterable[str]) -> Self:
        """Return the episode after a message about it."""
        first = self.first_message or at
        return replace(self, first_message=first, last_message=at, told_to=tuple(channels))

    def closed(self, at: datetime, why: str) -> Self:
        """Return the episode with its end."""
        return replace(self, end=at, end_why=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline(Episode):
    """The period in which a model ranks worse than in the reference; of one monitor and segment.

    The interval of the start (95 %) is the one that a rule ``lasting`` shows, else the alarm's window. `auc`
    is the weighted mean of the windows since the start, up to the presumed end, and `size` the same less the
    reference's mean: negative is a loss; both are None without a reference to compare with. `still` is the
    change in the windows since the presumed end; None while the alarm holds.
    """

    kind: str = "performance"
    alarm: Window  # the window that raised the alarm
    champion_version: str
    rules: tuple[str, ...] = ()  # all that found the loss
    start_low: datetime
    start_high: datetime
    from_first: bool = False  # True if `start` is the first judged window: it may have begun before
    windows: int = 1
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    size: float | None = None
    size_low: float | None = None
    size_high: float | None = None
    still: float | None = None
    still_low: float | None = None
    still_high: float | None = None
    challenger: Mapping[str, float] | None = None  # in these windows: auc, difference, low, high
    groups: tuple[Row, ...] = ()  # that made the change of the pooled rows, the clearest first
    told_size: float | None = None  # that were told last
    told_groups: tuple[str, ...] = ()
    ended_with: Window | None = None  # the window that showed the end

    @property
    def is_uncertain(self) -> bool:
        """True while no rule finds the loss any more, and the windows do not show that it is over."""
        return self.is_open and self.still is not None

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of its newest window: ``episode/windows``, and with intervals ``/size`` and ``/still``."""
        names = ("windows", "size", "size_low", "size_high", "still", "still_low", "still_high")
        values = {name: getattr(self, name) for name in names}
        return {f"episode/{name}": float(value) for name, value in values.items() if value is not None}

    def told(self, at: datetime, channels: Iterable[str]) -> Decline:
        """Return the episode after a message about it."""
        episode = Episode.told(self, at, channels)
        return replace(episode, told_size=self.size, told_groups=self.group_names)

    def facts(self) -> dict[str, Any]:
        """Return what the provenance of its newest window says of it: its start, its rules and its groups."""
        return {"start": plain(self.start), "rules": list(self.rules), "groups": list(self.group_names)}

    def explained(self, explanation: Explanation | None) -> Decline:
        """Return the episode with the groups that made the change of its rows; the same without any."""
        if explanation is None:
            return self
        parts = [part for part in explanation.parts if part.is_found and part.stands_out(explanation.change)]
        parts.sort(key=lambda part: (part is not explanation.leading, -abs(part.part)))
        return replace(self, groups=tuple(part.to_row() for part in parts[:_MOST_GROUPS]))

    @property
    def group_names(self) -> tuple[str, ...]:
        """The groups behind it, as ``COLUMN = GROUP``."""
        return tuple(f"{group['column']} = {group['group']}" for group in self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Episode):
    """The period in which scores warn of a loss before the labels; of one monitor and segment.

    `end_why` is the status after it: what the labels say of the warning.
    """

    kind: str = "outlook"
    rules: tuple[str, ...] = ()


def in_doubt(status: str, newest: Decline | None) -> str:
    """Return a status as people see it: at risk while a loss may go on that no rule finds any more."""
    uncertain = newest is not None and newest.is_uncertain
    return "at-risk" if uncertain and status in ("ok", "improved") else status


def followed(
    episode: Decline, evaluation: Evaluation, points: Sequence[Point], status: Status, zone: ZoneInfo
) -> Decline:
    """Return an open episode after one more window, which may end it.

    `points` are the windows since the last episode, up to the newest one, oldest first, and `status` what
    they amount to by counting. An alarm of a rule of the AUROC ends when the windows show it
    (`rocmonitor.stats.recovery.recovery`), also where the chart of a rule ``lasting`` alone remembers the
    loss. Alarms of other rules (cost, calibration, challenger), and those whose reference shows no scatter,
    end by counting.
    """
    from rocmonitor.stats.recovery import recovery  # slow to import: status and history read episodes

    window, version = evaluation.window, evaluation.champion_version
    if version != episode.champion_version:
        return episode.closed(window.start, VERSION)
    if status is Status.INSUFFICIENT:
        return episode
    finding = {verdict.kind for verdict in evaluation.verdicts if verdict.outcome is Status.DEGRADED}
    holds = status is Status.DEGRADED
    if holds:
        episode = _with_rules(episode, evaluation.verdicts, zone)
    used, changes = _changes(points, version)
    alarm = next((at for at, point in enumerate(used) if point.window == episode.alarm), None)
    if alarm is None or _OF_AUC.isdisjoint(map(kind_of, episode.rules)):
        if not holds:
            return replace(episode, end=window.start, end_why=RECOVERED, ended_with=window)
        return replace(episode, windows=sum(point.window.start >= episode.start for point in points))
    recovered = None
    if not holds or finding <= {"lasting"}:
        recovered = recovery(changes, alarm, per_year=_YEAR / (window.end - window.start))
    over = recovered is not None and (recovered.shown or not holds)
    end = used[recovered.since].window.start if over and recovered is not None else None
    first = next((at for at, point in enumerate(used) if point.window.start >= episode.start), alarm)
    last = len(used) if end is None or recovered is None else max(recovered.since, first + 1)
    pooled = _pooled(episode, used[first:last], changes[first:last])
    if not over or recovered is None:
        return replace(pooled, still=None, still_low=None, still_high=None)
    pooled = replace(pooled, still=recovered.change, still_low=recovered.low, still_high=recovered.high)
    return replace(pooled, end=end, end_why=RECOVERED, ended_with=window) if recovered.shown else pooled


def episodes_after(
    before: Decline | None,
    state: SegmentState,
    evaluation: Evaluation,
    points: Callable[[], Sequence[Point]],
    zone: ZoneInfo,
) -> list[Decline]:
    """Return the episodes that a window begins, changes or ends, and begin the count anew where one ended.

    `before` is the open one, `state` counts the window, and `points` returns the windows since the last
    episode, up to this one.
    """
    status, episodes = state.after(), list[Decline]()
    if before is not None and state.newest == evaluation.window:
        episodes = [followed(before, evaluation, points(), status, zone)]
        if episodes[0].ended_with is not None:
            state.end(evaluation.window)
        elif episodes[0].is_open and _begins_another(before, evaluation, points(), zone):
            # The windows since its alarm are of another loss.
            own = [point for point in points() if before.start <= point.window.start < before.alarm.end]
            ended = replace(before, still=None, still_low=None, still_high=None, groups=())
            used, changes = _changes(own, before.champion_version)
            ended = _pooled(ended, used, changes) if used else ended
            episodes[0] = ended.closed(before.alarm.end, ANOTHER)
    is_new = before is None or (bool(episodes) and episodes[0].end_why in (VERSION, ANOTHER))
    if is_new and status is Status.DEGRADED:
        window, since = evaluation.window, state.since(status, evaluation.window)
        new = Decline(
            monitor=evaluation.monitor,
            segment=evaluation.segment,
            alarm=window,
            champion_version=evaluation.champion_version,
            start=since,
            start_low=since,
            start_high=window.end,
        )
        episodes.append(followed(new, evaluation, points(), status, zone))
    first = state.first
    return [replace(one, from_first=first is not None and one.start <= first.start) for one in episodes]


def due_for_update(episode: Decline, at: datetime, *, again: bool) -> bool:
    """Return True if people are told of an open episode once more.

    A week after the last message at the earliest, if a loss is shown of which size or groups have clearly
    changed since then, or a rule finds it `again` after none did.
    """
    last, low, high = episode.last_message, episode.size_low, episode.size_high
    if last is None or at - last < UPDATE_EVERY:
        return False
    if again:
        return True
    if high is not None and high >= 0:  # no loss is shown
        return False
    if episode.groups and episode.group_names[0] not in episode.told_groups:
        return True
    if low is None or high is None or episode.told_size is None:
        return False
    return not low <= episode.told_size <= high


def weighted_mean(values: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """Return the mean of values by the inverse of their variances, and its standard error."""
    weights = [1 / error**2 for error in errors]
    return fmean(values, weights), 1 / math.sqrt(sum(weights))


def _with_rules(episode: Decline, verdicts: Sequence[Verdict], zone: ZoneInfo) -> Decline:
    """Return the episode with the rules that find the loss, and the start that one of them estimates."""
    names = [verdict.rule for verdict in verdicts if verdict.outcome is Status.DEGRADED]
    rules = tuple(dict.fromkeys([*episode.rules, *names]))
    start = _start(verdicts, zone)
    if start is None:
        return replace(episode, rules=rules)
    # It began with its alarm at the latest, also where a chart sees a further fall.
    latest = (episode.alarm.start, episode.alarm.start, episode.alarm.end)
    first, low, high = map(min, start, latest)
    return replace(episode, rules=rules, start=first, start_low=low, start_high=high)


def _begins_another(
    episode: Decline, evaluation: Evaluation, points: Sequence[Point], zone: ZoneInfo
) -> bool:
    """Return True if a chart dates a loss after the alarm, and the windows between show none.

    Then the alarm was of its own, be it a false one: with it the loss would be dated too early, and pooled
    with windows in which nothing was lost.
    """
    start = _start(evaluation.verdicts, zone)
    if start is None:
        return False
    used, changes = _changes(points, episode.champion_version)
    between = [
        change
        for point, change in zip(used, changes, strict=True)
        if episode.alarm.end <= point.window.start < start[1]
    ]
    if not between:
        return False
    size, error = weighted_mean([change.value for change in between], [change.error for change in between])
    return size + NORMAL_95 * math.hypot(error, between[-1].reference_error) >= 0


def _start(verdicts: Sequence[Verdict], zone: ZoneInfo) -> tuple[datetime, datetime, datetime] | None:
    for verdict in verdicts:
        if verdict.kind == "lasting" and verdict.outcome is Status.DEGRADED and "since" in verdict.details:
            first, low, high = (
                datetime.fromisoformat(verdict.details[name]).replace(tzinfo=zone)
                for name in ("since", "since_first", "since_last")
            )
            return first, low, high
    return None


def _changes(points: Sequence[Point], version: str) -> tuple[list[Point], list[Change]]:
    """Return the windows of one champion that were judged and can be compared with the reference."""
    from rocmonitor.stats.recovery import Change

    used, changes = list[Point](), list[Change]()
    for point in points:
        values = known(point.metrics, "champion/auc", *CHANGE)
        judged = point.outcome is not Status.INSUFFICIENT
        if values is not None and judged and point.champion_version == version:
            used.append(point)
            changes.append(Change(*values[1:]))
    return used, changes


def _pooled(episode: Decline, points: Sequence[Point], changes: Sequence[Change]) -> Decline:
    """Return the episode with the means of its windows, weighted by how well each is known."""
    errors = [change.error for change in changes]
    auc, error = weighted_mean([point.metrics["champion/auc"] for point in points], errors)
    size, _ = weighted_mean([change.value for change in changes], errors)
    sampling = NORMAL_95 * error
    reach = NORMAL_95 * math.hypot(error, changes[-1].reference_error)
    challenger = None  # in the same windows, unless it was not compared in any
    compared = [values for point in points if (values := known(point.metrics, *CHALLENGER)) is not None]
    errors = [(high - low) / (2 * NORMAL_95) for _, _, low, high in compared]
    if compared and min(errors) > 0:
        own, _ = weighted_mean([row[0] for row in compared], errors)
        difference, error = weighted_mean([row[1] for row in compared], errors)
        low, high = difference - NORMAL_95 * error, difference + NORMAL_95 * error
        challenger = {"auc": own, "difference": difference, "low": low, "high": high}
    return replace(
        episode,
        windows=len(points),
        auc=auc,
        auc_low=max(auc - sampling, 0.0),
        auc_high=min(auc + sampling, 1.0),
        size=size,
        size_low=size - reach,
        size_high=size + reach,
        challenger=challenger,
    )
