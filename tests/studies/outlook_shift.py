"""The outlook of windows whose scores have shifted: how often its interval holds the realised AUROC.

Each reference has 39 windows, whose populations never shift, or drift in what the scores tell (the law of the
scores, at one P(y | score)), in prevalence, or in P(y | score). Then come windows of one shift each: cases
become harder, easier, or all score higher at one P(y | score) (covariate shifts); other prevalences at the
same laws of the classes; and P(y | score) becomes flatter, at the same scores and with harder cases, which no
scores can show. `before` lies around the AUROC at the strength that the reference windows taught, whatever
the scores do; `now` is `ScoreHistory.forecast`. Cells are the share of windows whose scores have moved, the
share of realised AUROCs inside with the Monte Carlo standard error, the mean widths, and the mean of the
realised AUROC minus the middle of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from studies.outlook_level import CONCEPT, LEVEL, SCORE, USUAL, Floats, draw, normal
from studies.running import options, replicate, say, table

from rocmonitor.stats import Sample, auc, condensed, score_history
from rocmonitor.stats.forecast.blending import Laws
from rocmonitor.stats.forecast.given_scores import WIDEST, Noises, at_strength, learned
from rocmonitor.stats.forecast.projection import counted_in

PAST = 39
JUDGED = 5


class Design(NamedTuple):
    """What drifts in the reference (a drift of `outlook_level`), and the rows of every window."""

    drift: str
    rows: int = 1000


DESIGNS = [
    Design("nothing"),
    Design("scores"),
    Design("prevalence"),
    Design("P(y | score)"),
    Design("nothing", 10_000),
]


def cases(mean: float, wide: float) -> Floats:
    """(100,): a law of the scores with all of them moved by `mean`, and spread `wide` times as much."""
    return 0.8 * normal(mean, wide) + 0.2 * normal(mean + 1.1 * wide, wide)


def labelled(law: Floats, level: Floats = CONCEPT) -> Floats:
    """(2, 100): negatives and positives of a law of the scores."""
    return np.stack([law * (1 - level), law * level])


def of_prevalence(share: float) -> Floats:
    """(2, 100): the classes' laws with so many positives."""
    return np.stack([(1 - share) * normal(0.0), share * normal(1.1)])


FLATTER = expit(0.7 * (SCORE - 0.55) + np.log(0.25))

SHIFTS = {
    "none": labelled(USUAL),
    "harder cases": labelled(cases(0.0, 0.75)),
    "easier cases": labelled(cases(0.0, 1.3)),
    "higher scores": labelled(cases(1.0, 1.0)),
    "prevalence 10 %": of_prevalence(0.1),
    "prevalence 40 %": of_prevalence(0.4),
    "flatter P(y | score)": labelled(USUAL, FLATTER),
    "flatter, harder cases": labelled(cases(0.0, 0.75), FLATTER),
}
FIELDS = ("moved", "before", "now", "width before", "width now", "off before", "off now")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    chosen = options(__doc__, arguments, replications=40)
    say(f"{chosen.replications} references, {JUDGED} windows of each shift, nominal level {LEVEL:.0%}\n")
    for number, design in enumerate(DESIGNS):
        what = f"{design.drift}, {design.rows:,} rows"
        found = np.stack(
            replicate(
                one,
                design,
                replications=chosen.replications,
                seed=(chosen.seed, number),
                processes=chosen.processes,
                what=what,
            )
        )
        say(f"Reference windows: {what}")
        table(
            ["shift", "moved, %", *FIELDS[1:]],
            [line(*each) for each in zip(SHIFTS, found.swapaxes(0, 1), strict=True)],
        )
        say()


def one(design: Design, rng: np.random.Generator) -> Floats:
    """(shifts, fields): means over the windows that come after one reference."""
    past = [draw(design.drift, design.rows, rng) for _ in range(PAST)]
    reference = Sample.merge(past)
    history, cells = score_history(reference, past), condensed(reference)
    return np.stack(
        [
            np.mean([judged(history, cells, drawn(law, design.rows, rng)) for _ in range(JUDGED)], axis=0)
            for law in SHIFTS.values()
        ]
    )


def judged(history, cells: Sample, window: Sample) -> Floats:
    """What `FIELDS` names, of one window."""
    scores, realised = (window.score, window.pos + window.neg), auc(window).auc
    now = history.forecast(cells, scores, confidence_level=LEVEL)
    laws = Laws.of(cells.score, cells.pos, cells.neg, counted_in(cells.score[:-1], *scores))
    asked = Noises.of(history, int(scores[1].sum()), None), LEVEL, "two-sided"
    before, without = (
        learned(history, laws, cells, *asked)[0],
        at_strength(history, laws, cells, asked[0], 0, *asked[1:]),
    )
    (low, high), plain = before.ends("two-sided"), without.ends("two-sided")
    if high - low > WIDEST * (plain[1] - plain[0]):
        before, (low, high) = without, plain
    return np.array(
        [
            now.moved,
            low <= realised <= high,
            now.contains(realised),
            high - low,
            now.high - now.low,
            realised - before.foreseen,
            realised - now.foreseen,
        ],
        dtype=np.float64,
    )


def drawn(law: Floats, rows: int, rng: np.random.Generator) -> Sample:
    """Return a window of a population, with both classes."""
    while True:
        neg, pos = rng.multinomial(rows, (law / law.sum()).ravel()).reshape(2, -1)
        if min(pos.sum(), neg.sum()) > 1:
            return Sample.from_counts(SCORE, pos, neg)


def line(shift: str, found: Floats) -> list[str]:
    """Return a line of the table, of results (references, fields)."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
    covered = [f"{100 * mean[at]:.1f} ± {100 * error[at]:.1f}" for at in (1, 2)]
    widths, off = [f"{mean[at]:.3f}" for at in (3, 4)], [f"{mean[at]:+.4f}" for at in (5, 6)]
    return [shift, f"{100 * mean[0]:.0f}", *covered, *widths, *off]


if __name__ == "__main__":
    main()
