"""Who looks after a monitor's alarm, and whether its messages are muted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What people said about a monitor.

    Attributes
    ----------
    acknowledged_by : str or None
        Who has taken on the alarm. It ends with the next change of status.
    acknowledged_at : datetime or None
    muted_by : str or None
    muted_until : datetime or None
        Until then no message is sent. Windows are judged as ever; a status that differs from the one that
        was sent last is sent with the first window after that.
    note : str
    """

    acknowledged_by: str | None = None
    acknowledged_at: datetime | None = None
    muted_by: str | None = None
    muted_until: datetime | None = None
    note: str = ""

    def is_muted(self, now: datetime) -> bool:
        """Whether messages are held back now."""
        return self.muted_until is not None and now < self.muted_until
