"""The facts known of one window, as values; `rocmonitor.wording` puts them into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from rocmonitor.caveat import Caveat
from rocmonitor.policy.record import Record, Stored, Tables, reader
from rocmonitor.policy.windows import Window
from rocmonitor.verdict import Status, Verdict

__all__ = [
    "Brief",
    "Counts",
    "Evaluation",
    "Finding",
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
    """

    rows: int = 0  # that the query gave
    n_pos: int = 0  # used, as n_neg
    n_neg: int = 0
    unlabelled: int = 0  # label NULL: normal, they may come later
    bad_score: int = 0  # NULL, NaN, no number, or infinite where `infinite_scores` is ``refuse``
    bad_label: int = 0  # neither the positive nor the negative one
    duplicates: int = 0  # further rows with an id that was seen before
    two_labels: int = 0  # ids with both labels at one time, where no instant tells which is later
    outside: int = 0  # the time is not in the window: the query does not hold to ``:start`` and ``:end``
    no_challenger: int = 0  # used for the champion; the challenger's score is missing or not finite
    truncated: bool = False  # the row cap was reached: the window has more rows than were read

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """All that is found on one window; the fields are those of `Evaluation`."""

    outcome: Status
    verdicts: tuple[Verdict, ...]
    metrics: dict[str, float]
    tables: Tables = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()


IN_DOUBT = "no-longer-certain"
"""Code of the caveat that a loss is no longer shown, nor that it is over."""

BROKEN = ("one-score", "rows-unusable")  # codes of the caveats that name what is wrong with the data
Reason = Verdict | Caveat
"""Why a status changed: a rule's finding, or something else that has happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Record):
    """One result: a monitor, a segment, a window, a revision.

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
    revision: int = 0  # late labels make 1, 2, …
    at: datetime  # when the window fell due (for a revision: when it was found); decides cool-downs
    evaluated_at: datetime
    outcome: Status  # of this window on its own
    status: Status  # of the monitor and segment after it, with k-of-n and recovery
    verdicts: tuple[Verdict, ...] = ()
    counts: Counts
    reference: dict[str, Any] = field(default_factory=dict)  # its period, sizes, AUC, intervals and digest

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
    """One revision of one window, without what only its own page shows: when it fell due, and its metrics.

    `champion_version` is empty and `outcome` None where they do not matter, as of an outlook.
    """

    window: Window
    revision: int
    at: datetime
    metrics: dict[str, float]
    champion_version: str = ""
    outcome: Status | None = None
    id: int = field(default=0, compare=False)  # its number in the store


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition(Stored):
    """A change of status, with why: the verdicts that agree with it, the error, or what else has happened."""

    monitor: str
    segment: str = ""
    at: datetime  # as `Evaluation.at`
    before: Status
    after: Status
    reasons: tuple[Reason, ...] = ()
    since: datetime  # start of the first window that the new status was seen in

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
    """The newest revision of one window, in brief; a tuple, for the overview reads thousands."""

    outcome: str  # of `Status`
    auc: float | None  # the champion's, and its interval
    low: float | None
    high: float | None
    expected_low: float | None  # the forecast interval
    expected_high: float | None
    labelled_share: float | None
