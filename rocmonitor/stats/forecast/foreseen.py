"""What has moved: which scores, and how much of a change of the AUC they foretold.

By the chain rule the distance of a window's joint law of (score, label) to that of the reference is
KL(scores) + E[KL(label | score)]: the first term is seen at once, the second with the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.distance import binned_counts, require_sample
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.forecast.projection import ExpectedAuc, Scores, counted_in, projected, valid_unlabelled
from rocmonitor.stats.forecast.score_cells import FLOOR, ScoreCells, cells_between, score_cells
from rocmonitor.stats.result import Result, Table
from rocmonitor.stats.rows import valid_scores
from rocmonitor.stats.sample import Counts, Floats, Sample


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreShift(Table):
    """Which scores moved: a line for each cell of the score distance, lowest first.

    Attributes
    ----------
    low, high : ndarray, shape (h,)
        The cell holds the scores above `low` up to and including `high`. The outermost cells are open; their
        outer ends are the smallest and the largest score of both.
    reference_share, window_share : ndarray, shape (h,)
        Share of the rows in the cell.
    nats : ndarray, shape (h,)
        What the cell adds to the distance; negative where the window has a smaller share.
    score_distance : float
        The sum of `nats`.
    n_rows : int
        Number of scores.
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
    reference_auc, expected_auc, auc : float
        Of the reference; expected of the window from its scores; of the window with its labels.
    foreseen : float
        ``expected_auc - reference_auc``: the cases became harder or easier to rank.
    unforeseen : float
        ``auc - expected_auc``: P(y | score) changed, or chance.
    score_distance : float
        KL of the scores of the window to those of the reference, in nats (see `ExpectedAuc`).
    label_distance : float
        The mean over the window's rows of KL(label | score), in nats, over the same cells.
    distance : float
        Their sum: the KL of the joint laws of score and label (chain rule).
    n_cells : int
        Cells of the distances.
    n_pos, n_neg : int
        Class sizes of the window.
    """

    reference_auc: float
    expected_auc: float
    auc: float
    foreseen: float
    unforeseen: float
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

    def __str__(self) -> str:
        return (
            f"AUC {self.reference_auc:.4f} -> {self.auc:.4f}: {self.foreseen:+.4f} foreseen from the scores "
            f"({self.score_distance:.4g} nats), {self.unforeseen:+.4f} not ({self.label_distance:.4g} nats)"
        )


def score_shift(reference: Sample, scores: Scores, *, ends: Floats | tuple[float, ...] = ()) -> ScoreShift:
    """Which scores of a window differ in number from those of the reference.

    Parameters
    ----------
    reference : Sample
        At least one row.
    scores
        As in `expected_auc`.
    ends : array_like, shape (h - 1,)
        Increasing upper ends of all cells but the last, such as `ScoreHistory.ends`. Default: the cells of
        `expected_auc`.

    Raises
    ------
    InputError
        No sample; unusable scores.
    DegenerateDataError
        A reference without rows.

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


def foreseen_change(
    reference: Sample,
    window: Sample,
    *,
    scores: Scores | None = None,
    ends: Floats | tuple[float, ...] = (),
) -> ForeseenChange:
    """Split the change of a window's AUC into what its scores foretold and the rest.

    Parameters
    ----------
    reference : Sample
        With both classes; one that `condensed` left will do.
    window : Sample
        The labelled rows, with both classes.
    scores
        All scores of the window, where some rows have no label: what is expected follows from them, as in
        `expected_auc`. Default: those of the labelled rows.
    ends : array_like
        As in `score_shift`.

    Raises
    ------
    InputError
        Something that is no `Sample`; unusable scores.
    DegenerateDataError
        A sample of one class.

    Notes
    -----
    `label_distance` is the distance of the joint laws of the labelled rows less that of their scores, with
    a class of the reference that a cell lacks counted as half a row there. Sampling alone gives it about
    h/2 (1/n + 1/N) nats, for h cells, n rows and N rows of the reference.

    Examples
    --------
    >>> reference = Sample([0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 2, 2, 2, 2])
    >>> split = foreseen_change(reference, Sample([0, 0, 1, 1, 1, 1], [1, 1, 1, 2, 2, 2]))
    >>> split.foreseen, round(split.unforeseen, 4), split.score_distance, round(split.label_distance, 4)
    (0.0, 0.125, 0.0, 0.1525)
    """
    for name, sample in (("reference", reference), ("window", window)):
        require_sample(sample, name)
        sample.require_both_classes()
    own = (window.score, window.pos + window.neg)
    score, count = own if scores is None else valid_unlabelled(scores, "scores")
    cells = score_cells(reference)
    if len(ends):
        cells = cells_between(reference, np.asarray(valid_scores(ends, "ends")))
    return split(projected(reference, score, count, cells), cells, reference, window)


def split(expected: ExpectedAuc, cells: ScoreCells, reference: Sample, window: Sample) -> ForeseenChange:
    """The split of the change of a window's AUC of which so much is expected."""
    realised = area(window)
    label_distance = _label_distance(cells, reference, window)
    return ForeseenChange(
        reference_auc=expected.reference_auc,
        expected_auc=expected.auc,
        auc=realised,
        foreseen=expected.auc - expected.reference_auc,
        unforeseen=realised - expected.auc,
        score_distance=expected.score_distance,
        label_distance=label_distance,
        distance=expected.score_distance + label_distance,
        n_cells=expected.n_cells,
        n_pos=window.n_pos,
        n_neg=window.n_neg,
        caveats=expected.caveats,
    )


def _label_distance(cells: ScoreCells, reference: Sample, window: Sample) -> float:
    """The mean over the window's rows of KL(label | cell)."""
    old = np.stack([binned_counts(reference.score, of, cells.ends) for of in (reference.neg, reference.pos)])
    new = np.stack([_in(cells, window, of) for of in (window.neg, window.pos)]).astype(np.float64)
    share = np.maximum(old, FLOOR)
    share /= share.sum(axis=0)
    rows = new.sum(axis=0)
    seen = rows > 0
    each = scipy.special.rel_entr(new[:, seen] / rows[seen], share[:, seen]).sum(axis=0)
    return max(0.0, float(np.sum(rows[seen] * each)) / float(rows.sum()))


def _in(cells: ScoreCells, window: Sample, counts: Counts) -> Counts:
    return counted_in(cells.ends, window.score, counts)
