"""Rule `challenger`: the challenger's AUROC against the champion's, reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocmonitor.rules.base import AtLevel, Level, Needs
from rocmonitor.rules.evidence import Evidence, LearnedReference
from rocmonitor.verdict import Status, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenger(AtLevel):
    """The challenger's AUROC against the champion's on the same rows; reported, never an alarm."""

    kind: Literal["challenger"] = "challenger"
    confidence_level: Level = 0.95

    share = 0.0
    needs = Needs(challenger=True)

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Report the difference; where the challenger scored too few rows, there is no estimate."""
        difference = evidence.difference
        if difference is None:
            return Verdict(rule=name, kind=self.kind, outcome=Status.OK)
        low, high = difference.ci(self.confidence_level)
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=Status.OK,
            estimate=difference.difference,
            low=low,
            high=high,
            confidence_level=self.confidence_level,
            details={"rows": difference.n_pos_1 + difference.n_neg_1},
        )
