"""A budget of false alarms over a year of 500 quiet monitors: what is used of it, and the power that is left.

Each replication is one of 500 weekly monitors, with 26 reference windows of 60 + 90 rows and an AUROC of
about 0.8, judged for a year by the rules as they run. The budget is shared by all monitors, so that each rule
gets the level that `rocmonitor check` would name. Shown for each rule alone: alarms of all 500 monitors in a
year at the default level and at the derived one, and the share of windows found degraded when the AUROC has
dropped. `forecast` cannot have the derived level with so few reference windows: `check` says how many it
needs, and the table what happens without them. Ten minutes of two processors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
from scipy.special import ndtri
from studies.running import options, replicate, say, table

from rocmonitor.policy.budget import AlarmBudget, Load, level_for, tail_probability
from rocmonitor.policy.evaluation import Counts, Status
from rocmonitor.policy.judge import judge
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.rules import Drop, Forecast, Rule
from rocmonitor.policy.windows import Window
from rocmonitor.stats import Sample

MONITORS, WEEKS, REFERENCE = 500, 52, 26
BUDGETS = (4.0, 400.0)
AREA, DROPS, DROPPED = 0.8, (0.05, 0.1, 0.2), 8
LABELS = np.repeat([1, 0], [60, 90])
RULES: dict[str, Forecast | Drop] = {"drop": Drop(), "forecast": Forecast()}


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, arguments, replications=MONITORS)
    rules = {f"{name}, default": rule for name, rule in RULES.items()}
    for budget in BUDGETS:
        rules |= {f"{name}, {budget:g} a year": derived(rule, budget) for name, rule in RULES.items()}
    found = np.array(
        replicate(
            monitor_year,
            rules,
            replications=chosen.replications,
            seed=chosen.seed,
            processes=chosen.processes,
            what="monitors",
        )
    )
    say(f"{chosen.replications:,} monitors, scaled to {MONITORS}; ± one Monte Carlo error\n")
    rows = []
    for at, (name, rule) in enumerate(rules.items()):
        alarms = found[:, at, 0]
        error = max(alarms.std() / np.sqrt(len(alarms)), 1 / len(alarms))
        power = [f"{share:.2f}" for share in found[:, at, 1:].mean(axis=0)]
        many, error = (f"{MONITORS * value:.1f}" for value in (alarms.mean(), error))
        rows.append([name, f"{rule.confidence_level:.6g}", many, error, *power])
    names = ["rule", "level", "alarms a year", "±", *(f"power, drop by {drop:g}" for drop in DROPS)]
    table(names, rows)


def derived(rule: Forecast | Drop, budget: float) -> Forecast | Drop:
    """The rule at the level that keeps to the budget, were it the only rule of all monitors."""
    load = Load(
        monitor="each",
        windows_per_year=WEEKS * MONITORS,
        streams=1,
        rules={rule.kind: rule},
        reference_windows=REFERENCE,
    )
    tail = tail_probability(AlarmBudget(false_alarms_per_year=budget), [load])
    return replace(rule, confidence_level=level_for(rule, tail))


def monitor_year(rules: Mapping[str, Rule], rng: np.random.Generator) -> list[list[float]]:
    """Of each rule: false alarms in the year, and the share of windows found at each drop."""
    start, week = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)
    past = [(Window(start + k * week, start + (k + 1) * week), window(AREA, rng)) for k in range(REFERENCE)]
    reference = freeze(past, rules)

    def degraded(area: float) -> list[bool]:
        counts = Counts(rows=len(LABELS), n_pos=60, n_neg=90)
        finding = judge(window(area, rng), None, counts, reference=reference, rules=rules, min_per_class=10)
        return [verdict.outcome is Status.DEGRADED for verdict in finding.verdicts]

    quiet = np.array([degraded(AREA) for _ in range(WEEKS)])
    # An alarm is a change to degraded.
    alarms = (quiet & ~np.vstack([np.zeros_like(quiet[:1]), quiet[:-1]])).sum(axis=0)
    power = [np.mean([degraded(AREA - drop) for _ in range(DROPPED)], axis=0) for drop in DROPS]
    return np.column_stack([alarms, *power]).tolist()  # type: ignore[no-any-return]


def window(area: float, rng: np.random.Generator) -> Sample:
    """A week of normal scores."""
    return Sample(LABELS, np.sqrt(2) * ndtri(area) * LABELS + rng.standard_normal(len(LABELS)))
