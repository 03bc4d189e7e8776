"""The forecast interval given a window's scores: how strongly to trust them is learned in the conformal step.

Strengths tau from 0 to 1 foresee c_tau, the AUC of the blend (1 - tau) R + tau Q of the reference R and its
projection Q on the window's scores. Which of them serves is learned from past windows i = 1..n by

    tau(a) = argmin over tau of  sum_i w_i (a_i - c_{i,tau})² + (a - c_tau)²

where a is the candidate for the coming AUC. All n + 1 windows enter alike, so the root distances of the
windows at the strength tau(a) are exchangeable (full conformal prediction, [VGS05] 2.2), and

    { a : |x_{tau(a)}(a)| <= the conformal quantile of |x_{i,tau(a)}| }

holds the coming AUC with the level, whatever is learned. (a - c_tau)² is a² plus a line in a, so each
strength is chosen on one interval of a, and the result is the hull of at most five pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.blending import Laws
from rocmonitor.stats.forecast.calibration import (
    LEVEL_ROUNDING,
    Alternative,
    Noise,
    conformal_root,
    sampling_root,
)
from rocmonitor.stats.forecast.interval import ForecastInterval, size_caveats
from rocmonitor.stats.forecast.kld import area, auc_bounds
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.sample import Counts, Floats, Sample

if TYPE_CHECKING:
    from rocmonitor.stats.forecast.projection import ExpectedAuc
    from rocmonitor.stats.forecast.score_history import ScoreHistory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreForecast(ForecastInterval):
    """The AUCs that are expected of a coming window, given its scores.

    What is not described here is that of `ForecastInterval`, at the strength chosen.

    Attributes
    ----------
    auc : float
        Expected from the scores, at full strength, as from `expected_auc`.
    foreseen : float
        The AUC that the interval lies around: of the blend at `strength`. Always within the interval.
    reference_auc : float
        Of the reference.
    strength : float
        Of the projection, within [0, 1]: 0 is the forecast without the scores, 1 trusts them fully. The one
        that served the past windows best; the ends may come from others.
    score_distance : float
        Of the law of the scores to that of the reference, in nats (see `ExpectedAuc`).
    sampling_score_distance : float
        The part of it that sampling alone explains on average.
    prevalence : float
        The share of positives expected.
    outside_share : float
        Share of the scores beyond those of the reference.
    n_rows : int
        Number of scores.
    """

    foreseen: float
    reference_auc: float
    strength: float
    score_distance: float
    sampling_score_distance: float
    prevalence: float
    outside_share: float
    n_rows: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        names, ends = ["given the scores"], [(self.foreseen, self.low, self.high)]
        if self.sampling_low is not None and self.sampling_high is not None:
            names.append("sampling alone")
            ends.append((self.foreseen, self.sampling_low, self.sampling_high))
        note = f"{self.method}, {self._level()}, {self.n_windows} windows; the point is foreseen"
        plotting.rows(ax, names, ends, x="AUROC of a coming window", note=note, label=label)

    def for_batch(self, reference: Sample, batch: tuple[int, int]) -> ForecastInterval:  # noqa: ARG002
        """Refused: the scores of the batch would be needed."""
        raise InputError(
            "a forecast given the scores holds for the window that has these scores; for another batch ask "
            "ScoreHistory.forecast with the batch"
        )


class Piece(NamedTuple):
    """What one strength says: the AUC foreseen, the ends, and the squared errors of the past windows."""

    foreseen: float
    low: float
    high: float
    loss: float
    root: float
    level: float


def score_forecast(
    history: ScoreHistory,
    cells: Sample,
    rows: Counts,
    expected: ExpectedAuc,
    batch: tuple[int, int] | None,
    confidence_level: float,
    alternative: Alternative,
) -> ScoreForecast:
    """The interval for a window with `rows` in each cell of the reference."""
    sizes = _likely(expected) if batch is None else batch
    noise = _Noises.of(history, sizes)
    laws = Laws(cells.score, cells.pos, cells.neg, rows)
    pieces = [
        _piece(history, laws, cells, noise, place, confidence_level, alternative)
        for place in range(len(history.strengths))
    ]
    chosen = int(np.argmin([piece.loss for piece in pieces]))  # of equal ones the weakest
    piece, roots, (low, high) = pieces[chosen], history.roots[chosen], hull(pieces)
    found = ScoreForecast(
        foreseen=piece.foreseen,
        low=low,
        high=high,
        distance=piece.root**2 / 2,
        strength=history.strengths[chosen],
        confidence_level=confidence_level,
        achieved_level=min(of.level for of in pieces),
        window_distances=tuple(root * root / 2 for root in roots),
        window_shifts=roots,
        alternative=alternative,
        batch=sizes,
        **_common(history, expected),
    )
    caveats = (
        *history.caveats,
        *found.level_caveats(history.weights, batch=True),
        *size_caveats(found, Noise(*history.pair_variances)),
        *expected.caveats,
    )
    return replace(found, caveats=caveats)


def _common(history: ScoreHistory, expected: ExpectedAuc) -> dict[str, Any]:
    """The fields of a forecast that do not depend on the strength."""
    return {
        "auc": expected.auc,
        "reference_auc": history.auc,
        "method": "calibrated",
        "n_windows": history.n_windows,
        "inside": history.inside,
        "n_pos": history.n_pos,
        "n_neg": history.n_neg,
        "window_n_pos": history.window_n_pos,
        "window_n_neg": history.window_n_neg,
        "weights": history.weights,
        "set_aside": history.caveats,
        "pair_variances": history.pair_variances,
        "score_distance": expected.score_distance,
        "sampling_score_distance": expected.sampling_distance,
        "prevalence": expected.prevalence,
        "outside_share": expected.outside_share,
        "n_rows": expected.n_rows,
    }


def _likely(expected: ExpectedAuc) -> tuple[int, int]:
    """Class sizes as the expected prevalence divides the scores, each at least 1."""
    n_pos = round(expected.n_rows * expected.prevalence)
    return max(n_pos, 1), max(expected.n_rows - n_pos, 1)


class _Noises(NamedTuple):
    """Variances of sampling noise, in squared AUC: of the past windows and of the coming one."""

    past: Floats
    coming: float
    reference: float
    scores: Floats  # the parts of `past` that the scores show
    coming_scores: float
    scale: float  # squared AUC for one squared root

    @classmethod
    def of(cls, history: ScoreHistory, batch: tuple[int, int]) -> _Noises:
        noise = Noise(*history.pair_variances)
        scale = noise.zeta10 + noise.zeta01
        sizes = list(zip(history.window_n_pos, history.window_n_neg, strict=True))
        return cls(
            scale * np.array([noise.variance(*size) for size in sizes]),
            scale * noise.variance(*batch),
            scale * noise.variance(history.n_pos, history.n_neg),
            history.score_variance / np.array([sum(size) for size in sizes]),
            history.score_variance / sum(batch),
            scale,
        )

    def missing(self, strength: float) -> Floats:
        """(n,): what the coming window has more than each past one, when it is foreseen with a strength."""
        seen = strength * (2 - strength)  # 1 - (1 - strength)²: that much of the scores' noise is foreseen
        more = self.coming - self.past - seen * (self.coming_scores - self.scores)
        return np.asarray(np.maximum(more, 0.0))

    def alone(self, strength: float) -> float:
        """Of the coming window, with that of the reference."""
        seen = strength * (2 - strength)
        return max(self.coming - seen * self.coming_scores, 0.0) + self.reference


def _piece(
    history: ScoreHistory,
    laws: Laws,
    cells: Sample,
    noise: _Noises,
    place: int,
    confidence_level: float,
    alternative: Alternative,
) -> Piece:
    """The interval at one strength."""
    strength, weights = history.strengths[place], history.worth()
    missing = noise.missing(strength)
    scale = noise.scale if noise.scale > 0 else 1.0
    root, level = conformal_root(
        np.array(history.roots[place]), missing / scale, weights, confidence_level, alternative
    )
    if level < confidence_level - LEVEL_ROUNDING:  # too few windows to know: at least the known noise
        root = max(root, sampling_root(noise.alone(strength) / scale, confidence_level, alternative))
    errors = np.array(history.window_aucs) - np.array(history.foreseen[place])
    loss = float((errors**2 + missing) @ weights)
    law = cells if strength == 0 else laws.blended(strength)
    if law is None:  # scores of one class only
        return Piece(history.auc, 0.0, 1.0, loss, root, level)
    own = history.auc if strength == 0 else area(law)
    bounds = auc_bounds(law, root * root / 2)
    low, high = (carried(end, bounds.auc, own) for end in (bounds.low, bounds.high))
    return Piece(own, low, high if alternative == "two-sided" else 1.0, loss, root, level)


def hull(pieces: Sequence[Piece]) -> tuple[float, float]:
    """Ends of the set of AUCs within the interval of the strength that they themselves choose."""
    chosen = [_chosen(piece, pieces) for piece in pieces]
    kept = [(low, high) for low, high in chosen if low <= high]
    return min(low for low, _ in kept), max(high for _, high in kept)


def _chosen(piece: Piece, among: Sequence[Piece]) -> tuple[float, float]:
    """The part of a piece where no other strength has a smaller loss; low > high if there is none."""
    low, high = piece.low, piece.high
    for other in among:
        # loss + (a - c)² <= other.loss + (a - d)²  <=>  2 a (d - c) <= other.loss - loss + d² - c²
        slope = 2 * (other.foreseen - piece.foreseen)
        room = other.loss - piece.loss + (other.foreseen + piece.foreseen) * slope / 2
        if slope > 0:
            high = min(high, room / slope)
        elif slope < 0:
            low = max(low, room / slope)
        elif room < 0:
            return 1.0, 0.0
    return low, high
