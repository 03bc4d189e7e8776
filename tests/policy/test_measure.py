"""What a window shows where a model has one score for all rows: areas and costs, and words for the rest."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.measure import measure
from rocmonitor.stats import PairedSample, Sample

RNG = np.random.default_rng(4)
Y = np.repeat([1, 0], [30, 70])
GOOD, FLAT = RNG.normal(size=100) + Y, np.full(100, 0.5)
ASKED = {"fprs": [0.1], "thresholds": [0.5], "costs": {0.3: 0.4}}


def measured(champion, challenger=None):
    pair = None if challenger is None else PairedSample(Y, champion, challenger)
    return measure(Sample(Y, champion), pair, **ASKED)


def models(rows):
    return sorted({row["model"] for row in rows})


def test_both_models_have_curves_where_their_scores_differ():
    found = measured(GOOD, GOOD[::-1])
    for table in ("roc", "fprs", "thresholds"):
        assert models(found.tables[table]) == ["challenger", "champion"]
    assert len(found.tables["dominance"]) == 1
    assert "champion/tpr_at_fpr_0.1" in found.metrics
    assert not any("neither curve" in caveat for caveat in found.caveats)


@pytest.mark.parametrize("flat", ["champion", "challenger"])
def test_the_curve_of_a_model_with_one_score_is_left_out(flat):
    found = measured(FLAT, GOOD) if flat == "champion" else measured(GOOD, FLAT)
    other = "challenger" if flat == "champion" else "champion"
    for table in ("roc", "fprs", "thresholds"):
        assert models(found.tables[table]) == [other]
    assert "dominance" not in found.tables
    assert (
        f"the {flat} has neither curve nor operating points: all its 100 scores are 0.5",
        "no dominance at thresholds: a model has one score for all rows that both scored",
    ) == found.caveats[-2:]
    # The areas, their difference and the cost need no curve.
    assert found.metrics[f"{flat}/auc"] == 0.5
    assert found.difference is not None
    assert "champion/cost_at_w_0.3" in found.metrics
    names = [name for name in found.metrics if "_at_fpr_" in name or "_at_threshold_" in name]
    assert names
    assert all(name.startswith(other) for name in names)


def test_low_scores_that_are_positive_are_told_as_the_models_score():
    # A credit score: low is bad, and who has 0.2 or less is flagged.
    score, other = (np.round(-values, 2) for values in (GOOD, GOOD[::-1]))
    pair = PairedSample(Y, -score, -other)
    found = measure(pair.first, pair, fprs=[], thresholds=[0.2, -0.4], costs={0.3: 0.4}, turned=True)
    for threshold, row in zip([0.2, -0.4], found.tables["thresholds"], strict=False):
        assert row["threshold"] == threshold
        assert row["tpr"] == np.mean(score[Y == 1] <= threshold)
        assert found.metrics[f"champion/fpr_at_threshold_{threshold:g}"] == np.mean(
            score[Y == 0] <= threshold
        )
    assert [row["threshold"] for row in found.tables["dominance"]] == [0.2, -0.4]
    [cost] = found.tables["costs"]
    missed, alarmed = np.mean(score[Y == 1] > -0.4), np.mean(score[Y == 0] <= -0.4)
    assert (cost["threshold"], cost["cost"]) == (-0.4, pytest.approx(0.3 * missed + 0.7 * alarmed))
    flat = PairedSample(Y, -FLAT, -score)
    caveats = measure(flat.first, flat, **ASKED, turned=True).caveats
    assert "the champion has neither curve nor operating points: all its 100 scores are 0.5" in caveats


def test_alone_with_one_score():
    found = measured(FLAT)
    assert [found.tables[table] for table in ("roc", "fprs", "thresholds")] == [[], [], []]
    assert found.metrics["champion/auc"] == 0.5
    assert len(found.caveats) == len(set(found.caveats)) >= 1


def test_one_score_on_the_rows_that_both_scored():
    champion = np.where(np.arange(100) % 5 < 4, 0.5, GOOD)
    both = np.arange(100) % 5 < 4
    pair = PairedSample(Y[both], champion[both], GOOD[both])
    found = measure(Sample(Y, champion), pair, **ASKED)
    assert models(found.tables["roc"]) == ["challenger", "champion"]
    assert "dominance" not in found.tables
    assert any(caveat.startswith("no dominance at thresholds") for caveat in found.caveats)
