"""The columns, and the groups of them, that explain a change of the AUROC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.stats import plotting
from rocmonitor.stats.decomposition import GroupChanges, changes_by, in_errors, ranked_rows, three
from rocmonitor.stats.grouping import BINS, Label
from rocmonitor.stats.nouns import classes, many
from rocmonitor.stats.proportion import quantile_beyond, require_level
from rocmonitor.stats.result import Table
from rocmonitor.stats.rows import Floats

if TYPE_CHECKING:
    import pandas as pd


Columns = Mapping[str, ArrayLike]
SampleOfColumns = tuple[ArrayLike, ArrayLike, Columns]
"""Labels, scores, and columns by name, of the same rows; a pandas DataFrame is such columns."""

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnChanges(Table):
    """The effects of the groups of several columns on a change of the AUROC, the clearest first.

    Each group of each column has two lines, its mix and its ranking. The arrays, shape (h,), and `columns`,
    `groups` and `kinds` have one entry for each line. `n_pos` and `n_neg` are of the window.

    Attributes
    ----------
    columns
    groups: As in `GroupChanges`.
    kinds : tuple of {"mix", "ranking"}
    part: The part of the change.
    effect, se: What is tested to be 0, and its standard error: the part of the mix, or what the part of the
        ranking is beyond the group's share of all ranking (`GroupChanges.excess`).
    pvalue, adjusted_pvalue: Two-sided, by the normal law; and adjusted for all lines [BH95].
    change, change_se: Of the AUROC.
    """

    columns: tuple[str, ...]
    groups: tuple[Label, ...]
    kinds: tuple[str, ...]
    part: Floats
    effect: Floats
    se: Floats
    pvalue: Floats
    adjusted_pvalue: Floats
    change: float
    change_se: float
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    _estimate = "change"
    _flat = True

    def found(self, level: float = 0.05) -> list[int]:
        """Return the lines that stand out, of which about `level` are false at most; none if none does."""
        return [int(at) for at in np.flatnonzero(self.adjusted_pvalue <= require_level(level))]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row for each line."""
        frame = Table.to_frame(self)
        for place, name in enumerate(("columns", "groups", "kinds")):
            frame.insert(place, name.removesuffix("s"), list(getattr(self, name)))
        return frame

    def _named(self, at: int) -> str:
        group = "missing" if self.groups[at] is None else self.groups[at]
        return f"{self.columns[at]} = {group}, {self.kinds[at]}"

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        plotting.zero(ax, vertical=True)
        shown, half = range(min(_SHOWN, len(self.part))), quantile_beyond(0.025) * self.se
        plotting.rows(
            ax,
            [self._named(at) for at in shown],
            [(float(e), float(e - h), float(e + h)) for e, h in zip(self.effect, half, strict=True)][:_SHOWN],
            x="effect on the AUROC, 95 % intervals",
            note=f"AUROC {self.change:+.4f}; {many(len(self.found()), 'effect')} stand out",
            label=label,
            sign="+",
        )

    def __str__(self) -> str:
        lines = self.found()
        leading = "no column explains it"
        if lines:
            first = lines[0]
            leading = f"{self._named(first)} {self.part[first]:+.4f} stands out most of {len(lines)}"
        return (
            f"AUROC {self.change:+.4f} (standard error {self.change_se:.4f}): {leading}, "
            f"{many(len(set(self.columns)), 'column')}, {classes(self.n_pos, self.n_neg)}"
        )


