"""Labels that are late, and not at random: what labelled rows show, and what the estimate of all rows does.

Windows of 1,000 rows, 30 % positive on average, AUC about 0.8; prevalence and distance of the classes vary
from window to window. At the age at which a window is judged some rows have no label yet. Arrival depends

- on nothing;
- on the class: positives first;
- on the score: high scores first;
- on both;
- on both, at a pace that varies from window to window;
- on both, slower after the reference than in it (which nothing calibrated on the reference can allow for);
- on the class or the score, with an AUC that is lower by 0.06 after the reference, also in windows of 800
  rows with an AUC of 0.85 and with labels of 40 % of the positives.

Each reference has 39 windows whose labels all came in the end. Shown are bias and standard deviation of the
labelled rows alone and of the estimate, against the AUC of all rows once they have labels; how often its 95 %
interval contains that final AUC, and the confidence interval of `drop` and `floor` the true one; how often a
forecast at 95 % is left: by labelled rows alone with the forecast of full labels, and by the estimate with
that calibrated at the same label age; and the share of windows that are refused because labels come at
another pace, which are not counted before. Brackets: Monte Carlo standard errors.

Then, for arrival on both, how often labelled rows alone leave the forecast by the share of labelled rows:
below which share `window.min_labelled` should refuse. Then the same on real scores with simulated arrival
(fivethirtyeight, monthly), and on bookings with their own arrival, where there is such a file.
A quarter of an hour of two processors.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from golden import DATA
from numpy.typing import NDArray
from scipy.special import expit, ndtr
from studies.running import options, replicate, say, table

from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.arrival import Awaiting, Estimate, estimate, forecasts
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Forecast
from rocmonitor.stats import Sample, auc, condensed, forecast_fit
from rocmonitor.stats.forecast.label_history import PastWindow, label_history
from rocmonitor.stats.sample import ScoreCounts

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROWS, WINDOWS, LATER = 1000, 39, 10
PREVALENCE, SEPARATION, DECLINE = 0.3, 1.19, 0.28
RULES = {"forecast": Forecast()}
START = datetime(2026, 1, 5, tzinfo=UTC)
AGE, END = timedelta(days=30), timedelta(days=120)
BOOKINGS = "hotel_bookings/scored.csv.gz"


class Arrival(NamedTuple):
    """Logit of the chance that a row has its label: a level, and more for positives and for high scores."""

    level: float
    positive: float = 0.0
    score: float = 0.0
    pace: float = 0.0
    """Standard deviation of the level between windows."""
    slower: float = 0.0
    """By how much the level is lower after the reference."""
    faster: float = 0.0
    """By how much more positives have their label after the reference."""
    decline: float = 0.0
    """By how much the classes are less far apart after the reference."""
    rows: int = ROWS
    separation: float = SEPARATION

    def labelled(self, y: Mask, s: Floats, rng: np.random.Generator, *, later: bool) -> Mask:
        """Which rows have their label at the age at which windows are judged."""
        level = self.level + self.pace * rng.normal() - self.slower * later
        positive = self.positive + self.faster * later
        return rng.random(len(y)) < expit(level + positive * y + self.score * (s - 0.4))


FEWER: dict[str, Any] = {"rows": 800, "separation": 1.466}
DESIGNS = {
    "nothing": Arrival(0.4),
    "class": Arrival(-0.1, positive=2.0),
    "score": Arrival(0.4, score=1.2),
    "both": Arrival(-0.1, positive=1.5, score=1.0),
    "both, pace varies": Arrival(-0.1, positive=1.5, score=1.0, pace=0.5),
    "both, slower later": Arrival(-0.1, positive=1.5, score=1.0, slower=1.0),
    "positives first, decline": Arrival(-0.1, positive=2.0, decline=DECLINE),
    "negatives first, decline": Arrival(0.6, positive=-1.5, decline=DECLINE),
    "positives faster later, decline": Arrival(0.4, faster=1.2, decline=DECLINE),
    "low scores first, decline": Arrival(0.4, score=-1.2, decline=DECLINE),
    "high scores first, decline": Arrival(0.4, score=1.2, decline=DECLINE),
    "negatives first, AUC 0.85": Arrival(0.6, positive=-1.5, **FEWER),
    "negatives first, AUC 0.85, decline": Arrival(0.6, positive=-1.5, decline=0.326, **FEWER),
    "few positives, AUC 0.85": Arrival(1.5, positive=-2.5, **FEWER),
    "few positives, AUC 0.85, decline": Arrival(1.5, positive=-2.5, decline=0.326, **FEWER),
}
SHARES = {0.3: -1.9, 0.5: -0.7, 0.7: 0.5, 0.9: 2.1}
"""Levels of the design "both" by the share of labelled rows that they give."""


class Window(NamedTuple):
    """Rows and which of them have their label; the AUC of the population they come from."""

    y: Mask
    s: Floats
    labelled: Mask
    truth: float = float("nan")

    @property
    def known(self) -> Sample:
        """The labelled rows."""
        return Sample(self.y[self.labelled], self.s[self.labelled])

    @property
    def late(self) -> Sample:
        """The others, with the labels that they get."""
        return Sample(self.y[~self.labelled], self.s[~self.labelled])


def drawn(arrival: Arrival, rng: np.random.Generator, *, later: bool) -> Window:
    """One window."""
    y = rng.random(arrival.rows) < expit(np.log(PREVALENCE / (1 - PREVALENCE)) + 0.2 * rng.normal())
    separation = arrival.separation + 0.06 * rng.normal() - arrival.decline * later
    s = np.round(rng.normal(size=arrival.rows) + separation * y, 3)
    return Window(y, s, arrival.labelled(y, s, rng, later=later), float(ndtr(separation / 2**0.5)))


def reference(windows: Sequence[Window]) -> Reference:
    """The windows as a monitor freezes them."""
    samples = [Sample(window.y, window.s) for window in windows]
    whole = Sample.merge(samples)
    none = ScoreCounts(np.zeros(0), np.zeros(0, dtype=np.int64))
    return Reference(
        auc=auc(whole),
        fits={"forecast": forecast_fit(whole, windows=samples, batch=(1, 1))},
        cells=condensed(whole),
        windows=[
            {"start": (START + at * END).isoformat(), "end": (START + (at + 1) * END).isoformat()}
            for at in range(len(windows))
        ],
        labels=label_history([PastWindow((w.known, w.late), none, END) for w in windows], (AGE, END)),
    )


FIELDS = ("share", "alone", "error", "final", "true", "alarm_alone", "alarm")


def judged(window: Window, past: Reference) -> Floats:
    """One window: what `FIELDS` names, NaN where a thing is not defined."""
    final, known = auc(window.y, window.s).auc, window.known
    cells, full = past.cells, past.fits["forecast"]
    assert cells is not None
    alone = auc(known).auc
    left = float(not full.interval(cells, (known.n_pos, known.n_neg)).contains(alone))
    waiting = ScoreCounts.of(window.s[~window.labelled])
    found = estimate(past, known, Awaiting(unlabelled=waiting, age=AGE))
    assert isinstance(found, Estimate)
    assert found.errors is not None
    low, high, _ = found.errors.final_interval(found.partly)
    true = found.errors.ci(found.partly)
    intervals = forecasts(found, RULES, NormalRanges.of(past))
    return np.array(
        [
            found.partly.labelled_share,
            alone - final,
            found.partly.auc - final,
            float(low <= final <= high),
            float(true[0] <= window.truth <= true[1]) if np.isfinite(window.truth) else np.nan,
            left,
            float(not intervals["forecast"].contains(found.partly.auc)) if intervals else np.nan,
        ]
    )


def one(arrival: Arrival, rng: np.random.Generator) -> Floats:
    """(windows, fields): a reference, and windows after it."""
    past = reference([drawn(arrival, rng, later=False) for _ in range(WINDOWS)])
    return np.stack([judged(drawn(arrival, rng, later=True), past) for _ in range(LATER)])


def line(name: str, found: Floats) -> list[str]:
    """A line of the table, of results (references, windows, fields)."""
    values = dict(zip(FIELDS, np.moveaxis(found, -1, 0), strict=True))

    def rate(of: str) -> str:
        seen = [known for each in values[of] if len(known := each[np.isfinite(each)])]
        if not seen:
            return "not known"
        return f"{np.concatenate(seen).mean():.3f} ({spread(np.array([each.mean() for each in seen])):.3f})"

    return [
        name,
        f"{values['share'].mean():.2f}",
        *(f"{values[of].mean():+.4f} ({spread(values[of].mean(axis=1)):.4f})" for of in ("alone", "error")),
        *(f"{values[of].std():.4f}" for of in ("alone", "error")),
        *(rate(of) for of in ("final", "true", "alarm_alone", "alarm")),
        f"{np.isnan(values['alarm']).mean():.2f}",
    ]


def spread(means: Floats) -> float:
    """Monte Carlo standard error of a mean of references."""
    return float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else float("nan")


HEAD = [
    "arrival depends on",
    "labelled",
    "bias alone",
    "bias",
    "SD alone",
    "SD",
    "final covered",
    "true covered",
    "alarms alone",
    "alarms",
    "refused",
]


def scored_months(arrival: Arrival, rng: np.random.Generator) -> list[Window]:
    """Real scores and labels of fivethirtyeight by month, with simulated arrival."""
    with gzip.open(next((DATA / "fivethirtyeight").glob("*.csv.gz")), "rt", encoding="utf-8") as file:
        head = file.readline().strip().split(",")
        at = [head.index(name) for name in ("date", "prob1", "y")]
        rows = [[line.strip().split(",")[place] for place in at] for line in file]
    months: dict[str, list[tuple[float, bool]]] = {}
    for date, score, y in rows:
        if y:
            months.setdefault(date[:7], []).append((float(score), float(y) == 1))
    windows = []
    for month in sorted(months):
        s, y = (np.array(column) for column in zip(*months[month], strict=True))
        if min(y.sum(), (~y).sum()) >= 50:
            centred = (s - 0.4) * 4
            windows.append(Window(y, s, arrival.labelled(y, centred, rng, later=False)))
    return windows


def on_months(arrival: Arrival, rng: np.random.Generator) -> Floats:
    """(windows, fields): the months after the first 39, judged against these."""
    windows = scored_months(arrival, rng)
    past = reference(windows[:WINDOWS])
    return np.stack([judged(window, past) for window in windows[WINDOWS:]])


def bookings(file: Path) -> list[Window]:
    """Weeks of a file with the columns week, score, y, label_age_days (of weeks whose labels are all in)."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        head = lines.readline().strip().split(",")
        at = [head.index(name) for name in ("week", "score", "y", "label_age_days")]
        rows = [[line.strip().split(",")[place] for place in at] for line in lines]
    weeks: dict[str, list[tuple[float, bool, bool]]] = {}
    for week, score, y, age in rows:
        weeks.setdefault(week, []).append(
            (float(score), float(y) == 1, float(age) <= AGE / timedelta(days=1))
        )
    return [
        Window(y, s, known)
        for week in sorted(weeks)
        for s, y, known in [tuple(np.array(column) for column in zip(*weeks[week], strict=True))]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    chosen = options(__doc__, arguments, replications=100)
    shared = {"replications": chosen.replications, "seed": chosen.seed, "processes": chosen.processes}
    table(
        HEAD,
        [
            line(name, np.stack(replicate(one, arrival, what=name, **shared)))
            for name, arrival in DESIGNS.items()
        ],
    )
    say("\nBy the share of labelled rows, arrival on both:")
    both = DESIGNS["both"]
    table(
        HEAD,
        [
            line(
                f"{share:g}",
                np.stack(replicate(one, both._replace(level=level), what=f"{share:g}", **shared)),
            )
            for share, level in SHARES.items()
        ],
    )
    say("\nReal scores by month, simulated arrival:")
    if (DATA / "fivethirtyeight").is_dir():
        few = shared | {"replications": max(1, chosen.replications // 10)}
        names = ("class", "both")
        table(
            HEAD,
            [line(name, np.stack(replicate(on_months, DESIGNS[name], what=name, **few))) for name in names],
        )
    else:
        say(f"skipped: {DATA / 'fivethirtyeight'} is not there")
    say("\nBookings with their own arrival:")
    if not (DATA / BOOKINGS).is_file():
        say(f"skipped: {DATA / BOOKINGS} is not there (columns week, score, y, label_age_days)")
        return
    weeks = bookings(DATA / BOOKINGS)
    try:
        past = reference(weeks[:WINDOWS])
        table(HEAD, [line("bookings", np.stack([[judged(week, past) for week in weeks[WINDOWS:]]]))])
    except DegenerateDataError as error:
        say(f"skipped: {error}")


if __name__ == "__main__":
    main()
