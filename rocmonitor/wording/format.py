"""Numbers, intervals, instants and names as people read them; the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from urllib.parse import quote
from zoneinfo import ZoneInfo

from rocmonitor.errors import printable
from rocmonitor.policy.evaluation import Counts


def area(value: float) -> str:
    """Return an AUROC."""
    return f"{value:.3f}"


def signed(value: float, digits: int = 4) -> str:
    """Return a difference, with its sign; the minus is a real one."""
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")


def span(low: float, high: float, *, sign: bool = False) -> str:
    """Return an interval."""
    return f"{signed(low)} to {signed(high)}" if sign else f"{area(low)} to {area(high)}"


def forecast_span(low: float, high: float) -> str:
    """Return a normal range; one that reaches 1 has no upper end that can be left."""
    return normal_range(low, high, 3)


def percent(share: float, digits: int = 3) -> str:
    """Return a level or a share, with as many significant digits as it needs.

    Examples
    --------
    >>> percent(0.95), percent(0.999846)
    ('95 %', '99.985 %')
    >>> percent(0.304, 2), percent(1, 2), percent(25)
    ('30 %', '100 %', '2,500 %')
    """
    if 0.999 < share < 1:  # two digits of what is left
        digits = max(digits, 1 - math.floor(math.log10(1 - share)))
    if 100 * share >= 10**digits - 0.5:  # a power of ten would take their place
        return f"{100 * share:,.{1 if share < 1 else 0}f} %"
    return f"{100 * share:.{digits}g} %"


def days(number: float) -> str:
    """Return a number of days: whole ones, below 100 with a decimal, below a tenth with two digits.

    Examples
    --------
    >>> days(1203.4), days(14), days(22.5), days(1 / 24)
    ('1,203', '14', '22.5', '0.042')
    """
    if 0 < number < 0.1:
        return f"{number:.2g}"
    return f"{number:.1f}".removesuffix(".0") if number < 99.95 else f"{number:,.0f}"


def count(number: float, what: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 window``, ``2 windows``."""
    return f"{number:,.0f} {what if number == 1 else plural or f'{what}s'}"


