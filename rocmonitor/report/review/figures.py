"""The figures of a review, as PNG: equal reviews give equal bytes.

They are 5.4 inches wide: readable on a telephone, side by side on a screen, and in print. Colour, line,
marker, hatching and words tell the models apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from rocmonitor.policy.review.document import Review
from rocmonitor.report.canvas import BLUE, GREY, LIGHT, PURPLE, heading, panels, png, short
from rocmonitor.report.review.tables import known

Row = Mapping[str, Any]

_WIDTH = 5.4
_SHARP = 200  # dots an inch: still clear on paper
_MODELS = {"champion": (BLUE, "-", "o"), "challenger": (PURPLE, "--", "s")}
# Darkness and hatching tell them apart in grey print.
_OUTCOMES = {
    "challenger_better": ("challenger better: more positives, fewer negatives flagged", PURPLE, ""),
    "both_higher": ("challenger flags more of both classes", "#F6D5BF", ""),
    "tie": ("equal", "white", ""),
    "both_lower": ("challenger flags fewer of both classes", "#CFE3F0", "...."),
    "champion_better": ("champion better: more positives, fewer negatives flagged", BLUE, "////"),
}


def drawn(review: Review, zone: ZoneInfo) -> dict[str, bytes]:
    """Return every figure for which the review has a table, by name: PNG files 1080 pixels across.

    Parameters
    ----------
    review : Review
    zone : ZoneInfo
        Of the dates.

    Returns
    -------
    dict of str to bytes
        ``windows``, ``roc``, ``band``, ``dominance``, ``costs``, in this order.
    """
    makers: dict[str, Callable[[Review, ZoneInfo], Figure]] = {
        "windows": _windows,
        "roc": lambda review, _: _roc(review),
        "band": lambda review, _: _band(review),
        "dominance": lambda review, _: _dominance(review),
        "costs": lambda review, _: _costs(review),
    }
    return {name: png(make(review, zone)) for name, make in makers.items() if has(review, name)}


def has(review: Review, name: str) -> bool:
    """Return True if there is something to draw: the table of windows needs a difference."""
    rows = review.tables.get(name, ())
    return any(row["difference"] is not None for row in rows) if name == "windows" else bool(rows)


def _windows(review: Review, zone: ZoneInfo) -> Figure:
    """Return the AUROC difference of each window with its interval, and the band that is valid at any
    time.
    """
    rows = review.tables["windows"]
    figure, axes = _sheet(4.4, "AUROC: challenger minus champion", _pair(review))
    checked = [row for row in rows if row["checked"]]
    others = [row for row in rows if not row["checked"]]
    _anytime_band(axes, rows)
    axes.axhline(0, color="black", linewidth=1)
    margin = review.rule.get("margin") or 0
    if margin:
        for side in (-margin, margin):
            axes.axhline(side, color="black", linewidth=0.8, linestyle=":", label=f"margin ±{margin:g}")
    _points(axes, checked, "window, with its interval", face=BLUE)
    shown = [row for row in others if row["difference"] is not None]
    _points(axes, shown, "window, not checked", face="white")
    missing = [_middle(row) for row in others if row["difference"] is None]
    if missing:
        foot = axes.get_xaxis_transform()
        axes.plot(missing, [0.03] * len(missing), "x", color="black", transform=foot, label="too little data")
    axes.set_ylim(*_heights(rows, margin))
    _decided(axes, review)
    _dates(axes, rows, zone)
    axes.set_ylabel("difference of the AUROC\n(above 0: challenger better)")
    _legend_below(figure, axes, columns=2)
    return figure


def _anytime_band(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the running mean and its band; a window that is not checked changes nothing."""
    x: list[float] = []
    ends: list[tuple[float, float, float]] = []
    for row in rows:
        if row["running_mean"] is not None and known(row["anytime_low"], row["anytime_high"]):
            now = (row["running_mean"], row["anytime_low"], row["anytime_high"])
        elif ends:
            now = ends[-1]
        else:
            continue
        x += [_days(row["start"]), _days(row["end"])]
        ends += [now] * 2
    if ends:
        mean, low, high = zip(*ends, strict=True)
        axes.fill_between(x, low, high, color=LIGHT, linewidth=0, label="interval of the running mean")
        axes.plot(x, mean, color=GREY, linewidth=1.4, linestyle="--", label="running mean")


def _points(axes: Axes, rows: Sequence[Row], label: str, *, face: str) -> None:
    if not rows:
        return
    many = len(rows) > 60
    axes.errorbar(
        [_middle(row) for row in rows],
        [row["difference"] for row in rows],
        yerr=_around(rows, "difference", "low", "high"),
        fmt="o",
        color=BLUE,
        markerfacecolor=face,
        markersize=2.5 if many else 4.5,
        capsize=0 if many else 2,
        linewidth=0.7 if many else 1.1,
        label=label,
    )


