"""Outlooks during one tick: which windows get one, what it says, and what follows from it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.service.standing import Standings

if TYPE_CHECKING:
    from rocmonitor.policy.judge import Finding
    from rocmonitor.service.judging import Seen


class Outlooks:
    """The outlooks of one monitor during one tick: those of windows that are not judged yet.

    Parameters
    ----------
    kept : Store
        Only read: once, and again for each window that is judged anew.
    monitor : Monitor
    now : datetime
    """

    def __init__(self, kept: store.Store, monitor: Monitor, now: datetime) -> None:
        self._store, self._monitor, self._now = kept, monitor, now
        self._made = store.outlooks_pending(kept, monitor.name) if monitor.outlook else {}

    @property
    def foreseen(self) -> frozenset[tuple[str, Window]]:
        """The segments and windows that have an outlook and are not judged."""
        return frozenset(self._made)

    @property
    def windows(self) -> set[Window]:
        """Those that have an outlook and are not judged."""
        return {window for segment, window in self._made if not segment}

    def due(self, window: Window) -> bool:
        """Whether the window ended long enough ago and has no outlook yet."""
        at = self._monitor.outlook_at(window)
        return at is not None and at <= self._now and ("", window) not in self._made

    def made(self, segment: str, window: Window, *, judged: bool = False) -> dict[str, float]:
        """The metrics of a window's outlook; empty without one. `judged`: by an earlier tick."""
        if judged and self._monitor.outlook:
            return store.outlook_metrics(self._store, self._monitor.name, segment, window)
        return self._made.get((segment, window), {})

    def forget(self, segment: str, window: Window) -> None:
        """The window is judged: its outlook is in the store, and in its evaluation."""
        self._made.pop((segment, window), None)

    def warned(self, segment: str, window: Window) -> bool:
        """Whether the window has an outlook that warned."""
        return bool(self.made(segment, window).get("outlook/warned"))

    def make(
        self,
        window: Window,
        segment: str,
        seen: Seen,
        *,
        version: str,
        provenance: dict[str, Any],
        doubts: tuple[Caveat, ...],
        made_at: datetime,
    ) -> Outlook | None:
        """The outlook of a window and segment.

        None when it has one already, when the monitor wants none, and while too few rows are in: then the
        next tick tries again, but for a segment alone only the tick that judges the window.
        """
        monitor, at = self._monitor, self._monitor.outlook_at(window)
        if at is None or (segment, window) in self._made:
            return None
        found = seen.foreseen
        if found is None or _awaits_rows(found):
            return None
        outlook = Outlook(
            monitor=monitor.name,
            model=monitor.model.name,
            segment=segment,
            window=window,
            champion_version=version,
            at=at,
            made_at=made_at,
            outcome=None if found.outcome is Status.OK else found.outcome,
            verdicts=found.verdicts,
            scored=seen.scored,
            labelled=seen.counts.used,
            metrics=found.metrics
            | {
                "outlook/scored": float(seen.scored),
                "outlook/warned": float(found.outcome is Status.AT_RISK),
            },
            tables=found.tables,
            provenance=provenance,
            caveats=(*doubts, *seen.caveats, *found.caveats),
        )
        self._made[segment, window] = outlook.metrics
        return outlook


def _awaits_rows(found: Finding) -> bool:
    return any(lack.code in ("no-rows", "too-few-scores") for each in found.verdicts for lack in each.lacks)


def record(outlook: Outlook, standings: Standings) -> store.OutlookRecord:
    """The outlook of a window without labels, with the change of status and the messages that follow."""
    segment, window = outlook.segment, outlook.window
    warns = outlook.outcome is Status.AT_RISK
    joins = warns and standings.add_warning(segment, window, outlook.warning_rules)
    status = standings.after(segment)
    change, notify = standings.change(
        segment,
        status,
        at=outlook.at,
        since=window.start,
        reasons=tuple(each for each in outlook.verdicts if each.outcome is outlook.outcome),
        news=joins and status is Status.AT_RISK,
    )
    return store.OutlookRecord(
        outlook=outlook,
        transition=change,
        notified=notify,
        outbox=[PUBLISH, *standings.messages(change, notify)],
    )


PUBLISH = store.Outgoing(destination="mlflow", payload={})
