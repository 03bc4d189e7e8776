"""One monitor of each kind, judged by real ticks; what is hostile would show if it were not escaped."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from reviews import review
from scenario import World, week
from web.many import fill

from rocmonitor import config, store
from rocmonitor.policy.evaluation import Evaluation
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.tick import run_monitor
from rocmonitor.service.tick.outcome import save_last
from rocmonitor.web.site import Site

HOSTILE = "<script>alert(1)</script>"
REGION = f"{HOSTILE}\x1b[2J\x9b\u202e\nok"
NOW = week(29) + timedelta(days=1)
SECRET = "s3cret-of-the-warehouse"

_MONITOR = """
  {name}:
    model: {{name: '{model}', version: 7, challenger_version: 8}}
    source: here
    query: SELECT *, 0.5 + p / 20 AS chance FROM scored WHERE scored_at >= :start AND scored_at < :end
    columns: {{id: id, time: scored_at, champion: {champion}, challenger: q, label: label}}
    segments: {segments}
    window: {{every: 7d, label_delay: 2d, revise_for: 60d{start}}}{outlook}
    reference: {{from: 2026-01-05, to: 2026-05-25}}
    min_per_class: {least}
    operating_points: {{fpr: [0.1], thresholds: [0.5], cost: [{{w: 0.2}}]{shares}}}
    rules: [{scores}{{kind: forecast}}, {{kind: floor, value: 0.6}}, {{kind: drop, value: 0.02}},
      {{kind: challenger}}]
    notify: [log]{score}{owner}
"""
_PLAIN = {
    "model": "credit",
    "champion": "p",
    "segments": "[]",
    "least": 20,
    "start": "",
    "outlook": "",
    "scores": "",
    "score": "",
    "shares": "",
    "owner": "",
}
MONITORS = {
    "credit": {
        "model": f"credit {HOSTILE}",
        "segments": "[region]",
        "champion": "chance",
        "score": "\n    score: probability",
        "shares": ", flagged_shares: [0.05]",
        "owner": f"\n    owner: 'risk {HOSTILE}'\n    runbook: https://example.org/credit",
    },
    "calm": {"champion": "q"},
    "early": {"champion": "q", "outlook": "\n    outlook: {after: 1h}", "scores": "{kind: scores}, "},
    "starved": {"least": 5000},
    "broken": {"champion": "missing"},
    "unborn": {"start": ", start: 2030-01-07"},
}


def configuration(folder: Path) -> Path:
    """Where the configuration of six monitors was written."""
    monitors = "".join(
        _MONITOR.format(**{**_PLAIN, **changes}, name=name) for name, changes in MONITORS.items()
    )
    text = f"""
sources: {{here: {{url: "sqlite:///source.db", timezone: UTC}}}}
channels: {{log: {{url_file: channel.url}}}}
monitors:{monitors}"""
    (folder / "channel.url").write_text(f"json://user:{SECRET}@127.0.0.1:9/", encoding="utf-8")
    path = folder / "rocmonitor.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def judged(template: Path, folder: Path) -> Site:
    """Ticks week by week: credit degrades, calm stays ok, early is at risk, starved lacks rows …"""
    shutil.copy(template / "source.db", folder)
    here = World(folder=folder, source_url=f"sqlite:///{folder}/source.db")
    for number in range(20, 28):
        bad = number >= 26
        here.score(number, n=401, labelled=0.9)
        here.score(number, n=400, region=REGION, shift=-0.4 if bad else 1.2, labelled=0.9)
    path = configuration(folder)
    known = config.load(path)
    with store.open_store(known.store_url) as kept:
        for number in range(20, 29):
            _tick(Runtime(config=known, store=kept, clock=lambda: NOW), week(number) + timedelta(days=3))
            if number == 23:
                here.label_late(21)
        here.score(28, n=400, labelled=0.0, q=1.5)
        _tick(Runtime(config=known, store=kept, clock=lambda: NOW), NOW)
        _fail_to_deliver(kept)
        whole = replace(review(), monitor="credit")
        lease = store.acquire(kept, "review:credit", "here", NOW, timedelta(minutes=2))
        assert lease is not None
        store.save_review(kept, whole, [], lease=lease)
        store.release(kept, lease)
    return Site(path=path, clock=lambda: NOW)


def crowded(folder: Path, monitors: int, windows: int, real: Evaluation, *, metrics: bool = False) -> Site:
    """A configuration of many monitors, and their windows; the newest has what `real` has.

    With `metrics` all of them have as many as a real one.
    """
    result = real.to_dict()
    known = result.pop("metrics")
    path = configuration(folder)
    names = [f"credit-default-{number:03d}" for number in range(monitors)]
    text = path.read_text(encoding="utf-8").partition("monitors:")[0]
    text += "monitors:" + "".join(_MONITOR.format(**_PLAIN, name=name) for name in names)
    path.write_text(text, encoding="utf-8")
    with store.open_store(config.load(path).store_url) as kept:
        fill(kept, monitors, windows, result, known if metrics else {})
    return Site(path=path, clock=lambda: NOW)


def _tick(runtime: Runtime, now: datetime) -> None:
    for monitor in runtime.config.monitors.values():
        save_last(runtime, run_monitor(runtime, monitor, now=now), started_at=now, seconds=1.0)


def _fail_to_deliver(kept: store.Store) -> None:
    """MLflow was away at the first delivery."""
    first = next(each for each in store.pending(kept, NOW) if each.destination == "mlflow")
    store.mark_failed(kept, first.id, NOW, f"MLflow at http://127.0.0.1:9: refused {HOSTILE}", NOW)
