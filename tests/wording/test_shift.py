"""The explanation of a change, in words."""

from dataclasses import replace

import pytest
from store.examples import an_evaluation

from rocmonitor.caveat import Caveat
from rocmonitor.wording.shift import explanation, main_part
from rocmonitor.wording.window import foretold, moved_briefly


def bins(*pos: tuple[float, float]) -> list[dict[str, float]]:
    return [
        {
            "low": float(number),
            "high": number + 1.0,
            "pos_reference": old,
            "pos_window": new,
            "neg_reference": 0.5,
            "neg_window": 0.5,
        }
        for number, (old, new) in enumerate(pos)
    ]


def test_the_printed_parts_add_up_and_name_a_score() -> None:
    text = explanation(
        bins((0.2, 0.6), (0.8, 0.4)),
        reference_auc=0.75,
        auc=0.65004,
        from_positives=-0.09,
        from_negatives=-0.00996,
    )
    assert text == (
        "The AUROC fell by 0.100, from 0.750 to 0.650. The positives' part is −0.090: 40.0 % of them "
        "score above 1, 80.0 % in the reference. The negatives' part is −0.010."
    )


def test_where_low_scores_are_positive_shares_are_below_a_score() -> None:
    """The same shift, told of scores whose low ones are positive: bins as the models score."""
    text = explanation(
        bins((0.8, 0.4), (0.2, 0.6)),
        reference_auc=0.75,
        auc=0.65,
        from_positives=-0.1,
        from_negatives=0.0,
        low_is_positive=True,
    )
    assert "40.0 % of them score below 1, 80.0 % in the reference" in text


@pytest.mark.parametrize("auc", [0.7, 0.70004, 0.69996])
def test_no_change_that_shows_is_said_to_be_none(auc: float) -> None:
    parts = {"from_positives": auc - 0.7, "from_negatives": 0.0}
    text = explanation(bins((1.0, 1.0)), reference_auc=0.7, auc=auc, **parts)
    assert text.startswith("The AUROC is 0.700, as in the reference. ")


@pytest.mark.parametrize(
    ("auc", "parts", "low_is_positive", "words"),
    [
        (
            0.65,
            (-0.09, -0.01),
            False,
            "90 % of the fall comes from the positives, which score lower: 40.0 % ",
        ),
        (0.65, (-0.11, 0.01), False, "The fall comes from the positives, which score lower: 40.0 % "),
        (0.65, (-0.01, -0.09), False, "90 % of the fall comes from the negatives, which score higher."),
        (0.85, (0.09, 0.01), True, "90 % of the rise comes from the positives, which score lower"),
        (0.75, (0.0, 0.0), False, ""),
    ],
)
def test_the_larger_part_is_said_in_one_sentence(
    auc: float, parts: tuple[float, float], low_is_positive: bool, words: str
) -> None:
    """Of bins in which 80 % of the positives scored above 1, and 40 % do now; the negatives are as before."""
    text = main_part(
        bins((0.2, 0.6), (0.8, 0.4)),
        reference_auc=0.75,
        auc=auc,
        from_positives=parts[0],
        from_negatives=parts[1],
        low_is_positive=low_is_positive,
    )
    assert text.startswith(words)
    assert text.count(". ") == 0


def test_what_the_scores_foretold_and_the_rest_add_up() -> None:
    metrics = {"reference/auc": 0.7577, "champion/auc": 0.6067, "shift/foreseen": -0.07741}
    assert foretold(metrics) == (
        "Of this, −0.077 showed in the scores (the cases became harder to rank) and −0.074 did not "
        "(the model became worse, or chance)."
    )
    assert foretold({"reference/auc": 0.7577, "champion/auc": 0.6067}) == ""
    eased = foretold(metrics | {"shift/foreseen": 0.02})
    assert "+0.020 showed in the scores (the cases became easier" in eased
    assert "−0.171 did not (the model became worse" in eased


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (-0.004, "Of the fall, −0.004 showed in the scores and −0.075 did not."),
        (0.05, "Of the fall, +0.050 showed in the scores and −0.129 did not."),
    ],
)
def test_an_alarm_says_what_the_scores_showed(seen: float, said: str) -> None:
    metrics = {"champion/auc": 0.791, "reference/auc": 0.87, "shift/foreseen": seen}
    of = an_evaluation(0, metrics=metrics | {"shift/from_positives": -0.07, "shift/from_negatives": -0.009})
    of = replace(of, tables={"shift": bins((0.2, 0.6), (0.8, 0.4))})
    assert moved_briefly(of).endswith(f". {said}")
    unknown = {"shift/foreseen_low": -0.1, "shift/foreseen_high": 0.1, "shift/foreseen_known": 0.0}
    assert "scores and" not in moved_briefly(replace(of, metrics=of.metrics | unknown))


def test_an_alarm_says_why_the_group_that_moved_is_not_known() -> None:
    of_scores = Caveat("no-least-favourable-shift").concerning("explanation")
    unread = Caveat("not-computed", why="no such column\nas region").concerning("explanation")
    of_rule = Caveat("not-computed", why="too few windows").concerning("forecast")
    of = replace(an_evaluation(0), tables={})
    assert moved_briefly(replace(of, caveats=(of_rule, of_scores))) == ""
    told = moved_briefly(replace(of, caveats=(of_scores, of_rule, unread)))
    assert told == "Which group moved is not known: no such column as region."


def test_what_the_scores_foretold_is_not_known_where_the_reference_has_few_rows() -> None:
    metrics = {
        "champion/auc": 0.75,
        "reference/auc": 0.8,
        "shift/foreseen": -0.01,
        "shift/foreseen_low": -0.093,
        "shift/foreseen_high": 0.026,
        "shift/foreseen_known": 0.0,
        "shift/thin_share": 0.42,
        "shift/outside_share": 0.031,
    }
    assert foretold(metrics) == (
        "How much of this the scores showed is not known: between −0.093 and +0.026 (of its scores, 42 % "
        "lie where the reference has few rows and 3.1 % lie beyond the reference's range)."
    )
    assert foretold(metrics | {"shift/thin_share": 0.0, "shift/outside_share": 0.0}).endswith("and +0.026.")
    assert "−0.010 showed in the scores" in foretold(metrics | {"shift/foreseen_known": 1.0})
