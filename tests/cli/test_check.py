"""``rocmonitor check``: what it prints and its exit codes."""

import re
import sqlite3

import pytest
from scenario import until


def test_check_explains_and_changes_nothing(here, rocmonitor):
    before = sorted(path.name for path in here.folder.iterdir())
    told = rocmonitor("check").stdout
    assert "20 windows, 8,000 rows, 8,000 labelled" in told
    assert re.search(r"expected windows: 1\d\d positives and 2\d\d negatives, with an AUROC of 0\.", told)
    assert re.search(r"about [\d.]+ false alarms a year; [\d.]+ to [\d.]+ are possible", told)
    assert re.search(r"each rule alone: forecast [\d.]+ \([\d.]+ to [\d.]+\), drop [\d.]+", told)
    assert re.search(r"a drop by 0\.0\d+ or more is found in the first window with 80 % probability", told)
    assert sorted(path.name for path in here.folder.iterdir()) == before


def test_a_column_that_is_missing_is_told_with_those_that_are_there(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(path.read_text().replace("label: label", "label: defaulted"))
    told = rocmonitor("check", code=2).stdout
    assert "monitors.credit.columns.label" in told
    assert "region" in told


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
        with sqlite3.connect(here.folder / "source.db") as database:
            database.execute("UPDATE scored SET p = 'low' WHERE id >= 2200000")
    told = rocmonitor("check", code=code).stdout
    assert says in told


def test_check_tells_of_a_reference_without_rows(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    path.write_text(
        path.read_text().replace("from: 2026-01-05, to: 2026-05-25", "from: 2025-01-05, to: 2025-05-25")
    )
    assert "0 rows, none labelled" in rocmonitor("check", code=4).stdout


def test_check_does_not_make_mlflow(here, rocmonitor):
    (here.folder / "mlflow.db").unlink()
    here.configure(window=until("2026-06-08"), model="{name: credit, champion: champion}")
    assert "no model has an alias in it" in rocmonitor("check", code=2).stdout
    assert not (here.folder / "mlflow.db").exists()


def test_check_says_what_the_level_of_a_lasting_change_means(here, rocmonitor):
    here.configure(window=until("2026-06-08"), rules="[{kind: lasting}, {kind: forecast}]")
    told = rocmonitor("check").stdout
    assert "lasting: 5 % probability of an alarm within 52 windows when nothing lasts" in told
    assert told.count("the reference covers 140 days, less than a year, so a season cannot be told") == 1
    assert re.search(r"each rule alone: lasting 0\.[01]\d* \(", told)


def test_a_reference_of_two_windows_cannot_serve_a_lasting_change(here, rocmonitor):
    path = here.folder / "rocmonitor.yaml"
    here.configure(window=until("2026-06-08"), rules="[{kind: lasting}]")
    path.write_text(path.read_text().replace("to: 2026-05-25", "to: 2026-01-19"))
    told = rocmonitor("check", code=4).stdout
    assert "needs 3 with both classes; the reference has 2: choose a longer period" in told
