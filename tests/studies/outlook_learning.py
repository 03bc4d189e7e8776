"""Warnings of the rule `outlook` and its intervals, with and without what came of earlier outlooks.

39 reference windows of 1,000 rows, whose cases are harder or easier from window to window, then 104
windows (two years of weeks). Labels come after 4 windows. In `nothing` nothing is wrong; in `narrower`
all scores of the later windows are 0.8 times as large, so the AUROC stays and the expected one falls; in
`slow` they shrink to that over the two years; in `flatter` P(y | score) becomes flatter, so that the
realised AUROC falls and the expected one stays; in `harder` cases become harder after a year, and the
AUROC falls as expected.

Shown are warnings a year of windows that are good (false), the share of the other windows that were
warned of (found), and how often the 95 % interval held the realised AUROC, as it was before (nothing is
learned) and as it is now. A window is good if its realised AUROC is not below the forecast without the
scores. Brackets: Monte Carlo standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import stdev

import numpy as np
from scipy.special import expit
from studies.outlook_level import SCORE, Floats
from studies.outlook_shift import cases, drawn, labelled
from studies.running import options, replicate, say, table

from rocmonitor.policy.lessons import learned
from rocmonitor.stats import Sample, auc, condensed, forecast_interval, score_history
from rocmonitor.stats.forecast.learning import JudgedOutlook, tracked_margin

PAST, LATER, DELAY, ROWS = 39, 104, 4, 1000
LEVEL = 0.95
FIELDS = ("false before", "false now", "found before", "found now", "covered before", "covered now")

FLATTER = expit(0.8 * (SCORE - 0.55) + np.log(0.25))


def _usual(rng: np.random.Generator) -> Floats:
    """A law whose cases are harder or easier from window to window."""
    return labelled(cases(0.0, float(np.exp(0.08 * rng.normal()))))


def _harder(at: int, rng: np.random.Generator) -> Floats:
    wide = float(np.exp(0.08 * rng.normal())) * (0.6 if at >= LATER // 2 else 1.0)
    return labelled(cases(0.0, wide))


def _flatter(_at: int, rng: np.random.Generator) -> Floats:
    return labelled(cases(0.0, float(np.exp(0.08 * rng.normal()))), FLATTER)


LAWS: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "nothing": lambda _at, rng: _usual(rng),
    "narrower": lambda _at, rng: _usual(rng),
    "slow": lambda _at, rng: _usual(rng),
    "flatter": _flatter,
    "harder": _harder,
}
SHRUNK: dict[str, Callable[[int], float]] = {
    "narrower": lambda _at: 0.8,
    "slow": lambda at: 1 - 0.2 * at / LATER,
}


def one(rng: np.random.Generator) -> Floats:
    """(designs, fields): two years of each design after one reference."""
    past = [drawn(_usual(rng), ROWS, rng) for _ in range(PAST)]
    reference = Sample.merge(past)
    history, cells = score_history(reference, past), condensed(reference)
    normal = forecast_interval(reference, windows=past)
    lowest = history.expected_limit(ROWS, confidence_level=LEVEL).limit
    step = max(stdev(history.window_expected), (history.score_variance / ROWS) ** 0.5)

    def year(design: str) -> list[float]:
        since: list[JudgedOutlook] = []
        counted = []
        for at in range(LATER):
            window = drawn(LAWS[design](at, rng), ROWS, rng)
            shrunk = SHRUNK.get(design, lambda _at: 1.0)(at)
            scores = np.round(window.score * shrunk, 6), window.pos + window.neg
            outlook = history.forecast(cells, scores, confidence_level=LEVEL)
            seen = since[: max(at - DELAY, 0)]
            wider, _ = learned(outlook, seen)
            short = [lowest - each.expected for each in seen]
            margin = tracked_margin(short, 1 - LEVEL, step, [each.answer(each.expected) for each in seen])
            found = auc(window)
            realised = found.auc
            good = realised >= normal.for_batch(cells, (window.n_pos, window.n_neg)).low
            warns = outlook.auc < lowest, outlook.auc < lowest - margin
            counted.append([good, *warns, outlook.contains(realised), wider.contains(realised)])
            since.append(
                JudgedOutlook(
                    expected=outlook.auc,
                    foretold=outlook.auc,
                    distance=outlook.score_distance,
                    rows=ROWS,
                    low=outlook.low,
                    high=outlook.high,
                    reference=history.auc,
                    auc=realised,
                    interval=tuple(found.ci()),
                    degraded=not good,
                    warned=warns[1],
                )
            )
        good, before, now, inside, held = np.array(counted, dtype=bool).T
        worse = np.count_nonzero(~good)
        return [
            *(52 / LATER * np.count_nonzero(each & good) for each in (before, now)),
            *(np.count_nonzero(each & ~good) / worse if worse else np.nan for each in (before, now)),
            inside.mean(),
            held.mean(),
        ]

    return np.array([year(design) for design in LAWS])


def line(name: str, found: Floats) -> list[str]:
    """Return a line of the table, of results (references, fields)."""
    cells = [name]
    for at in range(len(FIELDS)):
        each = found[:, at][np.isfinite(found[:, at])]
        if len(each) < 2:
            cells.append("none")
            continue
        times = 1 if at < 2 else 100
        error = each.std(ddof=1) / len(each) ** 0.5
        cells.append(f"{times * each.mean():.1f} ({times * error:.1f})")
    return cells


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=20)
    found = np.stack(
        replicate(
            one,
            replications=chosen.replications,
            seed=chosen.seed,
            processes=chosen.processes,
            what="references",
        )
    )
    table(["later windows", *FIELDS], [line(name, found[:, at]) for at, name in enumerate(LAWS)])
    say(f"\n{chosen.replications} references, {LATER} windows of each design after each; shares in per cent.")


if __name__ == "__main__":
    main()
