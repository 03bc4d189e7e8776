"""What an evaluation and a review have in common: whose it is, its numbers, and how it becomes plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, Protocol, Self
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat


class HasCaveats(Protocol):
    """A result of `rocmonitor.stats`."""

    @property
    def caveats(self) -> tuple[Any, ...]:
        """What a reader must know."""


Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A result that the store keeps, MLflow and the pages show, and ``--json`` prints.

    Attributes
    ----------
    monitor, model : str
    segment : str
        Empty for all rows, else ``column=value``.
    champion_version : str
        Pinned when the work began.
    challenger_version : str or None
    metrics : dict of str to float
        Finite; named as in MLflow, ``--json`` and the pages.
    tables : dict of str to list of dict
        Plain JSON types.
    provenance : dict
        Source, query, columns, zone, digests of the data, software versions: enough to repeat it.
    caveats : tuple of Caveat
    """

    monitor: str
    model: str
    segment: str = ""
    champion_version: str
    challenger_version: str | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    tables: Tables = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()

    @property
    def subject(self) -> str:
        """Monitor and segment, for people."""
        return ", ".join(filter(None, [self.monitor, self.segment]))

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which the monitor's windows are cut."""
        return ZoneInfo(self.provenance.get("timezone", "UTC"))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC. `from_dict` is the inverse."""
        return {name.name: plain(getattr(self, name.name)) for name in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`; also reads what earlier versions stored."""
        known = {name.name: stored[name.name] for name in fields(cls) if name.name in stored}
        known["caveats"] = tuple(map(Caveat.from_dict, stored["caveats"]))
        return cls(**known | cls._parsed(stored))

    @classmethod
    def _parsed(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are more than plain JSON types, read from what was stored."""
        raise NotImplementedError


def low_is_positive(provenance: Mapping[str, Any]) -> bool:
    """Whether the models that gave the scores mean low ones to be positive."""
    return bool((provenance.get("positive") or {}).get("scores") == "lower")


_PLAIN = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Values as plain JSON types: instants as ISO 8601 in UTC, frozen values as objects of their fields."""
    kind = type(value)
    if kind in _PLAIN:  # nearly all of a table; the questions below take most of the time of saving
        return value
    if kind is dict:
        return {name: each if type(each) in _PLAIN else plain(each) for name, each in value.items()}
    if isinstance(value, Caveat):
        return value.to_dict()
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name.name: plain(getattr(value, name.name)) for name in fields(value)}
    return value


def caveats_of(result: HasCaveats, *about: str) -> tuple[Caveat, ...]:
    """The caveats of a statistic, as those of one part of a larger result."""
    found = map(_caveat, result.caveats)
    for part in reversed(about):
        found = map(partial(Caveat.concerning, part=part), found)
    return tuple(found)


def _caveat(given: Caveat | str) -> Caveat:
    return given if isinstance(given, Caveat) else Caveat.from_dict(given)
