"""A review as plain data: there and back, and from what an earlier version stored."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from reviews import compared, review

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.document import Decision, Review, Withdrawn
from rocmonitor.policy.review.settings import ReviewRule


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    """A review of the demo as version 0.1.0 stored it, with most rows of its tables left out."""
    path = Path(__file__).parent / "stored_by_0_1.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def test_plain_data_gives_the_review_again() -> None:
    first = review()
    withdrawn = Withdrawn(decision=Decision.CHAMPION, window=3, at=first.period.end)
    for whole in (
        first,
        compared(),
        review(decision=Decision.UNDECIDED, decided_at=None, withdrawn=withdrawn),
    ):
        plain = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
        assert Review.from_dict(plain) == whole
        assert plain["recorded"] == {}


def test_what_an_earlier_version_stored_is_read(stored: dict[str, Any]) -> None:
    found = Review.from_dict(stored)
    assert found.decision is Decision.UNDECIDED
    assert found.withdrawn is None
    assert found.further_windows == 3
    assert found.recorded == {"summary": stored["summary"], "advice": stored["advice"]}
    assert [caveat.code for caveat in found.caveats] == ["recorded"] * len(stored["caveats"])
    assert [str(caveat) for caveat in found.caveats] == stored["caveats"]
    assert Review.from_dict(found.to_dict()) == found


def test_a_rule_without_correlation_has_the_digest_it_had() -> None:
    independent = ReviewRule(margin=0.005, fpr=(0.05,), correlation="none")
    before = {"margin": 0.005, "confidence_level": 0.95, "fpr": [0.05], "tuned_for": 12}
    assert independent.to_dict() == before
    assert independent.digest == hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()
    assert ReviewRule(margin=0.005, fpr=(0.05,)).digest != independent.digest


def test_its_key_and_its_numbers_stay(stored: dict[str, Any]) -> None:
    found = Review.from_dict(stored)
    assert found.key.endswith("|06fb56e39bdf-1f3883d67898-65e09d437c2b")
    assert sorted(found.metrics.values()) == sorted(stored["metrics"].values())
    assert {name.partition("/")[0] for name in found.metrics} == {
        "champion",
        "challenger",
        "data",
        "difference",
        "forecast",
        "review",
    }
    for old, new in {
        "review/n_pos": "data/positives",
        "review/looks": "review/checks",
        "review/windows_waiting": "review/windows_waiting",
        "review/difference_se": "difference/auc_se",
        "review/so_far": "difference/auc_mean",
        "review/always_low": "difference/auc_anytime_low",
        "review/pvalue": "difference/auc_anytime_pvalue",
        "review/difference_at_fpr_0.05": "difference/tpr_at_fpr_0.05",
        "review/difference_at_fpr_0.05_low": "difference/tpr_at_fpr_0.05_low",
        "review/difference_at_fpr_0.1_always_high": "difference/tpr_at_fpr_0.1_anytime_high",
        "review/saved_at_w_0.529412_low": "difference/saved_at_w_0.529412_low",
        "review/forecast_high": "forecast/difference_high",
    }.items():
        assert found.metrics[new] == stored["metrics"][old]


def test_its_tables_and_comparisons_have_the_names_of_today(stored: dict[str, Any]) -> None:
    found = Review.from_dict(stored)
    now = compared()
    for name in ("windows", "fprs", "counts", "auc", "costs"):
        assert set(found.tables[name][0]) == set(now.tables[name][0])
    old, new = stored["tables"]["windows"][-1], found.tables["windows"][-1]
    assert (new["running_mean"], new["anytime_low"]) == (old["so_far"], old["always_low"])
    assert new["checked"] is old["looked"]
    kinds = {row["kind"]: row["rows"] for row in found.tables["counts"]}
    assert (kinds["read"], kinds["compared"], kinds["unlabelled"]) == (109404, 107195, 2209)
    area, *rates = found.comparisons
    assert (area.fpr, area.checks, area.better) == (None, 17, "")
    assert (area.low, area.high) == (old["always_low"], old["always_high"])
    assert [(rate.fpr, rate.checks) for rate in rates] == [(0.05, None), (0.1, None)]


def test_an_earlier_decision_names_the_better_model(stored: dict[str, Any]) -> None:
    for low, high, better in ((0.01, 0.2, "challenger"), (-0.2, -0.01, "champion"), (-1.0, 1.0, "")):
        metrics = stored["metrics"] | {"review/always_low": low, "review/always_high": high}
        assert Review.from_dict(stored | {"metrics": metrics}).comparisons[0].better == better
    bare = Review.from_dict(stored | {"metrics": {}, "tables": {}})
    assert bare.comparisons[0].estimate is bare.comparisons[0].checks is None


def test_caveats_are_values() -> None:
    assert Caveat("flagged-shares-differ", threshold=0.5, champion=0.12, challenger=0.21) in review().caveats
