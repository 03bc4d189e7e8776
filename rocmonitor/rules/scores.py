"""Rule `scores`: the law of the scores has moved, judged without labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rocmonitor.rules.base import STRICT, BeforeLabels, Level, is_shown
from rocmonitor.rules.evidence import Evidence, Reference
from rocmonitor.verdict import Status, Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import ScoreHistory


_LEAST_ODDS = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(BeforeLabels):
    """The law of the scores has left what reference windows do to one another; judged without labels."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    kind: Literal["scores"] = "scores"
    confidence_level: Level = 0.95

    def verdict(self, name: str, evidence: Evidence, reference: Reference) -> Verdict:
        """Compare the distance of the scores with the one within which reference windows stay."""
        expected, history = evidence.expected, reference.history
        assert expected is not None
        assert history is not None
        limit, level = self._largest(name, history, evidence, expected.n_rows)
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=Status.AT_RISK if expected.score_distance > limit else Status.OK,
            estimate=expected.score_distance,
            confidence_level=level,
            limit=(None, limit),
            margin=limit - expected.score_distance,
            details={"rows": expected.n_rows},
        )

    def _largest(
        self, name: str, history: ScoreHistory, evidence: Evidence, rows: int
    ) -> tuple[float, float]:
        """Return the limit of the distance of a number of scores, and its level."""
        from rocmonitor.stats.forecast.strict import extreme_limit

        level = self.confidence_level
        shown = history.distance_limit(rows, confidence_level=level)
        if is_shown(name, evidence, level, shown.achieved_level):
            return shown.limit, shown.achieved_level
        logs = [math.log(max(distance, _LEAST_ODDS)) for distance in history.window_distances]
        return max(shown.limit, math.exp(min(extreme_limit(logs, 1 - level), 700.0))), level
