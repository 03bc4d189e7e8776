"""Lines of an answer as chunks: values of any driver, as columns by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocmonitor.sources.chunk import Chunk
from rocmonitor.sources.clock import since_epoch
from rocmonitor.sources.condensing import ordered
from rocmonitor.sources.query import Query
from rocmonitor.sources.text_times import read_times
from rocmonitor.sources.values import Encoder, clusters, encoded, identities


def to_chunk(columns: Mapping[str, Sequence[Any]], encoder: Encoder, query: Query) -> Chunk:
    """Some rows, as columns by role, as the encoder reads them."""
    if encoder.counter is not None:
        encoder.counter.add(columns)
    if "inside" in columns:
        inside = np.array(columns["inside"], dtype=np.bool_)
        times = _microseconds(columns["time"]) if "id" in columns else None
    else:
        times, known = read_times(query.clock, columns["time"])
        start, end = query.clock.microseconds(query.window)
        inside = known & (times >= start) & (times < end)
    identity: dict[str, Any] = {}
    if "id" in columns:
        has_id, words = identities(columns["id"])
        identity = {"has_id": has_id, "id": words, "time": times}
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
    """Times on one clock as numbers; 0 for none (such rows are outside the window, or have no id)."""
    plain = [time if isinstance(time, int) else 0 if time is None else since_epoch(time) for time in times]
    return np.array(plain, dtype=np.int64)
