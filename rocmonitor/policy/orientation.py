"""Scores whose low values are the positive ones: negated when they are read, and back when results leave.

Inside, a high score always means positive. Sources negate such scores, thresholds are negated when they are
read from the configuration, and `as_scored` negates what is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rocmonitor.stats.caveat import Caveat

Row = dict[str, Any]

_NAMES = ("score", "scores", "threshold", "thresholds")


def as_scored(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], caveats: Iterable[Caveat]
) -> tuple[dict[str, list[Row]], tuple[Caveat, ...]]:
    """Tables and caveats with scores and thresholds as the models give them, where low scores are positive.

    Negated are columns and values that are called ``score(s)`` or ``threshold(s)``, or that end so, such as
    ``champion_threshold``. Only numbers with a fraction are: a whole one counts thresholds. A list that is
    called ``scores`` holds the ends of a range, which change places.
    """
    shown = {
        name: [{column: _as_scored(column, value) for column, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }
    return shown, tuple(
        caveat.replacing(**{name: _as_scored(name, value) for name, value in caveat.values.items()})
        for caveat in caveats
    )


def _as_scored(name: str, value: Any) -> Any:
    kind = name.rpartition("_")[2]
    if kind not in _NAMES:
        return value
    if isinstance(value, list):
        negated = [_negated(each) for each in value]
        return negated[::-1] if kind == "scores" else negated
    return _negated(value)


def _negated(value: Any) -> Any:
    return 0.0 - value if isinstance(value, float) else value
