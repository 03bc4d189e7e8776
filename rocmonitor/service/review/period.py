"""The two versions of a review, pinned, and the windows that are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError
from rocmonitor.policy.windows import Window
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.versions import Role, alias_or_version, version
from rocmonitor.store import Evaluated

ROLES: tuple[Role, Role] = ("champion", "challenger")

Judged = Mapping[Window, Evaluated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The two versions, and caveats about how they were found."""

    champion: str
    challenger: str
    doubts: tuple[Caveat, ...]

    @property
    def both(self) -> tuple[str, str]:
        """Champion first."""
        return self.champion, self.challenger


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The windows to compare: at least one, in order."""

    windows: Sequence[Window]
    before: Sequence[Window] = ()
    """Only if the period was chosen by hand: the windows before it that would otherwise be compared."""
    waiting: int
    """Windows that have ended and are left out because labels are still missing."""
    registered: bool
    """True if the configuration gives the period, not a person."""
    caveats: tuple[Caveat, ...]


def pin_versions(runtime: Runtime, monitor: Monitor, *, keep: bool) -> Versions:
    """Return the versions of both roles; with `keep` the store remembers the versions of aliases.

    Raises
    ------
    ConfigError: The configuration names no challenger, no column with its scores, or no version of the
        champion.
    InputError: Both roles have the same version.
    TrackingError: An alias does not exist, or MLflow is down and the alias was never seen.
    """
    where = f"monitors.{monitor.name}"
    missing = []
    if monitor.columns.challenger is None:
        missing.append(
            f"{where}.columns.challenger is not set; a review needs the column with the challenger's scores"
        )
    if not monitor.model.names_challenger:
        missing.append(
            f"{where}.model names no challenger; set challenger (a registry alias) or challenger_version"
        )
    if not monitor.model.names_champion:
        missing.append(f"{where}.model names no version; set champion (a registry alias) or version")
    if missing:
        raise ConfigError("\n".join(missing))
    (champion, doubts), (challenger, more) = (version(runtime, monitor, role, keep=keep) for role in ROLES)
    assert champion is not None
    assert challenger is not None
    if champion == challenger:
        alias, other = (alias_or_version(monitor, role)[0] for role in ROLES)
        raise InputError(
            f"{f'alias {alias}' if alias else 'version'} and "
            f"{f'alias {other}' if other else 'challenger_version'} of model {monitor.model.name} are both "
            f"version {champion}; a review compares two versions: give one of them another"
        )
    return Versions(champion=champion, challenger=challenger, doubts=(*doubts, *more))


def choose_period(
    monitor: Monitor,
    versions: Versions,
    judged: Judged,
    now: datetime,
    start: datetime | None,
    end: datetime | None,
    joined: Callable[[Sequence[Window]], Sequence[Window]],
) -> Period:
    """Return the windows of the period whose labels are due, without those judged with other versions.

    A period chosen by hand keeps those, because the scores may have been recomputed; a caveat says so.
    `joined` makes the monitor's windows of the calendar's.

    Raises
    ------
    DegenerateDataError: There is no such window.
    """
    champions, challengers = (versions.champion, "unknown"), (versions.challenger, None)
    foreign = {  # known to have been judged with other versions
        window
        for window, evaluated in judged.items()
        if evaluated.champion_version not in champions or evaluated.challenger_version not in challengers
    }
    usual = monitor.review_start
    if usual is None:
        same = [
            window.start
            for window, evaluated in judged.items()
            if (evaluated.champion_version, evaluated.challenger_version) == versions.both
        ]
        usual = min(same) if same else max([monitor.start, *(window.end for window in foreign)])
    registered = start is None and end is None
    begin = usual if start is None else start
    stop = now if end is None else min(end, now)
    ended = joined(monitor.windows(now, begin) if registered else monitor.calendar.within(begin, stop))
    due = [window for window in ended if window in judged or monitor.labels.age(window, now) != "waiting"]
    others = foreign.intersection(due)
    windows = [window for window in due if window not in others] if registered else due
    waiting = len(ended) - len(due)
    if not windows:
        zone = monitor.timezone
        raise DegenerateDataError(
            f"{monitor.name}: no window from {begin.astimezone(zone):%Y-%m-%d %H:%M} to "
            f"{stop.astimezone(zone):%Y-%m-%d %H:%M} ({zone}) can be compared ({waiting} waiting for labels, "
            f"{len(others)} judged with other versions than {versions.champion} and {versions.challenger}); "
            "wait for the next one, or choose another period with --from and --to"
        )
    earlier = [] if begin == usual else monitor.windows(now, usual)
    caveats = [] if registered else [Caveat("period-by-hand")]
    if others:
        caveats.append(Caveat("windows-of-other-versions", count=len(others), compared=not registered))
    if waiting:
        caveats.append(Caveat("windows-waiting", count=waiting))
    return Period(
        windows=windows,
        before=[window for window in joined(earlier) if window.end <= begin and window not in foreign],
        waiting=waiting,
        registered=registered,
        caveats=tuple(caveats),
    )
