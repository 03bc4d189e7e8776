"""Rule `floor`: the AUROC is shown to be below a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval

from rocmonitor.rules.base import Level, TwoSided, beyond
from rocmonitor.rules.evidence import Evidence, LearnedReference
from rocmonitor.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor(TwoSided):
    """The whole confidence interval of the AUROC lies below a value."""

    kind: Literal["floor"] = "floor"
    value: Annotated[float, Interval(gt=0, lt=1)]
    confidence_level: Level = 0.95

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the whole interval with the value."""
        assert evidence.law is not None
        low, high = evidence.law.ci(self.confidence_level)
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=beyond(high < self.value, False),
            estimate=evidence.law.auc,
            low=low,
            high=high,
            confidence_level=self.confidence_level,
            limit=(self.value, None),
            margin=high - self.value,
            details=dict(evidence.stated),
        )
