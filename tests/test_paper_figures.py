"""Short versions of the studies of Dugas and Gadoury's figures: what the papers claim, and what ours adds."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import golden
import numpy as np
import pytest
from studies import (
    dg08,
    dg08_difference,
    dg08_full,
    dg08_size,
    dg08_spread,
    dg09,
    dg09_paired,
    dg09_sampling,
    dg09_size,
    dg09_spread,
    dg09_uci_threshold,
    dg09_vertical,
    dg09_vertical_paired,
    drift,
    figures,
    papers,
    uci,
)
from studies.two_models import ScoreLaw, disagreements

from rocmonitor.policy.windows import Window
from rocmonitor.stats import PairedSample, Sample, cost_curve, threshold_difference, threshold_intervals

pytestmark = pytest.mark.slow  # on no monitor's path

ROOT = Path(__file__).resolve().parents[1]


def short(replications: int) -> Namespace:
    return Namespace(replications=replications, seed=2, processes=1)


def needs_data() -> None:
    if uci.missing():
        pytest.skip(f"needs {uci.missing()}")


class TestThresholds:
    """[DG09] figures 3 and 4."""

    def test_thresholds_and_rates_are_the_papers(self) -> None:
        assert dg09.thresholds(0.75)[[-1, 0]] == pytest.approx([-7.8430, 8.5299], abs=5e-5)
        assert dg09.thresholds(5.0)[[-1, 0]] == pytest.approx([-11.1618, 12.7016], abs=5e-5)
        rates = dg09.binormal(5.0)
        assert rates.tpr[19] == pytest.approx(0.3999, abs=5e-5)
        assert rates.fpr[19] == pytest.approx(1.3090e-4, abs=5e-9)

    @pytest.mark.parametrize("method", dg09.METHODS.values())
    def test_regions_are_those_of_threshold_intervals(self, method: str) -> None:
        rng = np.random.default_rng(1)
        sample = Sample(np.repeat([1, 0], 25), rng.standard_normal(50))
        at = np.linspace(-2, 2, 9)
        found = threshold_intervals(sample, at, method=method, confidence_level=dg09.LEVEL)
        seen = np.rint(found.tpr * 25).astype(int)
        low, high = dg09._ends(25, method)
        np.testing.assert_allclose(np.clip(low[seen], 0, 1), found.tpr_low)
        np.testing.assert_allclose(np.clip(high[seen], 0, 1), found.tpr_high)

    @pytest.mark.parametrize("theta", dg09_spread.THETAS)
    def test_wald_collapses_with_the_spread_and_the_others_do_not(self, theta: float) -> None:
        exact = dg09.exact_coverage(dg09.binormal(theta), dg09_spread.ROWS)
        lowest = {name: values.min() for name, values in exact.items()}
        assert lowest["ours"] >= dg09.LEVEL > lowest["Wald"]
        assert lowest["Agresti"] > dg09.LEVEL - 0.01
        said = dg09.called_conservative(dg09.binormal(theta), dg09_spread.ROWS)
        assert exact["ours"][~said].max() < dg09.LEVEL + 0.01 < exact["ours"][said].max()
        if theta >= 1.5:
            assert lowest["Wald"] < 0.8
        if theta == 5.0:  # the paper's example in 5.1
            assert exact["Wald"][19] == pytest.approx(0.692, abs=0.01)

    def test_the_smaller_the_sample_the_wider_the_collapse(self) -> None:
        rates = dg09.binormal(dg09_size.THETA)
        found = [dg09.exact_coverage(rates, n) for n in dg09_size.SIZES[:3]]
        broken = [np.mean(of["Wald"] < 0.8) for of in found]
        assert broken == sorted(broken, reverse=True)
        assert broken[0] > 0.5
        assert min(of["ours"].min() for of in found) >= dg09.LEVEL

    def test_simulation_agrees_with_the_sums_and_percentiles_collapse_like_wald(self) -> None:
        rates = dg09.binormal(3.0)
        panel = dg09.threshold_panels([("", rates, 250)], short(200))[0]
        for name, exact in dg09.exact_coverage(rates, 250).items():
            noise = np.sqrt(exact * (1 - exact) / 200)
            assert (np.abs(panel.lines[name] - exact) < 5 * noise + 0.01).all(), name
        assert panel.lines["Empirical"][:3].max() < 0.5

    def test_class_sizes_may_be_taken_as_fixed(self) -> None:
        rates = dg09.binormal(3.0)
        for n in (25, 250):
            found = [
                figures.coverage(dg09_sampling.held, rates, n, full, chosen=short(1000), number=full)
                for full in (False, True)
            ]
            assert np.mean(found[0] - found[1]) == pytest.approx(0, abs=0.01)

    def test_what_is_left(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setattr(dg09_size, "SIZES", (25,))
        plain = ["--replications", "20", "--processes", "1", "--results", str(tmp_path)]
        dg09_size.main([*plain, "--output", str(tmp_path / "other.png")])
        found = json.loads((tmp_path / "dg09-size.json").read_text(encoding="utf-8"))
        drawn = (tmp_path / "dg09-size.png").read_bytes()
        assert drawn.startswith(b"\x89PNG")
        assert (tmp_path / "other.png").read_bytes() == drawn
        assert found["replications"] == 20
        assert found["error"] == pytest.approx((0.9 * 0.1 / 20) ** 0.5, abs=1e-5)
        outcome = figures.restored(found)
        assert figures.png(figures.picture(outcome)) == drawn
        assert "Monte Carlo error of a coverage of 90 is 6.71" in capsys.readouterr().out


class TestRealScores:
    """[DG09] figures 5, 6, 8 and 9."""

    def test_without_the_data_a_study_says_so_and_stops(self, monkeypatch, tmp_path: Path) -> None:
        monkeypatch.setattr(uci, "DATA", tmp_path)
        for study in (dg09_uci_threshold, dg09_vertical):
            with pytest.raises(SystemExit, match=r"abalone, .*ROCMONITOR_STUDY_DATA"):
                study.main([])

    @pytest.mark.slow
    def test_rows_are_those_of_table_3(self) -> None:
        needs_data()
        found = {name: uci.population(name) for name in uci.SETS}
        sizes = {name: (len(of.pos), len(of.neg)) for name, of in found.items()}
        assert sizes["Abalone"] == (1686, 1491)
        assert sizes["Adult"] == (3846, 12435)
        assert sizes["Covertype"] == (280_562, 209_579)
        assert sizes["Credit"] == (336, 164)
        assert sum(sizes["Chess"]) == 20_755 + 2_301  # shuffled
        assert sum(sizes["Telescope"]) == 11_660 + 6_360

    def test_fixed_thresholds_as_with_normal_scores(self) -> None:
        needs_data()
        for data in ("Abalone", "Credit"):
            exact = dg09.exact_coverage(dg09_uci_threshold.rates(uci.population(data)), 25)
            assert exact["Wald"].min() < 0.1
            assert exact["Agresti"].min() > 0.85
            assert exact["ours"].min() >= dg09.LEVEL

    def test_agrestis_worst_coverage_is_above_that_of_its_rivals(self) -> None:
        needs_data()
        of = uci.population("Abalone")
        found = figures.coverage(
            dg09_vertical.held, of, dg09_vertical.RANKS[25], 25, chosen=short(60), number=1
        )
        worst = dict(zip(dg09_vertical.NAMES, found.min(axis=1), strict=True))
        assert worst["Agresti"] > max(worst["Kernel"], worst["Empirical"])
        assert worst["Empirical"] < 0.6

    def test_the_true_curve_is_that_of_all_rows(self) -> None:
        of = uci.Population("", np.array([1.0, 2, 3, 4]), np.array([0.5, 1.5, 2.5, 3.5]))
        np.testing.assert_allclose(dg09_vertical.true_tpr(of, np.array([0.25, 0.5, 0.75])), [0.25, 0.5, 0.75])


class TestPairs:
    """[DG09] figures 7 and 10."""

    def test_disagreements_are_counted(self) -> None:
        law, at_1, at_2 = ScoreLaw(0.0, 0.5, 1.0, 0.6), np.array([1.0, 0.0, -1.0]), np.array([1.5, 0.5, -0.5])
        only_1, only_2 = disagreements(law, at_1, at_2, 50, 3, np.random.default_rng(3))
        first, second = law.draw((3, 50), np.random.default_rng(3))
        for j in range(3):
            flag_1, flag_2 = first >= at_1[j], second >= at_2[j]
            assert only_1[:, j].tolist() == (flag_1 & ~flag_2).sum(axis=1).tolist()
            assert only_2[:, j].tolist() == (flag_2 & ~flag_1).sum(axis=1).tolist()
        assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(0.6, abs=0.15)

    def test_regions_are_those_of_threshold_difference(self) -> None:
        rng = np.random.default_rng(4)
        first, second = ScoreLaw(1.0, 2.0, 3.0, 0.5).draw(60, rng)
        pair = PairedSample(np.repeat([1, 0], 30), first, second)
        found = threshold_difference(pair, [(0.5, 1.0)], confidence_level=dg09.LEVEL)
        flag_1, flag_2 = first[:30] >= 0.5, second[:30] >= 1.0
        counts = (np.array([(flag_1 & ~flag_2).sum()]), np.array([(flag_2 & ~flag_1).sum()]))
        low, high = dg09_paired.normal_ends(*counts, 30, dg09_paired.AGRESTI_MIN)
        assert (low[0], high[0]) == pytest.approx((found.dtpr_low[0], found.dtpr_high[0]))

    @pytest.mark.parametrize("rho", dg09_paired.CORRELATIONS)
    def test_at_fixed_thresholds_agresti_does_not_collapse(self, rho: float) -> None:
        design = dg09_paired.design(3.0, rho)
        found = figures.coverage(dg09_paired.held, design, 100, chosen=short(100), number=1)
        agresti, wald, empirical = found.min(axis=1)
        assert max(wald, empirical) < 0.3
        assert agresti > 0.7

    def test_at_fixed_rates_by_the_exact_law(self) -> None:
        size = dg09_vertical_paired.Size(100, (1, 10, 50, 90, 98), 1)
        found = figures.coverage(dg09_vertical_paired.held, 3.0, 0.6, size, chosen=short(30), number=1)
        agresti, wald, empirical = found
        assert agresti[3:].min() > 0.9
        assert empirical[-1] <= wald[-1] < 0.8
        assert agresti[1:3].min() > 0.75

    def test_the_true_difference(self) -> None:
        rng = np.random.default_rng(5)
        first, second = ScoreLaw(1.0, 3.0, dg09.SD_POS, 0.3).draw(200_000, rng)
        at = -1.0 - dg09.SD_NEG * -0.8416212  # FPR 0.2
        expected = np.mean(first > at) - np.mean(second > at)
        found = dg09_vertical_paired.true_difference(1.0, np.array([0.2]))
        assert found[0] == pytest.approx(expected, abs=0.006)


class TestCosts:
    """[DG08] figures 2 to 6."""

    def test_thresholds_are_the_cheapest(self) -> None:
        design = dg08.one_model(3.0, full=False)
        for step in (-0.05, 0.05):
            other = design._replace(at_1=design.at_1 + step)
            assert (other.true_cost() > design.true_cost()).all()

    def test_intervals_are_those_of_cost_curve(self) -> None:
        rng = np.random.default_rng(6)
        sample = Sample(np.repeat([1, 0], 40), rng.standard_normal(80) + np.repeat([1, 0], 40))
        at = np.full(len(dg08.W), 0.4)
        miss = np.sum(sample.pos[sample.score < 0.4])
        alarm = np.sum(sample.neg[sample.score >= 0.4])
        none = np.zeros((1, len(dg08.W)), dtype=int)
        law = dg08.CostLaw(
            dg08.W,
            dg08.ErrorCounts(none + miss, none, 40, 40),
            dg08.ErrorCounts(none + alarm, none, 40, 40),
            "stratified",
        )
        for method in dg08.METHODS.values():
            found = cost_curve(sample, dg08.W, at, method=method, confidence_level=dg08.LEVEL)
            low, high = law.ends(dg08.IntervalOptions(method, dg08.LEVEL, 0.05, 0, None))
            np.testing.assert_allclose(np.clip(low[0], 0, 1), found.low, atol=1e-12)
            np.testing.assert_allclose(np.clip(high[0], 0, 1), found.high, atol=1e-12)

    @pytest.mark.parametrize(
        ("study", "places"),
        [(dg08_spread, (0, 2)), (dg08_size, (0, 1)), (dg08_difference, (8, 11)), (dg08_full, (2, 12))],
        ids=["spread", "size", "difference", "full"],
    )
    def test_the_ends_collapse_and_are_repaired(self, study, places) -> None:
        figure = study.figure()
        for place in places:
            _, design, rows = figure[place]
            found = dg08.lines(design, rows, short(100), place, "")
            lowest = {name: values.min() for name, values in found.items()}
            assert lowest["Wald"] < 0.6
            assert lowest["Agresti"] > 0.75
            assert lowest["ours"] > 0.9 - 4.5 * figures.error(0.9, 100)
            middle = (dg08.W > 0.4) & (dg08.W < 0.6)
            assert found["Agresti"][middle].min() > 0.75

    def test_the_true_cost_under_full_sampling_is_the_mean(self) -> None:
        design = dg08.one_model(1.5, full=True)
        rng = np.random.default_rng(7)
        means = [
            dg08.cost_law(design, n, 200 - n, 1, rng).mean[0] for n in rng.binomial(200, 0.5, 800).tolist()
        ]
        np.testing.assert_allclose(np.mean(means, axis=0), design.true_cost(), atol=0.006)


class TestPage:
    """docs/papers.md."""

    @staticmethod
    def results(folder: Path) -> None:
        panel = figures.Panel("a", np.array([0.1, 0.9]), {"Wald": np.array([0.2, 0.9])})
        outcome = figures.Outcome("[X] figure 1", "They say.", "We find.", "x", 0.9, [panel], 1)
        for name in papers.SECTIONS["dg09"].studies + papers.SECTIONS["dg08"].studies:
            figures.keep(
                name, Namespace(results=folder, output=None), figures.document(outcome, short(7)), None
            )
        png = figures.png(figures.picture(outcome))
        text = {"paper": "[X]", "claim": "They say.", "found": "We find.", "seed": 1}
        rest = (name for key in ("bcv08", "wmk16", "m18") for name in papers.SECTIONS[key].studies)
        for name in rest:
            figures.keep(name, Namespace(results=folder, output=None), text, png)
        streams, found = TestPage.drifting()
        document = drift.document(streams, found)
        figures.keep("drift", Namespace(results=folder, output=None), document, drift.figure(streams, found))

    @staticmethod
    def drifting() -> tuple[list[drift.Stream], list[drift.Found]]:
        start = datetime(2020, 1, 1, tzinfo=UTC)
        sample = Sample([0, 1, 0, 1], [1, 2, 3, 4])
        windows = [
            (Window(start + day * timedelta(days=1), start + (day + 1) * timedelta(days=1)), sample)
            for day in range(4)
        ]
        degraded = {name: [] for name in drift.RULES}
        alarmed = degraded | {"lasting": [windows[3][0].start]}
        found = [
            drift.Found(
                0.7, 0.6, -0.02, alarmed, "2020-01-04, since 2020-01-03, -0.100", [0.7, 0.7, 0.7, 0.6]
            ),
            drift.Found(0.9, 0.9, 0.0, degraded, "none", [0.9] * 4),
        ]
        streams = [drift.Stream("market", windows, 2), drift.Stream("employment, whole years", windows, 2)]
        return streams, found

    def test_it_is_written_from_the_results_alone(self, tmp_path: Path, capsys) -> None:
        arguments = ["--results", str(tmp_path / "r"), "--output", str(tmp_path / "papers.md")]
        with pytest.raises(SystemExit, match=r"run these studies first .*dg09-spread.*drift"):
            papers.main(arguments)
        self.results(tmp_path / "r")
        papers.main(arguments)
        page = (tmp_path / "papers.md").read_bytes()
        papers.main(arguments)
        assert (tmp_path / "papers.md").read_bytes() == page
        text = page.decode()
        assert text.count("Unless a row says otherwise: 7 runs, Monte Carlo error 11.3 points.") == 2
        assert text.count("Monte Carlo error 11.3 points") == 2
        pictures = {file.stem for file in (tmp_path / "images" / "papers").glob("*.png")}
        assert pictures == {of.shown for of in papers.SECTIONS.values()} | {"drift"}

    def test_the_page_has_every_study(self) -> None:
        page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
        names = {name for section in papers.SECTIONS.values() for name in section.studies}
        assert {name for name in names if f"| `{name}`:" not in page} == set()
        assert "NAME=drift" in page

    def test_every_row_has_its_verdict(self) -> None:
        """Reproduced, differs with the reason, or not stated: on the page, and where it is written."""
        page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
        rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
        assert {row[0].split("`")[1]: row[-1] for row in rows} == papers.VERDICTS
        assert {len(row) for row in rows} == {4}
        for verdict in papers.VERDICTS.values():
            assert re.fullmatch(r"reproduced|differs \(.{10,}\)|not stated", verdict)


def test_the_studies_need_only_data_that_the_tests_know() -> None:
    assert uci.DATA == golden.DATA
