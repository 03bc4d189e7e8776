"""The page and the text of a review: what they say, and that it is escaped; what is missing says why."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
import yaml
from reviews import QUERY, RULE, ZONE, compared, review, without

from rocmonitor.caveat import Caveat
from rocmonitor.config import Model
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.policy.review.settings import ReviewRule
from rocmonitor.policy.windows import Window
from rocmonitor.report.review import page, text
from rocmonitor.report.review.notes import LEFT_OUT
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.review import advice, chosen, rule, summary

UTC = ZoneInfo("UTC")
FIGURES = ("windows", "roc", "band", "dominance", "costs")
VOID = {"meta", "img", "br", "hr", "link", "input"}


@dataclass
class Read(HTMLParser):
    """What a page holds, as a browser reads it."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    styles: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.table = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = str(attributes["id"]).removeprefix("table-")
            self.tables[self.table] = []
        if tag == "tr":
            self.tables[self.table].append([])
        if tag in ("td", "th"):
            self.tables[self.table][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.styles += data if self.open[-1] == "style" else ""
        elif {"td", "th"} & set(self.open):
            self.tables[self.table][-1][-1] += data.replace("\u00a0", " ")
        else:
            self.words.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.words).replace("\u00a0", " ").split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def column(self, table: str, head: str) -> list[str]:
        heads, *rows = self.tables[table]
        return [row[heads.index(head)] for row in rows]


def read(shown: Review, zone: ZoneInfo = ZONE) -> Read:
    reader = Read()
    reader.feed(page(shown, zone=zone))
    reader.close()
    assert reader.open == []
    return reader


@cache
def whole() -> Read:
    return read(review())


def minus(words: str) -> str:
    """The words with plain minus signs."""
    return words.replace("−", "-")


def described(found: Read) -> list[str]:
    """What is said in place of the chart and of each drawing."""
    drawings = [each for each in found.named("svg") if each.get("role") == "img"]
    return [str(each["aria-label"]) for each in (*found.named("figure"), *drawings) if "aria-label" in each]


def bare(**changes: object) -> Review:
    """Without what is drawn, so that the page is quick to make."""
    return without(*FIGURES, **changes)


