"""Dugas and Gadoury 2008, figure 3: coverage of a model's cost by the size of the sample.

Stratified sampling, theta = 3, 25 to 10,000 rows a class. The caption prints the fourth size as 1,000, the
text and the plot as 10,000. The repair is ``method="mover"``, beside Agresti's. Half a minute of one
processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg08 import Figure, one_model, run

SIZES = (25, 250, 2_500, 10_000)
CLAIM = "The range of w with good coverage widens with the size; with 25 rows a class it is very narrow."


def figure() -> Figure:
    return [(f"{n:,} rows a class", one_model(3.0, full=False), n) for n in SIZES]


def main(arguments: Sequence[str] | None = None) -> None:
    run(
        "dg08-size",
        __doc__,
        arguments,
        paper="[DG08] figure 3",
        claim=CLAIM,
        figure=figure,
        columns=2,
        number=100,
        replications=10_000,
    )
