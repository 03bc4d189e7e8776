"""The AUC that unlabelled scores promise: the reference's law of (score, label), moved to other scores.

Of all joint laws of score and label with the observed law G of the scores, the one with the smallest
Kullback-Leibler distance to the reference R keeps its P(y | score): Q(s, y) = G(s) R(y | s). For KL(Q || R) =
KL(Q_s || R_s) + E[KL(Q_{y|s} || R_{y|s})] (chain rule), whose first term is the same for all of them and
whose second is 0 for Q only. P(y | score) is isotonic, fitted to the counts by pool adjacent violators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats.forecast.distance import ScoreCells, require_sample, score_cells
from rocmonitor.stats.forecast.kld import area
from rocmonitor.stats.result import Result
from rocmonitor.stats.rows import same_length, same_order, valid_counts, valid_scores
from rocmonitor.stats.sample import Counts, Floats, PairedSample, Sample

Scores: TypeAlias = "ArrayLike | tuple[ArrayLike, ArrayLike]"
"""Unlabelled scores, shape (n,), or a pair (score, count) of arrays of shape (k,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAuc(Result):
    """The AUC that is expected of unlabelled scores.

    Attributes
    ----------
    auc: Expected of the rows that have these scores, if P(y | score) is that of the reference.
    reference_auc: Of the reference.
    prevalence: The share of positives expected.
    score_distance: Kullback-Leibler distance of the law of the scores to that of the reference, in nats, over
        `n_cells` cells.
    sampling_distance: What sampling alone adds to `score_distance` on average: (cells - 1)/2 (1/n + 1/N) for
        n scores and N rows of the reference.
    n_cells: Cells of the distance: the distinct scores of the reference if there are 50 or fewer, otherwise
        20 of about equal shares of its rows.
    outside_share: Share of the scores below or above all scores of the reference.
    n_rows: Number of scores.
    n_pos, n_neg: Class sizes of the reference.
    """

    _estimate: ClassVar[str | None] = "auc"

    auc: float
    reference_auc: float
    prevalence: float
    score_distance: float
    sampling_distance: float
    n_cells: int
    outside_share: float
    n_rows: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    @property
    def change(self) -> float:
        """Expected AUC minus that of the reference."""
        return self.auc - self.reference_auc

    def __str__(self) -> str:
        return (
            f"expected AUC {self.auc:.4f} of {self.n_rows:,} scores (reference {self.reference_auc:.4f}), "
            f"score distance {self.score_distance:.4g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedAucDifference(Result):
    """The difference of two AUCs that is expected of unlabelled scores.

    Attributes
    ----------
    auc_1, auc_2: The expected AUC of each model.
    difference: ``auc_1 - auc_2``.
    reference_difference: The difference in the reference.
    prevalence_1, prevalence_2: The share of positives expected from the scores of each model.
    score_distance_1, score_distance_2: As `ExpectedAuc.score_distance`, for each model.
    outside_share_1, outside_share_2: As `ExpectedAuc.outside_share`, for each model.
    n_rows: Number of rows.
    n_pos, n_neg: Class sizes of the reference.
    """

    _estimate: ClassVar[str | None] = "difference"

    auc_1: float
    auc_2: float
    difference: float
    reference_difference: float
    prevalence_1: float
    prevalence_2: float
    score_distance_1: float
    score_distance_2: float
    outside_share_1: float
    outside_share_2: float
    n_rows: int
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    def __str__(self) -> str:
        return (
            f"expected AUC difference {self.difference:+.4f} ({self.auc_1:.4f} - {self.auc_2:.4f}) of "
            f"{self.n_rows:,} rows (reference {self.reference_difference:+.4f})"
        )


def expected_auc(reference: Sample, scores: Scores) -> ExpectedAuc:
    """Return the AUC that is expected of unlabelled scores, by the reference's P(y | score).

    Parameters
    ----------
    reference: Labelled scores with both classes.
    scores, shape (n,), or tuple of two array_like, shape (k,): Unlabelled scores, finite, at least one; or
        the pair (score, count).

    Notes
    -----
    A row with score s counts p(s) as a positive and 1 - p(s) as a negative, with p isotonic on the reference
    (pool adjacent violators on its counts). This is the I-projection of the reference's law on the law of
    the scores. Where p is level the order of the rows does not matter, so ties and groups are exact. A
    score that the reference does not have takes the p of the next one above, one beyond its range that of
    the nearest end. Where all rows have the same p, 1/2 is expected. p is fitted to rise with the score as
    well as it can: in a small reference the expected AUC is a little high (docs/coverage.md).

    The estimate holds as long as P(y | score) does. It has no level: see `forecast_interval` with `given`.
    Cost: O(k) for k scores of the reference, O(n log b) for n scores and b levels of p. Nothing is sorted.

    Examples
    --------
    >>> reference = Sample([0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 2, 2, 2, 2])
    >>> expected = expected_auc(reference, [1, 2, 2, 2])
    >>> expected.auc, expected.prevalence, round(expected.score_distance, 4)
    (0.7, 0.625, 0.1308)
    """
    require_sample(reference, "reference")
    reference.require_both_classes()
    score, count = valid_unlabelled(scores, "scores")
    return projected(reference, score, count, score_cells(reference))


def expected_auc_difference(
    reference: PairedSample, score_1: Scores, score_2: Scores
) -> ExpectedAucDifference:
    """Return the difference of the AUCs of two models that is expected of unlabelled rows.

    Parameters
    ----------
    reference: Rows that both models scored, with both classes.
    score_1, score_2, shape (n,), or tuple of two array_like, shape (k,): The scores of the two models for the
        same rows, each as in `expected_auc`.

    Notes
    -----
    The expectation of a difference is the difference of the expectations: each model's expected AUC follows
    from its own scores. Cost: two of `expected_auc`.

    Examples
    --------
    >>> reference = PairedSample([0, 0, 1, 0, 1, 1], [1, 1, 1, 2, 2, 2], [1, 2, 1, 2, 1, 2])
    >>> round(expected_auc_difference(reference, [1, 1, 2], [2, 1, 1]).difference, 12)
    0.15
    """
    require_sample(reference, "reference", PairedSample)
    reference.require_both_classes()
    given = valid_unlabelled(score_1, "score_1"), valid_unlabelled(score_2, "score_2")
    first, second = (
        projected(sample, *scores, score_cells(sample))
        for sample, scores in zip((reference.first, reference.second), given, strict=True)
    )
    if first.n_rows != second.n_rows:
        raise InputError(
            f"score_1 and score_2 must be of the same rows: score_1 has {first.n_rows} and score_2 has "
            f"{second.n_rows}"
        )
    return ExpectedAucDifference(
        auc_1=first.auc,
        auc_2=second.auc,
        difference=first.auc - second.auc,
        reference_difference=first.reference_auc - second.reference_auc,
        prevalence_1=first.prevalence,
        prevalence_2=second.prevalence,
        score_distance_1=first.score_distance,
        score_distance_2=second.score_distance,
        outside_share_1=first.outside_share,
        outside_share_2=second.outside_share,
        n_rows=first.n_rows,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        caveats=(
            *(caveat.concerning("first") for caveat in first.caveats),
            *(caveat.concerning("second") for caveat in second.caveats),
        ),
    )


def valid_unlabelled(scores: Scores, name: str) -> tuple[Floats, Counts | None]:
    """Finite scores, at least one, and their counts, None for single rows."""
    if isinstance(scores, tuple) and len(scores) == 2 and all(np.ndim(part) for part in scores):
        same_order(**{name: scores[0], f"the counts of {name}": scores[1]})
        score, count = valid_scores(scores[0], name), valid_counts(scores[1], f"the counts of {name}")
        same_length(**{name: score, "its counts": count})
        seen = count > 0
        score, count = score[seen], count[seen]
    else:
        score, count = valid_scores(cast(ArrayLike, scores), name), None
    if not len(score):
        raise InputError(f"{name} has no rows; give at least one score")
    return score, count


class Rising(NamedTuple):
    """P(y = 1 | score), which never falls as the score rises: its levels, and where each begins."""

    start: NDArray[np.intp]  # (b,): position of the first score of each level
    level: Floats  # (b,): increasing


def at_scores(by_level: Floats, start: NDArray[np.intp], sample: Sample, score: Floats) -> Floats:
    """Return the value of each score's level; between two scores of the sample that of the next above."""
    return np.asarray(by_level[np.searchsorted(sample.score[start[1:] - 1], score)])


def rising(pos: Counts, neg: Counts) -> Rising:
    """Isotonic shares of positives at increasing scores, by pool adjacent violators; each has rows."""
    rows = pos + neg
    blocks = scipy.optimize.isotonic_regression(pos / rows, weights=rows.astype(np.float64)).blocks
    start = np.asarray(blocks[:-1], dtype=np.intp)
    return Rising(start, np.add.reduceat(pos, start) / np.add.reduceat(rows, start))


def projected(
    reference: Sample, score: Floats, count: Counts | None, cells: ScoreCells, low: float | None = None
) -> ExpectedAuc:
    """Return the expected AUC of valid scores; `low` is the smallest score of a joined reference."""
    fit = rising(reference.pos, reference.neg)
    rows = counted_in(reference.score[fit.start[1:] - 1], score, count)
    total = int(rows.sum())
    pos, neg = rows * fit.level, rows * (1 - fit.level)
    n_pos = float(pos.sum())
    window = counted_in(cells.ends, score, count)
    low, high = float(reference.score[0]) if low is None else low, float(reference.score[-1])
    beyond = (score < low) | (score > high)
    outside = int(np.count_nonzero(beyond) if count is None else count[beyond].sum())
    caveats = []
    if outside:
        caveats.append(Caveat("scores-outside-reference", share=outside / total, rows=outside, n_rows=total))
    if total > 1 and score.min() == score.max():
        caveats.append(Caveat("scores-all-equal", n_rows=total))
    if n_pos in (0, total):
        caveats.append(
            Caveat("scores-of-one-class", kind="positives" if n_pos else "negatives", n_rows=total)
        )
    if len(fit.level) == 1:
        caveats.append(Caveat("scores-without-order"))
    return ExpectedAuc(
        auc=area_in_cells(pos, neg),
        reference_auc=area(reference),
        prevalence=n_pos / total,
        score_distance=cells.distance(window),
        sampling_distance=cells.sampling_distance(total),
        n_cells=len(cells.rows),
        outside_share=outside / total,
        n_rows=total,
        n_pos=reference.n_pos,
        n_neg=reference.n_neg,
        caveats=tuple(caveats),
    )


def area_in_cells(pos: Floats | Counts, neg: Floats | Counts) -> float:
    """Return the AUC of rows in cells, shape (h,), lowest first; 1/2 where a class has none."""
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    below = np.cumsum(neg) - neg / 2
    return float(np.sum(pos * below)) / (n_pos * n_neg) if n_pos and n_neg else 0.5


def counted_in(ends: Floats, score: Floats, count: Counts | None) -> Counts:
    """Rows in each cell, shape (ends + 1,); a cell holds its upper end, the last one has none."""
    number = np.bincount(np.searchsorted(ends, score), weights=count, minlength=len(ends) + 1)
    return number.astype(np.int64)
