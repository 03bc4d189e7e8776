"""A review as a value: what the store keeps, MLflow and the report show, and ``--json`` prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from rocmonitor.policy.record import Record
from rocmonitor.policy.windows import Window

BY_HAND = "|by hand"
"""The end of the key of a review whose period was chosen by hand."""


class Decision(StrEnum):
    """The outcome of a review."""

    CHALLENGER = "challenger better"
    CHAMPION = "champion better"
    NOT_WORSE = "challenger not worse"
    TRADE_OFF = "trade-off"
    UNDECIDED = "no decision yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of the rule after all checks: challenger minus champion.

    Attributes
    ----------
    fpr : float or None
        The rate at which the TPR is compared; None: the AUROC is.
    estimate, low, high : float or None
        The windows' mean difference and the interval of what the rule decides about, valid at any time, that
        is under repeated checks. None without a check.
    checks : int or None
        Windows in which this was compared.
    better : str
        Which model is shown to be better: ``challenger``, ``champion`` or, for neither, empty.
    """

    fpr: float | None
    estimate: float | None
    low: float | None
    high: float | None
    checks: int | None
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """Champion against challenger on the same rows. Every difference is challenger minus champion.

    Attributes
    ----------
    period : Window
        From the start of the first window to the end of the last.
    registered : bool
        Whether the configuration gives period and rows: neither an end nor a segment was chosen by hand.
    reviewed_at : datetime
    decision : Decision
    decided_at : datetime or None
        End of the window since whose check the decision has stood; None without a decision.
    comparisons : tuple of Comparison
        The AUROC first, then each rate of the rule.
    further_windows : int or None
        Number of further windows that would probably decide; None where there is a decision, where that is
        not known, and under a rule that decides about the future.
    rule : dict
        `ReviewRule.to_dict`, and its digest as ``digest``.
    tables
        See `rocmonitor.policy.review.comparison`.
    """

    challenger_version: str  # a review has one always
    period: Window
    registered: bool
    reviewed_at: datetime
    decision: Decision
    decided_at: datetime | None = None
    comparisons: tuple[Comparison, ...] = ()
    further_windows: int | None = None
    rule: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of the comparison, its rows, its rule and its settings; unique within one store."""
        versions = f"{self.champion_version}-{self.challenger_version}"
        digests = (
            self.rule.get("digest", ""),
            self.provenance.get("data_digest", ""),
            self.provenance.get("settings_digest", ""),
        )
        content = "-".join(digest[:12] for digest in digests)
        by_hand = "" if self.registered else BY_HAND
        rows = f"|{self.segment}" if self.segment else ""
        return f"{self.monitor}|review|{versions}|{self.period}|{content}{rows}{by_hand}"

    @property
    def min_per_class(self) -> int | None:
        """Rows of each class that a window needed to be checked; None where it is not known."""
        least: int | None = self.provenance.get("settings", {}).get("min_per_class")
        return None if least is None else max(least, 2)
