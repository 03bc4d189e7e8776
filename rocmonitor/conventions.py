"""Conventions that the configuration shares with the statistics.

Here, for whatever reads the configuration imports them, and the statistics take half a second to import.
"""

from typing import Literal

Correlation = Literal["none", "estimated"]
"""The treatment of successive windows: independent, or with their estimated correlation."""

Outliers = Literal["leave-out", "keep"]
"""The treatment of reference windows far below the others."""

Estimand = Literal["period", "future"]
"""The average of the true differences over the windows so far, or their mean in the long run."""

PER_UNIT = 1638.4
"""Cells of a unit: of log-odds, or of the score. About 20,000 cells for scores from 0.001 to 0.999."""

ENOUGH_WINDOWS = 8
"""Past windows below which a strength of the projection cannot be learned."""

LEVEL = 0.95
"""Level of the intervals of a window."""

NORMAL_95 = 1.96
"""Standard errors of half a 95 % interval."""

FEWEST_WINDOWS = 3
"""Reference windows with both classes below which no chart of lasting changes can be set up."""

WHY_SET_ASIDE = {
    "one-class": "without rows of both classes",
    "rest-has-one-class": "without which the reference lacks a class",
}
"""Reasons for which a past window is set aside, in words, by their codes."""

NO_VALUE, EMPTY = "(none)", "(empty text)"
"""The names of a segment or a group without a value, and of one whose value is an empty text."""


def group_name(text: str | None) -> str:
    """Return the name of a segment or a group by the text of its value; None: without one.

    Examples
    --------
    >>> [group_name(text) for text in ("north", "", None, "(none)")]
    ['north', '(empty text)', '(none)', '"(none)"']
    """
    if text is None:
        return NO_VALUE
    return f'"{text}"' if text in (NO_VALUE, EMPTY) else text or EMPTY


def text_of_group(name: str) -> str | None:
    """Return the text whose `group_name` this is."""
    special: dict[str, str | None] = {group_name(text): text for text in (None, "", NO_VALUE, EMPTY)}
    return special.get(name, name)
