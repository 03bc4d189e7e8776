"""Wu, Martin & Kacker 2016: the law of a bootstrapped standard error over 500 runs, for all 14 algorithms.

Tables 1 and 3 to 5, figures 3 and 5 and the test of section 7.3. The scores are not published: rows are
rebuilt that have the printed area, and the printed SE_A and mean of SE_B, of each algorithm; about 60,000
genuine and 120,000 impostor scores on a coarse scale. Seven algorithms have a peak of impostors at the
lowest score, which explains what lies between SE_A and SE_B (`wmk16-ties`): its size is printed for three,
and taken as a half, the most that the others have, for four; of two of these (8 and 9) both standard errors
come out 4 to 5 % too large. Then both modalities of section 8.

Nothing here needs the runs: (B - 1) SE_B^2 / SE^2 is chi-square with B - 1 degrees of freedom, as long as an
AUC's law is normal. The runs show that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import chi2
from studies.figures import keep
from studies.running import options, say, share, table
from studies.wmk16_ties import GENUINE, IMPOSTORS, peaked

from rocmonitor.report.timeline import BLUE, GREY, LIGHT, PURPLE, heading, panels, png
from rocmonitor.stats import Sample, auc
from rocmonitor.stats.area.variances import drawn_areas
from rocmonitor.stats.proportion import percentiles

REPLICATIONS = 2000
GRID = 6  # scores a standard deviation
A, B = 3, 14  # the paper's names of two algorithms
ITERATIONS = (100, 200, 300, 400, 500)
CLAIM = (
    "100 to 500 runs of 2,000 replications differ little (table 1), SE_B is about normal (figure 3), and "
    "lies within 0.5 % of SE_A on average but for three outliers (tables 3 to 5, section 7.3)."
)


class Runs(NamedTuple):
    """The law of SE_B over many runs of the bootstrap: a line of table 2."""

    auc: float
    se_a: float  # by eq. 15
    se_exact: float  # what SE_B tends to with the number of replications
    se_b: np.ndarray
    mean: float
    median: float
    ci68: tuple[float, float]  # quantiles of `se_b` by Definition 2 at 68.27 and 95 %
    ci95: tuple[float, float]
    se_of_se: float

    @property
    def relative_errors(self) -> tuple[float, float, float, float]:
        """Delta of the mean, the median and the farther ends of both intervals from SE_A: section 7.2."""
        far_68, far_95 = (max(abs(end / self.se_a - 1) for end in ends) for ends in (self.ci68, self.ci95))
        return abs(self.mean / self.se_a - 1), abs(self.median / self.se_a - 1), far_68, far_95

    @property
    def pvalue(self) -> float:
        """P-value of the test of section 7.3 that a run's SE_B has the mean SE_A: normal, two-sided."""
        return float(2 * ndtr(-abs(self.mean - self.se_a) / self.se_of_se))


class Line(NamedTuple):
    """An algorithm in table 2: standard errors in 1e-7."""

    auc: float
    se_a: float
    mean: float
    median: float
    ci68: tuple[float, float]
    ci95: tuple[float, float]
    se_of_se: float
    peak: float = 0.0

    def as_result(self) -> Runs:
        """The printed line, as our function would return it."""
        unit = 1e-7
        low_high = [tuple(unit * end for end in each) for each in (self.ci68, self.ci95)]
        return Runs(
            auc=self.auc,
            se_a=unit * self.se_a,
            se_exact=unit * self.mean,
            se_b=np.full(500, unit * self.mean),
            mean=unit * self.mean,
            median=unit * self.median,
            ci68=(low_high[0][0], low_high[0][1]),
            ci95=(low_high[1][0], low_high[1][1]),
            se_of_se=unit * self.se_of_se,
        )


