"""The scores of windows to come: while nothing is wrong, and when positives come to score as negatives do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rocmonitor.stats.coming import Coming, draw, learned
from rocmonitor.stats.forecast.score_cells import Thinning
from rocmonitor.stats.forecast.score_history import ScoreHistory
from rocmonitor.stats.lasting.windows import scaled
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.sample import Sample
from rocmonitor.stats.simulated import Steps, smallest
from rocmonitor.stats.unlabelled import ScoreCounts

_WINDOWS = 52
_LEAST = 1e-12
_ALL = 10_000_000  # rows that stand for a law without sampling noise


def coming_expected(history: ScoreHistory, rows: int) -> Coming:
    """Return expected AUROCs of windows to come, on the scale 2 arcsin sqrt, learned from past windows.

    They scatter as past ones do, and by the sampling noise that windows of `rows` scores have more.
    """
    more = (
        history.score_variance * float(np.median(history.missing(rows))) / (history.auc * (1 - history.auc))
    )
    return _like([scaled(auc) for auc in history.window_expected], more)


def coming_distances(history: ScoreHistory, rows: int) -> Coming:
    """Return logarithms of score distances of windows to come, learned from past ones as of `rows` rows."""
    thinning = Thinning(
        np.array(history.window_n_pos) + np.array(history.window_n_neg),
        np.array(history.log_variances),
        np.array(history.occupied),
        np.array(history.inverse_shares),
    )
    mean, variance = thinning.mean_and_variance(np.array(history.window_distances), rows)
    distances = np.maximum(mean, _LEAST)
    return _like(np.log(distances), float(np.median(variance / distances**2)))


def _like(values: ArrayLike, more: float) -> Coming:
    """Return numbers of windows to come that scatter as these do, sampling noise included, and by `more`."""
    numbers = np.asarray(values, dtype=float)
    least = max(1e-3 * float(numbers.var()), _LEAST)
    past = learned(numbers, np.full(len(numbers), least), tuple(range(len(numbers))))
    return draw(past, max(more, least), _WINDOWS)


def loss_shown(
    history: ScoreHistory, cells: Sample, rows: int, steps: Steps, *, power: float
) -> float | None:
    """Return the loss of AUROC, when positives score as negatives do, that one window shows with this power.

    Where a share of the positives scores as negatives do, the AUROC falls by that share times (AUC - 1/2).
    `steps` has the outcome by the logarithm of the distance. None where the loss of all is not shown.
    """
    law, by_distance = (
        distance_law(history, cells, rows),
        steps._replace(edges=tuple(map(np.exp, steps.edges))),
    )

    def chance(share: float) -> float:
        mean, deviation = law(share)
        return float(by_distance.chance(np.array([mean]), np.array([deviation]))[0])

    share = smallest(chance, power, 1.0) if history.auc > 0.5 else None
    return None if share is None else share * (history.auc - 0.5)


def distance_law(history: ScoreHistory, cells: Sample, rows: int) -> Callable[[float], tuple[float, float]]:
    """Return the mean and standard deviation of the distance, by the share of the positives that is lost.

    The distance of such a window is taken as normal: what reference windows differ by beyond sampling adds to
    its mean as it does to theirs, and to its variance by how far their rows scatter in the log ratios that
    the loss brings about.

    cells: Of the reference.
    rows: Scores of the window.
    """
    drift = _drift_distance(history)

    def law(share: float) -> tuple[float, float]:
        shift = history.shift(cells, _lost(cells, share))
        part, here = shift.window_share, shift.window_share > 0
        ratio = np.where(here, shift.nats / np.where(here, part, 1.0), 0.0)
        variance = float(part @ ratio**2) - shift.score_distance**2
        spare = (np.count_nonzero(here) - 1) / 2 / rows
        deviation = math.sqrt(max(variance, 0.0) / rows + spare / rows + _drift_variance(history, ratio))
        return shift.score_distance + spare + drift, deviation

    return law


def _lost(cells: Sample, share: float) -> ScoreCounts:
    """Return the law of the scores when a share of the positives scores as negatives do."""
    positives, negatives = cells.pos / cells.n_pos, cells.neg / cells.n_neg
    prevalence = cells.n_pos / (cells.n_pos + cells.n_neg)
    law = prevalence * ((1 - share) * positives + share * negatives) + (1 - prevalence) * negatives
    counts = np.round(law * _ALL).astype(np.int64)
    return ScoreCounts(cells.score[counts > 0], counts[counts > 0])


def _drift_variance(history: ScoreHistory, log_ratio: Floats) -> float:
    """Return the variance between reference windows of the mean log ratio of their rows, beyond sampling."""
    if not history.window_rows:
        return 0.0
    counts = np.array(history.window_rows, dtype=float)
    rows = counts.sum(axis=1)
    means = counts @ log_ratio / rows
    sampling = (counts @ log_ratio**2 / rows - means**2) / rows
    return max(float(means.var(ddof=1) - sampling.mean()), 0.0)


def _drift_distance(history: ScoreHistory) -> float:
    rows = np.array(history.window_n_pos) + np.array(history.window_n_neg)
    rest = history.n_pos + history.n_neg - (rows if history.inside else 0)
    sampling = (np.array(history.occupied) - 1) / 2 * (1 / rows + 1 / rest)
    return max(float(np.mean(np.array(history.window_distances) - sampling)), 0.0)
