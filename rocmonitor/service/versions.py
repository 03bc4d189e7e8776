"""The model version behind a role: fixed in the configuration, or by alias in MLflow's registry."""

from __future__ import annotations

from typing import Literal

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import TrackingError
from rocmonitor.policy.outages import MLFLOW
from rocmonitor.service.runtime import Runtime
from rocmonitor.tracking import require_made

Role = Literal["champion", "challenger"]


def version(
    runtime: Runtime, monitor: Monitor, role: Role, *, keep: bool = True
) -> tuple[str | None, tuple[Caveat, ...]]:
    """Return the version behind a role now, and what is doubtful about it.

    An alias that MLflow cannot be asked for is what it was when it was last seen. None where the
    configuration names no version and no alias. With `keep` the store remembers what an alias stands for.

    Raises
    ------
    TrackingError: There is no such model or alias, or MLflow is down and the alias was never seen.
    """
    alias, fixed = alias_or_version(monitor, role)
    model = monitor.model.name
    if alias is None:
        unnamed = fixed is None and role == "champion"
        return fixed, (Caveat("version-not-named", model=model),) if unnamed else ()
    require_made(runtime.config.tracking_uri)
    try:
        current = runtime.tracking.version(model, alias)
    except TrackingError as error:
        # MLflow being down must not keep rows from being judged.
        remembered = store.alias(runtime.store, model, alias) if error.transient else None
        if remembered is None:
            raise
        seen, at = remembered
        doubt = Caveat("version-remembered", alias=alias, version=seen, at=f"{at:%Y-%m-%d %H:%MZ}")
        return seen, (doubt,)
    if keep:
        store.save_alias(runtime.store, model, alias, current, runtime.clock())
        store.retry_now(runtime.store, MLFLOW)  # it answers: what waits for it need not
    return current, ()


def alias_or_version(monitor: Monitor, role: Role) -> tuple[str | None, str | None]:
    """Return the alias and the fixed version that the configuration gives a role; at most one of them."""
    model = monitor.model
    alias = model.champion if role == "champion" else model.challenger
    fixed = model.version if role == "champion" else model.challenger_version
    return alias, None if alias is not None or fixed is None else str(fixed)
