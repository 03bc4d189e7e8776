"""What a review is of: the two versions, pinned, and the windows that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError
from rocmonitor.policy.windows import Window
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.versions import Role, alias_or_version, version
from rocmonitor.store import Evaluated

ROLES: tuple[Role, Role] = ("champion", "challenger")

BY_HAND = (
    "the period was chosen by hand and is not the one that the configuration gives: the confidence level "
    "holds only if nobody looked at the difference before choosing it"
)

Judged = Mapping[Window, Evaluated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """The two versions, and what is doubtful about them."""

    champion: str
    challenger: str
    doubts: tuple[str, ...]

    @property
    def versions(self) -> tuple[str, str]:
        """Champion first."""
        return self.champion, self.challenger

    def differs(self, found: Evaluated) -> bool:
        """Whether a window is known to have been judged with other versions."""
        return found.champion_version not in (
            self.champion,
            "unknown",
        ) or found.challenger_version not in (self.challenger, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The windows to compare, and what is to be said of the choice.

    Attributes
    ----------
    windows : sequence of Window
        At least one, in order.
    before : sequence of Window
        Of a period chosen by hand: the windows before it that would be compared without a choice.
    waiting : int
        Windows that have ended and are left out because their labels are awaited.
    registered : bool
        Whether the configuration chose them, not a person.
    caveats : tuple of str
    """

    windows: Sequence[Window]
    before: Sequence[Window] = ()
    waiting: int
    registered: bool
    caveats: tuple[str, ...]


def pinned(runtime: Runtime, monitor: Monitor, *, keep: bool) -> Pinned:
    """The versions behind both roles; `keep` remembers what the aliases stand for.

    Raises
    ------
    ConfigError
        The configuration names no challenger, or not where its scores are.
    InputError
        Both roles have the same version.
    TrackingError
        An alias is not there, or MLflow is down and the alias was never seen.
    """
    where = f"monitors.{monitor.name}"
    if monitor.columns.challenger is None:
        raise ConfigError(
            f"{where}.columns.challenger is not set; a review needs the column with the challenger's scores"
        )
    if not monitor.model.names_challenger:
        raise ConfigError(
            f"{where}.model names no challenger; set challenger (a registry alias) or challenger_version"
        )
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
    return Pinned(champion=champion, challenger=challenger, doubts=tuple(map(str, (*doubts, *more))))


def chosen(
    monitor: Monitor,
    versions: Pinned,
    judged: Judged,
    now: datetime,
    start: datetime | None,
    end: datetime | None,
) -> Chosen:
    """The windows of the period whose labels are due, without those judged with other versions.

    A period that a person chose keeps those, for the scores may have been made anew; the caveats say so.

    Raises
    ------
    DegenerateDataError
        There is none.
    """
    registered = start is None and end is None
    usual = _begin(monitor, versions, judged)
    begin = usual if start is None else start
    stop = now if end is None else min(end, now)
    ended = monitor.windows(now, begin) if registered else monitor.calendar.within(begin, stop)
    due = [each for each in ended if each in judged or monitor.labels.age(each, now) != "waiting"]
    others = {each for each in due if each in judged and versions.differs(judged[each])}
    windows = [each for each in due if each not in others] if registered else due
    waiting = len(ended) - len(due)
    if not windows:
        zone = monitor.timezone
        raise DegenerateDataError(
            f"{monitor.name}: no window from {begin.astimezone(zone):%Y-%m-%d %H:%M} to "
            f"{stop.astimezone(zone):%Y-%m-%d %H:%M} ({zone}) can be compared ({waiting} waiting for labels, "
            f"{len(others)} judged with other versions than {versions.champion} and {versions.challenger}); "
            "wait for the next, or choose another period with --from and --to"
        )
    caveats = [] if registered else [BY_HAND]
    if others:
        scores = "left out" if registered else "compared all the same; the scores may be of those"
        caveats.append(f"{_are(len(others))} known to be judged with other versions, and {scores}")
    if waiting:
        caveats.append(f"{_are(waiting)} left out, for labels are still awaited")
    return Chosen(
        windows=windows,
        before=[
            each
            for each in monitor.windows(now, usual)
            if each.end <= begin and not (each in judged and versions.differs(judged[each]))
        ],
        waiting=waiting,
        registered=registered,
        caveats=tuple(caveats),
    )


def _begin(monitor: Monitor, versions: Pinned, judged: Judged) -> datetime:
    """Where the period begins when nobody chooses it by hand."""
    if monitor.review_start is not None:
        return monitor.review_start
    same = [
        window.start
        for window, found in judged.items()
        if (found.champion_version, found.challenger_version) == versions.versions
    ]
    others = [window.end for window, found in judged.items() if versions.differs(found)]
    return min(same) if same else max([monitor.start, *others])


def _are(windows: int) -> str:
    return f"{windows} window{' is' if windows == 1 else 's are'}"
