"""Crontab lines: the instants at which a schedule fires. The only importer of cronsim."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError


def next_fire(line: str, zone: ZoneInfo, after: datetime) -> datetime:
    """Return the first instant after another at which a crontab line fires; ValueError if it never does.

    The instant is in UTC. The line has five fields: minute, hour, day, month, weekday (0 and 7 are Sunday).
    As Debian's cron: where neither the day nor the weekday begins with ``*``, one of the two is enough. A
    wall time that a change of the clock leaves out fires right after the change; one that comes twice fires
    the first time. A line whose minute or hour begins with ``*`` follows elapsed time instead: it fires in
    both hours. Such a line may be an hour off on the day of the change where clocks change at midnight or by
    half an hour.

    Examples
    --------
    >>> berlin = ZoneInfo("Europe/Berlin")
    >>> saturday = datetime(2026, 3, 28, 12, tzinfo=UTC)
    >>> print(next_fire("30 2 * * *", berlin, saturday).astimezone(berlin))
    2026-03-29 03:00:00+02:00
    """
    if len(line.split()) != 5:  # cronsim takes a sixth one for seconds
        raise ValueError("five fields: minute, hour, day, month, weekday")
    if same := re.search(r"\b(\w+)-\1/\d+", line):  # cronsim would count on to the end
        raise ValueError(f"{same[0]} is one value: write {same[1]}")
    try:
        for fire in CronSim(line, after.astimezone(zone)):
            # Within the hour that comes twice, cronsim forgets in which of the two it is.
            if (at := fire.astimezone(UTC)) > after:
                return at
    except CronSimError as error:
        raise ValueError(str(error)) from None
    raise ValueError("it never fires")
