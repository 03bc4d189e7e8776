"""The pages as their readers get them: what they say, the same as their JSON, and what is escaped."""

from __future__ import annotations

import html
import itertools
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from web.world import HOSTILE, MONITORS, NOW, REGION, SECRET

from rocmonitor.report.pages import monitor_page as report_of
from rocmonitor.web.alone import create_app
from rocmonitor.web.monitor import Choice, monitor_view
from rocmonitor.web.site import Site

PAGES = (
    "/",
    "/?open=credit",
    "/monitors/credit",
    "/monitors/credit?window=2026-06-01",
    "/monitors/calm",
    "/monitors/early",
    "/monitors/starved",
    "/monitors/broken",
    "/monitors/unborn",
    "/monitors/credit/segments",
    "/monitors/credit/reviews/1",
)
SEGMENT = {"segment": f"region={REGION}"}


def text_of(page: str) -> str:
    """What is read: no tags, no scripts, one space between words."""
    body = re.sub(r"<script.*?</script>", "", page[page.index("<main") :], flags=re.DOTALL)
    body = re.sub(r'<span class="date">([^<]*)</span>', r"\1", body)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def json_address(page: str) -> str:
    found = re.search(r'<a href="([^"]*\.json[^"]*)">These numbers as JSON', page)
    assert found
    return html.unescape(found[1])


class TestOverview:
    def test_a_sentence_comes_first(self, client: FlaskClient) -> None:
        page = client.get("/").text
        assert re.search(r"<h1[^>]*>2 of 6 models need attention\.</h1>", page)
        rest = "1 is at risk. 1 cannot be judged. 1 has not been judged yet."
        assert f"{rest} Checked just now." in text_of(page)

    def test_the_worst_are_first(self, client: FlaskClient) -> None:
        rows = client.get("/overview.json").get_json()["monitors"]
        assert [(row["name"], row["status"]) for row in rows] == [
            ("broken", "error"),
            ("credit", "degraded"),
            ("early", "at-risk"),
            ("starved", "insufficient"),
            ("unborn", "waiting"),
            ("calm", "ok"),
        ]
        page = client.get("/").text
        places = [page.index(f'href="monitors/{row["name"]}"') for row in rows]
        assert places == sorted(places)

    def test_the_page_has_the_numbers_of_the_json(self, client: FlaskClient) -> None:
        text = text_of(client.get("/").text)
        for row in client.get("/overview.json").get_json()["monitors"]:
            if row["auc"] is not None:
                assert f"{row['auc']:.2f} ({row['low']:.2f} to {row['high']:.2f})" in text
                assert f"normal {row['expected_low']:.2f} to {row['expected_high']:.2f}" in text

    def test_the_numbers_are_those_of_the_store(self, client: FlaskClient, site: Site) -> None:
        from rocmonitor.store import series

        rows = {row["name"]: row for row in client.get("/overview.json").get_json()["monitors"]}
        for name in ("credit", "calm"):
            points = series(site.store(), name, "")
            aucs = [brief["auc"] for brief in rows[name]["windows"]]
            assert aucs == [point.metrics["champion/auc"] for point in points]
            assert rows[name]["labelled_share"] == points[-1].metrics["data/labelled_share"]

    def test_filters_stand_in_the_address(self, client: FlaskClient) -> None:
        def names(query: str) -> list[str]:
            return [row["name"] for row in client.get(f"/overview.json?{query}").get_json()["monitors"]]

        assert names("status=degraded") == ["credit"]
        assert names("text=CAL") == ["calm"]
        assert names("text=nothing+like+it") == []
        assert names("status=unheard-of") == names("")
        page = client.get("/?status=degraded&text=cred").text
        assert '<option value="degraded" selected>' in page
        assert 'value="cred"' in page
        assert "calm" not in text_of(page)

    def test_owners_have_a_column_where_there_are_any(self, client: FlaskClient) -> None:
        page = client.get("/").text
        assert ">Owner</th>" in page
        assert f"risk {HOSTILE}" in html.unescape(page)
        assert ">Owner</th>" not in client.get("/?status=ok").text
        found = client.get("/overview.json?text=RISK").get_json()["monitors"]
        assert [row["name"] for row in found] == ["credit"]
        monitor = client.get("/monitors/credit").text
        assert f"<dt>Owner</dt><dd>risk {HOSTILE}" in html.unescape(monitor)
        assert 'href="https://example.org/credit"' in monitor

    def test_segments_fold_and_unfold(self, client: FlaskClient) -> None:
        assert "region=all" not in client.get("/").text
        assert "1 of 2 segments degraded" in text_of(client.get("/").text)
        opened = client.get("/?open=credit").text
        assert "region=all" in opened
        assert "1 of 2 segments degraded: fold" in text_of(opened)

    def test_what_fails_stands_above_the_table(self, client: FlaskClient) -> None:
        page = client.get("/").text
        text = text_of(page)
        assert "MLflow at http://127.0.0.1:9: refused" in text
        assert "the query gives no column 'missing'" in text
        assert page.index("failing at") < page.index("<table")

    def test_without_a_sign_of_a_drift_it_says_what_was_looked_at(self, client: FlaskClient) -> None:
        text = text_of(client.get("/").text)
        assert re.search(r"No early sign of a drift: 1 of the last \d outlooks warned\.", text)

    @pytest.mark.parametrize(
        ("shares", "said"),
        [
            ((0.4, 0.7), "calm : lasting: 70 % of the way to an alarm, and growing"),
            ((0.95, 0.9), "calm : lasting: 90 % of the way to an alarm, and shrinking"),
            ((0.9, 1.2), "1 of the last"),  # an alarm is no early sign: its row says so
            ((0.7, 0.4), "and no lasting change is 50 % of the way to an alarm."),
        ],
    )
    def test_a_chart_near_its_limit_is_a_sign(
        self, site: Site, tmp_path: Path, shares: tuple[float, float], said: str
    ) -> None:
        shutil.copytree(site.path.parent, tmp_path / "own")
        with closing(sqlite3.connect(tmp_path / "own" / "rocmonitor.db")) as database, database:
            for start, share in zip(("2026-07-06", "2026-07-13"), shares, strict=True):
                database.execute(
                    "UPDATE rocmonitor_evaluation SET metrics = json_set(metrics, "
                    "'$.\"lasting/statistic\"', ?, '$.\"lasting/limit\"', 5.0) "
                    "WHERE monitor = 'calm' AND window_start LIKE ?",
                    (5 * share, f"{start}%"),
                )
        own = create_app(Site(path=tmp_path / "own" / "rocmonitor.yaml", clock=lambda: NOW)).test_client()
        text = text_of(own.get("/").text)
        assert said in text.replace("\N{NO-BREAK SPACE}", " ")
        assert ("No early sign" in text) == (not 0.5 <= shares[1] <= 1)

    def test_a_small_chart_marks_degraded_windows(self, client: FlaskClient) -> None:
        page = client.get("/").text
        row = page[page.index('href="monitors/credit"') :]
        row = row[: row.index("</svg>")]
        assert 'aria-label="2 of the last 8 windows degraded"' in row
        assert row.count("h-10z") == 2


