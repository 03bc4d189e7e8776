"""Rule `scores`: the law of the scores has moved, judged without labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import stdev
from typing import TYPE_CHECKING, Literal

from rocmonitor.rules.base import BeforeLabels, Level, is_shown
from rocmonitor.rules.evidence import Evidence, LearnedReference
from rocmonitor.verdict import Status, Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import ScoreHistory


_LEAST_ODDS = 1e-12
_LEAST_STEP, _LARGEST_STEP = 0.01, 1.0
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(BeforeLabels):
    """The law of the scores has left what reference windows do to one another; judged without labels.

    Windows that had left it without a loss of AUROC move the limit further out.
    """

    kind: Literal["scores"] = "scores"
    confidence_level: Level = 0.95

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the distance of the scores with the one within which reference windows stay."""
        expected, history = evidence.expected, reference.history
        assert expected is not None
        assert history is not None
        usual, level = self._largest(name, history, evidence, expected.n_rows)
        margin = self._learned(name, history, evidence)
        limit = math.exp(min(_log(usual) + margin, _LARGEST_LOG)) if margin else usual
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=Status.AT_RISK if expected.score_distance > limit else Status.OK,
            estimate=expected.score_distance,
            confidence_level=level,
            limit=(None, limit),
            margin=limit - expected.score_distance,
            details={"rows": expected.n_rows, **({"learned": limit - usual} if margin else {})},
        )

    def _largest(
        self, name: str, history: ScoreHistory, evidence: Evidence, rows: int
    ) -> tuple[float, float]:
        """Return the limit of the distance of a number of scores, and its level."""
        from rocmonitor.stats.series import extreme_limit

        level = self.confidence_level
        shown = history.distance_limit(rows, confidence_level=level)
        if is_shown(name, evidence, level, shown.achieved_level):
            return shown.limit, shown.achieved_level
        logs = [_log(distance) for distance in history.window_distances]
        return max(shown.limit, math.exp(min(extreme_limit(logs, 1 - level), _LARGEST_LOG))), level

    def _learned(self, name: str, history: ScoreHistory, evidence: Evidence) -> float:
        """Return by how much the logarithm of the limit is higher after windows that were wrongly beyond it.

        As the rule ``outlook`` learns, in steps of the scatter of the logarithms over reference windows. A
        window beyond the limit foretold the AUROC that its scores led to, if that was a loss; else a loss of
        unknown size.
        """
        from rocmonitor.stats.forecast.learning import tracked_margin

        since = evidence.since
        step = stdev(_log(distance) for distance in history.window_distances)
        limits = {
            rows: _log(self._largest(name, history, evidence, rows)[0])
            for rows in {window.rows for window in since}
        }
        short = [_log(window.distance) - limits[window.rows] for window in since]
        return tracked_margin(
            short,
            1 - self.confidence_level,
            min(max(step, _LEAST_STEP), _LARGEST_STEP),
            [window.answer() for window in since],
        )


def _log(distance: float) -> float:
    return math.log(max(distance, _LEAST_ODDS))
