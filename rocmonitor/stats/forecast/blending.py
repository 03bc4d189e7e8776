"""Laws between that of the reference and its projection on a window's scores: the strengths of projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.forecast.distance import CELLS, ScoreCells, condensed
from rocmonitor.stats.forecast.kld import area, auc_distance
from rocmonitor.stats.forecast.projection import counted_in, projected, rising
from rocmonitor.stats.forecast.tilting import placement
from rocmonitor.stats.sample import Counts, Floats, Sample

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of the projected law in the blend; 0 is the reference itself
UNREACHED = 10.0
"""The root distance of an AUC that no reweighting of a blend has: further than any separation of classes."""

_UNIT = 2**52  # counts of a class: each share is as exact as float64 holds it


class Laws(NamedTuple):
    """The joint laws of score and label of a reference and of its projection on a window's scores."""

    score: Floats  # (k,)
    reference: Floats  # (2, k): negatives, positives; both together add up to 1
    projection: Floats  # likewise

    @classmethod
    def of(cls, score: Floats, pos: Counts, neg: Counts, rows: Counts) -> Laws:
        """From the rows of the reference and of the window in the same cells, shape (k,) each.

        A cell without rows of the reference has the P(y | score) of the next one with some.
        """
        seen = np.flatnonzero(pos + neg)
        after = np.minimum(np.searchsorted(seen, np.arange(len(score))), len(seen) - 1)
        level = levels_of(pos[seen], neg[seen])[after]
        projection = np.stack([rows * (1 - level), rows * level]) / float(rows.sum())
        return cls(score, np.stack([neg, pos]) / float(neg.sum() + pos.sum()), projection)

    def blended(self, strength: float) -> Sample | None:
        """``(1 - strength) reference + strength projection``, as shares; None if a class has none."""
        joint = (1 - strength) * self.reference + strength * self.projection
        totals = joint.sum(axis=1, keepdims=True)
        if not totals.all():
            return None
        neg, pos = np.rint(joint / totals * _UNIT).astype(np.int64)
        return Sample.from_counts(self.score, pos, neg)


def placed(laws: Laws, strength: float, auc: float, otherwise: float) -> tuple[float, float]:
    """Return the blend's own AUC, and the signed root distance of a window's AUC from it.

    `otherwise` is foreseen where there is no blend.
    """
    law = laws.blended(strength)
    if law is None:
        return otherwise, math.copysign(UNREACHED, auc - otherwise)
    own = area(law)
    try:
        distance = auc_distance(law, auc)
    except DegenerateDataError:
        return own, math.copysign(UNREACHED, auc - own)
    return own, math.copysign(math.sqrt(2 * distance), auc - own)


class View(NamedTuple):
    """A past window as it was foreseen from its scores."""

    foreseen: tuple[float, ...]  # the AUC of each blend
    roots: tuple[float, ...]  # of the realised AUC from it, for all strengths but 0
    distance: float  # of its scores, in nats
    log_variance: float  # of ln(window / reference) over its rows
    occupied: int  # cells of the score distance that it has rows in
    inverse_shares: float  # the sum of 1 / share over these cells
    expected: float  # the AUC that the whole reference expects of the scores
    rows: tuple[int, ...]  # in each cell of the score distance


def view(cells: Sample, of_scores: ScoreCells, window: Sample, *, inside: bool) -> View:
    """Return the view of a window by the cells of the reference, `inside`: without the window."""
    pos, neg = (counted_in(cells.score[:-1], window.score, counts) for counts in (window.pos, window.neg))
    rest_pos, rest_neg = (cells.pos - pos, cells.neg - neg) if inside else (cells.pos, cells.neg)
    laws = Laws.of(cells.score, rest_pos, rest_neg, pos + neg)
    whole = laws.blended(0.0)
    assert whole is not None  # a window whose rest has one class was set aside
    own, auc = area(whole), area(window)
    blends = (placed(laws, strength, auc, own) for strength in STRENGTHS[1:])
    foreseen, roots = zip(*blends, strict=True)
    rows = counted_in(of_scores.ends, window.score, window.pos + window.neg)
    rest = of_scores._replace(rows=of_scores.rows - rows) if inside else of_scores
    share, added = rows / rows.sum(), rest.contributions(rows)
    log_ratio = added / np.where(rows > 0, share, 1.0)
    return View(
        foreseen=(own, *foreseen),
        roots=roots,
        distance=rest.distance(rows),
        log_variance=max(0.0, float(np.sum(share * log_ratio**2)) - float(added.sum()) ** 2),
        occupied=int(np.count_nonzero(rows)),
        inverse_shares=float(np.sum(1 / share[rows > 0])),
        expected=projected(cells, window.score, window.pos + window.neg, of_scores).auc,
        rows=tuple(rows.tolist()),
    )


def few(reference: Sample) -> Sample:
    """Return the reference, condensed unless it is already (which may leave twice as many cells)."""
    return reference if len(reference.score) <= 2 * CELLS else condensed(reference)


def levels_of(pos: Counts, neg: Counts) -> Floats:
    """P(y = 1 | score) at each score, shape (k,)."""
    fit = rising(pos, neg)
    return fit.level[np.searchsorted(fit.start, np.arange(len(pos)), side="right") - 1]


def score_variance(cells: Sample) -> float:
    """Return the variance, times n, of the expected AUC of n scores drawn from those of the reference.

    The influence of a row (s, y) on an AUC is y/pi (V10(s) - A) + (1 - y)/(1 - pi) (V01(s) - A); that of
    a score is its mean over y. What is left is the noise of the labels.
    """
    level = levels_of(cells.pos, cells.neg)
    share = (cells.pos + cells.neg) / (cells.n_pos + cells.n_neg)
    pos, neg = share * level, share * (1 - level)
    n_pos, n_neg = float(pos.sum()), float(neg.sum())
    above, below = placement(np.stack([neg / n_neg, pos / n_pos]))
    auc = float(np.sum(pos * below)) / n_pos
    influence = level / n_pos * (below - auc) + (1 - level) / n_neg * (above - auc)
    return float(np.sum(share * influence**2))


def score_bias(cells: Sample) -> float:
    """Return the mean bias, times n, of the expected AUC of n scores drawn from those of the reference.

    It is a mean over pairs of rows, each paired with itself too, over pi (1 - pi): both are nonlinear in the
    law of the scores. This is the expansion to the second order; for windows of 50 rows it matters.
    """
    level = levels_of(cells.pos, cells.neg)
    share = (cells.pos + cells.neg) / (cells.n_pos + cells.n_neg)
    prevalence = float(share @ level)
    both = prevalence * (1 - prevalence)
    above, below = placement(np.stack([share * (1 - level) / (1 - prevalence), share * level / prevalence]))
    pairs = both * float(share @ (level * below)) / prevalence
    of_row = level * (1 - prevalence) * below + (1 - level) * prevalence * above - 2 * pairs
    apart = level - prevalence
    variance, tilt = float(share @ apart**2), 1 - 2 * prevalence
    alone = float(share @ (level * (1 - level))) / 2
    return (
        (alone - pairs) / both
        - tilt * float(share @ (of_row * apart)) / both**2
        + pairs * variance / both**2 * (1 + tilt**2 / both)
    )
