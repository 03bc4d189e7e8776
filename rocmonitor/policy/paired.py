"""Champion and challenger on the rows that both scored: known row by row, or by cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rocmonitor.caveat import Caveat
from rocmonitor.policy.condensing import too_coarse
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.rules import Challenger
from rocmonitor.stats import (
    AucDifference,
    CondensedPair,
    PairedSample,
    Sample,
    ThresholdDominance,
    compare_auc_condensed,
    compare_auc_paired,
    condensed_dominance,
    threshold_dominance,
)

Pair = PairedSample | CondensedPair
"""Challenger first, champion second."""

_COARSE = "condensed-too-coarse"


def compared(pair: Pair) -> AucDifference:
    """The difference of the AUROCs, challenger minus champion."""
    return compare_auc_condensed(pair) if isinstance(pair, CondensedPair) else compare_auc_paired(pair)


def dominance_at(pair: Pair, thresholds: Sequence[float]) -> ThresholdDominance:
    """Which model dominates at thresholds that are the same for both."""
    if isinstance(pair, CondensedPair):
        return condensed_dominance(pair, thresholds)
    return threshold_dominance(pair, [(at, at) for at in thresholds])


def not_comparable(pair: Pair, max_error: float) -> Caveat | None:
    """That cells leave more than `max_error` of one of the two AUROCs open; None where they do not."""
    found = (too_coarse(sample, max_error) for sample in (pair.first, pair.second))
    return next((each.concerning("challenger") for each in found if each is not None), None)


def pair_caveats(champion: Sample, pair: Pair, difference: AucDifference) -> Iterator[Caveat]:
    """On how many of the champion's rows the challenger is compared, when not on all; errors of cells."""
    both = pair.n_pos + pair.n_neg
    missing = champion.n_pos + champion.n_neg - both
    if missing:
        area = float(difference.auc_2)
        yield Caveat("challenger-scores-missing", rows=both, missing=missing, champion_auc=area)
    if difference.error is not None and any(difference.error):
        off, of_se = difference.error
        yield Caveat("condensed-difference", rows=both, auc=off, se=of_se)


def challenger_verdict(
    name: str, rule: Challenger, difference: AucDifference | None, caveats: Iterable[Caveat]
) -> Verdict:
    """Never an alarm; where the challenger scored too few rows, there is no estimate.

    The rule cannot be applied where cells are too coarse, as `caveats` then say.
    """
    if difference is None:
        coarse = [each for each in caveats if each.code == _COARSE]
        if coarse:
            return Verdict.lacking(name, "challenger", coarse[0].bare())
        return Verdict(rule=name, kind="challenger", outcome=Status.OK)
    low, high = difference.ci(rule.confidence_level)
    return Verdict(
        rule=name,
        kind="challenger",
        outcome=Status.OK,
        estimate=difference.difference,
        low=low,
        high=high,
        confidence_level=rule.confidence_level,
        details={"rows": difference.n_pos_1 + difference.n_neg_1},
    )
