"""The history of forecasts given the scores: each past window projected by the reference without it.

A history is computed once for a reference and its windows. With the reference (condensed will do) it gives,
for the unlabelled scores of any later window, the forecast interval of its AUC, and limits for the distance
of its scores and for its expected AUC: all conformal, and for the window's own size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import ENOUGH_WINDOWS
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.area.delong import moments
from rocmonitor.stats.forecast.blending import STRENGTHS, few, score_bias, score_variance, view
from rocmonitor.stats.forecast.calibration import Alternative, conformal_root, resized
from rocmonitor.stats.forecast.distance import (
    Thinning,
    cells_between,
    require_own,
    require_sample,
    score_cells,
    thinned_quantile,
    valid_windows,
)
from rocmonitor.stats.forecast.foreseen import ForeseenChange, ScoreShift, score_shift, split
from rocmonitor.stats.forecast.given_scores import ScoreForecast, UnlabelledWindow, score_forecast
from rocmonitor.stats.forecast.interval import Asked, valid_batch
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.projection import (
    ExpectedAuc,
    Scores,
    counted_in,
    projected,
    valid_unlabelled,
)
from rocmonitor.stats.forecast.windows import UsedWindows, past_windows, valid_weights
from rocmonitor.stats.proportion import require_level, require_method, whole_number
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Counts, Floats, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimit(Result):
    """A limit that past windows set to a coming one.

    Attributes
    ----------
    limit
    achieved_level: The probability with which an exchangeable window keeps within the limit, on average over
        past windows. Given them, the probability of leaving it varies like a Beta variable with the
        parameters `beta` [V12].
    beta: ``((1 - achieved_level) (W + 1), achieved_level (W + 1))``, W the sum of the weights.
    rows: Number of scores of the coming window.
    n_windows: Past windows used.
    """

    _estimate: ClassVar[str | None] = "limit"

    limit: float
    confidence_level: float
    achieved_level: float
    beta: tuple[float, float]
    rows: int
    n_windows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreHistory(Result):
    """Past windows, each foreseen from its scores by the reference without it.

    Attributes
    ----------
    auc: Of the reference.
    ends: Upper ends of the cells that score distances are over, all but the last.
    lowest: The smallest score of the reference, which a condensed one has lost.
    strengths: Of the projection, from 0 to 1.
    foreseen, roots: For each strength, of each window: the AUC foreseen, and the signed root distance sqrt(2
        D) of the realised one from it.
    window_aucs, window_expected, window_distances: Of each window: realised AUC, expected AUC by the whole
        reference, and score distance to the reference without the window.
    window_n_pos, window_n_neg: Class sizes of the windows.
    log_variances, occupied, inverse_shares: What the sampling noise of the score distances follows from: the
        variance of ln(window / reference) over the rows of each window, the number of cells that it has rows
        in, and the sum of 1 / share over them.
    pair_variances: zeta10, zeta01 and the variance of psi over all pairs of the reference.
    score_variance: Of the expected AUC, times the number of rows.
    score_bias: Likewise: the mean error of the expected AUC.
    weights: Of the windows; empty when all count alike.
    inside: Whether the windows were parts of the reference.
    n_pos, n_neg: Class sizes of the reference.
    window_rows: Rows of each window in each of the cells that score distances are over.
    """

    auc: float
    ends: tuple[float, ...]
    lowest: float
    strengths: tuple[float, ...]
    foreseen: tuple[tuple[float, ...], ...]
    roots: tuple[tuple[float, ...], ...]
    window_aucs: tuple[float, ...]
    window_expected: tuple[float, ...]
    window_distances: tuple[float, ...]
    window_n_pos: tuple[int, ...]
    window_n_neg: tuple[int, ...]
    log_variances: tuple[float, ...]
    occupied: tuple[int, ...]
    inverse_shares: tuple[float, ...]
    pair_variances: tuple[float, float, float]
    score_variance: float
    weights: tuple[float, ...]
    inside: bool
    n_pos: int
    n_neg: int
    score_bias: float = 0.0
    window_rows: tuple[tuple[int, ...], ...] = ()
    caveats: tuple[Caveat, ...] = ()

    @property
    def n_windows(self) -> int:
        """Windows used."""
        return len(self.window_aucs)

    @property
    def window_sizes(self) -> Counts:
        """(n,): Rows of the windows."""
        return np.asarray(np.array(self.window_n_pos) + np.array(self.window_n_neg))

    def __str__(self) -> str:
        return f"score history of {self.n_windows} windows, reference AUC {self.auc:.4f}"

    def expected(self, reference: Sample, scores: Scores) -> ExpectedAuc:
        """`expected_auc`, by this reference or by what `condensed` left of it."""
        score, count = valid_unlabelled(scores, "scores")
        return self._expected(self._cells(reference), score, count)

    def forecast(
        self,
        reference: Sample,
        scores: Scores,
        *,
        batch: tuple[int, int] | None = None,
        confidence_level: float = 0.95,
        alternative: Alternative = "two-sided",
        widening: float = 1.0,
        stated: ExpectedAuc | None = None,
    ) -> ScoreForecast:
        """Return the forecast interval of the AUC of a window, given its unlabelled scores.

        Parameters
        ----------
        reference: The one that the history was computed from, or what `condensed` left of it.
        scores: Of the window, as in `expected_auc`.
        batch: Positives and negatives of the window. Default: as the expected prevalence divides the scores.
        confidence_level, alternative: As in `forecast_interval`.
        widening: What the roots of past windows without the scores are multiplied by, as
            `ForecastFit.widening`; by less where the scores are trusted, and by 1 where they are trusted
            fully.
        stated: `expected_auc` of all scores of the reference, which the forecast states then; the interval is
            computed on joined ones.

        Notes
        -----
        Cost: `expected_auc` and five `auc_bounds` on about 400 cells; where the scores have moved, besides 50
        isotonic fits on at most about 1,000 cells.
        """
        level = require_level(confidence_level)
        require_method(alternative, get_args(Alternative), "alternative")
        cells = self._cells(reference)
        score, count = valid_unlabelled(scores, "scores")
        sizes = None if batch is None else valid_batch(batch)
        expected = self._expected(cells, score, count)
        rows = counted_in(cells.score[:-1], score, count)
        coming = UnlabelledWindow(cells, rows, (score, count), expected, widening)
        asked = Asked(sizes, level)
        return score_forecast(self, coming, asked, alternative, stated=stated)

    def shift(self, reference: Sample, scores: Scores) -> ScoreShift:
        """`score_shift`, over the cells of this history."""
        return score_shift(self._cells(reference), scores, ends=self.ends)

    def split(self, reference: Sample, window: Sample, *, scores: Scores | None = None) -> ForeseenChange:
        """Split the change of a window's AUC into what its scores foretold and the rest."""
        cells = self._cells(reference)
        require_sample(window, "window")
        window.require_both_classes()
        own = (window.score, window.pos + window.neg)
        given = own if scores is None else valid_unlabelled(scores, "scores")
        ends = cells_between(cells, np.array(self.ends))
        return split(self._expected(cells, *given), ends, cells, window, given)

    def distance_limit(self, rows: int, *, confidence_level: float = 0.95) -> HistoryLimit:
        """Return the limit that the score distance of a coming window keeps to with the level.

        A past window with more rows counts as a sample of `rows` of them; a smaller one is unchanged.
        """
        level, own = require_level(confidence_level), whole_number(rows, "rows")
        quantile = thinned_quantile(np.array(self.window_distances), self.thinning, own, self.worth(), level)
        return self._limit(*quantile, rows=rows, confidence_level=level)

    @property
    def thinning(self) -> Thinning:
        """Return what the distances of smaller samples of the windows follow from."""
        numbers = map(np.array, (self.log_variances, self.occupied, self.inverse_shares))
        return Thinning(self.window_sizes, *numbers)

    def expected_limit(self, rows: int, *, confidence_level: float = 0.95) -> HistoryLimit:
        """Return the limit that the expected AUC of a coming window stays above with the level.

        Its own scatter over the past windows, with the sampling noise that the coming window has more, and
        the small bias that comes with it. All windows are read with the P(y | score) of the whole
        reference, as the coming one is.
        """
        level, weights, past = require_level(confidence_level), self.worth(), self.window_sizes
        own = 1 / np.full(self.n_windows, float(whole_number(rows, "rows")))
        expected = np.array(self.window_expected) + self.score_bias * (own - 1 / past)
        expected, missing = resized(expected, self.score_variance / past, self.score_variance * own)
        top = float(expected.max())
        root, achieved = conformal_root(expected - top, missing, weights, level, "less")
        return self._limit(top - root, achieved, rows=rows, confidence_level=level)

    def _limit(self, limit: float, achieved: float, **asked: Any) -> HistoryLimit:
        size = float(self.worth().sum()) + 1
        return HistoryLimit(
            limit=limit,
            achieved_level=achieved,
            beta=((1 - achieved) * size, achieved * size),
            n_windows=self.n_windows,
            **asked,
        )

    def missing(self, rows: float) -> Floats:
        """(n,): 1/rows less that of each window, where it is positive."""
        return np.asarray(np.maximum(1 / rows - 1 / self.window_sizes, 0.0))

    def worth(self) -> Floats:
        """(n,): the weights of the windows."""
        return np.array(self.weights) if self.weights else np.ones(self.n_windows)

    def _cells(self, reference: Sample) -> Sample:
        require_own(reference, self.n_pos, self.n_neg)
        return few(reference)

    def _expected(self, cells: Sample, score: Floats, count: Counts | None) -> ExpectedAuc:
        expected = projected(cells, score, count, cells_between(cells, np.array(self.ends)), self.lowest)
        return replace(expected, reference_auc=self.auc)


