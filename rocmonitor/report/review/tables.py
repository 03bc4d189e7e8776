"""The tables of a review as cells of text, for the page and the terminal.

A hyphen before a digit is a minus sign; an en dash alone marks an empty cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.wording.format import decimals
from rocmonitor.wording.review import in_words, level

Row = Mapping[str, Any]

NOTHING, UNKNOWN = "–", "not bounded yet"

PULLED = {"windows": "compared", "setting_windows": "thresholds chosen"}
"""Lists of windows in the provenance, and what their rows were used for."""

_METHODS = {
    "delong": "DeLong",
    "exact-bootstrap": "exact bootstrap",
    "exact": "exact bootstrap",
    "exact-thinned": "exact bootstrap, approximated with fewer thresholds",
    "agresti": "smoothed",
    "agresti-thinned": "smoothed, approximated with fewer thresholds",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTable:
    """A table: its caption, its columns by head, and the notes below it."""

    caption: str
    columns: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """Line by line."""
        return zip(*self.columns.values(), strict=True)


def shown(review: Review, zone: ZoneInfo) -> dict[str, ShownTable]:
    """Return the tables that are short enough to read, by their name in the review, without empty ones.

    Parameters
    ----------
    zone: Of the dates.

    Returns
    -------
    ``windows``, ``auc``, ``fprs``, ``regions``, ``thresholds``, ``outcomes`` (of the same pairs), ``costs``,
    ``money`` (of the rows of ``costs`` that have it), ``segments``, ``next``, ``forecast``, ``counts``,
    ``pulled`` (the windows of the provenance). A column without any value is left out.
    """
    makers: dict[str, Callable[[Sequence[Row]], ShownTable]] = {
        "windows": lambda rows: windows(rows, zone, review.rule),
        "auc": lambda rows: _auc(rows, review.rule),
        "fprs": lambda rows: fprs(rows, review.rule),
        "regions": _regions,
        "thresholds": lambda rows: _thresholds(rows, review.rule),
        "outcomes": _outcomes,
        "costs": lambda rows: costs(rows, review.rule),
        "money": lambda rows: money(rows, review.rule),
        "segments": _segments,
        "next": lambda rows: _next(rows, review.rule),
        "forecast": _forecast,
        "counts": _counts,
        "pulled": lambda rows: _pulled(rows, zone),
    }
    rows: dict[str, Sequence[Row]] = {
        name: [in_words(name, row, review) for row in table] for name, table in review.tables.items()
    }
    rows["pulled"] = [
        row | {"use": use} for name, use in PULLED.items() for row in review.provenance.get(name, ())
    ]
    rows["outcomes"] = rows.get("thresholds", [])
    rows["money"] = [row for row in rows.get("costs", ()) if row.get("money_saved") is not None]
    return {name: _trimmed(make(rows[name])) for name, make in makers.items() if rows.get(name)}


def windows(rows: Sequence[Row], zone: ZoneInfo, rule: Mapping[str, Any]) -> ShownTable:
    """Return each window: its own numbers, and the mean over all checks up to it."""
    return ShownTable(
        caption="Windows. The mean covers the checks up to there; its interval is valid under repeated "
        "checks, that is at all of them together.",
        columns={
            "window": [_window(row, zone) for row in rows],
            "positives": [count(row["n_pos"]) for row in rows],
            "negatives": [count(row["n_neg"]) for row in rows],
            "champion AUROC": [number(row["champion_auc"]) for row in rows],
            "challenger AUROC": [number(row["challenger_auc"]) for row in rows],
            "difference": [signed(row["difference"], row["low"], row["high"]) for row in rows],
            f"{level(rule)} interval": [span(row["low"], row["high"]) for row in rows],
            "mean": [signed(row["running_mean"], row["anytime_low"], row["anytime_high"]) for row in rows],
            "its interval": [span(row["anytime_low"], row["anytime_high"]) for row in rows],
            "p": [pvalue(row["pvalue"]) for row in rows],
        },
        notes=tuple(
            f"Not compared: {_window(row, zone)}, {row['why_not']}." for row in rows if row["why_not"]
        ),
    )


def fprs(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    """Return the table of true positive rates at the same false positive rate."""
    return ShownTable(
        caption="True positive rates at equal false positive rates, differences in percentage points. The "
        "mean is that of all checks; its interval is valid under repeated checks.",
        columns={
            "FPR": [percent(row["fpr"]) for row in rows],
            "champion TPR": [share(row["champion_tpr"]) for row in rows],
            "challenger TPR": [share(row["challenger_tpr"]) for row in rows],
            "difference": [points(row["difference"], row["low"], row["high"]) for row in rows],
            f"{level(rule)} interval": [point_span(row["low"], row["high"]) for row in rows],
            "mean": [points(row["running_mean"], row["anytime_low"], row["anytime_high"]) for row in rows],
            "its interval": [point_span(row["anytime_low"], row["anytime_high"]) for row in rows],
            "better": [row["better"] or NOTHING for row in rows],
            "method": [_method(row) for row in rows],
        },
    )


def costs(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    """Normalised costs; the saving is the champion's cost minus the challenger's."""
    return ShownTable(
        caption="Normalised costs at each operating condition w; above 0 the challenger is cheaper.",
        columns={
            "w": [f"{row['w']:.4g}" for row in rows],
            "champion threshold": [_threshold(row["champion_threshold"]) for row in rows],
            "challenger threshold": [_threshold(row["challenger_threshold"]) for row in rows],
            "champion cost": [number(row["champion_cost"]) for row in rows],
            "challenger cost": [number(row["challenger_cost"]) for row in rows],
            "saved": [signed(row["saved"], row["low"], row["high"]) for row in rows],
            f"{level(rule)} interval": [span(row["low"], row["high"]) for row in rows],
        },
    )


def money(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    """Return the saving in money, where the configuration gives the cost of errors."""
    return ShownTable(
        caption="Money that the challenger saves, at the given costs of errors and prevalence.",
        columns={
            "unit": [row["unit"] or NOTHING for row in rows],
            "false positive": [f"{row['false_positive']:,g}" for row in rows],
            "false negative": [f"{row['false_negative']:,g}" for row in rows],
            "prevalence": [percent(row["prevalence"]) for row in rows],
            "w": [f"{row['w']:.4g}" for row in rows],
            "decisions": [count(row["decisions"]) for row in rows],
            "saved": [amounts(row)[0] for row in rows],
            f"{level(rule)} interval": [amounts(row)[1] for row in rows],
        },
    )


def _auc(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    return ShownTable(
        caption="AUROC over all rows of the period; the intervals are valid for a single check.",
        columns={
            "method": [_method(row) for row in rows],
            "champion": [number(row["champion"]) for row in rows],
            "challenger": [number(row["challenger"]) for row in rows],
            "difference": [signed(row["difference"], row["low"], row["high"]) for row in rows],
            "standard error": [number(row["se"], 5) for row in rows],
            f"{level(rule)} interval": [span(row["low"], row["high"]) for row in rows],
            "p": [pvalue(row["pvalue"]) for row in rows],
        },
    )


def _regions(rows: Sequence[Row]) -> ShownTable:
    return ShownTable(
        caption="Where the simultaneous band excludes 0, and which model is better there.",
        columns={
            "from FPR": [f"{100 * row['from_fpr']:.3g} %" for row in rows],
            "to FPR": [f"{100 * row['to_fpr']:.3g} %" for row in rows],
            "better": [row["better"] for row in rows],
        },
    )


def _thresholds(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    interval = f"{level(rule)} interval"
    return ShownTable(
        caption="Pairs of thresholds; differences of both rates in percentage points.",
        columns={
            "paired by": [row["pairing"] for row in rows],
            "champion threshold": [_threshold(row["champion_threshold"]) for row in rows],
            "challenger threshold": [_threshold(row["challenger_threshold"]) for row in rows],
            "champion flags": [share(row["champion_flagged"]) for row in rows],
            "challenger flags": [share(row["challenger_flagged"]) for row in rows],
            "TPR difference": [points(row["dtpr"], row["dtpr_low"], row["dtpr_high"]) for row in rows],
            interval: [point_span(row["dtpr_low"], row["dtpr_high"]) for row in rows],
            "FPR difference": [points(row["dfpr"], row["dfpr_low"], row["dfpr_high"]) for row in rows],
            f"{interval} ": [point_span(row["dfpr_low"], row["dfpr_high"]) for row in rows],
        },
    )


def _outcomes(rows: Sequence[Row]) -> ShownTable:
    return ShownTable(
        caption="Probability of each outcome at these pairs; the five add up to 100 %.",
        columns={
            "paired by": [row["pairing"] for row in rows],
            "champion threshold": [_threshold(row["champion_threshold"]) for row in rows],
            "challenger better": [share(row["challenger_better"]) for row in rows],
            "champion better": [share(row["champion_better"]) for row in rows],
            "challenger flags more of both": [share(row["both_higher"]) for row in rows],
            "challenger flags fewer of both": [share(row["both_lower"]) for row in rows],
            "equal": [share(row["tie"]) for row in rows],
        },
    )


def _segments(rows: Sequence[Row]) -> ShownTable:
    levels = {row["level"] for row in rows if row["level"] is not None}
    at_level = f", each at {100 * levels.pop():.4g} %" if len(levels) == 1 else ""
    return ShownTable(
        caption=f"Segments over the whole period. The intervals hold for all segments together{at_level}.",
        columns={
            "segment": [row["segment"] for row in rows],
            "positives": [count(row["n_pos"]) for row in rows],
            "negatives": [count(row["n_neg"]) for row in rows],
            "champion AUROC": [number(row["champion_auc"]) for row in rows],
            "challenger AUROC": [number(row["challenger_auc"]) for row in rows],
            "difference": [signed(row["difference"], row["low"], row["high"]) for row in rows],
            "interval": [span(row["low"], row["high"]) for row in rows],
            "p": [pvalue(row["pvalue"]) for row in rows],
            "note": [row["note"] or NOTHING for row in rows],
        },
    )


def _next(rows: Sequence[Row], rule: Mapping[str, Any]) -> ShownTable:
    return ShownTable(
        caption="Mean AUROC difference of the next windows, if they go on differing like these.",
        columns={
            "next windows": [count(row["windows"]) for row in rows],
            f"{level(rule)} prediction interval": [span(row["low"], row["high"]) for row in rows],
        },
    )


def _forecast(rows: Sequence[Row]) -> ShownTable:
    return ShownTable(
        caption="Range of the AUROC difference in a coming window, if the rows drift as they have.",
        columns={
            "method": [row["method"] for row in rows],
            "based on": [row.get("basis") or NOTHING for row in rows],
            "level": [percent(row["confidence_level"]) for row in rows],
            "distance": [number(row["distance"], 5) for row in rows],
            "difference there": [signed(row["difference"], row["low"], row["high"]) for row in rows],
            "forecast interval": [span(row["low"], row["high"]) for row in rows],
        },
    )


def _counts(rows: Sequence[Row]) -> ShownTable:
    return ShownTable(
        caption="What became of the rows.",
        columns={
            "rows": [str(row["kind"]) for row in rows],
            "number": [count(row["rows"]) for row in rows],
        },
    )


def _pulled(rows: Sequence[Row], zone: ZoneInfo) -> ShownTable:
    return ShownTable(
        caption="Windows as they were read. The digest changes if the rows do.",
        columns={
            "window": [_window(row, zone) for row in rows],
            "use": [row["use"] for row in rows],
            "rows": [count(row.get("rows")) for row in rows],
            "digest": [row["digest"] for row in rows],
        },
    )


def number(value: float | None, digits: int = 3) -> str:
    """Return a plain number."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def signed(value: float | None, low: float | None, high: float | None) -> str:
    """Return a difference of areas or costs, with as many decimals as its interval allows."""
    return NOTHING if value is None else _signed(value, _digits(low, high))


