import json
import math
import re

import golden
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.compare import compare_auc
from rocmonitor.stats.area.power import AucSpread, PairedSpread, auc_power, auc_sample_size, detectable_drop
from rocmonitor.stats.sample import PairedSample, Sample

NULL = AucSpread.obuchowski(0.5)
areas = st.floats(0.55, 0.98)


# Outside numbers: pROC's power.roc.test


@pytest.mark.parametrize(("name", "value"), golden.POWER_ONE.items())
def test_one_curve(name, value):
    rise = golden.ASAH_AUC["s100b"] - 0.5 if value["auc"] is None else value["auc"] - 0.5
    level = 1 - value["alpha"]
    power = auc_power(
        NULL, -rise, n_pos=value["n_pos"], n_neg=value["n_neg"], confidence_level=level, test="score"
    )
    assert power == pytest.approx(value["power"], abs=value["digit"])


def test_one_curve_sample_size():
    """The published sizes are fractions; whole rows are the next ones up."""
    drop = golden.ASAH_AUC["s100b"] - 0.5
    sizes = auc_sample_size(NULL, drop, power=0.95, ratio=1.7, test="score")
    assert sizes.n_pos == math.ceil(29.29764)
    assert auc_sample_size(NULL, drop, power=0.9, ratio=1, test="score").n_neg == math.ceil(29.5697422)


def test_one_curve_detectable():
    """pROC solves this one with R's uniroot, to a tolerance of 1.2e-4."""
    drop = detectable_drop(NULL, n_pos=41, n_neg=72, power=0.95, test="score")
    assert 0.5 + drop == pytest.approx(golden.POWER_DETECTABLE, abs=1.2e-4)


@pytest.mark.parametrize("models", golden.POWER_TWO)
def test_two_curves(models):
    data = golden.read(golden.ASAH)
    pair = PairedSample(data.y, *(data[model] for model in models))
    drop = golden.ASAH_AUC[models[0]] - golden.ASAH_AUC[models[1]]
    for n_pos, n_neg, alpha, power in golden.POWER_TWO[models]:
        found = auc_power(pair, drop, n_pos=n_pos, n_neg=n_neg, confidence_level=1 - alpha, test="score")
        assert found == pytest.approx(power, abs=1e-7)
    n_pos, n_neg, _, power = golden.POWER_TWO[models][-1]
    sizes = auc_sample_size(pair, drop, power=power, test="score")
    assert (sizes.n_pos, sizes.n_neg) == (math.ceil(n_pos), math.ceil(72 / 41 * math.ceil(n_pos)))


def test_obuchowski_and_mcclish_example():
    pair = PairedSpread.obuchowski(**golden.POWER_BINORMAL["pair"])
    n = golden.POWER_BINORMAL["n"]
    drop = golden.POWER_BINORMAL["drop"]
    assert auc_power(pair, drop, n_pos=n, n_neg=n, test="score") == pytest.approx(0.8, abs=1e-6)
    assert auc_sample_size(pair, drop, ratio=1, test="score").n_pos == math.ceil(n)


# Laws


@given(
    auc_value=areas, n_pos=st.integers(30, 3000), n_neg=st.integers(30, 30000), power=st.floats(0.55, 0.99)
)
def test_the_three_functions_agree(auc_value, n_pos, n_neg, power):
    spread = AucSpread.normal(auc_value)
    for options in ({}, {"alternative": "one-sided"}, {"reference": (500, 900)}, {"transform": "logit"}):
        try:
            drop = detectable_drop(spread, n_pos=n_pos, n_neg=n_neg, power=power, **options)
        except DegenerateDataError:
            assert min(n_pos, n_neg) < 60 or "reference" in options
            continue
        assert auc_power(spread, drop, n_pos=n_pos, n_neg=n_neg, **options) == pytest.approx(power, abs=1e-8)
        sizes = auc_sample_size(spread, drop, power=power, ratio=n_neg / n_pos, **options)
        assert sizes.n_pos in (n_pos, n_pos + 1)
        assert sizes.power >= power - 1e-8


@given(auc_value=areas, share=st.floats(0.02, 0.9), n=st.integers(20, 2000))
def test_a_rise_is_a_drop_of_the_complement(auc_value, share, n):
    drop = share * (auc_value - 0.02)
    down = auc_power(AucSpread.normal(auc_value), drop, n_pos=n, n_neg=2 * n)
    assert auc_power(AucSpread.normal(1 - auc_value), -drop, n_pos=n, n_neg=2 * n) == pytest.approx(down)


