"""Reference windows: pulled once, reduced, and kept frozen, so that later windows meet the same yardstick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.conventions import Outliers
from rocmonitor.policy.left_out import learned
from rocmonitor.policy.record import digest_of
from rocmonitor.policy.reference import Reference, freeze, with_labels
from rocmonitor.policy.windows import Window
from rocmonitor.rules import by_name, settings_of
from rocmonitor.service.counted import InStore, Reader, Stored, to_keep
from rocmonitor.service.pieces import reference_joining, reference_windows
from rocmonitor.service.progress import Step
from rocmonitor.sources import Rows, SqlSource
from rocmonitor.stats import Sample
from rocmonitor.stats.forecast.label_history import PastWindow


def digest(monitor: Monitor) -> str:
    """Return a name of all that the reference depends on, such as query, period and rules."""
    unused = {"explain"} | ({"labelled_at"} if monitor.columns.labelled_at is None else set())
    parts: dict[str, Any] = {
        "source": monitor.source,
        "query": monitor.query,
        "columns": monitor.columns.model_dump(exclude=unused),
        "segments": monitor.segments,
        "positive": monitor.positive.model_dump(),
        "windows": [str(window) for window in monitor.reference_windows],
        "outliers": monitor.reference.outliers,
        "min_per_class": monitor.min_per_class,
        "infinite_scores": monitor.ranks_infinite,
        "rules": {
            name: settings_of(rule)
            for name, rule in by_name(monitor.rules).items()
            if rule.needs.range or rule.needs.chart
        },
    }
    if (joining := reference_joining(monitor)) is not None:
        parts["joining"] = asdict(joining)
    if monitor.cost_w:
        parts["cost_w"] = monitor.cost_w
    if monitor.columns.labelled_at is not None:
        parts["ages"] = [age.total_seconds() for age in monitor.labels.ages]
    # The default grid of ``auto`` came later than the first references.
    chosen = monitor.grouped == "condensed" or monitor.condense != type(monitor.condense)()
    if chosen and monitor.may_condense:
        parts["condense"] = monitor.condense.model_dump()
    if monitor.outlook is not None:  # earlier references have no history of scores
        parts["scores"] = True
    return digest_of(parts)


def settings_digest(monitor: Monitor) -> str:
    """Return a name of all that verdicts depend on besides the rows of windows."""
    unused = set() if monitor.operating_points.flagged_shares else {"flagged_shares"}
    parts = {
        "reference": digest(monitor),
        "rules": {name: settings_of(rule) for name, rule in by_name(monitor.rules).items()},
        "min_per_class": monitor.min_per_class,
        "operating_points": monitor.operating_points.model_dump(exclude=unused),
        "min_labelled": monitor.window.min_labelled,
        "outlook": monitor.outlook is not None,
    }
    if monitor.is_probability:
        parts["score"] = monitor.score
    return digest_of(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The reference of each segment (all rows: ``""``), and what the store is to have of its rows."""

    references: dict[str, Reference]
    counts: list[store.KeptCounts]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRequest:
    """The reference windows of a monitor, to be read and reduced, by whichever process."""

    monitor: Monitor
    now: datetime
    windows: Sequence[Window]
    stored: Stored
    """The counts of their rows in the store."""
    keeps_counts: bool
    """True if the store keeps their counts."""

    @property
    def size(self) -> int:
        """The number of windows to read."""
        return len(self.windows)

    def run(self, source: SqlSource, on_step: Callable[[str], None]) -> Built:
        """Read and reduce; `on_step` is called while rows arrive, and with each window."""
        monitor, (as_of, ages) = self.monitor, read_at(self.monitor, self.now)
        counted = Reader(self.stored, monitor, source, confirmed=False)
        segments, read = dict[str, list[tuple[Window, Rows]]](), dict[Window, int]()
        counts: list[store.KeptCounts] = []
        for number, window in enumerate(self.windows, 1):
            on_step(
                Step(
                    f"{monitor.name} reference {window.in_zone(monitor.timezone)}", number, len(self.windows)
                )
            )
            how: dict[str, Any] = {"as_of": as_of, "ages": ages, "compared": False}
            how |= {"on_rows": lambda _: on_step(""), "following": self.windows[number:]}
            if self.keeps_counts:
                batch, labels = counted.read_and_count(window, **how)
                counts += to_keep(monitor, window, batch, labels, self.now, ages)
            else:
                batch = counted.read(window, **how)
            every = batch.segments[""].counts
            read |= {} if every.truncated else {window: every.inside}
            for segment, rows in batch.segments.items():
                segments.setdefault(segment, []).append(
                    (window, replace(rows, pair=None, unlabelled_pair=None))
                )
        if source.compares_texts:
            source.require_complete(monitor, read)
        doubts = tuple(counted.caveats())
        computed = {
            segment: reference_of(monitor, parts, self.now, doubts) for segment, parts in segments.items()
        }
        return Built(references=computed, counts=counts)


