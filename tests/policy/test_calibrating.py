"""Windows of probabilities: metrics, the rule `calibration`, and the precision of a flagged share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from rocmonitor.errors import ConfigError, InputError
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.measure import Wanted, measure
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Calibration
from rocmonitor.stats import Sample, calibration, total_rate_intervals
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.verdicts import verdict as words


def drawn(seed: int, slope: float = 1.0, intercept: float = 0.0, n: int = 3000) -> Sample:
    rng = np.random.default_rng(seed)
    p = np.round(expit(rng.normal(-1, 1.5, n)), 3)
    p = np.clip(p, 0.001, 0.999)
    return Sample(rng.random(n) < expit(intercept + slope * logit(p)), p)


def judged(sample: Sample, rule: Calibration):
    counts = Counts(rows=sample.n_pos + sample.n_neg, n_pos=sample.n_pos, n_neg=sample.n_neg)
    return judge(
        sample,
        None,
        counts,
        ranges=NormalRanges.of(Reference(auc=None)),
        rules={"calibration": rule},
        min_per_class=10,
        wanted=Wanted(shares=(0.05,), probability=True),
    )


@pytest.mark.parametrize(
    ("sample", "rule", "outcome", "what"),
    [
        (drawn(1), Calibration(slope=(0.8, 1.25), intercept=(-0.3, 0.3)), Status.OK, None),
        (drawn(2, slope=0.5), Calibration(slope=(0.8, 1.25)), Status.DEGRADED, "slope"),
        (drawn(3, slope=2.0), Calibration(slope=(0.8, 1.25)), Status.DEGRADED, "slope"),
        (
            drawn(4, intercept=-1.0),
            Calibration(slope=(0.8, 1.25), intercept=(-0.3, 0.3)),
            Status.DEGRADED,
            "intercept",
        ),
    ],
)
def test_what_the_rule_finds(sample, rule, outcome, what):
    found = judged(sample, rule)
    [verdict] = found.verdicts
    assert verdict.outcome is outcome
    known = calibration(sample)
    assert found.metrics["champion/calibration_slope"] == known.slope
    assert found.metrics["champion/log_loss_low"] == known.log_loss_ci()[0]
    if what:
        assert verdict.details["what"] == what
        assert f"calibration {what} {getattr(known, what):.3f}" in words(verdict)
        assert "is clearly outside of" in words(verdict)
        assert verdict.margin < 0


def test_scores_that_are_no_probabilities_are_insufficient_and_say_why():
    found = judged(Sample([0, 1] * 50, np.arange(100.0)), Calibration(slope=(0.8, 1.25)))
    assert found.outcome is Status.INSUFFICIENT
    assert "champion/log_loss" not in found.metrics
    [caveat] = [each for each in found.caveats if each.code == "not-probabilities"]
    assert "they look like percentages: divide by 100" in words_of(caveat)


def test_less_than_one_flagged_row_is_said():
    sample = drawn(3, n=100)
    counts = Counts(rows=100, n_pos=sample.n_pos, n_neg=sample.n_neg)
    finding = judge(
        sample,
        None,
        counts,
        ranges=NormalRanges.of(Reference(auc=None)),
        rules={},
        min_per_class=1,
        wanted=Wanted(shares=(0.009, 0.01, 0.1)),
    )
    [found] = [each for each in finding.caveats if each.code == "share-below-one-row"]
    assert found.values == {"share": 0.009, "rows": 100}


@pytest.mark.parametrize("share", [0.001, 0.01, 0.2, 0.5, 0.999])
@pytest.mark.parametrize("decimals", [1, 6])
def test_the_precision_of_a_flagged_share_is_that_of_the_rows(share, decimals):
    """As many rows as the share, at least one and not all; what ties with the last one is flagged, too."""
    rng = np.random.default_rng(8)
    y = rng.random(100) < 0.3
    score = np.round(rng.normal(size=100) + y, decimals)
    number = min(max(round(share * 100), 1), 99)
    flagged = score >= np.sort(score)[-number]
    [line] = measure(Sample(y, score), None, Wanted(shares=[share])).tables["shares"]
    assert line["precision"] == pytest.approx(y[flagged].mean())
    assert line["flagged"] == pytest.approx(flagged.mean())
    assert 0 <= line["precision_low"] <= line["precision"] <= line["precision_high"] <= 1


def test_the_interval_of_a_precision_is_that_of_the_rate():
    sample = drawn(5)
    [line] = measure(sample, None, Wanted(shares=[0.1])).tables["shares"]
    tpr = total_rate_intervals(sample, [0.1])
    each = sample.n_pos / (line["flagged"] * (sample.n_pos + sample.n_neg))
    assert line["precision_low"] == pytest.approx(tpr.tpr_low[0] * each)
    assert line["precision_high"] == pytest.approx(tpr.tpr_high[0] * each)


@pytest.mark.parametrize("given", [{}, {"slope": (1.2, 0.8)}, {"intercept": (0.0, 0.0)}])
def test_a_rule_without_a_range_is_refused(given):
    with pytest.raises(InputError):
        Calibration(**given)


def test_the_configuration_wants_probabilities_of_the_positive_class(here):
    rules = "[{kind: calibration, slope: [0.8, 1.25]}]"
    with pytest.raises(ConfigError, match="set score: probability"):
        here.configure(rules=rules)
