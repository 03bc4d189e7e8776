from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scored import (
    LOOSE,
    MESSY,
    MODES,
    NOON,
    WEEK,
    Row,
    both,
    cells,
    fill,
    monitor,
    opened,
    pull,
    same,
    writing,
)
from sqlalchemy import BigInteger, Boolean, DateTime, Double, Integer, Numeric, String, make_url, text

from rocmonitor.caveat import Caveat
from rocmonitor.errors import ConfigError, SourceError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.windows import Window
from rocmonitor.sources import LabelCounts
from rocmonitor.sources.arrow import chunk_of
from rocmonitor.sources.batch import to_batch
from rocmonitor.sources.copying import can_copy, copied
from rocmonitor.sources.database import column_parts, to_chunk
from rocmonitor.sources.preparing import prepared
from rocmonitor.sources.values import Encoder
from rocmonitor.stats import auc, compare_auc_paired
from rocmonitor.wording.caveats import words_of


def test_every_row_is_accounted_for(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    batch = both(any_database_url, query=LOOSE)
    assert batch.segments[""].counts == Counts(
        rows=14,
        n_pos=5,
        n_neg=2,
        unlabelled=1,
        bad_score=2,
        bad_label=1,
        duplicates=1,
        outside=2,
        no_challenger=1,
    )
    assert batch.segments["region=south"].counts == Counts(
        rows=4, n_pos=2, bad_label=1, duplicates=1, no_challenger=1
    )
    assert list(batch.segments) == ["", "region=(none)", "region=north", "region=south"]
    found = {name: rows.challenger_only for name, rows in batch.segments.items()}
    assert found == {"": 1, "region=(none)": 0, "region=north": 1, "region=south": 0}
    champion = batch.segments[""].champion
    assert champion.score.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert champion.pos.tolist() == [0, 2, 1, 2]
    assert champion.neg.tolist() == [1, 1, 0, 0]
    assert cells(batch.segments[""].pair) == [
        (0.0, 0.0, 0, 1),
        (0.25, 0.5, 1, 1),
        (0.25, 0.75, 1, 0),
        (0.75, 0.25, 2, 0),
    ]


def test_the_databases_agree(sqlite_url: str, postgres_url: str, mariadb_url: str, files_url: str) -> None:
    batches = []
    for url in (sqlite_url, postgres_url, mariadb_url, files_url):
        fill(url, MESSY)
        batches.append(both(url, query=LOOSE))
    same(batches[0], batches[1])
    same(batches[0], batches[2])
    same(batches[0], batches[3])


def test_the_query_bounds_the_rows(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    counts = both(any_database_url).segments[""].counts
    assert (counts.rows, counts.outside) == (12, 0)


def test_the_digest_ignores_order_and_sees_content(sqlite_url: str) -> None:
    fill(sqlite_url, MESSY)
    before = both(sqlite_url).digest
    fill(sqlite_url, reversed(MESSY))
    assert both(sqlite_url).digest == before
    fill(sqlite_url, [*MESSY[1:], (1, NOON, 0.25, 0.5, 1, "north")])
    assert both(sqlite_url).digest != before


def test_an_empty_window(any_database_url: str) -> None:
    fill(any_database_url, [(1, WEEK.end, 0.5, 0.5, 1, "north")])
    batch = both(any_database_url)
    assert list(batch.segments) == [""]
    assert batch.segments[""].counts == Counts()
    assert len(batch.segments[""].champion.score) == 0


LATE, EARLY = NOON, NOON - timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("kept", "aside"),
    [
        ((LATE, 0.1, 0.1, None, "a"), (EARLY, 0.9, 0.9, 1, "a")),
        ((NOON, 0.1, 0.1, 0, "a"), (NOON, 0.9, 0.9, None, "a")),
        ((NOON, 0.1, 0.1, 0, "a"), (NOON, 0.9, 0.9, 7, "a")),
        ((NOON, 0.2, 0.1, 1, "a"), (NOON, 0.1, 0.9, 1, "a")),
        ((NOON, -5.0, 0.1, 1, "a"), (NOON, None, 0.9, 1, "a")),
        ((NOON, 0.2, 0.2, 1, "a"), (NOON, 0.2, 0.1, 1, "a")),
        ((NOON, 0.2, 0.2, 1, "a"), (NOON, 0.2, None, 1, "a")),
        ((NOON, 0.2, 0.2, 1, "b"), (NOON, 0.2, 0.2, 1, "a")),
    ],
)
def test_which_of_two_rows_is_kept(postgres_url: str, kept: Row, aside: Row) -> None:
    fill(postgres_url, [(1, *kept)])
    alone = pull(postgres_url, monitor())
    for order in ((kept, aside, aside), (aside, kept, aside)):
        fill(postgres_url, [(1, *row) for row in order])
        batch = both(postgres_url)
        assert batch.segments[""].counts.duplicates == 2
        np.testing.assert_array_equal(batch.segments[""].champion.score, alone.segments[""].champion.score)
        assert cells(batch.segments[""].pair) == cells(alone.segments[""].pair)
        assert batch.segments[f"region={kept[-1]}"].counts.unlabelled == (kept[3] is None)


@pytest.mark.parametrize("kind", [String(40), Numeric(20, 0), BigInteger])
def test_ids_of_any_type(any_database_url: str, kind: Any) -> None:
    ids: list[Any] = ["10", "2", "10", None, None]
    if not isinstance(kind, String):
        ids = [None if value is None else int(value) for value in ids]
    fill(any_database_url, [(value, NOON, 0.5, 0.5, 1, "a") for value in ids], loan_id=kind)
    counts = both(any_database_url).segments[""].counts
    assert (counts.rows, counts.duplicates, counts.n_pos) == (5, 1, 4)


def test_texts_are_equal_only_when_each_character_is(any_database_url: str) -> None:
    ids = ["x", "X", "x"]
    rows = [(value, NOON, 0.5, 0.5, "bad", region) for value, region in zip(ids, "aAa", strict=True)]
    rows += [("y", NOON, 0.5, 0.5, "BAD", "a "), ("z", NOON, 0.5, 0.5, "good", "á")]
    fill(any_database_url, rows, loan_id=String(10), defaulted=String(10))
    batch = both(any_database_url, positive={"label": "bad", "negative": "good"})
    assert list(batch.segments) == ["", "region=A", "region=a", "region=a ", "region=á"]
    counts = batch.segments[""].counts
    assert (counts.n_pos, counts.n_neg, counts.duplicates, counts.bad_label) == (2, 1, 1, 1)


@pytest.mark.parametrize("kind", [Boolean, Integer, Double, Numeric(3, 1)])
def test_labels_are_compared_by_value(any_database_url: str, kind: Any) -> None:
    values = [True, False, None] if kind is Boolean else [1, 0, None]
    fill(any_database_url, [(n, NOON, 0.5, 0.5, v, "a") for n, v in enumerate(values)], defaulted=kind)
    for positive in (1, True, 1.0):
        counts = pull(any_database_url, monitor(positive={"label": positive})).segments[""].counts
        assert (counts.n_pos, counts.n_neg, counts.unlabelled) == (1, 1, 1)
    both(any_database_url)


def test_labels_1_and_2_are_told(any_database_url: str) -> None:
    fill(any_database_url, [(n, NOON, 0.5, 0.5, label, "a") for n, label in enumerate([1, 2, 2, 1])])
    rows = both(any_database_url).segments[""]
    assert (rows.counts.n_pos, rows.counts.bad_label) == (2, 2)
    [caveat] = rows.caveats
    assert caveat == Caveat(
        "rows-with-bad-labels", count=2, positive=1, negative=0, examples=["2"], monitor="credit", rows=4
    )
    assert "neither 1 nor 0 (found: 2); set monitors.credit.positive.label" in words_of(caveat)
    mended = both(any_database_url, positive={"label": 2, "negative": 1}).segments[""]
    assert (mended.counts.n_pos, mended.counts.n_neg, mended.caveats) == (2, 2, ())


def test_at_most_three_bad_labels_are_shown(any_database_url: str) -> None:
    rows = [
        (n, NOON, 0.5, 0.5, label, "a")
        for n, label in enumerate(["yes", "1", "no", "maybe", "?", "7x", "n/a"])
    ]
    fill(any_database_url, rows, defaulted=String(10))
    rows_ = both(any_database_url).segments[""]
    assert (rows_.counts.n_pos, rows_.counts.n_neg, rows_.counts.bad_label) == (2, 1, 4)
    assert rows_.caveats[0].values["examples"] == ["'7x'", "'?'", "'maybe'"]


def test_scores_as_text_are_told(any_database_url: str) -> None:
    fill(any_database_url, [(n, NOON, s, 0.5, 1, "a") for n, s in enumerate(["0.5", "high"])], p1=String(9))
    rows = both(any_database_url).segments[""]
    assert (rows.counts.n_pos, rows.counts.bad_score) == (1, 1)
    [caveat] = rows.caveats
    assert (caveat.code, caveat.values["count"], caveat.values["examples"]) == ("text-scores", 1, ["'high'"])
    assert "monitors.credit.query" in words_of(caveat)


def test_decimal_scores(any_database_url: str) -> None:
    scores = [Decimal("0.100"), Decimal("0.12345678901234567"), None]
    fill(any_database_url, [(n, NOON, s, 0.5, 1, "a") for n, s in enumerate(scores)], p1=Numeric(20, 17))
    rows = both(any_database_url).segments[""]
    assert rows.champion.score.tolist() == [0.1, 0.12345678901234567]
    assert rows.counts.bad_score == 1


def test_scores_without_a_number_in_postgres(postgres_url: str) -> None:
    scores = [float("nan"), float("inf"), float("-inf"), 0.5, 0.75]
    fill(postgres_url, [(n, NOON, s, scores[-n - 1], 1, "a") for n, s in enumerate(scores)])
    counts = both(postgres_url).segments[""].counts
    assert (counts.bad_score, counts.n_pos, counts.no_challenger) == (1, 4, 1)
    refused = both(postgres_url, infinite_scores="refuse").segments[""].counts
    assert (refused.bad_score, refused.n_pos, refused.no_challenger) == (3, 2, 2)


def test_single_precision_keeps_its_digits(postgres_url: str, mariadb_url: str) -> None:
    near = [float(np.float32(0.1)), float(np.nextafter(np.float32(0.1), np.float32(1)))]
    for url, kind in ((postgres_url, "real"), (mariadb_url, "float")):
        fill(url, [(n, NOON, s, 0.5, 1, "a") for n, s in enumerate(near)])
        with writing(url) as connection:
            change = "ALTER p1 TYPE real" if kind == "real" else "MODIFY p1 float"
            connection.execute(text(f"ALTER TABLE scored {change}"))
        assert both(url).segments[""].champion.score.tolist() == near


def test_a_lower_score_can_be_the_more_positive(any_database_url: str) -> None:
    fill(any_database_url, [(1, NOON, 300.0, 1.0, 1, "a"), (2, NOON, 700.0, 2.0, 0, "a")])
    rows = both(any_database_url, positive={"scores": "lower"}).segments[""]
    assert rows.champion.score.tolist() == [-700.0, -300.0]
    assert rows.champion.pos.tolist() == [0, 1]
    assert cells(rows.pair) == [(-700.0, -2.0, 0, 1), (-300.0, -1.0, 1, 0)]


def test_without_challenger_id_and_segments(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    columns = {"time": "scored_at", "champion": "p1", "label": "defaulted"}
    for mode in MODES:
        batch = pull(any_database_url, monitor(grouped=mode, columns=columns, segments=[], query=LOOSE))
        assert list(batch.segments) == [""]
        assert batch.segments[""].pair is None
        counts = batch.segments[""].counts
        assert (counts.rows, counts.duplicates, counts.outside, counts.used) == (14, 0, 2, 8)


@pytest.mark.parametrize("column", ["region", "customer"])
def test_rows_and_groups_have_the_same_clusters(any_database_url: str, column: str) -> None:
    """By texts and by whole numbers; each row without one is a cluster of its own."""
    rng = np.random.default_rng(5)
    customer = rng.integers(-3, 9, 120).tolist()
    rows = [
        (
            None if n % 3 else n,
            NOON,
            float(rng.integers(0, 4)),
            float(rng.integers(0, 4)),
            n % 2,
            None if customer[n] == 8 else f"c{customer[n]}",
            None if customer[n] == 8 else customer[n],
        )
        for n in range(120)
    ]
    fill(any_database_url, rows, customer=BigInteger)
    columns = monitor().columns.model_dump(exclude_none=True) | {"cluster": column}
    found = both(any_database_url, columns=columns, segments=[]).segments[""]
    alone = sum(each == 8 for each in customer)
    ids = [each if each != 8 else 100 + n for n, each in enumerate(customer)]
    y, challenger, champion = ([row[at] for row in rows] for at in (4, 3, 2))
    expected = compare_auc_paired(y, challenger, champion, cluster=ids)
    for mode in MODES:
        watched = monitor(columns=columns, segments=[], grouped=mode)
        pair = pull(any_database_url, watched).segments[""].pair
        assert compare_auc_paired(pair).se == pytest.approx(expected.se, rel=1e-12)
        assert compare_auc_paired(pair).clusters == expected.clusters
    assert auc(found.champion).se == pytest.approx(auc(y, champion, cluster=ids).se, rel=1e-12)
    assert found.caveats == (Caveat("clusters-missing", count=alone, rows=120, column=column),)


def test_segments_of_any_type(any_database_url: str) -> None:
    rows = [(n, NOON, 0.5, 0.5, 1, v) for n, v in enumerate([True, False, None])]
    fill(any_database_url, rows, region=Boolean)
    assert list(both(any_database_url).segments) == ["", "region=(none)", "region=0", "region=1"]
    rows = [(n, NOON, 0.5, 0.5, 1, v) for n, v in enumerate([1.0, 0.5])]
    fill(any_database_url, rows, region=Double)
    assert list(both(any_database_url).segments) == ["", "region=0.5", "region=1"]


@pytest.mark.parametrize("mode", MODES)
def test_too_many_segments(any_database_url: str, mode: str) -> None:
    fill(any_database_url, [(n, NOON, 0.5, 0.5, 1, f"r{n % 200}") for n in range(400)])
    assert len(pull(any_database_url, monitor(grouped=mode)).segments) == 201
    fill(any_database_url, [(n, NOON, 0.5, 0.5, 1, f"r{n}") for n in range(201)])
    with pytest.raises(ConfigError, match=r"monitors\.credit\.segments: region has more than 200 values"):
        pull(any_database_url, monitor(grouped=mode))


def test_at_most_max_rows_are_read(any_database_url: str) -> None:
    fill(any_database_url, [(n, NOON, n / 8, 0.5, 1, "a") for n in range(10)])
    whole = pull(any_database_url, monitor(grouped="raw"), max_rows=10)
    assert not whole.segments[""].counts.truncated
    part = pull(any_database_url, monitor(grouped="raw"), max_rows=9)
    for name in ("", "region=a"):
        assert (part.segments[name].counts.rows, part.segments[name].counts.truncated) == (9, True)
    assert part.segments[""].caveats == (
        Caveat("rows-truncated", source="warehouse", monitor="credit", rows=9),
    )
    assert "sources.warehouse.max_rows" in words_of(part.segments[""].caveats[0])


def test_auto_groups_when_there_are_too_many_rows(any_database_url: str) -> None:
    fill(any_database_url, [(n, NOON, n % 2, 0.5, 1, "a") for n in range(10)])
    of_spark = any_database_url.startswith("spark")  # whose rows stay where they are
    assert pull(any_database_url, monitor(), max_rows=10).grouped is of_spark
    batch = pull(any_database_url, monitor(), max_rows=9)
    assert batch.grouped
    assert batch.segments[""].counts == Counts(rows=10, n_pos=10)
    assert batch.segments[""].champion.pos.tolist() == [5, 5]


def test_progress_counts_rows(any_database_url: str) -> None:
    fill(any_database_url, [(n, NOON, 0.5, 0.5, 1, "a") for n in range(10)])
    for mode in MODES:
        seen: list[int] = []
        with opened(any_database_url) as source:
            source.pull(monitor(grouped=mode), WEEK, on_progress=seen.append)
        assert seen[-1] == 10


def test_copy_and_fetch_read_the_same(postgres_url: str) -> None:
    odd = [
        (20, NOON, 1e-300, 1e300, 1, 'quo"te,\n'),
        (21, NOON, float("nan"), 0.1, 0, ""),
        (22, NOON, 0.1 + 0.2, None, None, "NULL"),
        (22, EARLY, 5e-324, -1.5, 3, None),
    ]
    fill(postgres_url, MESSY + odd)
    with opened(postgres_url) as source, source._reading() as session:
        for watched in (monitor(query=LOOSE), monitor(query=LOOSE, segments=["defaulted", "region"])):
            query = prepared(session, watched, source._origin.spec, WEEK)
            assert can_copy(query)
            for statement in (query.rows(100), query.groups(100)):
                batches = []
                for copies in (True, False):
                    encoder = Encoder(watched)
                    parts = copied(session.connection, query, statement, 3)
                    chunks = (
                        [chunk_of(part.columns, encoder, part.values) for part in parts]
                        if copies
                        else [
                            to_chunk(columns, encoder, query)
                            for columns in column_parts(session.connection, query, statement, 3)
                        ]
                    )
                    batches.append(to_batch(chunks, encoder, watched, grouped=False, truncated=False))
                same(*batches)
    both(postgres_url, query=LOOSE, segments=["defaulted", "region"])


# A day of 25 hours.
CHANGE = Window(datetime(2024, 10, 26, 22, tzinfo=UTC), datetime(2024, 10, 27, 23, tzinfo=UTC))


def wall(*times: str) -> list[Row]:
    return [(n, datetime.fromisoformat(t), 0.5, 0.5, 1, "a") for n, t in enumerate(times)]


def hours(start: int, end: int) -> Window:
    day = datetime(2024, 10, 27, tzinfo=UTC)
    return Window(day + timedelta(hours=start), day + timedelta(hours=end))


def test_times_without_a_zone_need_one(any_database_url: str) -> None:
    fill(any_database_url, MESSY, scored_at=DateTime)
    with opened(any_database_url, timezone=None) as source:
        for call in (source.pull, source.label_counts):
            with pytest.raises(
                ConfigError, match=r"^sources\.warehouse\.timezone: needed, because scored_at"
            ):
                call(monitor(), WEEK)
        with pytest.raises(ConfigError, match=r"sources\.warehouse\.timezone: needed"):
            source.explain(monitor())


def test_instants_need_no_zone(postgres_url: str) -> None:
    fill(postgres_url, MESSY)
    assert pull(postgres_url, monitor(), timezone=None).segments[""].counts.rows == 12
    assert pull(postgres_url, monitor(), timezone="Europe/Berlin").segments[""].counts.rows == 12


def test_a_timestamp_of_mariadb_is_an_instant(mariadb_url: str) -> None:
    fill(mariadb_url, [(2, NOON, 0.5, 0.5, 0, "a")])
    with writing(mariadb_url) as connection:
        connection.execute(text("ALTER TABLE scored MODIFY scored_at timestamp NULL"))
        connection.execute(text("SET time_zone = '+05:00'"))
        connection.execute(text("INSERT INTO scored VALUES (1, '2026-01-05 05:00:00', 0.5, 0.5, 1, 'a')"))
    for zone in (None, "Europe/Berlin"):
        assert both(mariadb_url, spec={"timezone": zone}).segments[""].counts.used == 2


def test_a_window_across_a_clock_change(any_database_url: str) -> None:
    rows = wall(
        "2024-10-26 23:59:59",
        "2024-10-27 00:00",
        "2024-10-27 02:30",
        "2024-10-27 23:59:59",
        "2024-10-28 00:00",
    )
    fill(any_database_url, rows, scored_at=DateTime)
    batch = both(any_database_url, CHANGE, {"timezone": "Europe/Berlin"})
    assert batch.segments[""].counts == Counts(rows=3, n_pos=3)


def test_the_hour_that_comes_twice_is_counted_once(any_database_url: str) -> None:
    rows = wall(*(f"2024-10-27 {h:02}:{m:02}" for h in range(6) for m in (0, 30)))
    fill(any_database_url, rows, scored_at=DateTime)
    # Berlin's 00:00 is 22:00 UTC of the day before; 02:00 to 03:00 passes at 0 h and again at 1 h UTC.
    counted = [
        both(any_database_url, hours(h, h + 1), {"timezone": "Europe/Berlin"}).segments[""].counts
        for h in range(-2, 5)
    ]
    assert [counts.used for counts in counted] == [2, 2, 2, 0, 2, 2, 2]
    assert all(counts.outside == 0 for counts in counted)


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M:%S.%f",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M:%S+00:00",
        "%Y-%m-%d %H:%M",
    ],
)
@pytest.mark.parametrize("start", [WEEK.start, NOON])
def test_times_as_sqlite_holds_them(sqlite_url: str, form: str, start: datetime) -> None:
    window = Window(start, start + timedelta(days=1))
    minute = timedelta(minutes=1)
    times = [start - minute, start, start + minute, window.end - minute, window.end]
    rows = [(n, time.strftime(form), 0.5, 0.5, 1, "a") for n, time in enumerate(times)]
    fill(sqlite_url, rows, scored_at=String)
    assert both(sqlite_url, window).segments[""].counts == Counts(rows=3, n_pos=3)


