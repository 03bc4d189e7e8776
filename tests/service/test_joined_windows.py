"""Windows by rows and pooled ones, from the configuration to the store, and to what people read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from commands import Rocmonitor
from mlflow import MlflowClient
from scenario import World, scored, week
from service.test_arrival import dated  # noqa: F401 a fixture
from sqlalchemy import delete, event, insert
from sqlalchemy.engine import Engine

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.policy.windows import Window
from rocmonitor.service.delivery import drain
from rocmonitor.service.review import review_monitor
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.web.monitor import Choice, monitor_view
from rocmonitor.web.site import Site

DAY = timedelta(days=1)
RULES = {"rules": "[{kind: floor, value: 0.3}]", "reference": "{from: 2026-04-27, to: 2026-05-25}"}
# 400 rows a week: 57 or 58 a day.
BY_ROWS = RULES | {"window": "{rows: 500, label_delay: 2d, revise_for: 20d}"}
POOLED = RULES | {"window": "{every: 7d, pool: 3, label_delay: 2d}", "min_per_class": "100"}
HOURLY = RULES | {"reference": "{from: 2026-01-05, to: 2026-02-01}", "min_per_class": "5"}


@pytest.fixture
def berlin(here: World) -> World:
    """One row an hour from January to June 2026, and a monitor in a zone whose clocks change."""

    class Local(World):
        def configure(self, **changes: str) -> config.Config:
            super().configure(**changes)
            path = self.folder / "rocmonitor.yaml"
            text = path.read_text(encoding="utf-8")
            path.write_text(
                text.replace("    model:", "    timezone: Europe/Berlin\n    model:"), encoding="utf-8"
            )
            return config.load(path)

    made = Local(folder=here.folder, source_url=here.source_url)
    first = datetime(2026, 1, 4, 23, tzinfo=UTC)
    rows = [
        {
            "id": number,
            "scored_at": (first + timedelta(hours=number)).replace(tzinfo=None),
            "p": number % 7 + 3.0 * (number % 3 == 0),
            "q": 0.0,
            "label": int(number % 3 == 0),
            "region": "all",
        }
        for number in range(150 * 24)
    ]
    with made._engine() as engine, engine.begin() as connection:
        connection.execute(delete(scored))
        connection.execute(insert(scored), rows)
    return made


def tick(here: World, now: datetime, **changes: str) -> Tick:
    changes = {name: value for name, value in changes.items() if name != "windows"}
    with here.runtime(now, **changes) as runtime:
        found = run_monitor(runtime, runtime.config.monitors["credit"], now=now)
        assert found.error is None
        return found


def judged(here: World, **changes: str) -> list[Evaluation]:
    with here.runtime(**changes) as runtime:
        return store.evaluations(runtime.store, "credit", segment="")


def spans(here: World, **changes: str) -> list[Window]:
    return [each.window for each in judged(here, **changes)]


def by_definition(here: World, rows: int, start: datetime, until: datetime) -> list[Window]:
    """The windows that have ended by a time, from the rows' own times, day after day."""
    with here._engine() as engine, engine.connect() as connection:
        times = [
            each for (each,) in connection.execute(scored.select().with_only_columns(scored.c.scored_at))
        ]
    found, begin, end = [], start, start + DAY
    while end <= until:
        inside = [each for each in times if begin.replace(tzinfo=None) <= each < end.replace(tzinfo=None)]
        if len(inside) >= rows:
            found.append(Window(begin, end))
            begin = end
        end += DAY
    return found


@pytest.mark.slow
def test_windows_by_rows_are_those_of_the_definition_whether_daily_or_at_once(here: World, tmp_path):
    for number, n in ((20, 400), (21, 150), (22, 900), (23, 400)):
        here.score(number, n=n)
    expected = by_definition(here, 500, week(20), week(24))
    assert len(expected) == 3
    tick(here, week(24) + 2 * DAY, **BY_ROWS)
    assert spans(here, **BY_ROWS) == expected
    assert all(each.outcome is Status.OK for each in judged(here, **BY_ROWS))
    (here.folder / "rocmonitor.db").unlink()
    for days in range(4 * 7 + 3):  # with a tick a day, each of which is a new process
        tick(here, week(20) + days * DAY, **BY_ROWS)
    assert spans(here, **BY_ROWS) == expected


