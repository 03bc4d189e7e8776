"""Both models in use: thresholds that belong together, and what their decisions cost.

Thresholds that are matched, calibrated or chosen for a cost are chosen on the rows of `setting`, which are
never among those compared. Challenger first in every pair of samples and of thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rocmonitor.policy.review.checks import Row
from rocmonitor.policy.review.period import lines, named
from rocmonitor.policy.review.settings import Money, ReviewSettings
from rocmonitor.stats import (
    PairedSample,
    Sample,
    calibrated_pairs,
    cost_curve,
    cost_difference,
    cost_thresholds,
    expected_cost,
    matched_pairs,
    threshold_difference,
    threshold_dominance,
)

Floats = NDArray[np.float64]

_SHARES = ("champion_better", "challenger_better", "both_higher", "both_lower", "tie")


def at_thresholds(
    pair: PairedSample, setting: PairedSample | None, settings: ReviewSettings, caveats: list[str]
) -> list[Row]:
    """Differences of TPR and FPR, and who dominates, at the champion's given thresholds.

    Each is compared with the same number for the challenger, with the threshold that flags the same share of
    `setting`, and, where it is a probability, with both models' thresholds that mean it once calibrated.
    """
    if not settings.thresholds:
        return []
    given = np.array(settings.thresholds)
    pairings = {"given": np.column_stack([given, given])}
    if setting is not None:
        pairings["flagged share"] = _same_share(setting, given, caveats)
        pairings["calibrated"] = _calibrated(setting, given, caveats)
    rows = []
    for pairing, at in pairings.items():
        if len(at):
            rows += [{"pairing": pairing, **row} for row in _compared(pair, at, settings, pairing, caveats)]
    return rows


def dominance(pair: PairedSample, setting: PairedSample, settings: ReviewSettings) -> list[Row]:
    """Who dominates where both models flag the same share of `setting`."""
    shares = np.arange(1, settings.flagged + 1) / (settings.flagged + 1)
    at = matched_pairs(setting, shares)
    columns = {"share": shares, "champion_threshold": at[:, 1], "challenger_threshold": at[:, 0]}
    return lines(columns | _dominance(pair, at))


def costs(
    pair: PairedSample, setting: PairedSample, settings: ReviewSettings, caveats: list[str]
) -> list[Row]:
    """What the challenger would save at each operating condition, in money where costs are given."""
    priced = {money.condition().w for money in settings.money}
    plain = [(w, None) for w in settings.w if w not in priced]
    level = settings.rule.confidence_level
    conditions = [*plain, *((money.condition().w, money) for money in settings.money)]
    return [_cost(pair, setting, w, money, level, caveats) for w, money in conditions]


def flagged_shares(sample: Sample, thresholds: Sequence[float] | Floats) -> Floats:
    """Share of all rows at or above each threshold."""
    below = np.concatenate([[0], np.cumsum(sample.pos + sample.neg)])
    return np.asarray((below[-1] - below[np.searchsorted(sample.score, thresholds)]) / below[-1])


def _same_share(setting: PairedSample, given: Floats, caveats: list[str]) -> Floats:
    """The champion's thresholds as given, and the challenger's that flag as many rows of `setting`."""
    shares = flagged_shares(setting.second, given)
    some = (shares > 0) & (shares < 1)
    if not some.all():
        caveats.append(
            f"thresholds of equal flagged share: {np.count_nonzero(~some)} of {len(given)} given thresholds "
            "flag no row, or all, of those on which thresholds are matched"
        )
    if not some.any():
        return np.empty((0, 2))
    return np.column_stack([matched_pairs(setting, shares[some])[:, 0], given[some]])


def _calibrated(setting: PairedSample, given: Floats, caveats: list[str]) -> Floats:
    """Thresholds of both models that mean the given ones as probabilities, after isotonic calibration."""
    some = (given > 0) & (given < 1)
    if not some.all():
        caveats.append(
            f"calibrated thresholds: {np.count_nonzero(~some)} of {len(given)} given thresholds are no "
            "probabilities within (0, 1)"
        )
    return calibrated_pairs(setting, given[some]) if some.any() else np.empty((0, 2))


def _compared(
    pair: PairedSample, at: Floats, settings: ReviewSettings, pairing: str, caveats: list[str]
) -> list[Row]:
    found = threshold_difference(pair, at, confidence_level=settings.rule.confidence_level)
    caveats += [f"thresholds ({pairing}): {named(caveat)}" for caveat in found.caveats]
    columns = {
        "champion_threshold": at[:, 1],
        "challenger_threshold": at[:, 0],
        "champion_flagged": flagged_shares(pair.second, at[:, 1]),
        "challenger_flagged": flagged_shares(pair.first, at[:, 0]),
    }
    names = ("dtpr", "dtpr_low", "dtpr_high", "dfpr", "dfpr_low", "dfpr_high")
    columns |= {name: getattr(found, name) for name in names} | _dominance(pair, at)
    return [_finite(row) for row in lines(columns)]


def _dominance(pair: PairedSample, at: Floats) -> dict[str, Floats]:
    law = threshold_dominance(pair, at)
    return dict(zip(_SHARES, (law.second, law.first, law.both_higher, law.both_lower, law.tie), strict=True))


def _cost(
    pair: PairedSample, setting: PairedSample, w: float, money: Money | None, level: float, caveats: list[str]
) -> Row:
    at = [float(cost_thresholds(sample, w).threshold[0]) for sample in (setting.first, setting.second)]
    # The second's cost less the first's: the champion's less the challenger's.
    saved = cost_difference(pair, w, *at, method="mover", confidence_level=level)
    caveats += [f"cost at w = {w:g}: {caveat}" for caveat in saved.caveats]
    own = [
        float(cost_curve(sample, w, threshold, method="mover").cost[0])
        for sample, threshold in zip((pair.first, pair.second), at, strict=True)
    ]
    row: Row = {
        "w": w,
        "champion_threshold": at[1],
        "challenger_threshold": at[0],
        "champion_cost": own[1],
        "challenger_cost": own[0],
        "saved": float(saved.cost[0]),
        "low": float(saved.low[0]),
        "high": float(saved.high[0]),
        **dict.fromkeys(("unit", "false_positive", "false_negative", "prevalence", "decisions")),
        **dict.fromkeys(("money_saved", "money_low", "money_high")),
    }
    if money is not None:
        told = expected_cost(saved, money.condition(), decisions=money.decisions)
        row |= {
            "unit": money.unit,
            "false_positive": money.false_positive,
            "false_negative": money.false_negative,
            "prevalence": money.prevalence,
            "decisions": money.decisions,
            "money_saved": float(told.cost[0]),
            "money_low": float(told.low[0]),
            "money_high": float(told.high[0]),
        }
    return _finite(row)


def _finite(row: Row) -> Row:
    """The row with None for thresholds that flag nothing: JSON has no infinity."""
    return {
        name: None if isinstance(value, float) and math.isinf(value) else value for name, value in row.items()
    }
