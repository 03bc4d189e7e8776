"""Short versions of the studies of what the papers name beside their main tables and figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from studies import m18_homogeneity, m18_likelihood, running

from rocmonitor.stats import auc_covariance

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
