"""The reference windows that were left out, far below the others: their mark, and the caveat on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.windows import Window

LEFT_OUT = "left_out"
"""Key of a reference window: the AUROC that it would have had."""

_DOUBT = "reference-without-windows"

T = TypeVar("T")


def learned(windows: Sequence[Mapping[str, Any]], values: Iterable[T]) -> list[T]:
    """Return the values of the windows that a reference was learned from; `values` has one for each."""
    return [value for window, value in zip(windows, values, strict=True) if LEFT_OUT not in window]


def doubt(windows: Sequence[Mapping[str, Any]], zone: ZoneInfo) -> tuple[Caveat, ...]:
    """Return a caveat on the windows of a reference that it was learned without; none where all count."""
    left = [row for row in windows if LEFT_OUT in row]
    if not left:
        return ()
    left_windows = [Window.from_dict(row) for row in left]
    return (
        Caveat(
            _DOUBT,
            count=len(left),
            n_windows=len(windows),
            unit=left_windows[0].unit,
            names=[window.name(zone) for window in left_windows],
            aucs=[row[LEFT_OUT]["auc"] for row in left],
        ),
    )


def doubts_of(reference: Mapping[str, Any]) -> list[Caveat]:
    """Return those of `doubt` in a reference as an evaluation keeps it."""
    return [Caveat.from_dict(caveat) for caveat in reference.get("caveats", ()) if caveat["code"] == _DOUBT]
