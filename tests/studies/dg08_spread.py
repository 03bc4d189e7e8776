"""Dugas and Gadoury 2008, figure 2: coverage of a model's cost by how far classes are apart.

Stratified sampling, 1,000 rows a class, theta from 0.75 to 5.
The repair is ``method="mover"``, beside Agresti's. Half a minute of one processor.
"""

from __future__ import annotations

from collections.abc import Sequence

from studies.dg08 import Figure, run, spread_figure

CLAIM = "Coverage is better when classes overlap less; it breaks as w comes close to 0 or 1."


def figure() -> Figure:
    return spread_figure((0.75, 1.5, 3.0, 5.0), full=False)


def main(arguments: Sequence[str] | None = None) -> None:
    run(
        "dg08-spread",
        __doc__,
        arguments,
        paper="[DG08] figure 2",
        claim=CLAIM,
        figure=figure,
        columns=2,
        number=0,
        replications=10_000,
    )