def test_days_as_sqlite_holds_them(sqlite_url: str) -> None:
    rows = [(n, f"2026-01-{n:02}", 0.5, 0.5, 1, "a") for n in range(1, 20)]
    fill(sqlite_url, rows, scored_at=String)
    assert both(sqlite_url).segments[""].counts == Counts(rows=7, n_pos=7)


def test_pandas_writes_what_is_read(sqlite_url: str) -> None:
    frame = pd.DataFrame(
        {
            "loan_id": [1, 2],
            "scored_at": pd.DatetimeIndex([NOON, WEEK.end]),
            "p1": [0.5, 0.25],
            "p2": [0.5, 0.25],
            "defaulted": [1, 0],
            "region": ["a", "b"],
        }
    )
    with writing(sqlite_url) as connection:
        frame.to_sql("scored", connection, index=False)
    assert both(sqlite_url).segments[""].counts == Counts(rows=1, n_pos=1)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("07.01.2026 12:00", r"use substr\(scored_at, 7, 4\) .* \|\| substr\(scored_at, 11\) in the SELECT"),
        ("07/01/2026 12:00", "which reads the day first; exchange 4 and 1 for the month first"),
    ],
)
def test_times_that_do_not_start_with_the_year(sqlite_url: str, value: str, says: str) -> None:
    fill(sqlite_url, [(1, value, 0.5, 0.5, 1, "a")], scored_at=String)
    bounded = "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end"
    for query in (LOOSE, bounded):
        with pytest.raises(ConfigError, match=says):
            pull(sqlite_url, monitor(query=query))


