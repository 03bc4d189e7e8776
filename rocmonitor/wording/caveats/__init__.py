"""Caveats in words: a sentence, or a function that gives one, for each code; by the part that raises it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
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
from rocmonitor.wording.format import percent

SENTENCES: dict[str, str | Callable[..., str]] = {
    **statistics.SENTENCES,
    **forecast.SENTENCES,
    **window.SENTENCES,
    **arrival.SENTENCES,
    **rules.SENTENCES,
    **review.SENTENCES,
    **service.SENTENCES,
}


class _Words(Formatter):
    """Templates, with per cent as everywhere: ``:.0%`` as whole, ``:.1%`` with a digit more.

    ``{count:is|are}`` gives the first of both for one, for true and for any text, else the second.
    """

    def format_field(self, value: Any, format_spec: str) -> Any:
        if "|" in format_spec:
            one, other = format_spec.split("|")
            return one if value == 1 or (isinstance(value, str) and value) else other
        if isinstance(value, list | tuple):
            return ", ".join(value)
        if format_spec.endswith("%"):
            return percent(value, 2 if format_spec == ".0%" else 3)
        return super().format_field(value, format_spec)


_WORDS = _Words()


def sentence(code: str, values: Mapping[str, Any], about: Sequence[str] = ()) -> str:
    """Return the sentence of a caveat, after the parts of the result that it is about."""
    words = SENTENCES.get(code, "")
    try:
        text = _WORDS.vformat(words, (), values) if isinstance(words, str) else words(**values)
    except (LookupError, TypeError, ValueError):  # other values than this version knows
        text = ""
    if not text:  # the caveat of a newer version
        shown = ", ".join(f"{name} {value}" for name, value in values.items())
        text = f"{code} ({shown})" if shown else code
    return ": ".join([*about, text])
