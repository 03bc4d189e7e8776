"""Caveats in words: a sentence, or a function that gives one, for each code; by the part that raises it."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from rocmonitor.caveat import Caveat
from rocmonitor.wording.caveats import arrival, forecast, review, rules, service, statistics, window
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


def words_of(caveat: Caveat) -> str:
    """Return the sentence of a caveat, after the parts of the result that it is about.

    Examples
    --------
    >>> words_of(Caveat("single-row").concerning("band"))
    "band: one class has a single row, so the standard error cannot contain that class's variation"
    """
    words = SENTENCES.get(caveat.code, "")
    try:
        text = _WORDS.vformat(words, (), caveat.values) if isinstance(words, str) else words(**caveat.values)
    except (LookupError, TypeError, ValueError):  # other values than this version knows
        text = ""
    return ": ".join([*caveat.about, text]) if text else str(caveat)  # the caveat of a newer version
