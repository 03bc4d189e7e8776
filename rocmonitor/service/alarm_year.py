"""Each alarm budget beside what is expected of it, and the alarms of the last 365 days."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from rocmonitor.config import Config
from rocmonitor.service.budgets import allotments
from rocmonitor.store import Store
from rocmonitor.store.alarms import AlarmCount, alarms_since
from rocmonitor.wording.budget import yearly

SPAN = timedelta(days=365)


def alarm_year(config: Config, kept: Store, now: datetime) -> list[dict[str, Any]]:
    """Budget, expected and sent alarms of each group, in plain JSON types; empty without a budget.

    Raises
    ------
    StoreError
    """
    if not (allotted := allotments(config, kept)):
        return []
    counts, found = alarms_since(kept, now - SPAN), []
    for each in allotted:
        total = sum((counts.get(monitor, AlarmCount()) for monitor in each.levels), AlarmCount())
        came = {"sent": total.sent, "acknowledged": total.acknowledged, "not_sent": total.not_sent}
        found.append(
            {
                "group": each.group,
                "monitors": len(each.levels),
                "false_alarms_per_year": each.budget,
                "expected": each.expected,
                **came,
                "text": yearly(each, **came),
            }
        )
    return found
