"""Reviews: champion against challenger on the rows of a period, from pinned versions to one saved result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime

from rocmonitor import store
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import InputError, RocmonitorError, SourceError, StoreError, TrackingError
from rocmonitor.policy.joining import free
from rocmonitor.policy.record import as_scored, digest_of
from rocmonitor.policy.review.comparison import Compared, compare
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.policy.review.supplementary import difference_by_episode
from rocmonitor.policy.windows import Window
from rocmonitor.service.counted import Reader
from rocmonitor.service.leases import hold_lease, renew_lease
from rocmonitor.service.pieces import closed, count, with_rows, within
from rocmonitor.service.progress import Progress, Step
from rocmonitor.service.references import frozen_windows
from rocmonitor.service.review import rows
from rocmonitor.service.review.period import (
    ROLES,
    Period,
    Versions,
    choose_period,
    pin_versions,
)
from rocmonitor.service.runtime import Runtime
from rocmonitor.service.timekeeping import believed
from rocmonitor.service.versions import alias_or_version
from rocmonitor.sources import Batch, SqlSource, open_source
from rocmonitor.wording.review import decision

__all__ = ["review_monitor"]


def review_monitor(
    runtime: Runtime,
    monitor: Monitor,
    *,
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    segment: str = "",
    dry_run: bool = False,
    progress: Progress = lambda _: None,
) -> Review:
    """Compare the champion of a monitor with its challenger, on the same rows.

    The period begins at ``review.start``, else with the first window that was judged with the present
    versions, else where the monitor begins; it ends with the last window whose labels are due. The rows of
    windows that were judged come from the store where the source says that they are the same, has none of
    them any more, or does not answer. The review and its notifications are saved together. If the store has a
    review of the same rows by the same rule, that one is returned and nothing changes.

    `start` or `end` are another period, chosen by hand: a caveat says so, and no alarm is sent. `segment`,
    ``column=value``, reviews the rows of this segment only; it counts as chosen by hand, and nothing is
    written to the model versions. With `dry_run` all is computed and nothing saved.

    Raises
    ------
    ConfigError: The configuration names no challenger, or no column with its scores.
    InputError: Champion and challenger are the same version; there is no such segment.
    DegenerateDataError: Nothing can be compared: no window is due, or fewer than 2 rows of a class were
        scored by both.
    SourceError, StoreError, TrackingError: An outside system failed, or (StoreError, transient) another
        process is reviewing the monitor.
    """
    name, spec = f"review:{monitor.name}", runtime.config.sources[monitor.source]
    with runtime.work.on(name), hold_lease(runtime, name) as lease:
        if lease is None:
            raise StoreError(
                f"another rocmonitor process is reviewing {monitor.name}; try again when it has finished"
            )
        now, _ = believed(runtime, now, keep=not dry_run)
        run = _ReviewRun(runtime, monitor, lease, segment, dry_run, progress)
        versions = pin_versions(runtime, monitor, keep=not dry_run)
        judged = {
            window: evaluated
            for (part, window), evaluated in store.evaluated(runtime.store, monitor.name).items()
            if not part
        }
        with ExitStack() as stack:
            source: SqlSource | SourceError
            try:
                source = stack.enter_context(open_source(spec, runtime.config.folder, name=monitor.source))
            except SourceError as error:  # the store may have all rows
                source = error
            counted = Reader(runtime.store, monitor.by_rows, source, confirmed=False)

            def joined(windows: Sequence[Window]) -> Sequence[Window]:
                """Return the judged ones, and what can be joined between them from those of the calendar."""
                if monitor.joining is None:
                    return windows
                opened, ended = counted.source, [window for window in windows if window.end <= now]
                if not ended:
                    return windows
                pieces = list(count(opened, monitor, free(ended, judged), now))
                return sorted([*within(judged, ended), *closed(monitor, monitor.joining, pieces, now)])

            period = choose_period(monitor, versions, judged, now, start, end, joined)
            windows = with_rows(period.windows, lambda window: run.count_rows(counted, window))
            if len(windows) < len(period.windows):  # nothing can be compared in the others
                left = Caveat("windows-without-rows", count=len(period.windows) - len(windows))
                period = replace(period, windows=windows, caveats=(*period.caveats, left))
            data = run.data(counted, period, now)
        return run.review(versions, period, data)


@dataclass(slots=True)
class _ReviewRun:
    """One review in progress: renews its lease at each step, and stops when the process is told to."""

    runtime: Runtime
    monitor: Monitor
    lease: store.Lease
    segment: str
    dry_run: bool
    progress: Progress

    def count_rows(self, source: Reader, window: Window) -> int:
        """Rows of a window of any length."""
        self._beat()
        return source.rows(window)

    def data(self, source: Reader, period: Period, now: datetime) -> rows.Data:
        """Return the rows to compare, and those on which thresholds are chosen."""
        monitor = self.monitor
        read = self._read(source, period.windows)
        segments = sorted({name for _, batch in read for name in batch.segments if name})
        if self.segment and self.segment not in segments:
            raise InputError(
                f"--segment must be one of the segments of {monitor.name}; it is {self.segment!r}, and the "
                f"rows have: {', '.join(segments) or f'none (monitors.{monitor.name}.segments is empty)'}"
            )
        read = rows.of_segment(read, self.segment)
        rows.require_both(monitor, read)
        ours = (*period.before, *period.windows)
        past = monitor.reference_windows
        if monitor.joining is not None:
            past = frozen_windows(monitor, source.source, self.runtime.store, now)
        outside = [window for window in past if not any(map(window.overlaps, ours))]
        reference = rows.of_segment(self._read(source, outside, "reference "), self.segment)
        before: rows.Read = []
        if not rows.enough(monitor, reference):
            before = rows.of_segment(self._read(source, period.before, "earlier "), self.segment)
        data = rows.divided(monitor, read, reference, before)
        return replace(data, caveats=(*data.caveats, *source.caveats()))

    def review(self, versions: Versions, period: Period, data: rows.Data) -> Review:
        """Compare, unless the store has this review; save the result with its notifications."""
        rows.require_both(self.monitor, data.compared)
        draft = self._draft(versions, period, data)
        saved = store.review_with_key(self.runtime.store, draft.key)
        if saved is not None:
            return saved
        compared = self._compare(data, draft.provenance["seed"])
        earlier = store.reviews(self.runtime.store, self.monitor.name, versions.both)
        review = self._completed(draft, compared, versions, period, data, earlier)
        if self.dry_run:
            return review
        return store.save_review(self.runtime.store, review, self._outbox(review, earlier), lease=self.lease)

    def _read(self, source: Reader, windows: Sequence[Window], kind: str = "") -> rows.Read:
        read: list[tuple[Window, Batch]] = []
        for number, window in enumerate(windows, 1):
            shown = window.in_zone(self.monitor.timezone)
            self._step(Step(f"{self.monitor.name} review: {kind}{shown}", number, len(windows)))
            batch = source.read(window, on_rows=lambda _: self._beat())
            read.append((window, replace(batch, cells=None)))  # for memory's sake
        return read

    def _compare(self, data: rows.Data, seed: int) -> Compared:
        """Return the comparison, with scores and thresholds as the models give them."""
        settings, low_is_positive = self.monitor.review_settings, self.monitor.positive.low_is_positive
        if low_is_positive:  # reading negates the scores
            thresholds = tuple(0.0 - threshold for threshold in settings.thresholds)
            settings = replace(settings, thresholds=thresholds)
        segments = sorted({name for _, batch in data.compared for name in batch.segments if name})
        compared = compare(
            [(window, rows.pair(batch)) for window, batch in data.compared],
            {name: rows.pooled(data.compared, name) for name in segments},
            settings=settings,
            setting=rows.pooled(data.setting) if data.setting else None,
            past=data.past,
            rng=seed,
            progress=self._step,
        )
        if not low_is_positive:
            return compared
        tables, caveats = as_scored(compared.tables, compared.caveats)
        return replace(compared, tables=tables, caveats=(Caveat("low-scores-positive"), *caveats))

    def _completed(
        self,
        draft: Review,
        compared: Compared,
        versions: Versions,
        period: Period,
        data: rows.Data,
        earlier: Sequence[Review],
    ) -> Review:
        counts = rows.counts(data.compared)
        more = {
            "review/windows_waiting": float(period.waiting),
            "review/champion_only": float(counts["champion_only"]),
            "review/challenger_only": float(counts["challenger_only"]),
        }
        return replace(
            draft,
            reviewed_at=self.runtime.clock(),
            decision=compared.decision,
            decided_at=None if compared.decided_in is None else compared.decided_in.end,
            comparisons=compared.comparisons,
            further_windows=compared.further_windows,
            metrics={**compared.metrics, **more},
            tables={
                "counts": [{"kind": kind, "rows": n} for kind, n in counts.items()],
                **compared.tables,
                "episodes": difference_by_episode(
                    compared.tables.get("windows", ()),
                    draft.period,
                    store.declines(self.runtime.store, self.monitor.name, self.segment),
                ),
            },
            caveats=(
                *draft.caveats,
                *self._moved_aliases(versions),
                *_changed_since(earlier, draft),
                *rows.caveats(self.monitor, data.compared),
                *compared.caveats,
            ),
        )

    def _draft(self, versions: Versions, period: Period, data: rows.Data) -> Review:
        monitor, rule = self.monitor, self.monitor.review_settings.rule
        covered = Window(data.compared[0][0].start, data.compared[-1][0].end)
        content = [monitor.name, *versions.both, str(covered), data.digest, rule.digest]
        seed = digest_of([*content, self.segment] if self.segment else content)
        return Review(
            monitor=monitor.name,
            model=monitor.model.name,
            segment=self.segment,
            champion_version=versions.champion,
            challenger_version=versions.challenger,
            period=covered,
            registered=period.registered and not self.segment,
            reviewed_at=self.runtime.clock(),
            decision=Decision.UNDECIDED,
            rule=rule.to_dict() | {"digest": rule.digest},
            provenance=rows.provenance(monitor, data) | {"seed": int(seed[:12], 16)},
            caveats=(
                *versions.doubts,
                *period.caveats,
                *([Caveat("segment-by-hand", segment=self.segment)] if self.segment else []),
                *data.caveats,
            ),
        )

    def _moved_aliases(self, versions: Versions) -> Iterator[Caveat]:
        for role, before in zip(ROLES, versions.both, strict=True):
            alias, _ = alias_or_version(self.monitor, role)
            if alias is None:
                continue
            try:
                after = self.runtime.tracking.version(self.monitor.model.name, alias)
            except TrackingError as error:
                if not versions.doubts:  # otherwise a caveat says so already
                    yield Caveat("alias-not-confirmed", alias=alias, version=before, reason=str(error))
                continue
            if after != before:
                reviewed = {"champion": versions.champion, "challenger": versions.challenger}
                yield Caveat("alias-moved", alias=alias, before=before, after=after, **reviewed)

    def _outbox(self, review: Review, earlier: Sequence[Review]) -> list[store.Outgoing]:
        """Return deliveries: to MLflow always, to the channels a decision other than the last they received.

        None yet is no news: seldom was the decision before it wrong (docs/coverage.md).
        """
        past = [one for one in earlier if one.registered]
        last = next((one for one in reversed(past) if one.decision is not Decision.UNDECIDED), None)
        before = decision(last or past[-1]) if past else None
        outbox = [store.Outgoing(destination="mlflow", payload={})]
        if review.registered and review.decision not in (Decision.UNDECIDED, last and last.decision):
            outbox += store.to_channels(self.monitor.notify, {"before": before})
        return outbox

    def _step(self, text: str) -> None:
        """Report progress and renew the lease; raise if the process is stopping."""
        if self.runtime.stop.is_set():
            raise RocmonitorError(
                f"the review of {self.monitor.name} was stopped: nothing was saved, the next starts again"
            )
        self._beat()
        self.progress(text if isinstance(text, Step) else f"{self.monitor.name} review: {text}")

    def _beat(self) -> None:
        self.lease = renew_lease(self.runtime, self.lease)


def _changed_since(earlier: Sequence[Review], draft: Review) -> Iterator[Caveat]:
    """Rule, period and rows that differ from those of earlier reviews of the same versions."""
    reviews = [review for review in earlier if review.registered]
    if not reviews or not draft.registered:
        return
    if other := [review for review in reviews if review.rule["digest"] != draft.rule["digest"]]:
        yield Caveat("rule-changed", count=len(other), last=f"{other[-1].reviewed_at:%Y-%m-%d}")
    last = reviews[-1]
    reviewed = f"{last.reviewed_at:%Y-%m-%d}"
    if last.period.start != draft.period.start:
        before, now = (f"{review.period.start:%Y-%m-%d %H:%MZ}" for review in (last, draft))
        yield Caveat("start-changed", before=before, now=now, reviewed=reviewed)
    digests = {(window["start"], window["end"]): window["digest"] for window in draft.provenance["windows"]}
    earlier_windows = (
        (window["start"], window["end"], window["digest"]) for window in last.provenance.get("windows", ())
    )
    if changed := sum(digests.get((start, end), digest) != digest for start, end, digest in earlier_windows):
        yield Caveat("rows-changed", count=changed, reviewed=reviewed)