def test_a_judged_window_stays_when_rows_come_late_and_is_revised(here: World):
    for number in (20, 21, 22):
        here.score(number)
    tick(here, week(22) + 2 * DAY, **BY_ROWS)
    first = spans(here, **BY_ROWS)
    assert first == [Window(week(20), week(20) + 9 * DAY)]
    here.score(20, n=600, region="late")  # enough for a window of its own, had it been there
    found = tick(here, week(23) + 2 * DAY, **BY_ROWS)
    assert [each.revision for each in judged(here, **BY_ROWS)[:2]] == [1, 0]
    assert spans(here, **BY_ROWS) == [
        Window(week(20), week(20) + 9 * DAY),
        Window(week(20) + 9 * DAY, week(20) + 18 * DAY),
    ]
    assert judged(here, **BY_ROWS)[0].counts.rows > 1000
    assert found.rest is not None
    assert found.rest.window == Window(week(20) + 18 * DAY, week(23) + 2 * DAY)


@pytest.mark.slow
def test_a_tick_that_is_killed_between_two_windows_is_gone_on_with(here: World):
    for number in range(20, 26):
        here.score(number)
    expected = by_definition(here, 500, week(20), week(26))
    now = week(26) + 2 * DAY
    with here.runtime(now, **BY_ROWS) as runtime:
        windows = []

        def stop_after_two(text: object) -> None:
            windows.append(str(text))
            if len([each for each in windows if "count" not in each and "reference" not in each]) == 2:
                runtime.stop.set()

        run_monitor(runtime, runtime.config.monitors["credit"], now=now, progress=stop_after_two)
    assert spans(here, **BY_ROWS) == expected[:2]
    tick(here, now, **BY_ROWS)
    assert spans(here, **BY_ROWS) == expected


