"""Times that SQLite keeps as text, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.sources.clock import Clock

_WRITTEN = "0000-00-00 00:00:00.000000"  # 0: a digit; also without the fraction
_UTC = ("+00:00", "Z")


def read_times(clock: Clock, values: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What `Clock.read` gives of each value, 0 where that is None, and where it is not None.

    Times that are all written alike are read together, several times as fast as one by one.
    """
    together = _alike(clock, values)
    if together is not None:
        return together, np.ones(len(together), dtype=np.bool_)
    found = [clock.read(value) for value in values]
    known = np.array([time is not None for time in found], dtype=np.bool_)
    return np.array([time or 0 for time in found], dtype=np.int64), known


def _alike(clock: Clock, values: Sequence[Any]) -> NDArray[np.int64] | None:
    """Microseconds of times to the second or its millionth that have one length; None if one has not."""
    if not values or set(map(type, values)) != {str}:
        return None
    suffix = "" if clock.zone is not None else next((end for end in _UTC if values[0].endswith(end)), None)
    length = len(values[0])
    if suffix is None or length - len(suffix) not in (19, len(_WRITTEN)):
        return None
    text = "".join(values)
    if not text.isascii() or set(map(len, values)) != {length}:
        return None
    plain = length - len(suffix)
    shape = np.frombuffer((_WRITTEN[:plain] + suffix).encode(), dtype=np.uint8)
    letters = np.frombuffer(text.encode(), dtype=np.uint8).reshape(-1, length)
    is_digit = (shape == ord("0")) & (np.arange(length) < plain)
    fixed = ~is_digit
    fixed[10] = False
    if (letters[:, fixed] != shape[fixed]).any() or not np.isin(letters[:, 10], (ord(" "), ord("T"))).all():
        return None
    digits = letters[:, is_digit] - np.uint8(ord("0"))  # what is below "0" wraps around
    if (digits > 9).any() or not digits[:, :4].any(axis=1).all():  # Python has no year 0
        return None
    written = np.ascontiguousarray(letters[:, :plain]).view(f"S{plain}")[:, 0]
    try:
        return written.astype("datetime64[us]").astype(np.int64)
    except ValueError:  # 30 February
        return None
