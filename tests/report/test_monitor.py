"""The report of a monitor: what it says, that it says it safely, and how it looks in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from browser import Browser
from factories import FIRST, WEEK, evaluation, measured_evaluation, week
from pages import BEYOND, CONTRAST, CUT, UNFOLD, WIDTHS

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition
from rocmonitor.policy.outlook import Outlook
from rocmonitor.policy.windows import Window
from rocmonitor.report.monitor import History, page

ZONE = ZoneInfo("America/New_York")
MADE = datetime(2014, 1, 6, 12, tzinfo=UTC)
SHIFT = [
    {
        "low": number / 4,
        "high": (number + 1) / 4,
        "pos_reference": 0.1 + number / 10,
        "neg_reference": 0.4 - number / 10,
        "pos_window": 0.25,
        "neg_window": 0.25,
        "pos_contribution": -0.01,
        "neg_contribution": 0.001,
    }
    for number in range(4)
]
REFERENCE = {
    "start": (FIRST - 4 * WEEK).isoformat(),
    "end": FIRST.isoformat(),
    "digest": "ab12" * 16,
    "windows": [
        {
            "start": (FIRST - (4 - number) * WEEK).isoformat(),
            "end": (FIRST - (3 - number) * WEEK).isoformat(),
            "n_pos": 200,
            "n_neg": 800,
            "auc": 0.74,
            "auc_low": 0.72,
            "auc_high": 0.76,
        }
        for number in range(4)
    ],
}


def judged(number: int, auc: float, **changes: object) -> Evaluation:
    """A window of which the forecast is 0.715 to 0.761."""
    outcome = Status.DEGRADED if auc < 0.715 else Status.OK
    metrics = evaluation().metrics | {
        "champion/auc": auc,
        "champion/auc_low": auc - 0.016,
        "champion/auc_high": auc + 0.016,
        "forecast/low": 0.715,
        "forecast/high": 0.761,
        "forecast/margin": min(auc - 0.715, 0.761 - auc),
        "data/positives": 250.0,
        "data/prevalence": 0.2,
        "shift/from_positives": -0.036,
        "shift/from_negatives": -0.001,
    }
    plain: dict[str, object] = {
        "outcome": outcome,
        "status": outcome,
        "metrics": metrics,
        "reference": REFERENCE,
        "tables": {"shift": SHIFT} if outcome is Status.DEGRADED else {},
    }
    return evaluation(number, **plain | changes)


def history(*evaluations: Evaluation, **changes: object) -> History:
    shown = evaluations or tuple(
        judged(number, auc) for number, auc in enumerate([0.74, 0.73, 0.752, 0.681, 0.7012])
    )
    plain = History(
        monitor="flights",
        period=Window(shown[0].window.start, shown[-1].window.end),
        evaluations=shown,
        changes=(
            Transition(
                monitor="flights",
                at=week(3).end + timedelta(days=2),
                before=Status.OK,
                after=Status.DEGRADED,
                reasons=(Caveat("not-computed", why="2 of the last 3 windows"),),
                since=week(3).start,
            ),
        ),
        zone=ZONE,
        floor=0.65,
        owner="Ana Ruiz",
        runbook="https://wiki.example/flights",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


OUTLOOK = Outlook(
    monitor="flights",
    model="late-arrival",
    window=week(5),
    champion_version="3",
    at=week(5).end,
    made_at=week(5).end,
    outcome=Status.AT_RISK,
    metrics={
        "outlook/auc": 0.69,
        "outlook/low": 0.67,
        "outlook/high": 0.71,
        "outlook/score_distance": 0.05,
    },
)


def words(html: str) -> str:
    """What is read, in one line."""
    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).replace("\u00a0", " ").split())


class TestWords:
    def test_the_first_sentence_compares_with_normal(self) -> None:
        text = words(page(history(), made=MADE))
        assert (
            "AUROC 0.701 (0.685 to 0.717) from 2013-09-29 20:00 to 2013-10-06 20:00, normal range 0.715 to "
            "0.761. Degraded since 2013-09-22 20:00." in text
        )
        assert "Owner: Ana Ruiz. Runbook: https://wiki.example/flights" in text

    def test_three_numbers_stand_below_the_picture(self) -> None:
        html = page(history(), made=MADE)
        assert html.count('<dd class="value">') == 3
        assert "Degraded windows 2 of 5 all of them could be judged" in words(html)
        assert html.index('id="chart"') < html.index('class="numbers"') < html.index('id="changes"')

    def test_the_last_and_the_worst_window_say_why_and_what_moved(self) -> None:
        html = page(history(), made=MADE)
        assert "Last window: 2013-09-29 20:00" in words(html)
        assert "Worst window: 2013-09-22 20:00" in words(html)
        assert html.count('class="shift"') == 2
        assert html.index('id="last"') < html.index('id="worst"')

    def test_a_window_that_is_both_is_shown_once(self) -> None:
        html = page(history(judged(0, 0.74), judged(1, 0.681)), made=MADE)
        assert 'id="last"' in html
        assert 'id="worst"' not in html

    def test_changes_are_numbered_in_the_chart_and_said_below(self) -> None:
        shown = history()
        later = tuple(replace(each, champion_version="5") for each in shown.evaluations[2:])
        html = page(replace(shown, evaluations=shown.evaluations[:2] + later), made=MADE)
        said = [
            "champion changed from version 3 to 5",
            "degraded from 2013-09-22 20:00: 2 of the last 3 windows",
        ]
        marks = dict(re.findall(r'<g id="timeline-wide-mark-(\d)"><title>([^<]*)</title>', html))
        assert marks == {"1": said[0], "2": said[1]}
        assert (
            f"Changes {said[0]}. (from 2013-09-15 20:00) {said[1]}. (noticed 2013-10-01 20:00) Last window"
        ) in words(html)
        assert "Numbered lines are the changes below." in words(html)

    def test_a_change_before_the_period_says_since_when_and_is_not_marked(self) -> None:
        change = replace(history().changes[0], since=FIRST - WEEK)
        html = page(history(changes=(change,)), made=MADE)
        assert "Degraded since 2013-08-25 20:00." in words(html)
        assert "None in this period." in html
        assert "-mark-" not in html

    def test_what_the_scores_say_of_windows_without_labels(self) -> None:
        html = page(history(ahead=(OUTLOOK,)), made=MADE)
        assert (
            "Before its labels, the outlook of the window 2013-10-06 20:00 to 2013-10-13 20:00 is 0.690 "
            "(0.670 to 0.710) from its scores, which is a warning."
        ) in words(html)
        assert "The dashed end is the outlook of windows without labels, from their scores" in words(html)
        assert "outlook, no labels yet" in words(html)
        assert (
            "2013-10-06 20:00 to 2013-10-13 20:00 at risk – – – 0.6900 (0.6700 to 0.7100) – – – –"
            in words(html)
        )
        assert "how far the scores have moved, nats" in html
        without = page(history(), made=MADE)
        assert "from the scores" not in words(without)
        assert "how far the scores have moved" not in without

    def test_what_the_scores_had_said_stands_beside_what_came_of_it(self) -> None:
        known = {"outlook/auc": 0.69, "outlook/low": 0.67, "outlook/high": 0.71}
        shown = judged(1, 0.7012, metrics=judged(1, 0.7012).metrics | known)
        html = page(history(judged(0, 0.74), shown), made=MADE)
        assert "outlook, judged since" in words(html)
        assert "0.7150 to 0.7610 0.6900 (0.6700 to 0.7100) 250" in words(html)
        assert "outlook, no labels yet" not in words(html)

    def test_curves_stand_against_their_reference(self) -> None:
        curve = [{"fpr": 0.0, "tpr": 0.0}, {"fpr": 0.2, "tpr": 0.6}, {"fpr": 1.0, "tpr": 1.0}]
        tables = measured_evaluation().tables
        shown = [judged(0, 0.69, tables=tables), judged(1, 0.7, tables=tables)]
        known, unknown = (
            page(history(*shown, curves={digest: curve}), made=MADE) for digest in ("ab12" * 16, "another")
        )
        assert known.count('<span class="key before"></span> reference') == 2
        assert 'class="key before"' not in unknown
        assert known.count('id="figure-roc-') == unknown.count('id="figure-roc-') == 2
        assert words(known).count("Marks are operating points, filled at a false positive rate") == 2
        assert words(known).count("Rates at fixed thresholds") == 2

    def test_evidence_and_digests_are_folded(self) -> None:
        html = page(history(), made=MADE)
        folded = html[html.index('<details id="provenance">') :]
        for told in ("ab12" * 16, "SELECT scored_at", "rocmonitor report flights --from"):
            assert told in folded
            assert told not in html[: html.index('<details id="windows">')]

    def test_the_command_writes_the_same_report(self) -> None:
        assert (
            "rocmonitor report flights --from 2013-09-01T20:00:00-04:00 --to 2013-10-06T20:00:00-04:00 "
            "--segment 'origin=EWR, NJ' --output report.html"
        ) in words(page(history(segment="origin=EWR, NJ"), made=MADE))

    @pytest.mark.parametrize(
        "shown",
        [
            pytest.param([judged(0, 0.74)], id="one window"),
            pytest.param(
                [
                    evaluation(
                        outcome=Status.INSUFFICIENT, metrics={}, tables={}, verdicts=(), counts=Counts(rows=9)
                    )
                ],
                id="none with an AUROC",
            ),
            pytest.param([judged(0, 0.74, reference={}), judged(1, 0.70, revision=3)], id="no reference"),
        ],
    )
    def test_any_history_is_a_report(self, shown: list[Evaluation]) -> None:
        html = page(history(*shown, changes=(), owner=None, runbook=None, floor=None), made=MADE)
        assert "None in this period." in html
        assert "Owner" not in html

    def test_equal_histories_give_equal_reports(self) -> None:
        assert page(history(), made=MADE) == page(history(), made=MADE)


@pytest.mark.parametrize(("waiting", "hollow"), [(frozenset(), 0), (frozenset({week(4)}), 1)])
def test_a_window_that_waits_for_labels_is_hollow(waiting: frozenset[Window], hollow: int) -> None:
    plain = page(history(), made=MADE).count("var(--paper)")
    assert (page(history(waiting=waiting), made=MADE).count("var(--paper)") > plain) is bool(hollow)


def test_seventeen_windows_with_all_there_is_stay_small() -> None:
    curve = [{"fpr": step / 200, "tpr": (step / 200) ** 0.5} for step in range(201)]
    judged_ = [
        evaluation(
            number,
            reference=REFERENCE,
            metrics=judged(number, 0.7).metrics | OUTLOOK.metrics | {"forecast/margin": -number / 1000},
            tables=measured_evaluation().tables | {"shift": SHIFT * 3},
        )
        for number in range(17)
    ]
    html = page(
        history(*judged_, ahead=(replace(OUTLOOK, window=week(17)),), curves={"ab12" * 16: curve}), made=MADE
    )
    assert len(html.encode()) < 400_000


class TestSafety:
    def test_text_is_escaped(self) -> None:
        evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
        shown = judged(3, 0.69, segment=evil, model=evil, champion_version=evil)
        shown = replace(
            shown,
            provenance=shown.provenance | {"query": evil, "source": evil},
            caveats=(Caveat("not-computed", why=evil),),
        )
        html = page(history(shown, segment=evil, owner=evil, runbook=evil), made=MADE)
        assert "<script" not in html
        assert "<img" not in html

    @pytest.mark.parametrize(
        ("runbook", "links"), [("javascript:alert(1)", 0), ("https://x.example/a?b=1&c=2", 1)]
    )
    def test_only_addresses_of_the_web_become_links(self, runbook: str, links: int) -> None:
        assert page(history(runbook=runbook), made=MADE).count("<a href=") == links

    def test_ids_are_unique_and_links_within_lead_somewhere(self) -> None:
        html = page(history(), made=MADE)
        ids = re.findall(r'\bid="([^"]*)"', html)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]*)"', html)) <= set(ids)
        assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(ids)

    def test_it_needs_no_network_and_no_script(self) -> None:
        html = page(history(runbook=None), made=MADE)
        assert set(re.findall(r'(?:src|href)="(https?:[^"]*)"', html)) == set()
        assert "default-src 'none'" in html


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report") / "report.html"
    many = [judged(number, 0.74 if number < 30 else 0.69) for number in range(35)]
    word = "a_name_that_goes_on_" * 12
    tables = measured_evaluation().tables | {"shift": SHIFT}
    many[-1] = replace(many[-1], tables=tables)
    many[-2] = replace(many[-2], tables=tables, metrics=many[-2].metrics | {"forecast/margin": -0.5})
    many[-1] = replace(many[-1], provenance=many[-1].provenance | {"query": f"SELECT {word}"})
    place.write_text(
        page(history(*many, segment=f"x={word}", ahead=(replace(OUTLOOK, window=week(35)),)), made=MADE),
        encoding="utf-8",
    )
    return place


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_is_readable_on_every_screen(browser: Browser, shown: Path, width: int, theme: str) -> None:
    browser.visit(shown.as_uri(), width=width, dark=theme == "dark")
    browser.measure(UNFOLD)
    assert browser.requests == [shown.as_uri()]
    inside, window = browser.measure(WIDTHS)
    assert (window, inside) == (width, width)
    assert browser.measure(BEYOND) == []
    assert browser.measure(CONTRAST) >= 4.5
    chart = "[...document.querySelectorAll('#chart svg')].map(one => one.getBoundingClientRect().width)"
    wide, narrow = browser.measure(chart)
    assert (wide > 0.8 * width, narrow > 0.8 * width) == (width > 640, width < 640)
    small = """Math.min(...[...document.querySelectorAll('#chart svg')].filter(one => one.checkVisibility())
      .flatMap(one => [...one.querySelectorAll('text')]).map(one => one.getBoundingClientRect().height))"""
    assert browser.measure(small) >= 9


@pytest.mark.slow
def test_paper_shows_what_is_folded_and_cuts_no_table(browser: Browser, shown: Path) -> None:
    browser.open(shown, width=695)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.measure(CUT) == []
        assert browser.measure("document.querySelector('#table-windows').checkVisibility()")
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59\d[\d.]* 84\d", browser.pdf())
