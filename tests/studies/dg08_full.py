"""Dugas and Gadoury 2008, figures 5 and 6: coverage of costs and of their differences under full sampling.

Samples are drawn from both classes together; 2,000 rows in all; the designs of figures 2 and 4.
The repair is ``method="mover"``, beside Agresti's. Two minutes of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg08 import Figure, difference_figure, run, spread_figure

CLAIM = "Better than stratified sampling where classes overlap (theta = 0.75); differences equally well."


def figure() -> Figure:
    return [*spread_figure((0.75, 1.5, 3.0, 5.0), full=True), *difference_figure(full=True)]


def main(arguments: Sequence[str] | None = None) -> None:
    run(
        "dg08-full",
        __doc__,
        arguments,
        paper="[DG08] figures 5 and 6",
        claim=CLAIM,
        figure=figure,
        columns=3,
        number=300,
        replications=4_000,
    )
