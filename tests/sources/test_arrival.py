"""When labels became known, on real databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scored import WEEK, monitor, opened, put, same
from sqlalchemy import Column, DateTime, Double, Integer, MetaData, String, Table

from rocmonitor.errors import ConfigError
from rocmonitor.sources.batch import Batch, Rows
from rocmonitor.sources.frame import read_frame

DAY = timedelta(days=1)
NOON = WEEK.start + DAY / 2
COLUMNS = {
    "id": "loan_id",
    "time": "scored_at",
    "champion": "p1",
    "challenger": "p2",
    "label": "defaulted",
    "labelled_at": "known_at",
}
# id, time, champion, challenger, label, known
ROWS: list[tuple[Any, ...]] = [
    (1, NOON, 0.1, 0.2, 0, WEEK.end),
    (2, NOON, 0.2, 0.2, 1, WEEK.end + DAY),
    (3, NOON, 0.2, None, 1, WEEK.end + 2 * DAY),  # at the instant of judging: known
    (4, NOON, 0.3, 0.1, 0, WEEK.end + 2 * DAY + timedelta(seconds=1)),
    (5, NOON, 0.3, 0.4, 1, WEEK.end + 9 * DAY),
    (6, NOON, 0.4, 0.4, None, None),
    (7, NOON, 0.5, 0.4, None, WEEK.end),  # an instant without a label
    (8, NOON, 0.6, 0.4, 1, None),  # a label without an instant
    (9, NOON, 0.7, 0.4, 0, WEEK.start),  # known before the row was there
]
AS_OF = WEEK.end + 2 * DAY


def fill_known(url: str, rows: list[tuple[Any, ...]] = ROWS, **types: Any) -> None:
    kinds: dict[str, Any] = {
        "loan_id": Integer,
        "scored_at": DateTime(timezone=True),
        "p1": Double,
        "p2": Double,
        "defaulted": Integer,
        "known_at": DateTime(timezone=True),
        "region": String(20),
    } | types
    table = Table("scored", MetaData(), *(Column(name, kind) for name, kind in kinds.items()))
    put(url, table, ((*row, "n") for row in rows))


def pulled(
    url: str,
    as_of: datetime | None = AS_OF,
    ages: tuple[timedelta, ...] = (),
    spec: Any = None,
    **changes: Any,
) -> Batch:
    """The batch, the same in rows and in groups."""
    changes = {"columns": COLUMNS} | changes
    with opened(url, **(spec or {})) as source:
        raw, grouped = (
            source.pull(monitor(grouped=mode, **changes), WEEK, as_of=as_of, ages=ages)
            for mode in ("raw", "database")
        )
    same(raw, grouped)
    return raw


def labelled(rows: Rows) -> list[tuple[float, int, int]]:
    sample = rows.champion
    return list(zip(sample.score.tolist(), sample.pos.tolist(), sample.neg.tolist(), strict=True))


def test_labels_known_later_count_as_missing(any_database_url: str) -> None:
    fill_known(any_database_url)
    rows = pulled(any_database_url).segments[""]
    assert labelled(rows) == [(0.1, 0, 1), (0.2, 2, 0), (0.6, 1, 0), (0.7, 0, 1)]
    assert [each.tolist() for each in rows.unlabelled] == [[0.3, 0.4, 0.5], [2, 1, 1]]
    assert rows.counts.unlabelled == 4
    found = {caveat.code: caveat.values for caveat in rows.caveats}
    assert {code: values["count"] for code, values in found.items()} == {
        "labels-without-instant": 1,
        "labelled-before-scored": 1,
        "instants-without-label": 1,
        "labelled-later": 2,
    }
    assert all(values["rows"] == 9 and values["column"] == "known_at" for values in found.values())


def test_without_an_instant_of_judging_all_labels_count(any_database_url: str) -> None:
    fill_known(any_database_url)
    rows = pulled(any_database_url, None).segments[""]
    assert (rows.counts.used, rows.counts.unlabelled, rows.caveats) == (7, 2, ())


def test_labelled_rows_by_age(any_database_url: str) -> None:
    fill_known(any_database_url)
    ages = (0 * DAY, DAY, 5 * DAY)
    rows = pulled(any_database_url, WEEK.end + 30 * DAY, ages).segments[""]
    by_age = [
        dict(
            zip(
                sample.score.tolist(), zip(sample.pos.tolist(), sample.neg.tolist(), strict=True), strict=True
            )
        )
        for sample in rows.by_age
    ]
    assert by_age == [
        {0.1: (0, 1), 0.6: (1, 0), 0.7: (0, 1)},  # at the end of the window, or not known when
        {0.2: (1, 0)},
        {0.2: (1, 0), 0.3: (0, 1)},
        {0.3: (1, 0)},  # until the instant of judging
    ]
    early = pulled(any_database_url, WEEK.end + DAY, ages).segments[""]
    assert [sample.n_pos + sample.n_neg for sample in early.by_age] == [3, 1]


def test_counts_of_labels_at_an_instant(any_database_url: str) -> None:
    fill_known(any_database_url)
    watched = monitor(columns=COLUMNS)
    with opened(any_database_url) as source:
        then = source.label_counts(watched, WEEK, as_of=AS_OF)
        ever = source.label_counts(watched, WEEK)
    assert (then.rows, then.labelled, then.by_label) == (9, 5, {"0": 2, "1": 3})
    assert (ever.rows, ever.labelled, ever.by_label) == (9, 7, {"0": 3, "1": 4})


@pytest.mark.parametrize("as_of", [AS_OF, None])
@pytest.mark.parametrize("ages", [(), (timedelta(0), DAY)])
@pytest.mark.parametrize("grouped", ["raw", "auto", "database", "condensed"])
def test_labels_are_counted_with_the_rows_as_by_themselves(any_database_url, as_of, ages, grouped):
    fill_known(any_database_url)
    columns = {role: name for role, name in COLUMNS.items() if role not in ("id", "challenger")}
    watched = monitor(columns=columns, segments=["region"], grouped=grouped, condense={"per_unit": 1})
    with opened(any_database_url) as source:
        alone = source.label_counts(watched, WEEK, as_of=as_of)
        batch = source.pull(watched, WEEK, as_of=as_of, ages=ages, count_labels=True)
    assert batch.labels is not None
    assert (batch.labels, batch.labels.digest) == (alone, alone.digest)


def test_a_window_of_cells_in_sqlite_is_counted_by_its_rows(sqlite_url):
    """Not by its lines, each of which would count as a row."""
    fill_known(sqlite_url)
    columns = {role: name for role, name in COLUMNS.items() if role not in ("id", "challenger")}
    with opened(sqlite_url, max_rows=8) as source:
        watched = monitor(columns=columns, grouped="auto", condense={"per_unit": 1})
        batch = source.pull(watched, WEEK, count_labels=True)
        assert batch.labels == source.label_counts(watched, WEEK)
    assert batch.condensed


def test_rows_that_were_cut_off_are_counted_all_the_same(sqlite_url):
    fill_known(sqlite_url)
    with opened(sqlite_url, max_rows=8) as source:
        batch = source.pull(monitor(grouped="raw"), WEEK, count_labels=True)
    assert batch.segments[""].counts.truncated
    assert batch.labels is not None
    assert batch.labels.rows == 9


def test_the_digest_follows_the_labels_known(sqlite_url: str) -> None:
    fill_known(sqlite_url)
    digests = [pulled(sqlite_url, WEEK.end + days * DAY).digest for days in (2, 3, 3.5, 10)]
    assert digests[0] != digests[1] == digests[2] != digests[3]


def test_the_rows_of_then_can_be_read_one_by_one(any_database_url: str) -> None:
    fill_known(any_database_url)
    watched = monitor(columns=COLUMNS)
    with opened(any_database_url) as source:
        then = read_frame(source, watched, WEEK, as_of=AS_OF)
        ever = read_frame(source, watched, WEEK)
    assert then.rows["p1"].tolist() == [0.1, 0.2, 0.2, 0.6, 0.7]
    assert len(ever.rows) == 7
    assert then.digest == pulled(any_database_url).digest


def test_a_query_can_ask_for_the_instant_of_judging(any_database_url: str) -> None:
    fill_known(any_database_url)
    query = (
        "SELECT loan_id, scored_at, p1, p2, region, "
        "CASE WHEN known_at <= :as_of THEN defaulted END AS defaulted "
        "FROM scored WHERE scored_at >= :start AND scored_at < :end"
    )
    columns = {role: name for role, name in COLUMNS.items() if role != "labelled_at"}
    then, later = (
        pulled(any_database_url, as_of, query=query, columns=columns).segments[""]
        for as_of in (WEEK.end + DAY, WEEK.end + 10 * DAY)
    )
    assert (then.counts.used, later.counts.used) == (3, 6)
    assert then.caveats == later.caveats == ()
    with opened(any_database_url) as source:
        watched = monitor(query=query, columns=columns)
        assert source.label_counts(watched, WEEK, as_of=WEEK.end + DAY).labelled == 3
        assert source.label_counts(watched, WEEK).labelled == 6  # no instant: all that is known


def test_a_window_without_rows_can_ask_for_the_instant_of_judging(any_database_url: str) -> None:
    fill_known(any_database_url)
    columns = {role: name for role, name in COLUMNS.items() if role != "labelled_at"}
    query = (
        "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end AND known_at <= :as_of "
        "AND region = 'nowhere'"
    )
    assert pulled(any_database_url, query=query, columns=columns).segments[""].counts.rows == 0


def test_wall_times_and_instants_side_by_side(postgres_url: str) -> None:
    """The row's time is an instant; labels are stored as wall times of the zone that the source declares."""
    rows = [
        (1, NOON, 0.1, 0.1, 0, datetime(2026, 3, 9, 3, 0)),  # noqa: DTZ001
        (2, NOON, 0.2, 0.2, 1, datetime(2026, 3, 9, 4, 0)),  # noqa: DTZ001
    ]
    fill_known(postgres_url, rows, known_at=DateTime(timezone=False))
    as_of = datetime(2026, 3, 9, 2, 30, tzinfo=UTC)  # 03:30 in Berlin
    found = pulled(postgres_url, as_of, spec={"timezone": "Europe/Berlin"}).segments[""]
    assert (found.counts.used, found.counts.unlabelled) == (1, 1)
    with pytest.raises(ConfigError, match=r"sources.warehouse.timezone: needed.*columns.labelled_at"):
        pulled(postgres_url, as_of, spec={"timezone": None})