def _heights(rows: Sequence[Row], margin: float) -> tuple[float, float]:
    """Room for the checked windows and the end of the band: its beginning, or other windows, may be wider."""
    seen = [row for row in rows if row["difference"] is not None]
    checked = [row for row in seen if row["checked"]] or seen
    ends = [row[name] for row in checked for name in ("low", "high")] + [row["difference"] for row in seen]
    bands = [row for row in rows if known(row["anytime_low"], row["anytime_high"])]
    if bands:
        ends += [bands[-1]["anytime_low"], bands[-1]["anytime_high"]]
    low, high = min(*ends, -margin, 0), max(*ends, margin, 0)
    room = 0.12 * (high - low) or 0.01
    return low - room, high + room


def _decided(axes: Axes, review: Review) -> None:
    if review.decided_at is not None:
        at = _days(review.decided_at.isoformat())
        axes.axvline(at, color="black", linewidth=1, linestyle="-.", label="decided here")


def _roc(review: Review) -> Figure:
    """Return both curves, each with its intervals, and the operating points of the rule."""
    figure, axes = _sheet(5.6, "ROC curves on the same rows", _pair(review))
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="chance")
    for model, (colour, line, marker) in _MODELS.items():
        rows = [row for row in review.tables["roc"] if row["model"] == model]
        if not rows:
            continue
        version, auc = getattr(review, f"{model}_version"), review.metrics.get(f"{model}/auc")
        label = f"{model} {short(version, 12)}" + ("" if auc is None else f": AUROC {auc:.4f}")
        fpr, tpr = [[0, *(row[rate] for row in rows), 1] for rate in ("fpr", "tpr")]
        axes.plot(fpr, tpr, color=colour, linestyle=line, linewidth=1.8, label=label)
        bounded = [row for row in rows if row["tpr_low"] is not None]
        x, low, high = [[row[name] for row in bounded] for name in ("fpr", "tpr_low", "tpr_high")]
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        points = [row for row in review.tables.get("fprs", ()) if row[f"{model}_tpr"] is not None]
        y = [row[f"{model}_tpr"] for row in points]
        axes.plot([row["fpr"] for row in points], y, marker, color=colour, markersize=4.5)
    axes.set(xlabel="false positive rate", ylabel="true positive rate")
    axes.grid(color=LIGHT, linewidth=0.6)
    axes.legend(loc="lower right", fontsize=9)
    return figure


def _band(review: Review) -> Figure:
    """Return the difference of the curves with its simultaneous band, shaded where the band excludes 0."""
    rows = review.tables["band"]
    figure, axes = _sheet(4.6, "TPR difference at equal FPR", _pair(review))
    fpr, difference, low, high = [
        [row[name] for row in rows] for name in ("fpr", "difference", "low", "high")
    ]
    _shade(axes, review.tables.get("regions", ()))
    axes.fill_between(fpr, low, high, color=GREY, alpha=0.35, linewidth=0, label="simultaneous band")
    axes.plot(fpr, difference, color="black", linewidth=1.6, label="difference")
    axes.axhline(0, color="black", linewidth=1)
    points = [row for row in review.tables.get("fprs", ()) if known(row["anytime_low"], row["anytime_high"])]
    means = [row["running_mean"] for row in points]
    axes.set_ylim(*_room(low + means, high + means))
    if points:
        axes.errorbar(
            [row["fpr"] for row in points],
            means,
            yerr=_around(points, "running_mean", "anytime_low", "anytime_high"),
            fmt="D",
            color="black",
            markerfacecolor="white",
            markersize=4.5,
            capsize=3,
            label="mean at the rule's rates",
        )
    axes.set(
        xlim=(0, 1),
        xlabel="false positive rate",
        ylabel="difference of the TPR\n(above 0: challenger better)",
    )
    _percent(axes.yaxis)
    _legend_below(figure, axes, columns=2)
    return figure


def _shade(axes: Axes, regions: Sequence[Row]) -> None:
    """Shade the regions in which one model is better."""
    for region in regions:
        colour, *_ = _MODELS[region["better"]]
        hatch = "////" if region["better"] == "champion" else ""
        axes.axvspan(
            region["from_fpr"],
            region["to_fpr"],
            facecolor=(colour, 0.16),
            edgecolor=(colour, 0.35),
            hatch=hatch,
            linewidth=0,
            label=f"{region['better']} better",
        )


def _room(low: Sequence[float], high: Sequence[float]) -> tuple[float, float]:
    """Half as much again on both sides: the intervals valid at any time may be far wider than the band."""
    bottom, top = min(*low, 0), max(*high, 0)
    more = 0.25 * (top - bottom) or 0.01
    return bottom - more, top + more


