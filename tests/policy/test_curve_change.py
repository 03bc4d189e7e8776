"""Where a curve lost: rates as enumerated, a loss where it is, and few false findings."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.judge import FPRS, curve_change
from rocmonitor.stats import Sample
from rocmonitor.wording.explanation import curve_sentence


def drawn(rng, n, *, lower=0.0):
    """Rows whose upper third of positives scores `lower`."""
    y = rng.random(n) < 0.3
    s = rng.normal(1.5 * y)
    return y, np.where(y & (s > 1.8), s - lower, s)


def test_rates_are_those_of_the_rows():
    rng = np.random.default_rng(1)
    (y0, s0), (y1, s1) = drawn(rng, 4_000), drawn(rng, 3_000, lower=1.0)
    found = curve_change(Sample(y0, s0), Sample(y1, s1))
    assert [row["fpr"] for row in found] == list(FPRS)
    for row in found:
        for name, y, s in (("reference_tpr", y0, s0), ("tpr", y1, s1)):
            negatives = np.sort(s[~y])[::-1]
            threshold = negatives[round(row["fpr"] * len(negatives))]
            assert row[name] == pytest.approx(np.mean(s[y] > threshold), abs=0.02)
        assert row["low"] < row["difference"] < row["high"]
        assert row["difference"] == pytest.approx(row["tpr"] - row["reference_tpr"], abs=1e-9)


def test_a_loss_at_the_top_is_said_to_be_there():
    rng = np.random.default_rng(2)
    found = curve_change(Sample(*drawn(rng, 20_000)), Sample(*drawn(rng, 8_000, lower=1.0)))
    clear = [row["fpr"] for row in found if row["high"] < 0]
    assert min(clear) <= 0.02
    assert max(clear) < 0.5
    said = curve_sentence(found, -0.05)
    assert said.startswith("At a false positive rate of ")
    assert "points" in said
    assert curve_sentence(found, 0.05) == ""


@pytest.mark.slow
def test_equal_curves_show_a_loss_in_few_windows():
    rng, seen = np.random.default_rng(3), 0
    reference = Sample(*drawn(rng, 200_000))
    for _ in range(1_000):
        found = curve_change(reference, Sample(*drawn(rng, 1_500)))
        seen += any(row["high"] < 0 or row["low"] > 0 for row in found)
    assert seen <= 65  # 5 % and two standard errors


def test_without_a_curve_there_is_nothing_to_say():
    one = Sample([0, 1] * 50, [1.0] * 100)
    assert curve_change(one, one) == []
    few = Sample([0, 1], [0.1, 0.9])
    assert curve_change(few, few) == []
    assert curve_sentence([], -0.1) == ""