class TestPage:
    def test_equal_reviews_give_equal_pages(self) -> None:
        shown = without(*FIGURES[1:])
        again = Review.from_dict(json.loads(json.dumps(shown.to_dict())))
        assert page(again, zone=ZONE) == page(shown, zone=ZONE)

    def test_it_holds_everything_within_itself(self) -> None:
        tags = {name for name, _ in whole().tags}
        assert not tags & {"iframe", "object", "embed", "base", "form"}
        for name, attributes in whole().tags:
            for attribute in ("src", "href", "srcset", "action", "data"):
                address = attributes.get(attribute)
                assert address is None or re.match("#|data:,$", address), (name, address)
        assert not re.search(r"url\(|@import", whole().styles)
        policy = next(meta for meta in whole().named("meta") if "http-equiv" in meta)
        assert "default-src 'none'" in str(policy["content"])

    def test_every_figure_is_there_and_described(self) -> None:
        labels = described(whole())
        assert len(labels) == len(set(labels)) == len(FIGURES)
        assert all(len(label) > 30 for label in labels)

    def test_headings_go_down_one_step_at_a_time(self) -> None:
        levels = [int(name[1]) for name, _ in whole().tags if re.fullmatch(r"h\d", name)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_tables_have_captions_heads_and_names(self) -> None:
        tables = len(whole().tables)
        assert tables == len(whole().named("caption")) == len(whole().named("thead")) == 13
        assert all(head["scope"] == "col" for head in whole().named("th"))
        for rows in whole().tables.values():
            assert len({len(row) for row in rows}) == 1

    def test_links_lead_somewhere(self) -> None:
        names = [attributes["id"] for _, attributes in whole().tags if "id" in attributes]
        assert len(names) == len(set(names))
        assert {str(link["href"])[1:] for link in whole().named("a")} <= set(names)

    def test_it_says_what_the_review_says(self) -> None:
        shown, said = review(), whole().said
        for words in (
            *summary(shown),
            advice(shown),
            *map(words_of, shown.caveats),
            *rule(shown),
            chosen(shown),
        ):
            assert minus(words) in minus(said)
        assert "champion 3 against challenger 5" in said
        assert "Trade-off decided 2013-11-11" in said
        assert "2013-09-02 to 2013-12-30 (America/New_York)" in said
        for value in ("8812047713", "3f9a" * 3, RULE.digest[:12], "warehouse", "time = scored_at", "1.17.0"):
            assert value in said
        titles = {attributes.get("title") for _, attributes in whole().tags}
        assert {"3f9a" * 16, RULE.digest} <= titles  # digests show their beginning
        assert re.search("start = 2013-04-01 ?, end = 2013-09-02", said)  # a date is a span of its own
        assert " ".join(QUERY.split()) in said

    def test_numbers_are_those_of_the_tables(self) -> None:
        row = review().tables["windows"][4]
        at = [cells[5] for cells in whole().tables["windows"]]
        assert at[5] == f"{row['difference']:+.3f}"
        low, high = (f"{row[end]:+.3f}".replace("-", "−") for end in ("anytime_low", "anytime_high"))
        assert whole().column("windows", "its interval")[4] == f"{low} to {high}"
        assert whole().column("fprs", "difference")[0] == "−4.1"  # Φ(-1.7622) - Φ(-1.4063), in points
        assert whole().column("fprs", "champion TPR")[0] == "8.0 %"
        assert whole().column("costs", "champion threshold") == ["flags nothing", "0.4412", "0.4412"]
        assert whole().column("costs", "saved") == ["−0.0005", "+0.003", "+0.016"]
        assert whole().column("money", "saved") == ["+118.40"]
        assert whole().column("money", "95 % interval") == ["+41.20 to +195.50"]
        assert whole().column("auc", "p") == ["< 0.0001"] * 2
        assert whole().column("counts", "number")[0] == "110,234"

    def test_each_column_is_of_its_own_model_and_rate(self) -> None:
        given = whole().tables["thresholds"][1]
        assert given[1:5] == ["0.5", "0.5", "12.1 %", "21.3 %"]
        assert given[5:] == ["+13.1", "+12.2 to +14.0", "+8.7", "+8.3 to +9.1"]
        assert whole().column("thresholds", "challenger threshold")[1] == "0.4127"
        assert dict(zip(whole().tables["outcomes"][0], whole().tables["outcomes"][2], strict=True)) == {
            "paired by": "flagged share",
            "champion threshold": "0.5",
            "challenger better": "68.0 %",
            "champion better": "12.0 %",
            "challenger flags more of both": "9.0 %",
            "challenger flags fewer of both": "10.0 %",
            "equal": "1.0 %",
        }
        assert whole().column("fprs", "challenger TPR")[0] == "3.9 %"
        assert whole().column("fprs", "its interval")[0] == "−6.2 to −2.0"
        assert whole().column("regions", "better") == ["champion", "challenger"]
        assert whole().column("regions", "from FPR")[0] == "1 %"
        assert whole().tables["segments"][1][1:6] == ["6,353", "31,767", "0.740", "0.752", "+0.012"]
        assert whole().tables["segments"][3][3:] == ["–"] * 5 + [
            "12 positives and 108 negatives, at least 50 of each are needed"
        ]
        assert whole().column("forecast", "forecast interval") == ["−0.006 to +0.026"]
        assert whole().column("money", "false negative") == ["25"]

    def test_key_numbers(self) -> None:
        said = whole().said
        for told in (
            "AUROC difference, challenger minus champion +0.0097 95 %",
            "95 % interval for a single check: +0.0071 to +0.0123",
            "interval under repeated checks +0.004 to +0.015 mean +0.010; p < 0.0001",
            "Champion's AUROC 0.742 version 3 Challenger's AUROC 0.752 version 5",
            "105,902 17,204 positive, 88,698 negative",
            "Forecast of the difference under drift −0.006 to +0.026",
            "Saved in 1,000 decisions +118.40 USD 95 % interval +41.20 to +195.50",
        ):
            assert told in said

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            (replace(RULE, margin=0.0), "; the rule requires p < 0.025"),
            (replace(RULE, margin=0.0, fpr=()), "; the rule requires p < 0.05"),
            (RULE, ""),  # the p-value is of no difference, the rule of one beyond a margin
        ],
    )
    def test_a_pvalue_stands_beside_the_level_of_the_rule(self, rule: ReviewRule, words: str) -> None:
        said = read(bare(rule=rule.to_dict())).said
        assert f"p < 0.0001{words} Windows" in said

    def test_what_was_read_can_be_checked(self) -> None:
        use, digests = whole().column("pulled", "use"), whole().column("pulled", "digest")
        assert use == ["compared"] * 17 + ["thresholds chosen"]
        assert (digests[0], digests[16]) == ("00" * 32, "10" * 32)
        assert '"w": [0.1, 0.5]' in whole().said
        assert "16 of them checked; 2 more wait for labels" in whole().said

    def test_a_window_that_is_not_compared_says_why(self) -> None:
        assert whole().tables["windows"][4][3:] == ["–"] * 7
        assert "Not compared: 2013-09-23 to 2013-09-30, 31 positives and 381 negatives" in whole().said

    def test_the_first_checks_may_have_no_bounds(self) -> None:
        rows = [row | {"anytime_low": -1.0, "anytime_high": 1.0} for row in review().tables["windows"][:2]]
        shown = read(review(tables={"windows": rows}))
        assert shown.column("windows", "its interval") == ["not bounded yet"] * 2

    def test_dates_are_in_the_zone(self) -> None:
        far = read(without(*FIGURES[1:], windows=2), UTC)
        assert far.column("windows", "window")[0] == "2013-09-02 04:00 to 2013-09-09 04:00"
        assert "Reviewed 2013-12-31 07:30" in far.said

    @pytest.mark.parametrize("name", ["monitor", "model", "champion_version"])
    def test_text_is_escaped(self, name: str) -> None:
        nasty = "a</script></title></style><b onload=\"x\">&amp; '{{ 7 * 7 }}' <!--"
        shown = read(bare(**{name: nasty}))
        assert " ".join(nasty.split()) in shown.said
        assert not shown.named("b")

    def test_text_in_tables_and_provenance_is_escaped(self) -> None:
        nasty = "</td></pre></script><b>&lt;'\""
        shown = bare(
            caveats=(Caveat("not-computed", why=nasty),),
            provenance={"query": nasty, nasty: nasty, "columns": {"label": nasty}},
        )
        segments = [row | {"segment": nasty, "note": nasty} for row in shown.tables["segments"]]
        counts = [{"kind": nasty, "rows": 1}]
        found = read(replace(shown, tables=shown.tables | {"segments": segments, "counts": counts}))
        assert not found.named("b")
        assert found.column("segments", "segment") == [nasty] * 3
        assert found.said.count(nasty) == 5

    @pytest.mark.parametrize("name", sorted(LEFT_OUT))
    @pytest.mark.parametrize("how", ["missing", "empty"])
    def test_what_is_left_out_says_why(self, name: str, how: str) -> None:
        some = {name: rows for name, rows in review().tables.items() if name not in FIGURES}
        tables = {key: rows for key, rows in some.items() if key != name} | (
            {} if how == "missing" else {name: []}
        )
        shown = read(bare(tables=tables))
        assert shown.said.count(LEFT_OUT[name]) == 1
        assert name not in shown.tables
        assert LEFT_OUT[name] not in whole().said
        assert not described(shown)

    def test_nothing_at_all_makes_a_page(self) -> None:
        shown = read(
            review(tables={}, metrics={}, rule={}, provenance={}, caveats=(), comparisons=(), decided_at=None)
        )
        assert not shown.tables
        assert all(why in shown.said for why in LEFT_OUT.values())
        assert "Bear in mind" not in shown.said

    def test_windows_without_a_difference_are_a_table_and_no_figure(self) -> None:
        rows = [review().tables["windows"][3]]
        shown = read(review(tables={"windows": rows}))
        assert not described(shown)
        assert shown.column("windows", "positives") == ["31"]
        assert "difference" not in shown.tables["windows"][0]  # a column that says nothing

    @pytest.mark.parametrize("decision", list(Decision))
    def test_the_decision_is_one_line_of_its_own_colour(self, decision: Decision) -> None:
        shown = read(bare(decision=decision, decided_at=None))
        [line] = [each for each in shown.named("p") if "verdict" in str(each.get("class"))]
        assert f".verdict.{str(line['class']).split()[1]}" in shown.styles
        assert decision.capitalize() in shown.words

    def test_a_period_by_hand_is_warned_of(self) -> None:
        by_hand = bare(registered=False)
        assert chosen(by_hand) in read(by_hand).said

    def test_a_method_is_described_when_it_was_used(self) -> None:
        assert "Morin 2018" in whole().said
        assert "an interval has the level 95 %" in whole().said
        assert "Morin 2018" not in read(bare(tables={"auc": review().tables["auc"]})).said

    def test_money_in_thousands_is_whole(self) -> None:
        rows = [
            review().tables["costs"][2] | {"money_saved": -12345.6, "money_low": -20000.4, "money_high": 1.2}
        ]
        shown = read(review(tables={"costs": rows}))
        assert shown.column("money", "saved") == ["−12,346"]
        assert shown.column("money", "95 % interval") == ["−20,000 to +1"]

    def test_an_end_just_off_0_is_not_shown_as_0(self) -> None:
        rows = [review().tables["costs"][0] | {"saved": 0.0, "low": -0.0007, "high": -0.0000373}]
        shown = read(review(tables={"costs": rows}))
        assert shown.column("costs", "95 % interval") == ["−0.0007 to −0.00004"]
        assert shown.column("costs", "saved") == ["0.0000"]

    def test_the_command_repeats_the_period(self) -> None:
        start = datetime(2013, 9, 2, tzinfo=ZONE)
        period = Window(start, start + timedelta(days=3, hours=6))
        found = read(bare(monitor="it's", period=period))
        line = next(words for words in found.words if words.startswith("rocmonitor review"))
        given = shlex.split(line)
        assert given[:5] == ["rocmonitor", "review", "it's", "--from", "2013-09-02"]
        assert datetime.fromisoformat(given[6]) == period.end

    def test_the_versions_are_repeated_not_the_aliases(self) -> None:
        found = read(bare(champion_version="7: b", challenger_version="8"))
        line = next(words for words in found.words if words.startswith("model: "))
        model = yaml.safe_load(line)["model"]
        assert model == {"name": "late-arrival", "version": "7: b", "challenger_version": "8"}
        assert Model(**model).champion is None