def duration(length: timedelta) -> str:
    """Return a time rounded in its largest unit, in hours and days from two on.

    Examples
    --------
    >>> duration(timedelta(hours=3, minutes=40)), duration(timedelta(days=1, hours=23))
    ('4 hours', '47 hours')
    """
    seconds = max(length.total_seconds(), 0)
    for unit, size, least in (("day", 86400, 2), ("hour", 3600, 2), ("minute", 60, 1)):
        if seconds >= least * size:
            return count(round(seconds / size), unit)
    return count(seconds // 1, "second")


def are(number: int) -> str:
    """Return the verb for a number of things."""
    return "is" if number == 1 else "are"


def listed(parts: Sequence[str]) -> str:
    """Join parts: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def first_few(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> first_few(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    more = len(names) - most
    return listed([*names[:most], f"{more:,} more"] if more > 0 else names)


def windows_of(number: int, total: int, unit: str = "window") -> str:
    """Return how many windows of all.

    Examples
    --------
    >>> windows_of(1, 19, "week")
    '1 of 19 weeks'
    """
    return f"{number:,} of {count(total, unit)}"


def named_windows(names: Sequence[str], aucs: Sequence[float], most: int = 3) -> str:
    """Return windows by their start, with their AUROC.

    Examples
    --------
    >>> named_windows(["2026-03-02"], [0.7512])
    '2026-03-02 (AUROC 0.751)'
    """
    parts = [f"{name} (AUROC {auc:.3f})" for name, auc in zip(names, aucs, strict=True)]
    more = len(parts) - most
    return listed([*parts[:most], *([count(more, "other")] if more > 0 else [])])


def instant(moment: datetime, zone: ZoneInfo) -> str:
    """Return a time in a zone; midnight as a plain date."""
    local = moment.astimezone(zone)
    return f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def page_address(page: str | None, monitor: str, segment: str = "") -> str | None:
    """Return where rocmonitor's own page shows a monitor, or its segment; None where the page is nowhere.

    Examples
    --------
    >>> page_address("https://watch.example/", "credit", "region=north")
    'https://watch.example/monitors/credit?segment=region%3Dnorth'
    """
    if page is None:
        return None
    query = f"?segment={quote(segment, safe='')}" if segment else ""
    return f"{page.rstrip('/')}/monitors/{quote(monitor)}{query}"


def one_line(text: str, longest: int) -> str:
    """On one line, shortened visibly."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def without_middle(text: str, longest: int) -> str:
    """On one line, shortened where it says least: a monitor is known by its start, a segment by its end.

    Examples
    --------
    >>> without_middle("credit-default region=south", 25)
    'credit-defau…region=south'
    """
    text = printable(" ".join(text.split()))
    if len(text) <= longest:
        return text
    end = longest // 2
    return f"{text[: longest - end - 1]}…{text[len(text) - end :]}"


def apart(value: float, limit: float, *, most: int = 6) -> tuple[str, str]:
    """Return both with as many decimals, at least two and at most `most`, as show that they differ."""
    pairs = [(f"{value:.{digits}f}", f"{limit:.{digits}f}") for digits in range(2, most + 1)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def beside_normal(value: float, low: float, high: float) -> str:
    """Return an AUROC beside its normal range, with as many decimals as show on which side it lies.

    Examples
    --------
    >>> beside_normal(0.607, 0.658, 0.846)
    'AUROC 0.61, normal range 0.66 to 0.85'
    >>> beside_normal(0.7409, 0.7412, 1)
    'AUROC 0.7409, normal range 0.7412 or more'
    """
    digits = beside(value, low, high)
    return f"AUROC {value:.{digits}f}, normal range {normal_range(low, high, digits)}"


def normal_range(low: float, high: float, digits: int = 2) -> str:
    """Return a normal range; one that reaches 1 has no upper end that can be left."""
    return f"{low:.{digits}f} or more" if low < 1 <= high else f"{low:.{digits}f} to {high:.{digits}f}"


def beside(value: float, low: float, high: float) -> int:
    """Return the decimals, at least two, that show on which side of both ends the value lies."""
    for digits in range(2, 6):
        shown = round(value, digits)
        if all(
            (value < end, value > end) == (shown < round(end, digits), shown > round(end, digits))
            for end in (low, high)
        ):
            return digits
    return 6


AREA = ("champion/auc", "champion/auc_low", "champion/auc_high", "forecast/low", "forecast/high")
"""The metrics of a window that `auc_and_range` takes."""


def auc_and_range(
    auc: float | None,
    low: float | None,
    high: float | None,
    range_low: float | None,
    range_high: float | None,
) -> tuple[str, str]:
    """Return the AUROC of a window with its interval, and its normal range; either may be empty.

    Examples
    --------
    >>> auc_and_range(0.6067, 0.5849, 0.6281, 0.6541, 0.8482)
    ('0.61 (0.58 to 0.63)', '0.65 to 0.85')
    """
    digits, range_ = 2, ""
    if range_low is not None and range_high is not None:
        digits = 2 if auc is None else beside(auc, range_low, range_high)
        range_ = normal_range(range_low, range_high, digits)
    if auc is None or low is None or high is None:
        return "" if auc is None else f"{auc:.{digits}f}", range_
    return with_interval(auc, low, high, digits), range_


def signed_with_interval(value: float, low: float, high: float, limit: float = 0) -> tuple[str, str]:
    """Return a difference and its interval, with the decimals that it allows and that show its side of a
    limit.

    Examples
    --------
    >>> signed_with_interval(0.0129, 0.0085, 0.0173), signed_with_interval(0.02, 0.0004, 0.04)
    (('+0.013', '+0.009 to +0.017'), ('+0.0200', '+0.0004 to +0.0400'))
    """
    digits = max(decimals(low, high), beside(limit, low, high))
    return signed(value, digits), f"{signed(low, digits)} to {signed(high, digits)}"


def points_with_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """Return the same of a difference of rates, in percentage points.

    Examples
    --------
    >>> points_with_interval(-0.041, -0.062, -0.02)
    ('−4.1 points', '−6.2 to −2.0')
    """
    digits = max(decimals(low, high), beside(0, low, high)) - 2
    shown, *ends = (signed(100 * number, digits) for number in (value, low, high))
    return f"{shown} points", " to ".join(ends)


def lower(size: float, low: float, high: float) -> str:
    """Return by how much an AUROC is lower, or higher.

    Examples
    --------
    >>> lower(-0.022, -0.029, -0.015), lower(-0.015, -0.034, 0.004)
    ('0.022 lower (0.015 to 0.029)', '0.015 lower (−0.004 to 0.034)')
    """
    digits = decimals(low, high)
    if size > 0:
        return f"{size:.{digits}f} higher ({span_of(low, high)})"
    return f"{-size:.{digits}f} lower ({span_of(-high, -low)})"


def still(low: float | None, high: float | None) -> str:
    """Return how far a loss that no rule finds any more may go on.

    Examples
    --------
    >>> still(-0.017, 0.013)
    'not clearly over: 0.017 lower to 0.013 higher'
    """
    if low is None or high is None:
        return "not clearly over"
    digits = decimals(low, high)
    ends = (f"{abs(end):.{digits}f} {'lower' if end < 0 else 'higher'}" for end in (low, high))
    return f"not clearly over: {' to '.join(ends)}"


def decimals(low: float, high: float, units: int = 3) -> int:
    """Return the decimals that half an interval allows, from two to four: it is at least so many units of the
    last, three of a difference and one of an AUROC.
    """
    half = abs(high - low) / 2
    return next((digits for digits in (2, 3) if half * 10**digits >= units), 4)


def with_interval(value: float, low: float | None, high: float | None, least: int = 2) -> str:
    """Return an AUROC with its interval, with as many decimals as that allows, and at least so many; alone
    where the interval is not known.

    Examples
    --------
    >>> with_interval(0.76213, 0.7551, 0.7692), with_interval(0.7394, 0.7245, 0.7536)
    ('0.762 (0.755 to 0.769)', '0.74 (0.72 to 0.75)')
    """
    if low is None or high is None:
        return f"{value:.{max(least, 3)}f}"
    digits = max(decimals(low, high, 1), least)
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def rate(value: float, low: float | None, high: float | None) -> str:
    """Return a share with its interval in per cent, with as many decimals as that allows.

    Examples
    --------
    >>> rate(0.0614, 0.0454, 0.0819), rate(0.00828, 0.00588, 0.0114), rate(0.0614, None, None)
    ('6 % (5 to 8)', '0.8 % (0.6 to 1.1)', '6.14 %')
    """
    if low is None or high is None:
        return percent(value)
    digits = decimals(low, high, 1) - 2
    return f"{100 * value:.{digits}f} % ({100 * low:.{digits}f} to {100 * high:.{digits}f})"


def number(value: float, digits: int) -> str:
    """Return a number with a real minus."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def span_of(low: float, high: float) -> str:
    """Return an interval with as many decimals as it allows."""
    digits = decimals(low, high)
    return f"{number(low, digits)} to {number(high, digits)}"


SET_ASIDE = {
    "unlabelled": "without a label",
    "bad_score": "without a usable score",
    "bad_label": "with a label of neither class",
    "duplicates": "with an id seen before",
    "two_labels": "whose id has both labels",
    "outside": "with a time outside the window",
}
"""Words for the rows that are not used, by the name of their count in `Counts`."""


CUT = "; the row cap was reached: the window has more"
"""Said after the rows of a window that was not read as a whole."""


def set_aside(counts: Counts | Mapping[str, int]) -> str:
    """Return how many rows are not used, and why; empty when all are.

    Examples
    --------
    >>> set_aside(Counts(rows=1300, n_pos=250, n_neg=950, unlabelled=88, duplicates=12))
    '88 without a label, 12 with an id seen before'
    """
    return ", ".join(set_aside_parts(counts))


def set_aside_parts(counts: Counts | Mapping[str, int]) -> list[str]:
    """Return the same, one text for each reason that applies."""
    by_reason = {
        name: counts.get(name, 0) if isinstance(counts, Mapping) else getattr(counts, name)
        for name in SET_ASIDE
    }
    return [f"{count:,} {SET_ASIDE[name]}" for name, count in by_reason.items() if count]
