"""Reviews for tests: two binormal models whose curves cross; complete unless a test changes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from scipy.stats import norm

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.checks import TOO_FEW
from rocmonitor.policy.review.comparison import compare
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.policy.review.settings import Money, ReviewRule, ReviewSettings
from rocmonitor.policy.windows import Calendar, Window
from rocmonitor.stats import PairedSample

ZONE = ZoneInfo("America/New_York")
RULE = ReviewRule(margin=0.002, fpr=(0.01, 0.05, 0.3))
QUERY = (
    "SELECT scored_at, p_champion, p_challenger, late\nFROM scored\n"
    "WHERE scored_at >= :start AND scored_at < :end"
)

_START = datetime(2013, 9, 2, tzinfo=ZONE)
# Separation and spread of the positives' scores: the challenger has more area, the champion the left corner.
_SHAPE = {"champion": (0.92, 1.0), "challenger": (0.881, 0.82)}


def review(windows: int = 17, **changes: Any) -> Review:
    """A review of so many weeks that ends in a trade-off."""
    weeks = Calendar(every=timedelta(days=7), zone=ZONE).within(
        _START, _START + timedelta(days=7 * windows + 1)
    )
    rows = window_rows(weeks)
    used = [row for row in rows if row["difference"] is not None]
    tables = {
        "windows": rows,
        "auc": _auc(),
        "fprs": _fprs(),
        "thresholds": _thresholds(),
        "dominance": _dominance(),
        "roc": _roc(),
        "band": _band(),
        "regions": _regions(),
        "costs": costs(),
        "segments": _segments(),
        "next": [
            {"windows": 4, "confidence_level": 0.95, "low": 0.0012, "high": 0.0181},
            {"windows": 13, "confidence_level": 0.95, "low": 0.0031, "high": 0.0163},
        ],
        "forecast": [
            {
                "method": "calibrated",
                "windows": 22,
                "basis": "reference",
                "confidence_level": 0.95,
                "distance": 0.0124,
                "difference": 0.0097,
                "low": -0.0061,
                "high": 0.0263,
            }
        ],
        "counts": [
            {"kind": "read", "rows": 110234},
            {"kind": "compared", "rows": 105902},
            {"kind": "champion_only", "rows": 1210},
            {"kind": "challenger_only", "rows": 94},
            {"kind": "unlabelled", "rows": 3028},
        ],
    }
    plain = Review(
        monitor="late-arrivals",
        model="late-arrival",
        champion_version="3",
        challenger_version="5",
        period=Window(weeks[0].start, weeks[-1].end),
        registered=True,
        reviewed_at=datetime(2013, 12, 31, 7, 30, tzinfo=UTC),
        decision=Decision.TRADE_OFF,
        decided_at=weeks[min(9, windows - 1)].end,
        comparisons=(
            Comparison(fpr=None, estimate=0.0096, low=0.0043, high=0.0151, checks=16, better="challenger"),
            *(
                Comparison(
                    fpr=row["fpr"],
                    estimate=row["running_mean"],
                    low=row["anytime_low"],
                    high=row["anytime_high"],
                    checks=16,
                    better=row["better"],
                )
                for row in tables["fprs"]
            ),
        ),
        rule=RULE.to_dict() | {"digest": RULE.digest},
        metrics=_metrics(len(weeks), len(used)),
        tables=tables,
        provenance={
            "source": "warehouse",
            "query": QUERY,
            "columns": {
                "time": "scored_at",
                "champion": "p_champion",
                "challenger": "p_challenger",
                "label": "late",
            },
            "timezone": "America/New_York",
            "reference": {"start": "2013-04-01T04:00:00+00:00", "end": "2013-09-02T04:00:00+00:00"},
            "settings": {"min_per_class": 50, "w": [0.1, 0.5], "n_resamples": 999},
            "seed": 8812047713,
            "data_digest": "3f9a" * 16,
            "rocmonitor": "0.1.0",
            "numpy": "2.4.1",
            "scipy": "1.17.0",
            "windows": [_pulled(week, number) for number, week in enumerate(weeks)],
            "setting_windows": [
                _pulled(
                    Calendar(every=timedelta(days=7), zone=ZONE).within(_START - timedelta(days=8), _START)[
                        0
                    ],
                    99,
                )
            ],
        },
        caveats=(
            Caveat("windows-not-checked", count=1, total=17),
            Caveat("flagged-shares-differ", threshold=0.5, champion=0.12, challenger=0.21),
        ),
    )
    return replace(plain, **changes)


@cache
def compared() -> Review:
    """A review whose numbers `compare` has found on drawn rows: six weeks, the fourth too small."""
    rng = np.random.default_rng(7)

    def rows(n_pos: int, n_neg: int) -> PairedSample:
        y = np.repeat([1, 0], [n_pos, n_neg])
        shared, own, others = rng.normal(size=(3, n_pos + n_neg))
        champion = shared + 0.6 * own + 1.1 * y
        challenger = shared * (1 - 0.3 * y) + 0.6 * others + 1.3 * y
        return PairedSample(y, *(np.round(1 / (1 + np.exp(1.5 - x)), 2) for x in (challenger, champion)))

    settings = ReviewSettings(
        rule=RULE,
        thresholds=(0.5,),
        w=(0.01, 0.5),
        money=(Money(false_positive=4, false_negative=25, prevalence=0.16, unit="USD"),),
        n_resamples=99,
    )
    plain = review(windows=6)
    weeks = [
        Window(*(datetime.fromisoformat(row[end]) for end in ("start", "end")))
        for row in plain.tables["windows"]
    ]
    found = compare(
        [(week, rows(30 if number == 3 else 200, 800)) for number, week in enumerate(weeks)],
        {"origin=EWR": rows(300, 900), "origin=LGA": rows(12, 100)},
        settings=settings,
        setting=rows(200, 800),
        past=[rows(60, 240) for _ in range(19)],
        rng=1,
    )
    return replace(
        plain,
        decision=found.decision,
        decided_at=None if found.decided_in is None else found.decided_in.end,
        comparisons=found.comparisons,
        further_windows=found.further_windows,
        metrics=found.metrics,
        tables=found.tables | {"counts": plain.tables["counts"]},
        caveats=found.caveats,
    )


def without(*tables: str, **changes: Any) -> Review:
    """The review without these tables."""
    whole = review(**changes)
    return replace(whole, tables={name: rows for name, rows in whole.tables.items() if name not in tables})


def _pulled(window: Window, number: int) -> dict[str, Any]:
    ends = {"start": window.start.isoformat(), "end": window.end.isoformat()}
    return ends | {"rows": 6300 + number, "digest": f"{number:02x}" * 32}


def window_rows(weeks: list[Window], difference: float = 0.0097, seed: int = 5) -> list[dict[str, Any]]:
    """The table ``windows``; the fourth has too few positives to be checked."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    total = checks = 0.0
    low, high, pvalue = -1.0, 1.0, 1.0
    for number, week in enumerate(weeks):
        row: dict[str, Any] = {"start": week.start.isoformat(), "end": week.end.isoformat()}
        if number == 3:
            row |= {"rows": 412, "n_pos": 31, "n_neg": 381, "checked": False}
            row |= dict.fromkeys(("champion_auc", "challenger_auc", "difference", "se", "low", "high"))
            row |= dict.fromkeys(("running_mean", "anytime_low", "anytime_high", "pvalue"))
            rows.append(row | {"why_not": TOO_FEW})
            continue
        found = difference + 0.0052 * rng.standard_normal()
        champion = 0.742 + 0.02 * np.sin(number / 3)
        total, checks = total + found, checks + 1
        mean = total / checks
        half = 0.0052 * np.sqrt((12 + checks) * np.log(400 * (12 + checks) / 12)) / checks
        low, high = max(low, mean - half), min(high, mean + half)
        pvalue = min(
            pvalue, float(np.exp(-0.5 * checks * (mean / 0.0052) ** 2 * checks / (12 + checks))) * 1.4
        )
        rows.append(
            row
            | {
                "rows": 6230 + 17 * number,
                "n_pos": 1010 + number,
                "n_neg": 5220 + 16 * number,
                "checked": True,
            }
            | {
                "champion_auc": champion,
                "challenger_auc": champion + found,
                "difference": found,
                "se": 0.0052,
            }
            | {"low": found - 0.0102, "high": found + 0.0102, "running_mean": mean, "anytime_low": low}
            | {"anytime_high": high, "pvalue": pvalue, "why_not": ""}
        )
    return rows


