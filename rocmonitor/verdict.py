"""The finding of a rule on a window, as a value; `rocmonitor.wording` puts it into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from rocmonitor.caveat import Caveat


class Status(StrEnum):
    """The status of a monitor or of one window; ``at-risk`` is a warning from scores without labels."""

    OK = "ok"
    AT_RISK = "at-risk"
    DEGRADED = "degraded"
    IMPROVED = "improved"
    INSUFFICIENT = "insufficient"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The finding of one rule on one window."""

    rule: str  # its name in the monitor: the kind, numbered when it comes twice (``forecast``, ``floor_2``)
    kind: str  # ``data`` is no rule: the window is too small to be measured
    outcome: Status
    # The value tested: an AUROC, or (``drop``, ``challenger``) a difference of two. Of ``lasting``, the
    # change since it began, with an alarm only.
    estimate: float | None = None
    low: float | None = (
        None  # the confidence interval of `estimate`, at `confidence_level`; of a forecast none
    )
    high: float | None = None
    confidence_level: float | None = None  # of a forecast, the level that its reference windows give it
    # Below the first the rule finds the window degraded, above the second improved (of ``cost`` and
    # ``calibration``: degraded, too); None where there is no such end.
    limit: tuple[float | None, float | None] = (None, None)
    margin: float | None = None  # signed distance of the tested end from the limit; negative is outside
    # Further values of the sentence, such as ``reference_auc`` or ``rows``.
    details: dict[str, Any] = field(default_factory=dict, hash=False)
    lacks: tuple[Caveat, ...] = ()  # why the rule could not be applied; empty when it was

    @classmethod
    def lacking(cls, rule: str, kind: str, *lacks: Caveat) -> Verdict:
        """Return the verdict that a rule could not be applied, and why."""
        return cls(rule=rule, kind=kind, outcome=Status.INSUFFICIENT, lacks=lacks)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; `from_dict` is the inverse."""
        return {attribute.name: getattr(self, attribute.name) for attribute in fields(self)} | {
            "outcome": str(self.outcome),
            "limit": list(self.limit),
            "details": dict(self.details),
            "lacks": [caveat.to_dict() for caveat in self.lacks],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Verdict:
        """Return the verdict that `to_dict` gave."""
        known = {name.name: stored[name.name] for name in fields(cls) if name.name in stored}
        parsed = {
            "outcome": Status(stored["outcome"]),
            "limit": tuple(stored["limit"]),
            "lacks": tuple(map(Caveat.from_dict, stored["lacks"])),
        }
        return cls(**known | parsed)
