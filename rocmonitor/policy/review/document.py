"""A review: a value that the store keeps, MLflow and the report show, and ``--json`` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rocmonitor.policy.windows import Window

BY_HAND = "|by hand"
"""How the key of a review ends whose period was chosen by hand."""


class Decision(StrEnum):
    """What a review finds."""

    CHALLENGER = "challenger better"
    CHAMPION = "champion better"
    TRADE_OFF = "trade-off"
    UNDECIDED = "no decision yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Champion against challenger on the same rows. Every difference is challenger minus champion.

    Attributes
    ----------
    monitor, model : str
    segment : str
        Empty for all rows, else ``column=value``: the rows of one segment, chosen by hand.
    champion_version, challenger_version : str
        Pinned when the review began.
    period : Window
        From the start of the first window to the end of the last.
    registered : bool
        Whether period and rows are those that the configuration gives: no end and no segment chosen by hand.
    reviewed_at : datetime
    decision : Decision
    decided_at : datetime or None
        End of the window since whose look the decision has stood; None while there is none.
    summary : str
        Why it is decided so, with its numbers; read below the decision.
    advice : str
        What is to be expected of more windows.
    rule : dict
        `ReviewRule.to_dict`, and its digest as ``digest``.
    metrics : dict of str to float
        Named as in MLflow and ``--json``; always finite.
    tables : dict of str to list of dict
        See `rocmonitor.policy.review.comparison`.
    provenance : dict
        Source, query, columns, zone, seed, digests of the data, software versions: enough to repeat it.
    caveats : tuple of str
    """

    monitor: str
    model: str
    segment: str = ""
    champion_version: str
    challenger_version: str
    period: Window
    registered: bool
    reviewed_at: datetime
    decision: Decision
    decided_at: datetime | None = None
    summary: str
    advice: str
    rule: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    caveats: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """Monitor and segment, as people read them."""
        return ", ".join(filter(None, [self.monitor, self.segment]))

    @property
    def key(self) -> str:
        """Names the comparison, its rows, its rule and what is shown beside it; unique within one store."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; instants as ISO 8601 in UTC."""
        plain = asdict(self)
        plain["period"] = {"start": _iso(self.period.start), "end": _iso(self.period.end)}
        plain["reviewed_at"] = _iso(self.reviewed_at)
        plain["decided_at"] = None if self.decided_at is None else _iso(self.decided_at)
        plain["decision"] = str(self.decision)
        plain["caveats"] = list(self.caveats)
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Review:
        """The inverse of `to_dict`."""
        known = {name.name: plain[name.name] for name in fields(cls) if name.name in plain}
        decided = plain["decided_at"]
        return cls(
            **{
                **known,
                "period": Window(*(datetime.fromisoformat(plain["period"][end]) for end in ("start", "end"))),
                "reviewed_at": datetime.fromisoformat(plain["reviewed_at"]),
                "decided_at": None if decided is None else datetime.fromisoformat(decided),
                "decision": Decision(plain["decision"]),
                "caveats": tuple(plain["caveats"]),
            }
        )


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat()
