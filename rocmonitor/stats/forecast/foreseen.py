"""The scores that moved, and the part of a change of the AUC they foretold.

By the chain rule the distance of a window's joint law of (score, label) to that of the reference is
KL(scores) + E[KL(label | score)]: the first term is seen at once, the second with the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.distance import (
    FLOOR,
    ScoreCells,
    bin_ends,
    binned_counts,
    cells_between,
    require_sample,
    score_cells,
)
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.projection import (
    ExpectedAuc,
    Scores,
    area_in_cells,
    counted_in,
    valid_unlabelled,
)
from rocmonitor.stats.proportion import quantile_beyond, require_level
from rocmonitor.stats.result import Interval, Result, Table
from rocmonitor.stats.rows import valid_scores
from rocmonitor.stats.sample import Counts, Floats, Sample

_SEED, _DRAWS = 41, 50
_CELLS = 500  # quantiles of the reference, and as many of the window; more distinct scores are joined
_NEAR = 50  # rows of the reference on either side that smooth its P(y | score)
_WINDOW_CELLS, _FEW_ROWS = 20, 100


class Error(NamedTuple):
    """The error of the change of the AUC foreseen from scores: mean and scatter."""

    mean: float
    se: float


def error_of(reference: Sample, score: Floats, count: Counts | None) -> Error:
    """Return the error of what is foreseen of these scores, by a parametric bootstrap of the reference.

    Rows and labels of the reference are drawn by P(y | score) as the mean of the labels of some 50 rows on
    either side. Isotonic levels of its own would be sure of themselves at the ends, where a few rows of one
    class make them 0 or 1. The seed is fixed: the same rows have the same error.

    Cost: 50 isotonic fits on at most about 1,000 cells.
    """
    pos, neg, ends = _joined(reference, score, count)
    rows, window = pos + neg, counted_in(ends, score, count)
    reached, reached_pos = (np.concatenate([[0.0], np.cumsum(counts)]) for counts in (rows, pos))
    middle = (reached[1:] + reached[:-1]) / 2
    from_, to = np.maximum(middle - _NEAR, 0.0), np.minimum(middle + _NEAR, reached[-1])
    positives = np.interp(to, reached, reached_pos) - np.interp(from_, reached, reached_pos)
    share = (positives + 0.5) / (to - from_ + 1)  # never 0 or 1
    smooth = np.asarray(scipy.optimize.isotonic_regression(share, weights=rows).x)
    then, now = (area_in_cells(counts * smooth, counts * (1 - smooth)) for counts in (rows, window))
    true = now - then
    rng = np.random.default_rng(_SEED)
    errors = []
    drawn = zip(
        rng.poisson(rows * smooth, (_DRAWS, len(rows))),
        rng.poisson(rows * (1 - smooth), (_DRAWS, len(rows))),
        strict=True,
    )
    for drawn_pos, drawn_neg in drawn:
        held = np.flatnonzero(drawn_pos + drawn_neg)
        if not drawn_pos.any() or not drawn_neg.any():
            continue  # no reference could be of one class
        weights = (drawn_pos + drawn_neg)[held].astype(np.float64)
        fit = scipy.optimize.isotonic_regression(drawn_pos[held] / weights, weights=weights).x
        share = fit[np.minimum(np.searchsorted(held, np.arange(len(rows))), len(held) - 1)]
        then, now = area_in_cells(drawn_pos, drawn_neg), area_in_cells(window * share, window * (1 - share))
        errors.append(now - then - true)
    return Error(float(np.mean(errors)), float(np.std(errors, ddof=1)))


def thin_share(reference: Sample, score: Floats, count: Counts | None) -> float:
    """Return the share of the scores in those 20ths of the window where the reference has under 100 rows."""
    order = np.argsort(score)
    score, rows = score[order], np.ones(len(score)) if count is None else count[order]
    ends = bin_ends(score, rows, _WINDOW_CELLS)
    window = binned_counts(score, rows, ends)
    held = binned_counts(reference.score, reference.pos + reference.neg, ends)
    return float(window[held < _FEW_ROWS].sum() / window.sum())


def _joined(reference: Sample, score: Floats, count: Counts | None) -> tuple[Floats, Floats, Floats]:
    """Rows of the reference in cells, shape (h,) each, and their ends (h - 1,): at quantiles of both laws."""
    rows = reference.pos + reference.neg
    if len(reference.score) <= 2 * _CELLS:
        return reference.pos.astype(np.float64), reference.neg.astype(np.float64), reference.score[:-1]
    order = np.argsort(score)
    own = bin_ends(score[order], np.ones(len(score)) if count is None else count[order], _CELLS)
    ends = np.union1d(bin_ends(reference.score, rows, _CELLS), own)
    # A cell without rows of the reference is joined with the next one above, and the last with that before.
    ends = ends[binned_counts(reference.score, rows, ends)[:-1] > 0]
    ends = ends[ends < reference.score[-1]]
    pos, neg = (binned_counts(reference.score, counts, ends) for counts in (reference.pos, reference.neg))
    return pos, neg, ends


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreShift(Table):
    """The scores that moved: a line for each cell of the score distance, lowest first.

    Attributes
    ----------
    low, high, shape (h,): The cell holds the scores above `low` up to and including `high`. The outermost
        cells are open; their outer ends are the smallest and the largest score of both.
    reference_share, window_share, shape (h,): Share of the rows in the cell.
    nats, shape (h,): What the cell adds to the distance; negative where the window has a smaller share.
    score_distance: The sum of `nats`.
    n_rows: Number of scores.
    """

    low: Floats
    high: Floats
    reference_share: Floats
    window_share: Floats
    nats: Floats
    score_distance: float
    n_rows: int

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        edges = np.append(self.low, self.high[-1])
        plotting.bars(ax, edges, [("reference", self.reference_share), ("window", self.window_share)])
        note = f"score distance {self.score_distance:.4g} nats; {self.n_rows:,} scores"
        plotting.describe(ax, x="score", y="share of the rows", note=note, label=label)

    def __str__(self) -> str:
        most = int(np.argmax(np.abs(self.window_share - self.reference_share)))
        return (
            f"score distance {self.score_distance:.4g} of {self.n_rows:,} scores; most moved: "
            f"{self.low[most]:.4g} to {self.high[most]:.4g}, share {self.reference_share[most]:.3f} -> "
            f"{self.window_share[most]:.3f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenChange(Result):
    """A change of the AUC, split into what the scores foretold and the rest.

    Attributes
    ----------
    reference_auc, expected_auc, auc: Of the reference; expected of the window from its scores; of the window
        with its labels.
    foreseen: ``expected_auc - reference_auc``: the cases became harder or easier to rank.
    unforeseen: ``auc - expected_auc``: P(y | score) changed, or chance.
    foreseen_se: Standard error of `foreseen`, from the rows of the reference that P(y | score) is known from.
    overfit: What `foreseen` has too much on average, because P(y | score) rises as well as it can with the
        rows of the reference.
    thin_share: Share of the scores where the reference has fewer than 100 rows beside a 20th of the window's.
    outside_share: As `ExpectedAuc.outside_share`.
    score_distance: KL of the scores of the window to those of the reference, in nats (see `ExpectedAuc`).
    label_distance: The mean over the window's rows of KL(label | score), in nats, over the same cells.
    distance: Their sum: the KL of the joint laws of score and label (chain rule).
    n_cells: Cells of the distances.
    n_pos, n_neg: Class sizes of the window.
    """

    reference_auc: float
    expected_auc: float
    auc: float
    foreseen: float
    unforeseen: float
    foreseen_se: float
    overfit: float
    thin_share: float
    outside_share: float
    score_distance: float
    label_distance: float
    distance: float
    n_cells: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    @property
    def change(self) -> float:
        """AUC of the window minus that of the reference."""
        return self.auc - self.reference_auc

    @property
    def known(self) -> bool:
        """True where the 95 % interval of `foreseen` is at most as wide as the change."""
        low, high = self.foreseen_ci()
        return high - low <= abs(self.change)

    def foreseen_ci(self, confidence_level: float = 0.95) -> Interval:
        """Return the interval of `foreseen`, as far as P(y | score) of the reference is known.

        Notes
        -----
        It reaches from that of the estimate to that of the estimate less `overfit`: neither alone holds the
        level where the window lies in a thin part of the reference's scores (docs/coverage.md).
        """
        reach = quantile_beyond((1 - require_level(confidence_level)) / 2) * self.foreseen_se
        low = self.foreseen - max(self.overfit, 0.0) - reach
        high = self.foreseen - min(self.overfit, 0.0) + reach
        return Interval(max(low, -self.reference_auc), min(high, 1 - self.reference_auc))

    def __str__(self) -> str:
        low, high = self.foreseen_ci()
        return (
            f"AUC {self.reference_auc:.4f} -> {self.auc:.4f}: {self.foreseen:+.4f} "
            f"({low:+.4f} to {high:+.4f}) foreseen from the scores ({self.score_distance:.4g} nats), "
            f"{self.unforeseen:+.4f} not ({self.label_distance:.4g} nats)"
        )


def score_shift(reference: Sample, scores: Scores, *, ends: Floats | tuple[float, ...] = ()) -> ScoreShift:
    """Return which scores of a window differ in number from those of the reference.

    Parameters
    ----------
    reference: At least one row.
    scores: As in `expected_auc`.
    ends, shape (h - 1,): Increasing upper ends of all cells but the last, such as `ScoreHistory.ends`.
        Default: the cells of `expected_auc`.

    Examples
    --------
    >>> reference = Sample([0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 2, 2, 2, 2])
    >>> shift = score_shift(reference, [1, 2, 2, 2])
    >>> shift.reference_share.tolist(), shift.window_share.tolist(), shift.nats.round(4).tolist()
    ([0.5, 0.5], [0.25, 0.75], [-0.1733, 0.3041])
    """
    require_sample(reference, "reference")
    if not len(reference.score):
        raise DegenerateDataError("reference has no rows, so no score can have moved; take a longer period")
    score, count = valid_unlabelled(scores, "scores")
    cells = score_cells(reference)
    if len(ends):
        cells = cells_between(reference, np.asarray(valid_scores(ends, "ends")))
    window = counted_in(cells.ends, score, count)
    return ScoreShift(
        low=np.concatenate([[min(reference.score[0], score.min())], cells.ends]),
        high=np.concatenate([cells.ends, [max(reference.score[-1], score.max())]]),
        reference_share=cells.rows / cells.rows.sum(),
        window_share=window / window.sum(),
        nats=cells.contributions(window),
        score_distance=cells.distance(window),
        n_rows=int(window.sum()),
    )


def split(
    expected: ExpectedAuc,
    cells: ScoreCells,
    reference: Sample,
    window: Sample,
    scores: tuple[Floats, Counts | None],
) -> ForeseenChange:
    """Split the change of a window's AUC into what its scores foretold, `expected`, and the rest.

    `reference` and `window` have both classes; `scores` are all valid scores of the window.

    `label_distance` is the distance of the joint laws of the labelled rows less that of their scores, with
    a class of the reference that a cell lacks counted as half a row there. Sampling alone gives it about
    h/2 (1/n + 1/N) nats, for h cells, n rows and N rows of the reference. `foreseen_se` and `overfit` are of
    `error_of`.
    """
    realised = area(window)
    error = error_of(reference, *scores)
    old = np.stack(
        [binned_counts(reference.score, counts, cells.ends) for counts in (reference.neg, reference.pos)]
    )
    counted = [counted_in(cells.ends, window.score, counts) for counts in (window.neg, window.pos)]
    new = np.stack(counted).astype(np.float64)
    share = np.maximum(old, FLOOR)
    share /= share.sum(axis=0)
    rows = new.sum(axis=0)
    seen = rows > 0
    distances = scipy.special.rel_entr(new[:, seen] / rows[seen], share[:, seen]).sum(axis=0)
    label_distance = max(0.0, float(np.sum(rows[seen] * distances)) / float(rows.sum()))
    return ForeseenChange(
        reference_auc=expected.reference_auc,
        expected_auc=expected.auc,
        auc=realised,
        foreseen=expected.auc - expected.reference_auc,
        unforeseen=realised - expected.auc,
        foreseen_se=error.se,
        overfit=error.mean,
        thin_share=thin_share(reference, *scores),
        outside_share=expected.outside_share,
        score_distance=expected.score_distance,
        label_distance=label_distance,
        distance=expected.score_distance + label_distance,
        n_cells=expected.n_cells,
        n_pos=window.n_pos,
        n_neg=window.n_neg,
        caveats=expected.caveats,
    )