def costs() -> list[dict[str, Any]]:
    """Two operating conditions without money and one with."""
    names = ("unit", "false_positive", "false_negative", "prevalence", "decisions")
    bare = dict.fromkeys((*names, "money_saved", "money_low", "money_high"))
    money = {
        "unit": "USD",
        "false_positive": 4.0,
        "false_negative": 25.0,
        "prevalence": 0.16,
        "decisions": 1000,
    }
    money |= {"money_saved": 118.4, "money_low": 41.2, "money_high": 195.5}
    at = {"champion_threshold": 0.4412, "challenger_threshold": 0.3871}
    return [
        {"w": 0.1, **at, "champion_threshold": None, "champion_cost": 0.09, "challenger_cost": 0.0905}
        | {"saved": -0.0005, "low": -0.0011, "high": 0.0002, **bare},
        {"w": 0.5, **at, "champion_cost": 0.1861, "challenger_cost": 0.1832}
        | {"saved": 0.0029, "low": -0.0003, "high": 0.0061, **bare},
        {"w": 0.5435, **at, "champion_cost": 0.1777, "challenger_cost": 0.1616}
        | {"saved": 0.0161, "low": 0.0056, "high": 0.0266, **money},
    ]


def _rates() -> Any:
    return np.linspace(0.01, 0.99, 99)


