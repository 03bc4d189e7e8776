"""The forecast interval given a window's scores: how strongly to trust them is learned from past windows.

A strength tau from 0 to 1 foresees c_tau, the AUC of the blend (1 - tau) R + tau Q of the reference R and its
projection Q on the window's scores. The one that serves has the smallest (1 + h tau)² sum_i w_i (a_i -
c_{i,tau})² over the past windows i, with a handicap of h = 5 % for trusting the scores fully. Each past
window enters the conformal quantile at the strength that the others choose, or the quantile would be too
small.

Past windows that never shifted teach nothing of a shift. So once the scores have left what past windows do,
the interval lies around the expected AUC, at the larger of the two quantiles at full strength and at the
learned one. Two doubts widen it: P(y | score) is known from few rows where the window has many; and another
prevalence alone may explain the scores, unless past windows taught to trust them fully.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.forecast.blending import Laws, few
from rocmonitor.stats.forecast.calibration import (
    LEVEL_ROUNDING,
    Alternative,
    Noise,
    conformal_root,
    resized,
    sampling_root,
)
from rocmonitor.stats.forecast.distance import (
    Thinning,
    cells_between,
    mixture_distance,
    require_own,
    require_sample,
    thinned_quantile,
)
from rocmonitor.stats.forecast.foreseen import ForeseenChange, ScoreShift, error_of, score_shift, split
from rocmonitor.stats.forecast.interval import Asked, ForecastFit, ForecastInterval, valid_batch
from rocmonitor.stats.forecast.kld import area, auc_bounds
from rocmonitor.stats.forecast.projection import ExpectedAuc, Scores, counted_in, projected, valid_unlabelled
from rocmonitor.stats.forecast.windows import carried
from rocmonitor.stats.proportion import quantile_beyond, require_level, require_method, whole_number
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Counts, Floats, Sample

HANDICAP = 0.05  # of full strength: the scores must foresee better by more than this to be trusted fully
WIDEST = 1.05  # times the interval without the scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreForecast(ForecastInterval):
    """The AUCs that are expected of a coming window, given its scores.

    What is not described here is that of `ForecastInterval`, at the strength chosen.

    Attributes
    ----------
    auc: Expected from the scores, at full strength, as from `expected_auc`.
    foreseen: The AUC that the interval lies around: of the blend at `strength`. Always within the interval.
    reference_auc: Of the reference.
    strength: Of the projection, within [0, 1]: 0 is the forecast without the scores, 1 trusts them fully. The
        one that served the past windows best; 1 where the scores have moved.
    moved: Whether the scores have left what past windows do, with the level 0.95.
    score_distance: Of the law of the scores to that of the reference, in nats (see `ExpectedAuc`).
    sampling_score_distance: The part of it that sampling alone explains on average.
    prevalence: The share of positives expected.
    outside_share: Share of the scores beyond those of the reference.
    n_rows: Number of scores.
    """

    _point: ClassVar = ("foreseen", "given the scores", "foreseen")

    foreseen: float
    reference_auc: float
    strength: float
    moved: bool
    score_distance: float
    sampling_score_distance: float
    prevalence: float
    outside_share: float
    n_rows: int

    def for_batch(
        self,
        reference: Sample,  # noqa: ARG002
        batch: tuple[int, int],  # noqa: ARG002
    ) -> ForecastInterval:
        """Refused: the scores of the batch would be needed."""
        raise InputError(
            "a forecast given the scores holds for the window that has these scores; for another batch ask "
            "ScoreHistory.forecast with the batch"
        )


class ForecastAtStrength(NamedTuple):
    """The forecast of a window at one strength."""

    strength: float
    foreseen: float  # the AUC of the blend
    law: Sample | None  # the blend; None if it has one class
    root: float  # the conformal quantile of root distances
    level: float

    def ends(self, alternative: Alternative) -> tuple[float, float]:
        """Return the interval."""
        if self.law is None:
            return 0.0, 1.0
        bounds = auc_bounds(self.law, self.root**2 / 2)
        low, high = (carried(end, bounds.auc, self.foreseen) for end in (bounds.low, bounds.high))
        return low, high if alternative == "two-sided" else 1.0


class UnlabelledWindow(NamedTuple):
    """A window without labels, in the terms of its history."""

    cells: Sample  # the reference
    rows: Counts  # the window's in each of these cells
    scores: tuple[Floats, Counts | None]  # with the rows at each
    expected: ExpectedAuc
    widening: float  # of the roots without the scores, for neighbouring windows that are alike


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


class ChosenInterval(NamedTuple):
    """An interval, and what it follows from."""

    choice: ForecastAtStrength
    roots: tuple[float, ...]
    low: float
    high: float


def score_forecast(
    history: ScoreHistory,
    coming: UnlabelledWindow,
    asked: Asked,
    alternative: Alternative,
    *,
    stated: ExpectedAuc | None = None,
) -> ScoreForecast:
    """Return the interval for a window.

    `stated` is what the forecast says of all scores, where those of `coming` are joined ones.
    """
    expected = coming.expected
    laws = Laws.of(coming.cells.score, coming.cells.pos, coming.cells.neg, coming.rows)
    noises = Noises.of(history, int(coming.rows.sum()), asked.batch)
    level = asked.level, alternative
    sized = Asked(asked.batch or divided(expected.n_rows, expected.prevalence), asked.level)

    def ends(choice: ForecastAtStrength, roots: tuple[float, ...]) -> ChosenInterval:
        return ChosenInterval(choice, roots, *choice.ends(alternative))

    without = at_strength(history, laws, coming.cells, noises, 0, *level, coming.widening)
    full = at_strength(history, laws, coming.cells, noises, -1, *level)
    choice, roots = learned(history, laws, coming.cells, noises, *level, coming.widening)
    moved = expected.score_distance > history.distance_limit(expected.n_rows).limit and full.law is not None
    if moved:
        trusted = choice.strength == 1
        if full.root < choice.root:
            full = full._replace(root=choice.root, level=choice.level)
        else:
            roots = history.roots[-1]
        stays = None if trusted else ends(without, history.roots[0])
        interval = _doubted(history, coming, ends(full, roots), stays, *level)
    else:
        widths = []
        for option in (choice, without):
            low, high = option.ends(alternative)
            # Of one end alone, from what is foreseen down to it.
            widths.append(high - low if alternative == "two-sided" else option.foreseen - low)
        too_wide = widths[0] > WIDEST * widths[1]
        interval = ends(without, history.roots[0]) if too_wide else ends(choice, roots)
    strength = interval.choice.strength
    fit = ForecastFit(
        auc=history.auc,
        method="calibrated",
        alternative=alternative,
        confidence_level=asked.level,
        batch=sized.batch,
        window_distances=tuple(root * root / 2 for root in interval.roots),
        window_shifts=interval.roots,
        window_n_pos=history.window_n_pos,
        window_n_neg=history.window_n_neg,
        weights=history.weights,
        inside=history.inside,
        set_aside=history.caveats,
        n_pos=history.n_pos,
        n_neg=history.n_neg,
        pair_variances=history.pair_variances,
        widening=1 + (coming.widening - 1) * (1 - strength),  # scores fully trusted explain correlation
    )
    stated, achieved = stated or expected, interval.choice.level
    return ScoreForecast(
        auc=stated.auc,
        foreseen=interval.choice.foreseen,
        reference_auc=history.auc,
        low=interval.low,
        high=interval.high,
        distance=interval.choice.root**2 / 2,
        strength=strength,
        moved=moved,
        method=fit.method,
        alternative=alternative,
        confidence_level=asked.level,
        achieved_level=achieved,
        n_windows=fit.n_windows,
        n_pos=history.n_pos,
        n_neg=history.n_neg,
        batch=sized.batch,
        score_distance=stated.score_distance,
        sampling_score_distance=stated.sampling_distance,
        prevalence=stated.prevalence,
        outside_share=stated.outside_share,
        n_rows=expected.n_rows,
        fit=fit,
        caveats=(*fit.window_caveats(sized, achieved), *expected.caveats),
    )


def _doubted(
    history: ScoreHistory,
    coming: UnlabelledWindow,
    interval: ChosenInterval,
    stays: ChosenInterval | None,
    confidence_level: float,
    alternative: Alternative,
) -> ChosenInterval:
    """Return the interval of a window whose scores have moved, with the doubts about what is expected.

    `stays` is the one without the scores; None where past windows taught to trust these fully.
    """
    centre, error = interval.choice.foreseen, error_of(coming.cells, *coming.scores)
    tail = (1 - confidence_level) / (2 if alternative == "two-sided" else 1)
    se = quantile_beyond(tail) * error.se
    low = centre - max(error.mean, 0.0) - math.hypot(centre - interval.low, se)
    high = centre - min(error.mean, 0.0) + math.hypot(interval.high - centre, se)
    ends, limit = np.array(history.ends), history.distance_limit(coming.expected.n_rows).limit
    if stays and mixture_distance(coming.cells, ends, counted_in(ends, *coming.scores)) <= limit:
        low, high = min(low, stays.low), max(high, stays.high)
    return interval._replace(low=max(low, 0.0), high=min(high, 1.0))


def divided(rows: int, prevalence: float) -> tuple[int, int]:
    """Return the class sizes of a number of rows, each at least 1."""
    n_pos = round(rows * prevalence)
    return max(n_pos, 1), max(rows - n_pos, 1)


class Noises(NamedTuple):
    """Variances of sampling noise, in squared AUC: of the past windows, and of the coming one.

    The coming window's classes are unknown, unless they are given: compared with a past window, it has its
    own number of rows, and the prevalence of that window.
    """

    past: Floats
    coming: Floats
    reference: float
    scores: Floats  # the parts of `past` that the scores show
    coming_scores: float
    scale: float  # squared AUC for one squared root

    @classmethod
    def of(cls, history: ScoreHistory, rows: int, batch: tuple[int, int] | None) -> Noises:
        """Return the noises of a history, for a coming window of `rows` rows, or of given classes."""
        noise = Noise(*history.pair_variances)
        scale = noise.zeta10 + noise.zeta01
        sizes = list(zip(history.window_n_pos, history.window_n_neg, strict=True))
        likely = [batch or divided(rows, n_pos / (n_pos + n_neg)) for n_pos, n_neg in sizes]
        return cls(
            scale * np.array([noise.variance(*size) for size in sizes]),
            scale * np.array([noise.variance(*size) for size in likely]),
            scale * noise.variance(history.n_pos, history.n_neg),
            history.score_variance / np.array([sum(size) for size in sizes]),
            history.score_variance / (sum(batch) if batch else rows),
            scale,
        )

    def left(self, strength: float) -> Floats:
        """(2, n): the noise of each past window, and of the coming one, when foreseen with a strength."""
        seen = strength * (2 - strength)  # 1 - (1 - strength)²: that much of the scores' noise is foreseen
        past, coming = self.past - seen * self.scores, self.coming - seen * self.coming_scores
        return np.maximum(np.stack([past, coming]), 0.0)

    def alone(self, strength: float) -> float:
        """Return the noise of the coming window, with that of the reference."""
        seen = strength * (2 - strength)
        return max(float(self.coming.mean()) - seen * self.coming_scores, 0.0) + self.reference


def at_strength(
    history: ScoreHistory,
    laws: Laws,
    cells: Sample,
    noises: Noises,
    place: int,
    confidence_level: float,
    alternative: Alternative,
    widening: float = 1.0,
) -> ForecastAtStrength:
    """One strength, whatever the past windows say of it."""
    strength = history.strengths[place]
    roots = (1 + (widening - 1) * (1 - strength)) * np.array(history.roots[place])
    left = noises.left(strength)
    return _forecast(history, laws, cells, noises, roots, left, strength, confidence_level, alternative)


def learned(
    history: ScoreHistory,
    laws: Laws,
    cells: Sample,
    noises: Noises,
    confidence_level: float,
    alternative: Alternative,
    widening: float = 1.0,
) -> tuple[ForecastAtStrength, tuple[float, ...]]:
    """Return the strength that served the past windows best, and the roots at which each was foreseen."""
    left = np.stack([noises.left(strength) for strength in history.strengths])
    missing = np.maximum(left[:, 1] - left[:, 0], 0.0)
    errors = np.array(history.window_aucs) - np.array(history.foreseen)
    losses = (errors**2 + missing) * history.worth()
    handicap = (1 + HANDICAP * np.array(history.strengths)) ** 2
    total = losses.sum(axis=1)
    others = np.argmin(handicap[:, np.newaxis] * (total[:, np.newaxis] - losses), axis=0)
    place, window = int(np.argmin(handicap * total)), np.arange(history.n_windows)
    roots, strength = np.array(history.roots)[others, window], history.strengths[place]
    wider = (1 + (widening - 1) * (1 - np.array(history.strengths)))[others]
    own = left[others, :, window].T
    forecast = _forecast(
        history, laws, cells, noises, wider * roots, own, strength, confidence_level, alternative
    )
    return forecast, tuple(roots.tolist())


def _forecast(
    history: ScoreHistory,
    laws: Laws,
    cells: Sample,
    noises: Noises,
    roots: Floats,
    left: Floats,
    strength: float,
    confidence_level: float,
    alternative: Alternative,
) -> ForecastAtStrength:
    """Return the forecast at a strength, from the roots of past windows and the noise `left` in them."""
    scale = noises.scale if noises.scale > 0 else 1.0
    root, level = conformal_root(
        *resized(roots, *(left / scale)), history.worth(), confidence_level, alternative
    )
    if level < confidence_level - LEVEL_ROUNDING:  # too few windows to know: at least the known noise
        root = max(root, sampling_root(noises.alone(strength) / scale, confidence_level, alternative))
    law = cells if strength == 0 else laws.blended(strength)
    own = history.auc if strength == 0 or law is None else area(law)
    return ForecastAtStrength(strength, own, law, root, level)
