"""The signs of statuses: shape and word say the same, so that a status never hangs on colour alone."""

from __future__ import annotations

MARKS = {
    "degraded": "▲",
    "at-risk": "◆",
    "ok": "●",
    "improved": "↑",
    "insufficient": "○",
    "error": "✕",
    "new": "·",
}
WORST_FIRST = ("error", "degraded", "at-risk", "insufficient", "improved", "new", "ok")
_WORDS = {"at-risk": "at risk", "new": "not judged yet"}
_PLAIN = str.maketrans("▲◆●↑○✕·–—…×⁺⁻²", "!?*+ox.--.x+-2")


def marked(status: str) -> str:
    """The sign of a status and its word."""
    return f"{MARKS.get(status, '·')} {_WORDS.get(status, status)}"


def plain(text: str) -> str:
    """The same for a terminal that knows ASCII only: each sign as one that looks like it."""
    return text.translate(_PLAIN)
