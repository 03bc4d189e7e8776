"""One store, five views: page, report, MLflow's note, terminal and JSON give each window the same numbers.

Every cell is held against the number that is stored, at the digits it is printed with; then every number with
decimals in the text about one window must be one that is stored.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from commands import Rocmonitor
from flask.testing import FlaskClient
from scenario import World, until, week

from rocmonitor import store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.report.pages import window_page
from rocmonitor.store import evaluations
from rocmonitor.tracking import content, note
from rocmonitor.web.alone import create_app
from rocmonitor.web.site import Site
from rocmonitor.wording.format import lower

MONITORS = ("credit", "calm", "early")
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
DECIMAL = re.compile(r"(?<![\d.,v])[+-]?\d+\.\d+(?:e-?\d+)?(?![\d.]\d)")


@pytest.fixture(scope="module")
def rocmonitor(site: Site) -> Rocmonitor:
    return Rocmonitor(site.path.parent)


def newest(site: Site, monitor: str) -> dict[str, Evaluation]:
    """The newest revision of each window of all rows, by the window's name."""
    found = sorted(evaluations(site.store(), monitor, segment=""), key=lambda each: each.revision)
    return {each.window.in_zone(each.zone): each for each in found}


def numbers(text: str) -> list[str]:
    return [
        found.replace(",", "") for found in NUMBER.findall(plain(text).replace("–", " ").replace("-0", " 0"))
    ]


def plain(text: str) -> str:
    return html.unescape(text).replace("−", "-").replace("\u00a0", " ").replace("\u202f", " ")


def is_printed(text: str, value: float) -> bool:
    """Whether the text is this value, rounded to the digits that it has."""
    half = Decimal(text).as_tuple().exponent
    assert isinstance(half, int)
    return abs(float(text) - value) <= 0.5 * 10.0**half * (1 + 1e-9)


def same(texts: list[str], values: list[float | None], what: object) -> None:
    known = [value for value in values if value is not None]
    assert len(texts) == len(known), f"{what}: {texts} for {known}"
    for text, value in zip(texts, known, strict=True):
        assert is_printed(text, value), f"{what}: {text} for {value}"


def ends(metrics: Mapping[str, float], name: str) -> list[float | None]:
    """The ends of an interval; an end at 0 or 1 is no end of a range, and "or more" is said instead."""
    low, high = metrics.get(f"{name}low"), metrics.get(f"{name}high")
    return [low, None if name == "forecast/" and high is not None and high >= 1 else high]


def rows(page: str, caption: str) -> Iterator[dict[str, str]]:
    """The lines of the table that has this caption, by the heads of its columns."""
    [table] = [each for each in re.findall(r"<table.*?</table>", page, flags=re.DOTALL) if caption in each]
    heads, *lines = re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)
    names = [text_of(each) for each in re.findall(r"<th.*?</th>", heads, flags=re.DOTALL)]
    for line in lines:
        cells = [text_of(each) for each in re.findall(r"<t[hd].*?</t[hd]>", line, flags=re.DOTALL)]
        yield dict(zip(names, cells, strict=True))


def text_of(part: str) -> str:
    return " ".join(plain(re.sub(r"<[^>]*>", " ", part)).split())


@pytest.mark.parametrize("monitor", MONITORS)
def test_the_json_of_the_terminal_and_of_the_page_are_what_is_stored(
    site: Site, client: FlaskClient, rocmonitor: Rocmonitor, monitor: str
) -> None:
    stored = newest(site, monitor)
    told = json.loads(rocmonitor("history", monitor, "--json").stdout)
    of_terminal = {each["window"]["start"]: each for each in told["evaluations"] if not each["segment"]}
    of_page = {each["start"]: each for each in client.get(f"/monitors/{monitor}.json").get_json()["points"]}
    for evaluation in stored.values():
        start, metrics = evaluation.window.start.isoformat(), evaluation.metrics
        assert of_terminal[start]["metrics"] == metrics
        point = of_page[start]
        assert [point[name] for name in ("auc", "low", "high")] == [
            metrics.get(f"champion/auc{end}") for end in ("", "_low", "_high")
        ]
        assert (point["positives"], point["negatives"]) == (evaluation.counts.n_pos, evaluation.counts.n_neg)
        assert point["labelled_share"] == metrics["data/labelled_share"] == evaluation.counts.labelled_share
        assert point["outcome"] == str(evaluation.outcome)


