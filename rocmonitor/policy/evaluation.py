"""What is known of one window: values that the store keeps, MLflow shows and a message tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rocmonitor.policy.windows import Window


class Status(StrEnum):
    """How a monitor, or one window of it, stands."""

    OK = "ok"
    DEGRADED = "degraded"
    IMPROVED = "improved"
    INSUFFICIENT = "insufficient"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Where the rows of a window went; nothing is dropped without being counted.

    ``rows = used + unlabelled + bad_score + bad_label + duplicates + outside``, and each row is counted once,
    in the first that applies of: outside, duplicates, bad_score, unlabelled, bad_label, used.

    Attributes
    ----------
    rows : int
        Rows that the query gave.
    n_pos, n_neg : int
        Rows used, by class.
    unlabelled : int
        Label NULL: normal, they may come later.
    bad_score : int
        Champion's score NULL, NaN, infinite or not a number.
    bad_label : int
        Label neither the positive nor the negative one.
    duplicates : int
        Further rows with an id that was seen before.
    outside : int
        Rows whose time is not in the window: the query does not hold to ``:start`` and ``:end``.
    no_challenger : int
        Rows used for the champion whose challenger's score is missing or not finite.
    truncated : bool
        The row cap was reached: the window has more rows than were read.
    """

    rows: int = 0
    n_pos: int = 0
    n_neg: int = 0
    unlabelled: int = 0
    bad_score: int = 0
    bad_label: int = 0
    duplicates: int = 0
    outside: int = 0
    no_challenger: int = 0
    truncated: bool = False

    @property
    def used(self) -> int:
        """Rows that the statistics rest on."""
        return self.n_pos + self.n_neg

    @property
    def labelled_share(self) -> float:
        """Share of the well-scored rows that have a label; 0 for an empty window."""
        known = self.used + self.bad_label
        return known / (known + self.unlabelled) if known + self.unlabelled else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one rule says of one window.

    Attributes
    ----------
    rule : str
        Name of the rule in its monitor: its kind, numbered when it comes twice (``forecast``, ``floor_2``).
    outcome : Status
    text : str
        The finding in one sentence for people.
    margin : float or None
        Signed distance of the tested value from the rule's limit; negative is outside.
    """

    rule: str
    outcome: Status
    text: str
    margin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One result: a monitor, a segment, a window, a revision.

    Attributes
    ----------
    monitor, model : str
    segment : str
        Empty for all rows, else ``column=value``.
    window : Window
    revision : int
        0 the first time; late labels make 1, 2, …
    champion_version, challenger_version : str or None
        Pinned when the window was first judged. None where there is no challenger.
    at : datetime
        When the window fell due (for a revision: when it was found); decides cool-downs.
    evaluated_at : datetime
        When it was computed.
    outcome : Status
        Of this window on its own.
    status : Status
        Of the monitor and segment after this window, with k-of-n and recovery.
    verdicts : tuple of Verdict
    counts : Counts
    metrics : dict of str to float
        Named as in MLflow, ``--json`` and the pages. Always finite. Those of the rules are listed at
        `rocmonitor.policy.judge.rule_metrics`. A degraded or improved window has ``shift/from_positives`` and
        ``shift/from_negatives``, the two parts of its change against the reference, and ``shift/similarity``
        to the least favourable change.
    tables : dict of str to list of dict
        ``roc`` (the curve with its intervals), ``thresholds``, ``fprs``, ``costs``, ``dominance``; ``shift``
        (where the scores differ from the reference) of a degraded or improved window.
    explanation : str
        The table ``shift`` in words; empty when there is none.
    reference : dict
        What the window was compared with: period, sizes, AUC, forecast intervals, digest.
    provenance : dict
        Source, query, columns, zone, digest of the data, software versions: enough to repeat it.
    caveats : tuple of str
    """

    monitor: str
    model: str
    segment: str = ""
    window: Window
    revision: int = 0
    champion_version: str
    challenger_version: str | None = None
    at: datetime
    evaluated_at: datetime
    outcome: Status
    status: Status
    verdicts: tuple[Verdict, ...] = ()
    counts: Counts
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    explanation: str = ""
    reference: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Names the window and revision, unique within one store."""
        return f"{self.monitor}|{self.segment}|{self.window}|r{self.revision}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC."""
        plain = asdict(self)
        plain["window"] = {"start": _iso(self.window.start), "end": _iso(self.window.end)}
        plain["at"], plain["evaluated_at"] = _iso(self.at), _iso(self.evaluated_at)
        plain["verdicts"] = [asdict(verdict) for verdict in self.verdicts]
        plain["caveats"] = list(self.caveats)
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Evaluation:
        """The inverse of `to_dict`."""
        known = {name.name: plain[name.name] for name in fields(cls) if name.name in plain}
        return cls(
            **{
                **known,
                "window": Window(*(datetime.fromisoformat(plain["window"][end]) for end in ("start", "end"))),
                "at": datetime.fromisoformat(plain["at"]),
                "evaluated_at": datetime.fromisoformat(plain["evaluated_at"]),
                "outcome": Status(plain["outcome"]),
                "status": Status(plain["status"]),
                "verdicts": tuple(
                    Verdict(**{**verdict, "outcome": Status(verdict["outcome"])})
                    for verdict in plain["verdicts"]
                ),
                "counts": Counts(**plain["counts"]),
                "caveats": tuple(plain["caveats"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One window of a series: its newest revision, when that fell due, and its metrics."""

    window: Window
    revision: int
    at: datetime
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of status.

    Attributes
    ----------
    monitor, segment : str
    at : datetime
        When it became so, as `Evaluation.at`.
    before, after : Status
    reason : str
        Why, in one sentence: the deciding verdict, or the error.
    since : datetime
        From when the new status holds: start of the first window it was seen in.
    """

    monitor: str
    segment: str = ""
    at: datetime
    before: Status
    after: Status
    reason: str
    since: datetime

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC."""
        return asdict(self) | {"at": _iso(self.at), "since": _iso(self.since)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Transition:
        """The inverse of `to_dict`."""
        return cls(
            **{
                **plain,
                "at": datetime.fromisoformat(plain["at"]),
                "since": datetime.fromisoformat(plain["since"]),
                "before": Status(plain["before"]),
                "after": Status(plain["after"]),
            }
        )


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat()
