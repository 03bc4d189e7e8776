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
    """The finding of one rule on one window.

    Attributes
    ----------
    rule : str
        Name of the rule in its monitor: its kind, numbered when it comes twice (``forecast``, ``floor_2``).
    kind : str
        Of the rule; ``data`` is no rule: the window is too small to be measured.
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
    kind: str
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
