"""What to expect before the labels: warnings in vain, the loss that is found, and how much sooner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta

from rocmonitor.config import Monitor
from rocmonitor.policy.early import Early, early
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.rules import Outlook, Rule, before_labels
from rocmonitor.service.checking.forecast_alarms import POWER, rate
from rocmonitor.wording.format import count


def warnings(
    monitor: Monitor, rules: Mapping[str, Rule], reference: Reference, rows: int, every: timedelta
) -> list[str]:
    """A line on the outlook, and one for each rule that reads it.

    Parameters
    ----------
    monitor : Monitor
    rules : dict of str to Rule
        By name.
    reference : Reference
        As far as it was read.
    rows : int
        Scores to be expected of a window.
    every : timedelta
        How long it lasts.
    """
    if monitor.outlook is None:
        return []
    sooner = monitor.window.label_delay - monitor.outlook.after
    lines = [f"an outlook of each window comes {_length(sooner)} before its labels are due"]
    mine = {name: rule for name, rule in rules.items() if before_labels(rule)}
    if reference.history is None or reference.cells is None:
        if own := [each.bare() for each in reference.caveats if each.about[:1] == ("outlook",)]:
            return [f"no window can have an outlook: {own[0]}"]
        return [
            *lines,
            *(f"how often {name} warns is not known: the reference was not read" for name in mine),
        ]
    for name, rule in mine.items():
        found = early(rule, reference.history, reference.cells, rows=rows, every=every, power=POWER)
        lines.append(f"{name}: {_line(rule, found, sooner)}")
    return lines


def _line(rule: Rule, found: Early, sooner: timedelta) -> str:
    usual = (
        f"about {rate(found.warnings_a_year)} windows a year warn although nothing is wrong (with one "
        f"reference in ten, more than {rate(found.unlucky_warnings_a_year)})"
    )
    if found.loss is None:
        return f"{usual}; it does not see positives that come to score like negatives"
    why = "that the scores foretell" if isinstance(rule, Outlook) else "when positives score like negatives"
    return (
        f"{usual}; a loss of {math.ceil(found.loss * 1000) / 1000:g} {why} is found with "
        f"{100 * POWER:.0f} % probability, {_length(sooner)} before the labels"
    )


def _length(time: timedelta) -> str:
    if time >= timedelta(days=2):
        return count(round(time / timedelta(days=1)), "day")
    return count(round(time / timedelta(hours=1)), "hour")
