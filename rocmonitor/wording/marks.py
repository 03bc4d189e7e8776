"""The sign and the word of each status, and their order."""

from __future__ import annotations

from rocmonitor.wording.page import status_word
from rocmonitor.wording.status import WORDS

MARKS = {status: words.mark for status, words in WORDS.items()} | {"waiting": "·"}
"""Signs by status."""

WORST_FIRST = ("error", "degraded", "at-risk", "insufficient", "improved", "waiting", "ok")
"""Statuses, the worst first."""

_PLAIN = str.maketrans("▲◆●↑○✕·–—…×⁺⁻²", "!?*+ox.--.x+-2")


def marked(status: str) -> str:
    """Return the sign of a status and its word."""
    return f"{MARKS[status]} {status_word(status)}"


def plain(text: str) -> str:
    """Return the same for a terminal that knows ASCII only: each sign as one that looks like it."""
    return text.translate(_PLAIN)
