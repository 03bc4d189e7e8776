"""Rule `scores`: the law of the scores has moved, judged without labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rocmonitor.rules.base import STRICT, BeforeLabels, Level, is_shown
from rocmonitor.rules.evidence import Evidence, Reference
from rocmonitor.verdict import Status, Verdict

if TYPE_CHECKING:
    from rocmonitor.stats import Sample, ScoreHistory
    from rocmonitor.stats.forecast.score_history import HistoryLimit
    from rocmonitor.stats.rows import Floats
    from rocmonitor.stats.unlabelled import ScoreCounts


_LEAST_ODDS = 1e-12
_ALL = 10_000_000  # rows that stand for a law without sampling noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores(BeforeLabels):
    """The law of the scores has left what reference windows do to one another; judged without labels."""

    __pydantic_config__: ClassVar[dict[str, str | bool]] = STRICT

    kind: Literal["scores"] = "scores"
    confidence_level: Level = 0.95

    def early(
        self, history: ScoreHistory, cells: Sample, *, rows: int, z: float
    ) -> tuple[HistoryLimit, float | None]:
        """Return the limit, and the loss when positives come to score like negatives; None if never seen.

        Where a share of the positives scores as negatives do, the AUROC falls by that share times
        (AUC - 1/2). The distance of such a window is taken as normal: what reference windows differ by beyond
        sampling adds to its mean as it does to theirs, and to its variance by how far their rows scatter in
        the log ratios that the loss brings about.
        """
        limit = history.distance_limit(rows, confidence_level=self.confidence_level)
        return limit, _loss(_short(history, cells, limit.limit, rows, z), history.auc)

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


def _loss(short: Callable[[float], float], auc: float) -> float | None:
    """Return the loss at which nothing is short of the limit any more."""
    from scipy.optimize import brentq  # takes a quarter of a second to import

    if auc <= 0.5 or short(1.0) > 0:
        return None
    share = 0.0 if short(0.0) <= 0 else float(brentq(short, 0.0, 1.0, xtol=1e-4))
    return share * (auc - 0.5)


def _lost(cells: Sample, share: float) -> ScoreCounts:
    """Return the law of the scores when a share of the positives scores as negatives do."""
    import numpy as np

    from rocmonitor.stats.unlabelled import ScoreCounts

    positives, negatives = cells.pos / cells.n_pos, cells.neg / cells.n_neg
    prevalence = cells.n_pos / (cells.n_pos + cells.n_neg)
    law = prevalence * ((1 - share) * positives + share * negatives) + (1 - prevalence) * negatives
    counts = np.round(law * _ALL).astype(np.int64)
    return ScoreCounts(cells.score[counts > 0], counts[counts > 0])


def _drift_variance(history: ScoreHistory, log_ratio: Floats) -> float:
    """Return the variance between reference windows of the mean log ratio of their rows, beyond sampling."""
    import numpy as np

    if not history.window_rows:
        return 0.0
    counts = np.array(history.window_rows, dtype=float)
    rows = counts.sum(axis=1)
    means = counts @ log_ratio / rows
    sampling = (counts @ log_ratio**2 / rows - means**2) / rows
    return max(float(means.var(ddof=1) - sampling.mean()), 0.0)


def _drift_distance(history: ScoreHistory) -> float:
    """Return the mean distance of the reference windows beyond what sampling explains."""
    import numpy as np

    rows = np.array(history.window_n_pos) + np.array(history.window_n_neg)
    rest = history.n_pos + history.n_neg - (rows if history.inside else 0)
    sampling = (np.array(history.occupied) - 1) / 2 * (1 / rows + 1 / rest)
    return max(float(np.mean(np.array(history.window_distances) - sampling)), 0.0)


def _short(
    history: ScoreHistory, cells: Sample, limit: float, rows: int, z: float
) -> Callable[[float], float]:
    """Return how far the distance of a window's scores falls short of the limit, by the share that is
    lost.
    """
    import numpy as np

    drift = _drift_distance(history)

    def of(share: float) -> float:
        shift = history.shift(cells, _lost(cells, share))
        law, here = shift.window_share, shift.window_share > 0
        ratio = np.where(here, shift.nats / np.where(here, law, 1.0), 0.0)
        variance = float(law @ ratio**2) - shift.score_distance**2
        spare = (np.count_nonzero(here) - 1) / 2 / rows
        deviation = math.sqrt(max(variance, 0.0) / rows + spare / rows + _drift_variance(history, ratio))
        return limit - (shift.score_distance + spare + drift - z * deviation)

    return of
