"""The configuration: everything that api.md shows is read, and every problem is told at once."""

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from rocmonitor import config
from rocmonitor.config.values import host_and_port
from rocmonitor.errors import ConfigError
from rocmonitor.policy.review.settings import Money, ReviewRule, ReviewSettings
from rocmonitor.rules import Challenger, Floor, Forecast, Lasting

FULL = """
store: {url_env: ROCMONITOR_STORE_URL}
mlflow: {tracking_uri_env: MLFLOW_TRACKING_URI}
sources:  {warehouse: {url_env: WAREHOUSE_URL, timeout: 60s, max_rows: 20000000}}
channels: {ops: {url_env: OPS_APPRISE_URL}}
monitors:
  credit-default:
    model: {name: credit-default, champion: champion, challenger: challenger}
    source: warehouse
    query: "SELECT loan_id, scored_at, p_champion, p_challenger, defaulted, region FROM scored
            WHERE scored_at >= :start AND scored_at < :end"
    columns: {id: loan_id, time: scored_at, champion: p_champion, challenger: p_challenger, label: defaulted}
    segments: [region]
    positive: {label: 1, scores: higher}
    window: {every: 7d, label_delay: 30d, min_labelled: 0.95, revise_for: 90d}
    grouped: auto
    reference: {from: 2026-01-01, to: 2026-04-01, windows: 13}
    min_per_class: 50
    operating_points: {fpr: [0.01, 0.05, 0.1], thresholds: [0.5], cost: [{w: 0.2}, {w: 0.5}]}
    rules:
      - {kind: forecast, method: calibrated, confidence_level: 0.95}
      - {kind: floor, value: 0.70, confidence_level: 0.99}
      - {kind: challenger, confidence_level: 0.95}
    schedule: "0 6 * * *"
    timezone: Europe/Berlin
    notify: [ops]
"""


@pytest.fixture
def load(tmp_path: Path):
    def written(text: str) -> config.Config:
        path = tmp_path / "rocmonitor.yaml"
        path.write_text(text, encoding="utf-8")
        return config.load(path)

    return written


def test_everything_in_the_contract_is_read(load):
    monitor = load(FULL).monitors["credit-default"]
    assert monitor.rules == (Forecast(), Floor(value=0.7, confidence_level=0.99), Challenger())
    assert monitor.labels.delay == timedelta(days=30)
    assert monitor.start == datetime(2026, 3, 31, 22, tzinfo=UTC)  # midnight in Berlin, in summer time
    assert len(monitor.reference_windows) == 13
    assert monitor.reference_windows[0].start == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert monitor.reference_windows[-1].end == monitor.start


