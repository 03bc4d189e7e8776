"""Rule `drop`: the AUROC is lower than the reference's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from annotated_types import Interval

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.rules.base import Level, Needs, TwoSided, beyond
from rocmonitor.rules.evidence import Evidence, LearnedReference, is_usual
from rocmonitor.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(TwoSided):
    """The AUROC is lower than the reference's by more than `value`, both uncertainties counted."""

    kind: Literal["drop"] = "drop"
    value: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    confidence_level: Level = 0.95

    needs = Needs(auc=True)

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the difference and its interval with the value, both ways."""
        assert evidence.law is not None
        assert reference.auc is not None
        law, past = evidence.law, reference.auc
        both = {"auc": law.auc, "reference_auc": past.auc}
        try:
            difference, low, high = law.change(past, self.confidence_level)
        except DegenerateDataError:  # one score for all here, complete separation there
            return Verdict.lacking(name, self.kind, Caveat("no-scatter-to-compare", **both))
        reach = self._reach(reference, law.sizes) if name in evidence.derived else 0.0
        low, high = min(low, difference - reach), max(high, difference + reach)
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=beyond(high < -self.value, low > self.value),
            estimate=difference,
            low=low,
            high=high,
            confidence_level=self.confidence_level,
            limit=(-self.value, self.value),
            margin=high + self.value,
            details={**evidence.stated, **both},
        )

    def _reach(self, reference: LearnedReference, sizes: tuple[int, int]) -> float:
        """Return how far the AUROC of a window of these sizes may lie from the reference's, as past ones do.

        0 where fewer than two windows show it. Half of the misses are on each side.
        """
        from rocmonitor.stats.area.delong import exact_bootstrap_variance, moments
        from rocmonitor.stats.series import coming_window

        past = [window["auc"] if is_usual(window) else None for window in reference.windows]
        usual = sum(auc is not None for auc in past)
        if reference.cells is None or reference.auc is None or usual < 2:
            return 0.0
        pairs = moments(reference.cells)
        noise = partial(exact_bootstrap_variance, pairs.zeta10, pairs.zeta01, pairs.kernel)
        coming = coming_window(
            [0.0 if auc is None else auc - reference.auc.auc for auc in past],
            [
                math.inf if auc is None else noise(window["n_pos"], window["n_neg"])
                for auc, window in zip(past, reference.windows, strict=True)
            ],
            noise(*sizes),
        )
        return coming.reach((1 - self.confidence_level) / 2, two_sided=True)
