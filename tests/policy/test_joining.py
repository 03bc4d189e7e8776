"""Windows that are joined from pieces: what they hold, where they end, and that no row is left out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.errors import InputError
from rocmonitor.policy.joining import Counted, Joining, free, join, with_rest
from rocmonitor.policy.windows import Calendar, Months, Window

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)

counts = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3)), max_size=40)
joinings = st.one_of(
    st.builds(Joining, rows=st.integers(1, 60)),
    st.builds(Joining, min_per_class=st.integers(1, 20), most=st.integers(2, 5)),
)


def days(start: int, end: int) -> Window:
    return Window(FIRST + start * DAY, FIRST + end * DAY)


def counted(number: int, n_pos: int, n_neg: int, unlabelled: int) -> Counted:
    return Counted(window=days(number, number + 1), rows=n_pos + n_neg + unlabelled, n_pos=n_pos, n_neg=n_neg)


def enough(joining: Joining, found: list[tuple[int, int, int]]) -> bool:
    """The rule, from its words."""
    if joining.rows is not None:
        return sum(map(sum, found)) >= joining.rows
    classes = min(sum(each[0] for each in found), sum(each[1] for each in found))
    return classes >= joining.min_per_class or len(found) == joining.most


@given(counts, joinings)
def test_a_window_is_the_shortest_that_is_enough_and_starts_where_the_last_ended(found, joining):
    closed, rest = join([counted(number, *each) for number, each in enumerate(found)], joining)
    start = 0
    for each in closed:
        assert each.window.start == FIRST + start * DAY
        end = start + each.pieces
        assert each.window.end == FIRST + end * DAY
        assert enough(joining, found[start:end])
        assert not any(enough(joining, found[start:stop]) for stop in range(start + 1, end))
        assert (each.rows, each.n_pos) == (
            sum(map(sum, found[start:end])),
            sum(e[0] for e in found[start:end]),
        )
        start = end
    assert not any(enough(joining, found[start:stop]) for stop in range(start + 1, len(found) + 1))
    assert (rest is None) is (start == len(found))
    if rest is not None:
        assert (rest.window, rest.pieces) == (days(start, len(found)), len(found) - start)


@given(counts, joinings)
def test_one_piece_after_the_other_gives_the_windows_of_all_together(found, joining):
    """What is judged is fixed, and the next tick cuts what comes after it."""
    pieces = [counted(number, *each) for number, each in enumerate(found)]
    fixed: list[Window] = []
    for until in range(1, len(pieces) + 1):
        open_ = set(free([each.window for each in pieces[:until]], fixed))
        closed, _ = join([each for each in pieces[:until] if each.window in open_], joining)
        fixed += [each.window for each in closed]
    assert fixed == [each.window for each in join(pieces, joining)[0]]


cuts = st.lists(st.integers(0, 30), min_size=2, max_size=12, unique=True).map(sorted)


@given(counts, joinings, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=6))
def test_each_row_is_in_one_window_or_waits_beside_what_is_fixed(found, joining, fixed):
    """Fixed windows at any place, overlapping or not."""
    taken = [days(start, start + length) for start, length in fixed]
    pieces = {days(number, number + 1): counted(number, *each) for number, each in enumerate(found)}
    covered = {number for start, length in fixed for number in range(start, start + length)}
    open_ = free(list(pieces), taken)
    assert open_ == [days(number, number + 1) for number in range(len(found)) if number not in covered]
    closed, rest = join([pieces[each] for each in open_], joining)
    windows = [each.window for each in [*closed, *([rest] if rest else [])]]
    inside = [
        number for each in windows for number in range((each.start - FIRST).days, (each.end - FIRST).days)
    ]
    assert inside == [number for number in range(len(found)) if number not in covered]
    if joining.most is not None:
        assert all(each.pieces <= joining.most for each in closed)
    for each in closed:  # what is not enough lies beside something fixed
        parts = [
            found[number]
            for number in range((each.window.start - FIRST).days, (each.window.end - FIRST).days)
        ]
        assert enough(joining, parts) or (each.window.end - FIRST).days in covered


@given(cuts, cuts)
def test_what_is_free_equals_its_definition_by_the_day(pieces, fixed):
    windows = [days(*each) for each in pairwise(pieces)]
    taken = [days(*each) for each in list(pairwise(fixed))[::2]]
    left = free(windows, taken)
    for day in range(30):
        moment = FIRST + day * DAY

        def among(those, moment=moment):
            return sum(each.start <= moment < each.end for each in those)

        assert among(left) == (among(windows) and not among(taken))
    assert left == sorted(left)
    assert all(any(one.start <= each.start and each.end <= one.end for one in windows) for each in left)


def test_a_piece_that_holds_more_than_a_window_needs_is_one_window():
    closed, rest = join([counted(0, 900, 9000, 0), counted(1, 1, 1, 0)], Joining(rows=5000))
    assert [each.window for each in closed] == [days(0, 1)]
    assert rest is not None
    assert rest.rows == 2


def test_what_is_left_of_a_period_belongs_to_the_window_before():
    pieces = [counted(number, 5, 5, 0) for number in range(5)]
    closed, rest = join(pieces, Joining(rows=20))
    assert [each.window for each in with_rest(closed, rest, Joining(rows=20))] == [days(0, 2), days(2, 5)]
    pool = Joining(min_per_class=10, most=2)
    closed, rest = join(pieces, pool)  # the one before is as long as it may be
    assert [each.window for each in with_rest(closed, rest, pool)] == [days(0, 2), days(2, 4), days(4, 5)]
    assert with_rest([], rest, pool) == [rest]


@pytest.mark.parametrize(("every", "ends"), [(DAY, [28, 29, 30]), (Months(1), [1, 1, 1])])
def test_pieces_are_those_of_the_calendar_across_a_clock_change_and_the_ends_of_months(every, ends):
    zone = ZoneInfo("Europe/Berlin")
    calendar = Calendar(every=every, zone=zone)
    start = datetime(2026, 3, 27 if every == DAY else 1, tzinfo=zone)
    pieces = calendar.within(start.astimezone(UTC), start.astimezone(UTC) + 100 * DAY)[: 2 * len(ends)]
    closed, rest = join(
        [Counted(window=each, rows=10, n_pos=5, n_neg=5) for each in pieces[: len(ends)]], Joining(rows=10)
    )
    assert rest is None
    assert [each.window.end.astimezone(zone).day for each in closed] == ends
    assert {each.window.end.astimezone(zone).hour for each in closed} == {0}


@pytest.mark.parametrize("wrong", [{}, {"rows": 5, "most": 3}])
def test_something_must_end_a_window(wrong):
    with pytest.raises(InputError, match="ends by rows or by most"):
        Joining(**wrong)


def test_a_thousand_pieces_between_a_thousand_fixed_windows_take_no_time():
    """Each is looked at a few times, not a thousand times."""
    windows = [days(number, number + 1) for number in range(20_000)]
    left = free(windows, windows[::2])
    closed, _ = join([Counted(window=each, rows=1, n_pos=0, n_neg=0) for each in left], Joining(rows=1))
    assert [each.window for each in closed] == windows[1::2]
