"""``rocmonitor explain``: which groups made a change, or that none did."""

import json

import pytest
from scenario import World, scored, week
from sqlalchemy import update

from rocmonitor.service.tick import run_monitor
from rocmonitor.wording.format import apart

ENDED = "{every: 7d, label_delay: 2d, end: 2026-06-15}"
EXPLAIN = "{id: id, time: scored_at, champion: p, challenger: q, label: label, explain: [region]}"


@pytest.fixture
def regions(here: World) -> World:
    """Two regions in every week; in week 22 the scores of one say nothing, in 23 those of both are worse."""
    for number in range(20):
        here.score(number, n=200, region="north")
    for number, north, others in ((22, 0.0, 1.2), (23, 0.6, 0.6)):
        here.score(number, n=200, region="north", shift=north)
        here.score(number, n=400, shift=others)
    with here.runtime(week(25), columns=EXPLAIN) as runtime:
        tick = run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
        assert tick.error is None
        assert tick.judged == 4
    return here


def test_the_group_that_lost_is_named_with_how(regions, rocmonitor):
    said = " ".join(rocmonitor("explain", "credit", "--window", "2026-06-08").stdout.split())
    assert "credit, 2026-06-08 to 2026-06-15 (UTC) The AUROC fell by 0." in said
    assert (
        "of that comes from region = north: its rows are ranked worse; its share is unchanged (33 %)." in said
    )
    assert "Without north the AUROC is 0." in said
    lines = rocmonitor("explain", "credit", "--window", "2026-06-08").stdout.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("clear"))
    assert lines[head + 1].split()[:3] == ["●", "region", "north"]
    assert "●" not in " ".join(lines[head + 2 :])
    found = json.loads(rocmonitor("explain", "credit", "--window", "2026-06-08", "--json").stdout)
    parts = {each["group"]: each for each in found["groups"]}
    assert set(parts) == {"all", "north"}
    assert sum(each["part"] for each in parts.values()) == pytest.approx(found["change"], abs=1e-4)
    assert parts["north"]["part"] < parts["all"]["part"] < 0
    assert parts["north"]["found"]
    assert parts["north"]["rows"] == 200


def test_labels_that_came_after_the_window_was_judged_are_said(regions, rocmonitor):
    asked = ("explain", "credit", "--window", "2026-06-08")
    assert "was judged with" not in rocmonitor(*asked).stdout
    with regions._engine() as engine, engine.begin() as connection:
        connection.execute(
            update(scored)
            .where(scored.c.scored_at >= week(22).replace(tzinfo=None), scored.c.id % 5 == 0)
            .values(label=1)
        )
    said = " ".join(rocmonitor(*asked).stdout.split())
    now = json.loads(rocmonitor(*asked, "--json").stdout)["auc"]
    kept = json.loads(rocmonitor("history", "credit", "--json").stdout)["evaluations"]
    [before] = [each for each in kept if each["window"]["start"].startswith("2026-06-08")]
    auc = before["metrics"]["champion/auc"]
    assert (
        "The window was judged with {}: {} is by the labels that are known now.".format(*apart(auc, now))
        in said
    )


def test_that_a_window_could_not_be_judged_is_said(here: World, rocmonitor):
    for number in range(20):
        here.score(number, n=200, region="")
    here.score(22, n=24, region="")
    with here.runtime(week(24), columns=EXPLAIN) as runtime:
        run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock())
    said = " ".join(rocmonitor("explain", "credit").stdout.split())
    assert "This window is insufficient: " in said
    assert "of 24 rows; min_per_class is " in said
    assert "(empty text)" in said


def test_a_fall_of_all_alike_is_no_groups(regions, rocmonitor):
    assert "2026-06-08 to 2026-06-22" in rocmonitor("explain", "credit").stdout  # since the loss began
    said = " ".join(rocmonitor("explain", "credit", "--window", "2026-06-15").stdout.split())
    assert "2026-06-15 to 2026-06-22" in said
    assert "did much more than its share of the rows." in said


def test_a_column_that_explains_nothing_says_why_and_others_do(regions, rocmonitor):
    said = " ".join(
        rocmonitor("explain", "credit", "--column", "region", "--column", "scored_at").stdout.split()
    )
    assert "scored_at explains nothing: " in said
    assert "scored_at has 8,000 values in 12,000 rows, none of them in 20 (min_group): give a coarser" in said
    assert "region" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--column", "nowhere"),
            "query does not give nowhere, which should explain a change; it gives id, scored_at, p",
        ),
        (("--window", "2026-06-09"), "no judged window of credit starts then; the nearest is 2026-06-08 to"),
        (("--window", "someday"), "--window must be a date or time such as 2026-01-31"),
    ],
)
def test_what_cannot_be_explained_says_the_way_out(regions, rocmonitor, arguments, says):
    assert says in " ".join(rocmonitor("explain", "credit", *arguments, code=2).stderr.split())


