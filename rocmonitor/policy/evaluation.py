"""The facts known of one window, as values; `rocmonitor.wording` puts them into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from rocmonitor.caveat import Caveat
from rocmonitor.policy.record import Record, Stored, reader
from rocmonitor.policy.windows import Window
from rocmonitor.verdict import Status, Verdict

__all__ = [
    "Brief",
    "Counts",
    "Evaluation",
    "Point",
    "Reason",
    "Status",
    "Transition",
    "Verdict",
    "known",
    "read_reasons",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The rows of a window by their use; nothing is dropped without being counted.

    ``rows = used + unlabelled + bad_score + bad_label + duplicates + two_labels + outside``, and each row is
    counted once, in the first that applies of: outside, duplicates, two_labels, bad_score, unlabelled,
    bad_label, used.

    Attributes
    ----------
    rows : int
        Rows that the query gave.
    n_pos, n_neg : int
        Rows used, by class.
    unlabelled : int
        Label NULL: normal, they may come later.
    bad_score : int
        Champion's score NULL, NaN or not a number; infinite, where `infinite_scores` is ``refuse``.
    bad_label : int
        Label neither the positive nor the negative one.
    duplicates : int
        Further rows with an id that was seen before.
    two_labels : int
        Ids with both labels at one time, where no instant tells which is later.
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
    two_labels: int = 0
    outside: int = 0
    no_challenger: int = 0
    truncated: bool = False

    @property
    def used(self) -> int:
        """Rows that the statistics rest on."""
        return self.n_pos + self.n_neg

    @property
    def inside(self) -> int:
        """Rows whose time is in the window."""
        return self.rows - self.outside

    @property
    def unusable_share(self) -> float:
        """Share of the rows that no label can make usable; 0 for an empty window."""
        unusable = self.bad_score + self.bad_label + self.duplicates + self.two_labels + self.outside
        return unusable / max(self.rows, 1)

    @property
    def labelled_share(self) -> float:
        """Share of the well-scored rows that have a label; 0 for an empty window."""
        labelled = self.used + self.bad_label
        return labelled / (labelled + self.unlabelled) if labelled + self.unlabelled else 0.0


IN_DOUBT = "no-longer-certain"
"""Code of the caveat that a loss is no longer shown, nor that it is over."""

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
    ``shift/foreseen_low`` and ``shift/foreseen_high`` (95 %), ``shift/foreseen_known`` (1, or 0 where these
    are farther apart than the change), ``shift/thin_share`` and ``shift/outside_share`` (of its scores where
    the reference has few rows, and beyond its range), ``shift/score_distance`` and ``shift/label_distance``
    in nats. A window with an outlook repeats ``outlook/auc``, ``outlook/low``, ``outlook/high``,
    ``outlook/foretold``, ``outlook/score_distance`` and ``outlook/warned``. With a reference, ``change/auc``
    is the AUROC less that of the reference windows, with ``change/error`` and ``change/reference_error``. A
    window in an episode says how that stands: ``episode/windows``, and with intervals ``episode/size`` and
    ``episode/still``.

    Tables: ``roc`` (the curve with its intervals), ``thresholds``, ``fprs``, ``costs``, ``dominance``;
    of a degraded or improved window ``shift`` (where the scores differ from the reference), ``curve`` (the
    true positive rates beside those of the reference, intervals of 95 % all together) and, with
    ``columns.explain``, ``groups`` (what each group did to the change).
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
        """The name of the window and revision, unique within one store."""
        return f"{self.monitor}|{self.segment}|{self.window}|r{self.revision}"


def known(metrics: Mapping[str, float], *names: str) -> tuple[float, ...] | None:
    """Return these metrics of a window, all or none: a stored window may lack any of them.

    Examples
    --------
    >>> known({"auc": 0.8, "auc_low": 0.7}, "auc", "auc_low", "auc_high") is None
    True
    """
    values = [metrics.get(name) for name in names]
    return None if None in values else tuple(value for value in values if value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One window of a series: its newest revision, when that fell due, and its metrics.

    `champion_version` is empty and `outcome` None where they do not matter, as of an outlook.
    """

    window: Window
    revision: int
    at: datetime
    metrics: dict[str, float]
    champion_version: str = ""
    outcome: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(Stored):
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

    @property
    def shown(self) -> Status:
        """The new status as people see it: at risk while a loss is not clearly over."""
        doubtful = any(isinstance(reason, Caveat) and reason.code == IN_DOUBT for reason in self.reasons)
        return Status.AT_RISK if doubtful else self.after


read_reasons: Callable[[Any], tuple[Reason, ...]] = reader(tuple[Reason, ...])
"""Returns reasons from plain JSON types."""


class Chart(NamedTuple):
    """The chart of a rule ``lasting`` in its newest window."""

    share: float
    """Share of the way to its limit."""
    before: float | None = None
    """The share of the window before, if that has the chart too."""


class Brief(NamedTuple):
    """The newest revision of one window, in brief; a tuple, for the overview reads thousands.

    Attributes
    ----------
    outcome : str
        Of `Status`.
    auc, low, high : float or None
        The champion's AUROC and its interval.
    expected_low, expected_high : float or None
        The forecast interval.
    labelled_share : float or None
    """

    outcome: str
    auc: float | None
    low: float | None
    high: float | None
    expected_low: float | None
    expected_high: float | None
    labelled_share: float | None