def test_each_piece_is_counted_once_a_tick_and_those_of_judged_windows_never_again(here: World):
    for number in range(20, 28):
        here.score(number)

    def counted(now: datetime) -> list[tuple[str, str]]:
        asked: list[tuple[str, str]] = []

        def note(connection, cursor, statement, parameters, context, many):
            # Not those that read rows or inspect columns.
            if "rocmonitor_rows" in statement and not ("LIMIT" in statement or "1 = 0" in statement):
                asked.append(tuple(sorted(map(str, parameters))))

        event.listen(Engine, "before_cursor_execute", note)
        try:
            tick(here, now, **BY_ROWS)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        return asked

    tick(here, week(20) + 2 * DAY, **BY_ROWS)  # freezes the reference
    day = datetime.fromisoformat
    all_days = [
        (f"{week(20) + number * DAY:%Y-%m-%d}", f"{week(20) + (number + 1) * DAY:%Y-%m-%d}")
        for number in range(70)
    ]

    def days(asked: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return sorted(each for each in asked if day(each[1]) - day(each[0]) == DAY)

    now = week(28) + 2 * DAY
    first = counted(now)
    assert days(first) == [each for each in all_days if each[1] <= f"{now:%Y-%m-%d}"]
    windows = spans(here, **BY_ROWS)
    assert len(first) == len(days(first))  # joined ones are counted while they are read
    again = counted(now)
    assert days(again) == [each for each in days(first) if each[0] >= f"{windows[-1].end:%Y-%m-%d}"]
    revisable = [each for each in windows if now <= each.end + 22 * DAY]
    assert len(again) - len(days(again)) == len(revisable)


def test_small_windows_are_pooled_until_each_class_has_enough_and_that_is_said(
    here: World, rocmonitor: Rocmonitor
):
    sizes = {20: 400, 21: 150, 22: 200, 23: 60, 24: 60, 25: 60, 26: 400}
    for number, n in sizes.items():
        here.score(number, n=n)
    tick(here, week(27) + 2 * DAY, **POOLED)
    found = judged(here, **POOLED)
    assert [each.window for each in found] == [
        Window(week(20), week(21)),
        Window(week(21), week(23)),
        Window(week(23), week(26)),  # at most three, and they are too small all the same
        Window(week(26), week(27)),
    ]
    assert [each.outcome for each in found] == [Status.OK, Status.OK, Status.INSUFFICIENT, Status.OK]
    said = {each.window.start: [c for c in each.caveats if c.code == "windows-pooled"] for each in found}
    assert not said[week(20)]
    assert not said[week(26)]
    [caveat] = said[week(21)]
    assert caveat.values == {
        "windows": 2,
        "every": "7d",
        "period": "2026-06-01 to 2026-06-15",
        "min_per_class": 100,
    }
    history = rocmonitor("history", "credit").stdout
    assert "2026-06-01 to 2026-06-15, 2 pooled" in history
    assert "2026-06-15 to 2026-07-06, 3 pooled" in history
    view = monitor_view(Site(path=here.folder / "rocmonitor.yaml"), "credit", Choice(window="2026-06-15"))
    assert "3 windows (7d each), 2026-06-15 to 2026-07-06, are pooled" in str(view)


def test_mlflow_says_what_was_pooled(here: World):
    for number in (20, 21, 22):
        here.score(number, n=60)
    pool = POOLED | {"window": "{every: 7d, pool: 3, label_delay: 2d, end: 2026-06-15}"}
    tick(here, week(23) + 2 * DAY, **pool)
    with here.runtime(week(23) + 2 * DAY, **pool) as runtime:
        drain(runtime)
    assert "Not judged since 2026-05-25 (UTC)." in here.alarms
    client = MlflowClient(f"sqlite:///{here.folder}/mlflow.db")
    found = client.search_runs([client.get_experiment_by_name("rocmonitor/credit").experiment_id])
    notes = [run.data.tags.get("mlflow.note.content", "") for run in found]
    assert sum("3 windows (7d each), 2026-05-25 to 2026-06-15, are pooled" in note for note in notes) == 1


def test_pooling_is_decided_when_a_window_is_due_not_by_labels_that_come_later(here: World):
    here.score(20, labelled=0.1)
    here.score(21)
    tick(here, week(21) + 3 * DAY, **POOLED)
    assert spans(here, **POOLED) == []
    tick(here, week(22) + 2 * DAY, **POOLED)
    assert spans(here, **POOLED) == [Window(week(20), week(22))]
    here.label_late(20)  # the first alone would be enough now
    tick(here, week(22) + 3 * DAY, **POOLED)
    assert [(each.window, each.revision) for each in judged(here, **POOLED)] == [
        (Window(week(20), week(22)), 1)
    ]


@pytest.mark.slow
def test_labels_with_instants_give_the_same_windows_later(dated: World):  # noqa: F811
    """A catch-up sees each piece as it was when it was due, whatever labels came since."""
    pool = POOLED | {
        "window": "{every: 7d, pool: 3, label_delay: 14d, start: 2027-01-04}",
        "min_per_class": "20",
    }
    for number, n in enumerate((400, 300, 150, 500, 120, 400, 400), 52):
        dated.score(number, n=n)
    for days in range(0, 10 * 7, 3):  # each week is due within three days
        tick(dated, week(52) + days * DAY, **pool)
    daily = spans(dated, **pool)
    assert len(daily) > 2
    assert any(each.end - each.start > 7 * DAY for each in daily)
    (dated.folder / "rocmonitor.db").unlink()
    tick(dated, week(80), **pool)
    assert spans(dated, **pool)[: len(daily)] == daily


@pytest.mark.slow
def test_pieces_are_local_days_across_a_clock_change_and_months_are_whole(berlin: World):
    """28 March to 1 April 2026, in a zone where 29 March has 23 hours; one row an hour."""
    tick(berlin, datetime(2026, 6, 10, tzinfo=UTC), **HOURLY, window="{rows: 47, start: 2026-03-28}")
    zone = ZoneInfo("Europe/Berlin")
    found = spans(berlin, **HOURLY, window="{rows: 47, start: 2026-03-28}")
    # 24 + 23 rows are enough, and from then on two days of 24.
    ends = [each.end.astimezone(zone) for each in found]
    assert [(each.day, each.hour) for each in ends[:3]] == [(30, 0), (1, 0), (3, 0)]
    assert found[0].end - found[0].start == timedelta(hours=47)
    (berlin.folder / "rocmonitor.db").unlink()
    months = {"window": "{rows: 1000, every: 1mo, start: 2026-02-01}"}
    tick(berlin, datetime(2026, 6, 10, tzinfo=UTC), **HOURLY, **months)
    local = [each.in_zone(zone) for each in spans(berlin, **HOURLY, **months)]
    assert local == ["2026-02-01 to 2026-04-01", "2026-04-01 to 2026-06-01"]  # 672 + 743 rows, 720 + 744


@pytest.mark.slow
@pytest.mark.parametrize("window", ["{rows: 500, label_delay: 2d}", "{every: 7d, pool: 3, label_delay: 2d}"])
def test_windows_are_joined_on_postgresql_as_on_sqlite(
    here: World, postgres_url, tmp_path, monkeypatch, window
):
    other = World(folder=tmp_path / "other", source_url=postgres_url)
    other.folder.mkdir()
    changes = RULES | {
        "window": window,
        "min_per_class": "100",
        "reference": "{from: 2026-05-11, to: 2026-05-25}",
    }
    found = []
    for each, numbers in ((here, range(20, 24)), (other, range(18, 24))):
        for number in numbers:
            each.score(number, n=400 if number < 22 else 180)
        monkeypatch.setenv("SCENARIO_SOURCE_URL", each.source_url)
        tick(each, week(24) + 2 * DAY, **changes)
        found.append([(one.window, one.counts) for one in judged(each, **changes)])
    assert len(found[0]) > 1
    assert found[0] == found[1]


def test_reference_windows_are_joined_likewise_and_what_is_left_belongs_to_the_last(here: World):
    here.score(20)
    here.score(21)
    tick(here, week(22) + 2 * DAY, **BY_ROWS)
    windows = [Window.from_dict(each) for each in judged(here, **BY_ROWS)[0].reference["windows"]]
    expected = by_definition(here, 500, week(16), week(20))
    assert windows[:-1] == expected[:-1]
    assert windows[-1] == Window(expected[-1].start, week(20))
    sizes = [each["n_pos"] + each["n_neg"] for each in judged(here, **BY_ROWS)[0].reference["windows"]]
    assert sum(sizes) == 4 * 400
    assert min(sizes) >= 500


def test_rows_that_stop_are_an_alarm_although_no_window_ends(here: World):
    here.score(20)
    tick(here, week(21), **BY_ROWS)
    with here.runtime(**BY_ROWS) as runtime:
        assert not store.open_stops(runtime.store)
    tick(here, week(21) + 2 * DAY, **BY_ROWS)  # a day without rows has had a day to get them
    with here.runtime(**BY_ROWS) as runtime:
        [stopped] = store.open_stops(runtime.store)["credit"]
    assert stopped.kind == "rows"
    assert stopped.start == week(21)
    assert stopped.window.end - stopped.window.start == DAY
    assert stopped.lowest == 57


def test_status_and_run_say_what_is_no_window_yet(here: World, rocmonitor: Rocmonitor):
    here.score(20, n=420)
    tick(here, week(21), **BY_ROWS)
    assert "420 of 500 rows since 2026-05-25" in rocmonitor("status").stdout
    assert "420 of 500 rows since 2026-05-25" in rocmonitor("run", "--at", "2026-06-01").stderr
    said = json.loads(rocmonitor("run", "--at", "2026-06-01", "--json").stdout)
    assert said["monitors"][0]["rest"]["rows"] == 420
    view = monitor_view(Site(path=here.folder / "rocmonitor.yaml"), "credit", Choice())
    assert view is not None
    assert view["unjudged"] == "420 of 500 rows since 2026-05-25"


def test_long_ago_without_rows_is_no_window_and_neither_is_what_comes_after_the_last(here: World):
    here.score(60)
    tick(here, week(300), **BY_ROWS)
    assert spans(here, **BY_ROWS) == []  # 400 rows, and no more came
    here.score(61)
    tick(here, week(300), **BY_ROWS)
    assert spans(here, **BY_ROWS) == [Window(week(60), week(60) + 9 * DAY)]


@pytest.mark.slow
def test_a_backfill_judges_whole_windows_by_rows_and_leaves_judged_ones(here: World, rocmonitor: Rocmonitor):
    for number in range(20, 26):
        here.score(number)
    here.configure(**BY_ROWS)
    expected = by_definition(here, 500, week(22), week(26))
    found = rocmonitor("backfill", "credit", "--from", "2026-06-08", "--to", "2026-07-06")
    assert spans(here, **BY_ROWS) == expected
    assert "of 500 rows since" in found.stderr
    tick(here, week(26) + 2 * DAY, **BY_ROWS)
    windows = spans(here, **BY_ROWS)
    assert set(expected) <= set(windows)
    # What came before: one whole window, and the rest before what was fixed belongs to it.
    assert windows[0] == Window(week(20), week(22))
    again = rocmonitor("backfill", "credit", "--from", "2026-06-08", "--to", "2026-07-06", "--again")
    assert "judged before" in again.stderr
    assert spans(here, **BY_ROWS) == windows


def test_a_dry_run_finds_the_same_and_keeps_nothing(here: World):
    here.score(20)
    here.score(21)
    now = week(22) + 2 * DAY
    with here.runtime(now, **BY_ROWS) as runtime:
        dry = run_monitor(runtime, runtime.config.monitors["credit"], now=now, dry_run=True)
    assert spans(here, **BY_ROWS) == []
    assert [each.window for each in dry.evaluations] == [
        each.window for each in tick(here, now, **BY_ROWS).evaluations
    ]


def test_an_outlook_fixes_a_window_by_rows_and_its_labels_are_judged_in_it(here: World):
    foreseen = BY_ROWS | {"outlook": "{after: 6h}", "rules": "[{kind: floor, value: 0.3}, {kind: outlook}]"}
    foreseen["window"] = "{rows: 500, label_delay: 30d}"
    for number in (20, 21):
        here.score(number, labelled=0)
    found = tick(here, week(22), **foreseen)
    [outlook] = [each for each in found.outlooks if not each.segment]
    assert outlook.window == Window(week(20), week(20) + 9 * DAY)
    here.score(20, n=600, region="late")
    for number in (20, 21):
        here.label_late(number)
    tick(here, outlook.window.end + 30 * DAY, **foreseen)
    assert spans(here, **foreseen)[0] == outlook.window


def test_an_outlook_of_a_pooled_window_counts_on_the_usual_share_of_positives(here: World):
    """40 % of 400 rows a week are positive: 160 less 25 are enough of 100 for one week, of 200 for two."""
    for min_per_class, weeks in ((100, 1), (200, 2)):
        foreseen = POOLED | {
            "outlook": "{after: 6h}",
            "rules": "[{kind: floor, value: 0.3}, {kind: outlook}]",
            "window": f"{{every: 7d, pool: 3, label_delay: {20 + weeks}d}}",
            "min_per_class": f"{min_per_class}",
        }
        for number in (20, 21, 22):
            here.clear(number)
            here.score(number, labelled=0)
        found = tick(here, week(22) + DAY, **foreseen)
        windows = [each.window for each in found.outlooks if not each.segment]
        assert windows == [Window(week(at), week(at + weeks)) for at in range(20, 22, weeks)]
        for number in (20, 21, 22):
            here.label_late(number, label=number % 2)
        late = tick(here, week(22) + 25 * DAY, **foreseen)
        assert next(each.window for each in late.evaluations if not each.segment) == windows[0]
        (here.folder / "rocmonitor.db").unlink()


@pytest.mark.slow
def test_a_review_compares_the_windows_that_were_judged(here: World):
    for number in range(20, 26):
        here.score(number)
    now = week(26) + 2 * DAY
    with here.runtime(now, **BY_ROWS) as runtime:
        monitor = runtime.config.monitors["credit"]
        before = review_monitor(runtime, monitor, now=now, dry_run=True)
        run_monitor(runtime, monitor, now=now)
        after = review_monitor(runtime, monitor, now=now)
        by_hand = review_monitor(runtime, monitor, now=now, start=week(21), end=week(26), dry_run=True)
    windows = [(str(each.start.isoformat()), each.end.isoformat()) for each in spans(here, **BY_ROWS)]
    for review in (before, after):
        assert [(each["start"], each["end"]) for each in review.provenance["windows"]] == windows
    inside = [each for each in windows if each[0] >= week(21).isoformat()]
    assert [(each["start"], each["end"]) for each in by_hand.provenance["windows"]][-len(inside) :] == inside


def test_segments_are_judged_in_the_windows_of_all_rows(here: World):
    here.score(20, n=300, region="south")
    here.score(20, n=200, region="north", alike=3)
    tick(here, week(21) + 2 * DAY, **BY_ROWS, segments="[region]")
    with here.runtime(**BY_ROWS) as runtime:
        found = store.evaluations(runtime.store, "credit")
    assert {each.segment for each in found} >= {"", "region=north", "region=south"}
    assert {each.window for each in found} == {Window(week(20), week(21))}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"window": "{every: 7d, label_delay: 2d}"}, BY_ROWS),
        (BY_ROWS, BY_ROWS | {"window": "{rows: 900, every: 7d, label_delay: 2d}"}),
    ],
)
def test_what_was_judged_by_other_windows_stays_and_the_rest_starts_where_it_ends(here: World, old, new):
    for number in (20, 21, 22, 23, 24, 25):
        here.score(number)
    tick(here, week(22) + 2 * DAY, **RULES | old)
    before = spans(here, **new)
    assert before
    tick(here, week(26) + 2 * DAY, **new)
    windows = spans(here, **new)
    assert windows[: len(before)] == before
    assert all(one.end == other.start for one, other in pairwise(windows))