TABLE_2 = {
    1: Line(0.9985568, 1242, 1083, 1083, (1066, 1100), (1048, 1116), 17.1075, 0.9854),
    2: Line(0.9982568, 1231, 1231, 1231, (1209, 1251), (1193, 1274), 20.8399),
    3: Line(0.9982322, 1336, 1336, 1336, (1316, 1356), (1297, 1377), 20.5723),
    4: Line(0.9973597, 1463, 1465, 1466, (1442, 1489), (1422, 1507), 22.6842),
    5: Line(0.9967486, 1695, 1695, 1695, (1668, 1723), (1641, 1752), 27.8157),
    6: Line(0.9943234, 2472, 2464, 2463, (2427, 2505), (2373, 2541), 41.1347, 0.5),
    7: Line(0.9939199, 2670, 2435, 2436, (2395, 2473), (2362, 2517), 38.8214, 0.9715),
    8: Line(0.9929374, 2579, 2530, 2528, (2486, 2572), (2457, 2607), 40.0288, 0.5),
    9: Line(0.9923011, 2656, 2605, 2606, (2564, 2645), (2526, 2682), 40.5652, 0.5),
    10: Line(0.9914864, 2742, 2728, 2726, (2685, 2770), (2636, 2815), 45.2074, 0.5),
    11: Line(0.9846023, 3928, 3664, 3666, (3601, 3725), (3548, 3784), 60.1951, 0.8002),
    12: Line(0.9845747, 4343, 4341, 4342, (4279, 4404), (4206, 4480), 65.5578),
    13: Line(0.9818637, 3910, 3912, 3914, (3847, 3974), (3781, 4024), 62.1827),
    14: Line(0.9729011, 4781, 4783, 4779, (4711, 4860), (4641, 4931), 73.1221),
}
OUTLIERS = (1, 7, 11)
TABLE_1 = {  # smallest and largest SE_B of L runs, in 1e-7
    A: ((1289, 1393), (1288, 1413), (1278, 1395), (1262, 1385), (1279, 1418)),
    B: ((4595, 4978), (4560, 4978), (4560, 5011), (4574, 4984), (4560, 4963)),
}
TABLE_3 = {  # relative errors in per cent: mean, median, 68.27 and 95 %
    1: (12.83, 12.79, 14.17, 15.60),
    2: (0.05, 0.02, 1.74, 3.55),
    3: (0.02, 0.03, 1.48, 3.06),
    4: (0.14, 0.21, 1.75, 3.00),
    5: (0.03, 0.03, 1.66, 3.37),
    6: (0.34, 0.38, 1.83, 3.99),
    7: (8.80, 8.76, 10.29, 11.51),
    8: (1.91, 1.97, 3.60, 4.74),
    9: (1.93, 1.90, 3.47, 4.91),
    10: (0.53, 0.61, 2.08, 3.88),
    11: (6.71, 6.66, 8.32, 9.65),
    12: (0.05, 0.04, 1.48, 3.16),
    13: (0.04, 0.09, 1.62, 3.30),
    14: (0.04, 0.05, 1.64, 3.14),
}
TABLES_4_AND_5 = {  # mean and median over the algorithms, in per cent
    "14 algorithms, mean": (2.39, 2.39, 3.94, 5.49),
    "14 algorithms, median": (0.24, 0.30, 1.79, 3.71),
    "without outliers, mean": (0.46, 0.48, 2.03, 3.65),
    "without outliers, median": (0.05, 0.09, 1.74, 3.37),
}
HEADER = [
    "relative errors, %",
    *(f"{name}, {who}" for name in ("mean", "median", "68 %", "95 %") for who in ("print", "ours")),
]


class Modality(NamedTuple):
    """Ratings 1 to 6 of 58 normal and 54 abnormal phantoms, and what section 8 prints of them."""

    neg: tuple[int, ...]
    pos: tuple[int, ...]
    auc: float
    se_a: float
    se_b: float