def _tpr(model: str, fpr: Any) -> Any:
    mean, spread = _SHAPE[model]
    return norm.cdf((mean + norm.ppf(fpr)) / spread)


def _auc() -> list[dict[str, Any]]:
    row = {"champion": 0.7423, "challenger": 0.7520, "difference": 0.0097}
    delong = {"method": "delong", **row, "se": 0.00131, "low": 0.00713, "high": 0.01227, "pvalue": 1.3e-13}
    drawn = {
        "method": "exact-bootstrap",
        **row,
        "se": 0.00131,
        "low": 0.00714,
        "high": 0.01226,
        "pvalue": 1.3e-13,
    }
    return [delong, drawn]


def _fprs() -> list[dict[str, Any]]:
    rows = []
    for fpr, half in ((0.01, 0.021), (0.05, 0.034), (0.3, 0.028)):
        first, second = (float(_tpr(model, fpr)) for model in _SHAPE)
        difference = second - first
        rows.append(
            {"fpr": fpr, "champion_tpr": first, "challenger_tpr": second, "difference": difference}
            | {"low": difference - half * 0.6, "high": difference + half * 0.6, "method": "exact"}
            | {"running_mean": difference, "anytime_low": difference - half}
            | {"anytime_high": difference + half}
            | {"better": "champion" if difference + half < 0 else ""}
        )
    return rows


def _thresholds() -> list[dict[str, Any]]:
    shares = {
        "champion_better": 0.12,
        "challenger_better": 0.06,
        "both_higher": 0.71,
        "both_lower": 0.1,
        "tie": 0.01,
    }
    at = {"champion_threshold": 0.5, "challenger_threshold": 0.5, "champion_flagged": 0.121}
    rates = {
        "dtpr": 0.131,
        "dtpr_low": 0.122,
        "dtpr_high": 0.14,
        "dfpr": 0.087,
        "dfpr_low": 0.083,
        "dfpr_high": 0.091,
    }
    matched = {"dtpr": 0.012, "dtpr_low": 0.004, "dtpr_high": 0.02, "dfpr": -0.002, "dfpr_low": -0.004}
    matched |= {"dfpr_high": -0.0003, "challenger_threshold": 0.4127, "challenger_flagged": 0.121}
    return [
        {"pairing": "given", **at, "challenger_flagged": 0.213, **rates, **shares},
        {
            "pairing": "flagged share",
            **at,
            **matched,
            **shares,
            "challenger_better": 0.68,
            "both_higher": 0.09,
        },
        {"pairing": "calibrated", **at, **matched, **shares, "challenger_better": 0.61, "both_higher": 0.16},
    ]


