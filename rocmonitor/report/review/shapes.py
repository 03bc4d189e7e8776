"""The chart and the drawings of a review's page; the tables beside them have the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from rocmonitor.policy.evaluation import Brief
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.report.chart import seconds
from rocmonitor.report.review.tables import known
from rocmonitor.report.shapes import SQUARE, SparkChart, area, polyline, roc, scale, spark
from rocmonitor.wording import page as wording

Row = Mapping[str, Any]

_OUTCOMES = {
    "challenger_better": "challenger better",
    "both_higher": "challenger flags more of both",
    "tie": "equal",
    "both_lower": "challenger flags fewer of both",
    "champion_better": "champion better",
}
_MOST_COSTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Paths with their classes, the numbers on both axes, what lies across, and the names of the lines."""

    paths: Sequence[tuple[str, str]]
    ticks: Sequence[tuple[int, str]] = ((SQUARE, "0"), (SQUARE // 2, "0.5"), (0, "1"))
    across: Sequence[tuple[int, str]] = ((0, "0"), (SQUARE // 2, "0.5"), (SQUARE, "1"))
    title: str = "false positive rate"
    keys: Sequence[tuple[str, str]] = field(default_factory=list)


def drawn(review: Review) -> dict[str, Drawing]:
    """Return ``roc``, ``band``, ``dominance`` and ``costs``, as far as the review has their tables."""
    tables = review.tables
    makers = {"roc": _roc, "band": _band, "dominance": _dominance, "costs": _costs}
    return {name: make(review) for name, make in makers.items() if tables.get(name)}


def review_chart(review: Review) -> dict[str, Any]:
    """Return the difference of each window, and the band of the running mean that is valid at any time."""
    rows = review.tables.get("windows", [])
    bounded = [known(row["anytime_low"], row["anytime_high"]) for row in rows]

    def band(name: str) -> list[float | None]:
        return [row[name] if ok else None for row, ok in zip(rows, bounded, strict=True)]

    margin = review.rule.get("margin") or 0
    lines = [{"y": 0, "text": "no difference"}]
    lines += [{"y": side, "text": f"margin {side:+g}"} for side in (-margin, margin) if margin]
    # Room for the windows and the end of the band, whose beginning is far wider.
    ends = [row[name] for row in rows for name in ("low", "high") if row["checked"] and row[name] is not None]
    ends += [row["difference"] for row in rows if row["difference"] is not None]
    if any(bounded):
        last = [row for row, ok in zip(rows, bounded, strict=True) if ok][-1]
        ends += [last["anytime_low"], last["anytime_high"]]
    low, high = min([*ends, -margin, 0.0]), max([*ends, margin, 0.0])
    room = 0.12 * (high - low) or 0.01
    panel = {
        "title": "AUROC, challenger minus champion",
        "band": wording.MEAN_BAND,
        "kind": "points",
        "y": [row["difference"] for row in rows],
        "low": [row["low"] for row in rows],
        "high": [row["high"] for row in rows],
        "band_low": band("anytime_low"),
        "band_high": band("anytime_high"),
        "middle": band("running_mean"),
        "hollow": [not row["checked"] for row in rows],
        "marks": [None] * len(rows),
        "lines": lines,
        "format": "signed",
        "extent": [low - room, high + room],
    }
    decided = review.decided_at
    return {
        "zone": str(review.zone),
        "starts": [seconds(row["start"]) for row in rows],
        "ends": [seconds(row["end"]) for row in rows],
        "slugs": [""] * len(rows),
        "names": [Window.from_dict(row).name(review.zone) for row in rows],
        "chosen": "",
        "reference": None,
        "verticals": []
        if decided is None
        else [
            {"x": decided.timestamp(), "kind": "decided", "text": wording.DECIDED_HERE, "label": "decided"}
        ],
        "panels": [panel],
    }


def still(rows: Sequence[Row]) -> SparkChart:
    """Return the differences of the windows inside their band, for a reader without scripts."""
    briefs = []
    for row in rows:
        low, high = row["anytime_low"], row["anytime_high"]
        if not known(low, high):
            low = high = None
        briefs.append(Brief("ok", row["difference"], row["low"], row["high"], low, high, None))
    return spark(briefs)


def _roc(review: Review) -> Drawing:
    champion, challenger = (roc(review.tables["roc"], model) for model in ("champion", "challenger"))
    return Drawing(
        paths=[
            ("champion band", champion["band"]),
            ("challenger band", challenger["band"]),
            ("champion", champion["line"]),
            ("challenger dashed", challenger["line"]),
        ],
        keys=[
            ("champion", f"champion {review.champion_version}"),
            ("challenger dashed", f"challenger {review.challenger_version}"),
        ],
    )


def _band(review: Review) -> Drawing:
    rows = review.tables["band"]
    ends = [row[name] for row in rows for name in ("low", "high")]
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    y = scale(low, high, SQUARE, 0)
    x = [round(SQUARE * row["fpr"]) for row in rows]
    shaded = []
    for row in review.tables.get("regions", ()):
        start, end = round(SQUARE * row["from_fpr"]), round(SQUARE * row["to_fpr"])
        shaded.append((f"{row['better']} band", f"M{start} 0H{end}V{SQUARE}H{start}z"))
    return Drawing(
        paths=[
            *shaded,
            ("grey band", area(x, [y(row["low"]) for row in rows], [y(row["high"]) for row in rows])),
            ("zero", f"M0 {y(0)}H{SQUARE}"),
            ("ink", polyline([(at, y(row["difference"])) for at, row in zip(x, rows, strict=True)])),
        ],
        ticks=[(y(value), f"{100 * value:+.1f} %" if value else "0") for value in (low, 0.0, high)],
        keys=[("ink", "difference of the TPR")],
    )


def _dominance(review: Review) -> Drawing:
    rows = review.tables["dominance"]
    first, last = rows[0]["share"], rows[-1]["share"]
    across = scale(first, last, 0, SQUARE)
    x = [across(row["share"]) for row in rows]
    levels = [
        [SQUARE - round(SQUARE * value) for value in accumulate((row[name] for name in _OUTCOMES), initial=0)]
        for row in rows
    ]
    paths = [
        (
            f"outcome {name}",
            area(x, [heights[number] for heights in levels], [heights[number + 1] for heights in levels]),
        )
        for number, name in enumerate(_OUTCOMES)
    ]
    return Drawing(
        paths=paths,
        across=[(0, f"{100 * first:.3g} %"), (SQUARE, f"{100 * last:.3g} %")],
        title="share flagged by either model",
        keys=[(f"outcome {name}", text) for name, text in reversed(_OUTCOMES.items())],
    )


def _costs(review: Review) -> Drawing:
    """Draw an interval for each operating condition, the lowest w above."""
    rows = review.tables["costs"][:_MOST_COSTS]
    ends = [row[name] for row in rows for name in ("saved", "low", "high")]
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    x = scale(low, high, 8, SQUARE - 8)
    places = [round(SQUARE * (number + 0.5) / len(rows)) for number in range(len(rows))]
    paths = [("zero", f"M{x(0)} 0V{SQUARE}")]
    for at, row in zip(places, rows, strict=True):
        paths.append(("champion", f"M{x(row['low'])} {at}H{x(row['high'])}"))
        paths.append(("champion point", f"M{x(row['saved'])} {at}h0"))
    marks = [value for value in (low, high) if value]
    return Drawing(
        paths=paths,
        ticks=[(at, f"w {row['w']:.3g}") for at, row in zip(places, rows, strict=True)],
        across=[(x(0), "0"), *((x(value), f"{value:+.2g}") for value in marks if abs(x(value) - x(0)) > 40)],
        title="normalised cost saved by the challenger",
    )