def test_without_windows_the_reference_is_cut_like_the_monitor(load):
    monitor = load(FULL.replace(", windows: 13", "")).monitors["credit-default"]
    windows = monitor.reference_windows
    assert len(windows) == 12
    assert windows[-1].end == monitor.reference_period.end  # no row lies between it and the first window
    assert all(a.end == b.start for a, b in pairwise(windows))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("every: 7d", "every: 7", "window.every: must be a whole number with s, m, h or d"),
        ("every: 7d", "every: 1s", "window.every: must be at least 1m"),
        ("timezone: Europe/Berlin", "timezone: Europe/Berln", "timezone: is not a time zone"),
        ("notify: [ops]", "notify: [oops]", "notify: 'oops' is not defined under channels (defined: ops)"),
        ("source: warehouse", "source: ware", "source: 'ware' is not defined under sources"),
        ("    grouped: auto", "    groupd: auto", "groupd: unknown key"),
        ("kind: floor, value: 0.70", "kind: floor, valu: 0.7", "rules.1.valu: unknown key"),
        ("kind: floor, value: 0.70", "kind: floor", "rules.1.value: required"),
        ("kind: floor, value: 0.70", "kind: floor, value: 7", "rules.1.value: Input should be less than 1"),
        ("kind: challenger", "kind: chalenger", "rules.2.kind: must be one of 'forecast', 'lasting'"),
        ("kind: challenger", "kind: outlook", "rules has kind outlook, which is judged before the labels"),
        ("kind: challenger", "kind: scores", "such as outlook: {after: 6h}"),
        ("    grouped: auto", "    outlook: {}", "outlook.after: required"),
        (
            "    grouped: auto",
            "    outlook: {after: 400d}",
            "outlook.after (400d) is longer than window.label",
        ),
        ("calibrated, conf", "fixed, conf", "rules.0: distance belongs to method fixed, which needs it"),
        ("calibrated, conf", "calibrated, distance: 0.1, conf", "rules.0: distance belongs to method fixed"),
        ("calibrated, conf", "dual, half_life: 5, conf", "rules.0: half_life belongs to method calibrated"),
        ("calibrated, conf", "calibrated, half_life: 0, conf", "rules.0.half_life: Input should be greater"),
        ("calibrated, conf", "calibrated, half_life: .nan, conf", "rules.0.half_life: Input should be"),
        ("calibrated, conf", "calibrated, alternative: more, conf", "rules.0.alternative: "),
        (">= :start AND", ">= '2026-01-01' AND", ":start missing"),
        (
            ">= :start AND",
            ">= :start::timestamp AND",
            "of which :start cannot be bound: write CAST(:start AS timestamp)",
        ),
        (">= :start AND", ">= %(start)s AND", "has %(start)s, where nothing is bound"),
        (">= :start AND", ">= ? AND", "has ?, where nothing is bound"),
        (">= :start AND", ">= ${start} AND", "has ${start, where nothing is bound"),
        ("SELECT loan_id", "DELETE FROM loans; SELECT loan_id", "must be one SELECT"),
        ("< :end", "< :end AND region = :region", "binds :region, which nothing gives a value"),
        ("0 6 * * *", "0 25 * * *", "schedule: is not a crontab line"),
        ("0 6 * * *", "0 0 31 2 *", "schedule: is not a crontab line"),
        ("from: 2026-01-01", "from: 2026-05-01", "reference: from"),
        ("label: 1,", "label: 2,", "positive: negative is needed"),
        ("label: 1,", "label: .nan, negative: 0,", "positive.label: must be a finite number, true, false or"),
        ("label: 1,", "label: 1, negative: -.inf,", "positive.negative: must be a finite number, true, fal"),
        ("champion: champion, ", "champion: champion, version: 7, ", "model: has both champion (a registry"),
        (
            "columns: {",
            "columns: {cluster: p_champion, ",
            "columns.cluster: must name what rows belong to, such as a customer; 'p_champion' is columns.ch",
        ),
        ("label_delay", "lable_delay", "window.lable_delay: unknown key: did you mean label_delay?"),
        ("    rules:", "    rulez: []\n    rules:", "credit-default.rulez: unknown key: did you mean rules?"),
        (
            "calibrated, conf",
            "calibrated, half_live: 3, conf",
            "rules.0.half_live: unknown key: did you mean half",
        ),
        ("monitors:", "chanels: {}\nmonitors:", "chanels: unknown key: did you mean channels?"),
        ("{w: 0.2}", "{weight: 0.2}", "operating_points.cost.0.weight: unknown key; there are w"),
        ("timeout: 60s", "time_out: 60s", "sources.warehouse.time_out: unknown key: did you mean timeout?"),
        (
            "url_env: W",
            "kind: fles, url_env: W",
            "sources.warehouse.kind: must be one of 'database', 'files', 'spark'",
        ),
        (
            "url_env: WAREHOUSE_URL",
            "kind: spark, remote_env: 'sc://a/b'",
            "remote_env: must be the name of an",
        ),
        (
            "url_env: WAREHOUSE_URL",
            "kind: spark, remote: a",
            "warehouse.remote: unknown key: did you mean rem",
        ),
        ("url_env: W", "kind: files, url_env: W", "sources.warehouse.path: required, but missing"),
        ("url_env: W", "kind: files, pth: W", "sources.warehouse.pth: unknown key: did you mean path?"),
        (
            "url_env: WAREHOUSE_URL",
            "kind: files, path: ''",
            "sources.warehouse.path: String should have at least",
        ),
        (
            "url_env: WAREHOUSE_URL",
            "kind: files, path: 's3://me:key@b/x'",
            "sources.warehouse.path: holds a login or a token",
        ),
        (
            "confidence_level: 0.95",
            "confidence_level: 95",
            "confidence_level: Input should be less than 1; it is 95; write confidence_level: 0.95 for 95 %",
        ),
        ("min_labelled: 0.95", "min_labelled: 95", "write min_labelled: 0.95 for 95 %"),
        ("from: 2026-01-01", "from: 01.02.2026", "it is '01.02.2026'; write the year first: 2026-02-01"),
        ("from: 2026-01-01", "from: 01/31/2026", "it is '01/31/2026'; write the year first: 2026-01-31"),
        (
            "from: 2026-01-01",
            "from: 1/2/2026",
            "it is '1/2/2026'; write the year first: 2026-01-02 or 2026-02-01",
        ),
        (
            "url_env: WAREHOUSE_URL",
            "url: 'postgresql://${HOST}/x'",
            "sources.warehouse.url: ${HOST} is not expanded; "
            "write url_env: NAME, with the whole address in that variable",
        ),
        (", challenger: p_challenger", "", "columns.challenger does not say where its scores are"),
        ("url_env: WAREHOUSE_URL", "url: 'postgresql://me:secret@db/x'", "url holds a password"),
        ("url_env: WAREHOUSE_URL, ", "", "needs exactly one of url, url_env and url_file"),
        ("min_labelled: 0.95", "min_labelled: 95", "min_labelled: Input should be less than or equal to 1"),
        ("{w: 0.2}", "{w: 2}", "operating_points.cost.0.w: must be a number from 0 to 1; it is 2"),
        ("{w: 0.2}", "{w: .nan}", "operating_points.cost.0.w: must be a number from 0 to 1; it is nan"),
        (
            "thresholds: [0.5]",
            "thresholds: [.inf]",
            "operating_points.thresholds.0: Input should be a finite number",
        ),
        (
            "thresholds: [0.5]",
            "thresholds: [.nan]",
            "operating_points.thresholds.0: Input should be a finite number",
        ),
        ("{w: 0.2}", "{w: true}", "operating_points.cost.0.w: must be a number from 0 to 1; it is True"),
        ("{w: 0.5}", "{w: 0.2}", "operating_points.cost: w 0.2 and w 0.2 would both be reported as 0.2"),
        ("{w: 0.5}", "{w: 0.20000001}", "cost: w 0.2 and w 0.20000001 would both be reported as 0.2"),
        ("calibrated, conf", "calibrated, half_life: true, conf", "rules.0: half_life must not be true or"),
        ("calibrated, conf", "calibrated, half_life: .inf, conf", "half_life: Input should be a finite"),
        ("kind: floor, value", "value", "rules.1.kind: required: forecast, lasting, floor, drop, cost"),
        (
            "channels: {ops",
            "page: roc.example\nchannels: {ops",
            "page: must be an address that starts with http",
        ),
    ],
)
def test_a_problem_is_told_with_its_place(load, tmp_path, old, new, problem):
    assert old in FULL
    with pytest.raises(ConfigError) as told:
        load(FULL.replace(old, new))
    assert problem in str(told.value)
    assert str(tmp_path / "rocmonitor.yaml") in str(told.value)
    assert "secret" not in str(told.value)


