"""The wait for labels: when a window is judged, and how long late labels still revise it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from rocmonitor.policy.windows import Window

AGES = 32
"""Steps in which the age of labels is kept, besides `label_delay`."""

WINDOWS_REVISED = 4
"""Window lengths for which a window is rechecked at least, without `revise_for`."""

TIMES_AWAITED = 4
"""Factor by which `insufficient` windows are rechecked longer."""

Age = Literal["open", "waiting", "due", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelDelay:
    """The way labels come."""

    delay: timedelta = timedelta()
    """After this time a window is judged with the labels there are."""
    min_labelled: float | None = None
    """Share of labelled rows that is needed, and at which a window is judged sooner. None: nothing is judged
    sooner, and `rocmonitor.policy.arrival.MIN_LABELLED` is needed."""
    revise_for: timedelta | None = None
    """The time after that in which late or corrected labels and scores still make a new revision. None: as
    long as `delay`, and at least `WINDOWS_REVISED` times `every`."""
    every: timedelta = timedelta()
    """The length of a window, or of the pieces that it is joined from."""

    def due_at(self, window: Window) -> datetime:
        """When the window is judged at the latest."""
        return window.end + self.delay

    @property
    def complete_after(self) -> timedelta:
        """Time after the end of a window when its labels are taken to be complete.

        Without a configured `revise_for` nothing says how long labels keep coming: four times the delay is
        assumed.
        """
        return self.delay + (self.revise_for or 3 * self.delay)

    @property
    def ages(self) -> tuple[timedelta, ...]:
        """Ages of labels at which a reference with ``columns.labelled_at`` can be read, increasing."""
        steps = {self.complete_after * step / AGES for step in range(AGES + 1)}
        return tuple(sorted(steps | {self.delay}))

    @property
    def revised_for(self) -> timedelta:
        """Time after a window was due in which its data are checked again."""
        return self._usual if self.revise_for is None else self.revise_for

    @property
    def awaited_for(self) -> timedelta:
        """The same of a window that was insufficient: its rows or labels may come very late."""
        return TIMES_AWAITED * max(self.revised_for, self._usual)

    @property
    def _usual(self) -> timedelta:
        return max(self.delay, WINDOWS_REVISED * self.every)

    def is_revisable(self, window: Window, now: datetime, *, insufficient: bool) -> bool:
        """Return True if a window that was judged is looked at again."""
        return now <= self.due_at(window) + (self.awaited_for if insufficient else self.revised_for)

    @property
    def shown_ages(self) -> tuple[timedelta, ...]:
        """Some ages of labels for people: up to `delay` in quarters, and when labels are complete."""
        if not self.delay:
            return tuple(self.every * step for step in (0, 1, 2, 4))
        return (*(self.delay * step / 4 for step in range(5)), self.complete_after)

    def may_come(self, window: Window, now: datetime, labelled_share: float) -> bool:
        """Return True if a judged window lacks labels that could still revise it."""
        return labelled_share < 1 and self.age(window, now) != "closed"

    def age(self, window: Window, now: datetime) -> Age:
        """Tell if rows still come, labels are awaited, it is due (or open to revision), or closed to it."""
        if now < window.end:
            return "open"
        if now < self.due_at(window):
            return "waiting"
        return "due" if now <= self.due_at(window) + self.revised_for else "closed"

    def enough(self, rows: int, labelled: int) -> bool:
        """Return True if a waiting window may be judged before its delay has passed."""
        return self.min_labelled is not None and rows > 0 and labelled >= self.min_labelled * rows
