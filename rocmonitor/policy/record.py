"""The common part of an evaluation and a review: owner, numbers, and plain data to store and read back.

Scores of which low ones are positive: negated where they are read, and negated back where results go out.

Everything in between may rely on higher scores being more positive.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Protocol, Self, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat


def digest_of(parts: Any) -> str:
    """Return the SHA-256 of plain JSON types: what has the same parts has the same name."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class HasCaveats(Protocol):
    """A result of `rocmonitor.stats`."""

    @property
    def caveats(self) -> tuple[Any, ...]:
        """The facts that a reader must know."""


OF_A_CHANGE = ("shift", "curve", "groups")
"""Tables that only a degraded or improved window has."""

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A value that is kept as plain JSON types, and read back by the types of its fields."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC. `from_dict` is the inverse."""
        return {name.name: plain(getattr(self, name.name)) for name in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the value that `to_dict` gave; a field that is absent takes its default."""
        value: Self = _read(cls, stored)
        return value


def _read(cls: Any, stored: Mapping[str, Any]) -> Any:
    return cls(**{name: read(stored[name]) for name, read in _readers(cls).items() if name in stored})


@cache
def _readers(cls: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what makes each field of a dataclass of plain JSON types."""
    hints = get_type_hints(cls)
    return {name.name: reader(hints[name.name]) for name in fields(cls)}


def reader(hint: Any) -> Callable[[Any], Any]:
    """Return what makes a value of this type of plain JSON types."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is UnionType and arguments[1:] == (NoneType,):
        some = reader(arguments[0])
        return lambda value: None if value is None else some(value)
    if origin is UnionType and Caveat in arguments:  # or a verdict, which has its rule
        verdict, caveat = map(reader, arguments)
        return lambda value: verdict(value) if "rule" in value else caveat(value)
    if origin is tuple:
        item = reader(arguments[0])
        return lambda value: tuple(map(item, value))
    if origin is Mapping:
        of_name = reader(arguments[1])
        return lambda value: {name: of_name(item) for name, item in value.items()}
    if hint is datetime:
        return datetime.fromisoformat
    if hasattr(hint, "from_dict"):
        parse: Callable[[Any], Any] = hint.from_dict
        return parse
    if is_dataclass(hint):
        return partial(_read, hint)
    return hint if isinstance(hint, type) and issubclass(hint, StrEnum) else lambda value: value


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Stored):
    """A result that the store keeps, MLflow and the pages show, and ``--json`` prints."""

    monitor: str
    model: str
    segment: str = ""  # empty for all rows, else ``column=value``
    champion_version: str  # pinned when the work began
    challenger_version: str | None = None
    metrics: dict[str, float] = field(default_factory=dict)  # finite; named as in MLflow and on the pages
    tables: Tables = field(default_factory=dict)  # of plain JSON types
    provenance: dict[str, Any] = field(default_factory=dict)  # enough to repeat it
    caveats: tuple[Caveat, ...] = ()

    @property
    def subject(self) -> str:
        """Monitor and segment, for people."""
        return ", ".join(filter(None, [self.monitor, self.segment]))

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which the monitor's windows are cut."""
        return ZoneInfo(self.provenance.get("timezone", "UTC"))


def low_is_positive(provenance: Mapping[str, Any]) -> bool:
    """Return True if the models that gave the scores mean low ones to be positive."""
    return bool((provenance.get("positive") or {}).get("scores") == "lower")


_PLAIN = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Values as plain JSON types: instants as ISO 8601 in UTC, frozen values as objects of their fields."""
    kind = type(value)
    if kind in _PLAIN:  # nearly all of a table; the questions below take most of the time of saving
        return value
    if kind is dict and _PLAIN.issuperset(map(type, value.values())):
        return value
    if isinstance(value, Caveat):
        return value.to_dict()
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {name: item if type(item) in _PLAIN else plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name.name: plain(getattr(value, name.name)) for name in fields(value)}
    return value


def caveats_of(result: HasCaveats, *about: str) -> tuple[Caveat, ...]:
    """Return the caveats of a statistic, as those of one part of a larger result."""
    caveats: Iterable[Caveat] = result.caveats
    for part in reversed(about):
        caveats = map(partial(Caveat.concerning, part=part), caveats)
    return tuple(caveats)


_COLUMNS = frozenset({"threshold", "champion_threshold", "challenger_threshold"})
_VALUES = frozenset({"score", "scores", "champion_scores", "challenger_scores", "threshold", "thresholds"})
_SCORE_BINS = ("shift", "scores")  # tables whose rows are bins from `low` to `high`


def negated(score: Any) -> Any:
    """Return a score, or an array of them, with the sign changed; 0 stays 0, and never becomes -0."""
    return 0.0 - score


def as_scored(
    tables: Mapping[str, Sequence[Row]], caveats: Iterable[Caveat]
) -> tuple[Tables, tuple[Caveat, ...]]:
    """Tables and caveats on negated scores, in the scores that the models gave.

    Columns of thresholds are negated back; None (nothing is flagged) stays None. In the tables ``shift`` and
    ``scores`` the score bins are, and the lowest comes first again: a bin then holds the scores from `low` up
    to but not including `high`. So are the values of caveats called score, scores, threshold or thresholds.

    Examples
    --------
    >>> tables, caveats = as_scored(
    ...     {"thresholds": [{"threshold": -0.2, "tpr": 0.7}]}, [Caveat("one-score", rows=9, score=-0.5)]
    ... )
    >>> tables["thresholds"], caveats[0].values
    ([{'threshold': 0.2, 'tpr': 0.7}], {'rows': 9, 'score': 0.5})
    """
    shown: Tables = {}
    for name, rows in tables.items():
        shown[name] = [
            {column: _back(value) if column in _COLUMNS else value for column, value in row.items()}
            for row in rows
        ]
        if name in _SCORE_BINS:
            shown[name] = [
                row | {"low": _back(row["high"]), "high": _back(row["low"])} for row in reversed(shown[name])
            ]
    turned = []
    for caveat in caveats:
        values = {name: _back(value) for name, value in caveat.values.items() if name in _VALUES}
        turned.append(caveat.replacing(**values) if values else caveat)
    return shown, tuple(turned)


def _back(value: Any) -> Any:
    if isinstance(value, list):
        return [_back(item) for item in value]
    return None if value is None else negated(value)