def score_history(
    reference: Sample,
    windows: Sequence[Sample],
    *,
    weights: ArrayLike | None = None,
    inside: bool | None = None,
) -> ScoreHistory:
    """Foresee each past window from its scores, by the reference without it.

    Parameters
    ----------
    reference: What the model is judged against.
    windows: Past windows, at least 8 with both classes.
    weights, shape (number of windows,): As in `forecast_interval`, like `inside`.

    Raises
    ------
    InputError: Something that is no `Sample`; impossible weights.
    DegenerateDataError: A reference of one class; fewer than 8 windows that can be used.

    Notes
    -----
    On the cells of `condensed`. An expected AUC by them differs by up to 0.002 from that by all scores, and a
    score distance by up to 6 % (normal scores, 2,000 rows and more). Cost: as `forecast_interval`, and four
    `auc_distance` on about 400 cells for each window.
    """
    require_sample(reference, "reference")
    reference.require_both_classes()
    given = valid_windows(windows, Sample)
    past = past_windows(reference, given, take_out=True, inside=inside) if given else UsedWindows()
    if len(past.kept) < ENOUGH_WINDOWS:
        raise DegenerateDataError(
            f"a forecast given the scores needs at least {ENOUGH_WINDOWS} past windows with both classes; "
            f"{len(past.kept)} of {len(given)} can be used: give more or shorter windows, or forecast "
            "without the scores"
        )
    worth = None if weights is None else valid_weights(weights, len(given), past.kept)
    used, pairs, cells = [given[place] for place in past.kept], moments(reference), few(reference)
    of_scores = score_cells(cells)
    views = [view(cells, of_scores, window, inside=past.inside) for window in used]
    return ScoreHistory(
        auc=area(reference),
        ends=tuple(of_scores.ends.tolist()),
        lowest=float(reference.score[0]),
        strengths=STRENGTHS,
        foreseen=tuple(zip(*(window_view.foreseen for window_view in views), strict=True)),
        roots=(past.shifts, *zip(*(window_view.roots for window_view in views), strict=True)),
        window_aucs=tuple(area(window) for window in used),
        window_expected=tuple(window_view.expected for window_view in views),
        window_distances=tuple(window_view.distance for window_view in views),
        window_n_pos=tuple(window.n_pos for window in used),
        window_n_neg=tuple(window.n_neg for window in used),
        log_variances=tuple(window_view.log_variance for window_view in views),
        occupied=tuple(window_view.occupied for window_view in views),
        inverse_shares=tuple(window_view.inverse_shares for window_view in views),
        pair_variances=(pairs.zeta10, pairs.zeta01, pairs.kernel),
        score_variance=score_variance(cells),
        score_bias=score_bias(cells),
        window_rows=tuple(window_view.rows for window_view in views),
        weights=() if worth is None else tuple(worth.tolist()),
        inside=past.inside,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        caveats=past.caveats,
    )
