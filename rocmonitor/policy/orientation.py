"""Scores of which low ones are positive: negated where they are read, and negated back where results go out.

Everything in between may rely on higher scores being more positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rocmonitor.caveat import Caveat
from rocmonitor.policy.record import Row, Tables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Score = TypeVar("Score", float, "NDArray[np.float64]")

_COLUMNS = frozenset({"threshold", "champion_threshold", "challenger_threshold"})
_VALUES = frozenset({"score", "scores", "champion_scores", "challenger_scores", "threshold", "thresholds"})
_SCORE_BINS = ("shift", "scores")  # tables whose rows are bins from `low` to `high`


def negated(score: Score) -> Score:
    """A score, or an array of them, with the sign changed; 0 stays 0, and never becomes -0."""
    return 0.0 - score


def as_scored(
    tables: Mapping[str, Sequence[Row]], caveats: Iterable[Caveat]
) -> tuple[Tables, tuple[Caveat, ...]]:
    """Tables and caveats on negated scores, in the scores that the models gave.

    Parameters
    ----------
    tables : dict of str to list of dict
        Columns of thresholds are negated back; None (nothing is flagged) stays None. In the tables ``shift``
        and ``scores`` the score bins are, and the lowest comes first again: a bin then holds the scores
        from `low` up to but not including `high`.
    caveats : iterable of Caveat
        Values called score, scores, threshold or thresholds are negated back.

    Examples
    --------
    >>> tables, caveats = as_scored(
    ...     {"thresholds": [{"threshold": -0.2, "tpr": 0.7}]}, [Caveat("one-score", rows=9, score=-0.5)]
    ... )
    >>> tables["thresholds"], caveats[0].values
    ([{'threshold': 0.2, 'tpr': 0.7}], {'rows': 9, 'score': 0.5})
    """
    shown = {name: [_row(row) for row in rows] for name, rows in tables.items()}
    for name in _SCORE_BINS:
        if name in shown:
            shown[name] = [_bin(row) for row in reversed(shown[name])]
    return shown, tuple(_caveat(caveat) for caveat in caveats)


def _row(row: Row) -> Row:
    return {name: _back(value) if name in _COLUMNS else value for name, value in row.items()}


def _bin(row: Row) -> Row:
    return row | {"low": _back(row["high"]), "high": _back(row["low"])}


def _caveat(caveat: Caveat) -> Caveat:
    found = {name: _back(value) for name, value in caveat.values.items() if name in _VALUES}
    return caveat.replacing(**found) if found else caveat


def _back(value: Any) -> Any:
    if isinstance(value, list):
        return [_back(each) for each in value]
    return None if value is None else negated(value)
