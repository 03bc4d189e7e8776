"""How many messages one lasting drop makes, by `alarm.recover_after` and by `alarm.cool_down`.

Years of 52 weekly windows with one drop of 26 weeks, of which a share is found degraded. Of the other weeks
2.5 % are found degraded and 2.5 % improved, as by a two-sided rule at 95 %. Cells are messages a year:
alarms; of these, those outside of the drop; recoveries; improvements, and how many of these ended a
`degraded` status. Last, the weeks from the end of the drop to the next message that is no alarm (median).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.status import Alarm, is_alarm, should_notify
from rocmonitor.stats.simulated import DEGRADED, IMPROVED, Codes, statuses

WEEKS, DROP = 52, 26
SHARES = (0.3, 0.43, 0.6, 0.8, 0.95)
QUIET = 0.025  # of the other weeks are degraded, and as many improved
YEARS = 100  # of one replication
WEEK = timedelta(days=7)
ALARMS = {
    **{f"recover_after: {each}": Alarm(recover_after=each) for each in (1, 2, 4, 6, 8)},
    "cool_down: 42d": Alarm(cool_down=6 * WEEK),
}
NAMES = {DEGRADED: Status.DEGRADED, 0: Status.OK, IMPROVED: Status.IMPROVED}


class Told(NamedTuple):
    """Messages of some years, and when they recovered."""

    alarms: int
    false: int
    recoveries: int
    improvements: int
    from_degraded: int
    delays: list[int]


def main(arguments: list[str]) -> None:
    """Print the table of each share, and one of the alarms alone."""
    chosen = options(__doc__, arguments, replications=40)
    alarms = []
    for share in SHARES:
        say(f"\n{share:.0%} of the drop's weeks degraded")
        found = replicate(
            one, share, replications=chosen.replications, seed=chosen.seed, processes=chosen.processes
        )
        by_alarm = list(zip(*found, strict=True))
        rows = [_row(name, of) for name, of in zip(ALARMS, by_alarm, strict=True)]
        columns = ["alarms", "false", "recoveries", "improved", "from degraded", "weeks"]
        table(["messages a year", *columns], rows)
        alarms.append([f"{share:.0%}", *(row[1] for row in rows)])
    say("\nAlarms a year")
    table(["found degraded", *ALARMS], alarms)
    say(f"\n{chosen.replications * YEARS:,} years a line.")


def _row(name: str, found: list[Told]) -> list[str]:
    counts = np.array([each[:5] for each in found]) / YEARS
    cells = [f"{mean:.2f}" for mean in counts.mean(axis=0)]
    cells[0] += f" ± {counts[:, 0].std(ddof=1) / len(found) ** 0.5:.2f}" if len(found) > 1 else ""
    delays = [delay for each in found for delay in each.delays]
    weeks = f"{np.median(delays):.0f}" if delays else "none"
    return [name, *cells, weeks]


def one(share: float, rng: np.random.Generator) -> list[Told]:
    """What years of this kind make of each setting."""
    outcomes, starts = drawn(share, rng)
    return [told(outcomes, starts, alarm) for alarm in ALARMS.values()]


def drawn(share: float, rng: np.random.Generator) -> tuple[Codes, NDArray[np.int64]]:
    """Outcomes, shape (WEEKS, YEARS), and the first week of each drop."""
    starts = rng.integers(0, WEEKS - DROP + 1, YEARS)
    shift = ndtri(share) - ndtri(QUIET)
    week = np.arange(WEEKS)[:, np.newaxis]
    during = (week >= starts) & (week < starts + DROP)
    seen = rng.standard_normal((WEEKS, YEARS)) - shift * during
    limit = -ndtri(QUIET)
    return (seen > limit).astype(np.int8) - (seen < -limit).astype(np.int8), starts


def told(outcomes: Codes, starts: NDArray[np.int64], alarm: Alarm) -> Told:
    """The messages of all years, by the real status machine and the real rule of who is notified."""
    status = statuses(outcomes, alarm)
    found = Told(0, 0, 0, 0, 0, [])
    for series, start in zip(status.T, starts.tolist(), strict=True):
        found = _added(found, _messages(series, alarm), start)
    return found


def _messages(series: Codes, alarm: Alarm) -> list[tuple[int, Status, Status]]:
    """Week, status before and status of each message."""
    notified, alarmed_at, messages = Status.OK, None, []
    for week, code in enumerate(series.tolist()):
        at = datetime(2024, 1, 1, tzinfo=UTC) + week * WEEK
        if should_notify(NAMES[code], notified, alarmed_at, at, alarm.cool_down):
            messages.append((week, notified, NAMES[code]))
            notified = NAMES[code]
            alarmed_at = at if is_alarm(notified) else alarmed_at
    return messages


def _added(found: Told, messages: list[tuple[int, Status, Status]], start: int) -> Told:
    alarms = [week for week, _, to in messages if to is Status.DEGRADED]
    improved = [before for _, before, to in messages if to is Status.IMPROVED]
    ended = [week - (start + DROP - 1) for week, _, to in messages if to is not Status.DEGRADED]
    after = [delay for delay in ended if delay > 0]
    return Told(
        found.alarms + len(alarms),
        found.false + sum(not start <= week < start + DROP for week in alarms),
        found.recoveries + sum(to is Status.OK for _, _, to in messages),
        found.improvements + len(improved),
        found.from_degraded + improved.count(Status.DEGRADED),
        [*found.delays, *after[:1]],
    )