def test_seconds_since_1970_are_seen_although_no_window_has_them(sqlite_url: str) -> None:
    fill(sqlite_url, [(1, 1767787200, 0.5, 0.5, 1, "a")], scored_at=Integer)
    query = "SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end"
    with pytest.raises(ConfigError, match=r"use datetime\(scored_at, 'unixepoch'\) in the SELECT"):
        pull(sqlite_url, monitor(query=query))


@pytest.mark.parametrize("value", ["2026-01-07 12:00:00+01:00", "2026-01-07 noon"])
def test_times_that_cannot_be_compared_as_text(sqlite_url: str, value: str) -> None:
    fill(sqlite_url, [(1, value, 0.5, 0.5, 1, "a")], scored_at=String)
    with pytest.raises(ConfigError, match=r"monitors\.credit\.columns\.time: scored_at holds .*use datetime"):
        pull(sqlite_url, monitor(query=LOOSE))


def test_seconds_since_1970_are_converted_in_the_query(sqlite_url: str) -> None:
    rows = [(1, int(NOON.timestamp()), 0.5, 0.5, 1, "a"), (2, int(WEEK.end.timestamp()), 0.5, 0.5, 1, "a")]
    fill(sqlite_url, rows, scored_at=Integer)
    query = (
        "SELECT loan_id, datetime(scored_at, 'unixepoch') AS scored_at, p1, p2, defaulted, region "
        "FROM scored WHERE datetime(scored_at, 'unixepoch') >= :start "
        "AND datetime(scored_at, 'unixepoch') < :end"
    )
    assert both(sqlite_url, query=query).segments[""].counts == Counts(rows=1, n_pos=1)