def reference_of(
    monitor: Monitor, windows: Sequence[tuple[Window, Rows]], now: datetime, doubts: Sequence[Caveat] = ()
) -> Reference:
    """Return the reference that the rows of its windows make, of one segment, read as `read_at` says.

    `doubts` are about all of them.
    """
    as_of, ages = read_at(monitor, now)
    past = [
        PastWindow(
            rows.by_age or (rows.champion,), rows.unlabelled, as_of - window.end, rows.counts.unusable_share
        )
        for window, rows in windows
    ]
    samples = [(window, rows.champion) for window, rows in windows]
    return with_labels(frozen_for(monitor, samples, doubts), past, ages)


def load_or_build(
    monitor: Monitor,
    source: SqlSource,
    kept: store.Store,
    *,
    now: datetime,
    keep: bool = True,
    keep_counts: bool = True,
    on_step: Callable[[str], None] = lambda _: None,
    build: Callable[[ReferenceRequest], Built] | None = None,
) -> dict[str, Reference]:
    """Return the reference of each segment (all rows: ``""``), from the store or computed and kept there.

    It is kept only once all its labels are due, so that a frozen reference never lacks late labels. With
    ``columns.labelled_at`` it is read as of that instant, with the ages of its labels. Windows whose counts
    are in the store are not read from the source. `build` does what is asked; by default this thread does.
    """
    name = digest(monitor)
    frozen = store.reference(kept, monitor.name, name)
    if frozen:
        return {segment: Reference.from_dict(plain) for segment, plain in frozen.items()}
    windows, pieces = reference_windows(monitor, source, now, lambda: on_step(""))
    freezes, (_, ages) = keep and now >= complete_at(monitor), read_at(monitor, now)
    request = ReferenceRequest(
        monitor=monitor,
        now=now,
        windows=windows,
        stored=InStore(kept, monitor, windows, ages),
        keeps_counts=freezes and keep_counts,
    )
    built = request.run(source, on_step) if build is None else build(request)
    computed = built.references
    if pieces and computed:
        counted = [
            {
                **window.to_dict(),
                "n_pos": labels.n_pos,
                "n_neg": labels.labelled - labels.n_pos,
                "unlabelled": labels.rows - labels.labelled,
            }
            for window, labels in pieces
        ]
        computed = computed | {"": replace(computed[""], pieces=counted)}
    if freezes:
        plain = {segment: reference.to_dict() for segment, reference in computed.items()}
        store.save_reference(kept, monitor.name, name, plain, counts=built.counts)
    return computed


def read_at(monitor: Monitor, now: datetime) -> tuple[datetime, tuple[timedelta, ...]]:
    """Return the time by which labels of the reference must have been known, and the ages to read them at."""
    if monitor.columns.labelled_at is None:
        return now, ()
    return min(now, complete_at(monitor)), monitor.labels.ages


def frozen_for(
    monitor: Monitor,
    windows: Sequence[tuple[Window, Sample]],
    doubts: Sequence[Caveat] = (),
    *,
    outliers: Outliers | None = None,
) -> Reference:
    """Return the reference windows of one segment, as the monitor freezes them; `doubts` are about their
    rows, and `outliers` stand in the place of the configured ones.
    """
    reference = freeze(
        windows,
        by_name(monitor.rules),
        monitor.cost_w,
        outlooks=monitor.outlook is not None,
        max_error=monitor.condense.max_error,
        min_per_class=monitor.min_per_class,
        outliers=outliers or monitor.reference.outliers,
        zone=monitor.timezone,
    )
    return replace(reference, caveats=(*reference.caveats, *doubts))


def frozen_windows(monitor: Monitor, source: SqlSource, kept: store.Store, now: datetime) -> list[Window]:
    """Return the windows that the reference was learned from, as frozen; until then all that it has."""
    frozen = store.reference(kept, monitor.name, digest(monitor))
    if frozen and "" in frozen:
        windows = frozen[""]["windows"]
        return [Window.from_dict(window) for window in learned(windows, windows)]
    return reference_windows(monitor, source, now)[0]


def complete_at(monitor: Monitor) -> datetime:
    """When the labels of the reference are taken to be complete."""
    period, labels = monitor.reference_period, monitor.labels
    if monitor.columns.labelled_at is None:
        return labels.due_at(period)
    return period.end + labels.complete_after


def summary(monitor: Monitor, reference: Reference) -> dict[str, Any]:
    """Return the reference as an evaluation keeps it; the store has the rest once, by the digest."""
    plain = reference.to_dict()
    for large in ("cells", "history", "labels", "charts", "pieces"):
        plain.pop(large, None)
    return {**monitor.reference_period.to_dict(), "digest": digest(monitor), **plain}