REVIEW = """    review: {decides: future, margin: 0.005, confidence_level: 0.9, fpr: [0.02], tuned_for: 26,
             start: 2026-05-01, correlation: none, schedule: "0 7 * * 1", n_resamples: 199,
             thresholds: [0.25],
             money: [{false_positive: 1, false_negative: 20, prevalence: 0.03, unit: EUR, decisions: 10000}]}
"""


def test_a_review_is_read(load):
    monitor = load(FULL + REVIEW).monitors["credit-default"]
    assert monitor.review_start == datetime(2026, 4, 30, 22, tzinfo=UTC)
    assert monitor.review is not None
    assert monitor.review.schedule == "0 7 * * 1"
    money = Money(false_positive=1, false_negative=20, prevalence=0.03, unit="EUR", decisions=10000)
    assert monitor.review_settings == ReviewSettings(
        rule=ReviewRule(
            decides="future",
            margin=0.005,
            confidence_level=0.9,
            fpr=(0.02,),
            tuned_for=26,
            correlation="none",
        ),
        min_per_class=50,
        thresholds=(0.25,),
        w=(0.2, 0.5),
        money=(money,),
        n_resamples=199,
    )


def test_a_review_takes_the_operating_points_unless_it_has_its_own(load):
    for section in ("", "    review: {}\n", "    review:\n"):
        monitor = load(FULL + section).monitors["credit-default"]
        assert monitor.review_start is None
        assert monitor.review_settings == ReviewSettings(
            rule=ReviewRule(fpr=(0.01, 0.05, 0.1)), thresholds=(0.5,), w=(0.2, 0.5)
        )
    none = load(FULL + "    review: {fpr: [], thresholds: []}\n").monitors["credit-default"].review_settings
    assert (none.rule.fpr, none.thresholds) == ((), ())


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{margn: 0.1}", "review.margn: unknown key"),
        ("{decides: past}", "review.decides: Input should be 'period' or 'future'; it is 'past'"),
        (
            "{correlation: none}",
            "review: correlation: none needs decides: future; the average of the windows",
        ),
        ("{decides: future, correlation: some}", "review.correlation: Input should be 'none' or 'estimated'"),
        ("{margin: 1}", "review.margin: Input should be less than 1; it is 1"),
        ("{margin: yes}", "review: margin must not be true or false"),
        ("{margin: -0.1}", "review.margin: Input should be greater than or equal to 0; it is -0.1"),
        ("{margin: .inf}", "review.margin: Input should be a finite number"),
        ("{confidence_level: 0.4}", "review.confidence_level: Input should be greater than 0.5"),
        ("{fpr: [1.0]}", "review.fpr.0: Input should be less than 1"),
        ("{fpr: [0.1, 0.10000001]}", "review.fpr: 0.1 and 0.10000001 would both be reported as 0.1"),
        ("{tuned_for: 0}", "review.tuned_for: Input should be greater than or equal to 1"),
        ("{n_resamples: 98}", "review.n_resamples: Input should be greater than or equal to 99"),
        ("{thresholds: [.nan]}", "review.thresholds.0: Input should be a finite number"),
        ("{schedule: daily}", "review.schedule: is not a crontab line"),
        ("{start: soon}", "review.start: must be a date or time"),
        ("{money: {unit: EUR}}", "review.money: must be a list"),
        ("{money: [{unit: EUR}]}", "review.money.0.false_positive: required, but missing"),
        (
            "{money: [{false_positive: true, false_negative: 1, prevalence: 0.1}]}",
            "review.money.0: false_positive must not be true or false",
        ),
        (
            "{money: [{false_positive: 0, false_negative: 0, prevalence: 0.1}]}",
            "review.money.0: ",
        ),
        ("7", "review: must be a mapping"),
    ],
)
def test_a_problem_of_a_review_is_told_with_its_place(load, section, problem):
    assert any(
        line.startswith(f"monitors.credit-default.{problem}")
        for line in told(load, f"{FULL}    review: {section}\n")
    )