@given(auc_value=areas, n=st.integers(50, 2000))
def test_more_rows_and_larger_drops_are_seen_more_often(auc_value, n):
    spread = AucSpread.normal(auc_value)
    drops = [0.02, 0.05, 0.1]
    power = [[auc_power(spread, d, n_pos=m, n_neg=m) for d in drops] for m in (n, 2 * n)]
    assert np.all(np.diff(power, axis=0) >= 0)
    assert np.all(np.diff(power, axis=1) >= 0)
    known, compared = (auc_power(spread, 0.05, n_pos=n, n_neg=n, reference=r) for r in (None, (3 * n, 3 * n)))
    assert compared < known or known == 1.0


def test_a_pair_moves_with_its_second_model():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    shared = rng.normal(size=300) + y
    spread = PairedSpread.from_sample(
        PairedSample(y, shared + rng.normal(size=300), shared + rng.normal(size=300))
    )
    first, second = spread.areas
    assert spread.at(first - second) == pytest.approx((spread.zeta10, spread.zeta01), rel=1e-12)
    # By the variances and the covariance, as they stand in the docstring.
    ratio = AucSpread.normal(first - 0.1).zeta10 / AucSpread.normal(second).zeta10
    shared10 = (spread.own10 + spread.other10 - spread.zeta10) / 2
    expected = spread.own10 + ratio * spread.other10 - 2 * math.sqrt(ratio) * shared10
    assert spread.at(0.1)[0] == pytest.approx(expected, rel=1e-12)
    drop = detectable_drop(spread, n_pos=200, n_neg=900)
    assert auc_power(spread, drop, n_pos=200, n_neg=900) == pytest.approx(0.8)
    sizes = auc_sample_size(spread, drop, ratio=4.5)
    assert (sizes.n_pos, sizes.n_neg) in ((200, 900), (201, 905))


def test_a_reference_result_adds_its_own_variance():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    result = auc(y, rng.normal(size=400) + y)
    spread = AucSpread.from_sample(Sample(y, rng.normal(size=400) + y)).at(result.auc)
    by_result = auc_power(spread, 0.06, n_pos=150, n_neg=300, reference=result)
    none = auc_power(spread, 0.06, n_pos=150, n_neg=300)
    assert by_result < none
    # Variances of the two samples agree to some percent.
    sizes = auc_power(spread, 0.06, n_pos=150, n_neg=300, reference=(result.n_pos, result.n_neg))
    assert by_result == pytest.approx(sizes, abs=0.03)


def test_no_drop_is_needed_where_the_value_lies_above():
    """A floor above the AUC itself: the test rejects already."""
    assert detectable_drop(AucSpread.normal(0.8), n_pos=500, n_neg=500, against=0.95) == 0.0
    assert (
        detectable_drop(
            AucSpread.normal(0.8),
            n_pos=500,
            n_neg=500,
            against=0.75,
            confidence_level=0.5,
            alternative="one-sided",
        )
        > 0.05
    )


# The promise, by simulation of the tests themselves


@pytest.mark.parametrize(("auc_value", "n_pos", "n_neg"), [(0.7, 100, 100), (0.8, 100, 300), (0.9, 120, 400)])
def test_promised_power(auc_value, n_pos, n_neg):
    """500 runs of each test, true when the promise holds to 0.02: missed by 5 standard errors of the runs."""
    rng = np.random.default_rng(11)
    runs, power = 500, 0.8
    spread, sizes = AucSpread.normal(auc_value), {"n_pos": n_pos, "n_neg": n_neg, "power": power}
    reference = (2 * n_pos, 2 * n_neg)

    def window(value, m, n):
        y = np.repeat([1, 0], [m, n])
        return auc(y, rng.normal(size=m + n) + y * shift(value))

    def shift(value):
        return math.sqrt(2) * ndtri(value)

    drops = {
        "floor": detectable_drop(spread, **sizes, transform="logit"),
        "one-sided": detectable_drop(spread, **sizes, alternative="one-sided"),
        "drop": detectable_drop(spread, **sizes, reference=reference),
    }
    seen = dict.fromkeys(drops, 0)
    for _ in range(runs):
        seen["floor"] += (
            window(auc_value - drops["floor"], n_pos, n_neg).ci(transform="logit").high < auc_value
        )
        seen["one-sided"] += (
            window(auc_value - drops["one-sided"], n_pos, n_neg).ci(0.9, "none").high < auc_value
        )
        change = compare_auc(window(auc_value - drops["drop"], n_pos, n_neg), window(auc_value, *reference))
        seen["drop"] += change.ci().high < 0
    for count in seen.values():
        assert abs(count / runs - power) < 0.02 + 5 * math.sqrt(power * (1 - power) / runs)