@pytest.mark.parametrize("monitor", MONITORS)
def test_the_tables_of_the_terminal_and_of_the_report_have_the_stored_numbers(
    site: Site, rocmonitor: Rocmonitor, monitor: str
) -> None:
    stored = newest(site, monitor)
    rocmonitor("report", monitor, "--output", "agree.html")
    page = (site.path.parent / "agree.html").read_text(encoding="utf-8")
    lines = {row["Window"].partition(" r")[0]: row for row in rows(page, "the newest window first")}
    terminal = rocmonitor("history", monitor).stdout
    for name, evaluation in stored.items():
        metrics, counts, row = evaluation.metrics, evaluation.counts, lines[name]
        auc = [metrics.get("champion/auc"), *ends(metrics, "champion/auc_")]
        same(numbers(row["AUROC (95 % interval)"]), auc, (name, "AUROC"))
        same(numbers(row["Normal range"]), ends(metrics, "forecast/"), (name, "normal range"))
        same(numbers(row["Positives"]), [counts.n_pos], (name, "positives"))
        same(numbers(row["Negatives"]), [counts.n_neg], (name, "negatives"))
        same(numbers(row["Labelled"]), [100 * counts.labelled_share], (name, "labelled"))
        line = next(each for each in terminal.splitlines() if each.startswith(name))
        told = re.search(r"(?<= )(\d[\d,]*) +(\d[\d,]*)  .*", line.removeprefix(name).replace("all rows", ""))
        assert told, line
        shown = numbers(told[0].replace("-", " -", 1).replace("-0", " 0"))
        assert [float(each) for each in shown[:2]] == [counts.n_pos, counts.n_neg]
        same(shown[2:5], auc, (name, "terminal"))


@pytest.mark.parametrize("monitor", MONITORS)
def test_every_number_about_a_window_is_one_that_is_stored(
    site: Site, client: FlaskClient, monitor: str
) -> None:
    for name, evaluation in newest(site, monitor).items():
        stored = np.abs([*stored_numbers(evaluation.to_dict()), *LEVELS])
        known = np.concatenate([stored, 100 * stored])
        page = client.get(f"/monitors/{monitor}?window={evaluation.window.start.date()}").text
        text = text_of(page)
        chosen = text[text.rindex(f"{name} ") : text.index("Where these numbers come from")]
        for view, told in {"note": note.of_window(evaluation), "page": chosen}.items():
            for found in DECIMAL.finditer(plain(told)):
                value = found[0].rstrip(" %")
                unit = 10.0 ** Decimal(value).as_tuple().exponent  # type: ignore[operator]
                # Parts of a change are rounded so that they add up: one unit, not half of one.
                near = np.abs(known - abs(float(value))) <= 1.001 * unit
                assert near.any(), f"{view} of {name}: {told[max(found.start() - 99, 0) : found.end()]}"


LEVELS = (0.95, 0.05)


def stored_numbers(of: Any) -> Iterator[float]:
    """All numbers of an evaluation, what they lack of 1, and sums down the columns of its tables."""
    if isinstance(of, Mapping):
        for each in of.values():
            yield from stored_numbers(each)
    elif isinstance(of, list | tuple):
        for each in of:
            yield from stored_numbers(each)
        if of and all(isinstance(each, Mapping) for each in of):
            for column in of[0]:
                values = [each.get(column) for each in of]
                if all(isinstance(each, float) for each in values):
                    summed = np.cumsum(values)
                    yield from summed
                    yield from summed[-1] - summed
    elif isinstance(of, int | float) and not isinstance(of, bool):
        yield from (float(of), 1 - float(of))


