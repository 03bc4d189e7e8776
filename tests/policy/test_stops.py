"""What rows and labels are expected by age, against counts by hand; how often chance looks like a stop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.policy.stops import Arrival, Arrived, Expected, Stop, stop
from rocmonitor.policy.windows import Window
from rocmonitor.stats import Sample
from rocmonitor.stats.forecast.label_history import PastWindow, label_history
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.wording.stops import by_age

DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
FIRST = datetime(2026, 1, 5, tzinfo=UTC)


def window(number: int, length: timedelta = 7 * DAY) -> Window:
    return Window(FIRST + number * length, FIRST + (number + 1) * length)


def frozen(*counts: tuple[int, int, int], length: timedelta = 7 * DAY, **more: Any) -> dict[str, Any]:
    """A reference with windows of (positives, negatives, unlabelled)."""
    return more | {
        "windows": [
            {
                "start": window(number, length).start.isoformat(),
                "end": window(number, length).end.isoformat(),
                **dict(zip(("n_pos", "n_neg", "unlabelled"), each, strict=True)),
            }
            for number, each in enumerate(counts)
        ]
    }


def arrival(reference: dict[str, Any] | None, *counted: Arrived, delay: timedelta = 2 * DAY) -> Arrival:
    return Arrival(reference, counted, label_delay=delay, zone=BERLIN)


def counted(number: int, rows: int, labelled: int = 0, age: timedelta = DAY) -> Arrived:
    return Arrived(window=window(number), at=window(number).end + age, rows=rows, labelled=labelled)


def test_expected_rows_are_those_of_the_reference_windows_with_and_without_labels():
    known = arrival(frozen(*((10, 80, 10 + number) for number in range(8))))
    assert known.rows(window(30), DAY) == Expected(lowest=100, mean=103.5, highest=107, n_windows=8)
    assert arrival(frozen(*[(10, 80, 10)] * 7)).rows(window(30), DAY) is None
    assert arrival(None).rows(window(30), DAY) is None


def test_reference_windows_of_another_length_count_by_the_time_they_cover():
    known = arrival(frozen(*[(10, 80, 10)] * 8, length=14 * DAY))
    assert known.rows(window(30), DAY) == Expected(lowest=50, mean=50, highest=50, n_windows=8)


def test_days_are_compared_with_the_same_day_of_the_week():
    """Nothing is scored on Sundays, so an empty Sunday is no stop and an empty Monday is."""
    known = arrival(frozen(*((0, 0 if day % 7 == 6 else 100, 0) for day in range(70)), length=DAY))
    empty = [
        Arrived(window=window(day, DAY), at=window(day, DAY).end + DAY, rows=0, labelled=0)
        for day in (76, 77)
    ]
    assert [known.is_short("rows", each) for each in empty] == [None, True]


def test_a_reference_with_empty_windows_expects_nothing():
    known = arrival(frozen(*[(10, 80, 10)] * 8, (0, 0, 0)))
    assert known.is_short("rows", counted(30, rows=0)) is None


@pytest.mark.parametrize("rows", list(permutations([40, 90, 100, 210])))
def test_at_most_one_of_windows_that_come_alike_is_called_short(rows):
    """The level by enumeration: whichever of n + 1 windows is the last, at most one is below the others."""
    base = [100] * 6
    values = [*base, *rows]
    short = [
        arrival(frozen(*((0, value, 0) for value in values[:place] + values[place + 1 :]))).is_short(
            "rows", counted(30, rows=values[place])
        )
        for place in range(len(values))
    ]
    assert sum(map(bool, short)) == 1  # the 40: less than half of 90


def test_shares_by_age_are_counted_from_the_history_of_the_reference():
    """Ten windows of 20 rows: 4 labels known at the end, 6 more by 10 days, 5 later, 5 never."""
    sizes = (4, 6, 5)
    samples = [Sample(np.arange(n) % 2, np.linspace(0, 1, n)) for n in sizes]
    never = ScoreCounts.of(np.linspace(0, 1, 5), None)
    past = [PastWindow(samples, never, 40 * DAY)] * 10
    history = label_history(past, [timedelta(), 10 * DAY])
    assert history is not None
    known = arrival({"windows": [], "labels": history.to_dict()}, delay=30 * DAY)
    shares = {
        age: found and found.lowest
        for age in (-1, 0, 9, 10, 99)
        for found in [known.labels(window(30), age * DAY)]
    }
    assert shares == {-1: None, 0: 0.2, 9: 0.2, 10: 0.5, 99: 0.5}
    assert known.labels(window(30), DAY).n_windows == 10


def test_reference_windows_that_are_too_young_do_not_count_at_an_age():
    sample = Sample([0, 1], [0.1, 0.2])
    nothing = ScoreCounts.of(np.array([]), None)
    past = [PastWindow([sample], nothing, (5 if number < 4 else 20) * DAY) for number in range(12)]
    history = label_history(past, [timedelta(), 10 * DAY])
    known = arrival({"windows": [], "labels": history.to_dict()})
    assert known.labels(window(30), DAY).n_windows == 12
    assert known.labels(window(30), 10 * DAY).n_windows == 8


def test_without_instants_labels_are_expected_when_due_or_by_windows_that_were_counted():
    reference = frozen(*[(30, 60, 10)] * 8)
    due, young = counted(30, rows=100, labelled=40, age=2 * DAY), counted(30, rows=100, labelled=4)
    assert arrival(reference).is_short("labels", due) is True
    assert arrival(reference).is_short("labels", young) is None
    past = [
        each
        for number in range(20, 28)
        for each in (counted(number, 100, 30), counted(number, 100, 90, age=3 * DAY))
    ]
    assert arrival(reference, *past).labels(window(30), DAY).lowest == 0.3
    assert arrival(reference, *past).is_short("labels", young) is True
    # Windows from a stop show nothing of what is normal: seven others are too few.
    past[-1] = counted(27, 100, 30, age=3 * DAY)
    assert arrival(reference, *past).is_short("labels", young) is None


def test_the_curve_is_that_of_the_windows_counted_and_the_newest_that_is_so_old():
    ages = [DAY, 3 * DAY, 9 * DAY]
    past = [
        each
        for number in range(20, 28)
        for each in (counted(number, 100, 30 + number), counted(number, 100, 90, age=3 * DAY))
    ]
    young = counted(28, 100, 7)
    curve = arrival(None, *past, young).by_age(ages)
    assert [(each.age, each.latest) for each in curve] == [
        (DAY, young),
        (3 * DAY, past[-1]),
        (9 * DAY, past[-3]),
    ]
    expected = [each.expected for each in curve]
    assert [each and (each.lowest, each.highest, each.n_windows) for each in expected] == [
        (0.07, 0.57, 9),
        (0.9, 0.9, 8),
        None,  # seven windows are so old
    ]
    shown = by_age(curve, ZoneInfo("UTC"))
    assert list(zip(*shown.values(), strict=True)) == [
        ("1", "48 %", "7 % to 57 %", "7 %, 2026-07-20 to 2026-07-27"),
        ("3", "90 %", "90 % to 90 %", "90 %, 2026-07-13 to 2026-07-20"),
        ("9", "–", "–", "90 %, 2026-07-06 to 2026-07-13"),
    ]
    assert arrival(None).by_age(ages) == []


def test_few_labels_are_no_stop():
    reference = frozen(*[(30, 60, 10)] * 8)  # 90 %
    shown = {
        rows: arrival(reference).is_short("labels", counted(30, rows, 0, age=2 * DAY)) for rows in (0, 22, 23)
    }
    assert shown == {0: None, 22: None, 23: True}


def test_the_newest_window_decides_and_the_first_short_one_says_since_when():
    known = arrival(frozen(*[(10, 80, 10)] * 8))
    seen = [counted(30, 100), counted(31, 49), counted(32, 0)]
    found = stop("credit", "rows", seen, known)
    assert isinstance(found, Stop)
    assert (found.start, found.window, found.rows) == (window(31).start, window(32), 0)
    assert (found.lowest, found.n_windows) == (100, 8)
    assert Stop.from_dict(found.to_dict()) == found
    enough = counted(33, 50)
    assert stop("credit", "rows", [*seen, enough], known) is enough
    assert stop("credit", "rows", [], known) is None


def test_a_share_of_labels_that_nobody_counted_at_an_age_is_not_drawn():
    """The windows were first counted after months, when all labels were there: that shows no earlier age."""
    reference = frozen(*[(30, 70, 0)] * 8)
    late = [counted(number, 100, 100, age=100 * DAY) for number in range(20, 28)]
    curve = arrival(reference, *late).by_age([DAY, 2 * DAY, 8 * DAY, 100 * DAY])
    assert [point.age for point in curve] == [100 * DAY]
    # An alarm still holds windows to what `label_delay` promises.
    assert arrival(reference, *late).labels(window(30), 2 * DAY).lowest == 1
