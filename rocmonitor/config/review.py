"""The section of a monitor on the comparison of its champion and challenger."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge
from pydantic import BeforeValidator, Field, field_validator, model_validator

from rocmonitor.config.values import Cron, FiniteFloat, Level, Rate, Section, WallTime, no_switch
from rocmonitor.policy.review.settings import Money
from rocmonitor.stats.dependence import Correlation


class Reviewing(Section):
    """The review's rule and period, fixed before the first check; see `ReviewRule` and `ReviewSettings`.

    Attributes
    ----------
    fpr, thresholds : tuple of float or None
        None: those of operating_points.
    start : datetime or None
        Wall time at which the period begins. None: with the first window that was judged with the present
        versions, if there is one.
    schedule : str or None
        Times at which ``serve`` runs a review; None: never.
    """

    margin: Annotated[FiniteFloat, Ge(0)] = 0.0
    confidence_level: Level = 0.95
    fpr: tuple[Rate, ...] | None = None
    tuned_for: int = Field(default=12, ge=1)
    correlation: Correlation = "estimated"
    start: WallTime | None = None
    schedule: Cron | None = None
    money: tuple[Annotated[Money, BeforeValidator(no_switch)], ...] = ()
    thresholds: tuple[FiniteFloat, ...] | None = None
    n_resamples: int = Field(default=999, ge=99)

    @model_validator(mode="before")
    @classmethod
    def _no_switches(cls, said: object) -> object:
        return no_switch(said)

    @field_validator("fpr")
    @classmethod
    def _a_name_each(cls, rates: tuple[float, ...] | None) -> tuple[float, ...] | None:
        named: dict[str, float] = {}
        for rate in rates or ():
            name = f"{rate:g}"  # as in the names of metrics
            if name in named:
                raise ValueError(
                    f"{named[name]!r} and {rate!r} would both be reported as {name}; keep one of them"
                )
            named[name] = rate
        return rates
