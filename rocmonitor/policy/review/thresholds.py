"""Both models in use: corresponding thresholds, and the cost of the decisions.

Thresholds that are matched, calibrated or chosen for a cost are chosen on the rows of `setting`, which are
never among those compared. Challenger first in every pair of samples and of thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rocmonitor.caveat import Caveat
from rocmonitor.policy.measure import Pairs, dominance_shares, rows
from rocmonitor.policy.record import Row
from rocmonitor.policy.review.checks import part_caveats
from rocmonitor.policy.review.settings import Money, ReviewSettings
from rocmonitor.stats import (
    PairedSample,
    calibrated_pairs,
    cost_curve,
    cost_difference,
    cost_thresholds,
    expected_cost,
    matched_pairs,
    threshold_difference,
)
from rocmonitor.stats.curve.matching import flagged_shares, score_quartiles


def at_thresholds(
    pair: PairedSample, setting: PairedSample | None, settings: ReviewSettings, caveats: list[Caveat]
) -> list[Row]:
    """Differences of TPR and FPR, and who dominates, at the champion's given thresholds.

    Each is compared with the same number for the challenger, with the threshold that flags the same share of
    `setting`, and, where it is a probability, with both models' thresholds that mean it once calibrated.
    """
    if not settings.thresholds:
        return []
    given = settings.thresholds
    pairings: dict[str, Pairs] = {"given": [[threshold, threshold] for threshold in given]}
    if setting is not None:
        shares = flagged_shares(setting.second, given).tolist()
        flagging = [(share, at) for share, at in zip(shares, given, strict=True) if 0 < share < 1]
        if missed := len(given) - len(flagging):
            caveats.append(Caveat("thresholds-not-matched", count=missed, total=len(given)))
        if flagging:
            matched = matched_pairs(setting, [share for share, _ in flagging]).tolist()
            pairings["flagged share"] = [[own[0], at] for own, (_, at) in zip(matched, flagging, strict=True)]
        probabilities = [threshold for threshold in given if 0 < threshold < 1]
        if missed := len(given) - len(probabilities):
            caveats.append(Caveat("thresholds-not-calibrated", count=missed, total=len(given)))
        if probabilities:  # which both models' thresholds mean after isotonic calibration
            pairings["calibrated"] = calibrated_pairs(setting, probabilities).tolist()
    table = []
    for pairing, at in pairings.items():
        difference = threshold_difference(pair, at, confidence_level=settings.rule.confidence_level)
        caveats += part_caveats(difference, f"thresholds ({pairing})")
        challenger, champion = zip(*at, strict=True)
        columns: dict[str, Any] = {
            "champion_threshold": champion,
            "challenger_threshold": challenger,
            "champion_flagged": flagged_shares(pair.second, champion),
            "challenger_flagged": flagged_shares(pair.first, challenger),
        }
        names = ("dtpr", "dtpr_low", "dtpr_high", "dfpr", "dfpr_low", "dfpr_high")
        columns |= {name: getattr(difference, name) for name in names} | dominance_shares(pair, at)
        table += rows(columns, pairing=pairing)
    return table


def dominance(pair: PairedSample, setting: PairedSample, settings: ReviewSettings) -> list[Row]:
    """Who dominates where both models flag the same share of `setting`."""
    shares = [number / (settings.flagged + 1) for number in range(1, settings.flagged + 1)]
    at = matched_pairs(setting, shares).tolist()
    challenger, champion = zip(*at, strict=True)
    columns = {"share": shares, "champion_threshold": champion, "challenger_threshold": challenger}
    return rows(columns | dominance_shares(pair, at))


def costs(
    pair: PairedSample, setting: PairedSample, settings: ReviewSettings, caveats: list[Caveat]
) -> list[Row]:
    """Return the challenger's saving at each operating condition, in money where costs are given."""
    priced = {money.condition().w for money in settings.money}
    plain = [(w, None) for w in settings.w if w not in priced]
    level = settings.rule.confidence_level
    conditions = [*plain, *((money.condition().w, money) for money in settings.money)]
    return [_cost(pair, setting, w, money, level, caveats) for w, money in conditions]


def scale_caveats(pair: PairedSample, thresholds: Sequence[float]) -> list[Caveat]:
    """Return where the models' scores, or the shares that a given threshold flags, plainly differ."""
    (low_1, high_1), (low_2, high_2) = score_quartiles(pair.first), score_quartiles(pair.second)
    if low_1 > high_2 or low_2 > high_1:
        scores = {"challenger_scores": [low_1, high_1], "champion_scores": [low_2, high_2]}
        return [Caveat("scales-differ", **scores)]
    shares = zip(
        thresholds,
        flagged_shares(pair.first, thresholds).tolist(),
        flagged_shares(pair.second, thresholds).tolist(),
        strict=True,
    )
    return [
        Caveat("flagged-shares-differ", threshold=threshold, challenger=first, champion=second)
        for threshold, first, second in shares
        if max(first, second) > 2 * min(first, second) and abs(first - second) > 0.01
    ]


def _cost(
    pair: PairedSample,
    setting: PairedSample,
    w: float,
    money: Money | None,
    level: float,
    caveats: list[Caveat],
) -> Row:
    at = [float(cost_thresholds(sample, w).threshold[0]) for sample in (setting.first, setting.second)]
    # The second's cost less the first's: the champion's less the challenger's.
    saved = cost_difference(pair, w, *at, method="mover", confidence_level=level)
    caveats += part_caveats(saved, f"cost at w = {w:g}")
    own = [
        float(cost_curve(sample, w, threshold, method="mover").cost[0])
        for sample, threshold in zip((pair.first, pair.second), at, strict=True)
    ]
    if money is None:
        names = ("unit", "false_positive", "false_negative", "prevalence", "decisions")
        priced: Row = dict.fromkeys((*names, "money_saved", "money_low", "money_high"))
    else:
        expected = expected_cost(saved, money.condition(), decisions=money.decisions)
        priced = {
            "unit": money.unit,
            "false_positive": money.false_positive,
            "false_negative": money.false_negative,
            "prevalence": money.prevalence,
            "decisions": money.decisions,
            "money_saved": float(expected.cost[0]),
            "money_low": float(expected.low[0]),
            "money_high": float(expected.high[0]),
        }
    # None flags nothing.
    challenger, champion = (None if math.isinf(threshold) else threshold for threshold in at)
    return {
        "w": w,
        "champion_threshold": champion,
        "challenger_threshold": challenger,
        "champion_cost": own[1],
        "challenger_cost": own[0],
        "saved": float(saved.cost[0]),
        "low": float(saved.low[0]),
        "high": float(saved.high[0]),
        **priced,
    }
