"""Reference windows far from the others: what is learned without them, and who is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.judge import judge
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference, freeze, with_labels
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Drop, Forecast, Lasting
from rocmonitor.stats import Sample
from rocmonitor.stats.forecast.label_history import PastWindow
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.wording.caveats import words_of

FIRST, WEEK = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
RULES = {"forecast": Forecast(), "lasting": Lasting(), "drop": Drop(value=0.02)}


def drawn(seed: int, shift: float = 1.2, n: int = 400) -> Sample:
    rng = np.random.default_rng([seed, n])
    y = np.repeat([1, 0], [n * 2 // 5, n * 3 // 5])
    return Sample(y, rng.normal(size=n) + shift * y)


def weeks(shifts: dict[int, float], count: int = 19) -> list[tuple[Window, Sample]]:
    return [
        (Window(FIRST + at * WEEK, FIRST + (at + 1) * WEEK), drawn(at, shifts.get(at, 1.2)))
        for at in range(count)
    ]


def plain(reference: Reference) -> dict[str, object]:
    """What was learned, without the windows and their caveat."""
    return {
        name: value
        for name, value in reference.to_dict().items()
        if name not in ("windows", "caveats", "pieces")
    }


def test_a_reference_with_a_bad_week_is_learned_as_without_it():
    past = weeks({7: -0.2})
    found = freeze(past, RULES, (0.2,), outlooks=True)
    others = freeze(
        [each for at, each in enumerate(past) if at != 7], RULES, (0.2,), outlooks=True, outliers="keep"
    )
    assert plain(found) == plain(others)
    assert [at for at, each in enumerate(found.windows) if "left_out" in each] == [7]
    left = found.windows[7]
    assert "auc" not in left
    assert 0.3 < left["left_out"]["auc_low"] < left["left_out"]["auc"] < left["left_out"]["auc_high"] < 0.6
    assert left["left_out"]["chance"] < 1e-4
    assert len(found.learned) == 18
    caveat = found.caveats[-1]
    assert (caveat.code, caveat.about) == ("reference-without-windows", ())
    assert caveat.values == {
        "count": 1,
        "n_windows": 19,
        "unit": "week",
        "names": ["2026-02-23"],
        "aucs": [left["left_out"]["auc"]],
    }
    back = Reference.from_dict(json.loads(json.dumps(found.to_dict())))
    assert back.to_dict() == found.to_dict()
    assert doubts_of(json.loads(json.dumps(found.to_dict()))) == [caveat]


def test_the_range_is_narrow_again_and_the_drop_is_found():
    past = weeks({7: -0.2})
    narrow, wide = (NormalRanges.of(freeze(past, RULES, outliers=each)) for each in ("leave-out", "keep"))
    spans = [each.range("forecast").high - each.range("forecast").low for each in (narrow, wide)]
    assert spans[0] < 0.5 * spans[1]
    assert narrow.charts["lasting"].between < 0.5 * wide.charts["lasting"].between
    coming = drawn(99, 0.8)
    counts = Counts(rows=400, n_pos=160, n_neg=240)
    found = [
        judge(coming, None, counts, ranges=each, rules=RULES, min_per_class=1) for each in (narrow, wide)
    ]
    outcomes = [{verdict.rule: str(verdict.outcome) for verdict in each.verdicts} for each in found]
    assert outcomes[0]["forecast"] == "degraded"
    assert outcomes[1]["forecast"] == "ok"
    codes = [[caveat.code for caveat in each.caveats] for each in found]
    assert codes[0].count("reference-without-windows") == 1
    assert "reference-without-windows" not in codes[1]


def test_keep_leaves_out_none_and_says_nothing():
    past = weeks({7: -0.2})
    found = freeze(past, RULES, outliers="keep")
    assert all("auc" in each and "left_out" not in each for each in found.windows)
    assert "reference-without-windows" not in [each.code for each in found.caveats]


def test_three_bad_weeks_are_left_out_together_and_named_in_order():
    found = freeze(weeks({3: 0.0, 8: -0.2, 12: 0.1}), RULES, zone=ZoneInfo("Europe/Berlin"))
    [caveat] = [each for each in found.caveats if each.code == "reference-without-windows"]
    assert caveat.values["names"] == ["2026-01-26 01:00", "2026-03-02 01:00", "2026-03-30 02:00"]
    assert caveat.values["count"] == 3


def test_a_high_week_stays_and_raises_only_the_upper_end():
    past = weeks({7: 4.0})
    found, kept = (freeze(past, {"forecast": Forecast()}, outliers=each) for each in ("leave-out", "keep"))
    assert [at for at, each in enumerate(found.windows) if "above" in each] == [7]
    assert (found.auc.n_pos, found.auc.auc) == (kept.auc.n_pos, kept.auc.auc)
    assert not [each for each in found.caveats if each.code == "reference-without-windows"]
    ranges = [NormalRanges.of(each).range("forecast") for each in (found, kept)]
    assert ranges[0].high == pytest.approx(found.windows[7]["auc"])
    assert ranges[0].low > ranges[1].low + 0.02


def test_a_low_week_never_raises_the_upper_end():
    for shift in (0.0, 0.4, 0.6, 0.8):
        past = weeks({7: shift})
        found, others = (
            NormalRanges.of(freeze(each, {"forecast": Forecast()})) for each in (past, [*past[:7], *past[8:]])
        )
        if any("left_out" in each for each in found.reference.windows):
            assert found.range("forecast").high == others.range("forecast").high


def test_few_windows_are_all_kept():
    found = freeze(weeks({3: -0.5}, 8), RULES)
    assert len(found.learned) == 8


def test_a_year_with_a_season_has_no_bad_season():
    past = [
        (window, drawn(at, 1.4 + 0.7 * np.cos(2 * np.pi * at / 52.18)))
        for at, (window, _) in enumerate(weeks({}, 104))
    ]
    found = freeze(past, {"forecast": Forecast()})
    assert found.fits["forecast"].season
    assert len(found.learned) == 104


def test_labels_are_learned_from_the_windows_that_count():
    past = weeks({7: -0.2})
    frozen = freeze(past, {"forecast": Forecast()})
    none = ScoreCounts(np.array([]), np.array([], dtype=np.int64))
    known = [PastWindow((sample, sample), none, timedelta(days=9), 0.0) for _, sample in past]
    found = with_labels(frozen, known, [timedelta(days=2)])
    assert len(found.labels.known_for) == 18
    assert len(found.windows) == 19


def test_the_sentence():
    of = {"count": 5, "n_windows": 30, "unit": "day", "aucs": [0.7] * 5}
    text = words_of(
        Caveat("reference-without-windows", names=[f"2026-01-0{day}" for day in range(1, 6)], **of)
    )
    assert text == (
        "the reference was learned without 5 of 30 days, far below the others: 2026-01-01 (AUROC 0.700), "
        "2026-01-02 (AUROC 0.700), 2026-01-03 (AUROC 0.700) and 2 others"
    )