def _dominance() -> list[dict[str, Any]]:
    rows = []
    for share in np.linspace(0.005, 0.995, 101):
        ahead = float(norm.cdf(6 * (share - 0.2)))
        undecided = 0.25 * (1 - abs(2 * share - 1))
        tie = 0.02
        left = 1 - undecided - tie
        rows.append(
            {"share": float(share), "champion_threshold": 1 - share, "challenger_threshold": 1 - share * 0.9}
            | {"champion_better": left * (1 - ahead), "challenger_better": left * ahead}
            | {"both_higher": undecided * 0.6, "both_lower": undecided * 0.4, "tie": tie}
        )
    return rows


def _roc() -> list[dict[str, Any]]:
    rows = []
    for model in _SHAPE:
        for fpr, tpr in zip(_rates(), _tpr(model, _rates()), strict=True):
            half = 1.96 * np.sqrt(tpr * (1 - tpr) / 3000)
            rows.append(
                {"model": model, "fpr": float(fpr), "tpr": float(tpr)}
                | {"tpr_low": float(tpr - half), "tpr_high": float(tpr + half)}
            )
    return rows


def _band() -> list[dict[str, Any]]:
    difference = _tpr("challenger", _rates()) - _tpr("champion", _rates())
    half = 0.006 + 0.02 * np.sqrt(_rates() * (1 - _rates()))
    columns = zip(_rates(), difference, difference - half, difference + half, strict=True)
    return [dict(zip(("fpr", "difference", "low", "high"), map(float, row), strict=True)) for row in columns]


def _regions() -> list[dict[str, Any]]:
    """Where the band does not hold 0."""
    regions: list[dict[str, Any]] = []
    better = ""
    for row in _band():
        before, better = better, "challenger" if row["low"] > 0 else "champion" if row["high"] < 0 else ""
        if better and better != before:
            regions.append({"from_fpr": row["fpr"], "better": better})
        if better:
            regions[-1]["to_fpr"] = row["fpr"]
    return regions


def _segments() -> list[dict[str, Any]]:
    level = {"level": 0.9833}
    return [
        {"segment": name, "rows": rows, "n_pos": rows // 6, "n_neg": rows - rows // 6, "champion_auc": 0.74}
        | {"challenger_auc": 0.74 + gain, "difference": gain, "low": gain - half, "high": gain + half}
        | level
        | {"pvalue": pvalue, "note": ""}
        for name, rows, gain, half, pvalue in (
            ("origin=EWR", 38120, 0.0121, 0.0058, 1e-6),
            ("origin=JFK", 35544, 0.0087, 0.0061, 0.0005),
        )
    ] + [
        {
            "segment": "origin=LGA",
            "rows": 120,
            "n_pos": 12,
            "n_neg": 108,
            **level,
            "note": TOO_FEW,
        }
        | dict.fromkeys(("champion_auc", "challenger_auc", "difference", "low", "high", "pvalue"))
    ]


def _metrics(windows: int, checks: int) -> dict[str, float]:
    plain = {
        "data/rows": 105902,
        "data/positives": 17204,
        "data/negatives": 88698,
        "review/windows": windows,
        "review/checks": checks,
        "review/windows_waiting": 2,
        "review/challenger_leads": checks,
        "champion/auc": 0.7423,
        "challenger/auc": 0.752,
        "difference/auc": 0.0097,
        "difference/auc_se": 0.00131,
        "difference/auc_low": 0.00713,
        "difference/auc_high": 0.01227,
        "difference/auc_mean": 0.0096,
        "difference/auc_anytime_low": 0.0043,
        "difference/auc_anytime_high": 0.0151,
        "difference/auc_anytime_pvalue": 0.0000021,
        "forecast/difference_low": -0.0061,
        "forecast/difference_high": 0.0263,
    }
    return {name: float(value) for name, value in plain.items()}
