"""Exit codes: what a process that ends says to the one that called it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocmonitor.errors import ConfigError, DegenerateDataError, InputError, RocmonitorError

if TYPE_CHECKING:
    from rocmonitor.service.tick import Tick

OK, USAGE, DEGRADED, INSUFFICIENT, EXTERNAL = 0, 2, 3, 4, 5
STOPPED = 143
"""Of a process that SIGTERM ended, by custom."""


def code_of_tick(tick: Tick) -> int:
    """The code of one monitor: why its tick failed, else how it stands."""
    from rocmonitor.policy.evaluation import Status

    if tick.error is not None:
        return code_of(tick.error)
    standing = set(tick.status.values())
    return (
        DEGRADED if Status.DEGRADED in standing else INSUFFICIENT if Status.INSUFFICIENT in standing else OK
    )


def code_of(error: RocmonitorError) -> int:
    """The code of an error."""
    if isinstance(error, DegenerateDataError):
        return INSUFFICIENT
    return USAGE if isinstance(error, ConfigError | InputError) else EXTERNAL


def worst(codes: list[int]) -> int:
    """The gravest of several exit codes: what is wrongly set up or blind comes before what is degraded."""
    for code in (USAGE, EXTERNAL, DEGRADED, INSUFFICIENT):
        if code in codes:
            return code
    return OK
