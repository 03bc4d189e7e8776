"""Laws between that of the reference and its projection on a window's scores: the strengths of projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats.forecast.condensing import CELLS, condensed
from rocmonitor.stats.forecast.kld import area, auc_distance
from rocmonitor.stats.forecast.projection import counted_in, rising
from rocmonitor.stats.forecast.score_cells import ScoreCells
from rocmonitor.stats.forecast.tilting import placement
from rocmonitor.stats.sample import Counts, Floats, Sample

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the projected law in the blend; 0 is the reference itself."""

UNREACHED = 10.0
"""The root distance of an AUC that no reweighting of a blend has: further than any separation of classes."""

_UNIT = 2**52  # counts of a class: each share is as exact as float64 holds it


class Laws(NamedTuple):
    """The law of a reference and of a window's scores on the same cells, shape (k,) each."""

    score: Floats
    pos: Counts
    neg: Counts
    rows: Counts

    def blended(self, strength: float) -> Sample | None:
        """``(1 - strength) reference + strength projection``, as shares; None if a class has none."""
        level = self._levels()
        joint = np.stack([self.neg, self.pos]) * ((1 - strength) / float(self.neg.sum() + self.pos.sum()))
        joint += np.stack([self.rows * (1 - level), self.rows * level]) * (strength / float(self.rows.sum()))
        totals = joint.sum(axis=1, keepdims=True)
        if not totals.all():
            return None
        neg, pos = np.rint(joint / totals * _UNIT).astype(np.int64)
        return Sample.from_counts(self.score, pos, neg)

    def _levels(self) -> Floats:
        """P(y = 1 | score) of each cell; one without rows has that of the next one with some."""
        seen = np.flatnonzero(self.pos + self.neg)
        levels = levels_of(self.pos[seen], self.neg[seen])
        after = np.searchsorted(seen, np.arange(len(self.score)))
        return np.asarray(levels[np.minimum(after, len(seen) - 1)])


class Placed(NamedTuple):
    """A window's AUC in a blend: the blend's own one, and its signed root distance from it."""

    foreseen: float
    root: float


def placed(laws: Laws, strength: float, auc: float, otherwise: float) -> Placed:
    """Where a window's AUC lies in the blend; `otherwise` is foreseen where there is no blend."""
    law = laws.blended(strength)
    if law is None:
        return Placed(otherwise, math.copysign(UNREACHED, auc - otherwise))
    own = area(law)
    try:
        distance = auc_distance(law, auc)
    except DegenerateDataError:
        return Placed(own, math.copysign(UNREACHED, auc - own))
    return Placed(own, math.copysign(math.sqrt(2 * distance), auc - own))


class View(NamedTuple):
    """A past window as it was foreseen from its scores."""

    foreseen: tuple[float, ...]  # the AUC of each blend
    roots: tuple[float, ...]  # of the realised AUC from it, for all strengths but 0
    distance: float  # of its scores, in nats
    log_variance: float  # of ln(window / reference) over its rows
    occupied: int  # cells of the score distance that it has rows in


def view(cells: Sample, of_scores: ScoreCells, window: Sample, *, inside: bool) -> View:
    """The view of a window by the cells of the reference, `inside`: by those that it leaves of them."""
    pos, neg = (counted_in(cells.score[:-1], window.score, of) for of in (window.pos, window.neg))
    rest_pos, rest_neg = (cells.pos - pos, cells.neg - neg) if inside else (cells.pos, cells.neg)
    laws = Laws(cells.score, rest_pos, rest_neg, pos + neg)
    whole = laws.blended(0.0)
    assert whole is not None  # a window whose rest has one class was set aside
    own, auc = area(whole), area(window)
    found = [placed(laws, strength, auc, own) for strength in STRENGTHS[1:]]
    rows = counted_in(of_scores.ends, window.score, window.pos + window.neg)
    rest = of_scores._replace(rows=of_scores.rows - rows) if inside else of_scores
    share, added = rows / rows.sum(), rest.contributions(rows)
    log_ratio = added / np.where(rows > 0, share, 1.0)
    return View(
        foreseen=(own, *(of.foreseen for of in found)),
        roots=tuple(of.root for of in found),
        distance=rest.distance(rows),
        log_variance=max(0.0, float(np.sum(share * log_ratio**2)) - float(added.sum()) ** 2),
        occupied=int(np.count_nonzero(rows)),
    )


def few(reference: Sample) -> Sample:
    """The reference, condensed unless it is already (which may leave twice as many cells)."""
    return reference if len(reference.score) <= 2 * CELLS else condensed(reference)


def levels_of(pos: Counts, neg: Counts) -> Floats:
    """P(y = 1 | score) at each score, shape (k,)."""
    fit = rising(pos, neg)
    return fit.level[np.searchsorted(fit.start, np.arange(len(pos)), side="right") - 1]


def score_variance(cells: Sample) -> float:
    """The variance, times n, of the expected AUC of n scores drawn from those of the reference.

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
