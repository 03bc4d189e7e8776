"""``rocmonitor init``."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Rocmonitor
from sqlalchemy import create_engine, make_url

from rocmonitor import config, demo
from rocmonitor.service.proposing import find_roles, propose


def test_init_writes_a_configuration_that_is_read(tmp_path, rocmonitor):
    rocmonitor("init")
    assert config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules


def test_init_watches_single_windows_and_what_lasts(tmp_path, rocmonitor):
    rocmonitor("init")
    rules = config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules
    assert [rule.kind for rule in rules][:2] == ["forecast", "lasting"]


def test_init_where_nothing_can_be_written(rocmonitor):
    told = rocmonitor("--config", "nosuch/rocmonitor.yaml", "init", code=2).stderr
    assert "nosuch/rocmonitor.yaml: cannot be written" in told


def test_the_demo_ends_with_the_next_step(monkeypatch, rocmonitor):
    monkeypatch.setattr(demo, "build", lambda folder, on_progress: None)
    assert rocmonitor("init", "--demo").stderr.endswith(
        "next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it\n"
    )


def test_init_writes_the_schema_that_the_configuration_names(tmp_path, rocmonitor):
    rocmonitor("init")
    first = (tmp_path / "rocmonitor.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=rocmonitor.schema.json"
    assert json.loads((tmp_path / "rocmonitor.schema.json").read_text(encoding="utf-8"))["properties"]


def test_init_renews_the_schema_and_leaves_the_configuration(tmp_path, rocmonitor):
    (tmp_path / "rocmonitor.yaml").write_text("mine", encoding="utf-8")
    (tmp_path / "rocmonitor.schema.json").write_text("{}", encoding="utf-8")
    rocmonitor("init", "--schema")
    assert (tmp_path / "rocmonitor.yaml").read_text(encoding="utf-8") == "mine"
    assert json.loads((tmp_path / "rocmonitor.schema.json").read_text(encoding="utf-8"))["properties"]


def test_schema_and_demo_exclude_each_other(rocmonitor):
    assert "--schema" in rocmonitor("init", "--schema", "--demo", code=2).stderr


TODAY = pd.Timestamp.now().floor("D")


def table(weeks: int = 60, a_week: int = 630, *, silent: int = 0, **changes: object) -> pd.DataFrame:
    """Loans of which 15 % are bad, which is known after some weeks; up to `silent` days ago."""
    rng, n = np.random.default_rng(1), weeks * a_week
    bad = rng.random(n) < 0.15
    last = TODAY - pd.Timedelta(days=silent)
    at = pd.date_range(end=last, periods=n, freq=pd.Timedelta(weeks=1) / a_week).floor("s")
    known = at + pd.to_timedelta(rng.gamma(4, 6, n), unit="D").floor("s")
    rows = pd.DataFrame(
        {
            "loan_id": np.arange(n),
            "scored_at": at,
            "PD Score": 1 / (1 + np.exp(2 - rng.normal(size=n) - 1.5 * bad)),
            "income": rng.integers(1000, 9000, n),
            "region": rng.choice(list("abc"), n),
            "bad": np.where(known < at[-1], bad, np.nan),
            "outcome_date": known.where(known < at[-1]),
        }
    )
    return rows.assign(**changes)


def write(rows: pd.DataFrame, folder: Path, kind: str) -> list[str]:
    """Write a table in one of the ways in which people have it; how `init` is told of it."""
    match kind:
        case "sqlite":
            with closing(sqlite3.connect(folder / "a.db")) as connection:
                rows.to_sql("loans", connection, index=False)
            return ["--url", "sqlite:///a.db", "--table", "loans"]
        case "parquet" | "parquet of text" | "parquet of German days":
            (folder / "loans").mkdir()
            form = "%d.%m.%Y %H:%M" if "German" in kind else "%Y-%m-%d %H:%M:%S"
            texts = {name: rows[name].dt.strftime(form) for name in ("scored_at", "outcome_date")}
            rows.assign(**texts if " of " in kind else {}).to_parquet(folder / "loans" / "all.parquet")
            return ["--url", "loans/*.parquet"]
        case "csv":
            rows.to_csv(folder / "loans.csv", index=False)
            return ["--url", "loans.csv"]
        case "folder of csv":
            (folder / "loans").mkdir()
            rows.to_csv(folder / "loans" / "all.csv", index=False)
            return ["--url", "loans"]
        case "german":
            said = rows.assign(
                scored_at=rows["scored_at"].dt.strftime("%d.%m.%Y %H:%M"),
                bad=rows["bad"].map({0: "nein", 1: "ja"}),
            ).drop(columns="outcome_date")
            said.to_csv(folder / "loans.csv", sep=";", decimal=",", index=False)
            return ["--url", "loans.csv"]
    raise AssertionError(kind)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["sqlite", "parquet", "parquet of text", "parquet of German days", "csv", "folder of csv", "german"],
)
def test_init_looks_at_a_table_and_check_accepts_what_it_writes(kind, tmp_path, rocmonitor):
    rocmonitor("init", *write(table(), tmp_path, kind))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    columns = monitor.columns
    assert (monitor.name, columns.id, columns.time, columns.champion, columns.label) == (
        "loans", "loan_id", "scored_at", "PD Score", "bad",
    )  # fmt: skip
    assert columns.labelled_at == (None if kind == "german" else "outcome_date")
    casts = {"parquet of text": "CAST(", "parquet of German days": "strptime("}
    assert [each for each in casts.values() if each in monitor.query] == [
        casts[k] for k in casts if k == kind
    ]
    assert list(columns.explain) == ["region"]
    assert monitor.positive.label == ("ja" if kind == "german" else 1)
    assert monitor.window.every == timedelta(days=7)
    assert 40 <= monitor.labels.delay / timedelta(days=1) <= 60  # 95 % of Gamma(4, 6) days are below 46.5
    told = rocmonitor("check").stdout
    assert "normal    AUROC 0." in told
    assert "PROBLEM" not in told


def test_a_colon_in_the_name_of_a_german_time_is_no_parameter(tmp_path, rocmonitor):
    rows = table(weeks=40)
    rows["Zeit:punkt"] = rows.pop("scored_at").dt.strftime("%d.%m.%Y %H:%M")
    rows.drop(columns="outcome_date").to_parquet(tmp_path / "loans.parquet")
    rocmonitor("init", "--url", "loans.parquet", "--time", "Zeit:punkt")
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert r"""strptime("Zeit\:punkt", '%d.%m.%Y %H\:%M')""" in monitor.query
    assert "PROBLEM" not in rocmonitor("check").stdout


def test_a_table_in_another_schema_is_named_with_it(tmp_path, rocmonitor, postgres_url):
    """Quoted mixed-case names are taken as they are."""
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE SCHEMA "Risk"')
    table(weeks=40).to_sql("ScoredLoans", engine, schema="Risk", index=False)
    engine.dispose()
    told = rocmonitor("init", "--url", postgres_url, "--table", "ScoredLoans", code=2).stderr
    assert "there is no table ScoredLoans; there are Risk.ScoredLoans" in told
    told = rocmonitor("init", "--url", postgres_url, "--table", "Risk.Nosuch", code=5).stderr
    assert "does not exist; see --table" in told
    rocmonitor("init", "--url", postgres_url, "--table", 'Risk."ScoredLoans"')
    assert '"Risk"."ScoredLoans"' in (tmp_path / "rocmonitor.yaml").read_text()


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("lake/**/*.parquet", "lake"),
        ("lake/day=*/a.parquet", "lake"),
        ("*/*/a.parquet", "here"),
        ("lake", "lake"),
    ],
)
def test_a_monitor_has_the_name_of_the_folder_before_a_pattern(pattern, name, tmp_path):
    here = tmp_path / "here"
    (here / "lake" / "day=1").mkdir(parents=True)
    table(weeks=40).to_parquet(here / "lake" / "day=1" / "a.parquet")
    Rocmonitor(here)("init", "--url", pattern)
    assert list(config.load(here / "rocmonitor.yaml").monitors) == [name]


@pytest.mark.parametrize("kind", ["csv", "folder of csv", "sqlite"])
def test_a_path_is_typed_from_here_and_written_from_the_configuration(kind, tmp_path):
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    asked = write(table(weeks=40), data, kind)
    for folder, start in ((other, f"{data}/"), (tmp_path, "data/"), (data, "")):
        Rocmonitor(data)("--config", str(folder / "rocmonitor.yaml"), "init", *asked)
        spec = config.load(folder / "rocmonitor.yaml").sources["data"]
        place = spec.url.removeprefix("sqlite:///") if kind == "sqlite" else spec.path
        assert place == f"{start}{asked[1].removeprefix('sqlite:///')}"


@pytest.mark.slow
@pytest.mark.parametrize("as_text", [False, True])
def test_init_on_postgresql(as_text, tmp_path, rocmonitor, postgres_url, monkeypatch):
    engine = create_engine(postgres_url)
    rows = table(weeks=40)
    texts = {name: rows[name].dt.strftime("%Y-%m-%d %H:%M:%S") for name in ("scored_at", "outcome_date")}
    rows.assign(**texts if as_text else {}).to_sql("Loan Scores", engine, index=False)
    engine.dispose()
    url = make_url(postgres_url)
    shown = url.set(password=url.password or "hidden").render_as_string(hide_password=False)
    told = rocmonitor("init", "--url", shown, "--table", "Loan Scores").stderr
    text = (tmp_path / "rocmonitor.yaml").read_text()
    assert "url_env: ROCMONITOR_SOURCE_URL" in text
    assert "set ROCMONITOR_SOURCE_URL to the URL" in told
    assert shown not in text
    monkeypatch.setenv("ROCMONITOR_SOURCE_URL", shown)
    assert "PROBLEM" not in rocmonitor("check").stdout


def test_rows_too_few_for_a_window_are_joined(tmp_path, rocmonitor):
    rocmonitor("init", *write(table(weeks=80, a_week=120), tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert (monitor.window.every, monitor.window.pool) == (timedelta(days=7), 5)


def _known_after(rows: pd.DataFrame, days: int, now: pd.Timestamp) -> pd.DataFrame:
    """Return the rows with the labels that are known now, each some days after its row."""
    known = rows["scored_at"] + pd.Timedelta(days=days) <= now
    return rows.assign(bad=(rows["PD Score"] > 0.3).astype(float).where(known)).drop(columns="outcome_date")


@pytest.mark.parametrize("silent", [0, 4, 8])
def test_the_label_delay_counts_from_now_not_from_the_newest_row(silent):
    """Labels come after 10 days whatever the table was last loaded; it is said how sure that is."""
    rows = _known_after(table(weeks=40, silent=silent), 10, TODAY)
    roles = find_roles(rows, {})
    proposed = propose(rows, roles, TODAY.tz_localize("UTC").to_pydatetime())
    assert proposed.label_delay == "10d"
    assert ("counted from today" in proposed.delay_reason) == (silent > 0)


def test_a_table_that_is_long_over_has_the_delay_of_its_own_time():
    rows = _known_after(table(weeks=40, silent=300), 10, TODAY - pd.Timedelta(days=300))
    proposed = propose(rows, find_roles(rows, {}), TODAY.tz_localize("UTC").to_pydatetime())
    assert proposed.label_delay == "10d"
    assert "counted from the newest row" in proposed.delay_reason


def test_a_table_of_labelled_rows_alone_says_that_its_delay_is_a_guess():
    rows = _known_after(table(weeks=40, silent=12), 10, TODAY).dropna(subset=["bad"])
    proposed = propose(rows, find_roles(rows, {}), TODAY.tz_localize("UTC").to_pydatetime())
    assert proposed.label_delay == "12d"
    assert "a guess" in proposed.delay_reason


@pytest.mark.parametrize("silent", [8, 300])
def test_init_never_ends_the_watch(silent, tmp_path, rocmonitor):
    rocmonitor("init", *write(table(weeks=40, silent=silent), tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert monitor.window.end is None
    assert ("# end: " in (tmp_path / "rocmonitor.yaml").read_text()) == (silent == 300)


def test_weeks_start_on_monday_also_where_the_first_row_is_a_minute_late():
    rows = table(weeks=40)
    monday = rows["scored_at"].min().ceil("D")
    monday += pd.Timedelta(days=(-monday.weekday()) % 7, seconds=38)
    rows = rows[rows["scored_at"] >= monday]
    proposed = propose(rows, find_roles(rows, {}), TODAY.tz_localize("UTC").to_pydatetime())
    assert (proposed.every, proposed.reference[0]) == ("7d", f"{monday:%Y-%m-%d}")


def _drawn(per_day: int, days: int) -> pd.DataFrame:
    """Rows of a score that ranks well, every day as many, with labels at once."""
    rng, n = np.random.default_rng(1), per_day * days
    at = pd.Timestamp("2025-01-01") + pd.to_timedelta(np.sort(rng.uniform(0, days, n)), unit="D")
    y = rng.random(n) < 0.25
    score = 1 / (1 + np.exp(-rng.normal(1.2 * y)))
    return pd.DataFrame({"id": np.arange(n), "scored_at": at, "score": score, "label": y.astype(int)})


@pytest.mark.slow
def test_the_length_of_windows_is_the_one_that_finds_declines_and_says_so():
    """A day has rows enough, and would alarm falsely more than twice as often as a week."""
    rows = _drawn(500, 357)
    found = propose(rows, find_roles(rows, {}), datetime(2027, 1, 1, tzinfo=UTC))
    assert found.every == "7d"
    said = re.fullmatch(
        r"weekly: ([\d.]+) false alarms a year, a drop of 0\.02 in \d+ (days|weeks?); .*daily: ([\d.]+), .*",
        found.every_reason,
    )
    assert said is not None
    assert float(said[1]) <= 2 < float(said[3])
    assert found.reference[0] == "2025-01-06"  # a Monday
    assert not found.outlook


@pytest.mark.parametrize(
    ("per_day", "lost_from", "noise", "to", "said"),
    [
        (
            200,
            "2025-09-15",
            0.3,
            "2025-09-15",
            r"Ends before 2025-09-15: the AUROC is about 0\.1\d* lower .*\.",
        ),
        # A loss after eight weeks: 56 days are enough, of weeks there are too few.
        (
            500,
            "2025-03-03",
            0.3,
            "2025-03-03",
            r"Ends before 2025-03-03: the AUROC is about 0\.1\d* lower .*\.",
        ),
        (
            30,
            "2025-03-31",
            0.3,
            "2026-07-20",
            r"Holds a loss since 2025-03-31: .* too few windows come before\.",
        ),
        # Two weeks before the end of three fifths, and too small for these alone.
        (
            200,
            "2025-12-22",
            0.1,
            "2025-12-22",
            r"Ends before 2025-12-22: the AUROC is about 0\.03\d* lower .*",
        ),
        pytest.param(200, "2027-01-01", 0.3, "2026-01-05", "", marks=pytest.mark.slow),
    ],
)
def test_a_reference_ends_before_a_loss_if_enough_windows_are_left(per_day, lost_from, noise, to, said):
    rows = _drawn(per_day, 616)
    lost = rows["scored_at"] >= lost_from
    added = np.random.default_rng(2).normal(0, noise, len(rows))
    rows["score"] = rows["score"].where(~lost, rows["score"] + added)
    proposed = propose(rows, find_roles(rows, {}), datetime(2027, 1, 1, tzinfo=UTC))
    assert re.fullmatch(said, proposed.loss)
    assert proposed.reference[1] == to


def test_labels_that_take_longer_than_two_windows_get_an_outlook(tmp_path, rocmonitor):
    rows = table(weeks=60)
    late = rows["outcome_date"] + pd.Timedelta(days=30)
    rocmonitor("init", *write(rows.assign(outcome_date=late), tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert monitor.window.label_delay > 2 * monitor.window.every
    assert monitor.outlook is not None
    assert "scores" in [rule.kind for rule in monitor.rules]


@pytest.mark.parametrize("name", ["LoanID", "loanid", "ID", "request_uuid", "Key"])
def test_an_obvious_id_is_taken(name):
    rows = table(weeks=4).rename(columns={"loan_id": name})
    assert find_roles(rows, {}).id == name
    assert find_roles(rows.assign(**{name: rows[name] // 2}), {}).id is None


@pytest.mark.slow
def test_two_models_are_reviewed(tmp_path, rocmonitor):
    rows = table(weeks=40).rename(columns={"PD Score": "p_champion", "loan_id": "Fall-Nr"})
    noise = np.random.default_rng(2).normal(0, 0.05, len(rows))
    rocmonitor("init", *write(rows.assign(p_challenger=rows["p_champion"] + noise), tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert (monitor.columns.id, monitor.columns.challenger) == ("Fall-Nr", "p_challenger")
    assert "PROBLEM" not in rocmonitor("check").stdout
    rocmonitor("run", code=3)  # the last window is low, by chance
    assert "AUROC difference, average of these" in rocmonitor("review", "loans").stdout


def test_the_other_score_is_the_challenger_where_one_is_named(tmp_path, rocmonitor):
    rows = table(weeks=30).rename(columns={"PD Score": "RiskScore"})
    rows = rows.assign(NewScore=rows["RiskScore"] ** 2)
    rocmonitor("init", *write(rows, tmp_path, "sqlite"), "--score", "RiskScore")
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert (monitor.columns.champion, monitor.columns.challenger) == ("RiskScore", "NewScore")


def test_windows_are_joined_until_nearly_all_have_enough_rows(tmp_path, rocmonitor):
    """15 a week, in six weeks of eight: five full ones would do, five with two empty ones do not."""
    rows = table(weeks=100, a_week=100)
    rocmonitor("init", *write(rows[np.arange(len(rows)) // 100 % 8 < 6], tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert monitor.window.every == timedelta(days=7)
    assert monitor.window.pool in (6, 7)


def test_a_copy_of_the_label_in_other_words_explains_nothing(tmp_path, rocmonitor):
    rows = table(weeks=30)
    copied = rows.assign(paid=rows["bad"].map({0: "paid", 1: "unpaid"}))
    rocmonitor("init", *write(copied, tmp_path, "sqlite"), "--label", "bad")
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert list(monitor.columns.explain) == ["region"]
    assert "# not used: income, paid" in (tmp_path / "rocmonitor.yaml").read_text(encoding="utf-8")


def test_a_file_of_sqlite_is_named_by_its_url(tmp_path, rocmonitor):
    write(table(2), tmp_path, "sqlite")
    assert "sqlite:///a.db, and name its --table" in rocmonitor("init", "--url", "a.db", code=2).stderr


def test_low_scores_and_words_are_understood(tmp_path, rocmonitor):
    rows = table(weeks=30)
    rows = rows.assign(**{"PD Score": 1 - rows["PD Score"]}, bad=rows["bad"].map({0: "good", 1: "bad"}))
    rocmonitor("init", *write(rows, tmp_path, "sqlite"))
    [monitor] = config.load(tmp_path / "rocmonitor.yaml").monitors.values()
    assert monitor.positive.low_is_positive
    assert (monitor.positive.label, monitor.positive.negative) == ("bad", "good")


AS_TEXT = table(40, scored_at=table(40)["scored_at"].astype(str) + "-05:00")
ALL_NAMED = ["--time", "scored_at", "--label", "bad", "--score"]


@pytest.mark.parametrize(
    ("rows", "args", "told"),
    [
        (table(2), [], "two windows or more with labels are needed"),
        (table(2).drop(columns="scored_at"), [], "no column holds times of scoring"),
        (table(2).drop(columns="PD Score"), [], "which column is the score? no column holds scores"),
        (table(2, bad=np.nan), [], "which column is the label? no column has exactly two values"),
        (table(2, bad="?"), ["--label", "bad"], "two values are needed, not 1 ('?'); name"),
        (table(2, Score=0.5 + table(2)["income"] / 1e5), [], "several may be: PD Score, Score; name it with"),
        (table(2, late=table(2)["bad"]), [], "which column is the label? several may be: bad, late"),
        (AS_TEXT, [], "make a view with datetime(scored_at)"),
        (table(2, scored_at=np.arange(1260)), ["--time", "scored_at"], "times are needed"),
        (table(2).head(0), [*ALL_NAMED, "PD Score"], "the table is empty"),
        (table(2).rename(columns={"PD Score": "a\nb"}), [*ALL_NAMED, "a\nb"], "names with line breaks"),
        (table(2), ["--score", "nosuch"], "--score: the table has no column 'nosuch'; it has loan_id"),
        (table(2), ["--table", "nosuch"], "--table: there is no table nosuch; there are loans"),
    ],
)  # fmt: skip
def test_what_cannot_be_proposed_says_what_to_name(rows, args, told, tmp_path, rocmonitor):
    place = write(rows, tmp_path, "sqlite")
    place = place[:2] if "--table" in args else place
    assert told in rocmonitor("init", *place, *args, code=2).stderr
    assert not (tmp_path / "rocmonitor.yaml").exists()


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--table", "loans"], 2, "--table needs --url"),
        (["--url", "sqlite:///a.db"], 2, "--table: which table of the database?"),
        (["--url", "sqlite:///a.db", "--demo"], 2, "leave --schema and --demo out"),
        (["--url", "sqlite:///nosuch.db", "--table", "loans"], 5, "nosuch.db"),
        (["--url", "nosuch/*.parquet"], 5, "nosuch"),
        (["--url", "nosuch://x", "--table", "loans"], 5, "'nosuch' is not a database that SQLAlchemy knows"),
    ],
)
def test_a_table_that_is_not_there(args, code, told, rocmonitor):
    assert told in rocmonitor("init", *args, code=code).stderr


@pytest.mark.slow
def test_a_german_table_without_english_names_in_its_own_encoding(tmp_path, rocmonitor):
    """A number of the row is its id, the column within 0 and 1 its score; no line with an umlaut is lost."""
    rows = _drawn(120, 350)
    at = rows["scored_at"].dt.strftime("%d.%m.%Y %H:%M")
    channel = np.random.default_rng(3).choice(["Büro", "Straße", "Online"], len(rows))
    german = pd.DataFrame(
        {
            "Antragsnummer": rows["id"] + 10**6,
            "Datum": at,
            "Wert": rows["score"].round(4).map(lambda value: f"{value:.4f}".replace(".", ",")),
            "Laufzeit": (12.5 + rows["id"] % 70).map(lambda value: f"{value:.1f}".replace(".", ",")),
            "Kanal": channel,
            "Ausfall": rows["label"].map({0: "nein", 1: "ja"}),
        }
    )
    german.to_csv(tmp_path / "antraege.csv", sep=";", index=False, encoding="cp1252")
    rocmonitor("init", "--url", "antraege.csv")
    loaded = config.load(tmp_path / "rocmonitor.yaml")
    [monitor] = loaded.monitors.values()
    columns = monitor.columns
    assert (columns.id, columns.champion, columns.explain) == ("Antragsnummer", "Wert", ("Kanal",))
    assert loaded.sources["data"].encoding == "latin-1"
    assert "PROBLEM" not in rocmonitor("check", code=4).stdout  # a warning: the table has ended


@pytest.mark.slow
def test_the_encoding_is_that_of_the_file_beside_the_configuration(tmp_path, rocmonitor):
    """It is looked for where it is, not where the command is called."""
    (tmp_path / "there").mkdir()
    rows = _drawn(40, 350).rename(columns={"score": "Büro"})
    rows.to_csv(tmp_path / "there" / "scored.csv", index=False, encoding="cp1252")
    rocmonitor("--config", "there/rocmonitor.yaml", "init", "--url", "there/scored.csv", "--score", "Büro")
    assert config.load(tmp_path / "there" / "rocmonitor.yaml").sources["data"].encoding == "latin-1"


def test_a_csv_in_no_encoding_that_is_read_says_how_to_make_it_one(tmp_path, rocmonitor):
    """A euro sign of Windows is no letter of latin-1."""
    lines = [f"{n};2026-01-{1 + n % 28:02d} 10:00:00;0.{n % 97:02d}1;{n % 2};{n} €" for n in range(99)]
    text = "\n".join(["id;scored_at;score;label;fee", *lines])
    (tmp_path / "scored.csv").write_text(text, encoding="cp1252")
    told = rocmonitor("init", "--url", "scored.csv", code=5).stderr
    assert "File is not latin-1 encoded; save it as UTF-8, such as with: iconv -f cp1252 -t utf-8" in told