def test_what_is_compared_is_what_is_shown() -> None:
    """Every table that the comparison makes, with the columns that it gives them."""
    shown = compared()
    found = read(shown)
    assert len(described(found)) == len(FIGURES)
    assert not [why for why in LEFT_OUT.values() if why in found.said]
    cells = [cell for rows in found.tables.values() for row in rows for cell in row]
    assert not {"None", "nan", "inf", ""} & set(cells)
    for table, head, column in (
        ("windows", "difference", "difference"),
        ("windows", "champion AUROC", "champion_auc"),
        ("costs", "saved", "saved"),
        ("segments", "challenger AUROC", "challenger_auc"),
        ("auc", "standard error", "se"),
    ):
        expected = [row[column] for row in shown.tables[table]]
        told = found.column(table, head)
        assert [cell == "–" for cell in told] == [value is None for value in expected]
        numbers = [float(cell.replace("−", "-")) for cell in told if cell != "–"]
        assert numbers == pytest.approx([value for value in expected if value is not None], abs=5.1e-3)
    told = [float(cell.replace("−", "-")) / 100 for cell in found.column("fprs", "mean")]
    assert told == pytest.approx([row["running_mean"] for row in shown.tables["fprs"]], abs=5.1e-3)
    assert len(text(shown, ZONE).splitlines()) > 20


