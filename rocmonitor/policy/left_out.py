"""The marks of reference windows far from the others, and the caveat on those that were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.windows import Window

LEFT_OUT, ABOVE = "left_out", "above"
"""Keys of a reference window: the AUROC that it would have had; the chance of one so far above the others."""

_DOUBT = "reference-without-windows"


def learned(windows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the windows of a reference that it was learned from."""
    return [each for each in windows if LEFT_OUT not in each]


def is_usual(window: Mapping[str, Any]) -> bool:
    """Return True if the AUROC of a reference window shows how far windows differ."""
    return "auc" in window and ABOVE not in window


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
