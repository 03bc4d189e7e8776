"""The change of a window's AUROC, by the groups of some columns, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rocmonitor.caveat import Caveat
from rocmonitor.conventions import group_name
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Finding, known
from rocmonitor.policy.record import Record, Row

if TYPE_CHECKING:
    from rocmonitor.stats.decomposition import GroupChanges
    from rocmonitor.stats.group_reference import PairChange, Split
    from rocmonitor.stats.grouping import Label


FALSE_DISCOVERIES = 0.05
"""The rate at which groups of all columns are named although they did nothing."""

KEPT = 60
"""Groups that an evaluation keeps."""

PAIRED = " × "
"""Parts the two columns, and the two groups, of a pair."""

_CELLS = 0.0005  # by which an AUROC of cells may differ from that of the rows
_CANDIDATES = 5  # groups of which pairs are looked at
_MOST_OF_EITHER = 0.6  # of two groups that each did something by itself the rows of both do half
_MOST_APART = KEPT  # groups that are set aside
_SMALLEST = 0.005  # change that is a group's
_OF_THE_MIX = 0.25  # of a change: what more or fewer rows of a group must have done to be named


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPart:
    """The part of a change that one group of a column made: by its mix, and by its ranking.

    `adjusted_pvalue` is the smallest false discovery rate, over all groups of all columns, at which it stands
    out, also without the rows of the groups of its column that are clearer.
    """

    column: str
    group: str
    part: float
    mix: float
    ranking: float
    se: float  # of `part`
    adjusted_pvalue: float
    rows: int  # in the window
    share: float  # of the rows of the window
    reference_share: float
    auc_without: float | None = None  # the AUROC without its rows; of groups that stand out
    reference_auc_without: float | None = None

    @property
    def is_found(self) -> bool:
        """True if it stands out from the other groups, and chance does not explain that."""
        return self.adjusted_pvalue <= FALSE_DISCOVERIES

    def stands_out(self, change: float) -> bool:
        """Return True if the group did clearly more of a change than its share of the rows."""
        if not change:
            return False
        rows = max(self.share, self.reference_share)
        return self.ranking / change > rows + (1 - rows) / 4 or self.mix / change > _OF_THE_MIX

    def is_marked(self, change: float) -> bool:
        """Return True if it stands out and did much of a change, or against it; or if there is hardly one."""
        return self.is_found and (
            abs(change) < _SMALLEST or self.stands_out(change) or self.stands_out(-change)
        )

    def to_row(self) -> Row:
        """Plain JSON types."""
        return asdict(self) | {"found": self.is_found}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> GroupPart:
        """Return the inverse of `to_row`."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__ if name in row})


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The change of a window's AUROC from the reference, by the groups of some columns."""

    reference_auc: float
    auc: float
    parts: tuple[GroupPart, ...]  # the marked ones first, the largest first
    refused: dict[str, str] = field(default_factory=dict)  # why a column explains nothing
    expected: bool = False  # True if `auc` is the one that the scores lead to, before the labels

    @property
    def change(self) -> float:
        """The change of the AUROC."""
        return self.auc - self.reference_auc

    @property
    def leading(self) -> GroupPart | None:
        """The group that did most of a change of 0.005 or more, and clearly more than its share; or None."""
        if abs(self.change) < _SMALLEST:
            return None
        marked = [part for part in self.parts if part.is_found and part.stands_out(self.change)]
        pairs = [part for part in marked if PAIRED in part.column]
        return max(pairs or marked, key=lambda part: abs(part.part), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "reference_auc": self.reference_auc,
            "auc": self.auc,
            "change": self.change,
            "expected": self.expected,
            "groups": [part.to_row() for part in self.parts],
            "refused": self.refused,
        }

    def as_judged(self, metrics: Mapping[str, float]) -> Explanation:
        """Return the explanation with the AUROC of all rows that the window was judged with; cells differ by
        less than 0.0001. Without change where labels that came later give another.
        """
        auc = None if self.expected else metrics.get("champion/auc")
        if auc is None or abs(auc - self.auc) >= _CELLS:
            return self
        return replace(self, reference_auc=metrics.get("reference/auc", self.reference_auc), auc=auc)

    def added_to(self, finding: Finding) -> Finding:
        """Return what was found of a window with the groups as a table, the marked ones first."""
        metrics = {"reference/auc": self.reference_auc} if self.expected else {}
        caveats = [Caveat("column-left-out", column=name, why=why) for name, why in self.refused.items()]
        return replace(
            finding,
            metrics=finding.metrics | metrics,
            tables=finding.tables | {"groups": [part.to_row() for part in self.parts[:KEPT]]},
            caveats=(*finding.caveats, *(caveat.concerning("explanation") for caveat in caveats)),
        )


def explanation_of(record: Record) -> Explanation | None:
    """Return what the groups did to a window, an evaluation or an outlook; None if that was not asked."""
    return from_tables(record.tables.get("groups", ()), record.metrics)