# Wrong input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drop": 0.9}, "drop must lie within (-0.2, 0.8)"),
        ({"n_pos": 1}, "n_pos and n_neg must be at least 2; they are 1 and 100"),
        ({"n_neg": math.nan}, "n_pos and n_neg must be at least 2"),
        ({"alternative": "less"}, "alternative must be one of two-sided, one-sided; it is 'less'"),
        ({"test": "t"}, "test must be one of wald, score"),
        ({"transform": "probit"}, "transform must be one of none, logit"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"confidence_level": 0.4, "alternative": "one-sided"}, "confidence_level must be at least 0.5"),
        ({"against": 1.0}, "against must lie within (0, 1)"),
        ({"transform": "logit", "reference": (9, 9)}, "transform='logit' is for a known value"),
        (
            {"pilot": 0.8},
            "pilot must be a Sample, an AucSpread, a PairedSample or a PairedSpread, not a float",
        ),
        (
            {"pilot": PairedSample([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4]), "against": 0.5},
            "are for one model",
        ),
        (
            {"pilot": PairedSample([0, 0, 1, 1], [1, 3, 2, 4], [2, 1, 3, 4]), "drop": 0.8},
            "drop must lie within (-0.25, 0.75)",
        ),
    ],
)
def test_wrong_arguments(change, message):
    arguments = {"pilot": AucSpread.normal(0.8), "drop": 0.1, "n_pos": 100, "n_neg": 100} | change
    with pytest.raises(InputError, match=re.escape(message)):
        auc_power(arguments.pop("pilot"), arguments.pop("drop"), **arguments)


def test_wrong_targets():
    spread = AucSpread.normal(0.8)
    with pytest.raises(InputError, match=r"power must lie within \[0.5, 1\)"):
        detectable_drop(spread, n_pos=100, n_neg=100, power=0.3)
    with pytest.raises(InputError, match="ratio, the negatives for each positive"):
        auc_sample_size(spread, 0.1)
    with pytest.raises(InputError, match="auc must lie within"):
        AucSpread.normal(1.0)
    with pytest.raises(InputError, match="needs b > 0"):
        PairedSpread.obuchowski(a=(1, 1), b=(0, 1), corr_pos=0, corr_neg=0)


def test_what_cannot_be_seen():
    spread = AucSpread.normal(0.8)
    with pytest.raises(DegenerateDataError, match=r"no number of rows shows a drop of 0\.05"):
        auc_sample_size(spread, 0.05, ratio=1, reference=(50, 50))
    with pytest.raises(DegenerateDataError, match=r"no drop of the AUC is seen with power 0\.8 by 2 pos"):
        detectable_drop(spread, n_pos=2, n_neg=2, reference=(2, 2), against=0.05)


def test_pilots_without_scatter():
    with pytest.raises(DegenerateDataError, match="the pilot shows no scatter: its AUC is 1"):
        auc_power(Sample([0, 0, 1, 1], [1, 2, 3, 4]), 0.1, n_pos=100, n_neg=100)
    with pytest.raises(DegenerateDataError, match="no scatter of the difference"):
        auc_power(PairedSample([0, 0, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4]), 0.1, n_pos=100, n_neg=100)
    with pytest.raises(DegenerateDataError, match="at least 2 of each class"):
        auc_power(Sample([0, 0, 1], [1, 2, 3]), 0.1, n_pos=100, n_neg=100)


def test_as_plain_data():
    sizes = auc_sample_size(AucSpread.normal(0.8), 0.05, ratio=10)
    assert json.loads(json.dumps(sizes.to_dict()))["n_neg"] == 10 * sizes.n_pos
    assert AucSpread(**json.loads(json.dumps(AucSpread.normal(0.8).to_dict()))).auc == 0.8