def _counts() -> list[dict[str, object]]:
    return review().tables["counts"]


class TestText:
    def test_it_fits_a_terminal(self) -> None:
        lines = text(review(), ZONE).splitlines()
        assert 25 <= len(lines) <= 50
        assert max(map(len, lines)) <= 112
        assert not any(line != line.rstrip() for line in lines)

    def test_it_says_the_decision_first_and_what_to_bear_in_mind_last(self) -> None:
        shown = review()
        told = text(shown, ZONE)
        assert told.splitlines()[5:7] == ["", "TRADE-OFF, decided 2013-11-11"]
        together = " ".join(told.split())
        assert all(line in together for line in summary(shown))
        assert advice(shown) in together
        assert together.endswith(f"- {words_of(shown.caveats[-1])}")

    def test_rows_that_are_not_compared_are_counted(self) -> None:
        together = " ".join(text(review(), ZONE).split())
        assert (
            "not compared, of 110,234 rows: 1,210 scored by the champion only, 94 scored by the challenger "
            "only, 3,028 without a label" in together
        )
        all_of_them = [row if number < 2 else row | {"rows": 0} for number, row in enumerate(_counts())]
        assert "not compared" not in text(review(tables={"counts": all_of_them}), ZONE)

    def test_the_last_windows_are_shown_and_the_earlier_counted(self) -> None:
        told = text(review(), ZONE)
        assert "Not shown: 9 earlier windows." in told
        assert "2013-12-23 to 2013-12-30" in told
        assert "2013-10-28 to 2013-11-04" not in told
        assert "earlier" not in text(review(windows=8), ZONE)
        assert "Not compared: 2013-09-23 to 2013-09-30, 31 positives" in text(review(windows=8), ZONE)

    def test_numbers_have_their_signs(self) -> None:
        told = text(review(), ZONE)
        assert re.search(r"\n +1 % .* -4\.1 .* champion\n", told)
        assert re.search(r"\n +0\.1 +0\.090 +0\.090 +-0\.0005 ", told)
        assert "+41.20 to +195.50" in told

    def test_nothing_at_all_makes_a_text(self) -> None:
        told = text(
            review(
                tables={}, metrics={}, rule={}, caveats=(), comparisons=(), decided_at=None, registered=False
            ),
            ZONE,
        )
        assert "chosen by hand" in told
        assert "Bear in mind" not in told
        assert "\n\n\n" not in told
