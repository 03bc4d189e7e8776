"""Reviews in words: a sentence for each case."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from reviews import RULE, review, window_rows

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.checks import NO_SCATTER, TOO_FEW
from rocmonitor.policy.review.document import Comparison, Decision, Review
from rocmonitor.policy.windows import Window
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.caveats.review import SENTENCES
from rocmonitor.wording.review import (
    advice,
    chosen,
    in_words,
    one_check,
    rule,
    sentence,
    summary,
    title,
)

AREA = Comparison(fpr=None, estimate=0.0117, low=-0.001, high=0.0244, checks=17, better="")
RATE = Comparison(fpr=0.1, estimate=0.03, low=0.01, high=0.05, checks=17, better="challenger")
AVERAGE = "AUROC difference, average of these 17 windows: +0.012"
NO_TABLES: dict[str, Any] = {"windows": [], "next": []}
WHOLE = "Over all rows of the period the AUROC is 0.752 for the challenger and 0.742 for the champion."


def decided(decision: Decision, *comparisons: Comparison, **changes: Any) -> Review:
    plain = RULE.to_dict() | {"margin": 0.0}
    return review(**{"decision": decision, "comparisons": comparisons, "rule": plain} | changes)


def undecided(*comparisons: Comparison, **changes: Any) -> Review:
    return decided(Decision.UNDECIDED, *comparisons, **{"decided_at": None} | changes)


def lines(review: Review) -> str:
    return "\n".join(summary(review))


def test_a_better_model_has_its_numbers_and_since_when() -> None:
    better = replace(AREA, low=0.001, better="challenger")
    assert summary(decided(Decision.CHALLENGER, better)) == [
        f"{AVERAGE} (+0.001 to +0.024, at all checks together).",
        "The decision has stood since window 10 of 17.",
        "The challenger leads in 16 of 16 windows; the latest: +0.005, +0.018, +0.011, +0.001.",
        "If windows go on differing like these, the mean difference will be +0.001 to +0.018 in the next 4 "
        "and +0.003 to +0.016 in the next 13 (95 %).",
        WHOLE,
    ]
    assert "Also: the challenger is better by TPR at 10 % FPR, +3.0 points (+1.0 to +5.0)." in summary(
        decided(Decision.CHALLENGER, better, RATE)
    )
    assert ", more than 0.002 from 0." in lines(review(decision=Decision.CHALLENGER))
    assert advice(decided(Decision.CHALLENGER, better)).startswith("The decision is about these windows")
    future = {"rule": RULE.to_dict() | {"margin": 0.0, "decides": "future"}}
    ahead = decided(Decision.CHALLENGER, better, **future)
    assert summary(ahead)[0].startswith("AUROC difference, long-run mean, from 17 windows: +0.012 (")
    assert "as long as the windows support it" in advice(ahead)


@pytest.mark.parametrize(
    ("low", "high", "decision", "words"),
    [
        (-0.001, 0.02, Decision.NOT_WORSE, "together), above −0.002 but not clearly above 0.002."),
        (0.001, 0.02, Decision.NOT_WORSE, "together), above 0 but not clearly above 0.002."),
        (-0.001, 0.001, Decision.NOT_WORSE, "above −0.002 and is not above 0.002."),
        (-0.01, 0.0244, Decision.UNDECIDED, "which may be below −0.002."),
        (-0.01, 0.001, Decision.UNDECIDED, "which may be below −0.002 and is not above 0.002."),
    ],
)
def test_a_margin_says_what_is_shown_of_it(low: float, high: float, decision: Decision, words: str) -> None:
    area = replace(AREA, low=low, high=high)
    shown = decided(decision, area, rule=RULE.to_dict())
    assert summary(shown)[0].endswith(words)


def test_no_decision_says_in_one_sentence_why() -> None:
    open_ = undecided(AREA, tables=NO_TABLES)
    assert summary(open_) == [
        f"{AVERAGE} (−0.001 to +0.024, at all checks together), which may be 0.",
        WHOLE,
    ]
    assert advice(open_) == "If you cannot wait for more windows, decide on other grounds."
    assert advice(undecided(AREA, further_windows=6)) == (
        "6 more windows (6 weeks) will probably decide, if windows go on differing like these."
    )


@pytest.mark.parametrize(
    ("hours", "windows", "words"),
    [
        (168, 1, "1 more window (7 days)"),
        (168, 208, "208 more windows (4.0 years)"),
        (6, 2, "2 more windows (12.0 hours)"),
        (6, 5, "5 more windows (1 day)"),
    ],
)
def test_how_long_further_windows_take(hours: int, windows: int, words: str) -> None:
    start = review().period.start
    length = timedelta(hours=hours)
    rows = window_rows([Window(start + n * length, start + (n + 1) * length) for n in range(3)])
    assert words in advice(undecided(AREA, further_windows=windows, tables={"windows": rows}))


def test_what_earlier_windows_showed_stays_true_of_them() -> None:
    rows = [
        {**row, "anytime_low": low, "anytime_high": high}
        for row, low, high in zip(
            review().tables["windows"][:3], (-0.01, 0.001, -0.001), (0.02, 0.02, 0.02), strict=True
        )
    ]
    before = undecided(AREA, tables={"windows": rows})
    words = "The average of windows 1 to 2 was above 0; with the later ones it may not be."
    assert words in summary(before)
    future = replace(before, rule=before.rule | {"decides": "future"})
    assert words not in summary(future)
    lower = [{**row, "anytime_low": -0.03, "anytime_high": -0.01} for row in rows[:2]]
    margin = undecided(AREA, rule=RULE.to_dict(), tables={"windows": [*lower, rows[2]]})
    assert "The average of windows 1 to 2 was below −0.002; with the later ones it may not be." in summary(
        margin
    )


def test_an_interval_that_is_still_unbounded() -> None:
    first = undecided(replace(AREA, low=-1.0, high=1.0, checks=1))
    assert "of these 1 window: +0.012 (not bounded yet, at all checks together), which may be 0." in lines(
        first
    )


def test_a_trade_off_names_both_and_their_regions() -> None:
    champion = replace(RATE, fpr=0.01, estimate=-0.02, low=-0.03, high=-0.01, better="champion")
    regions = [
        {"from_fpr": 0.01, "to_fpr": 0.05, "better": "champion"},
        {"from_fpr": 0.3, "to_fpr": 0.3, "better": "challenger"},
    ]
    crossed = decided(Decision.TRADE_OFF, AREA, RATE, champion, tables={"regions": regions})
    assert summary(crossed) == [
        "The challenger is better by TPR at 10 % FPR, +3.0 points (+1.0 to +5.0); the champion is better by "
        "TPR at 1 % FPR, −2.0 points (−3.0 to −1.0).",
        "In the band over the whole period the challenger is better at FPR 0.3, the champion at FPR 0.01 to "
        "0.05.",
        WHOLE,
    ]
    assert advice(crossed).startswith("Choose by the false positive rate")


def test_windows_that_could_not_be_compared() -> None:
    nothing = Comparison(fpr=None, estimate=None, low=None, high=None, checks=0, better="")
    small = undecided(nothing, tables={"windows": [review().tables["windows"][3]]})
    assert lines(small).startswith(
        "No window could be compared (31 positives and 381 negatives, at least 50 of each are needed)."
    )
    assert "min_per_class" in advice(small)


def test_lines_of_an_alarm() -> None:
    assert title(review()) == "trade-off (champion 3, challenger 5)"


def test_codes_of_tables_become_words() -> None:
    shown = review()
    small = shown.tables["windows"][3]
    words = "31 positives and 381 negatives, at least 50 of each are needed"
    assert in_words("windows", small, shown)["why_not"] == words
    assert in_words("windows", small, review(provenance={}))["why_not"] == "too few rows of a class"
    assert "no standard error" in in_words("windows", small | {"why_not": NO_SCATTER}, shown)["why_not"]
    assert in_words("windows", small | {"why_not": "as it was"}, shown)["why_not"] == "as it was"
    segment = shown.tables["segments"][2]
    assert segment["note"] == TOO_FEW
    assert in_words("segments", segment, shown)["note"].startswith("12 positives and 108 negatives")
    assert (
        in_words("counts", {"kind": "outside", "rows": 1}, shown)["kind"] == "with a time outside the window"
    )
    forecast = shown.tables["forecast"][0]
    assert in_words("forecast", forecast, shown)["basis"] == "22 windows of the reference"


def test_the_rule_in_words() -> None:
    lines = rule(review())
    assert "of the 5 % for error one half is spent on the AUROC difference" in lines[0]
    assert lines[0].endswith("the TPR difference at FPR 1 %, 5 %, 30 %.")
    assert "by more than 0.002" in lines[1]
    assert lines[2] == "Challenger not worse: its AUROC is clearly at most 0.002 lower."
    assert lines[3].startswith("Trade-off: ")
    plain = rule(review(rule=replace(RULE, fpr=(), margin=0.0, confidence_level=0.9).to_dict()))
    assert "of the 10 % for error all of it is spent" in plain[0]
    assert not any(line.startswith("Trade-off") for line in plain)
    assert rule(review(rule={})) == []
    assert not any(line.startswith("Challenger not worse") for line in plain)
    assert "the average of the true differences over the windows so far" in lines[0]
    for correlation, words in (("estimated", "allow for neighbouring windows"), ("none", "as independent")):
        future = rule(review(rule=replace(RULE, decides="future", correlation=correlation).to_dict()))
        assert words in future[-1]
        assert "the mean of the true differences in the long run" in future[0]


def test_few_rows_that_keep_the_rule_undecided_have_a_line() -> None:
    few = Caveat("few-rows-keep-undecided", **VALUES["few-rows-keep-undecided"])
    line = summary(undecided(AREA, caveats=(few,)))[1]
    assert line == (
        "Sampling error alone would decide (+0.001 to +0.020), but only about 3 of 150 positives speak "
        "against it, and a few that no window has shown could undo it."
    )
    assert line not in summary(undecided(AREA, caveats=()))


def test_a_period_chosen_by_hand() -> None:
    assert chosen(review()) != chosen(review(registered=False))
    assert "by hand" in chosen(review(registered=False))


VALUES: dict[str, dict[str, Any]] = {
    "windows-not-checked": {"count": 1, "total": 3},
    "rate-not-checked": {"fpr": 0.01, "count": 1, "total": 3, "near": 0.1},
    "period-differs-more": {"difference": 0.01, "low": 0.001, "high": 0.02},
    "few-rows-keep-undecided": {"rows": 3.2, "kind": "positives", "of": 150, "low": 0.001, "high": 0.02},
    "constant-scores": {"model": "champion", "rows": 9, "score": 0.5},
    "part-left-out": {"part": "band", "reason": "no rows"},
    "rate-moved": {"fpr": 0.1, "used": 0.0968, "negatives": 93},
    "no-rows-for-thresholds": {},
    "few-rows-for-thresholds": {"n_pos": 1, "n_neg": 2, "needed": 50},
    "constant-scores-for-thresholds": {},
    "thresholds-not-matched": {"count": 1, "total": 2},
    "thresholds-not-calibrated": {"count": 1, "total": 2},
    "scales-differ": {"challenger_scores": [0.1, 0.2], "champion_scores": [1.0, 2.0]},
    "flagged-shares-differ": {"threshold": 0.5, "challenger": 0.21, "champion": 0.12},
    "too-few-windows-for-forecast": {
        "confidence_level": 0.95,
        "needed": 19,
        "min_per_class": 50,
        "reference": 3,
        "review": 4,
    },
    "period-by-hand": {},
    "segment-by-hand": {"segment": "region=north"},
    "windows-of-other-versions": {"count": 2, "compared": False},
    "windows-waiting": {"count": 1},
    "windows-without-rows": {"count": 3},
    "thresholds-from-first-windows": {"min_per_class": 50, "until": "2026-06-01 00:00"},
    "one-model-only": {"champion": 30, "challenger": 0, "compared": 1600},
    "more-windows-alike": {"count": 2},
    "low-scores-positive": {},
    "alias-moved": {"alias": "champion", "before": "1", "after": "3", "champion": "1", "challenger": "2"},
    "alias-not-confirmed": {"alias": "champion", "version": "1", "reason": "no answer"},
    "rule-changed": {"count": 2, "last": "2026-06-11"},
    "start-changed": {"before": "2026-05-25", "now": "2026-06-01", "reviewed": "2026-06-25"},
    "rows-changed": {"count": 1, "reviewed": "2026-06-11"},
}


def test_every_caveat_of_a_review_has_a_sentence() -> None:
    assert set(VALUES) == set(SENTENCES)
    for code, values in VALUES.items():
        words = words_of(Caveat(code, **values))
        assert "{" not in words
        assert len(words) > 20
    assert words_of(Caveat("windows-waiting", count=1)).startswith("1 window is left out")
    assert words_of(Caveat("one-model-only", **VALUES["one-model-only"])) == (
        "30 rows scored by the champion only are not compared: the 1,600 compared rows may be unlike them"
    )


class TestOneCheck:
    """A difference that looks clear beside "no decision yet"."""

    @staticmethod
    def undecided(low: float, high: float, **changes: Any) -> Review:
        shown = review(decision=Decision.UNDECIDED, decided_at=None, **changes)
        ends = {"difference/auc_low": low, "difference/auc_high": high}
        return replace(shown, metrics=shown.metrics | ends)

    def test_it_says_why_with_both_intervals(self) -> None:
        text = one_check(self.undecided(0.0134, 0.0177, rule={}))
        assert text.startswith("Why is a clear difference no decision? The interval of all rows, +0.0134 to ")
        assert "holds at all checks together (+0.004 to +0.015)" in text
        assert text.endswith("does not lie beyond 0 yet.")

    def test_a_margin_is_named(self) -> None:
        assert "beyond the margin of 0.002" in one_check(self.undecided(-0.02, -0.01))

    @pytest.mark.parametrize(("low", "high"), [(-0.01, 0.02), (0.001, 0.01), (-0.003, 0.0)])
    def test_there_is_nothing_to_explain_where_it_does_not_look_clear(self, low: float, high: float) -> None:
        assert one_check(self.undecided(low, high)) == ""

    def test_a_decision_needs_no_excuse(self) -> None:
        assert one_check(review()) == ""


def test_the_decision_in_one_line() -> None:
    assert sentence(review()) == "trade-off, challenger 5 against champion 3: AUROC +0.010 (+0.004 to +0.015)"
    assert sentence(review(comparisons=())) == "trade-off, challenger 5 against champion 3"


def test_windows_that_are_alike_say_how_often_that_decides_wrongly() -> None:
    bare = Caveat("windows-correlated", correlation=0.46)
    assert "20 at 0.6 and 57 at 0.9" in words_of(bare)
    assert "use longer windows" in words_of(bare)
    told = Caveat("windows-correlated", correlation=0.46, low=-0.02, high=0.05, pvalue=0.31)
    assert "with the correlation estimated it is −0.02 to +0.05 (p = 0.31)" in words_of(told)
