"""The cores of the studies of bands, in short versions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from studies import band_coverage, bcv08_table1

from rocmonitor.stats import RocBand, roc_band, roc_pointwise
from rocmonitor.stats.band.drawing import bandwidths, empirical_curve, smoothed_curve


class TestTable1:
    """Bertail, Clémençon and Vayatis 2008, table 1."""

    def test_the_true_curve_is_that_of_the_probit(self) -> None:
        curve = bcv08_table1.true_curve()
        for z in (-1.0, 0.3, 1.7):
            of_pos = quad(lambda x: norm.pdf(x) * ndtr(1 + x), z, 12)[0] / ndtr(0.5**0.5)
            of_neg = quad(lambda x: norm.pdf(x) * ndtr(-1 - x), z, 12)[0] / ndtr(-(0.5**0.5))
            assert curve.at(np.array(of_neg)) == pytest.approx(of_pos, abs=1e-6)

    def test_a_sample_has_that_curve(self) -> None:
        sample = bcv08_table1.draw(np.random.default_rng(1), rows=200_000)
        t = np.linspace(0.05, 0.95, 19)
        assert np.abs(empirical_curve(sample).at(t) - bcv08_table1.true_curve().at(t)).max() < 0.01

    @pytest.mark.parametrize("kind", ["naive", "smoothed"])
    def test_ours_are_the_bands_of_the_package(self, kind: str) -> None:
        sample = bcv08_table1.draw(np.random.default_rng(3), rows=120)
        curve = empirical_curve(sample)
        law = curve if kind == "naive" else smoothed_curve(sample, bandwidths(sample, "normal")).curve
        drawn = bcv08_table1.replicates(sample, law, np.random.default_rng(4))
        t = np.arange(1, sample.n_neg) / sample.n_neg
        found = bcv08_table1.radii(drawn, law, t)
        of_sup, of_db = (roc_band(sample, method=f"{kind}-{norm}", rng=4) for norm in ("sup", "db"))
        assert (found.sup, found.db) == (of_sup.radius, of_db.radius)
        assert found.sup_from_0 >= found.sup
        holds = bcv08_table1.held(found, curve, t)
        true = bcv08_table1.true_curve().at(t)
        for covered, band in ((holds[0], of_sup), (holds[2], of_db)):
            assert covered == bool(np.all((band.low[1:-1] <= true) & (true <= band.high[1:-1])))
        # Another draw of the same law: the interval's ends are near.
        point = roc_pointwise(sample, [0.2], method=kind, rng=5)
        at = float(curve.at(point.fpr)[0])
        assert (at - found.greatest, at - found.least) == pytest.approx(
            (float(point.tpr_low[0]), float(point.tpr_high[0])), abs=0.05
        )

    def test_quantiles_leave_the_tail_above(self) -> None:
        assert bcv08_table1.quantile(np.arange(999.0), 0.05) == 949
        assert bcv08_table1.quantile(np.arange(999.0), 0.025) == 974

    def test_it_prints_what_a_short_run_can_show(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(bcv08_table1, "RESAMPLES", 199)
        found = np.array([bcv08_table1.one(np.random.default_rng(seed)) for seed in range(30)])
        rates = found[:, :, :3].mean(axis=0)
        assert found.shape[1:] == (6, len(bcv08_table1.READINGS))
        assert rates.min() > 0.7
        assert (found[:, :2, 2] >= found[:, :2, 1]).all()  # the sup norm from 0 is larger
        assert (rates[:2, 2] == 1).all()  # as in the print
        assert (found[:, ::2, 0] == found[:, ::2, 1]).all()  # the naive bootstrap has one centre
        bcv08_table1.main(["--replications", "2", "--processes", "1", "--results", str(tmp_path)])
        out = capsys.readouterr().out
        assert "smoothed, d_B          93.1" in out
        assert "2 replications" in out
        assert {path.name for path in tmp_path.iterdir()} == {"bcv08-table1.json", "bcv08-table1.png"}


class TestCoverage:
    CURVE = staticmethod(lambda fpr: ndtr(1 + ndtri(fpr)))

    def test_a_band_holds_a_curve_at_all_rates_or_not(self) -> None:
        t = np.linspace(0, 1, 11)
        true = ndtr(1 + ndtri(t))

        def band(low: np.ndarray, high: np.ndarray) -> RocBand:
            return RocBand(
                fpr=t,
                tpr=true,
                low=low,
                high=high,
                radius=0.1,
                fpr_radius=0.0,
                method="smoothed-sup",
                confidence_level=0.95,
                n_resamples=0,
                bandwidth=(),
                n_pos=10,
                n_neg=10,
                caveats=(),
            )

        assert band_coverage.held(band(true, true), self.CURVE)
        pricked = true.copy()
        pricked[4] += 1e-9
        assert not band_coverage.held(band(pricked, np.ones(11)), self.CURVE)
        assert not band_coverage.held(band(np.zeros(11), 2 * true - pricked), self.CURVE)

    def test_the_recommended_band_is_the_smallest_that_assumes_nothing(self) -> None:
        found = np.array(
            [
                band_coverage.one(
                    band_coverage.Design(200, 0.5, 0.95), band_coverage.METHODS, np.random.default_rng(seed)
                )
                for seed in range(10)
            ]
        )
        area = dict(zip(band_coverage.METHODS, found[:, :, 1].mean(axis=0), strict=True))
        assert area["working-hotelling"] < area["studentized-sup"]
        assert area["studentized-sup"] < 0.7 * area["smoothed-db"] < 0.7 * area["kolmogorov-smirnov"]

    @pytest.mark.parametrize("law", band_coverage.LAWS)
    def test_samples_have_the_true_curve_of_their_law(self, law: str) -> None:
        design = band_coverage.Design(100_000, 0.5, 0.7, law)
        sample, true = band_coverage.draw(design, np.random.default_rng(1))
        t = np.linspace(0.02, 0.98, 49)
        assert np.abs(empirical_curve(sample).at(t) - true(t)).max() < 0.015

    def test_skewed_scores_are_covered_as_normal_ones(self) -> None:
        """exp(2 z), 20 of 100 positive, AUC 0.95: 84 % before the scores were made normal."""
        design = band_coverage.Design(100, 0.2, 0.95, "exp(2 z)")
        methods = band_coverage.METHODS[:1]
        found = [band_coverage.one(design, methods, np.random.default_rng(seed))[0] for seed in range(40)]
        same = [
            band_coverage.one(design._replace(law="normal"), methods, np.random.default_rng(seed))[0]
            for seed in range(40)
        ]
        assert found == same
        assert np.mean(found, axis=0)[0] > 0.85

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(band_coverage, "DESIGNS", [band_coverage.Design(40, 0.5, 0.7)])
        monkeypatch.setattr(band_coverage, "OTHERS", [band_coverage.Design(40, 0.5, 0.7, "spiked")])
        band_coverage.main(["--replications", "2", "--processes", "1"])
        out = capsys.readouterr().out
        assert "spiked, 40, 50%, 0.7" in out
        assert "normal, 40, 50%, 0.7" in out
        assert "The Monte Carlo error of a coverage of 95 is 15.4." in out
