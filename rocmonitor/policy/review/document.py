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

    `estimate` is the windows' mean difference, with the interval of what the rule decides about, valid at any
    time, that is under repeated checks. None without a check.
    """

    fpr: float | None  # the rate at which the TPR is compared; None: the AUROC is
    estimate: float | None
    low: float | None
    high: float | None
    checks: int | None  # windows in which this was compared
    better: str  # the model that is shown to be better: ``challenger``, ``champion`` or, for neither, empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Record):
    """Champion against challenger on the same rows. Every difference is challenger minus champion.

    `further_windows` would probably decide; None where there is a decision, where that is not known, and
    under a rule that decides about the future. For the tables see `rocmonitor.policy.review.comparison`.
    """

    challenger_version: str  # a review has one always
    period: Window  # from the start of the first window to the end of the last
    registered: bool  # True if the configuration gives period and rows: neither end nor segment is by hand
    reviewed_at: datetime
    decision: Decision
    decided_at: datetime | None = None  # end of the window since whose check the decision has stood
    comparisons: tuple[Comparison, ...] = ()  # the AUROC first, then each rate of the rule
    further_windows: int | None = None
    rule: dict[str, Any] = field(default_factory=dict)  # `ReviewRule.to_dict`, and its ``digest``

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
