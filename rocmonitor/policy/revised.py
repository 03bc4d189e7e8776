"""A past window that was judged again and is found otherwise than before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.record import Stored
from rocmonitor.policy.windows import Window

Cause = Literal["late", "corrected", "settings"]
"""Labels or rows came late; some were corrected; the data are the same and were judged by other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised(Stored):
    """The changes that a revision makes to a window."""

    monitor: str
    segment: str = ""
    window: Window
    revision: int  # the new one
    before: Status  # outcomes of the window
    after: Status
    auc_before: float | None  # None where the window was not measured
    auc: float | None
    cause: Cause
    at: datetime  # when it was found
    status: Status  # of the monitor and segment now

    @property
    def is_worse(self) -> bool:
        """True if the window is degraded now, and was not."""
        return self.after is Status.DEGRADED


def as_reason(revised: Revised) -> Caveat:
    """Return a revision as the reason of a change of status."""
    aucs = {"auc_before": revised.auc_before, "auc": revised.auc}
    return Caveat(
        "judged-again",
        cause=revised.cause,
        before=str(revised.before),
        after=str(revised.after),
        **{name: value for name, value in aucs.items() if value is not None},
    )
