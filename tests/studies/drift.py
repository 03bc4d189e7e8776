"""Real streams, window by window: which rules find a change, when, and how much of it the scores foretold.

The first windows of each stream are the reference; later ones are judged in order by the rules `forecast`
(losses; windows of the reference that are alike are allowed for), `drop`, and
`lasting`. Shown are how many windows each finds degraded, and when `lasting` alarmed, since when it dates the
change and how large it says it is. Streams: the electricity market of New South Wales
by week (logistic regression trained on the first twelve weeks), late flights of the demo by week, game
forecasts of FiveThirtyEight by month and league, rain in Nebraska by thirty days (trained on the first five
years, a reference of five and of one), and employment in Massachusetts by whole years, of which nothing is
known to have changed: a rule that finds a change there is wrong. The data are read from the folder
``shared/data`` beside the checkout (or ROCMONITOR_STUDY_DATA); the study says what is not there. Two
minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
import pandas as pd
from studies.figures import keep
from studies.outlook_real import DATA, EMPLOYMENT, GAMES, LEAST
from studies.running import options, say, share, table

from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.windows import Window
from rocmonitor.report.timeline import BLUE, LIGHT, PURPLE, panels, png
from rocmonitor.rules import Drop, Forecast, Lasting, Rule, by_name
from rocmonitor.stats import Sample, WindowAuc, auc, condensed, expected_auc

ELECTRICITY, WEATHER = DATA / "electricity" / "elec2.csv.gz", DATA / "weather_noaa" / "weather.csv.gz"
RULES: dict[str, Rule] = by_name(
    [
        Forecast(alternative="less"),
        Drop(),
        Lasting(),
    ]
)
NAMES = {"forecast": "forecast", "drop": "drop", "lasting": "lasting"}
DAY = timedelta(days=1)
CLAIM = "A rule should find changes that stay, say since when, and leave a stable stream alone."


class Stream(NamedTuple):
    """Windows with their dates, in order, of which the first ones are the reference."""

    name: str
    windows: list[tuple[Window, Sample]]
    n_reference: int


class Found(NamedTuple):
    """What the rules said of the later windows."""

    reference_auc: float
    later_auc: float
    foreseen: float  # of the difference, from the scores
    degraded: dict[str, list[datetime]]
    first: str  # of `lasting`: when it alarmed, since when, how large
    areas: list[float]  # AUC of all windows


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments)
    for path in (ELECTRICITY, WEATHER, GAMES, EMPLOYMENT):
        if not path.exists():
            say(f"left out, because it is not there: {path}")
    found = list(streams())
    results = share(judged, [(stream,) for stream in found], chosen.processes, "streams")
    say("windows found degraded; foreseen: what the scores foretold of the later difference\n")
    heads = [
        "stream",
        "reference",
        "later",
        "AUC",
        "later",
        "foreseen",
        *NAMES.values(),
        "lasting: first alarm",
    ]
    table(heads, [line(stream, of) for stream, of in zip(found, results, strict=True)])
    if found:
        keep("drift", chosen, document(found, results), figure(found, results))


def streams() -> Iterator[Stream]:
    """All streams whose data are there."""
    if ELECTRICITY.exists():
        yield electricity(pd.read_csv(ELECTRICITY, parse_dates=["timestamp"]))
    yield from flights()
    if GAMES.exists():
        yield from games(pd.read_csv(GAMES))
    if WEATHER.exists():
        yield from weather(pd.read_csv(WEATHER))
    if EMPLOYMENT.exists():
        yield employment(pd.read_csv(EMPLOYMENT, usecols=["year", "employed", "predicted_probability"]))


def electricity(rows: pd.DataFrame) -> Stream:
    """Weeks; the model learns from the first 12, the next 26 are the reference."""
    columns = ["period", "nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    week = (rows["timestamp"] - rows["timestamp"].min()).dt.days // 7
    score = fitted(rows[columns], rows["y"], week < 12)
    start = rows["timestamp"].min().to_pydatetime().replace(tzinfo=UTC)
    later = week >= 12
    windows = cut(rows["y"][later], score[later], week[later], start, 7 * DAY)
    return Stream("electricity, weekly", windows, 26)


def flights() -> Iterator[Stream]:
    """The demo's two models, from April on."""
    from rocmonitor.demo.flights import read
    from rocmonitor.demo.models import ROLES, score, train

    known = read()
    scored = score(known, train(known, lambda _: None), lambda _: None)
    scored = scored[scored["late"].notna()]
    day = pd.to_datetime(scored["scored_at"]).dt.tz_localize(None).dt.normalize()
    week, start = (day - day.min()).dt.days // 7, day.min().to_pydatetime().replace(tzinfo=UTC)
    for role in ROLES:
        yield Stream(
            f"flights weekly, {role}", cut(scored["late"], scored[f"p_{role}"], week, start, 7 * DAY), 21
        )