def group_changes_by_column(
    reference: SampleOfColumns, window: SampleOfColumns, *, bins: int = BINS
) -> ColumnChanges:
    """Rank the groups of several columns by what they did to the change of the AUROC.

    Parameters
    ----------
    reference, window : tuple (y_true, y_score, columns): Labels 0 and 1 and finite scores, shape (n,), and a
        mapping of names to columns of the same rows, such as a pandas DataFrame. Both samples have the same
        names.
    bins: As for `group_changes`.

    Returns
    -------
    A column that `group_changes` refuses, such as an id, is left out with a caveat.

    Notes
    -----
    Each column is split as by `group_changes`. Tested are every part of the mix, and what every part of the
    ranking is beyond the group's share of all ranking: for where all rows rank worse, each group of an
    irrelevant column has its share of the fall. The p-values of all lines are adjusted by [BH95]. Columns
    that are alike stand out together.
    Cost: one sort of each sample, then O(n k) for a column with k groups.

    Examples
    --------
    >>> y, score = [0, 1] * 50, list(range(100))
    >>> region, hour = ["north"] * 50 + ["south"] * 50, [0, 0, 6, 6] * 25
    >>> worse = [s - 90 * (label and r == "south") for s, label, r in zip(score, y, region)]
    >>> columns = {"region": region, "hour": hour}
    >>> found = group_changes_by_column((y, score, columns), (y, worse, columns))
    >>> found.columns[0], found.groups[0], found.kinds[0], found.found()
    ('region', 'south', 'ranking', [0, 1])
    """
    parts = [three(rows, name, "columns") for rows, name in ((reference, "reference"), (window, "window"))]
    for (_, _, columns), side in zip(parts, ("reference", "window"), strict=True):
        if not hasattr(columns, "keys") or not len(columns.keys()):
            raise InputError(
                f"columns of the {side} must map at least one name to a column, as a DataFrame does"
            )
    names, others = (list(columns.keys()) for _, _, columns in parts)
    if not all(isinstance(name, str) for name in (*names, *others)):
        raise InputError("columns must have texts as names: rename them first")
    apart = sorted(set(names) ^ set(others))
    if apart:
        raise InputError(
            f"columns must have the same names in both samples: {', '.join(apart)} is in one only; leave it "
            "out, or fill it with None"
        )
    samples = [
        ranked_rows(y_true, y_score, name, **{names[0]: columns[names[0]]})
        for (y_true, y_score, columns), name in zip(parts, ("reference", "window"), strict=True)
    ]
    by_column, refused = dict[str, GroupChanges](), dict[str, str]()
    for name in names:
        pair = [columns[name] for _, _, columns in parts]
        try:
            for sample, column in zip(samples, pair, strict=True):
                rows = len(np.asarray(column))
                if rows != len(sample.score):
                    raise InputError(f"{name} has {many(rows, 'row')}, and y_true {len(sample.score):,}")
            by_column[name] = changes_by(samples[0], samples[1], *pair, bins=bins, name=name)
        except InputError as error:
            refused[name] = str(error)
    caveats = tuple(Caveat("column-left-out", column=name, why=why) for name, why in refused.items())
    if not by_column:
        raise InputError("columns has none that can be used: " + "; ".join(refused.values()))
    return ranked(by_column, caveats)


def ranked(by_column: Mapping[str, GroupChanges], caveats: tuple[Caveat, ...] = ()) -> ColumnChanges:
    """Return the lines of at least one column, the smallest p-value first."""
    lines = [
        (name, *line)
        for name, changes in by_column.items()
        for kind, part, effect, se in (
            ("mix", changes.mix_parts, changes.mix_parts, changes.mix_se),
            ("ranking", changes.ranking_parts, changes.excess, changes.excess_se),
        )
        for line in zip(
            changes.groups, [kind] * len(part), part.tolist(), effect.tolist(), se.tolist(), strict=True
        )
    ]
    columns, groups, kinds, *numbers = zip(*lines, strict=True)
    part, effect, se = (np.array(column, dtype=np.float64) for column in numbers)
    # One group has no rest to differ from: its effect is rounding.
    away = in_errors(effect, np.where(se > 1e-12, se, 0.0))
    first = next(iter(by_column.values()))
    # Two groups of a column differ from each other as much: the one that did what the AUROC did comes first.
    order = np.lexsort((-effect * np.sign(first.change), -np.round(away, 9)))
    pvalue = np.maximum.accumulate(2 * scipy.special.ndtr(-away[order]))
    return ColumnChanges(
        columns=tuple(columns[at] for at in order),
        groups=tuple(groups[at] for at in order),
        kinds=tuple(kinds[at] for at in order),
        part=part[order],
        effect=effect[order],
        se=se[order],
        pvalue=np.asarray(pvalue),
        adjusted_pvalue=adjusted_pvalues(pvalue),
        change=first.change,
        change_se=first.change_se,
        n_pos=first.n_pos,
        n_neg=first.n_neg,
        caveats=caveats,
    )


def adjusted_pvalues(pvalue: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p-values, adjusted so that those of at most q are false in a share of at most q ([BH95]).

    They are those of `scipy.stats.false_discovery_control`, without the second that its import takes.
    """
    given = np.asarray(pvalue, dtype=np.float64)
    order, adjusted = np.argsort(given), np.empty(len(given))
    raised = given[order] * (len(given) / np.arange(1.0, len(given) + 1))
    adjusted[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return adjusted