def test_a_degraded_window_with_groups_is_the_same_in_every_view(here: World) -> None:
    """Store, `explain`, `history`, page, file of the window, MLflow, message and report: one number each."""
    for number in range(20):
        here.score(number, n=200, region="north")
    here.score(22)
    here.score(22, n=200, region="north", shift=0.0)
    columns = "{id: id, time: scored_at, champion: p, challenger: q, label: label, explain: [region]}"
    here.configure(columns=columns, window=until("2026-06-15"))
    run = Rocmonitor(here.folder)
    run("run", code=3)
    run("report", "credit", "--output", "report.html")
    site = Site(path=here.folder / "rocmonitor.yaml", clock=lambda: week(24))
    stored = newest(site, "credit")["2026-06-08 to 2026-06-15"]
    metrics, asked = stored.metrics, ("credit", "--window", "2026-06-08")
    told = json.loads(run("explain", *asked, "--json").stdout)
    assert told["groups"] == stored.tables["groups"]
    assert told["curve"] == stored.tables["curve"]
    assert (told["reference_auc"], told["auc"]) == (metrics["reference/auc"], metrics["champion/auc"])
    kept = json.loads(run("history", "credit", "--json", "--tables").stdout)["evaluations"]
    [of_history] = [each for each in kept if each["window"]["start"].startswith("2026-06-08")]
    files = content.files(stored)
    for view in (of_history, json.loads(files["result.json"])):
        assert (view["metrics"], view["tables"]) == (metrics, stored.to_dict()["tables"])

    client = create_app(site).test_client()
    views = {
        "explain": " ".join(plain(run("explain", *asked).stdout).split()),
        "page": text_of(client.get("/monitors/credit?window=2026-06-08").text),
        "file": text_of(window_page(stored, stored.zone)),
        "report": text_of((here.folder / "report.html").read_text(encoding="utf-8")),
        "note": text_of(note.of_window(stored)),
        "message": " ".join(plain(here.alarms).split()),
    }
    parts = (
        (
            "curve",
            r"it finds \S+ % of the positives, \S+ % in the reference: \S+ points fewer \(\S+ to \S+\)",
        ),
        ("change", r"The AUROC fell by \S+, from \S+ to \d\.\d+"),
        ("group", r"[\d.]+ % of the fall comes from region = north"),
    )
    for name, pattern in parts:
        said = {
            view: set(re.findall(pattern, text.replace("of that", "of the fall")))
            for view, text in views.items()
        }
        assert len(set.union(*said.values())) == 1, f"{name}: {said}"
        assert said["explain"], name
        assert said["page"] == said["file"], name


def test_an_episode_has_the_same_figures_in_every_view(
    site: Site, client: FlaskClient, rocmonitor: Rocmonitor
) -> None:
    stored = store.declines(site.store(), "credit", "")[-1]
    of_history = json.loads(rocmonitor("history", "credit", "--json").stdout)["episode"]
    standings = json.loads(rocmonitor("status", "--json", code=5).stdout)["monitors"]
    [of_status] = [
        each["episode"] for each in standings if (each["monitor"], each["segment"]) == ("credit", "")
    ]
    rows = client.get("/overview.json").get_json()["monitors"]
    [of_overview] = [each["episode"] for each in rows if each["name"] == "credit"]
    of_page = client.get("/monitors/credit.json").get_json()["episode"]
    assert of_history == of_status == of_overview == of_page
    names = ["size", "size_low", "size_high", "auc", "auc_low", "auc_high", "windows", "end_why"]
    assert [of_page[name] for name in names] == [getattr(stored, name) for name in names]
    assert {
        "kind",
        "segment",
        "start",
        "start_low",
        "start_high",
        "from_first",
        "first_message",
        "groups",
    } <= of_page.keys()
    assert {"challenger", "told", "taken_on", "end"} <= of_page.keys()
    page = plain(client.get("/monitors/credit").text)
    size = plain(lower(stored.size, stored.size_low, stored.size_high))
    for view in (page, plain(rocmonitor("history", "credit").stdout)):
        assert size in " ".join(view.split())
    assert f"AUROC -{size.partition(' ')[0]}" in plain(rocmonitor("status", code=5).stdout)
    newest_window = newest(site, "credit")[max(newest(site, "credit"))]
    assert newest_window.metrics["episode/size"] == stored.size
    assert size in plain(note.of_window(newest_window))
    start = stored.start.isoformat()
    assert content.window_tags(newest_window)["rocmonitor.episode"] == start
    assert f"Loss since {start[:10]}" in plain(note.of_window(newest_window)).replace("*", "")
    assert of_page["told"]["channels"] == list(stored.told_to) != []
