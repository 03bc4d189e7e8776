"""The variation of bootstrapped standard errors: the printed tables follow, and so does chi-square's law."""

from __future__ import annotations

import golden
import numpy as np
import pytest
from studies import wmk16_runs

from rocmonitor.stats import Sample, auc

PRINTED = {key: of.as_result() for key, of in wmk16_runs.TABLE_2.items()}


@pytest.mark.parametrize("key", PRINTED)
def test_table_3_follows_from_table_2(key):
    of = PRINTED[key]
    rounding = 2 * 0.5e-7 / of.se_a  # both standard errors are printed with seven decimals
    expected = np.array(wmk16_runs.TABLE_3[key]) / 100
    assert of.relative_errors == pytest.approx(expected, abs=rounding + 1e-4)


def test_section_7_3_follows_from_table_2():
    pvalues = {key: of.pvalue for key, of in PRINTED.items()}
    assert max(pvalues[key] for key in wmk16_runs.OUTLIERS) < 1e-4
    assert (pvalues[8], pvalues[9]) == pytest.approx((0.2, 0.2), abs=0.03)  # "about 20 %"
    assert min(of for key, of in pvalues.items() if key not in (*wmk16_runs.OUTLIERS, 8, 9)) > 0.7


def test_the_printed_scatter_is_that_of_the_replications():
    expected = (2 * (wmk16_runs.REPLICATIONS - 1)) ** -0.5
    noise = (2 * 500) ** -0.5
    for of in PRINTED.values():
        assert of.se_of_se / of.mean == pytest.approx(expected, rel=4 * noise)


def test_runs_are_those_of_the_bootstrap(monkeypatch):
    monkeypatch.setattr(wmk16_runs, "REPLICATIONS", 50)
    # HM1982-like ratings; SE_B of a run is `auc(method="bootstrap").se` with the same numbers.
    sample = Sample.from_counts(range(1, 7), golden.HM1983_POS, golden.HM1983_NEG)
    rng = np.random.default_rng(4)
    alone = [auc(sample, method="bootstrap", n_resamples=50, rng=rng).se for _ in range(3)]
    ours = wmk16_runs.runs_of(sample, 3, 4)
    assert ours.se_b == pytest.approx(alone, rel=1e-12)
    assert ours.se_a == pytest.approx(golden.HM1983["wmk16"], abs=0.5e-6)
    assert ours.median == sorted(alone)[1]


def test_its_law_is_chi_square_s(monkeypatch):
    sample = Sample(
        np.repeat([0, 1], 300), np.random.default_rng(1).normal(size=600) + np.repeat([0, 1], 300)
    )
    runs, of = 400, 100
    monkeypatch.setattr(wmk16_runs, "REPLICATIONS", of)
    ours = wmk16_runs.runs_of(sample, runs, 2)
    expected = ours.se_exact / np.sqrt(2 * (of - 1))
    assert ours.se_of_se == pytest.approx(expected, rel=5 / np.sqrt(2 * runs))
    assert ours.mean == pytest.approx(ours.se_exact * (1 - 1 / (4 * of)), abs=5 * expected / np.sqrt(runs))
    half = (ours.ci68[1] - ours.ci68[0]) / 2
    assert half == pytest.approx(expected, rel=0.25)
    assert ours.pvalue > 0.5


def test_ends_are_quantiles_by_definition_2(monkeypatch):
    monkeypatch.setattr(wmk16_runs, "REPLICATIONS", 5)
    sample = Sample([0, 1, 0, 1, 0, 1], [1, 2, 3, 4, 5, 6])
    ours = wmk16_runs.runs_of(sample, 40, 1)
    ordered = np.sort(ours.se_b)
    assert ours.ci95 == pytest.approx((ordered[:2].mean(), ordered[-2:].mean()))  # 40 x 0.025 = 1
