"""The page and the terminal text of a review, from the cells that `tables` makes."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor.policy.review.document import Review
from rocmonitor.report.html import render
from rocmonitor.report.review import notes
from rocmonitor.report.review.shapes import drawn, review_chart, still
from rocmonitor.report.review.tables import (
    PULLED,
    count,
    kinds,
    money_saved,
    point_span,
    points,
    shown,
    shown_table,
)
from rocmonitor.report.text import table
from rocmonitor.wording import review as wording
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import instant, percent, signed_with_interval
from rocmonitor.wording.page import provenance

_WIDTH = 110
_LAST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """A question of the reader, with the figures and tables that answer it."""

    anchor: str
    title: str
    figures: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


_SECTIONS = (
    _Section(anchor="area", title="Is the challenger better?", tables=("auc", "windows")),
    _Section(
        anchor="curve", title="Where on the curve?", figures=("roc", "band"), tables=("fprs", "regions")
    ),
    _Section(
        anchor="thresholds",
        title="At which thresholds?",
        figures=("dominance",),
        tables=("thresholds", "outcomes"),
    ),
    _Section(anchor="costs", title="What does it save?", figures=("costs",), tables=("costs", "money")),
    _Section(anchor="segments", title="In which segments?", tables=("segments",)),
    _Section(anchor="next", title="What comes next?", tables=("next", "forecast")),
    _Section(anchor="rows", title="On which rows?", tables=("counts",)),
)


def page(review: Review, *, zone: ZoneInfo, **more: Any) -> str:
    """Return the review as a page: one HTML file, or with ``home`` and ``json_address`` one that is served.

    All text of the review is escaped. Equal reviews give equal text. A sentence gives the reason where a
    table is missing or empty.
    """
    rows = review.tables.get("windows", [])
    has_difference = any(row["difference"] is not None for row in rows)
    chart = review_chart(review) if has_difference else {"starts": []}
    # The line of the configuration that names versions instead of aliases; JSON is YAML.
    versions = {"version": review.champion_version, "challenger_version": review.challenger_version}
    model = f"model: {json.dumps({'name': review.model, **versions}, ensure_ascii=False)}"
    return render(
        "review.html.j2",
        review=review,
        zone=str(zone),
        period=review.period.in_zone(zone),
        verdict=wording.decision(review),
        decided=None if review.decided_at is None else instant(review.decided_at, zone),
        reviewed=instant(review.reviewed_at, zone),
        kind=review.decision.name.lower(),
        summary=wording.summary(review),
        advice=wording.advice(review),
        rule=wording.rule(review),
        chosen=wording.chosen(review),
        one_check=wording.one_check(review),
        numbers=notes.key_numbers(review),
        sections=_SECTIONS,
        chart=chart,
        still=still(rows),
        figures=drawn(review),
        tables=shown(review, zone),
        captions=notes.figures(review),
        caveats=list(map(words_of, review.caveats)),
        left_out=notes.LEFT_OUT,
        methods=[method for name, method in notes.METHODS.items() if review.tables.get(name)],
        level=wording.level(review.rule),
        model=model,
        command=_command(review, zone),
        facts=provenance(
            review.provenance | {"rule_digest": review.rule.get("digest")}, zone, omitted=("query", *PULLED)
        ),
        query=str(review.provenance.get("query") or ""),
        **more,
    )


def brief(review: Review, zone: ZoneInfo) -> str:
    """Return the review in a dozen lines: what was compared, the decision, a line for each rate and cost."""
    metrics = review.metrics
    lines = [
        f"{review.subject}: {wording.versions(review)}, {_period(review, zone)}, "
        f"{count(metrics.get('data/rows'))} rows in {count(metrics.get('review/windows'))} windows",
        _decision(review, zone),
        *(f"  {words}" for words in (*wording.summary(review), wording.advice(review)) if words),
    ]
    for row in review.tables.get("fprs", ()):
        difference = points(row["difference"], row["low"], row["high"])
        ends = point_span(row["low"], row["high"])
        at = f"True positives at {percent(row['fpr'])} false positives, all rows in one look"
        lines.append(f"  {at}: {difference} points ({ends})".replace("-", "−"))
    for row in review.tables.get("costs", ()):
        if row.get("money_saved") is not None:
            saved, ends = money_saved(row)
            lines.append(f"  Saved in {count(row['decisions'])} decisions: {saved} ({ends})")
        else:
            saved, ends = signed_with_interval(row["saved"], row["low"], row["high"])
            lines.append(f"  Cost at w {row['w']:.4g}, saved: {saved} ({ends})")
    caveats = f" and {len(review.caveats)} caveat{'s' * (len(review.caveats) > 1)}" if review.caveats else ""
    return "\n".join([*lines, f"Windows, tables{caveats}: --explain; figures: --output review.html"])


def text(review: Review, zone: ZoneInfo) -> str:
    """Return the review in some 30 lines of at most 110 characters, where they can be broken.

    Examples
    --------
    >>> from rocmonitor.policy.review.document import Decision
    >>> from rocmonitor.policy.windows import Window
    >>> from datetime import datetime
    >>> utc = ZoneInfo("UTC")
    >>> start, end = datetime(2026, 1, 5, tzinfo=utc), datetime(2026, 3, 30, tzinfo=utc)
    >>> review = Review(
    ...     monitor="credit-default",
    ...     model="credit-default",
    ...     champion_version="3",
    ...     challenger_version="5",
    ...     period=Window(start, end),
    ...     registered=True,
    ...     reviewed_at=end,
    ...     decision=Decision.TRADE_OFF,
    ...     metrics={"data/rows": 12345, "review/windows": 12, "review/checks": 12},
    ... )
    >>> print(text(review, utc))  # doctest: +NORMALIZE_WHITESPACE
    credit-default: champion 3 against challenger 5
    2026-01-05 to 2026-03-30 (UTC)
    12,345 rows scored by both, 12 windows, 12 of them checked
    <BLANKLINE>
    TRADE-OFF
        No window could be compared.
        Choose by the false positive rate at which the model is used; see the table of rates. More windows
        make the regions sharper but seldom remove a trade-off.
    """
    metrics = review.metrics
    rows, windows, checks = (
        count(metrics.get(name)) for name in ("data/rows", "review/windows", "review/checks")
    )
    lines = [
        f"{review.subject}: {wording.versions(review)}",
        _period(review, zone),
        f"{rows} rows scored by both, {windows} windows, {checks} of them checked",
    ]
    counted = [wording.in_words("counts", row, review) for row in review.tables.get("counts", ())]
    others = ", ".join(f"{count(row['rows'])} {row['kind']}" for row in counted[2:] if row["rows"])
    lines += _wrapped(f"not compared, of {count(counted[0]['rows'])} rows: {others}", "") if others else []
    lines += [
        "",
        _decision(review, zone),
        *(line for words in wording.summary(review) for line in _wrapped(words)),
        *_wrapped(wording.advice(review)),
    ]
    lines += _small_tables(review, zone)
    if review.caveats:
        lines += ["", "Bear in mind:"]
        lines += [line for caveat in review.caveats for line in _wrapped(words_of(caveat), "  - ")]
    return "\n".join(lines)


def _period(review: Review, zone: ZoneInfo) -> str:
    return f"{review.period.in_zone(zone)} ({zone}){'' if review.registered else ', chosen by hand'}"


def _decision(review: Review, zone: ZoneInfo) -> str:
    decided = "" if review.decided_at is None else f", decided {instant(review.decided_at, zone)}"
    return f"{wording.decision(review).upper()}{decided}"


_SMALL: Mapping[str, tuple[str, Container[str]]] = {
    "windows": (
        "AUROC, challenger minus champion; running mean, its interval valid under repeated checks",
        {"champion AUROC", "challenger AUROC", "p"},
    ),
    "fprs": ("True positive rates, differences in percentage points; mean over all checks", {"method"}),
    "costs": ("Normalised costs, saved by the challenger", {"champion threshold", "challenger threshold"}),
    "money": ("Money saved by the challenger", {"w", "prevalence"}),
}
"""The tables of a terminal: titles, and columns that are left out."""


def _small_tables(review: Review, zone: ZoneInfo) -> Iterator[str]:
    rows = {name: list(review.tables.get(name, ())) for name in ("windows", "fprs", "costs")}
    rows["windows"] = [wording.in_words("windows", row, review) for row in rows["windows"]]
    rows["money"] = [row for row in rows["costs"] if row.get("money_saved") is not None]
    earlier = len(rows["windows"][:-_LAST])
    rows["windows"] = rows["windows"][-_LAST:]
    notes = [f"Not shown: {earlier} earlier window{'' if earlier == 1 else 's'}."] if earlier else []
    by_name = kinds(review.rule, zone)
    for name, (title, omitted) in _SMALL.items():
        if rows[name]:
            shown = shown_table(by_name[name], rows[name], zone)
            lines = table({head: cells for head, cells in shown.columns.items() if head not in omitted})
            yield from ("", title, *(f"  {line}" for line in lines.splitlines()))
            for note in (*notes, *shown.notes):
                yield from _wrapped(note, "  ")
            notes = []  # of the windows


def _command(review: Review, zone: ZoneInfo) -> str:
    """Return the shell command that repeats the review."""
    ends = []
    for moment in (review.period.start, review.period.end):
        local = moment.astimezone(zone)
        # A plain date is midnight in the monitor's zone; any other time has its offset.
        ends.append(f"{local:%Y-%m-%d}" if local.time() == time() else local.isoformat())
    parts = ["rocmonitor", "review", review.monitor, "--from", ends[0], "--to", ends[1]]
    parts += ["--segment", review.segment] if review.segment else []
    return shlex.join([*parts, "--output", "review.html"])


def _wrapped(words: str, mark: str = "    ") -> list[str]:
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
