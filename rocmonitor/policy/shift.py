"""What the scores of a window lead to, and which of them made its AUROC what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from rocmonitor.caveat import Caveat
from rocmonitor.policy.record import Row, caveats_of
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Lasting, Rule
from rocmonitor.stats import Sample, ShiftExplanation, explain_shift
from rocmonitor.stats.unlabelled import ScoreCounts


class Shift(NamedTuple):
    """What moved, as an evaluation keeps it."""

    metrics: dict[str, float]
    table: list[Row]
    caveats: tuple[Caveat, ...]


def shift_of(reference: Reference, champion: Sample, scores: ScoreCounts) -> Shift | None:
    """What moved against the reference; None where that has not kept its scores."""
    if reference.cells is None or reference.auc is None:
        return None
    shift = explain_shift(reference.cells, champion, joined=reference.joined)
    shift = replace(shift, reference_auc=reference.auc.auc)  # joined cells give it to five digits
    metrics = {"shift/from_positives": shift.from_positives, "shift/from_negatives": shift.from_negatives}
    if shift.similarity is not None:
        metrics["shift/similarity"] = shift.similarity
    if reference.history is not None:
        split = reference.history.split(reference.cells, champion, scores=scores)
        names = ("foreseen", "unforeseen", "score_distance", "label_distance")
        metrics |= {f"shift/{name}": float(getattr(split, name)) for name in names}
    return Shift(metrics, _lines(shift), tuple(caveats_of(shift, "explanation")))


def expected_metric(rules: Mapping[str, Rule], reference: Reference, scores: ScoreCounts) -> dict[str, float]:
    """``expected/auc``, which the scores lead to, where a rule `lasting` takes it off."""
    given = any(isinstance(rule, Lasting) and rule.given is not None for rule in rules.values())
    if not given or reference.history is None or reference.cells is None:
        return {}
    return {"expected/auc": reference.history.expected(reference.cells, scores).auc}


def _lines(shift: ShiftExplanation) -> list[Row]:
    columns = {name: value for name, value in shift.to_dict().items() if isinstance(value, list)}
    del columns["caveats"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
