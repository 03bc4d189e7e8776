"""Lines of an answer as chunks: values of any driver, as columns by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.clock import Clock, since_epoch
from rocmonitor.sources.condensing import ordered
from rocmonitor.sources.query import Query
from rocmonitor.sources.values import Encoder, clusters, encoded, identities

_WRITTEN = "0000-00-00 00:00:00.000000"  # 0: a digit; also without the fraction


_UTC = ("+00:00", "Z")


def read_times(clock: Clock, values: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what `Clock.read` gives of each value, 0 where that is None, and where it is not None.

    Times that are all written alike are read together, several times as fast as one by one.
    """
    together = _alike(clock, values)
    if together is not None:
        return together, np.ones(len(together), dtype=np.bool_)
    instants = [clock.read(value) for value in values]
    is_time = np.array([time is not None for time in instants], dtype=np.bool_)
    return np.array([time or 0 for time in instants], dtype=np.int64), is_time


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


def to_chunk(columns: Mapping[str, Sequence[Any]], encoder: Encoder, query: Query) -> Chunk:
    """Return some rows, as columns by role, as the encoder reads them."""
    if encoder.counter is not None:
        encoder.counter.add(columns)
    instants: dict[str, Any] = {}
    if "inside" in columns:
        inside = np.array(columns["inside"], dtype=np.bool_)
        instants = {role: _microseconds(columns[role]) for role in ("time", "known") if role in columns}
    else:
        instants["time"], readable = read_times(query.clock, columns["time"])
        start, end = query.clock.microseconds(query.window)
        inside = readable & (instants["time"] >= start) & (instants["time"] < end)
        if "known" in columns and query.known_clock is not None:
            instants["known"], _ = read_times(query.known_clock, columns["known"])
    identity: dict[str, Any] = {}
    if "id" in columns:
        has_id, words = identities(columns["id"])
        identity = {"has_id": has_id, "id": words, **instants}
    if "cluster" in columns:
        identity["has_cluster"], identity["cluster"] = clusters(columns["cluster"])
    segments = [name for name in columns if name.startswith("segment_")]
    highest = encoder.scores(columns["champion_high"]) if "champion_high" in columns else None
    champion, high = ordered(encoder.scores(columns["champion"]), highest)
    return Chunk(
        inside=inside,
        champion=champion,
        high=high,
        challenger=encoder.scores(columns["challenger"]) if "challenger" in columns else None,
        label=encoded(columns["label"], encoder.label, np.int8),
        segments=tuple(
            encoded(columns[name], partial(encoder.segment, number), np.uint8)
            for number, name in enumerate(segments)
        ),
        weight=np.array(columns["weight"], dtype=np.int64) if "weight" in columns else None,
        arrival=np.array(columns["arrival"], dtype=np.int8) if "arrival" in columns else None,
        **identity,
    )


def _microseconds(times: Sequence[Any]) -> NDArray[np.int64]:
    """Return times on one clock as numbers; 0 for none (rows outside the window, or without an id)."""
    plain = [time if isinstance(time, int) else 0 if time is None else since_epoch(time) for time in times]
    return np.array(plain, dtype=np.int64)
