"""``/metrics`` for Prometheus: each monitor's newest window and last tick, the outbox, and the process.

What the store knows is read from it at every scrape, so that the numbers outlive the process.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from rocmonitor import __version__
from rocmonitor.config import Monitor
from rocmonitor.errors import StoreError, printable
from rocmonitor.policy.stops import as_shown
from rocmonitor.service.health import STORE_SECONDS, Service, StoreAnswers, look, service_health
from rocmonitor.store import Store, glance, migrate

MOST_SEGMENTS = 100
"""The number of segments of one monitor; each is a time series in every metric of windows."""

LONGEST_LABEL = 100


def registry_of(service: Service) -> CollectorRegistry:
    """Return a registry of its own: what others register in this process is not shown."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(service))
    ProcessCollector(registry=registry)
    return registry


def written(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """Return the metrics in a format that the client accepts, and its content type."""
    encoder, content_type = choose_encoder(accept)
    return encoder(registry), content_type


@dataclass(eq=False)
class _Collector(Collector):
    service: Service

    def describe(self) -> Iterable[Metric]:
        """Nothing: what is there depends on the store, and no other collector has these names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; those of the store are left out when it does not answer."""
        service = self.service
        runtime = service.runtime
        now = runtime.clock()
        yield from _process(service)
        try:
            seen, states, alarms = service.asking.within(STORE_SECONDS, lambda: _read(runtime.store, now))
        except StoreError:
            yield _one("rocmonitor_store_up", "Whether the store answers.", 0)
            return
        yield _one("rocmonitor_store_up", "Whether the store answers.", 1)
        if seen.clock is not None:
            offset = (runtime.clock() - seen.clock).total_seconds()
            yield _one(
                "rocmonitor_clock_offset_seconds", "Clock of this process ahead of the database's.", offset
            )
        monitors = runtime.config.monitors
        yield from _ticks(monitors, seen)
        yield from _windows(monitors, states, now)
        told = "Alarms that were sent, by the status they told of."
        raised = _counter("rocmonitor_alarms", told, "monitor", "status")
        for (name, status), number in sorted(alarms.items()):
            if name in monitors:
                raised.add_metric([name, status], number)
        yield raised
        yield from _outbox(seen, now)
        healthy = service_health(service, seen).healthy
        yield _one("rocmonitor_healthy", "Whether /health answers 200.", int(healthy))


def _read(kept: Store, now: datetime) -> tuple[StoreAnswers, glance.AllStates, dict[tuple[str, str], int]]:
    states = glance.AllStates(seen=glance.glances(kept, windows=1), changed=glance.last_changes(kept))
    return look(kept, now), states, glance.alarms(kept)


def _process(service: Service) -> Iterator[Metric]:
    info = GaugeMetricFamily(
        "rocmonitor_build_info", "Versions, as labels.", labels=["version", "schema", "python"]
    )
    info.add_metric([__version__, migrate.NEWEST, platform.python_version()], 1)
    yield info
    work = service.runtime.work.current()
    yield _one("rocmonitor_work_running", "Pieces of work in progress.", len(work))
    yield _one(
        "rocmonitor_work_hung",
        "Pieces of work without progress.",
        sum(piece.is_hung for piece in work),
    )
    loaded = service.loaded_at.timestamp()
    yield _one(
        "rocmonitor_config_last_reload_success_timestamp_seconds", "When the configuration was read.", loaded
    )
    yield _one(
        "rocmonitor_config_last_reload_successful",
        "0 when the last reload was refused.",
        int(service.refused is None),
    )


def _ticks(monitors: Iterable[str], seen: StoreAnswers) -> Iterator[Metric]:
    last = _gauge("rocmonitor_last_tick_timestamp_seconds", "When the last check ended.")
    due = _gauge("rocmonitor_next_tick_timestamp_seconds", "When the next check is due.")
    took = _gauge("rocmonitor_last_tick_duration_seconds", "How long the last check took.")
    failed = _gauge("rocmonitor_last_tick_failed", "Whether the last check ended in an error.")
    ticks = _counter("rocmonitor_ticks", "Checks that ended.")
    seconds = _counter("rocmonitor_tick_seconds", "Time spent in ticks.")
    failures = _counter("rocmonitor_tick_failures", "Checks that ended in an error.")
    judged = _counter("rocmonitor_windows_judged", "Evaluations of windows, of all segments and revisions.")
    for name in monitors:
        tick = seen.ticks.get(name)
        if tick is None:
            continue
        last.add_metric([name], tick.ended_at.timestamp())
        due.add_metric([name], tick.next_due.timestamp())
        took.add_metric([name], tick.seconds)
        failed.add_metric([name], int(tick.error is not None))
        ticks.add_metric([name], tick.ticks_total)
        seconds.add_metric([name], tick.seconds_total)
        failures.add_metric([name], tick.failures_total)
        judged.add_metric([name], tick.windows_total)
    yield from (last, due, took, failed, ticks, seconds, failures, judged)


def _windows(monitors: Mapping[str, Monitor], states: glance.AllStates, now: datetime) -> Iterator[Metric]:
    labels = ["monitor", "segment"]
    status = _gauge(
        "rocmonitor_status", "1 for the present status; the others are absent.", *labels, "status"
    )
    end = _gauge("rocmonitor_last_window_end_timestamp_seconds", "End of the newest window judged.", *labels)
    values = {
        "auc": _gauge("rocmonitor_auroc", "The champion's AUROC in the newest window.", *labels),
        "low": _gauge("rocmonitor_auroc_lower", "Lower bound of its confidence interval.", *labels),
        "high": _gauge("rocmonitor_auroc_upper", "Upper bound of its confidence interval.", *labels),
        "expected_low": _gauge("rocmonitor_auroc_expected_lower", "Lower end of the normal range.", *labels),
        "expected_high": _gauge("rocmonitor_auroc_expected_upper", "Upper end of the normal range.", *labels),
        "labelled_share": _gauge("rocmonitor_labelled_ratio", "Labelled rows of the newest window.", *labels),
    }
    left_out = _gauge("rocmonitor_segments_left_out", f"Segments beyond the first {MOST_SEGMENTS}.")
    for name, monitor in monitors.items():
        segments = ["", *states.segments.get(name, ())]
        left_out.add_metric([name], max(0, len(segments) - MOST_SEGMENTS))
        for segment in segments[:MOST_SEGMENTS]:
            label_values, newest = [name, label(segment)], states.seen.get((name, segment))
            seen = monitor.lapse(None if newest is None else newest.window, now)
            episode = states.episodes.get((name, segment))
            shown = as_shown(states.status(name, segment), None, (), seen, episode)
            status.add_metric([*label_values, shown.status], 1)
            if newest is None:
                continue
            end.add_metric(label_values, newest.window.end.timestamp())
            brief = newest.briefs[-1]._asdict()
            for value, family in values.items():
                if brief[value] is not None:
                    family.add_metric(label_values, brief[value])
    yield from (status, end, *values.values(), left_out)


def _outbox(seen: StoreAnswers, now: datetime) -> Iterator[Metric]:
    waiting = _gauge("rocmonitor_outbox_waiting", "Deliveries that have not arrived.", "destination")
    oldest = _gauge("rocmonitor_outbox_oldest_age_seconds", "Age of the oldest of them.", "destination")
    refused = _gauge("rocmonitor_outbox_refused", "Those that somebody must fix.", "destination")
    for destination, left in sorted(seen.undelivered.items()):
        label_values = [label(destination)]
        waiting.add_metric(label_values, left.waiting)
        oldest.add_metric(label_values, max(0.0, (now - left.oldest).total_seconds()))
        refused.add_metric(label_values, left.refused)
    yield from (waiting, oldest, refused)
    outages = _gauge("rocmonitor_outages", "What fails now: 1 while it does.", "place")
    for place in sorted({label(outage.place) for outage in seen.outages}):
        outages.add_metric([place], 1)
    yield outages


def label(value: str) -> str:
    """Return a value from outside as a label: on one line and not too long, and no two alike.

    Examples
    --------
    >>> label("region=south"), len(label("x" * 5000))
    ('region=south', 100)
    """
    shown = printable(value)
    if len(shown) <= LONGEST_LABEL:
        return shown
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{shown[: LONGEST_LABEL - 14]}… {digest}"


def _one(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, meaning, labels=labels or ("monitor",))


def _counter(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(name, meaning, labels=labels or ("monitor",))
