"""Windows whose labels come late, through a whole tick."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from caveats import codes
from scenario import DEFAULTS as SECTIONS
from scenario import World, week

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Evaluation, Status
from rocmonitor.service import references
from rocmonitor.service.checking import check
from rocmonitor.service.tick import Tick, run_monitor
from rocmonitor.wording.format import percent
from rocmonitor.wording.verdicts import verdict

DAY = timedelta(days=1)
WINDOW = "{every: 7d, label_delay: 30d, revise_for: 70d}"
LATER = 52
"""A week that is judged when all labels of the reference are in."""

# Labels of positives and of high scores come first; the last ones come 90 days after the row.
KNOWN = (
    "datetime(scored_at, '+' || CAST((CASE WHEN label = 1 THEN 20 ELSE 60 END)"
    " * ((id * 7919) % 997) / 997.0 + CASE WHEN p > 0.6 THEN 0 ELSE 30 END AS INTEGER) || ' days')"
)


class Dated(World):
    """A world that says when its labels became known."""

    def configure(self, **changes: str) -> config.Config:
        known = changes.pop("known", KNOWN)
        column = changes.pop("column", ", labelled_at: known_at")
        sections = {name: changes[name] for name in changes if name in SECTIONS}
        super().configure(**DEFAULTS | sections)
        path = self.folder / "rocmonitor.yaml"
        text = path.read_text(encoding="utf-8")
        text = text.replace("SELECT * FROM", f"SELECT *, {known} AS known_at FROM")
        text = text.replace("challenger: q, label: label", f"label: label{column}")
        for old in [each for each in changes if each not in SECTIONS]:
            text = text.replace(old, changes[old])
        path.write_text(text, encoding="utf-8")
        return config.load(path)


DEFAULTS = {
    "window": WINDOW,
    "model": "{name: credit, version: 7}",
    "rules": "[{kind: forecast}, {kind: drop, value: 0.02}, {kind: floor, value: 0.6}]",
}


@pytest.fixture
def dated(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dated:
    for name in ("source.db", "mlflow.db"):
        shutil.copy(template / name, tmp_path / name)
    url = f"sqlite:///{tmp_path}/source.db"
    monkeypatch.setenv("SCENARIO_SOURCE_URL", url)
    return Dated(folder=tmp_path, source_url=url)


def tick(here: World, now: Any, **changes: Any) -> Tick:
    windows = changes.pop("windows", None)
    with here.runtime(now, **changes) as runtime:
        return run_monitor(runtime, runtime.config.monitors["credit"], now=now, windows=windows)


def backfilled(here: World, number: int, now: Any, **changes: Any) -> Evaluation:
    windows = here.configure(**changes).monitors["credit"].calendar.within(week(number), week(number + 1))
    done = tick(here, now, windows=windows, **changes)
    assert done.error is None
    [evaluation] = done.evaluations
    return evaluation


@pytest.mark.slow
def test_a_window_is_estimated_when_due_and_realised_in_the_end(dated: Dated) -> None:
    dated.score(LATER, n=1000)
    [first] = [
        each
        for each in tick(dated, week(LATER + 1) + 30 * DAY).evaluations
        if each.window.start == week(LATER)
    ]
    metrics = first.metrics
    assert metrics["estimate/label_age_days"] == 30
    assert 0.3 < metrics["estimate/labelled_share"] < 0.8
    assert metrics["estimate/labelled_share"] == metrics["data/labelled_share"]
    assert metrics["estimate/auc_low"] < metrics["estimate/auc"] < metrics["estimate/auc_high"]
    assert "labels-awaited" in codes(first)
    assert first.outcome is Status.OK
    assert [each.rule for each in first.verdicts] == ["forecast", "drop", "floor"]
    for each in first.verdicts:
        assert each.details["labelled_share"] == metrics["estimate/labelled_share"]
        assert each.details["labelled_auc"] == metrics["labelled/auc"]
        assert "auc" not in each.details or each.details["auc"] == metrics["champion/auc"]
        assert "% of the labels, 30 days after the window (labelled rows alone" in verdict(each)
    later = tick(dated, week(LATER + 1) + 95 * DAY).evaluations
    [last] = [each for each in later if each.window == first.window]
    assert (last.revision, last.counts.unlabelled) == (1, 0)
    assert not any(name.startswith("estimate/") for name in last.metrics)
    final = last.metrics["champion/auc"]
    assert metrics["estimate/auc_low"] < final < metrics["estimate/auc_high"]
    assert abs(metrics["estimate/auc"] - final) < abs(metrics["labelled/auc"] - final)
    assert metrics["champion/auc"] == metrics["estimate/auc"]  # what the rules judge is what is shown
    assert metrics["champion/auc_low"] < metrics["estimate/auc_low"]
    assert "labelled/auc" not in last.metrics


@pytest.mark.slow
def test_a_drop_is_found_before_the_labels_are_in(dated: Dated) -> None:
    """Its scores are lower, so a third of its labels are in, where the reference had 38 to 50 %."""
    dated.score(LATER, n=1000, shift=0.2)
    window = WINDOW.replace("}", ", min_labelled: 0.3}")
    bad = tick(dated, week(LATER + 1) + 30 * DAY, window=window).evaluations[-1]
    assert [each.outcome for each in bad.verdicts][:2] == [Status.DEGRADED, Status.DEGRADED]
    assert "shift" not in bad.tables
    assert not any(name.startswith("shift/") for name in bad.metrics)


@pytest.mark.slow
def test_a_backfill_sees_what_was_known_when_the_window_was_due(dated: Dated) -> None:
    dated.score(LATER, n=1000)
    window = dated.configure().monitors["credit"].calendar.within(week(LATER), week(LATER + 1))
    then = tick(dated, week(LATER + 1) + 30 * DAY).evaluations[-1]
    assert window[0] == then.window
    again = backfilled(Dated(folder=dated.folder, source_url=dated.source_url), LATER, week(LATER + 40))
    # It was judged before, so late labels make a revision at the instant of the backfill.
    assert (again.revision, again.counts.unlabelled) == (1, 0)


@pytest.mark.slow
def test_a_first_backfill_sees_what_was_known_when_the_window_was_due_and_revises_it_in_the_same_call(
    dated: Dated,
) -> None:
    for number in range(LATER, LATER + 3):
        dated.score(number, n=1000)
    windows = dated.configure().monitors["credit"].calendar.within(week(LATER), week(LATER + 3))
    done = tick(dated, week(LATER + 40), windows=windows)
    then, now = done.evaluations[:3], done.evaluations[3:]
    assert [each.revision for each in done.evaluations] == [0, 0, 0, 1, 1, 1]
    assert [each.window for each in then] == [each.window for each in now] == windows
    assert then[0].metrics["estimate/label_age_days"] == 30
    assert all(each.counts.unlabelled > 200 for each in then)
    assert then[0].provenance["as_of"] == (week(LATER + 1) + 30 * DAY).isoformat()
    assert all(each.counts.unlabelled == 0 for each in now)
    again = tick(dated, week(LATER + 40), windows=windows)
    assert again.evaluations == []
    assert again.unchanged == windows
    late = tick(dated, week(LATER + 40)).evaluations  # closed to revision
    assert not {each.window for each in late} & set(windows)


@pytest.mark.slow
def test_the_reference_is_kept_once_its_labels_are_complete(dated: Dated) -> None:
    dated.score(20)
    monitor = dated.configure().monitors["credit"]
    complete = references.complete_at(monitor)
    assert complete == monitor.reference_period.end + 100 * DAY
    early = tick(dated, week(21) + 30 * DAY).evaluations[-1]
    with dated.runtime() as runtime:
        assert not store.reference(runtime.store, "credit", references.digest(monitor))
    assert "estimate/auc" in early.metrics  # from what the reference shows so far
    assert "reference-labels-open" in codes(early)
    tick(dated, complete)
    with dated.runtime() as runtime:
        kept = store.reference(runtime.store, "credit", references.digest(monitor))
    assert len(kept[""]["labels"]["ages"]) == 34
    assert "labels" not in early.reference


def test_without_the_column_shares_are_compared_and_few_labels_refused(dated: Dated) -> None:
    for number, share in ((20, 0.95), (21, 0.7), (22, 0.4)):
        dated.score(number, labelled=share)
    alike, other, few = tick(dated, week(23) + 31 * DAY, column="").evaluations
    assert not {"labelled-shares-differ", "too-few-labels"} & set(codes(alike))
    [differs] = [each for each in other.caveats if each.code == "labelled-shares-differ"]
    assert differs.values == {"labelled_share": 0.7, "reference_share": 1.0}
    assert other.outcome is Status.OK
    assert few.outcome is Status.INSUFFICIENT
    [lack] = few.verdicts[0].lacks
    assert (lack.code, lack.values["needed"], lack.values["labelled_share"]) == ("too-few-labels", 0.5, 0.4)
    assert few.metrics["champion/auc"] > 0.5  # shown, and not judged
    assert "forecast/margin" not in few.metrics
    assert "40 %" in verdict(few.verdicts[0])


@pytest.mark.parametrize(("needed", "outcome"), [(0.3, Status.OK), (0.8, Status.INSUFFICIENT)])
def test_the_share_that_is_needed_can_be_set(dated: Dated, needed: float, outcome: Status) -> None:
    dated.score(20, labelled=0.7)
    window = f"{{every: 7d, label_delay: 2d, min_labelled: {needed}}}"
    [found] = tick(dated, week(21) + 2 * DAY, window=window, column="").evaluations
    assert found.outcome is outcome


def test_labels_that_come_otherwise_than_in_the_reference_are_not_judged(dated: Dated) -> None:
    dated.score(LATER, n=1000)
    slower = KNOWN.replace("AS INTEGER)", f"+ CASE WHEN id >= {LATER}00000 THEN 22 ELSE 0 END AS INTEGER)")
    found = tick(dated, week(LATER + 1) + 30 * DAY, known=slower).evaluations[-1]
    assert found.outcome is Status.INSUFFICIENT
    assert {each.lacks[0].code for each in found.verdicts} == {"labels-arrive-otherwise"}
    assert "estimate/auc" in found.metrics
    assert "come later than in the reference" in verdict(found.verdicts[0])


@pytest.mark.slow
def test_too_short_a_history_is_said(dated: Dated) -> None:
    dated.score(LATER)
    short = {"from: 2026-01-05, to: 2026-05-25": "from: 2026-01-05, to: 2026-02-16"}
    found = tick(dated, week(LATER + 1) + 30 * DAY, **short).evaluations[-1]
    assert found.outcome is Status.INSUFFICIENT
    assert "at least 8 are needed" in verdict(found.verdicts[0])


def explained(here: Dated, now: Any, **changes: str) -> list[str]:
    lines: list[str] = []
    check(here.configure(**changes), now=now, output=lines.append, explain=True)
    start = next(number for number, line in enumerate(lines) if line.startswith("  labels"))
    stop = next(number for number, line in enumerate(lines) if line.startswith("  rules"))
    return [line[12:] for line in lines[start:stop]]


@pytest.mark.slow
def test_check_concludes_from_both_shares(dated: Dated) -> None:
    until = "{{every: 7d, label_delay: 2d, end: {}}}"
    for number, share in ((20, 0.95), (21, 0.7), (22, 0.4)):
        dated.score(number, labelled=share)
    ends = ("2026-06-01", "2026-06-08", "2026-06-15")
    alike, other, few = (explained(dated, week(30), column="", window=until.format(end)) for end in ends)
    both = "of the rows of the last window have a label, 100 % of the reference's"
    assert alike == [f"95 % {both}: they can be compared as they are"]
    assert other[0].startswith(f"WARNING: 70 % {both}: where labels come first to some scores")
    assert "columns.labelled_at" in other[0]
    assert "50 % are needed, so such a window is insufficient" in few[0]


@pytest.mark.slow
def test_check_shows_the_shares_at_the_label_age(dated: Dated) -> None:
    dated.score(20)
    until = "{{every: 7d, label_delay: {}, revise_for: 70d, end: 2026-06-01}}"
    shown = explained(dated, week(40), window=until.format("30d"))
    assert shown[0].startswith("when due, ")
    assert shown[0].endswith("100 % in the end")
    ages = [0, 7.5, 15, 22.5, 30, 100]
    with dated._engine() as engine, engine.connect() as connection:
        known = [
            connection.exec_driver_sql(
                f"SELECT AVG(({KNOWN}) <= datetime('{week(number + 1):%Y-%m-%d}', '+{age * 24} hours')) "
                f"FROM scored WHERE id >= {number}00000 AND id < {number + 1}00000"
            ).scalar_one()
            for age in ages
            for number in range(14, 20)
        ]
    shares = [sum(known[6 * place : 6 * place + 6]) / 6 for place in range(len(ages))]
    curve = ", ".join(
        f"{percent(share, 2)} after {age:g} days" for share, age in zip(shares, ages, strict=True)
    )
    assert shown[1] == f"labels by age, in its last 6 windows: {curve}"
    assert shown[2].startswith("so a window is estimated when due")
    assert shown[3].startswith("the last window: ")
    rules = "[{kind: drop}, {kind: cost, w: 0.2, value: 0.3}]"
    known = explained(dated, week(40), window=until.format("30d"), rules=rules)
    assert known[3].startswith("WARNING: cost: only ")
    assert known[3].endswith("raise window.label_delay (100 % after 100 days)")
    complete = explained(dated, week(40), window=until.format("95d"))
    assert complete[-1].startswith("so labels are complete when a window is due")
    slower = KNOWN.replace("AS INTEGER)", "+ CASE WHEN id >= 2000000 THEN 30 ELSE 0 END AS INTEGER)")
    late = explained(dated, week(40), window=until.format("30d"), known=slower)
    assert "fewer than in any reference window" in late[-1]
