"""Reads the rows of a logged dataset again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from rocmonitor import config as configuration
from rocmonitor.config import Config, Monitor
from rocmonitor.errors import ConfigError, InputError
from rocmonitor.policy.windows import Window
from rocmonitor.sources import open_source
from rocmonitor.sources.frame import read_frame

_NEEDED = ("source", "query", "columns", "start", "end")
_NOT_NEEDED_HERE = {  # required of a monitor, but rows do not depend on them
    "model": {"name": "as-logged", "version": "as-logged"},
    "window": {"every": "1d"},
    "reference": {"from": "1970-01-01", "to": "1970-01-02"},
    "rules": [{"kind": "floor", "value": 0.5}],
}


def load(logged: Mapping[str, Any], path: str | Path | None) -> pd.DataFrame:
    """See `rocmonitor.plugin.dataset.RocmonitorWindowSource.load`."""
    if missing := [key for key in _NEEDED if not logged.get(key)]:
        raise InputError(f"the dataset was logged without {' and '.join(missing)}: its rows cannot be found")
    file = Path(path or os.environ.get("ROCMONITOR_CONFIG") or "rocmonitor.yaml")
    if not file.is_file():
        raise ConfigError(
            f"{file}: there is no such file; name the configuration with the database's URL, as "
            "load(config=...) or in the environment variable ROCMONITOR_CONFIG"
        )
    config = configuration.load(file)
    if logged["source"] not in config.sources:
        defined = ", ".join(sorted(config.sources))
        raise ConfigError(
            f"{config.folder}: the rows came from the source {logged['source']!r}, which is not defined "
            f"under sources (defined: {defined}); name the configuration that has it, as load(config=...)"
        )
    monitor = _monitor(logged, config)
    frames, changed, has_digests = [], [], True
    # A review that was logged without its windows was read in one.
    parts = logged.get("windows") or [
        dict(logged) | {"digest": None if logged.get("paired") else logged.get("digest")}
    ]
    with open_source(config.sources[monitor.source], config.folder, name=monitor.source) as source:
        try:
            windows = [(Window.from_dict(part), part.get("digest")) for part in parts]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the dataset was not logged by rocmonitor: its windows: {error}") from None
        for window, digest in windows:
            frame = read_frame(
                source,
                monitor,
                window,
                segment=logged.get("segment") or "",
                paired=bool(logged.get("paired")),
                as_of=datetime.fromisoformat(logged["as_of"]) if logged.get("as_of") else None,
            )
            frames.append(frame.rows)
            has_digests = has_digests and digest is not None
            if digest is not None and digest != frame.digest:
                changed.append(str(window))
    rows = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    rows.attrs["rocmonitor"] = {
        "unchanged": False if changed else (True if has_digests else None),
        "changed": changed,
    }
    if changed:
        warnings.warn(
            f"the rows have changed since they were judged, in {len(changed)} of {len(frames)} windows: "
            f"{', '.join(changed[:5])}{', …' if len(changed) > 5 else ''}; late labels do that",
            stacklevel=3,
        )
    return rows


def _monitor(logged: Mapping[str, Any], config: Config) -> Monitor:
    """Return the parts of the monitor that rows depend on, as they were when the rows were judged."""
    name = logged.get("monitor") or "as-logged"
    now = config.monitors.get(name)
    plain: dict[str, Any] = {
        **_NOT_NEEDED_HERE,
        "name": name,
        "grouped": "raw",
        **{key: logged[key] for key in ("source", "query", "columns")},
    }
    for key in ("segments", "positive"):
        if logged.get(key) is not None:
            plain[key] = logged[key]
        elif now is not None:
            plain[key] = getattr(now, key)
    try:
        return Monitor.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"the dataset was not logged by rocmonitor: {where}: {first['msg']}") from None
