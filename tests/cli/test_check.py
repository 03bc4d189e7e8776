"""``rocmonitor check``: what it prints and its exit codes."""

import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from scenario import until


@pytest.mark.slow
def test_check_explains_and_changes_nothing(here, rocmonitor):
    before = sorted(path.name for path in here.folder.iterdir())
    told = rocmonitor("check", "--explain").stdout
    assert "20 windows, 8,000 rows, 8,000 labelled" in told
    assert re.search(r"expected windows: 1\d\d positives and 2\d\d negatives, with an AUROC of 0\.", told)
    assert re.search(
        r"about [\d.]+ false alarms a year \(80 % range [\d.]+ to [\d.]+: the reference has \d+ windows\)",
        told,
    )
    assert re.search(r"each rule alone: forecast [\d.]+ \([\d.]+ to [\d.]+\), drop [\d.]+", told)
    assert re.search(r"a drop by 0\.0\d+ or more is found in the first window with 80 % probability", told)
    assert sorted(path.name for path in here.folder.iterdir()) == before


def test_a_column_that_is_missing_is_told_with_those_that_are_there(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text().replace("label: label", "label: defaulted"))
    told = rocmonitor("check", "--explain", code=2).stdout
    assert "monitors.credit.columns.label" in told
    assert "region" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "code", "says"),
    [
        ({"p": "low"}, 4, "400 without a usable score"),
        ({"label": 2}, 4, "400 with a label of neither class"),
        ({"labelled": 0.0}, 4, "400 without a label"),
        (None, 4, "no rows"),
    ],
)
def test_check_tells_that_a_window_cannot_be_judged_and_why(here, rows, code, says, rocmonitor):
    here.configure(window=until("2026-06-15"))
    if rows is not None:
        here.score(22, **{name: value for name, value in rows.items() if name != "p"})
    if rows == {"p": "low"}:
        with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
            database.execute("UPDATE scored SET p = 'low' WHERE id >= 2200000")
    told = rocmonitor("check", "--explain", code=code).stdout
    assert says in told


def test_check_prints_the_next_times_of_the_schedule(here, rocmonitor):
    here.configure(window=until("2026-06-15"))
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text() + "    timezone: Europe/Berlin\n    schedule: '30 6 * * 1'\n")
    told = " ".join(rocmonitor("check", "--explain", code=4).stdout.split())  # weeks of another zone
    [times] = re.findall(r"checks at 30 6 \* \* 1, Europe/Berlin: next (.*?CES?T, .*?CES?T, .*? CES?T)", told)
    path.write_text(path.read_text().replace(", end: 2026-06-15", ""))
    assert f"checked next {times}" in " ".join(rocmonitor("check", code=4).stdout.split())
    first, second, third = (datetime.fromisoformat(time[4:20]) for time in times.split(", "))
    assert times.startswith("Mon ")
    assert (first.weekday(), first.hour, first.minute) == (0, 6, 30)
    assert second - first == third - second == timedelta(days=7)


def test_check_tells_of_a_reference_without_rows(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("from: 2026-01-05, to: 2026-05-25", "from: 2025-01-05, to: 2025-05-25")
    )
    assert "0 rows, none labelled" in rocmonitor("check", "--explain", code=4).stdout


@pytest.mark.slow
def test_check_does_not_make_mlflow(here, rocmonitor):
    (here.folder / "mlflow.db").unlink()
    here.configure(window=until("2026-06-08"), model="{name: credit, champion: champion}")
    assert "no model has an alias in it" in rocmonitor("check", "--explain", code=5).stdout
    assert not (here.folder / "mlflow.db").exists()


@pytest.mark.slow
def test_check_says_what_the_level_of_a_lasting_change_means(here, rocmonitor):
    here.configure(window=until("2026-06-08"), rules="[{kind: lasting}, {kind: forecast}]")
    told = rocmonitor("check", "--explain").stdout
    assert "lasting: 5 % probability of an alarm within 52 windows when nothing lasts" in told
    assert told.count("the reference covers 140 days, less than a year, so a season cannot be told") == 1
    assert re.search(r"each rule alone: lasting 0\.[01]\d* \(", told)


