"""The state of one monitor during a tick: what the store has of it, and what the tick has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import TrackingError
from rocmonitor.policy.budget import Levels
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.status import Said, SegmentState, usual_run
from rocmonitor.policy.windows import Window
from rocmonitor.service import references
from rocmonitor.service.leases import renew_lease
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick.courses import Courses
from rocmonitor.service.versions import Role, version

Judged = Mapping[tuple[str, Window], store.Evaluated]
"""The newest evaluation of each segment and window."""


@dataclass(kw_only=True)
class TickState:
    """The state of one monitor during one tick; the store is read when something of it is asked for."""

    runtime: Runtime
    monitor: Monitor
    now: datetime
    lease: store.Lease
    dry_run: bool = False
    backfill: bool = False
    """The windows were chosen by a person."""
    again: bool = False
    """True if windows whose rows or settings have changed are judged again, though their labels have not."""
    ranges: dict[str, NormalRanges] | None = None
    """The ranges of each segment's reference, at the levels of the tick; None before a window needs them."""
    levels: Levels = field(default_factory=lambda: Levels(rules={}))
    segments: set[str] = field(default_factory=lambda: {""})
    """Segments that were ever judged or foreseen."""
    _states: dict[str, SegmentState] = field(default_factory=dict)
    _versions: dict[Role, tuple[str | None, tuple[Caveat, ...]]] = field(default_factory=dict)
    _summaries: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)

    @cached_property
    def _episodes(self) -> dict[str, list[Decline]]:
        episodes: dict[str, list[Decline]] = {}
        for decline in store.declines(self.runtime.store, self.monitor.name):
            episodes.setdefault(decline.segment, []).append(decline)
        return episodes

    def episode(self, segment: str) -> Decline | None:
        """Return the open episode of a segment, if there is one."""
        last = next(reversed(self._episodes.get(segment, ())), None)
        return last if last is not None and last.is_open else None

    def episode_ends(self, segment: str) -> list[datetime]:
        """Return when episodes of a segment ended because the model ranks as before."""
        episodes = self._episodes.get(segment, ())
        return [
            episode.end for episode in episodes if episode.ended_with is not None and episode.end is not None
        ]

    def put_episodes(self, segment: str, episodes: Sequence[Decline]) -> None:
        """Remember what a window made of the episodes of a segment."""
        kept = self._episodes.setdefault(segment, [])
        for episode in episodes:
            kept[:] = [other for other in kept if other.alarm.start != episode.alarm.start]
            kept.append(episode)

    def beat(self) -> None:
        """Show that the work goes on: the lease is renewed."""
        self.lease = renew_lease(self.runtime, self.lease)

    @cached_property
    def judged(self) -> Judged:
        """The windows that were judged before; `forget_judged` has them read anew."""
        return store.evaluated(self.runtime.store, self.monitor.name)

    @cached_property
    def last_judged(self) -> Window | None:
        """The newest window that was judged before."""
        return max((window for _, window in self.judged), default=None)

    def forget_judged(self) -> None:
        """Read what was judged once more: windows have become other revisions."""
        self.__dict__.pop("judged", None)
        self.__dict__.pop("last_judged", None)

    def newest(self, window: Window) -> store.Evaluated | None:
        """Return what is stored of all rows of a window, with the newest revision of any segment."""
        evaluated = self.judged.get(("", window))
        if evaluated is None:
            return None
        segments = [key for segment in self.segments if (key := (segment, window)) in self.judged]
        return replace(evaluated, revision=max(self.judged[key].revision for key in segments))

    @cached_property
    def foreseen(self) -> dict[tuple[str, Window], dict[str, float]]:
        """The metrics of the outlooks of windows that are not judged, by segment and window."""
        kept = self.runtime.store
        return store.outlooks_pending(kept, self.monitor.name) if self.monitor.outlook else {}

    @cached_property
    def courses(self) -> Courses:
        """The windows before the one that is judged."""
        return Courses(self.runtime.store, self.monitor, dry_run=self.dry_run)

    @cached_property
    def _muted(self) -> bool:
        return store.attention(self.runtime.store, self.monitor.name).is_muted(self.now)

    def of(self, segment: str) -> SegmentState:
        """Return the status of a segment, and what people know of it."""
        if segment not in self._states:
            kept, name = self.runtime.store, self.monitor.name
            warnings = store.pending_warnings(kept, name, segment)
            outcomes = store.outcomes(kept, name, segment)
            self._states[segment] = SegmentState(
                name,
                segment,
                self.monitor.alarm.policy(),
                outcomes=outcomes,
                # After a change of the calendar some windows are never judged.
                warnings={window: rules for window, rules in warnings.items() if self.monitor.judges(window)},
                said=self._said.get(segment),
                muted=self._muted,
                patience=self._patience(segment, outcomes[-1][0] if outcomes else None),
                ends=[
                    episode.ended_with for episode in self._episodes.get(segment, ()) if episode.ended_with
                ],
            )
        return self._states[segment]

    def _patience(self, segment: str, newest: Window | None) -> int | None:
        """Return how many windows in a row may be too small; a segment that never had enough is no news.

        Where no window is judged the reference is the one that the newest judged window was compared with.
        """
        windows: Sequence[Mapping[str, Any]] = ()
        if self.ranges is not None:
            ranges = self.ranges.get(segment)
            windows = () if ranges is None else ranges.reference.windows
        elif newest is not None:
            last = store.evaluations(
                self.runtime.store, self.monitor.name, segment=segment, start=newest.start, end=newest.end
            )
            windows = last[-1].reference.get("windows", ()) if last else ()
        longest = usual_run(windows, self.monitor.min_per_class)
        return 0 if longest is None and not segment else longest

    @cached_property
    def _said(self) -> dict[str, Said]:
        return store.last_said(self.runtime.store, self.monitor.name)

    def statuses(self) -> dict[str, Status]:
        """Return the status of each segment after the last change."""
        statuses = {segment: self._said.get(segment, Said()).status for segment in sorted(self.segments)}
        return statuses | {
            segment: state.status for segment, state in self._states.items() if segment in statuses
        }

    def forget_changes(self) -> None:
        """Read the statuses once more: what the tick changed was not saved."""
        self._states.clear()
        self.__dict__.pop("_episodes", None)
        self.__dict__.pop("_said", None)

    def messages(self, **payload: object) -> list[store.Outgoing]:
        """Return one outbox row for each channel."""
        return store.to_channels(self.monitor.notify, payload)

    def versions(self, before: store.Evaluated | None) -> tuple[str | None, str | None, tuple[Caveat, ...]]:
        """Champion and challenger, and what is doubtful about them; a revision keeps the first ones."""
        if before is not None:  # its rows were scored by earlier versions
            return before.champion_version, before.challenger_version, ()
        (champion, doubt), (challenger, other) = self.version("champion"), self.version("challenger")
        return champion, challenger, (*doubt, *other)

    def version(self, role: Role) -> tuple[str | None, tuple[Caveat, ...]]:
        """Return the model version behind a role, looked up once a tick, and what is doubtful about it."""
        if role not in self._versions:
            try:
                self._versions[role] = version(self.runtime, self.monitor, role, keep=not self.dry_run)
            except TrackingError as error:
                if role == "champion":
                    raise
                # The champion is watched whatever becomes of the challenger.
                self._versions[role] = None, (Caveat("version-unknown", why=str(error)),)
        return self._versions[role]

    @cached_property
    def settings_digest(self) -> str:
        """The name of the settings by which this tick judges."""
        return references.settings_digest(self.monitor)

    @cached_property
    def absent(self) -> NormalRanges:
        """The ranges of a segment without a reference: none."""
        if self.monitor.reference_windows:
            return NormalRanges.of(Reference(auc=None))
        period = self.monitor.reference_period.in_zone(self.monitor.timezone)
        why = Caveat("no-reference-window", period=period, every=written(self.monitor.window.every))
        return NormalRanges.of(Reference(auc=None, caveats=(why,)))

    def summary(self, segment: str) -> tuple[dict[str, Any], str]:
        """Return the reference of a segment as its evaluations keep it, and its digest: one for all."""
        if segment not in self._summaries:
            ranges = (self.ranges or {}).get(segment) or self.absent
            content = references.summary(self.monitor, ranges.reference)
            self._summaries[segment] = content, store.reference_digest(content)
        return self._summaries[segment]