def test_a_stray_time_is_outside(sqlite_url: str) -> None:
    rows = [(1, "2026-01-07 12:00", 0.5, 0.5, 1, "a"), (2, "2026-01-07 late", 0.5, 0.5, 1, "a")]
    fill(sqlite_url, [*rows, (3, None, 0.5, 0.5, 1, "a")], scored_at=String)
    batch = both(sqlite_url, query=LOOSE)
    assert batch.segments[""].counts == Counts(rows=3, n_pos=1, outside=2)
    [caveat] = batch.segments[""].caveats
    assert caveat == Caveat("rows-outside", count=2, column="scored_at", monitor="credit", rows=3)
    assert "2 of 3 rows are set aside: the scored_at is outside the window" in words_of(caveat)


def test_a_time_that_is_none(postgres_url: str, mariadb_url: str) -> None:
    for url in (postgres_url, mariadb_url):
        fill(url, MESSY)
        columns = {"time": "region", "champion": "p1", "label": "defaulted"}
        with pytest.raises(ConfigError, match=r"columns\.time: region does not hold times"):
            pull(url, monitor(columns=columns))


def test_a_time_that_never_comes(postgres_url: str) -> None:
    fill(postgres_url, MESSY)
    with writing(postgres_url) as connection:
        connection.execute(text("UPDATE scored SET scored_at = 'infinity' WHERE loan_id = 1"))
    assert both(postgres_url).segments[""].counts.rows == 11
    with pytest.raises(SourceError, match=r"sources\.warehouse: a value cannot be read: .*infinity"):
        pull(postgres_url, monitor(query=LOOSE))