@pytest.mark.slow
def test_check_says_how_windows_are_joined(here: World, rocmonitor: Rocmonitor):
    here.score(20)
    here.score(21)
    here.configure(**BY_ROWS)
    said = rocmonitor("check", "--explain", code=4).stdout
    assert "at least 500 rows, in whole days, judged 2d after their end" in said
    assert "3 windows of 9 to 10 days, 1,600 rows" in said
    here.configure(**BY_ROWS | {"window": "{rows: 20000}"})
    found = rocmonitor("check", "--explain", code=2)
    assert (
        "monitors.credit.reference has 1,600 rows, and a window has at least 20,000 (window.rows)"
        in found.stdout
    )
    here.configure(**POOLED | {"window": "{every: 7d, pool: 3, end: 2026-06-08}"})
    said = rocmonitor("check", "--explain", code=4).stdout
    assert "every 7d, up to 3 pooled until each class has 100 rows" in said


@pytest.mark.slow
def test_check_describes_the_last_window_that_a_run_judges(here: World, rocmonitor: Rocmonitor):
    for number in range(20, 24):
        here.score(number, n=300)
    assert tick(here, week(40), **BY_ROWS).error is None
    last = judged(here, **BY_ROWS)[-1].window
    said = rocmonitor("check", "--explain", code=4).stdout
    assert f"the last of these, {last.in_zone(ZoneInfo('UTC'))}:" in " ".join(said.split())
