"""What is known of one window, as values; `rocmonitor.wording` puts them into words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from rocmonitor.caveat import Caveat
from rocmonitor.policy.orientation import as_scored
from rocmonitor.policy.record import Record, low_is_positive, plain
from rocmonitor.policy.windows import Window

Kind = Literal[
    "data", "forecast", "lasting", "floor", "drop", "cost", "calibration", "challenger", "scores", "outlook"
]


class Status(StrEnum):
    """How a monitor, or one window of it, stands; ``at-risk`` is a warning from scores without labels."""

    OK = "ok"
    AT_RISK = "at-risk"
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
    """What one rule finds on one window.

    Attributes
    ----------
    rule : str
        Name of the rule in its monitor: its kind, numbered when it comes twice (``forecast``, ``floor_2``).
    kind : {"data", "forecast", "lasting", "floor", "drop", "cost", "calibration", "challenger", "scores",
        "outlook"}
        ``data`` is no rule: the window is too small to be measured.
    outcome : Status
    estimate : float or None
        The value tested: an AUROC, or (``drop``, ``challenger``) a difference of two. Of ``lasting``, the
        change since it began, with an alarm only.
    low, high : float or None
        The confidence interval of `estimate`, at `confidence_level`; a forecast has none.
    confidence_level : float or None
        Of that interval; of a forecast, the level that its reference windows give it.
    limit : tuple of float or None
        Below the first the rule finds the window degraded, above the second improved (of ``cost`` and
        ``calibration``: degraded, too); None where there is no such end.
    margin : float or None
        Signed distance of the tested end from the limit; negative is outside.
    details : dict
        Further values of the sentence, such as ``reference_auc`` or ``rows``.
    lacks : tuple of Caveat
        Why the rule could not be applied; empty when it was.
    """

    rule: str
    kind: Kind
    outcome: Status
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    confidence_level: float | None = None
    limit: tuple[float | None, float | None] = (None, None)
    margin: float | None = None
    details: dict[str, Any] = field(default_factory=dict, hash=False)
    lacks: tuple[Caveat, ...] = ()

    @classmethod
    def lacking(cls, rule: str, kind: Kind, *lacks: Caveat) -> Verdict:
        """That a rule could not be applied, and why."""
        return cls(rule=rule, kind=kind, outcome=Status.INSUFFICIENT, lacks=lacks)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` is the inverse."""
        found: dict[str, Any] = plain(self)
        return found

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Verdict:
        """The inverse of `to_dict`; a sentence that an earlier version stored becomes a detail, ``text``."""
        if "text" in stored:
            return cls(
                rule=stored["rule"],
                kind=re.sub(r"_\d+$", "", stored["rule"]),  # type: ignore[arg-type]
                outcome=Status(stored["outcome"]),
                margin=stored["margin"],
                details={"text": stored["text"]},
            )
        known = {name.name: stored[name.name] for name in fields(cls) if name.name in stored}
        parsed = {
            "outcome": Status(stored["outcome"]),
            "limit": tuple(stored["limit"]),
            "lacks": tuple(map(Caveat.from_dict, stored["lacks"])),
        }
        return cls(**known | parsed)


Reason = Verdict | Caveat
"""Why a status changed: a rule's finding, or something else that has happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Record):
    """One result: a monitor, a segment, a window, a revision.

    Attributes
    ----------
    window : Window
    revision : int
        0 the first time; late labels make 1, 2, …
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
    reference : dict
        What the window was compared with: period, sizes, AUC, forecast intervals, digest.

    Notes
    -----
    The metrics of the rules are listed at `rocmonitor.policy.judge.rule_metrics`. A degraded or improved
    window has ``shift/from_positives`` and ``shift/from_negatives``, the two parts of its change against the
    reference, and ``shift/similarity`` to the least favourable change; ``shift/foreseen`` and
    ``shift/unforeseen``, the part of the change that its scores foretold and the rest, with
    ``shift/score_distance`` and ``shift/label_distance`` in nats. A window with an outlook repeats
    ``outlook/auc``, ``outlook/low``, ``outlook/high``, ``outlook/score_distance`` and ``outlook/warned``.
    ``expected/auc`` is the AUROC that the scores lead to, where a rule ``lasting`` takes it off.

    Tables: ``roc`` (the curve with its intervals), ``thresholds``, ``fprs``, ``costs``, ``dominance``;
    ``shift`` (where the scores differ from the reference) of a degraded or improved window.
    """

    window: Window
    revision: int = 0
    at: datetime
    evaluated_at: datetime
    outcome: Status
    status: Status
    verdicts: tuple[Verdict, ...] = ()
    counts: Counts
    reference: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Names the window and revision, unique within one store."""
        return f"{self.monitor}|{self.segment}|{self.window}|r{self.revision}"

    @classmethod
    def _parsed(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        tables = stored["tables"]
        # With an explanation stored earlier versions, and the shift on negated scores.
        if "explanation" in stored and "shift" in tables and low_is_positive(stored["provenance"]):
            tables = tables | as_scored({"shift": tables["shift"]}, ())[0]
        return {
            "tables": tables,
            "window": Window.from_dict(stored["window"]),
            "at": datetime.fromisoformat(stored["at"]),
            "evaluated_at": datetime.fromisoformat(stored["evaluated_at"]),
            "outcome": Status(stored["outcome"]),
            "status": Status(stored["status"]),
            "verdicts": tuple(map(Verdict.from_dict, stored["verdicts"])),
            "counts": Counts(**stored["counts"]),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One window of a series: its newest revision, when that fell due, and its metrics.

    `champion_version` is empty where it does not matter, as of an outlook.
    """

    window: Window
    revision: int
    at: datetime
    metrics: dict[str, float]
    champion_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of status.

    Attributes
    ----------
    monitor, segment : str
    at : datetime
        When it became so, as `Evaluation.at`.
    before, after : Status
    reasons : tuple of Verdict or Caveat
        Why: the verdicts that agree with the new status, the error, or what else has happened.
    since : datetime
        From when the new status holds: start of the first window it was seen in.
    """

    monitor: str
    segment: str = ""
    at: datetime
    before: Status
    after: Status
    reasons: tuple[Reason, ...] = ()
    since: datetime

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC."""
        found: dict[str, Any] = plain(self)
        return found

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Transition:
        """The inverse of `to_dict`; the one sentence that an earlier version queued becomes a reason."""
        values = dict(stored)
        reasons = values.pop("reasons", None) or [values.pop("reason", "")]
        values.pop("reason", None)
        return cls(
            **{
                **values,
                "at": datetime.fromisoformat(values["at"]),
                "since": datetime.fromisoformat(values["since"]),
                "before": Status(values["before"]),
                "after": Status(values["after"]),
                "reasons": read_reasons(reasons),
            }
        )


def read_reasons(stored: list[Any]) -> tuple[Reason, ...]:
    """Reasons from plain JSON types; empty sentences of earlier versions are passed over."""
    return tuple(
        Verdict.from_dict(each) if isinstance(each, Mapping) and "rule" in each else Caveat.from_dict(each)
        for each in stored
        if each
    )