def test_explain_names_columns_and_types(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    with opened(any_database_url) as source:
        told = source.explain(monitor())
    assert list(told) == ["loan_id", "scored_at", "p1", "p2", "defaulted", "region"]
    expected = {"postgresql": ("timestamptz", "float8"), "mysql": ("datetime", "double"), "sqlite": ("", "")}
    expected["spark"] = ("timestamp", "double")
    expected["files"] = ("TIMESTAMP WITH TIME ZONE", "DOUBLE")
    assert (told["scored_at"], told["p1"]) == expected[make_url(any_database_url).get_backend_name()]


def test_missing_columns_are_named_all_at_once(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    columns = {"time": "scored_at", "champion": "p9", "label": "defaulted"}
    with pytest.raises(ConfigError) as caught:
        pull(any_database_url, monitor(columns=columns, segments=["country"]))
    given = "it gives loan_id, scored_at, p1, p2, defaulted, region"
    assert str(caught.value).splitlines() == [
        f"monitors.credit.columns.champion: the query gives no column 'p9'; {given}",
        f"monitors.credit.segments: the query gives no column 'country'; {given}",
    ]


@pytest.mark.parametrize("broken", ["SELECT * FORM scored", "SELECT p9, p1 FROM scored"])
def test_a_broken_query_is_told_in_the_database_s_words(any_database_url: str, broken: str) -> None:
    fill(any_database_url, MESSY)
    query = f"{broken} WHERE scored_at >= :start AND scored_at < :end"
    with pytest.raises(ConfigError, match=r"^monitors\.credit\.query: .*(scored|FORM|p9)") as caught:
        pull(any_database_url, monitor(query=query))
    assert "\n" not in str(caught.value)


def test_a_missing_table_is_not_transient(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    with pytest.raises(SourceError, match=r"sources\.warehouse: .*elsewhere") as caught:
        pull(any_database_url, monitor(query=monitor().query.replace("scored WHERE", "elsewhere WHERE")))
    assert not caught.value.transient


def test_a_percent_sign_and_a_quoted_column(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    quote = "`" if any_database_url.startswith(("mysql", "spark")) else '"'
    query = (
        f"SELECT loan_id, scored_at, p1 AS {quote}Score 1%{quote}, defaulted, 5 % 3 AS two FROM scored "
        "WHERE scored_at >= :start AND scored_at < :end AND region LIKE 'nor%'"
    )
    columns = {"id": "loan_id", "time": "scored_at", "champion": "Score 1%", "label": "defaulted"}
    for mode in MODES:
        batch = pull(any_database_url, monitor(grouped=mode, query=query, columns=columns, segments=["two"]))
        assert list(batch.segments) == ["", "two=2"]
        assert batch.segments[""].counts.used == 4


def test_label_counts(any_database_url: str) -> None:
    fill(any_database_url, MESSY)
    with opened(any_database_url) as source:
        assert source.label_counts(monitor(), WEEK) == LabelCounts(
            rows=12, labelled=10, by_label={"0": 3, "1": 6, "2": 1}, n_pos=6, n_neg=3
        )