def span(low: float | None, high: float | None) -> str:
    """Return the interval of a difference."""
    if low is None or high is None:
        return NOTHING
    return f"{signed(low, low, high)} to {signed(high, low, high)}" if known(low, high) else UNKNOWN


def percent(value: float | None) -> str:
    """Return a chosen rate, without trailing zeros."""
    return NOTHING if value is None else f"{100 * value:.4g} %"


def share(value: float | None) -> str:
    """Return a measured rate or probability, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def points(value: float | None, low: float | None, high: float | None) -> str:
    """Return a difference of rates in percentage points, with as many decimals as its interval allows."""
    return NOTHING if value is None else _signed(100 * value, _digits(low, high) - 2)


def point_span(low: float | None, high: float | None) -> str:
    """Return the interval of a difference of rates."""
    if low is None or high is None:
        return NOTHING
    return f"{points(low, low, high)} to {points(high, low, high)}" if known(low, high) else UNKNOWN


def _digits(low: float | None, high: float | None) -> int:
    return 3 if low is None or high is None else decimals(low, high)


def known(low: float | None, high: float | None) -> bool:
    """Return True if the interval is bounded: every difference of areas or rates lies within [-1, 1]."""
    return low is not None and high is not None and (low > -1 or high < 1)


def amounts(row: Row) -> tuple[str, str]:
    """Money saved and its interval; without decimals from 1,000 on."""
    values = [row[f"money_{end}"] for end in ("saved", "low", "high")]
    digits = 0 if max(map(abs, values)) >= 1000 else 2
    saved, low, high = (_signed(value, digits) for value in values)
    return saved, f"{low} to {high}"


def money_saved(row: Row) -> tuple[str, str]:
    """Return the money saved with its unit, and its interval."""
    amount, ends = amounts(row)
    return f"{amount} {row['unit'] or 'money'}", ends


def pvalue(value: float | None) -> str:
    """Return a p-value, or a bound of a small one."""
    if value is None:
        return NOTHING
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def count(value: float | None) -> str:
    """Return a number of rows."""
    return NOTHING if value is None else f"{value:,.0f}"


def _method(row: Row) -> str:
    method = str(row["method"] or NOTHING)
    return _METHODS.get(method, method)


def _threshold(value: float | None) -> str:
    return "flags nothing" if value is None else f"{value:.4g}"


def _window(row: Row, zone: ZoneInfo) -> str:
    return Window.from_dict(row).in_zone(zone)


def _signed(value: float, digits: int) -> str:
    """With more digits if it would round to 0: an end close to 0 is not 0."""
    shown = next((more for more in range(digits, digits + 4) if round(value, more)), None)
    return f"{0:.{digits}f}" if shown is None else f"{value:+,.{shown}f}"


def _trimmed(table: ShownTable) -> ShownTable:
    return replace(
        table, columns={head: cells for head, cells in table.columns.items() if set(cells) != {NOTHING}}
    )