def test_a_review_needs_a_challenger(load):
    where = "monitors.credit-default.review: compares a challenger with the champion: set "
    model = "model.challenger (a registry alias) or model.challenger_version"
    without = FULL.replace(", challenger: challenger", "")
    assert told(load, without + REVIEW) == [f"{where}{model}"]
    without = without.replace(", challenger: p_challenger", "").replace("      - {kind: challenger}\n", "")
    assert f"{where}columns.challenger (the column with its scores) and {model}" in told(
        load, without + REVIEW
    )


RULES = FULL[FULL.index("    rules:") : FULL.index("    schedule:")]
WAREHOUSE = "{url_env: WAREHOUSE_URL, timeout: 60s, max_rows: 20000000}"


def told(load, text: str) -> list[str]:
    """The problems, without the file's name."""
    with pytest.raises(ConfigError) as problems:
        load(text)
    return [line.partition(": ")[2] for line in str(problems.value).splitlines()]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("Europe/Berlin", "X/Y", "'X/Y'"),
        ("0 6 * * *", "0 25 * * *", "'0 25 * * *'"),
        ("every: 7d", "every: seven", "'seven'"),
        ("grouped: auto", "grouped: maybe", "'maybe'"),
        ("value: 0.70", "value: 12", "12"),
    ],
)
def test_a_value_is_told_once(load, old, new, value):
    assert [line.count(value) for line in told(load, FULL.replace(old, new))] == [1]


def test_a_forecast_may_look_for_a_loss_only_and_weigh_recent_windows_more(load):
    options = "calibrated, alternative: less, half_life: 6.5, conf"
    rules = load(FULL.replace("calibrated, conf", options)).monitors["credit-default"].rules
    assert rules[0] == Forecast(alternative="less", half_life=6.5)


