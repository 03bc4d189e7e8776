"""False alarms of rule `lasting`: how often any of 52 windows alarms when nothing lasts, nominal 5 %.

Windows of 300 + 2,700 rows, AUC 0.8, true values that scatter by 0.02 (0.024 with sampling noise), after 8,
19 and 39 reference windows, and variations of each: heavy tails, sampling noise alone, uneven sizes, serial
correlation, a season, gaps, scores that foresee a part of the scatter. Beside it an EWMA with the same
weight (0.15) whose limit takes the reference's mean and scatter for known, and mean - 3 SD. Half an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from studies.running import options, replicate, say, table
from studies.weekly import Floats, Weeks, charted

from rocmonitor.stats.lasting.windows import running

HORIZON = 52
REFERENCES = (8, 19, 39)
KNOWN_LIMIT = 2.86
"""What an EWMA 0.15 of independent standard normal windows passes in 5 % of runs of 52."""

DESIGNS = {
    "independent": Weeks(),
    "heavy tails (t3)": Weeks(heavy=True),
    "sampling noise alone": Weeks(between=0.0),
    "scatter alone": Weeks(n_pos=300_000, n_neg=2_700_000, between=0.024),
    "200 rows": Weeks(n_pos=40, n_neg=160),
    "uneven sizes": Weeks(uneven=True),
    "a tenth of weeks missing": Weeks(gaps=0.1),
    "AR 0.3": Weeks(serial=0.3),
    "AR 0.5": Weeks(serial=0.5),
    "AR 0.9": Weeks(serial=0.9),
    "season of 0.02": Weeks(wave=0.02),
}
YEAR_DESIGNS = {
    "no season": Weeks(reference=104, dated=True),
    "season of 0.02": Weeks(reference=104, dated=True, wave=0.02),
    "season of 0.02, undated": Weeks(reference=104, wave=0.02),
    "one year, season of 0.02": Weeks(reference=53, dated=True, wave=0.02),
    "one year, no season": Weeks(reference=53, dated=True),
}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=2000)
    say(f"{chosen.replications:,} runs a cell; any alarm in {HORIZON} windows; ± one Monte Carlo error\n")
    header = ["", *(cell for n in REFERENCES for cell in (f"{n} windows", "±", "naive EWMA", "mean - 3 SD"))]
    rows = []
    for number, (name, weeks) in enumerate(DESIGNS.items()):
        cells = []
        for n in REFERENCES:
            design = Weeks(**{**vars(weeks), "reference": n})
            cells += _cells(name, design, (chosen.seed, number, n), chosen)
        rows.append([name, *cells])
    table(header, rows)
    say()
    rows = []
    for number, (name, weeks) in enumerate(YEAR_DESIGNS.items()):
        rows.append([name, *_cells(name, weeks, (chosen.seed, 100 + number), chosen)])
    table(["a year and more", "lasting", "±", "naive EWMA", "mean - 3 SD"], rows)


def year(weeks: Weeks, rng: np.random.Generator) -> tuple[bool, bool, bool]:
    """Whether a quiet year has any alarm: ours, of the EWMA with known mean and scatter, of mean - 3 SD."""
    windows = weeks.draw(HORIZON, rng)
    _, found = charted(weeks, windows)
    before = np.array([each.auc for each in windows[: weeks.reference] if each is not None])
    after = np.array([each.auc for each in windows[weeks.reference :] if each is not None])
    apart: Floats = (before.mean() - after) / before.std(ddof=1)
    naive = running(apart, np.ones(len(apart)), 0.0).statistic
    return found.crossed is not None, bool((naive > KNOWN_LIMIT).any()), bool((apart > 3).any())


def _cells(name: str, weeks: Weeks, seed: tuple[int, ...], chosen: object) -> list[str]:
    run = partial(replicate, replications=chosen.replications, processes=chosen.processes)  # type: ignore[attr-defined]
    ours, naive, three = np.mean(run(year, weeks, seed=seed, what=name), axis=0)
    error = np.sqrt(ours * (1 - ours) / chosen.replications)  # type: ignore[attr-defined]
    return [f"{ours:.3f}", f"{error:.3f}", f"{naive:.3f}", f"{three:.3f}"]