def _dominance(review: Review) -> Figure:
    """Return the probabilities of five outcomes, stacked, over the share that both models flag."""
    rows = review.tables["dominance"]
    figure, axes = _sheet(5.2, "Who is better when both flag equally many", _pair(review))
    share = [row["share"] for row in rows]
    base = np.zeros(len(rows))
    for name, (_, colour, hatch) in _OUTCOMES.items():
        top = base + [row[name] for row in rows]
        axes.fill_between(share, base, top, facecolor=colour, edgecolor="white", hatch=hatch, linewidth=0.4)
        base = top
    axes.set(xlim=(share[0], share[-1]) if len(share) > 1 else (0, 1), ylim=(0, 1))
    axes.set(xlabel="share flagged by either model", ylabel="probability")
    _percent(axes.xaxis)
    _percent(axes.yaxis)
    patches = [
        Patch(facecolor=colour, edgecolor="white" if hatch else GREY, hatch=hatch, linewidth=0.6, label=label)
        for label, colour, hatch in reversed(_OUTCOMES.values())
    ]
    figure.legend(handles=patches, loc="outside lower left", frameon=False, fontsize=9)
    return figure


def _costs(review: Review) -> Figure:
    """Return the challenger's saving at each operating condition, and in money: one panel for each unit."""
    rows = review.tables["costs"]
    money = [row for row in rows if row.get("money_saved") is not None]
    units = list(dict.fromkeys(row["unit"] for row in money))
    groups = [(rows, ("saved", "low", "high"), "normalised cost saved", _at_w)]
    for unit in units:
        same = [row for row in money if row["unit"] == unit]
        label = f"{short(unit, 20) or 'money'} saved"
        groups.append((same, ("money_saved", "money_low", "money_high"), label, _at_money))
    heights = [0.6 + 0.4 * len(group[0]) for group in groups]
    figure, column = panels(_WIDTH, 1 + sum(heights), heights, dpi=_SHARP, sharex=False)
    heading(column[0], "What the challenger saves", f"{_pair(review)}\nabove 0 it is cheaper")
    for axes, (shown, names, label, words) in zip(column, groups, strict=True):
        axes.spines["left"].set_visible(False)
        axes.axvline(0, color="black", linewidth=1)
        y = np.arange(len(shown))
        axes.errorbar(
            [row[names[0]] for row in shown],
            y,
            xerr=_around(shown, *names),
            fmt="o",
            color=BLUE,
            markersize=5,
            capsize=3,
            linewidth=1.4,
        )
        axes.set_yticks(y, [words(row) for row in shown], parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=LIGHT, linewidth=0.6)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlabel(label, parse_math=False)
        axes.set_ylim(len(shown) - 0.5, -0.5)
    return figure


def _at_w(row: Row) -> str:
    return f"w = {row['w']:.3g}"


def _at_money(row: Row) -> str:
    return f"w = {row['w']:.3g}\n{row['decisions']:,} decisions"


def _sheet(height: float, title: str, subtitle: str) -> tuple[Figure, Axes]:
    figure, (axes,) = panels(_WIDTH, height, dpi=_SHARP)
    heading(axes, title, subtitle)
    return figure, axes


def _pair(review: Review) -> str:
    """Monitor and versions, for a figure that is seen alone."""
    champion, challenger = (short(v, 12) for v in (review.champion_version, review.challenger_version))
    versions = f"champion {champion}, challenger {challenger}"
    apart = ": " if len(review.subject) + len(versions) < 44 else "\n"
    return f"{short(review.subject, 44)}{apart}{versions}"


def _around(rows: Sequence[Row], middle: str, low: str, high: str) -> Any:
    """Lengths of error bars, shape (2, rows); an interval need not contain the observed value."""
    below = [max(row[middle] - row[low], 0) for row in rows]
    above = [max(row[high] - row[middle], 0) for row in rows]
    return [below, above]


def _percent(axis: Any) -> None:
    axis.set_major_formatter(PercentFormatter(1, symbol=" %"))


def _legend_below(figure: Figure, axes: Axes, *, columns: int) -> None:
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    figure.legend(
        list(once.values()), list(once), loc="outside lower left", ncols=columns, frameon=False, fontsize=9
    )


def _dates(axes: Axes, rows: Sequence[Row], zone: ZoneInfo) -> None:
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))  # type: ignore[no-untyped-call]
    start, end = _days(rows[0]["start"]), _days(rows[-1]["end"])
    axes.set_xlim(start - 0.02 * (end - start), end + 0.02 * (end - start))


def _days(instant: str) -> float:
    """Return the instant as matplotlib places it."""
    return float(date2num(datetime.fromisoformat(instant)))  # type: ignore[no-untyped-call]


def _middle(row: Row) -> float:
    return (_days(row["start"]) + _days(row["end"])) / 2