def test_rules_that_are_wrong_are_not_said_to_be_missing(load):
    assert told(load, FULL.replace(RULES, "    rules: [{kind: floor}]\n")) == [
        "monitors.credit-default.rules.0.value: required, but missing"
    ]
    assert told(load, FULL.replace(RULES, "    rules: []\n")) == [
        "monitors.credit-default.rules: needs at least one rule"
    ]
    assert told(load, "{sources: {}, monitors: {}}") == [
        "sources: needs at least one source",
        "monitors: needs at least one monitor",
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (WAREHOUSE, "'postgresql://me:secret@db/x'", "sources.warehouse: must be a mapping (key: value)"),
        ("{url_env: ROCMONITOR_STORE_URL}", "[secret]", "store: must be a mapping (key: value)"),
        (RULES, "    rules: [floor]\n", "monitors.credit-default.rules.0: must be a mapping (key: value)"),
        ("{every: 7d, label_delay: 30d, min_labelled: 0.95, revise_for: 90d}", "7d",
         "monitors.credit-default.window: must be a mapping (key: value)"),
        ("[ops]", "ops", "monitors.credit-default.notify: must be a list ([…])"),
    ],
)  # fmt: skip
def test_a_section_of_another_kind(load, old, new, problem):
    assert old in FULL
    assert told(load, FULL.replace(old, new)) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{[1, 2]: 3}", "a key must be a plain value, not a list"),
        ("{? {a: 1} : 3}", "a key must be a plain value, not a dict"),
        (FULL.replace("to: 2026-04-01", "to: 2026-04-31"), "2026-04-31 is not a date: day .*range"),
    ],
)
def test_what_yaml_cannot_hold_is_told_with_its_line(load, text, problem):
    with pytest.raises(
        ConfigError, match=rf"rocmonitor\.yaml: is not valid YAML: {problem}(.|\n)*, line \d+"
    ):
        load(text)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@db/x",
        "postgresql://me:sec/ret@db/x",
        "postgresql://me@corp:secret@db/x",
        "postgresql://db/x?user=me&password=secret",
        "postgresql://db/x?sslmode=verify-full&sslPassword=secret",
        "mysql://db/x?PWD=secret",
        "mssql+pyodbc:///?odbc_connect=UID%3Dme%3BPwd%3Dsecret",
    ],
)
def test_a_password_does_not_stand_in_the_file(load, url):
    for old, key in (
        ("url_env: WAREHOUSE_URL", "sources.warehouse"),
        ("url_env: ROCMONITOR_STORE_URL", "store"),
    ):
        [problem] = told(load, FULL.replace(old, f"url: '{url}'"))
        assert problem.startswith(f"{key}: url holds a password; put it in")
        assert url not in problem
        assert "secret" not in problem


def test_a_url_in_place_of_a_variable_is_not_repeated(load):
    assert told(load, FULL.replace("url_env: WAREHOUSE_URL", "url_env: 'mysql://me:secret@db/x'")) == [
        "sources.warehouse.url_env: must be the name of an environment variable, in capitals such as "
        "WAREHOUSE_URL, not what it holds"
    ]


@pytest.mark.parametrize(
    "url", ["sqlite:///a:b.db", "postgresql://db:5432/x?passfile=/run/pw", "postgresql://me@db:5432/x"]
)
def test_a_url_without_a_password_may_stand_in_the_file(load, url):
    known = load(FULL.replace("url_env: WAREHOUSE_URL", f"url: '{url}'"))
    assert known.sources["warehouse"].url == url


@pytest.mark.parametrize(
    "url",
    [
        "slack://T1JJ3/hunter2/x",
        "tgram://hunter2/12",
        "https://hooks.example/hunter2",
        "mailto://me:hunter2@example.org",
        "json://hunter2@example.org/",
        "json://me:hunter2@example.org/",
        "json://example.org/ slack://hunter2",
        "json://example.org/?password=hunter2",
        "hunter2",
    ],
)
def test_a_channel_that_is_a_secret_does_not_stand_in_the_file(load, url):
    [problem] = told(load, FULL.replace("url_env: OPS_APPRISE_URL", f"url: '{url}'"))
    assert problem.startswith("channels.ops")
    assert "url_env" in problem
    assert "hunter2" not in problem


@pytest.mark.parametrize(
    "url",
    ["file://alarms.log", "file:///var/log/a.log"]
    + [f"{scheme}://localhost:8080/alarms" for scheme in ("json", "jsons", "xml", "xmls", "form", "forms")],
)
def test_a_channel_that_is_none_may_stand_in_the_file(load, url):
    assert load(FULL.replace("url_env: OPS_APPRISE_URL", f"url: '{url}'")).channels["ops"].url == url


@pytest.mark.parametrize(
    "quoted",
    [
        "note <> ':start'",
        "note <> 'it''s :start'",
        "note <> ':start' AND path LIKE '%\\' ESCAPE '\\'",
        '":start" IS NULL',
        "`:start` IS NULL",
        "true -- from :start",
        "true /* from\n:start */",
        "note <> $t$ :start $t$",
    ],
)
def test_a_bind_in_quotes_or_a_comment_is_refused(load, quoted):
    query = f"SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end AND {quoted}"
    [problem] = told(load, with_query(query))
    assert problem.startswith("monitors.credit-default.query: has :start within quotes or a comment")
    assert "outside of quotes and comments" in problem