def test_a_column_that_the_query_lacks(any_database_url: str) -> None:
    fill_known(any_database_url)
    with pytest.raises(ConfigError, match=r"columns.labelled_at: the query gives no column 'seen_at'"):
        pulled(any_database_url, columns=COLUMNS | {"labelled_at": "seen_at"})


def test_a_column_that_holds_no_times(postgres_url: str, sqlite_url: str) -> None:
    for url in (postgres_url, sqlite_url):
        fill_known(url)
        with pytest.raises(ConfigError, match=r"columns.labelled_at: p1"):
            pulled(url, columns=COLUMNS | {"labelled_at": "p1"})


@pytest.mark.parametrize("known", [WEEK.end, None])
def test_all_labelled_and_none(any_database_url: str, known: datetime | None) -> None:
    label = None if known is None else 1
    fill_known(any_database_url, [(n, NOON, 0.1 * n, 0.1, label, known) for n in range(1, 6)])
    rows = pulled(any_database_url).segments[""]
    assert (rows.counts.used, rows.counts.unlabelled) == ((5, 0) if known else (0, 5))
    assert rows.caveats == ()


@pytest.mark.parametrize("as_of", [AS_OF, None])
def test_of_two_labels_of_an_id_the_later_counts(any_database_url: str, as_of: datetime | None) -> None:
    """As a join with a label history gives them; without the instant neither counts."""
    history = [
        (number, NOON, 0.1 * number, 0.5, label, WEEK.end + (hour if label else hour * number) * DAY / 24)
        for number in range(1, 5)
        for label, hour in ((1, 2), (0, 1))
    ]
    for rows in (history, history[::-1]):
        fill_known(any_database_url, rows)
        found = pulled(any_database_url, as_of).segments[""]
        # 1: the positive label came an hour later; 2: at once; 3 and 4: the negative one.
        assert labelled(found) == [(0.1, 1, 0), (0.1 * 3, 0, 1), (0.4, 0, 1)]
        assert (found.counts.duplicates, found.counts.two_labels) == (4, 1)
        columns = {role: name for role, name in COLUMNS.items() if role != "labelled_at"}
        counts = pulled(any_database_url, as_of, columns=columns).segments[""].counts
        assert (counts.used, counts.duplicates, counts.two_labels) == (0, 4, 4)
