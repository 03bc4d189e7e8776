"""What a person is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from paired import FIRST, pair, week, weeks

from rocmonitor.policy.review.checks import follow, looks_caveats, take_looks
from rocmonitor.policy.review.ruling import rule_on
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.policy.review.wording import advice, scale_caveats, summary
from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample

SETTINGS = ReviewSettings(rule=ReviewRule(fpr=(0.1,)))
REGIONS = [
    {"from_fpr": 0.01, "to_fpr": 0.05, "better": "challenger"},
    {"from_fpr": 0.08, "to_fpr": 0.08, "better": "challenger"},
    {"from_fpr": 0.3, "to_fpr": 0.625, "better": "champion"},
]


def told(windows, settings=SETTINGS, further=None, regions=()):
    looks = take_looks([(w, both.swapped()) for w, both in windows], settings, lambda _: None)
    tracks = follow(looks, settings)
    ruling = rule_on(tracks, settings.rule.margin, len(looks))
    return (
        summary(ruling, tracks, looks, (0.81, 0.79), regions, settings),
        advice(ruling, tracks[0], looks, further, settings),
        tracks,
    )


def test_a_better_model_is_named_with_its_numbers():
    text, what_next, (area, _) = told(weeks(10, 1, challenger=1.9))
    low, high = area.bounds()
    assert text.startswith(
        f"The AUROC shows it: the windows' mean difference is {area.estimate:+.4f}, over all of 10 looks "
        f"{low:+.4f} to {high:+.4f}; so since window "
    )
    assert text.endswith(
        " In all rows of the period together the AUROC is 0.8100 for the challenger and 0.7900 for the "
        "champion."
    )
    assert "The decision stands while the windows so far bear it out" in what_next
    with_margin = ReviewSettings(rule=ReviewRule(margin=0.01))
    assert (
        ", beyond the margin of 0.01; so since window " in told(weeks(10, 1, challenger=0.5), with_margin)[0]
    )


def test_the_champion_is_not_called_better_where_the_challenger_is_shown_to_be():
    settings = ReviewSettings(rule=ReviewRule(fpr=(0.03,)))
    text, what_next, _ = told(weeks(20, 2, 80, 160, spread=3.0), settings, regions=REGIONS)
    assert text.startswith("The challenger is better by TPR at FPR 0.03 (+")
    assert "; the champion is better by AUROC (-" in text
    assert (
        " By the band of this look alone the challenger has FPR 0.01 to 0.05 and 0.08 and the champion has "
        "FPR 0.3 to 0.625. In all rows"
    ) in text
    assert what_next.startswith("Choose by the false positive rate")


def test_no_decision_says_what_more_windows_would_do():
    windows = weeks(3, 3)
    text, what_next, (area, _) = told(windows, further=6)
    seems = f"if the difference is what it seems, {area.estimate:+.4f}."
    assert text.startswith(
        f"The AUROC does not show which model is better: the windows' mean difference is {area.estimate:+.4f}"
    )
    assert what_next == (
        f"Another 6 windows (about 6 weeks) like these would decide, {seems[:-1]}; by chance it may take "
        "fewer or more."
    )
    assert told(windows, further=1)[1].startswith("Another 1 window (about 7 days) like these")
    assert told(windows, further=208)[1].startswith("Another 208 windows (about 4.0 years) like these")
    hours = [
        (Window(FIRST + i * timedelta(hours=6), FIRST + (i + 1) * timedelta(hours=6)), both)
        for i, (_, both) in enumerate(windows)
    ]
    assert "Another 2 windows (about 12.0 hours)" in told(hours, further=2)[1]
    assert "Another 5 windows (about 1 day)" in told(hours, further=5)[1]
    assert told(windows)[1].startswith(
        f"More than 520 further windows like these would be needed, {seems[:-1]}"
    )


def test_a_difference_within_the_margin_is_not_waited_for():
    settings = replace(SETTINGS, rule=ReviewRule(margin=0.2))
    text, what_next, _ = told(weeks(3, 3), settings)
    assert "The AUROC does not show a difference beyond the margin of 0.2" in text
    assert what_next.startswith("No number of windows would decide")


def test_windows_too_small_to_be_looks():
    text, what_next, _ = told(weeks(3, 4, 20, 30))
    assert text == (
        "None of 3 windows is a look (20 positives and 30 negatives: fewer than 50 of a class). In all rows "
        "of the period together the AUROC is 0.8100 for the challenger and 0.7900 for the champion."
    )
    assert "window.every" in what_next
    assert "min_per_class" in what_next


def test_windows_that_differ_are_told_and_how_many_more_would_decide():
    windows = [(week(i), pair([5, i], 400, 400, challenger=2.5 if i % 2 else 0.9)) for i in range(12)]
    text, what_next, tracks = told(windows, further=6)
    low, high = tracks[0].bounds()
    assert low < 0 < high
    assert f"over all of 12 looks {low:+.4f} to {high:+.4f}" in text
    assert what_next.startswith("Another 6 windows (about 6 weeks) like these would decide")
    caveats = looks_caveats([], tracks)
    assert any(
        caveat.startswith("AUROC, all looks: the windows differ by more than their sampling error")
        for caveat in caveats
    )


def test_a_decision_that_was_taken_back_is_told():
    windows = [*weeks(10, 1, challenger=1.9), (week(10), pair(7, 400, 800, challenger=-1.0))]
    text, _, (area, _) = told(windows)
    low, high = area.bounds()
    assert low < 0 < high
    assert " Up to window 10 of 11 it was “challenger better”; what came after took that back." in text
    assert "took that back" not in told(weeks(3, 3))[0]


def test_the_first_looks_bound_nothing():
    text, _, (area, _) = told(weeks(1, 1, challenger=1.9))
    assert f"difference is {area.estimate:+.4f}, which 1 look cannot bound yet." in text
    assert "which 2 looks cannot bound yet." in told(weeks(2, 1, challenger=1.9))[0]


@pytest.mark.parametrize(
    ("scale", "thresholds", "said"),
    [
        (lambda s: 100 + s, (), "the two models' scores are on different scales: half of the challenger's"),
        (lambda s: s + 1.5, (1.0,), "at the given threshold 1 the challenger flags"),
        (lambda s: s + 1.5, (), ""),
        (lambda s: s, (0.5, 1.0), ""),
    ],
)
def test_scales_that_plainly_differ_are_told(scale, thresholds, said):
    both = pair(6)
    other = PairedSample.from_counts(
        scale(both.second.score[both.index_2]), both.first.score[both.index_1], both.pos, both.neg
    )
    caveats = scale_caveats(other, thresholds)
    assert len(caveats) == bool(said)
    assert all(said in caveat and "flag equally many rows" in caveat for caveat in caveats)


def test_the_quartiles_are_of_rows_not_of_scores():
    """Three quarters of the challenger's rows have the highest of its four scores."""
    y = np.resize([0, 1], 80)
    challenger = np.repeat([1.0, 2.0, 3.0, 9.0], [5, 5, 5, 65])
    assert scale_caveats(PairedSample(y, challenger, np.linspace(0, 4, 80)), ()) != []
    assert scale_caveats(PairedSample(y, challenger, np.linspace(0, 20, 80)), ()) == []
