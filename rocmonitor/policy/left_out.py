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


def learned(windows: Sequence[Mapping[str, Any]], of: Iterable[T]) -> list[T]:
    """Return what belongs to the windows of a reference that it was learned from; `of` has one for each."""
    return [each for window, each in zip(windows, of, strict=True) if LEFT_OUT not in window]


def doubt(windows: Sequence[Mapping[str, Any]], zone: ZoneInfo) -> tuple[Caveat, ...]:
    """Return a caveat on the windows of a reference that it was learned without; none where all count."""
    left = [each for each in windows if LEFT_OUT in each]
    if not left:
        return ()
    of = [Window.from_dict(each) for each in left]
    return (
        Caveat(
            _DOUBT,
            count=len(left),
            n_windows=len(windows),
            unit=of[0].unit,
            names=[each.name(zone) for each in of],
            aucs=[each[LEFT_OUT]["auc"] for each in left],
        ),
    )


def doubts_of(reference: Mapping[str, Any]) -> list[Caveat]:
    """Return those of `doubt` in a reference as an evaluation keeps it."""
    return [Caveat.from_dict(each) for each in reference.get("caveats", ()) if each["code"] == _DOUBT]