class TestMonitor:
    def test_a_sentence_comes_first(self, client: FlaskClient) -> None:
        view = client.get("/monitors/credit.json").get_json()
        last = view["points"][-1]
        assert view["sentence"] == (
            f"AUROC {last['auc']:.2f} ({last['low']:.2f} to {last['high']:.2f}) in the week of 13 July 2026, "
            f"normal range {last['expected_low']:.2f} to {last['expected_high']:.2f}. "
            "Degraded since 2026-07-06."
        )
        assert view["sentence"] in text_of(client.get("/monitors/credit").text)

    def test_the_page_has_the_numbers_of_the_json(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit").text
        view = client.get(json_address(page)).get_json()
        for point in view["points"]:
            assert f'title="{point["auc"]!r} ({point["low"]!r} to {point["high"]!r})"' in page
            assert f'title="{point["positives"]!r}"' in page
        for row in view["chosen"]["fprs"]:
            assert f'title="{row["tpr"]!r} (' in page
        for why in view["chosen"]["why"]:
            assert why["text"].replace("-0.", "−0.") in text_of(page)

    def test_calibration_and_precision_stand_below_the_curve_where_no_rule_cites_them(
        self, client: FlaskClient
    ) -> None:
        page = client.get("/monitors/credit").text
        chosen = client.get(json_address(page)).get_json()["chosen"]
        places = [
            page.index(of) for of in ("ROC curve", "Precision when", "Normalised cost", "Calibration of")
        ]
        assert places == sorted(places)
        assert [row["measure"] for row in chosen["calibration"]][:2] == ["log-loss", "Brier score"]
        assert [row["model"] for row in chosen["shares"]] == ["champion", "challenger"]
        for rows, value, ends in (
            (chosen["calibration"], "value", ("low", "high")),
            (chosen["shares"], "precision", ("precision_low", "precision_high")),
        ):
            for one in rows:
                low, high = (one[end] for end in ends)
                assert f'title="{one[value]!r} ({low!r} to {high!r})"' in page
        calm = client.get("/monitors/calm").text
        assert "Calibration of" not in calm
        assert "Precision when" not in calm

    def test_labels_by_age_are_a_table(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit").text
        table = client.get(json_address(page)).get_json()["labels_by_age"]
        assert next(iter(table)) == "days after the window"
        assert len({len(cells) for cells in table.values()}) == 1
        for cells in table.values():
            assert all(cell in text_of(page) for cell in cells)

    def test_a_window_is_chosen_by_its_address(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit?window=2026-06-01").text
        view = client.get(json_address(page)).get_json()
        assert view["chosen"]["start"].startswith("2026-06-01")
        assert "2026-06-01 to 2026-06-08" in text_of(page)

    def test_a_period_is_chosen_by_its_address_and_kept(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit?from=2026-06-01&to=2026-06-22").text
        view = client.get(json_address(page)).get_json()
        assert [each["slug"] for each in view["points"]] == ["2026-06-01", "2026-06-08", "2026-06-15"]
        assert 'name="from" value="2026-06-01"' in page
        assert "?from=2026-06-01&amp;to=2026-06-22&amp;window=2026-06-08#window" in page
        assert "No window lies in this period." in client.get("/monitors/credit?from=2030-01-01").text

    def test_why_and_what_to_do_come_before_the_chart(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit").text
        parts = [
            'class="sentence"',
            'class="because"',
            'class="todo"',
            'class="act"',
            'class="readout"',
            'class="plot"',
        ]
        places = [page.index(part) for part in parts]
        assert places == sorted(places)
        assert "Loss</dt><dd>AUROC about" in page[places[1] : places[2]]
        assert re.search(
            r"How sure</dt><dd>95.% interval 0.\d+ to 0.\d+, from \d windows; chance alone", page
        )
        assert "rocmonitor explain credit<" in page[places[2] : places[3]]
        assert 'class="because"' not in client.get("/monitors/calm").text

    def test_late_labels_leave_the_earlier_revision(self, client: FlaskClient) -> None:
        newest = client.get("/monitors/credit.json?window=2026-06-01").get_json()["chosen"]
        assert [row["revision"] for row in newest["revisions"]] == [1, 0]
        first = client.get("/monitors/credit.json?window=2026-06-01&revision=0").get_json()["chosen"]
        assert first["superseded"]
        assert first["counts"]["unlabelled"] > newest["counts"]["unlabelled"] == 0

    def test_the_reference_has_a_curve(self, client: FlaskClient) -> None:
        view = client.get("/monitors/credit.json").get_json()
        curve = view["chosen"]["reference_roc"]
        area = sum(
            (after["fpr"] - before["fpr"]) * (after["tpr"] + before["tpr"]) / 2
            for before, after in itertools.pairwise(curve)
        )
        assert area == pytest.approx(view["reference"]["auc"], abs=2e-3)

    def test_an_outlook_is_the_hollow_end_of_the_line(self, client: FlaskClient) -> None:
        view = client.get("/monitors/early.json").get_json()
        (ahead,) = view["ahead"]
        assert ahead["outcome"] == "at-risk"
        assert ahead["start"].startswith("2026-07-20")
        page = client.get("/monitors/early").text
        assert f'title="{ahead["auc"]!r} ({ahead["low"]!r} to {ahead["high"]!r})"' in page
        assert "Before its labels, the outlook of the window 2026-07-20 to 2026-07-27 is" in text_of(page)
        row = next(
            each for each in client.get("/overview.json").get_json()["monitors"] if each["name"] == "early"
        )
        assert [each["auc"] for each in row["ahead"]] == [ahead["auc"]]
        overview = client.get("/").text
        assert overview.count("<path class=o") == 1
        assert row["why"] in text_of(overview)
        assert row["why"].startswith("the scores have moved")

    def test_what_was_foreseen_stands_beside_what_came_of_it(self, client: FlaskClient) -> None:
        page = client.get("/monitors/early").text
        for point in client.get("/monitors/early.json").get_json()["points"]:
            assert point["outlook_low"] < point["outlook_auc"] < point["outlook_high"]
            assert f'title="{point["outlook_auc"]!r} (' in page
        assert ">Outlook</th>" not in client.get("/monitors/calm").text

    def test_a_segment_has_a_page(self, client: FlaskClient) -> None:
        view = client.get("/monitors/credit.json", query_string=SEGMENT).get_json()
        assert view["segment"] == SEGMENT["segment"]
        assert view["status"] == "degraded"

    @pytest.mark.parametrize(
        "period",
        [
            "from=9999-12-31",
            "to=0001-01-01",
            "from=2026-06-01&to=2026-06-02",
            "from=2026-06-01&to=2026-06-22",
        ],
    )
    def test_a_period_leaves_status_and_sentence(self, client: FlaskClient, period: str) -> None:
        whole = client.get("/monitors/credit.json").get_json()
        view = client.get(f"/monitors/credit.json?{period}").get_json()
        kept = ("status", "since", "sentence", "why", "advice", "version", "next_due", "has_alarm")
        assert {name: view[name] for name in kept} == {name: whole[name] for name in kept}
        page = client.get(f"/monitors/credit?{period}").text
        assert "<title>credit: degraded" in page
        assert "not judged yet" not in text_of(page)
        assert "No window lies in this period" in page or view["points"]

    def test_without_a_window_it_says_what_to_do(self, client: FlaskClient) -> None:
        text = text_of(client.get("/monitors/broken").text)
        assert (
            "broken has not been judged yet. rocmonitor run broken judges the windows that are due." in text
        )

    @pytest.mark.parametrize("address", ["/monitors/unborn", "/monitors/unborn/segments"])
    def test_before_its_first_window_is_due_it_says_when(self, client: FlaskClient, address: str) -> None:
        text = text_of(client.get(address).text)
        assert "unborn has not been judged yet: its first window is due by 2030-01-16." in text
        assert "rocmonitor run" not in text

    def test_a_calm_monitor_asks_for_nothing(self, client: FlaskClient) -> None:
        page = client.get("/monitors/calm").text
        assert "<dt>Now</dt><dd>Nothing.</dd>" in page
        assert "<dt>Would tell</dt><dd>log</dd>" in page
        assert "<h2>Why</h2>" not in page

    def test_a_degraded_monitor_says_what_to_do_and_which_segments_are(self, client: FlaskClient) -> None:
        view = client.get("/monitors/credit.json").get_json()
        since = view["episode"]["start"][:10]
        text = text_of(client.get("/monitors/credit").text)
        assert f"Now see what changed about {since}" in text
        assert "Compare 2 segments : degraded: region=" in text
        assert "segments" not in text_of(client.get("/monitors/calm").text).split("What to do")[0]

    def test_facts_of_another_window_than_the_sentence_name_it(self, client: FlaskClient) -> None:
        """The warning is of a window that has no labels yet."""
        assert client.get("/monitors/early.json").get_json()["why"]["Seen in"] == "week of 20 July 2026"
        assert "Seen in" not in client.get("/monitors/credit.json").get_json()["why"]

    def test_no_run_is_named_by_its_number(self, site: Site, client: FlaskClient) -> None:
        run = "716dea1dd8594ea69d0c5a082e699b67"
        view = client.get("/monitors/credit.json").get_json()
        view["chosen"]["run"] = f"experiment rocmonitor/credit, run {run}"
        shown = report_of(view, written="", command="")
        assert "MLflow, experiment rocmonitor/credit, <a" in shown
        assert run not in shown

    def test_windows_without_labels_are_counted_in_the_table(self, client: FlaskClient) -> None:
        view = client.get("/monitors/early.json").get_json()
        many = len(view["points"]) + len(view["ahead"])
        assert f"The windows as a table ({many})" in client.get("/monitors/early").text

    @pytest.mark.parametrize("version", [None, "8"])
    def test_a_challenger_without_a_version_has_none(self, site: Site, version: str | None) -> None:
        view = monitor_view(site, "credit", Choice())
        view["chosen"]["challenger_version"] = version
        text = report_of(view, written="now", command="rocmonitor report credit")
        assert f'dashed">challenger{"" if version is None else " 8"}</span>' in text
        assert "None" not in text_of(text)

    @pytest.mark.parametrize("address", PAGES)
    def test_nothing_absent_is_printed(self, client: FlaskClient, address: str) -> None:
        assert not re.search(r"\b(None|nan|null|undefined)\b", text_of(client.get(address).text))

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("from=yesterday", "from=yesterday is not a date or time"),
            ("from=2026-99-99", "from=2026-99-99 is not a date or time"),
            ("to=0000-99-99", "to=0000-99-99 is not a date or time"),
            ("from=0001-01-01T00:00%2B05:00", "is not a date or time"),
            ("from=2026-08-01&to=2026-01-01", "from=2026-08-01 must come before to=2026-01-01."),
            ("from=2026-08-01&to=2026-08-01", "must come before"),
            ("revision=-1", "revision=-1 is not the number of a revision"),
            (
                "window=2026-06-01&revision=99999999999",
                "revision=99999999999 is not the number of a revision",
            ),
        ],
    )
    def test_an_argument_that_makes_no_sense_is_named(
        self, client: FlaskClient, query: str, said: str
    ) -> None:
        for page in ("/monitors/credit", "/monitors/credit.json"):
            answer = client.get(f"{page}?{query}")
            assert answer.status_code == 400
            assert said in answer.text
        assert client.get(f"/monitors/absent?{query}").status_code == 404

    @pytest.mark.parametrize(
        ("query", "said"),
        [
            ("?window=zzz", "credit has no judged window 'zzz'. Its page lists"),
            ("?window=2026-06-01&from=2026-06-08", "no judged window '2026-06-01' in this period."),
            ("?segment=absent", "credit has no segment 'absent'."),
            ("?window=2026-06-01&revision=7", "This window of credit has no revision 7."),
            ("/segments?window=x", "credit has no judged window 'x'."),
        ],
    )
    def test_what_the_address_asks_for_in_vain_is_named(
        self, client: FlaskClient, query: str, said: str
    ) -> None:
        answer = client.get(f"/monitors/credit{query}")
        assert answer.status_code == 404
        assert said in html.unescape(answer.text)

    @pytest.mark.parametrize(
        "address",
        [
            "/monitors/absent",
            "/monitors/credit?window=2001-01-01",
            "/monitors/credit?segment=absent",
            "/monitors/credit?revision=7",
            "/monitors/credit/segments?window=x",
            "/monitors/credit/reviews/2",
            "/monitors/calm/reviews/1",
            "/monitors/credit/reviews/1.xml",
            "/static/../pages.py",
            "/static/secrets",
        ],
    )
    def test_what_is_not_there_is_not_found(self, client: FlaskClient, address: str) -> None:
        assert client.get(address).status_code == 404


class TestSegments:
    def test_all_rows_first_then_the_worst(self, client: FlaskClient) -> None:
        view = client.get("/monitors/credit/segments.json").get_json()
        assert [row["name"] for row in view["segments"]] == ["all rows", SEGMENT["segment"], "region=all"]

    def test_the_page_has_the_numbers_of_the_json(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit/segments").text
        for row in client.get(json_address(page)).get_json()["segments"]:
            assert f'title="{row["auc"]!r} ({row["low"]!r} to {row["high"]!r})"' in page
            assert f'title="{row["positives"]!r}"' in page


class TestReview:
    def test_verdict_then_chart_then_three_numbers_then_evidence(self, client: FlaskClient) -> None:
        page = client.get("/monitors/credit/reviews/1").text
        parts = [
            '<p class="verdict trade_off">',
            'class="plot"',
            '<dl class="numbers">',
            "Where on the curve?",
        ]
        parts += ["At which thresholds?", "What does it save?", "In which segments?", "The rule"]
        places = [page.index(part) for part in parts]
        assert places == sorted(places)

    def test_the_json_is_the_review(self, client: FlaskClient, site: Site) -> None:
        from rocmonitor.store import review
        from rocmonitor.wording.review import with_verdict

        found = client.get("/monitors/credit/reviews/1.json").get_json()
        assert found == with_verdict(review(site.store(), 1))

    def test_the_page_has_the_numbers_of_the_json(self, client: FlaskClient) -> None:
        text = text_of(client.get("/monitors/credit/reviews/1").text)
        found = client.get("/monitors/credit/reviews/1.json").get_json()
        for row in found["tables"]["fprs"]:
            assert f"{100 * row['champion_tpr']:.1f} %" in text
        assert f"{found['metrics']['champion/auc']:.3f}" in text

    def test_the_monitor_lists_it(self, client: FlaskClient) -> None:
        assert 'href="/monitors/credit/reviews/1"' in client.get("/monitors/credit").text


class TestSafety:
    @pytest.mark.parametrize("address", PAGES)
    def test_nothing_hostile_is_markup(self, client: FlaskClient, address: str) -> None:
        page = client.get(address).text
        assert HOSTILE not in page
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page) is None
        assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)|u003cscript\\u003ealert\(1\)", "", page)

    def test_it_would_show(self, client: FlaskClient) -> None:
        """Else the test above could not fail."""
        assert "&lt;script&gt;alert(1)" in client.get("/monitors/credit").text
        assert HOSTILE in client.get("/monitors/credit.json").get_json()["model"]

    def test_the_address_is_not_markup(self, client: FlaskClient) -> None:
        for address in ("/", "/monitors/credit", "/monitors/<script>alert(1)</script>"):
            answer = client.get(
                address, query_string={"text": f'"{HOSTILE}', "segment": HOSTILE, "open": HOSTILE}
            )
            assert HOSTILE not in answer.text

    @pytest.mark.parametrize("page", ["/", "/monitors/credit", "/monitors/credit/segments"])
    @pytest.mark.parametrize("name", ["endpoint", "name", "_method", "_scheme", "_external", "_anchor"])
    def test_names_that_flask_knows_are_nothing_to_us(
        self, client: FlaskClient, page: str, name: str
    ) -> None:
        answer = client.get(page, query_string={name: "javascript"})
        assert answer.status_code == 200
        assert "javascript" not in answer.text

    def test_a_number_that_no_database_takes_is_not_found(self, client: FlaskClient) -> None:
        assert client.get(f"/monitors/credit/reviews/{2**63}").status_code == 404

    @pytest.mark.parametrize("address", [*PAGES, *(f"/monitors/{name}.json" for name in MONITORS)])
    def test_no_secret_and_no_row(self, client: FlaskClient, address: str, site: Site) -> None:
        page = client.get(address).text
        assert SECRET not in page
        # Ids of rows have seven digits and begin with the week.
        assert not re.search(r"\b2[0-7]\d{5}\b", re.sub(r'"(?:starts|ends|x)":[^\]}]*', "", page))

    @pytest.mark.parametrize("address", [*PAGES, "/overview.json", "/static/page.js", "/absent"])
    def test_headers(self, client: FlaskClient, address: str) -> None:
        headers = client.get(address).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Server" not in headers

    @pytest.mark.parametrize("address", PAGES)
    def test_no_script_and_no_style_within_the_page(self, client: FlaskClient, address: str) -> None:
        page = client.get(address).text
        inline = re.findall(r"<script(?![^>]*(?:src=|application/json))", page)
        assert (inline, re.findall(r"<style|\sstyle=|\son\w+=", page)) == ([], [])

    @pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
    def test_it_only_reads(self, client: FlaskClient, method: str) -> None:
        for address in PAGES:
            assert getattr(client, method)(address).status_code == 405

    @pytest.mark.parametrize("method", ["get", "put"])
    def test_a_button_takes_only_post(self, client: FlaskClient, method: str) -> None:
        for what in ("mute", "acknowledge"):
            answer = getattr(client, method)(f"/monitors/credit/{what}")
            assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
            said = f"This address does not take {method.upper()}, only POST: it belongs to a button"
            assert said in answer.text
        assert "does not take POST, only GET and HEAD." in client.post("/monitors/credit").text

    def test_numbers_that_are_not_finite_never_come(self, client: FlaskClient) -> None:
        def walk(value: Any) -> None:
            if isinstance(value, dict):
                [walk(each) for each in value.values()]
            elif isinstance(value, list):
                [walk(each) for each in value]
            elif isinstance(value, float):
                assert value == value
                assert abs(value) != float("inf")

        for name in MONITORS:
            walk(client.get(f"/monitors/{name}.json").get_json())


def test_large_answers_are_compressed_where_the_reader_takes_it(client: FlaskClient) -> None:
    import gzip

    plain = client.get("/monitors/credit")
    packed = client.get("/monitors/credit", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
