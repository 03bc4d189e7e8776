"""Real streams: the AUC foreseen from the scores of each later window, against what came out.

The first part of each stream is the reference; the forecast of every later window sees its scores only.
Streams: late flights of the demo by week and by day, two models; game forecasts of FiveThirtyEight by month,
all leagues together and each on its own; employment in Massachusetts in file order, blocks of 5,000 rows.
The last two are read from the folder ``shared/data`` beside the checkout (or ROCMONITOR_STUDY_DATA), and left
out when it is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from studies.running import options, say, share, table

from rocmonitor.stats import Sample, auc, condensed, forecast_interval, score_history

LEVEL = 0.95
DATA = Path(os.environ.get("ROCMONITOR_STUDY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
GAMES = DATA / "fivethirtyeight" / "games.csv.gz"
EMPLOYMENT = DATA / "nannyml_employment_ma" / "employment_ma.csv.gz"
LEAST = 10  # rows of each class that a window needs
METHODS = ("given", "without", "normal", "3 SD")


class Stream(NamedTuple):
    """Windows in order of time, of which the first ones are the reference."""

    name: str
    windows: list[Sample]
    n_reference: int


class Found(NamedTuple):
    """Of the later windows of a stream."""

    later: int
    covered: dict[str, float]
    width: dict[str, float]
    correlation: float  # of expected and realised AUC
    strength: float
    score_alarms: float
    expected_alarms: float


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    found = list(streams())
    say(f"covered: share of later windows inside, nominal {LEVEL:.0%}; 'given' the scores; 'without' them;")
    say(
        "'normal': prediction interval of the reference windows' AUCs; '3 SD': mean ± 3 SD of their estimates"
    )
    say("by confidence. Width: without, then relative to it. r: correlation of expected and realised AUC.\n")
    results = share(judged, [(stream,) for stream in found], chosen.processes)
    table(
        [
            "stream",
            "reference",
            "later",
            *METHODS,
            "width",
            "given",
            "normal",
            "3 SD",
            "r",
            "strength",
            "scores",
            "exp.",
        ],
        [line(stream, of) for stream, of in zip(found, results, strict=True)],
    )


def streams() -> Iterator[Stream]:
    """All streams whose data are there."""
    yield from flights()
    if GAMES.exists():
        yield from games(pd.read_csv(GAMES))
    if EMPLOYMENT.exists():
        rows = pd.read_csv(EMPLOYMENT, usecols=["employed", "predicted_probability"])
        block = pd.Series(np.arange(len(rows)) // 5000)
        windows = cut(rows["employed"], rows["predicted_probability"], block)
        yield Stream("employment, blocks of 5,000", windows, 27)


def flights() -> Iterator[Stream]:
    """The demo's flights from April on that got a label."""
    from rocmonitor.demo.flights import read
    from rocmonitor.demo.models import ROLES, score, train

    known = read()
    scored = score(known, train(known, lambda _: None), lambda _: None)
    scored = scored[scored["late"].notna()]
    day = pd.to_datetime(scored["scored_at"]).dt.normalize()
    days = (day - day.min()).dt.days
    for role in ROLES:
        weekly = cut(scored["late"], scored[f"p_{role}"], days // 7)
        yield Stream(f"flights weekly, {role}", weekly, 21)
    for role in ROLES:
        yield Stream(f"flights daily, {role}", cut(scored["late"], scored[f"p_{role}"], days), 60)


def games(played: pd.DataFrame) -> Iterator[Stream]:
    """By month; the first half is the reference."""
    played = played[played["y"].notna()]
    month = played["date"].str[:7]
    windows = cut(played["y"], played["prob1"], month)
    yield Stream("games monthly, all leagues", windows, len(windows) // 2)
    for league, of in played.groupby("league"):
        windows = cut(of["y"], of["prob1"], month[of.index])
        if len(windows) >= 2 * 19:
            yield Stream(f"games monthly, {league}", windows, len(windows) // 2)


def cut(y: pd.Series, s: pd.Series, by: pd.Series) -> list[Sample]:
    """The windows with enough rows of both classes, in order."""
    parts = (Sample(y[rows].astype(int), s[rows]) for rows in s.groupby(np.asarray(by)).groups.values())
    return [window for window in parts if min(window.n_pos, window.n_neg) >= LEAST]


def judged(stream: Stream) -> Found:
    """Each later window by the frozen reference."""
    past, later = stream.windows[: stream.n_reference], stream.windows[stream.n_reference :]
    reference = Sample.merge(past)
    history, plain = score_history(reference, past), forecast_interval(reference, windows=past)
    cells, n = condensed(reference), len(past)
    aucs, estimates = np.array(history.window_aucs), np.array(history.window_expected)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2)) * aucs.std(ddof=1) * (1 + 1 / n) ** 0.5
    normal = (aucs.mean() - half, min(aucs.mean() + half, 1.0))
    band = (estimates.mean() - 3 * estimates.std(ddof=1), estimates.mean() + 3 * estimates.std(ddof=1))
    rows = []
    for window in later:
        scores, realised = (window.score, window.pos + window.neg), auc(window).auc
        given = history.forecast(cells, scores, confidence_level=LEVEL)
        assert given.batch is not None
        without = plain.for_batch(cells, given.batch)
        ends = [(given.low, given.high), (without.low, without.high), normal, band]
        rows.append(
            [low <= realised <= high for low, high in ends]
            + [high - low for low, high in ends]
            + [given.strength]
            + [given.score_distance > history.distance_limit(given.n_rows, confidence_level=LEVEL).limit]
            + [given.auc < history.expected_limit(given.n_rows, confidence_level=LEVEL).limit]
            + [given.auc, realised]
        )
    values, k = np.array(rows, dtype=np.float64), len(METHODS)
    mean = values.mean(axis=0).tolist()
    return Found(
        len(later),
        dict(zip(METHODS, mean[:k], strict=True)),
        dict(zip(METHODS, mean[k : 2 * k], strict=True)),
        float(np.corrcoef(values[:, -2], values[:, -1])[0, 1]),
        *mean[2 * k : 2 * k + 3],
    )


def line(stream: Stream, of: Found) -> list[str]:
    return [
        stream.name,
        f"{stream.n_reference}",
        f"{of.later}",
        *(f"{of.covered[name]:.0%}" for name in METHODS),
        f"{of.width['without']:.3f}",
        *(f"{of.width[name] / of.width['without']:.2f}" for name in METHODS if name != "without"),
        f"{of.correlation:.2f}",
        f"{of.strength:.2f}",
        f"{of.score_alarms:.0%}",
        f"{of.expected_alarms:.0%}",
    ]
