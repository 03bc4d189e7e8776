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
Kind = tuple[str, Mapping[str, Callable[[Row], str]]]
"""The caption of a table, and its columns: how a cell is made from a row."""

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

    Beside them are ``outcomes`` (of the pairs of ``thresholds``), ``money`` (of the ``costs`` that have
    it) and ``pulled`` (the windows of the provenance). A column without any value is left out.
    """
    rows: dict[str, Sequence[Row]] = {
        name: [in_words(name, row, review) for row in table] for name, table in review.tables.items()
    }
    rows["pulled"] = [
        row | {"use": use} for name, use in PULLED.items() for row in review.provenance.get(name, ())
    ]
    rows["outcomes"] = rows.get("thresholds", [])
    rows["money"] = [row for row in rows.get("costs", ()) if row.get("money_saved") is not None]
    tables = {}
    for name, kind in kinds(review.rule, zone).items():
        if rows.get(name):
            table = shown_table(kind, rows[name], zone)
            columns = {head: cells for head, cells in table.columns.items() if set(cells) != {NOTHING}}
            tables[name] = replace(table, columns=columns)
    return tables


def shown_table(kind: Kind, rows: Sequence[Row], zone: ZoneInfo) -> ShownTable:
    """Return a table of one kind, of rows with words in place of codes."""
    caption, columns = kind
    levels = [level for level in dict.fromkeys(row.get("level") for row in rows) if level is not None]
    at_level = f", each at {100 * levels[0]:.4g} %" if len(levels) == 1 else ""  # of segments
    left_out = [row for row in rows if row.get("why_not")]
    return ShownTable(
        caption=caption.format(at_level),
        columns={head: [make(row) for row in rows] for head, make in columns.items()},
        notes=tuple(f"Not compared: {_window(row, zone)}, {row['why_not']}." for row in left_out),
    )


def kinds(rule: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Kind]:
    """Return the kinds of tables by name."""
    interval = f"{level(rule)} interval"
    difference, ends = _cell(signed, "difference", "low", "high"), _cell(span, "low", "high")
    running = ("running_mean", "anytime_low", "anytime_high")
    sizes = {"positives": _cell(count, "n_pos"), "negatives": _cell(count, "n_neg")}
    areas = {
        "champion AUROC": _cell(number, "champion_auc"),
        "challenger AUROC": _cell(number, "challenger_auc"),
    }
    thresholds = {
        "champion threshold": _cell(_threshold, "champion_threshold"),
        "challenger threshold": _cell(_threshold, "challenger_threshold"),
    }
    return {
        "windows": (
            "Windows. The mean covers the checks up to there; its interval is valid under repeated checks, "
            "that is at all of them together.",
            {
                "window": lambda row: _window(row, zone),
                **sizes,
                **areas,
                "difference": difference,
                interval: ends,
                "mean": _cell(signed, *running),
                "its interval": _cell(span, "anytime_low", "anytime_high"),
                "p": _cell(pvalue, "pvalue"),
            },
        ),
        "auc": (
            "AUROC over all rows of the period; the intervals are valid for a single check.",
            {
                "method": _method,
                "champion": _cell(number, "champion"),
                "challenger": _cell(number, "challenger"),
                "difference": difference,
                "standard error": lambda row: number(row["se"], 5),
                interval: ends,
                "p": _cell(pvalue, "pvalue"),
            },
        ),
        "fprs": (
            "True positive rates at equal false positive rates, differences in percentage points. The mean "
            "is that of all checks; its interval is valid under repeated checks.",
            {
                "FPR": _cell(percent, "fpr"),
                "champion TPR": _cell(share, "champion_tpr"),
                "challenger TPR": _cell(share, "challenger_tpr"),
                "difference": _cell(points, "difference", "low", "high"),
                interval: _cell(point_span, "low", "high"),
                "mean": _cell(points, *running),
                "its interval": _cell(point_span, "anytime_low", "anytime_high"),
                "better": lambda row: row["better"] or NOTHING,
                "method": _method,
            },
        ),
        "regions": (
            "Where the simultaneous band excludes 0, and which model is better there.",
            {
                "from FPR": lambda row: f"{100 * row['from_fpr']:.3g} %",
                "to FPR": lambda row: f"{100 * row['to_fpr']:.3g} %",
                "better": _cell(str, "better"),
            },
        ),
        "thresholds": (
            "Pairs of thresholds; differences of both rates in percentage points.",
            {
                "paired by": _cell(str, "pairing"),
                **thresholds,
                "champion flags": _cell(share, "champion_flagged"),
                "challenger flags": _cell(share, "challenger_flagged"),
                "TPR difference": _cell(points, "dtpr", "dtpr_low", "dtpr_high"),
                interval: _cell(point_span, "dtpr_low", "dtpr_high"),
                "FPR difference": _cell(points, "dfpr", "dfpr_low", "dfpr_high"),
                f"{interval} ": _cell(point_span, "dfpr_low", "dfpr_high"),
            },
        ),
        "outcomes": (
            "Probability of each outcome at these pairs; the five add up to 100 %.",
            {
                "paired by": _cell(str, "pairing"),
                "champion threshold": thresholds["champion threshold"],
                "challenger better": _cell(share, "challenger_better"),
                "champion better": _cell(share, "champion_better"),
                "challenger flags more of both": _cell(share, "both_higher"),
                "challenger flags fewer of both": _cell(share, "both_lower"),
                "equal": _cell(share, "tie"),
            },
        ),
        "costs": (
            "Normalised costs at each operating condition w; above 0 the challenger is cheaper.",
            {
                "w": lambda row: f"{row['w']:.4g}",
                **thresholds,
                "champion cost": _cell(number, "champion_cost"),
                "challenger cost": _cell(number, "challenger_cost"),
                "saved": _cell(signed, "saved", "low", "high"),
                interval: ends,
            },
        ),
        "money": (
            "Money that the challenger saves, at the given costs of errors and prevalence.",
            {
                "unit": lambda row: row["unit"] or NOTHING,
                "false positive": lambda row: f"{row['false_positive']:,g}",
                "false negative": lambda row: f"{row['false_negative']:,g}",
                "prevalence": _cell(percent, "prevalence"),
                "w": lambda row: f"{row['w']:.4g}",
                "decisions": _cell(count, "decisions"),
                "saved": lambda row: amounts(row)[0],
                interval: lambda row: amounts(row)[1],
            },
        ),
        "segments": (
            "Segments over the whole period. The intervals hold for all segments together{}.",
            {
                "segment": _cell(str, "segment"),
                **sizes,
                **areas,
                "difference": difference,
                "interval": ends,
                "p": _cell(pvalue, "pvalue"),
                "note": lambda row: row["note"] or NOTHING,
            },
        ),
        "next": (
            "Mean AUROC difference of the next windows, if they go on differing like these.",
            {"next windows": _cell(count, "windows"), f"{level(rule)} prediction interval": ends},
        ),
        "forecast": (
            "Range of the AUROC difference in a coming window, if the rows drift as they have.",
            {
                "method": _cell(str, "method"),
                "based on": lambda row: row.get("basis") or NOTHING,
                "level": _cell(percent, "confidence_level"),
                "distance": lambda row: number(row["distance"], 5),
                "difference there": difference,
                "forecast interval": ends,
            },
        ),
        "counts": (
            "What became of the rows.",
            {"rows": _cell(str, "kind"), "number": _cell(count, "rows")},
        ),
        "pulled": (
            "Windows as they were read. The digest changes if the rows do.",
            {
                "window": lambda row: _window(row, zone),
                "use": _cell(str, "use"),
                "rows": lambda row: count(row.get("rows")),
                "digest": _cell(str, "digest"),
            },
        ),
    }


def _cell(form: Callable[..., str], *names: str) -> Callable[[Row], str]:
    """Return how a cell is made from some values of a row."""
    return lambda row: form(*(row[name] for name in names))


def number(value: float | None, digits: int = 3) -> str:
    """Return a plain number."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def signed(value: float | None, low: float | None, high: float | None) -> str:
    """Return a difference of areas or costs, with as many decimals as its interval allows."""
    return NOTHING if value is None else _signed(value, _digits(low, high))


def span(low: float | None, high: float | None, form: Callable[..., str] = signed) -> str:
    """Return the interval of a difference."""
    if low is None or high is None:
        return NOTHING
    return f"{form(low, low, high)} to {form(high, low, high)}" if known(low, high) else UNKNOWN


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
    return span(low, high, points)


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
