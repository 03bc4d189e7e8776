"""What the rules that need no labels will do: how often they warn in vain, and which loss they find."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean, stdev

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from rocmonitor.policy.false_alarms import YEAR
from rocmonitor.policy.rules import Outlook, Rule, Scores
from rocmonitor.stats import Sample, ScoreHistory
from rocmonitor.stats.rows import Floats
from rocmonitor.stats.unlabelled import ScoreCounts

_ALL = 10_000_000  # rows that stand for a law without sampling noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """What one rule does before the labels.

    Attributes
    ----------
    warnings_a_year : float
        Windows of a year that warn although nothing is wrong, on average over references.
    unlucky_warnings_a_year : float
        What one reference in ten exceeds: its windows happen to lie close together.
    loss : float or None
        The loss of AUROC that one window shows with the power asked for. For ``outlook`` a loss that the
        scores foretell, against the mean of the reference windows. For ``scores`` the loss when positives
        come to score like negatives; None when the rule does not see even that all of them do.
    """

    warnings_a_year: float
    unlucky_warnings_a_year: float
    loss: float | None


def early(
    rule: Rule, history: ScoreHistory, cells: Sample, *, rows: int, every: timedelta, power: float = 0.8
) -> Early:
    """What a rule ``scores`` or ``outlook`` does on windows of `rows` scores.

    Parameters
    ----------
    rule : Scores or Outlook
    history : ScoreHistory
    cells : Sample
        Of the reference.
    rows : int
    every : timedelta
        Length of a window.
    power : float
        Probability with which one window shows the loss.

    Notes
    -----
    The share of windows that warn in vain varies over references like a Beta variable (`HistoryLimit`).
    An expected AUROC scatters as in the reference windows, and that an outlook is also compared with a floor
    and with the forecast is left out. Where a share of the positives scores as negatives do, the AUROC falls
    by that share times (AUC - 1/2). The distance of such a window is taken as normal: what reference windows
    differ by beyond sampling adds to its mean as it does to theirs, and to its variance by how far their rows
    scatter in the log ratios that the loss brings about.
    """
    from scipy.stats import beta

    z = float(ndtri(power))
    loss: float | None
    if isinstance(rule, Scores):
        limit = history.distance_limit(rows, confidence_level=rule.confidence_level)
        loss = _loss(_short(history, cells, limit.limit, rows, z), history.auc)
    else:
        assert isinstance(rule, Outlook)
        limit = history.expected_limit(rows, confidence_level=rule.confidence_level)
        loss = fmean(history.window_expected) + z * stdev(history.window_expected) - limit.limit
    a_year, (a, b) = YEAR / every, limit.beta
    return Early(
        warnings_a_year=a_year * (1 - limit.achieved_level),
        unlucky_warnings_a_year=a_year * float(beta.ppf(0.9, a, b)),
        loss=loss,
    )


def _loss(short: Callable[[float], float], auc: float) -> float | None:
    """The loss at which nothing is short of the limit any more."""
    if auc <= 0.5 or short(1.0) > 0:
        return None
    share = 0.0 if short(0.0) <= 0 else float(brentq(short, 0.0, 1.0, xtol=1e-4))
    return share * (auc - 0.5)


def _lost(cells: Sample, share: float) -> ScoreCounts:
    """The law of the scores when a share of the positives scores as negatives do."""
    positives, negatives = cells.pos / cells.n_pos, cells.neg / cells.n_neg
    prevalence = cells.n_pos / (cells.n_pos + cells.n_neg)
    law = prevalence * ((1 - share) * positives + share * negatives) + (1 - prevalence) * negatives
    counts = np.round(law * _ALL).astype(np.int64)
    return ScoreCounts(cells.score[counts > 0], counts[counts > 0])


def _drift_variance(history: ScoreHistory, log_ratio: Floats) -> float:
    """The variance between reference windows of the mean log ratio of their rows, beyond sampling."""
    if not history.window_rows:
        return 0.0
    counts = np.array(history.window_rows, dtype=float)
    rows = counts.sum(axis=1)
    means = counts @ log_ratio / rows
    sampling = (counts @ log_ratio**2 / rows - means**2) / rows
    return max(float(means.var(ddof=1) - sampling.mean()), 0.0)


def _drift_distance(history: ScoreHistory) -> float:
    """The mean distance of the reference windows beyond what sampling explains."""
    rows = np.array(history.window_n_pos) + np.array(history.window_n_neg)
    rest = history.n_pos + history.n_neg - (rows if history.inside else 0)
    sampling = (np.array(history.occupied) - 1) / 2 * (1 / rows + 1 / rest)
    return max(float(np.mean(np.array(history.window_distances) - sampling)), 0.0)


def _short(
    history: ScoreHistory, cells: Sample, limit: float, rows: int, z: float
) -> Callable[[float], float]:
    """How far the distance of a window's scores falls short of the limit, by the share that is lost."""
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
