"""Dugas and Gadoury 2008, figure 4: coverage of the difference of two models' costs.

Stratified sampling, 1,000 rows a class; the second model's positives lie 0, 2 or 4 higher; correlation 0.3
to 0.9. The repair is ``method="mover"``, beside Agresti's. Two minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg08 import Figure, difference_figure, run

CLAIM = (
    "Coverage breaks at both ends of w; a larger theta widens the good range; the correlation "
    "has little effect."
)


def figure() -> Figure:
    return difference_figure(full=False)


def main(arguments: Sequence[str] | None = None) -> None:
    run(
        "dg08-difference",
        __doc__,
        arguments,
        paper="[DG08] figure 4",
        claim=CLAIM,
        figure=figure,
        columns=3,
        number=200,
        replications=4_000,
    )
