"""Reading the configuration again while the service runs: all of it is checked before any of it counts."""

from __future__ import annotations

import logging
from pathlib import Path

from rocmonitor import config, store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Config, Files, Heartbeat, Mlflow, Secret, Spark, Webhook
from rocmonitor.errors import ConfigError, StoreError
from rocmonitor.policy.episode import REMOVED
from rocmonitor.policy.evaluation import Status, Transition
from rocmonitor.service.leases import hold_lease
from rocmonitor.service.runtime import Runtime
from rocmonitor.store.glance import last_changes

log = logging.getLogger(__name__)

_OPEN = (Status.DEGRADED, Status.AT_RISK, Status.ERROR)


def read_again(path: Path, now: Config) -> Config:
    """Return the configuration in a file, fit to take the place of the one in use.

    Raises
    ------
    ConfigError: The file is wrong, a secret that it names cannot be read, or it changes what only a start
        can.
    """
    new = config.load(path)
    # What names secrets, each with its path in the file.
    given: list[tuple[str, Secret | Spark | Mlflow | Webhook | Heartbeat | None]] = [
        *(
            (f"sources.{name}.", source)
            for name, source in new.sources.items()
            if not isinstance(source, Files)
        ),
        *((f"channels.{name}.", channel) for name, channel in new.channels.items()),
        *(("", section) for section in (new.mlflow, new.webhook, new.heartbeat)),
    ]
    problems = []
    for where, section in given:
        try:
            if section is not None:
                section.read(new.folder)
        except ConfigError as error:
            problems.append(f"{where}{error}")
    listens = [None if known.webhook is None else known.webhook.listen for known in (now, new)]
    try:
        same = {
            "store": new.store_url == now.store_url,
            "listen": now.listen == new.listen,
            "webhook.listen": listens[0] == listens[1],
            "executor": now.executor == new.executor,
        }
    except ConfigError as error:  # where the store is cannot be read
        problems.append(str(error))
    else:
        way_out = "changes only at a start; restart the service, or leave it as it was"
        problems += [f"{key}: {way_out}" for key, is_same in same.items() if not is_same]
    if problems:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
    return new


def changed(now: Config, new: Config) -> tuple[list[str], list[str], list[str]]:
    """Return the monitors that were added, changed and removed; a change of a source changes its monitors."""
    added = [name for name in new.monitors if name not in now.monitors]
    removed = [name for name in now.monitors if name not in new.monitors]
    different = []
    for name, after in new.monitors.items():
        before = now.monitors.get(name)
        if before is None:
            continue
        if before != after or now.sources[before.source] != new.sources[after.source]:
            different.append(name)
    return added, different, removed


def end_alarms_of_removed(runtime: Runtime, before: Config | None = None) -> None:
    """End the open alarms of monitors that are no longer configured, and say so once.

    The configuration `before` names the channels of each monitor; by default all that there are are told.
    """
    try:
        for (name, segment), change in last_changes(runtime.store).items():
            if name in runtime.config.monitors or change.after not in _OPEN:
                continue
            now, monitor = runtime.clock(), None if before is None else before.monitors.get(name)
            ended = Transition(
                monitor=name,
                segment=segment,
                at=now,
                before=change.after,
                after=Status.INSUFFICIENT,
                reasons=(Caveat("monitor-removed", status=str(change.after)),),
                since=now,
            )
            channels = runtime.config.channels
            told = [channel for channel in channels if monitor is None or channel in monitor.notify]
            outbox = store.to_channels(told, {"transition": ended.to_dict()})
            with hold_lease(runtime, f"monitor:{name}") as lease:
                if lease is None:
                    continue
                declines = store.declines(runtime.store, name, segment)
                over = [decline.closed(now, REMOVED) for decline in declines if decline.is_open]
                store.save_transition(runtime.store, ended, bool(outbox), outbox, lease=lease, episodes=over)
            label = f"{name} {segment}".strip()
            log.warning("%s: no longer configured; its alarm (%s) ends", label, change.after)
    except StoreError as error:
        log.warning("open alarms of monitors that are no longer configured are not ended yet: %s", error)
