"""The change of a window's AUROC, by the groups of some columns, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocmonitor.policy.windows import Window
from rocmonitor.stats.column_changes import ranked
from rocmonitor.stats.decomposition import GroupChanges
from rocmonitor.stats.grouping import Label

FALSE_DISCOVERIES = 0.05
"""The rate at which groups of all columns are named although they did nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPart:
    """The part of a change that one group of a column made.

    Attributes
    ----------
    column, group : str
    part, mix, ranking : float
        Its part of the change, and the two that make it.
    se : float
        Standard error of `part`.
    adjusted_pvalue : float
        The smallest false discovery rate, over all groups of all columns, at which it stands out.
    rows : int
        In the window.
    share, reference_share : float
        Of the rows of window and reference.
    """

    column: str
    group: str
    part: float
    mix: float
    ranking: float
    se: float
    adjusted_pvalue: float
    rows: int
    share: float
    reference_share: float

    @property
    def is_found(self) -> bool:
        """True if it stands out from the other groups, and chance does not explain that."""
        return self.adjusted_pvalue <= FALSE_DISCOVERIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The change of a window's AUROC from the reference, by the groups of some columns.

    Attributes
    ----------
    monitor : str
    window : Window
    reference_auc, auc : float
    parts : tuple of GroupPart
        The clearest first.
    refused : dict of str to str
        Why a column explains nothing, by name.
    """

    monitor: str
    window: Window
    reference_auc: float
    auc: float
    parts: tuple[GroupPart, ...]
    refused: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "monitor": self.monitor,
            "window": str(self.window),
            "reference_auc": self.reference_auc,
            "auc": self.auc,
            "change": self.auc - self.reference_auc,
            "groups": [
                {name: getattr(each, name) for name in GroupPart.__dataclass_fields__}
                | {"found": each.is_found}
                for each in self.parts
            ],
            "refused": self.refused,
        }


def group_parts(found: Mapping[str, GroupChanges]) -> list[GroupPart]:
    """Return the groups of all columns, the clearest first: by `ranked`, of mix and ranking the clearer."""
    if not found:
        return []
    lines, rates = ranked(found), dict[tuple[str, Label], float]()
    of_lines = zip(lines.columns, lines.groups, strict=True)
    for line, rate in zip(of_lines, lines.adjusted_pvalue.tolist(), strict=True):
        rates.setdefault(line, rate)  # the smaller one comes first
    parts = []
    for column, of in found.items():
        rows, before = of.pos_window + of.neg_window, of.pos_reference + of.neg_reference
        parts += [
            GroupPart(
                column=column,
                group="(no value)" if group is None else str(group),
                part=float(of.parts[at]),
                mix=float(of.mix_parts[at]),
                ranking=float(of.ranking_parts[at]),
                se=float(of.se[at]),
                adjusted_pvalue=rates[column, group],
                rows=int(rows[at]),
                share=float(rows[at] / rows.sum()),
                reference_share=float(before[at] / before.sum()),
            )
            for at, group in enumerate(of.groups)
        ]
    return sorted(parts, key=lambda each: (each.adjusted_pvalue, -abs(each.part)))