def test_without_columns_it_says_which_key_names_them(here, rocmonitor):
    here.configure()
    said = rocmonitor("explain", "credit", code=2).stderr
    assert "monitors.credit.columns.explain is empty" in said
    assert "has not been judged yet" in rocmonitor("explain", "credit", "--column", "region", code=2).stderr


@pytest.mark.parametrize("role", ["label", "p", "scored_at"])
def test_the_label_and_the_score_explain_nothing(here, rocmonitor, role):
    path = here.folder / "rocmonitor.yaml"
    here.configure(columns=EXPLAIN.replace("[region]", "[region]"))
    path.write_text(path.read_text().replace("explain: [region]", f"explain: [region, {role}]"))
    said = rocmonitor("explain", "credit", code=2).stderr
    assert "columns.explain" in said
    assert "must name inputs or groups of cases" in said


@pytest.mark.slow
def test_a_change_of_the_mix_is_named(here, rocmonitor):
    """North ranks at random, and goes from a tenth of the rows to two thirds."""
    for number in range(20):
        here.score(number, n=44, region="north", shift=0.0)
    here.score(22, n=800, region="north", shift=0.0)
    here.score(22)
    with here.runtime(week(25), columns=EXPLAIN) as runtime:
        assert run_monitor(runtime, runtime.config.monitors["credit"], now=runtime.clock()).error is None
    said = " ".join(rocmonitor("explain", "credit", "--window", "2026-06-08").stdout.split())
    assert "of that comes from region = north: there are more of them (67 % of the rows, 9.9 % in" in said


def test_without_a_usable_column_the_change_is_said(regions, rocmonitor):
    said = " ".join(rocmonitor("explain", "credit", "--column", "scored_at").stdout.split())
    assert "The AUROC fell by 0." in said
    assert "No column could be used." in said
    found = json.loads(rocmonitor("explain", "credit", "--column", "scored_at", "--json").stdout)
    assert found["groups"] == []
    assert 0.5 < found["auc"] < found["reference_auc"] < 1
    assert list(found["refused"]) == ["scored_at"]


@pytest.mark.slow
@pytest.mark.parametrize("grouped", ["database", "condensed"])
def test_the_engine_counts_what_reading_the_rows_gives(here, rocmonitor, grouped):
    """Values, few numbers, bins of many numbers, rows without a value, and bytes."""
    query = (
        "SELECT *, abs(q) AS size, id % 3 AS kind, nullif(region, 'all') AS some, "
        "CASE region WHEN 'all' THEN x'ff00' ELSE x'41' END AS raw FROM scored"
    )
    for number in range(20):
        here.score(number, n=200, region="north")
    here.score(22)
    here.score(22, n=400, region="north", shift=0.0)

    def found(how):
        path = here.folder / "rocmonitor.yaml"
        columns = EXPLAIN.replace("[region]", "[region, size, kind, some, raw]").replace(
            "challenger: q, ", ""
        )
        model, rules = "{name: credit, version: 7}", "[{kind: drop, value: 0.02}]"
        here.configure(columns=columns, grouped=how, window=ENDED, model=model, rules=rules)
        path.write_text(path.read_text().replace("SELECT * FROM scored", query))
        if how == "raw":
            rocmonitor("run", code=3)
        return json.loads(rocmonitor("explain", "credit", "--window", "2026-06-08", "--json").stdout)

    by_rows, by_engine = found("raw"), found(grouped)
    assert by_rows["refused"] == by_engine["refused"] == {}
    near = 1e-9 if grouped == "database" else 2e-3
    assert by_engine["change"] == pytest.approx(by_rows["change"], abs=near)
    parts = {(each["column"], each["group"]): each for each in by_engine["groups"]}
    assert len(parts) == len(by_rows["groups"]) == 2 + 10 + 3 + 2 + 2
    for each in by_rows["groups"]:
        other = parts[each["column"], each["group"]]
        assert other["rows"] == each["rows"]
        assert other["reference_share"] == pytest.approx(each["reference_share"])
        assert other["part"] == pytest.approx(each["part"], abs=near)
        assert other["se"] == pytest.approx(each["se"], rel=0.1)