# Hanley & McNeil 1983. The second table is rebuilt: it has the printed area and SE_A, as a few others have.
MODALITIES = {
    1: Modality((12, 28, 8, 6, 4, 0), (1, 3, 6, 13, 22, 9), 0.882822, 0.032606, 0.031943),
    2: Modality((27, 14, 7, 6, 2, 2), (1, 0, 2, 9, 21, 21), 0.930236, 0.026434, 0.025059),
}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=500)
    seeds = np.random.SeedSequence(chosen.seed).spawn(len(TABLE_2) + len(MODALITIES) + 2)
    samples = [rebuilt(of) for of in TABLE_2.values()] + [sample_of(of) for of in MODALITIES.values()]
    runs = [chosen.replications] * len(samples)
    # Table 1 has other runs for each number of them; the last of each are those of table 2.
    fewer = sum(of * chosen.replications // 500 for of in ITERATIONS[:-1])
    samples += [samples[A - 1], samples[B - 1]]
    runs += [fewer] * 2
    tasks = list(zip(samples, runs, seeds, strict=True))
    found = share(runs_of, tasks, chosen.processes, "runs" if chosen.processes > 1 else "")
    lines = dict(zip(TABLE_2, found, strict=False))
    both = dict(zip(MODALITIES, found[len(TABLE_2) :], strict=False))
    ranges = {
        key: parted(more, lines[key], chosen.replications)
        for key, more in zip((A, B), found[-2:], strict=True)
    }
    say(f"{chosen.replications:,} runs of {REPLICATIONS:,} replications.\n")
    first = ["table 1: smallest to largest SE_B, 1e-7", "print", "ours", "chi-square's middle"]
    rows_1 = list(table_1(ranges))
    table(first, rows_1)
    say()
    rows_3 = [*table_3(lines), *tables_4_and_5(lines)]
    table(HEADER, rows_3)
    say()
    table(["section 7.3", "print", "ours"], [*tests_7_3(lines)])
    say()
    table(["section 8", "print", "ours"], [*section_8(both)])
    say(f"\n{conclusion(lines, both)}")
    document = {
        "paper": "[WMK16] tables 1, 3, 4 and 5, figures 3 and 5, sections 7.3 and 8",
        "claim": CLAIM,
        "found": conclusion(lines, both),
        "seed": chosen.seed,
        "replications": chosen.replications,
        "error": round((2 * REPLICATIONS * chosen.replications) ** -0.5, 6),
        "unit": "% of the mean SE_B",
        "header": HEADER,
        "rows": rows_3,
        "table 1": rows_1,
    }
    keep("wmk16-runs", chosen, document, figure(lines))


def runs_of(sample: Sample, n_runs: int, seed: np.random.SeedSequence) -> Runs:
    """The runs of one algorithm: sections 4 and 5."""
    rng = np.random.default_rng(seed)
    exact, printed = (auc(sample, method=method) for method in ("exact-bootstrap", "wmk16"))
    drawn = (drawn_areas(sample, sample.n_pos, sample.n_neg, REPLICATIONS, rng) for _ in range(n_runs))
    se_b = np.array([areas.std(ddof=1) for areas in drawn])
    (low_68, high_68), (low_95, high_95) = (
        percentiles(se_b, (1 - level) / 2, "averaged_inverted_cdf") for level in (0.6827, 0.95)
    )
    return Runs(
        auc=exact.auc,
        se_a=printed.se,
        se_exact=exact.se,
        se_b=se_b,
        mean=float(se_b.mean()),
        median=float(np.median(se_b)),
        ci68=(low_68, high_68),
        ci95=(low_95, high_95),
        se_of_se=float(se_b.std(ddof=1)),
    )


def sample_of(of: Modality) -> Sample:
    return Sample.from_counts(range(1, 7), of.pos, of.neg)


def rebuilt(of: Line) -> Sample:
    """Scores with the printed area and SE_A, and with a peak also the printed mean of SE_B.

    Genuine scores below all impostors, a share that is solved for, make the variance as large as printed.
    """
    at_peak = 12 * GENUINE * 1e-14 * (of.se_a**2 - of.mean**2) / of.peak**2 if of.peak else 0.0
    area = of.auc
    for _ in range(4):  # rounding to a scale moves the area a little
        short = partial(_short, of, at_peak, area)
        most = 0.98 * (1 - area - at_peak * (1 - of.peak / 2))
        below = brentq(short, 0.0, most, xtol=1e-7) if short(0.0) < 0 < short(most) else 0.0
        sample = scaled(of.peak, at_peak, below, area)
        area += of.auc - auc(sample).auc
    return sample


def _short(of: Line, at_peak: float, area: float, below: float) -> float:
    sample = scaled(of.peak, at_peak, below, area)
    method, printed = ("exact-bootstrap", of.mean) if of.peak else ("wmk16", of.se_a)
    return auc(sample, method=method).se - 1e-7 * printed


def scaled(peak: float, at_peak: float, below: float, area: float) -> Sample:
    """Scores of `peaked` on a scale of so many steps a standard deviation."""
    fine = peaked(peak, at_peak, below, area, GENUINE, IMPOSTORS)
    coarse, at = np.unique(np.round(fine.score * GRID), return_inverse=True)
    return Sample.from_counts(coarse, np.bincount(at, fine.pos), np.bincount(at, fine.neg))


def parted(more: Runs, last: Runs, most: int) -> list[np.ndarray]:
    """SE_B of runs of their own for each number of runs in table 1."""
    ends = np.cumsum([of * most // 500 for of in ITERATIONS[:-1]])
    return [*np.split(more.se_b, ends)[:-1], last.se_b]


def table_1(ranges: dict[int, list[np.ndarray]]) -> list[list[str]]:
    rows = []
    for key, name in ((A, "A"), (B, "B")):
        exact = TABLE_2[key].mean
        for of, printed, many in zip(ranges[key], TABLE_1[key], ITERATIONS, strict=True):
            # The medians of the smallest and the largest of L values.
            tails = 1 - 0.5 ** (1 / len(of)), 0.5 ** (1 / len(of))
            middle = exact * np.sqrt(chi2.ppf(tails, REPLICATIONS - 1) / (REPLICATIONS - 1))
            ours = 1e7 * of.min(), 1e7 * of.max()
            cells = [f"{low:.0f} to {high:.0f}" for low, high in (printed, ours, middle)]
            rows.append([f"{name}, L = {many}", *cells])
    return rows


def table_3(lines: dict[int, Runs]) -> list[list[str]]:
    return [
        [f"algorithm {key}", *paired(TABLE_3[key], 100 * np.array(of.relative_errors))]
        for key, of in lines.items()
    ]


def tables_4_and_5(lines: dict[int, Runs]) -> list[list[str]]:
    rows = []
    for (name, printed), ours in zip(TABLES_4_AND_5.items(), over_algorithms(lines), strict=True):
        rows.append([name, *paired(printed, ours)])
    return rows


def over_algorithms(lines: dict[int, Runs]) -> list[np.ndarray]:
    """Means and medians of the relative errors in per cent, with the outliers and without."""
    errors = {key: 100 * np.array(of.relative_errors) for key, of in lines.items()}
    whole = np.array(list(errors.values()))
    rest = np.array([of for key, of in errors.items() if key not in OUTLIERS])
    return [of(part, axis=0) for part in (whole, rest) for of in (np.mean, np.median)]


def paired(printed: Sequence[float], ours: Sequence[float]) -> list[str]:
    return [f"{value:.2f}" for both in zip(printed, ours, strict=True) for value in both]


def tests_7_3(lines: dict[int, Runs]) -> list[list[str]]:
    """The p-values that follow from the printed table 2, and ours."""
    return [
        [
            f"p-value, algorithm {key}",
            f"{100 * TABLE_2[key].as_result().pvalue:.0f} %",
            f"{100 * of.pvalue:.0f} %",
        ]
        for key, of in lines.items()
    ]


def section_8(both: dict[int, Runs]) -> list[list[str]]:
    rows = []
    for key, of in both.items():
        printed = MODALITIES[key]
        rows += [
            [f"modality {key}: AUC", f"{printed.auc:.6f}", f"{of.auc:.6f}"],
            ["SE_A", f"{printed.se_a:.6f}", f"{of.se_a:.6f}"],
            ["SE_B", f"{printed.se_b:.6f}", f"{of.mean:.6f} ± {of.se_of_se:.6f} (exact {of.se_exact:.6f})"],
        ]
    return rows


def conclusion(lines: dict[int, Runs], both: dict[int, Runs]) -> str:
    printed = np.array([of.se_of_se / of.mean for of in TABLE_2.values()])
    expected = (2 * (REPLICATIONS - 1)) ** -0.5
    off = np.array([of.mean / of.se_exact - 1 for of in lines.values()])
    ours = over_algorithms(lines)
    pvalues = {key: of.pvalue for key, of in lines.items()}
    rest = min(p for key, p in pvalues.items() if key not in (*OUTLIERS, 8, 9))
    beyond = [abs(MODALITIES[key].se_b - of.se_exact) / of.se_of_se for key, of in both.items()]
    return (
        f"No runs are needed: the standard error of one SE_B is 1/sqrt(2 (B - 1)) = {expected:.2%} of it "
        f"(print {printed.min():.2%} to {printed.max():.2%}), and its mean is the exact one "
        f"({abs(off).max():.2%} at most away). Tables 4 and 5: the mean of 14 is {ours[0][0]:.2f} % (print "
        f"2.39), of the 11 without outliers {ours[2][0]:.2f} % (0.46). Section 7.3: p at most "
        f"{max(pvalues[key] for key in OUTLIERS):.2g} for the outliers, {100 * pvalues[8]:.0f} and "
        f"{100 * pvalues[9]:.0f} % for algorithms 8 and 9, at least {100 * rest:.0f} % for others. "
        f"Section 8: the printed SE_B lie {beyond[0]:.1f} and {beyond[1]:.1f} standard errors of a run from "
        "the exact ones."
    )


def figure(lines: dict[int, Runs]) -> bytes:
    """Figure 3, the laws of SE_B of algorithms A and B; and figure 5, relative errors as boxes."""
    drawn, axes = panels(8, 9, (1, 1, 1), sharex=False)
    for ax, key, name in zip(axes, (A, B), "AB", strict=False):
        of = lines[key]
        ax.hist(1e4 * of.se_b, bins=25, color=LIGHT)
        ax.axvline(1e4 * of.se_a, color=PURPLE, linewidth=1.5)
        for end in (*of.ci68, *of.ci95):
            ax.axvline(1e4 * end, color=BLUE if end in of.ci68 else GREY, linestyle="--", linewidth=1)
        ax.set(xlabel="SE_B, 1e-4", ylabel="runs")
        heading(ax, f"Algorithm {name}", "line: SE_A; dashed: 68.27 and 95 %")
    errors = 100 * np.array([of.relative_errors for of in lines.values()])
    axes[2].boxplot(errors, tick_labels=["mean", "median", "68 %", "95 %"], medianprops={"color": PURPLE})
    axes[2].set_ylabel("relative error, %")
    heading(axes[2], "14 algorithms", "relative errors of SE_B")
    return png(drawn)
