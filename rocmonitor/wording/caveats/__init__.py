"""Caveats in words: a sentence, or a function that gives one, for each code; by the part that raises it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocmonitor.wording.caveats import (
    area,
    arrival,
    band,
    cost,
    curve,
    forecast,
    lasting,
    research,
    review,
    rules,
    sequence,
    service,
    window,
)

SENTENCES: dict[str, str | Callable[..., str]] = {
    "recorded": "{text}",  # a sentence that an earlier version stored
    **area.SENTENCES,
    **curve.SENTENCES,
    **band.SENTENCES,
    **cost.SENTENCES,
    **forecast.SENTENCES,
    **sequence.SENTENCES,
    **lasting.SENTENCES,
    **research.SENTENCES,
    **window.SENTENCES,
    **arrival.SENTENCES,
    **rules.SENTENCES,
    **review.SENTENCES,
    **service.SENTENCES,
}


def sentence(code: str, values: Mapping[str, Any], about: Sequence[str] = ()) -> str:
    """The sentence of a caveat, after the parts of the result that it is about."""
    words = SENTENCES.get(code, "")
    try:
        text = words.format(**values) if isinstance(words, str) else words(**values)
    except (LookupError, TypeError, ValueError):  # other values than this version knows
        text = ""
    return ": ".join([*about, text or _as_values(code, values)])


def _as_values(code: str, values: Mapping[str, Any]) -> str:
    """A caveat of a newer version: its code and values, as they are."""
    shown = ", ".join(f"{name} {value}" for name, value in values.items())
    return f"{code} ({shown})" if shown else code