def games(played: pd.DataFrame) -> Iterator[Stream]:
    """Months of each league that has enough of them; the first half is the reference."""
    played = played[played["y"].notna()].assign(date=lambda rows: pd.to_datetime(rows["date"]))
    start = datetime(2015, 1, 1, tzinfo=UTC)
    for league, rows in played.groupby("league"):
        month = (rows["date"].dt.year - 2015) * 12 + rows["date"].dt.month - 1
        windows = cut(rows["y"], rows["prob1"], month, start, 365.25 / 12 * DAY)
        if len(windows) >= 2 * 19:
            yield Stream(f"games monthly, {league}", windows, len(windows) // 2)


def weather(rows: pd.DataFrame) -> Iterator[Stream]:
    """Thirty days; the model learns from the first five years; references of one year and of five."""
    columns = [name for name in rows if name not in ("day_index", "y")]
    day = rows["day_index"]
    score, month, start = (
        fitted(rows[columns], rows["y"], day < 5 * 365),
        day // 30,
        datetime(1949, 1, 1, tzinfo=UTC),
    )
    later = day >= 5 * 365
    windows = cut(rows["y"][later], score[later], month[later], start, 30 * DAY, least=5)
    for years in (1, 5):
        yield Stream(f"weather, 30 days, reference {years} y", windows[: years * 12 + 120], years * 12)


def employment(rows: pd.DataFrame) -> Stream:
    """The reference year in twenty parts; each later year is one window."""
    first = rows["year"] == 2015
    part = pd.Series(np.arange(int(first.sum())) * 20 // int(first.sum()), index=rows.index[first])
    start, y, s = datetime(2015, 1, 1, tzinfo=UTC), rows["employed"], rows["predicted_probability"]
    past = cut(y[first], s[first], part, start, 365 / 20 * DAY)
    years = [
        (Window(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)), sample)
        for year, sample in (
            (year, Sample(y[rows["year"] == year], s[rows["year"] == year])) for year in (2016, 2017, 2018)
        )
    ]
    return Stream("employment, whole years", [*past, *years], len(past))


def fitted(features: pd.DataFrame, y: pd.Series, learn: pd.Series) -> pd.Series:
    """Scores of a logistic regression that has seen the first rows only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(features[learn], y[learn])
    return pd.Series(model.predict_proba(features)[:, 1], index=y.index)


def cut(
    y: pd.Series, s: pd.Series, number: pd.Series, start: datetime, length: timedelta, least: int = LEAST
) -> list[tuple[Window, Sample]]:
    """The numbered windows with enough rows of both classes, in order."""
    windows = []
    for at, places in sorted(s.groupby(np.asarray(number)).groups.items()):
        sample = Sample(y[places].astype(int), s[places])
        if min(sample.n_pos, sample.n_neg) >= least:
            begin = start + int(at) * length
            windows.append((Window(begin, begin + length), sample))
    return windows


def judged(stream: Stream) -> Found:
    """Each later window by the frozen reference, as the service judges it."""
    past, later = stream.windows[: stream.n_reference], stream.windows[stream.n_reference :]
    reference = freeze(past, RULES)
    degraded: dict[str, list[datetime]] = {name: [] for name in RULES}
    windows: list[Window] = []
    numbers: list[WindowAuc | None] = []
    first = "none"
    for window, sample in later:
        course = Course(windows=(*windows, window), numbers=tuple(numbers), zone=UTC)  # type: ignore[arg-type]
        counts = Counts(rows=sample.n_pos + sample.n_neg, n_pos=sample.n_pos, n_neg=sample.n_neg)
        found = judge(
            sample, None, counts, ranges=NormalRanges.of(reference), rules=RULES, min_per_class=5, past=course
        )
        for verdict in found.verdicts:
            if verdict.outcome is Status.DEGRADED:
                degraded[verdict.rule].append(window.start)
                if verdict.kind == "lasting" and first == "none":
                    first = _alarm(window, verdict.details, verdict.estimate)
        windows.append(window)
        day = window.start.timestamp() / 86400
        numbers.append(WindowAuc(auc(sample).auc, sample.n_pos, sample.n_neg, day))
    whole, after = (Sample.merge([sample for _, sample in part]) for part in (past, later))
    cells = condensed(whole)
    foretold = expected_auc(cells, (after.score, after.pos + after.neg)).auc - auc(cells).auc
    areas = [auc(sample).auc for _, sample in stream.windows]
    return Found(auc(whole).auc, auc(after).auc, foretold, degraded, first, areas)


def _alarm(window: Window, details: dict[str, object], change: float | None) -> str:
    since = details.get("since", "?")
    return f"{window.start:%Y-%m-%d}, since {since}, {change or 0:+.3f}"


def line(stream: Stream, of: Found) -> list[str]:
    later = len(stream.windows) - stream.n_reference
    return [
        stream.name,
        str(stream.n_reference),
        str(later),
        f"{of.reference_auc:.3f}",
        f"{of.later_auc:.3f}",
        f"{of.foreseen:+.3f}",
        *(str(len(of.degraded[name])) for name in NAMES),
        of.first,
    ]


def document(streams: Sequence[Stream], found: Sequence[Found]) -> dict[str, object]:
    """Which streams alarm, when and why; and what the stable one does."""
    pairs = list(zip(streams, found, strict=True))
    lines = {
        stream.name: {
            "reference windows": stream.n_reference,
            "later windows": len(stream.windows) - stream.n_reference,
            "auc": [round(of.reference_auc, 4), round(of.later_auc, 4)],
            "foreseen": round(of.foreseen, 4),
            "degraded": {
                NAMES[rule]: [f"{at:%Y-%m-%d}" for at in dates] for rule, dates in of.degraded.items()
            },
            "lasting": of.first,
        }
        for stream, of in pairs
    }
    lasting = [f"{stream.name} ({of.first})" for stream, of in pairs if of.first != "none"]
    text = f"Something lasts in: {'; '.join(lasting)}." if lasting else "Nothing lasts anywhere."
    for stream, of in pairs:
        if stream.name.startswith("employment"):
            false = sum(len(dates) for dates in of.degraded.values())
            text += f" On the stable stream (employment) all rules together raise {false} false alarms."
    return {"paper": "real streams", "claim": CLAIM, "found": text, "streams": lines}


def figure(streams: Sequence[Stream], found: Sequence[Found]) -> bytes:
    """The AUC of each window of each stream: reference grey, later black, alarms marked."""
    drawn, all_axes = panels(9, 1.5 * len(streams) + 0.5, [1] * len(streams), sharex=False)
    for axes, stream, of in zip(all_axes, streams, found, strict=True):
        starts = [window.start for window, _ in stream.windows]
        n = stream.n_reference
        axes.plot(starts[:n], of.areas[:n], color=LIGHT, linewidth=2)
        axes.plot(starts[n:], of.areas[n:], color="black", linewidth=1)
        area = dict(zip(starts, of.areas, strict=True))
        for name, mark, colour in (("forecast", "o", PURPLE), ("lasting", "|", BLUE)):
            at = of.degraded[name]
            axes.plot(at, [area[start] for start in at], mark, color=colour, linestyle="none", label=name)
        axes.set_title(stream.name, loc="left", fontsize=9)
        axes.tick_params(labelsize=8)
    all_axes[0].legend(loc="upper right", frameon=False, fontsize=8)
    return png(drawn)
