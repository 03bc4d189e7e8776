"""Rule `outlook`: the scores lead to a low AUROC, judged without labels."""

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
_LEAST_STEP = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookRule(BeforeLabels):
    """The AUROC expected from the scores is lower than in the reference windows; judged without labels.

    It also warns when the whole interval of the outlook lies below a ``floor`` of the monitor, or below the
    forecast that leaves the scores aside. Windows that lay below the limit without the loss that they
    foretold lower it.
    """

    kind: Literal["outlook"] = "outlook"
    confidence_level: Level = 0.95

    def _verdict(self, name: str, evidence: Evidence, reference: LearnedReference) -> Verdict:
        """Compare the expected AUROC with reference windows, and its whole interval with other limits."""
        expected, history = evidence.expected, reference.history
        assert expected is not None
        assert history is not None
        lowest, level = self._lowest(name, history, evidence, expected.n_rows)
        learned = self._learned(name, history, evidence, expected.n_rows)
        lowest -= learned
        beyond = {against: at for against, at in evidence.limits.items() if expected.high < at}
        if expected.auc < lowest or not beyond:
            return Verdict(
                rule=name,
                kind=self.kind,
                outcome=Status.AT_RISK if expected.auc < lowest else Status.OK,
                estimate=expected.auc,
                confidence_level=level,
                limit=(lowest, None),
                margin=expected.auc - lowest,
                details={"against": "windows", **({"learned": learned} if learned else {})},
            )
        against, limit = max(beyond.items(), key=lambda item: item[1])
        return Verdict(
            rule=name,
            kind=self.kind,
            outcome=Status.AT_RISK,
            estimate=expected.foreseen,
            low=expected.low,
            high=expected.high,
            confidence_level=expected.achieved_level,
            limit=(limit, None),
            margin=expected.high - limit,
            details={"against": against},
        )

    def _lowest(self, name: str, history: ScoreHistory, evidence: Evidence, rows: int) -> tuple[float, float]:
        """Return the limit of the expected AUROC of a number of scores, and its level."""
        from scipy.special import expit, logit

        from rocmonitor.stats.series import extreme_limit

        level = self.confidence_level
        shown = history.expected_limit(rows, confidence_level=level)
        if is_shown(name, evidence, level, shown.achieved_level):
            return shown.limit, shown.achieved_level
        odds = [logit(min(max(auc, _LEAST_ODDS), 1 - _LEAST_ODDS)) for auc in history.window_expected]
        least = -extreme_limit([-value for value in odds], 1 - level)
        return min(shown.limit, float(expit(least))), level

    def _learned(self, name: str, history: ScoreHistory, evidence: Evidence, rows: int) -> float:
        """Return by how much the limit is lower after windows that were wrongly below it.

        In steps of the scatter of reference windows, or of sampling if that is more: so of the windows since
        the reference no more than the level allows are wrongly warned of in the long run (`tracked_margin`).
        A loss that came as foretold, and that was not warned of for it, takes off a step.
        """
        from rocmonitor.stats.forecast.learning import tracked_margin

        since, sampling = evidence.since, math.sqrt(history.score_variance / rows)
        step = max(stdev(history.window_expected), sampling, _LEAST_STEP)
        limits = {
            rows: self._lowest(name, history, evidence, rows)[0] for rows in {window.rows for window in since}
        }
        short = [limits[window.rows] - window.expected for window in since]
        return tracked_margin(
            short, 1 - self.confidence_level, step, [window.answer(window.expected) for window in since]
        )
