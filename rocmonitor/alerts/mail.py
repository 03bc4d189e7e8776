"""The lines of a message, as text and as HTML for a mail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from rocmonitor.errors import printable

PICTURE = "auc.png"
"""Name of the attached chart."""

_STYLE = (
    "font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; "
    "max-width: 620px; overflow-wrap: anywhere"
)


class Line(NamedTuple):
    """A line of a message: what it is about, if that is said, and its text."""

    label: str
    text: str


Lines = Sequence[Line]

LONGEST_TEXT = 2000
"""Characters of a line that are shown; what is cut is counted. A value from outside may be of any length."""


def as_text(lines: Lines) -> str:
    """Plain text, a line for each; control characters of values are written out, long ones are cut."""
    return "\n".join(
        f"{printable(line.label)}: {_shown(line.text)}" if line.label else _shown(line.text) for line in lines
    )


def as_html(lines: Lines) -> str:
    """Return a mail; the attached chart goes where ``<!--chart-->`` is.

    All values are escaped, and only addresses of the web become links.
    """
    lead, *others = lines
    parts = [
        f'<div style="{_STYLE}">',
        f'<p style="font-size: 19px; margin: 0 0 8px"><b>{_value(lead.text)}</b></p>',
        *(f'<p style="margin: 0 0 4px">{_line(line)}</p>' for line in others),
        "<!--chart-->",
        "</div>",
    ]
    return "\n".join(parts)


def with_chart(html: str) -> str:
    """Return the mail with the attached chart shown in its place."""
    shown = f'<p><img src="cid:{PICTURE}" style="max-width: 100%" alt="AUROC of the last windows"></p>'
    return html.replace("<!--chart-->", shown)


def without_chart(html: str) -> str:
    """Return the mail where no chart can be shown in it."""
    return html.replace("<!--chart-->\n", "")


def _line(line: Line) -> str:
    return f"<b>{escape(printable(line.label))}:</b> {_value(line.text)}" if line.label else _value(line.text)


def _shown(text: str) -> str:
    """Return a value in words."""
    cut = len(text) - LONGEST_TEXT
    return printable(text) if cut <= 0 else f"{printable(text[:LONGEST_TEXT])}… ({cut:,} characters more)"


def _value(text: str) -> str:
    shown = escape(_shown(text))
    if text.startswith(("https://", "http://")) and not any(sign.isspace() for sign in text):
        return f'<a href="{shown}">{shown}</a>'
    return shown