@pytest.mark.parametrize(
    "fine",
    [
        "note <> '' AND :start < '2030-01-01' AND note <> 'x'",
        "note <> 'it\\'s' AND :start < '2030-01-01'",
        "path LIKE '%\\' AND :start < '2030-01-01'",
        "note <> '\\:start' AND at::time > '12:30'",
        "true -- it's\n AND note <> '--' AND :start < :end /* ' */ AND :start < :end",
    ],
)
def test_a_bind_beside_quotes_and_comments_is_read(load, fine):
    query = f"SELECT * FROM scored WHERE scored_at >= :start AND scored_at < :end AND {fine}"
    assert load(with_query(query)).monitors["credit-default"].query == query


def with_query(query: str) -> str:
    start, end = FULL.index("    query:"), FULL.index("    columns:")
    return f"{FULL[:start]}    query: {json.dumps(query)}\n{FULL[end:]}"


def test_all_problems_are_told_at_once(load):
    broken = FULL.replace("7d", "7").replace("Europe/Berlin", "Nowhere").replace("[ops]", "[no]")
    with pytest.raises(ConfigError) as told:
        load(broken)
    assert len(str(told.value).splitlines()) == 3


def test_two_monitors_of_one_name_are_not_silently_one(load):
    with pytest.raises(ConfigError, match="'ops' comes twice"):
        load(FULL.replace("{ops:", "{ops: {url_env: A}, ops:"))


@pytest.mark.parametrize("text", ["", "- a list", "monitors: [", "sources: {}"])
def test_a_file_that_is_no_configuration(load, text):
    with pytest.raises(ConfigError, match=r"rocmonitor\.yaml"):
        load(text)


def test_a_missing_file_says_how_to_get_one(tmp_path):
    with pytest.raises(ConfigError, match="rocmonitor init"):
        config.load(tmp_path / "none.yaml")


def test_a_relative_sqlite_path_lies_beside_the_file(load, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    known = load(
        FULL.replace("store: {url_env: ROCMONITOR_STORE_URL}", "").replace(
            "mlflow: {tracking_uri_env: MLFLOW_TRACKING_URI}", ""
        )
    )
    assert known.store_url == f"sqlite:///{tmp_path}/rocmonitor.db"
    assert known.tracking_uri == f"sqlite:///{tmp_path}/mlflow.db"


def test_secrets_come_from_the_environment_or_a_file(load, tmp_path, monkeypatch):
    known = load(
        FULL.replace("channels: {ops: {url_env: OPS_APPRISE_URL}}", "channels: {ops: {url_file: ops.url}}")
    )
    with pytest.raises(ConfigError, match="ROCMONITOR_STORE_URL is not set"):
        _ = known.store_url
    monkeypatch.setenv("ROCMONITOR_STORE_URL", "postgresql://me:secret@db/rocmonitor")
    assert known.store_url == "postgresql://me:secret@db/rocmonitor"
    with pytest.raises(ConfigError, match=r"cannot read the file named there"):
        known.channels["ops"].read(tmp_path)
    (tmp_path / "ops.url").write_text("json://localhost\n")
    assert known.channels["ops"].read(tmp_path) == "json://localhost"


def test_a_file_of_windows_has_a_byte_order_mark(load, tmp_path):
    known = load(
        FULL.replace("channels: {ops: {url_env: OPS_APPRISE_URL}}", "channels: {ops: {url_file: ops.url}}")
    )
    (tmp_path / "ops.url").write_bytes(b"\xef\xbb\xbfjson://localhost\r\n")
    assert known.channels["ops"].read(tmp_path) == "json://localhost"


@pytest.mark.parametrize(
    ("section", "read"),
    [
        ("heartbeat: {url_file: x}", lambda known, folder: known.heartbeat.read(folder)),
        ("webhook: {secret_file: x}", lambda known, folder: known.webhook.read(folder)),
    ],
)
def test_a_pipe_or_a_device_is_not_read(load, tmp_path, section, read):
    """Opening a pipe to which nobody writes would wait for ever."""
    known = load(f"{FULL}{section}\n")
    key = r"(heartbeat\.url|webhook\.secret)_file: cannot read the file named there"
    os.mkfifo(tmp_path / "x")
    with pytest.raises(ConfigError, match=f"^{key}: it is a pipe or device; name a regular file"):
        read(known, tmp_path)
    (tmp_path / "x").unlink()
    (tmp_path / "x").symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="it is a pipe or device"):
        read(known, tmp_path)
    (tmp_path / "x").unlink()
    (tmp_path / "x").mkdir()
    with pytest.raises(ConfigError, match="it is a folder"):
        read(known, tmp_path)


