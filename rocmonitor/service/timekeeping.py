"""The time that ticks and reviews go by: what the clock says, as far as that can be believed."""

from __future__ import annotations

from datetime import datetime, timedelta

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.policy.clock_jump import TOLERANCE, believe
from rocmonitor.service.runtime import Runtime

_REMEMBER_EVERY = timedelta(minutes=1)


def believed(runtime: Runtime, now: datetime, *, keep: bool) -> tuple[datetime, Caveat | None]:
    """`now`, or an earlier time when the clock is not believed, and why it is not.

    A store on a server has a clock of its own: the earlier of the two counts. Else the time since the last
    look counts, by the clock of the machine that nobody sets. With `keep` the store remembers that the clock
    was looked at.
    """
    clock, theirs = runtime.clock(), store.database_time(runtime.store)
    if theirs is not None:
        until, why = clock if clock - theirs <= TOLERANCE else theirs, "clock-ahead-of-store"
    else:
        seen = store.clock_seen(runtime.store)
        until, remembered = believe(clock, runtime.boot, runtime.elapsed(), seen)
        why = "clock-set-forward"
        is_news = (
            seen is None
            or (remembered.boot, remembered.ahead) != (seen.boot, seen.ahead)
            or remembered.ahead_since != seen.ahead_since
            or abs(remembered.at - seen.at) > _REMEMBER_EVERY
        )
        if keep and is_news:
            store.save_clock_seen(runtime.store, remembered)
    if until >= clock:
        return now, None
    ahead = clock - until
    words = f"{ahead.days} days" if ahead.days > 1 else f"{ahead.total_seconds() / 3600:.1f} hours"
    return min(now, until), Caveat(why, ahead=words, until=f"{until:%Y-%m-%d %H:%MZ}")
