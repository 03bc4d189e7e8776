"""How soon a lasting drop is found: rule `lasting` beside others, each with the same chance of a false alarm.

Windows of 300 + 2,700 rows, AUC 0.8, true values that scatter by 0.02 (0.024 with sampling noise). Every rule
but ours gets the limit that simulated quiet years give it, so that all have the same probability of any false
alarm in 52 windows; ours has its own, stated limit. Beside it

- the weekly rule: one window against mean and scatter of the reference windows, for its own size;
- mean - k SD: the same without the size;
- a CUSUM (reference value 0.75), a likelihood ratio and a mixture over all starts, of the same windows;
- an EWMA 0.2 without calibration, whose limit takes mean and scatter for known: its false alarms are given.

Then 200 rows a window with 5 to 30 % of positives, scores that foresee half of the scatter, and how often the
intervals of start and size hold. A quarter of an hour.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, logsumexp
from studies.running import options, replicate, say, table
from studies.weekly import Floats, Weeks, charted, dropped

from rocmonitor.stats import WindowAuc
from rocmonitor.stats.lasting.windows import CAP

YEAR = 52
AFTER = 13  # quiet windows before a later drop
CASES = ((0.05, 8), (0.03, 4), (0.03, 8), (0.03, 26), (0.02, 26))
NAMES = ("weekly rule", "mean - k SD", "CUSUM", "likelihood ratio", "mixture", "EWMA, not calibrated")
NOT_CALIBRATED = 2.94
"""Times its long-run standard error: what a chart 0.2 of known mean and scatter passes in 5 % of years."""


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=1000)
    header = ["", "false in 52", *(f"{drop:g} in {within}" for drop, within in CASES)]
    for n in (8, 19, 39):
        weeks = Weeks(reference=n)
        for start in (0, AFTER):
            say(f"\n{n} reference windows, drop from window {start + 1} on; ± {_error(chosen):.3f}\n")
            table(header, compared(weeks, start, chosen))
    small = Weeks(n_pos=35, n_neg=165, uneven=True)
    for probability in (0.05, 0.5):
        say(f"\n{small.n_pos + small.n_neg} rows, uneven; false alarm probability {probability:g}\n")
        table(header, compared(small, 0, chosen, probability))
    say("\nDrop from window 11 on, found within 26: intervals at 95 % that hold, mean estimated change\n")
    rows = []
    for n in (8, 19, 39):
        for drop in (0.02, 0.03, 0.05):
            found = replicate(estimated, Weeks(reference=n), drop, seed=(chosen.seed, 9, n), **_runs(chosen))
            kept = np.array([each for each in found if each is not None])
            rows.append(
                [f"{n}, {drop:g}", f"{len(kept) / len(found):.2f}", *(f"{x:.3f}" for x in kept.mean(0))]
            )
    table(["windows, drop", "found", "start held", "size held", "change"], rows)


def compared(weeks: Weeks, start: int, chosen: Namespace, probability: float = 0.05) -> list[list[str]]:
    """A line for each rule: false alarms in quiet years, and how often each drop is found in time."""
    seed = (chosen.seed, weeks.reference, start, round(100 * probability))
    quiet = np.array(replicate(highest, weeks, 0.0, 0, YEAR, seed=seed, **_runs(chosen, 4)))
    limits = np.quantile(quiet, 1 - probability, axis=0)
    limits[-1] = NOT_CALIBRATED
    lines = [["lasting", *_ours(weeks, start, chosen, probability)]]
    shares = [(quiet > limits).mean(axis=0)]
    for number, (drop, within) in enumerate(CASES):
        span = start + within
        found = replicate(highest, weeks, drop, start, span, seed=(*seed, number), **_runs(chosen))
        shares.append((np.array(found) > limits).mean(axis=0))
    return lines + [[name, *(f"{share[at]:.3f}" for share in shares)] for at, name in enumerate(NAMES)]


def _ours(weeks: Weeks, start: int, chosen: Namespace, probability: float = 0.05) -> list[str]:
    cells = []
    for number, (drop, span) in enumerate([(0.0, YEAR), *((drop, start + within) for drop, within in CASES)]):
        seed = (chosen.seed, 5, weeks.reference, start, number)
        found = replicate(alarmed, weeks, drop, start, span, probability, seed=seed, **_runs(chosen))
        cells.append(f"{np.mean(found):.3f}")
    return cells


def alarmed(
    weeks: Weeks,
    drop: float,
    start: int,
    span: int,
    probability: float,
    rng: np.random.Generator,
) -> bool:
    """Whether the rule alarms in one of so many windows, with a drop from one of them on."""
    windows = dropped(weeks.draw(span, rng), drop, weeks.reference + start)
    return charted(weeks, windows, probability)[1].crossed is not None


def highest(weeks: Weeks, drop: float, start: int, span: int, rng: np.random.Generator) -> list[float]:
    """The largest value of each other rule within so many windows."""
    windows = dropped(weeks.draw(span, rng), drop, weeks.reference + start)
    before, after = _usable(windows[: weeks.reference]), _usable(windows[weeks.reference :])
    n = len(before)
    reference, later = (np.array([each.auc for each in part]) for part in (before, after))
    apart: Floats = (reference.mean() - later) / reference.std(ddof=1)
    noise = [
        np.array([weeks.noise(each.n_pos, each.n_neg) ** 2 for each in part]) for part in (before, after)
    ]
    between = max(reference.var(ddof=1) - noise[0].mean(), 0.0)
    weekly = (reference.mean() - later) / np.sqrt(between + noise[1])
    cut = np.clip(apart, -CAP, CAP)
    return [float(each) for each in (weekly.max(), apart.max(), _cusum(cut), *_starts(cut, n), _plain(apart))]


def estimated(weeks: Weeks, drop: float, rng: np.random.Generator) -> tuple[bool, bool, float] | None:
    """Whether the intervals of start and size hold, and the size; None when nothing is found."""
    windows = dropped(weeks.draw(26, rng), drop, weeks.reference + 10)
    found = charted(weeks, windows)[1]
    first, size = found.since_ci(), found.ci()
    if first is None or size is None or found.change is None:
        return None
    return first[0] <= 10 <= first[1], size.low <= -drop <= size.high, found.change


def _usable(windows: list[WindowAuc | None]) -> list[WindowAuc]:
    return [each for each in windows if each is not None]


def _cusum(apart: Floats) -> float:
    highest = now = 0.0
    for each in apart.tolist():
        now = max(0.0, now + each - 0.75)
        highest = max(highest, now)
    return highest


def _starts(apart: Floats, n: int) -> tuple[float, float]:
    """Over all starts: the largest standardised mean, and the log of a mixture of likelihood ratios.

    The mixture is over positive sizes by a half normal law with one standard deviation of a window.
    """
    sums = np.concatenate([[0.0], np.cumsum(apart)])
    ratio, mixture = -np.inf, -np.inf
    for k in range(1, len(sums)):
        count = np.arange(k, 0, -1)
        mean, variance = (sums[k] - sums[:k]) / count, 1 / count + 1 / n
        ratio = max(ratio, float(np.max(mean / np.sqrt(variance))))
        spread = 1 / (1 / variance + 1)
        centre = spread * mean / variance
        logs = 0.5 * np.log(spread) + 0.5 * centre**2 / spread + log_ndtr(centre / np.sqrt(spread))
        mixture = max(mixture, float(logsumexp(logs)))
    return ratio, mixture


def _plain(apart: Floats) -> float:
    """The largest value of a chart 0.2, over its long-run standard error."""
    highest = now = 0.0
    for each in apart.tolist():
        now = 0.8 * now + 0.2 * each
        highest = max(highest, now)
    return highest / float(np.sqrt(0.2 / 1.8))


def _runs(chosen: Namespace, times: int = 1) -> dict[str, int]:
    return {"replications": times * chosen.replications, "processes": chosen.processes}


def _error(chosen: Namespace) -> float:
    return float(np.sqrt(0.25 / chosen.replications))
