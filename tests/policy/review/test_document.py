"""A review as plain data: there and back."""

from __future__ import annotations

import json

from reviews import compared, review

from rocmonitor.caveat import Caveat
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.policy.review.settings import ReviewRule


def test_plain_data_gives_the_review_again() -> None:
    for whole in (review(), compared(), review(decision=Decision.UNDECIDED, decided_at=None)):
        plain = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
        assert Review.from_dict(plain) == whole


def test_a_rule_names_its_correlation_only_where_it_matters() -> None:
    period, future = ReviewRule(margin=0.005), ReviewRule(margin=0.005, decides="future")
    assert period.to_dict() == {
        "decides": "period",
        "margin": 0.005,
        "confidence_level": 0.95,
        "fpr": [],
        "tuned_for": 8,
    }
    assert period.digest == ReviewRule(margin=0.005, correlation="none").digest
    assert future.to_dict()["correlation"] == "estimated"
    independent = ReviewRule(margin=0.005, decides="future", correlation="none")
    assert len({period.digest, future.digest, independent.digest}) == 3


def test_caveats_are_values() -> None:
    assert Caveat("flagged-shares-differ", threshold=0.5, champion=0.12, challenger=0.21) in review().caveats
