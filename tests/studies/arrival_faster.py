"""Labels that come sooner or later than in the reference: what is judged and found, and coverage.

Windows of 1,000 rows, 30 % positive, AUC about 0.8, varying from window to window. Labels arrive by age,
positives and high scores first, about half of them after 30 days. Each reference has 39 windows whose labels
all came in the end. Later windows are judged after 30 days, when they have the labels that they would have in
the reference after 15, 30, 60 and 110 days: slower, alike, faster, much faster; and after 80 days with the
labels of 30 (`slower, later`), more than half. In `decline` the AUC is lower by 0.05.

`refused` is the share of windows that no rule judges; `final` how often the 95 % interval of the final AUC
holds it, and `true` how often the confidence interval of `floor` and `drop` holds that of the population,
among those judged. `found` is the share of all windows below a one-sided 95 % forecast: false alarms without
a decline. Each is given as it was before (windows with a share of labels more than 10 points outside that of
reference windows at that age were refused, the others read at it, and sampling and labels added as if
independent), and as it is now. `alone` is the share of windows whose labelled rows alone are below the
forecast of full labels, as a monitor without a history of labels judges them: with half of the labels or
more. The last two columns give both the limit that 5 % of the windows of the same pace without a decline fall
below: what each then finds of a decline. Brackets: Monte Carlo standard errors, in the last two columns from
resamples of the references, as the limit has an error, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import expit, ndtr
from studies.label_arrival import END, PREVALENCE, SEPARATION, START, Floats, Mask
from studies.running import options, replicate, say, table

from rocmonitor.policy.arrival import ALIKE, MIN_LABELLED, Awaiting, Estimate, estimate
from rocmonitor.policy.reference import Reference
from rocmonitor.stats import ForecastFit, PartlyLabelledAuc, Sample, auc, condensed, forecast_fit
from rocmonitor.stats.forecast.label_history import PastWindow, Reading, label_history
from rocmonitor.stats.forecast.partial_labels import LabelErrors, label_errors, partly_labelled_auc
from rocmonitor.stats.sample import ScoreCounts

ROWS, WINDOWS, LATER, RESAMPLES = 1000, 39, 10, 400
AGES = tuple(timedelta(days=days) for days in (5, 10, 15, 20, 30, 40, 60, 80, 110, 120))


class Design(NamedTuple):
    """The age in the reference with as many labels as these windows, their age when judged, loss of AUC."""

    as_if: int
    judged_at: int = 30
    loss: float = 0.0


PACES = {
    "slower": Design(15),
    "slower, later": Design(30, judged_at=80),
    "alike": Design(30),
    "faster": Design(60),
    "much faster": Design(110),
}
DESIGNS = {
    f"{pace}{', decline' if loss else ''}": design._replace(loss=loss)
    for loss in (0.0, 0.05)
    for pace, design in PACES.items()
}
FIELDS = (
    "labelled",
    "refused before",
    "refused now",
    "final before",
    "final now",
    "true before",
    "true now",
    "found before",
    "found now",
    "alone",
)
AT_FIVE = ("found now, 5 %", "alone, 5 %")
"""The columns at equal false alarms, from the distances to the limit behind `FIELDS`."""


class Window(NamedTuple):
    """Rows and the age of their labels in days; the AUC of the population they come from."""

    y: Mask
    s: Floats
    age: Floats
    truth: float

    def at(self, lower: float, upper: float = math.inf) -> Sample:
        """Return the rows whose labels come in between."""
        here = (self.age > lower) & (self.age <= upper)
        return Sample(self.y[here], self.s[here])


def drawn(rng: np.random.Generator, loss: float = 0.0) -> Window:
    """Return one window."""
    y = rng.random(ROWS) < expit(np.log(PREVALENCE / (1 - PREVALENCE)) + 0.2 * rng.normal())
    drawn_at = SEPARATION + 0.06 * rng.normal()
    truth = float(ndtr(drawn_at / 2**0.5)) - loss
    separation = float(scipy.special.ndtri(truth)) * 2**0.5
    s = np.round(rng.normal(size=ROWS) + separation * y, 3)
    # P(labelled by age a) = expit(level + 1.5 y + s - 0.4 + 2 ln(a / 30))
    odds = -0.1 + 1.5 * y + (s - 0.4)
    age = 30 * np.exp((scipy.special.logit(rng.random(ROWS)) - odds) / 2)
    return Window(y, s, np.minimum(age, END.days - 1e-6), truth)


def reference(windows: Sequence[Window]) -> Reference:
    """Return the windows as a monitor freezes them."""
    samples = [Sample(window.y, window.s) for window in windows]
    whole, none = Sample.merge(samples), ScoreCounts(np.zeros(0), np.zeros(0, dtype=np.int64))
    ends = [0.0, *(age.days for age in AGES)]
    past = [PastWindow([window.at(*pair) for pair in pairwise(ends)], none, END) for window in windows]
    return Reference(
        auc=auc(whole),
        fits={
            "forecast": forecast_fit(whole, windows=samples, batch=(1, 1), alternative="less"),
        },
        cells=condensed(whole),
        windows=[
            {"start": (START + at * END).isoformat(), "end": (START + (at + 1) * END).isoformat()}
            for at in range(len(windows))
        ],
        labels=label_history(past, AGES),
    )


def as_before(
    known: Sample, waiting: ScoreCounts, reading: Reading
) -> tuple[PartlyLabelledAuc, LabelErrors, bool]:
    """Return the estimate by the reference at 30 days, and whether its share of labels was refused."""
    found = partly_labelled_auc(known, waiting, reading.late, later_share=reading.later_share)
    errors = label_errors(reading.estimates, [auc(each).auc for each in reading.finals])
    shares = [each.labelled_share for each in reading.estimates]
    return found, errors, not min(shares) - ALIKE <= found.labelled_share <= max(shares) + ALIKE


def interval_before(found: PartlyLabelledAuc, errors: LabelErrors) -> tuple[float, float]:
    """Return the confidence interval with sampling and labels added as if independent."""
    label = found.label_se * math.sqrt(float(np.mean(np.square(errors.ratios))))
    se = math.hypot(found.sampling_se, label)
    reach = se * float(scipy.special.stdtrit(errors.n_windows * (se / label) ** 4, 0.975))
    slope, middle = reach / (found.auc * (1 - found.auc)), scipy.special.logit(found.auc)
    return float(expit(middle - slope)), float(expit(middle + slope))


def judged(window: Window, design: Design, past: Reference) -> Floats:
    """Return what `FIELDS` names of one window, NaN where it is not judged, and how far the estimate and the
    labelled rows alone are above their limits.
    """
    as_if, age = design.as_if, timedelta(days=design.judged_at)
    final, known = auc(window.y, window.s).auc, window.at(0, as_if)
    waiting = ScoreCounts.of(window.s[window.age > as_if])
    cells, full, labels = past.cells, past.fits["forecast"], past.labels
    assert cells is not None
    assert labels is not None
    now = estimate(past, known, Awaiting(unlabelled=waiting, age=age))
    assert isinstance(now, Estimate)
    assert now.errors is not None
    old, errors, refused = as_before(known, waiting, labels.at(age))
    then = Estimate(partly=old, age=age, reading=labels.at(age), errors=errors)
    values, above = [], math.inf
    for each, no, ends in (
        (then, refused, interval_before(old, errors)),
        (now, bool(now.lacks), now.errors.ci(now.partly)),
    ):
        assert each.errors is not None
        low, high, _ = each.errors.final_interval(each.partly)
        above = math.inf if no else each.partly.auc - lowest(each, past)
        held = [np.nan, np.nan] if no else [low <= final <= high, ends[0] <= window.truth <= ends[1]]
        values.append([no, *held, above < 0])
    alone = math.inf
    if now.partly.labelled_share >= MIN_LABELLED:
        alone = auc(known).auc - full.interval(cells, (known.n_pos, known.n_neg)).low
    pairs = np.array(values, dtype=np.float64).T.ravel()
    return np.concatenate([[now.partly.labelled_share], pairs, [alone < 0, above, alone]])


_FITS: dict[int, tuple[Reading, ForecastFit, float]] = {}


def lowest(found: Estimate, past: Reference) -> float:
    """Return the lower end of the forecast, as `rocmonitor.policy.arrival.forecasts` makes it."""
    cells, full = past.cells, past.fits["forecast"]
    assert cells is not None
    assert found.errors is not None
    key = id(found.reading)
    if key not in _FITS or _FITS[key][0] is not found.reading:
        days = [0.0] * len(found.reading.numbers)
        _FITS[key] = found.reading, *found.reading.fit(full, cells, batch=(1, 1), weights=None, days=days)
    _, fit, centre = _FITS[key]
    return fit.interval(cells, found.sizes, around=centre, scatter=found.errors.arrival, full_level=True).low


def one(rng: np.random.Generator) -> Floats:
    """(designs, windows, fields and distances): a reference, and windows after it."""
    _FITS.clear()
    past = reference([drawn(rng) for _ in range(WINDOWS)])
    return np.stack(
        [[judged(drawn(rng, design.loss), design, past) for _ in range(LATER)] for design in DESIGNS.values()]
    )


def line(name: str, found: Floats) -> list[str]:
    """Return a line of the table but for `AT_FIVE`, of results (references, windows, fields, distances)."""
    cells = [name, f"{np.mean(found[..., 0]):.2f}"]
    for at in range(1, len(FIELDS)):
        each = [of[np.isfinite(of)].mean() for of in found[..., at] if np.isfinite(of).any()]
        seen = found[..., at][np.isfinite(found[..., at])]
        if len(each) < 2:
            cells.append("none")
            continue
        error = np.std(each, ddof=1) / len(each) ** 0.5
        cells.append(f"{100 * seen.mean():.1f} ({100 * error:.1f})")
    return cells


def at_five(quiet: Floats, declined: Floats) -> list[str]:
    """Return `AT_FIVE` of a pace with a decline, by its windows without one."""
    rng, n = np.random.default_rng(1), len(quiet)
    resamples = [np.arange(n), *rng.integers(n, size=(RESAMPLES, n))]
    cells = []
    for at in (-2, -1):
        shares = [_found_at_five(quiet[of, :, at], declined[of, :, at]) for of in resamples]
        cells.append(f"{100 * shares[0]:.1f} ({100 * np.std(shares[1:], ddof=1):.1f})")
    return cells


def _found_at_five(quiet: Floats, declined: Floats) -> float:
    return float(np.mean(declined < np.quantile(quiet, 0.05, method="inverted_cdf")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    chosen = options(__doc__, arguments, replications=120)
    found = np.stack(
        replicate(
            one,
            replications=chosen.replications,
            seed=chosen.seed,
            processes=chosen.processes,
            what="references",
        )
    )
    rows = []
    for at, (name, design) in enumerate(DESIGNS.items()):
        equal = at_five(found[:, at - len(PACES)], found[:, at]) if design.loss else ["", ""]
        rows.append([*line(name, found[:, at]), *equal])
    table(["labels come", *FIELDS, *AT_FIVE], rows)
    say(f"\n{chosen.replications} references of {WINDOWS} windows, {LATER} later ones each; in per cent.")


if __name__ == "__main__":
    main()
