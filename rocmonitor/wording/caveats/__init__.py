"""Caveats in words: a sentence, or a function that gives one, for each code; by the part that raises it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocmonitor.wording.caveats import (
    arrival,
    forecast,
    review,
    rules,
    service,
    statistics,
    window,
)
from rocmonitor.wording.format import are

SENTENCES: dict[str, str | Callable[..., str]] = {
    **statistics.SENTENCES,
    **forecast.SENTENCES,
    **window.SENTENCES,
    **arrival.SENTENCES,
    **rules.SENTENCES,
    **review.SENTENCES,
    **service.SENTENCES,
}


def sentence(code: str, values: Mapping[str, Any], about: Sequence[str] = ()) -> str:
    """Return the sentence of a caveat, after the parts of the result that it is about."""
    words = SENTENCES.get(code, "")
    try:
        text = words.format(**values, **_verbs(values)) if isinstance(words, str) else words(**values)
    except (LookupError, TypeError, ValueError):  # other values than this version knows
        text = ""
    return ": ".join([*about, text or _as_values(code, values)])


def _verbs(values: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{are}`` and ``{have}`` of a template, by its ``count``."""
    number = values.get("count", 0)
    return {"are": are(number), "have": "has" if number == 1 else "have"}


def _as_values(code: str, values: Mapping[str, Any]) -> str:
    """Return a caveat of a newer version: its code and values, as they are."""
    shown = ", ".join(f"{name} {value}" for name, value in values.items())
    return f"{code} ({shown})" if shown else code
