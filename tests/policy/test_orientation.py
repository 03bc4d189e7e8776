"""Scores and thresholds go out as the models give them."""

from __future__ import annotations

from rocmonitor.policy.orientation import as_scored
from rocmonitor.stats.caveat import Caveat


def test_thresholds_of_tables_are_negated_and_nothing_else() -> None:
    tables = {"costs": [{"w": 0.5, "champion_threshold": -0.4, "challenger_threshold": None, "low": 0.1}]}
    shown, _ = as_scored(tables, ())
    assert shown == {
        "costs": [{"w": 0.5, "champion_threshold": 0.4, "challenger_threshold": None, "low": 0.1}]
    }


def test_zero_stays_without_a_sign() -> None:
    shown, _ = as_scored({"thresholds": [{"threshold": 0.0}]}, ())
    assert str(shown["thresholds"][0]["threshold"]) == "0.0"


def test_scores_and_thresholds_of_caveats_are_negated() -> None:
    caveats = [
        Caveat("constant-scores", model="champion", rows=9, score=-2.5).concerning("rates"),
        Caveat("scales-differ", challenger_scores=[-3.0, -1.0], champion_scores=[-0.2, -0.1]),
        Caveat("a", thresholds=[0.5, 0.25], count=2),
        Caveat("thinned", thresholds=200),  # a number of them
    ]
    _, found = as_scored({}, caveats)
    assert [caveat.values for caveat in found] == [
        {"model": "champion", "rows": 9, "score": 2.5},
        {"challenger_scores": [1.0, 3.0], "champion_scores": [0.1, 0.2]},
        {"thresholds": [-0.5, -0.25], "count": 2},
        {"thresholds": 200},
    ]
    assert found[0].about == ("rates",)
