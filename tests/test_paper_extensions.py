"""Short versions of the studies of what the papers name beside their main tables and figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from studies import (
    dg08,
    dg08_empirical,
    dg08_proportions,
    dg08_validation,
    dg09_paired,
    dg09_total_rate,
    dg09_unpaired,
    m18_homogeneity,
    m18_likelihood,
    running,
    wmk16_runs,
)

from rocmonitor.stats import auc, auc_covariance

pytestmark = pytest.mark.slow  # on no monitor's path


def run(study, name: str, folder: Path, replications: int) -> dict:
    """The results of a short run."""
    study.main(
        ["--replications", str(replications), "--processes", "1", "--results", str(folder), "--seed", "2"]
    )
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


class TestLikelihood:
    """[M18] section 3.5."""

    def test_fitted_laws_have_less_noise_than_bins_and_cover_less(self) -> None:
        found = np.array(running.replicate(m18_likelihood.one, 0.7, 0.7, replications=40, seed=1)).mean(
            axis=0
        )
        bins, fitted, rest = found
        assert bins[0] == pytest.approx(9 / 4 * 2 * fitted[0], rel=0.35)  # 18 parameters against 4
        assert rest[0] < fitted[0] / 3
        assert bins[2] > 0.9 > fitted[2] > rest[2]

    def test_the_distance_of_regimes_is_found(self) -> None:
        # The pooled scores of positives are a mixture, half a gap from either regime.
        found = np.array(running.replicate(m18_likelihood.one, 0.6, 0.8, replications=20, seed=1)).mean(
            axis=0
        )
        gap = ndtri(0.8) - ndtri(0.6)
        mixed = 0.5 + gap**2 / 4
        true = (0.5 / mixed - 1 - np.log(0.5 / mixed) + gap**2 / 4 / mixed) / 2
        assert found[2, 0] == pytest.approx(true, rel=0.15)

    def test_what_is_left(self, tmp_path: Path, monkeypatch, capsys) -> None:
        monkeypatch.setattr(m18_likelihood, "PUBLISHED", {(0.7, 0.7): m18_likelihood.PUBLISHED[0.70, 0.70]})
        found = run(m18_likelihood, "m18-likelihood", tmp_path, 4)
        assert len(found["rows"]) == 3
        assert all(len(row) == len(found["header"]) for row in found["rows"])
        assert "less sampling" in capsys.readouterr().out


class TestHomogeneity:
    """[M18] section 5."""

    def test_models_have_the_areas_of_the_design(self) -> None:
        y, scores = m18_homogeneity.drawn(
            m18_homogeneity.Design((0.85, 0.7), 20_000, 20_000), np.random.default_rng(1)
        )
        assert auc_covariance(y, scores).auc == pytest.approx((0.85, 0.7), abs=0.015)

    def test_what_is_left(self, tmp_path: Path, monkeypatch, capsys) -> None:
        designs = [
            m18_homogeneity.Design((0.8, 0.8, 0.8), 30, 30),
            m18_homogeneity.Design((0.95, 0.6), 60, 60),
        ]
        monkeypatch.setattr(m18_homogeneity, "DESIGNS", designs)
        found = run(m18_homogeneity, "m18-homogeneity", tmp_path, 10)
        equal, unequal = found["rows"]
        assert float(equal[3].split()[0]) <= 40
        assert float(unequal[3].split()[0]) == 100
        assert "DeLong's chi-square" in capsys.readouterr().out


class TestRuns:
    """[WMK16] tables 1 and 3 to 5."""

    @pytest.mark.parametrize("key", [1, wmk16_runs.A, 10, wmk16_runs.B])
    def test_rows_are_rebuilt_with_the_printed_numbers(self, key: int) -> None:
        of = wmk16_runs.TABLE_2[key]
        sample = wmk16_runs.rebuilt(of)
        assert auc(sample).auc == pytest.approx(of.auc, abs=1e-6)
        assert auc(sample, method="wmk16").se == pytest.approx(1e-7 * of.se_a, rel=0.005)
        assert auc(sample, method="exact-bootstrap").se == pytest.approx(1e-7 * of.mean, rel=0.005)

    @pytest.mark.parametrize("key", wmk16_runs.MODALITIES)
    def test_modalities_have_the_printed_numbers(self, key: int) -> None:
        of = wmk16_runs.MODALITIES[key]
        sample = wmk16_runs.sample_of(of)
        assert (sample.n_pos, sample.n_neg) == (54, 58)
        assert auc(sample).auc == pytest.approx(of.auc, abs=0.5e-6)
        assert auc(sample, method="wmk16").se == pytest.approx(of.se_a, abs=0.5e-6)
        noise = (2 * wmk16_runs.REPLICATIONS) ** -0.5
        assert of.se_b == pytest.approx(auc(sample, method="exact-bootstrap").se, rel=3 * noise)

    def test_what_is_left(self, tmp_path: Path, monkeypatch, capsys) -> None:
        ratings = wmk16_runs.sample_of(wmk16_runs.MODALITIES[1])
        monkeypatch.setattr(wmk16_runs, "rebuilt", lambda _: ratings)
        monkeypatch.setattr(wmk16_runs, "REPLICATIONS", 50)
        found = run(wmk16_runs, "wmk16-runs", tmp_path, 10)
        assert len(found["rows"]) == 14 + 4
        assert len(found["table 1"]) == 10
        assert (tmp_path / "wmk16-runs.png").read_bytes().startswith(b"\x89PNG")
        assert "p-value, algorithm 9" in capsys.readouterr().out


class TestWithoutAFigure:
    """[DG08] sections 4 and 6, [DG09] sections 1 and 6."""

    def test_percentiles_break_where_normal_intervals_do(self) -> None:
        of = dg08.one_model(3.0, full=False)
        wald, drawn, ours = dg08_empirical.held(of, 250, 200, np.random.default_rng(1)) / 200
        low, middle = dg08.W < 0.02, (dg08.W > 0.3) & (dg08.W < 0.7)
        assert max(wald[low].min(), drawn[low].min()) < 0.6 < ours.min()
        assert drawn[middle].mean() == pytest.approx(wald[middle].mean(), abs=0.05)

    def test_validation_smooths_the_breaks(self) -> None:
        rng = np.random.default_rng(1)
        few, best = (dg08_validation.held(3.0, size, 150, rng)[0] / 150 for size in (25, None))
        assert best.min() < 0.5 < 0.7 < few.min()
        assert dg08_validation.jumps(few) < dg08_validation.jumps(best)

    def test_thresholds_of_many_rows_are_the_best_ones(self) -> None:
        found = dg08_validation.thresholds(1.5, 200_000, np.random.default_rng(1))
        middle = (dg08.W > 0.3) & (dg08.W < 0.7)
        assert found[middle] == pytest.approx(dg08.best_thresholds(1.5, -1.5)[middle], abs=0.5)

    def test_the_share_of_positives_that_varies_is_accounted_for(self) -> None:
        of = dg08.one_model(1.5, full=True)
        binomial, known = dg08_proportions.held(of, 300, np.random.default_rng(1)) / 300
        near = (dg08.W >= 0.15) & (dg08.W <= 0.85)
        assert binomial[near].min() < 0.7
        assert known[near].min() > 0.82

    def test_two_disjoint_test_sets_keep_the_level(self) -> None:
        of = dg09_unpaired.DESIGNS["50 + 200, 100 + 100"]
        found = dg09_unpaired.held(of, 150, np.random.default_rng(1)) / 150
        assert found.min() > 0.8  # four errors below

    def test_two_models_with_one_budget_keep_the_level_between_the_ends(self, monkeypatch) -> None:
        monkeypatch.setattr(dg09_total_rate, "METHODS", {"Agresti": "agresti"})
        of = dg09_paired.design(1.0, 0.6)
        [agresti] = dg09_total_rate.held(of, 100, 60, np.random.default_rng(1)) / 60
        assert agresti[2:-2].min() > 0.75

    @pytest.mark.parametrize(
        ("study", "name"),
        [
            (dg08_empirical, "dg08-empirical"),
            (dg08_validation, "dg08-validation"),
            (dg08_proportions, "dg08-proportions"),
            (dg09_unpaired, "dg09-unpaired"),
            (dg09_total_rate, "dg09-total-rate"),
        ],
    )
    def test_what_is_left(self, study, name: str, tmp_path: Path, capsys) -> None:
        found = run(study, name, tmp_path, 3)
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert found["claim"].endswith("(no figure).")
        assert found["found"] in capsys.readouterr().out