def test_a_reference_of_two_windows_cannot_serve_a_lasting_change(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    here.configure(window=until("2026-06-08"), rules="[{kind: lasting}]")
    path.write_text(path.read_text().replace("to: 2026-05-25", "to: 2026-01-19"))
    told = rocmonitor("check", "--explain", code=4).stdout
    assert "needs 3 with both classes; the reference has 2: choose a longer period" in told


@pytest.mark.slow
def test_check_answers_three_questions_and_no_more(here, rocmonitor):
    told = rocmonitor("check").stdout.splitlines()
    topics = [line.split("  ")[1].strip() for line in told if line.startswith("  ") and line[2] != " "]
    assert told[0] == "credit"
    assert topics == ["normal", "judged", "alarms"]
    assert len(told) <= 12
    said = " ".join(" ".join(told).split())
    assert re.search(
        r"AUROC 0\.\d{2} to 0\.\d{2}; 0\.\d{2} in the reference\. A drop of 0\.\d+ shows in", said
    )
    assert "the 20 windows of the reference are all large enough; the last window has" in said
    assert re.search(r"about [\d.]+ false alarms a year \([\d.]+ to [\d.]+\)", said)
    whole = rocmonitor("check", "--explain").stdout
    assert all(line in whole for line in told)


@pytest.mark.slow
def test_a_drop_that_one_window_shows_is_not_said_to_show_again(here, rocmonitor):
    """4,000 rows a window show less than 0.05 at once, 400 rows mostly; 400 rows by a wide rule do not."""
    said = " ".join(rocmonitor("check").stdout.split())
    assert re.search(r"A drop of 0\.\d+ shows in the first window judged", said)
    here.configure(window=until("2026-06-08"), rules="[{kind: drop, value: 0.05}]")
    said = " ".join(rocmonitor("check").stdout.split())
    assert re.search(
        r"A drop of 0\.\d+ shows in the first window, one of 0\.05 that stays shows in about \d+ days", said
    )
    here.configure(window=until("2026-06-08"))
    with closing(sqlite3.connect(here.folder / "source.db")) as database, database:
        database.execute("DELETE FROM scored")
    for week in range(24):
        here.score(week, n=4000)
    said = " ".join(rocmonitor("check").stdout.split())
    drop = re.search(r"A drop of (0\.\d+) shows in the first window.", said)
    assert drop
    assert float(drop[1]) <= 0.05
    assert "that stays" not in said


def test_a_problem_stands_below_the_answers(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text().replace("label: label", "label: defaulted"))
    told = rocmonitor("check", code=2).stdout
    assert told.count("PROBLEM") == 1
    assert "monitors.credit.columns.label" in told


def test_small_windows_are_a_warning_with_what_helps(here, rocmonitor):
    here.configure(min_per_class="200")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: 20 of the 20 windows of the reference have fewer than 200 positives" in told
    assert "pool: 2 in window puts up to 2 together until they are enough" in told
    assert "in the reference" in told
    assert "shows in" not in told


def test_advice_on_small_windows_counts_windows_and_not_the_parts_of_the_reference(here, rocmonitor):
    """20 weeks in 10 parts: a window has about 160 positives, a part twice as many."""
    path = here.folder / "rocmonitor.yaml"
    for least, advice in (("200", "pool: 2"), ("400", "pool: 3")):
        here.configure(window=until("2026-06-08"), min_per_class=least)
        text = path.read_text("utf-8")
        path.write_text(text.replace("to: 2026-05-25}", "to: 2026-05-25, windows: 10}"), "utf-8")
        told = " ".join(rocmonitor("check", code=4).stdout.split())
        assert "WARNING: windows of 7d have about 1" in told
        assert f"positives, as the reference shows, and {least} are needed (min_per_class)" in told
        assert f"{advice} in window puts up to {advice[-1]} together" in told
        assert "shows in" not in told


def test_rules_that_see_no_less_than_a_collapse_are_a_warning(here, rocmonitor):
    here.configure(window=until("2026-06-08"), rules="[{kind: floor, value: 0.55}]")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: only a collapse of the model would show in one window: take longer windows" in told
    assert "or rule lasting, which adds windows up" in told
    here.configure(
        window=until("2026-06-08"),
        rules="[{kind: floor, value: 0.55}, {kind: lasting}]",
    )
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "take longer windows (window.every) or a longer reference" in told


@pytest.mark.slow
def test_alarms_more_than_once_a_month_are_a_warning(here, rocmonitor):
    here.configure(
        window="{every: 1d, label_delay: 2d, end: 2026-06-08}",
        min_per_class="5",
        rules="[{kind: forecast, confidence_level: 0.8}]",
    )
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: more than one false alarm a month: set alarm_budget" in told
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"alarm_budget: {{false_alarms_per_year: 40}}\n{path.read_text()}")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "more than one false alarm a month: lower false_alarms_per_year of alarm_budget" in told


@pytest.mark.slow
def test_the_reference_is_drawn(here, rocmonitor):
    rocmonitor("check", "--output", "check.html")
    page = (here.folder / "check.html").read_text(encoding="utf-8")
    assert "AUROC of the 20 reference windows of credit and the normal range" in page
    assert page.count("data-chart=") == 1
    assert "<dt>alarms</dt>" in page
    done = rocmonitor("check", "--output", "nowhere/check.html", code=2)
    assert "nowhere/check.html" in done.stderr
    here.configure(min_per_class="200")
    rocmonitor("check", "--output", "check.html", code=4)
    assert "have fewer than 200 positives" in (here.folder / "check.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_rule_that_finds_most_windows_degraded_is_a_warning(here, rocmonitor):
    here.configure(window=until("2026-06-08"), rules="[{kind: forecast}, {kind: floor, value: 0.95}]")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: most windows will be found degraded although nothing is wrong: see floor" in told


def test_segments_too_small_to_be_judged_are_a_warning(here, rocmonitor):
    here.configure(window=until("2026-06-08"), segments="[label]", min_per_class="50")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: 2 of 2 segment values have too few rows to be judged: take longer windows" in told


def test_no_rule_that_alarms_is_a_warning(here, rocmonitor):
    here.configure(window=until("2026-06-08"), rules="[{kind: challenger}]")
    told = " ".join(rocmonitor("check", code=4).stdout.split())
    assert "WARNING: the false alarms of these rules cannot be counted" in told
