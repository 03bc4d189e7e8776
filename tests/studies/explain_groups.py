"""Groups that made a change: how often the right one is named, and how often one that did nothing.

Each column has 5 groups, of which the first holds 20 % of the rows, and all but the first column have nothing
to do with labels or scores. A cell is a share of windows: any group stands out (`found`); a group is named
in the alarm; that is the right one. Beside it the usual list of drifting features: the column with the
largest population stability index, or with the smallest p-value of Kolmogorov and Smirnov, if that is beyond
the limit that 5 % of the windows without any change reach. With 20 columns all three have at most 5 % false
findings.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp
from studies.running import options, replicate, say, table

from rocmonitor.policy.explanation import Explanation, GroupPart, group_parts
from rocmonitor.stats.group_reference import ColumnRows, group_reference

GROUPS = 5
ROWS = (10_000, 3_000)
"""Rows of the reference and of a window; 30 % are positives, which score 1.5 standard deviations higher."""


class Design(NamedTuple):
    """How much lower the positives of the first two groups score, and whether more rows are of the first.

    `weak` is how much lower the first group's positives score in the reference, too; `drift` moves another
    column, which does no harm.
    """

    name: str
    lower: tuple[float, float] = (0.0, 0.0)
    more: float = 0.2
    weak: float = 0.0
    drift: bool = False
    columns: int = 20


DESIGNS = [
    Design("nothing happened"),
    Design("nothing happened, 200 columns", columns=200),
    Design("another column drifts", drift=True),
    Design("loss in one group", lower=(1.0, 0.0)),
    Design("small loss in one group", lower=(0.5, 0.0)),
    Design("loss in one group, another column drifts", lower=(1.0, 0.0), drift=True),
    Design("change of mix", more=0.4, weak=1.2),
    Design("two groups cancel", lower=(0.8, -0.8)),
    Design("loss of all alike", lower=(0.5, 0.5)),
]


class Found(NamedTuple):
    """The groups that were found and named, the parts, and the drift of each column."""

    found: list[tuple[str, str]]
    named: tuple[str, str] | None
    index: np.ndarray
    pvalue: np.ndarray


def main(arguments: list[str]) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=400)
    many = {"seed": chosen.seed, "processes": chosen.processes}
    runs = {
        design: replicate(
            partial(one, design),
            replications=chosen.replications // (4 if design.columns > 50 else 1),
            **many,
        )
        for design in DESIGNS
    }
    table(["design", "found", "named", "right", "index: right", "wrong", "KS: right", "wrong"], lines(runs))
    say(f"\n{chosen.replications} windows a design, a quarter with 200 columns.")
    say("Limits: the index and the p-value that 5 % of the windows without any change reach.")


def lines(runs: dict[Design, list[Found]]) -> list[list[str]]:
    """The cells of each design."""
    calm = next(found for design, found in runs.items() if design == DESIGNS[0])
    index = np.quantile([each.index.max() for each in calm], 0.95)
    pvalue = np.quantile([each.pvalue.min() for each in calm], 0.05)
    rows = []
    for design, found in runs.items():
        right = [_right(design, each) for each in found]
        by_index = [int(each.index.argmax()) if each.index.max() > index else -1 for each in found]
        by_pvalue = [int(each.pvalue.argmin()) if each.pvalue.min() < pvalue else -1 for each in found]
        shares = [
            np.mean([bool(each.found) for each in found]),
            np.mean([each.named is not None for each in found]),
            np.mean(right),
            *(np.mean([at == 0 for at in of]) for of in (by_index,)),
            np.mean([at > 0 for at in by_index]),
            np.mean([at == 0 for at in by_pvalue]),
            np.mean([at > 0 for at in by_pvalue]),
        ]
        rows.append([design.name, *(f"{100 * each:.1f}" for each in shares)])
    return rows


def _right(design: Design, found: Found) -> bool:
    """Whether the group that did it is named; of two that cancel, whether both are found."""
    if design.lower[0] * design.lower[1] < 0:
        return {("c0", "0"), ("c0", "1")} <= set(found.found)
    return found.named == ("c0", "0")


def one(design: Design, rng: np.random.Generator) -> Found:
    """What is found of one window."""
    old, new = drawn(design, rng, ROWS[0]), drawn(design, rng, ROWS[1], now=True)
    reference = group_reference(old)
    split = reference.split(reference.counted(new, own=True))
    parts = group_parts(split)
    explained = Explanation(reference_auc=split.whole.reference_auc, auc=split.whole.auc, parts=tuple(parts))
    drift = [_drift(old[name].values, new[name].values) for name in old]
    index, pvalue = np.array(drift).T
    leading = explained.leading
    return Found(
        [_key(each) for each in parts if each.is_found],
        None if leading is None else _key(leading),
        index,
        pvalue,
    )


def _key(part: GroupPart) -> tuple[str, str]:
    return part.column, part.group


def drawn(design: Design, rng: np.random.Generator, n: int, *, now: bool = False) -> dict[str, ColumnRows]:
    """Rows of the reference, or of the window."""
    shares = np.full((design.columns, GROUPS), 0.8 / (GROUPS - 1))
    shares[:, 0] = 0.2
    if now:
        shares[0] = [design.more, *np.full(GROUPS - 1, (1 - design.more) / (GROUPS - 1))]
        if design.drift:
            shares[1] = [0.35, *np.full(GROUPS - 1, 0.65 / (GROUPS - 1))]
    values = [rng.choice(GROUPS, n, p=each) for each in shares]
    y = rng.random(n) < 0.3
    lower = np.zeros(GROUPS)
    lower[0] = design.weak
    if now:
        lower[:2] += design.lower
        lower[2:] += design.lower[1] if design.lower[0] == design.lower[1] else 0.0
    score = rng.normal(y * (1.5 - lower[values[0]]))
    label = y.astype(np.int8)
    return {f"c{at}": ColumnRows(label, score, each) for at, each in enumerate(values)}


def _drift(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """Population stability index, and p-value of Kolmogorov and Smirnov."""
    p, q = (np.bincount(each, minlength=GROUPS) / len(each) for each in (old, new))
    return float(np.sum((q - p) * np.log(q / p))), float(ks_2samp(old, new, method="asymp").pvalue)