def test_a_name_with_other_characters_is_refused_once_and_in_words(load):
    with pytest.raises(ConfigError) as wrong:
        load(FULL.replace("credit-default:", '"credit default":'))
    said = [line for line in str(wrong.value).splitlines() if "name" in line]
    assert len(said) == 1
    rule = "a name may have only the letters A to Z and a to z, digits, and _ . -; it is 'credit default'"
    assert said[0].endswith(f"monitors.credit default: {rule}")


def test_merge_keys_are_merged_as_yaml_1_1_says(load, tmp_path):
    text = """
sources: {here: &here {url: "sqlite:///scored.db", max_rows: 5}, there: {<<: *here, max_rows: 7}}
monitors:
  first: &first
    source: here
    query: "SELECT * FROM scored WHERE at >= :start AND at < :end"
    columns: {time: at, label: y, champion: p}
    model: {name: credit, version: 1}
    window: &window {every: 7d, label_delay: 1d}
    reference: {from: 2026-01-05, to: 2026-03-02}
    rules: [{kind: forecast}]
  second:
    <<: *first
    source: there
    window: {<<: [{label_delay: 2d}, *window], every: 14d}
  third: {source: there, <<: *first}
"""
    known = load(text)
    assert (known.sources["there"].max_rows, known.sources["there"].url) == (7, known.sources["here"].url)
    assert list(known.monitors) == ["first", "second", "third"]
    second = known.monitors["second"]
    assert (second.name, second.source, second.query) == ("second", "there", known.monitors["first"].query)
    assert (second.window.every, second.window.label_delay) == (timedelta(days=14), timedelta(days=2))
    assert known.monitors["third"].source == "there"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x: &x {a: 1}\ny: {<<: *x, b: 1, b: 2}", "'b' comes twice, line 2, column 19"),
        ("x: &x {a: 1, a: 2}\ny: {<<: *x}", "'a' comes twice, line 1"),
        ("x: &x {a: 1}\ny: {<<: *x, <<: *x}", "<< comes twice; write <<: [*first, *second], line 2"),
        ("y: {<<: 3}", "<< must name a mapping (*name), or a list of them, line 1"),
        ("y: {<<: [{a: 1}, 3]}", "<< must name a mapping (*name), or a list of them, line 1"),
        ("y: &y {<<: *y}", "<< names a mapping that contains it, line 1"),
        ("x: &x {typo: 1}\nsources: {a: {<<: *x}}", "sources.a.typo: unknown key"),
        (
            "".join(
                f"x{n}: &x{n} {{<<: *x{n - 1}, k{n}: 1}}\n" if n else "x0: &x0 {k: 1}\n" for n in range(600)
            ),
            "<< merges too many keys; write the values out",
        ),
    ],
)
def test_merge_keys_that_cannot_be(load, text, says):
    with pytest.raises(ConfigError) as wrong:
        load(text)
    assert says in str(wrong.value)
    assert "tag:yaml" not in str(wrong.value)


def test_the_address_of_the_heartbeat_stays_outside(load, tmp_path, monkeypatch):
    beat = load(FULL + "heartbeat: {url_env: BEAT_URL, every: 90s}\n").heartbeat
    assert beat.every == timedelta(seconds=90)
    with pytest.raises(ConfigError, match=r"heartbeat\.url_env.*BEAT_URL is not set; export it"):
        beat.read(tmp_path)
    monkeypatch.setenv("BEAT_URL", "hc-ping.com/secret")
    with pytest.raises(
        ConfigError, match=r"heartbeat\.url_env: must hold an address such as https://"
    ) as wrong:
        beat.read(tmp_path)
    assert "secret" not in str(wrong.value)
    monkeypatch.setenv("BEAT_URL", "https://hc-ping.com/secret")
    assert beat.read(tmp_path) == "https://hc-ping.com/secret"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("heartbeat: {}", "heartbeat: needs either url_env or url_file"),
        ("heartbeat: {url_env: A, url_file: b}", "heartbeat: needs either url_env or url_file"),
        ("heartbeat: {url_env: A, every: 0s}", "heartbeat.every: must be at least 1s; it is '0s'"),
        ("heartbeat: {url_env: A, every: 5}", "heartbeat.every: must be a whole number with s, m, h or d"),
        ("heartbeat: https://hc-ping.com/secret", r"heartbeat: must be a mapping \(key: value\)$"),
        ("listen: 8790", "listen: Input should be a valid string; it is 8790"),
        ("listen: ':8790'", "listen: must be host:port, such as 127.0.0.1:8790; it is ':8790'"),
        ("listen: 'here:70000'", "listen: must be host:port"),
    ],
)
def test_a_listener_or_heartbeat_that_cannot_be(load, text, problem):
    with pytest.raises(ConfigError, match=problem):
        load(f"{FULL}{text}\n")


