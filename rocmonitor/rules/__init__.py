"""Rules: what counts as an alarm. One file a kind; `rocmonitor.rules.base` says what each of them answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import get_args

from rocmonitor.rules.base import Needs, Rule, can_alarm, highest_floor, settings_of
from rocmonitor.rules.calibration import Calibration
from rocmonitor.rules.challenger import Challenger
from rocmonitor.rules.cost import Cost
from rocmonitor.rules.drop import Drop
from rocmonitor.rules.floor import Floor
from rocmonitor.rules.forecast import Forecast
from rocmonitor.rules.lasting import Lasting
from rocmonitor.rules.outlook import OutlookRule
from rocmonitor.rules.scores import Scores

__all__ = [
    "KINDS",
    "PROPOSED",
    "AnyRule",
    "Calibration",
    "Challenger",
    "Cost",
    "Drop",
    "Floor",
    "Forecast",
    "Lasting",
    "Needs",
    "OutlookRule",
    "Rule",
    "Scores",
    "by_name",
    "can_alarm",
    "highest_floor",
    "kind_of",
    "settings_of",
]

AnyRule = Forecast | Lasting | Floor | Drop | Cost | Calibration | Challenger | Scores | OutlookRule
"""Every kind of rule that a configuration may name."""

KINDS: tuple[str, ...] = tuple(
    str(field.default) for rule in get_args(AnyRule) for field in fields(rule) if field.name == "kind"
)
"""The names of all kinds."""


def by_name(rules: Sequence[Rule]) -> dict[str, Rule]:
    """Return the rules by name: the kind, numbered from the second of a kind on (``floor``, ``floor_2``)."""
    names: dict[str, Rule] = {}
    for rule in rules:
        same = sum(other.kind == rule.kind for other in names.values())
        names[f"{rule.kind}_{same + 1}" if same else rule.kind] = rule
    return names


PROPOSED = by_name([Forecast(), Lasting()])
"""The rules that ``init`` writes."""


def kind_of(name: str) -> str:
    """Return the kind of the rule that `by_name` gives this name."""
    return name.rstrip("_0123456789")