def from_tables(rows: Sequence[Row], metrics: Mapping[str, float]) -> Explanation | None:
    """Return the same from the table ``groups`` and the metrics of a window."""
    expected = "champion/auc" not in metrics
    areas = known(metrics, "reference/auc", "outlook/expected_auc" if expected else "champion/auc")
    if not rows or areas is None:
        return None
    parts = tuple(map(GroupPart.from_row, rows))
    return Explanation(reference_auc=areas[0], auc=areas[1], parts=parts, expected=expected)


def candidate_pairs(parts: Sequence[GroupPart], change: float) -> list[tuple[GroupPart, GroupPart]]:
    """Return the pairs of groups of different columns that may explain more than either, at most 10."""
    marked = [part for part in parts if part.is_found and part.part * change > 0]
    most = sorted(marked, key=lambda part: -abs(part.part))[:_CANDIDATES]
    return [(a, b) for at, a in enumerate(most) for b in most[at + 1 :] if a.column != b.column]


def with_pairs(parts: Sequence[GroupPart], pairs: Sequence[PairChange], tested: int) -> list[GroupPart]:
    """Return the parts, before them those of the clearest pair of groups that did more than either, if any.

    Of `tested` pairs, one is named falsely at most as often as a group is (Bonferroni).
    """
    large = []  # pairs of which the rows of both groups made most of what either group did
    for pair in pairs:
        both, first, second, _ = pair.changes.parts.tolist()
        if all(part and both / part >= _MOST_OF_EITHER for part in (both + first, both + second)):
            large.append(pair)
    best = min(large, key=lambda pair: pair.pvalue, default=None)
    if best is None or best.pvalue * tested > FALSE_DISCOVERIES:
        return list(parts)
    one, other = map(name_of_group, best.groups)
    names = {
        "both": f"{one}{PAIRED}{other}",
        "first": f"{one}{PAIRED}other",
        "second": f"other{PAIRED}{other}",
        "neither": f"other{PAIRED}other",
    }
    column, rate = PAIRED.join(best.columns), best.pvalue * tested
    changes = replace(best.changes, groups=tuple(names[str(group)] for group in best.changes.groups))
    of_pair = _parts(column, changes, [rate, 1.0, 1.0, 1.0], {names["both"]: best.without})
    return _in_order([*of_pair, *parts], best.changes.change)


def group_parts(split: Split) -> list[GroupPart]:
    """Return the groups of all columns, the marked ones first.

    Groups are tested by `ranked`, of mix and ranking the clearer. The clearest one that did what the AUROC
    did, or else the clearest, is set aside, and the others of its column are tested again without its rows:
    where one group loses, the others differ from it, too.
    """
    if not split.columns:
        return []
    from rocmonitor.stats.column_changes import ranked  # slow to import: what was stored is read without

    rates: dict[tuple[str, Label], float] = {}
    left = dict(split.columns)
    apart: dict[str, dict[Label, GroupChanges]] = {}
    for _ in range(_MOST_APART):
        lines = ranked(left)
        seen: dict[tuple[str, Label], float] = {}
        clear: list[tuple[bool, float, str, Label]] = []
        for column, group, rate, effect in zip(
            lines.columns, lines.groups, lines.adjusted_pvalue.tolist(), lines.effect.tolist(), strict=True
        ):
            if (column, group) not in seen:  # the smaller one comes first
                seen[column, group] = worst = max(rate, rates.get((column, group), 0.0))
                if worst <= FALSE_DISCOVERIES:
                    clear.append((effect * split.whole.change <= 0, worst, column, group))
        rates |= seen
        if not clear:
            break
        _, _, column, group = min(clear, key=lambda row: row[:2])
        of_column = apart.setdefault(column, {})
        try:
            of_column[group] = split.without(column, [group], True)
            left[column] = split.without(column, list(of_column), False)
        except DegenerateDataError:  # the others have one class only
            rates |= dict.fromkeys(
                ((column, other) for other in left.pop(column).groups if other != group), 1.0
            )
            if not left:
                break
    parts = []
    for column, changes in split.columns.items():
        parts += _parts(
            column, changes, [rates[column, group] for group in changes.groups], apart.get(column, {})
        )
    return _in_order(parts, split.whole.change)


def _in_order(parts: Sequence[GroupPart], change: float) -> list[GroupPart]:
    return sorted(
        parts, key=lambda part: (not part.is_marked(change), PAIRED not in part.column, -abs(part.part))
    )


def name_of_group(group: Label) -> str:
    """Return a group for people."""
    return group_name(None if group is None else str(group))


def _parts(
    column: str, changes: GroupChanges, of_group: Sequence[float], without: Mapping[Any, GroupChanges]
) -> list[GroupPart]:
    rows, before = changes.pos_window + changes.neg_window, changes.pos_reference + changes.neg_reference
    return [
        GroupPart(
            column=column,
            group=name_of_group(group),
            part=float(changes.parts[at]),
            mix=float(changes.mix_parts[at]),
            ranking=float(changes.ranking_parts[at]),
            se=float(changes.se[at]),
            adjusted_pvalue=of_group[at],
            rows=int(rows[at]),
            share=float(rows[at] / rows.sum()),
            reference_share=float(before[at] / before.sum()),
            auc_without=without[group].auc if group in without else None,
            reference_auc_without=without[group].reference_auc if group in without else None,
        )
        for at, group in enumerate(changes.groups)
    ]