def test_the_secret_of_the_webhook_stays_outside(load, tmp_path, monkeypatch):
    hook = load(FULL + "webhook: {listen: '[::1]:8790', secret_env: HOOK_SECRET}\n").webhook
    assert host_and_port(hook.listen) == ("::1", 8790)
    with pytest.raises(ConfigError, match=r"webhook\.secret_env.*HOOK_SECRET is not set; export it"):
        hook.read(tmp_path)
    monkeypatch.setenv("HOOK_SECRET", "very")
    assert hook.read(tmp_path) == "very"
    hook = load(FULL + "webhook: {secret_file: hook.secret}\n").webhook
    with pytest.raises(ConfigError, match=r"webhook\.secret_file: cannot read the file named there"):
        hook.read(tmp_path)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{}", "needs either secret_env or secret_file"),
        ("{secret_env: A, secret_file: b}", "needs either secret_env or secret_file"),
        ("{secret: very}", "webhook.secret"),
        ("{listen: 8790, secret_env: A}", "webhook.listen"),
        ("{listen: ':8790', secret_env: A}", "must be host:port"),
        ("{listen: 'localhost:99999', secret_env: A}", "must be host:port"),
    ],
)
def test_a_webhook_that_cannot_be(load, section, problem):
    with pytest.raises(ConfigError, match=problem):
        load(f"{FULL}webhook: {section}\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("monitors: &a {x: *a}", "contains itself"),
        ("sources: &a [*a]", "contains itself"),
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in pairwise("abcdefgh")
        ), "repeat too much"),
        ("sources: " + "[" * 3000, "nested too deeply"),
    ],
)  # fmt: skip
def test_what_would_never_end_is_refused(load, text, problem):
    with pytest.raises(ConfigError, match=problem):
        load(text)


@pytest.mark.parametrize("key", ["label_delay: 30d", "every: 7d"])
@pytest.mark.parametrize("days", [36_501, 99_999_999_999])
def test_a_duration_beyond_the_calendar_is_refused(load, key, days):
    assert key in FULL
    with pytest.raises(ConfigError, match="at most 36500d, a hundred years"):
        load(FULL.replace(key, f"{key.partition(':')[0]}: {days}d"))


def test_a_version_is_no_switch(load):
    assert "champion: champion," in FULL
    with pytest.raises(ConfigError, match="must be a number or a text; it is True"):
        load(FULL.replace("champion: champion,", "version: yes,"))


EXAMPLE = Path(__file__).parents[2] / "docs/examples/rocmonitor.yaml"
BUDGET = "alarm_budget: {{false_alarms_per_year: 4, groups: {{cards: {{{group}}}}}}}\n"


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            "false_alarms_per_year: 1, monitors: [credit-defaut]",
            r"alarm_budget.groups.cards.monitors: 'credit-defaut' is not defined under monitors "
            r"\(defined: credit-default\).*credit-default",
        ),
        ("false_alarms_per_year: 1, monitors: []", r"alarm_budget.groups.cards.monitors: needs at least one"),
        (
            "false_alarms_per_year: 0, monitors: [credit-default]",
            r"groups.cards.false_alarms_per_year: .*; it is 0",
        ),
        ("false_alarms_per_year: 1", r"alarm_budget.groups.cards.monitors: required, but missing"),
    ],
)
def test_a_wrong_group_of_a_budget_is_named(tmp_path, group, message):
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text.replace("alarm_budget: {false_alarms_per_year: 4}\n", BUDGET.format(group=group))
    (tmp_path / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        config.load(tmp_path / "rocmonitor.yaml")


def test_a_written_level_is_known_from_a_default_one(tmp_path):
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text.replace(
        "{kind: challenger}",
        "{kind: lasting}\n      - {kind: forecast}\n      - {kind: lasting, horizon: 26}",
    )
    (tmp_path / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    loaded = config.load(tmp_path / "rocmonitor.yaml")
    assert loaded.monitors["credit-default"].load().written == {"forecast", "floor", "lasting_2"}
    assert set(loaded.levels("credit-default", loaded.allot({})).derived) == {"lasting", "forecast_2"}


def test_a_default_level_of_a_rule_made_in_python_is_no_written_one():
    monitor = config.load(EXAMPLE).monitors["credit-default"]
    given = {name: getattr(monitor, name) for name in monitor.model_fields_set}
    made = config.Monitor.model_validate(
        given | {"rules": (Forecast(), Lasting(horizon=26), Floor(value=0.7))}
    )
    assert made.load().written == {"lasting"}
