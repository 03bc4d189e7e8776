"""A review: champion against challenger on the rows of a period, from pinned versions to one saved result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.errors import RocmonitorError, StoreError, TrackingError
from rocmonitor.policy.review.comparison import compare
from rocmonitor.policy.review.document import Decision, Review
from rocmonitor.policy.windows import Window
from rocmonitor.service.review import negated, rows
from rocmonitor.service.review.period import ROLES, Chosen, Pinned, chosen, pinned
from rocmonitor.service.runtime import Progress, Runtime, hold_lease, renew_lease
from rocmonitor.service.versions import alias_or_version
from rocmonitor.sources import Batch, SqlSource, open_source

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
    versions, else where the monitor does; it ends with the last window whose labels are due. The review and
    what is to be told of it are saved together. The same rows by the same rule give the review that is there
    already, and nothing changes.

    Parameters
    ----------
    runtime : Runtime
    monitor : Monitor
    now : datetime
        Which windows are due is decided at this instant.
    start, end : datetime, optional
        Another period, chosen by hand; one end alone, too. The review says so, and nobody is alarmed.
    segment : str
        ``column=value``: review the rows of this segment alone. Chosen by hand likewise, and not told to the
        model versions.
    dry_run : bool
        Compute everything, keep nothing.
    progress : callable
        Told in words how far the work is.

    Returns
    -------
    Review

    Raises
    ------
    ConfigError
        The configuration names no challenger, or not where its scores are.
    InputError
        Champion and challenger are the same version; there is no such segment.
    DegenerateDataError
        Nothing can be compared: no window is due, or fewer than 2 rows of a class were scored by both.
    SourceError, StoreError, TrackingError
        An outside system failed, or (StoreError, transient) another process reviews the monitor.
    """
    with hold_lease(runtime, f"review:{monitor.name}") as lease:
        if lease is None:
            raise StoreError(
                f"another rocmonitor process reviews {monitor.name}; try again when it has finished"
            )
        work = _Work(runtime, monitor, lease, segment, dry_run, progress)
        versions = pinned(runtime, monitor, keep=not dry_run)
        judged = {
            window: found
            for (segment, window), found in store.evaluated(runtime.store, monitor.name).items()
            if not segment
        }
        period = chosen(monitor, versions, judged, now, start, end)
        with open_source(
            runtime.config.sources[monitor.source], runtime.config.folder, name=monitor.source
        ) as source:
            read = work.read(source, period.windows)
            if segment:
                rows.require_segment(monitor, read, segment)
            read = work.part(read)
            rows.require_both(monitor, read)
            ours = (*period.before, *period.windows)
            outside = [each for each in monitor.reference_windows if not _overlaps(each, ours)]
            reference = work.part(work.read(source, outside, "reference "))
            enough = rows.enough(monitor, reference)
            before = [] if enough else work.part(work.read(source, period.before, "before it "))
            data = rows.divided(monitor, read, reference, before)
        return work.review(versions, period, data)


class _Work:
    """One review at work: keeps its lease, and stops where it is told to."""

    def __init__(
        self,
        runtime: Runtime,
        monitor: Monitor,
        lease: store.Lease,
        segment: str,
        dry_run: bool,
        progress: Progress,
    ) -> None:
        self.runtime, self.monitor, self.lease, self.segment = runtime, monitor, lease, segment
        self.dry_run, self.progress = dry_run, progress

    def read(self, source: SqlSource, windows: Sequence[Window], what: str = "") -> rows.Read:
        """The rows of some windows."""
        read: list[tuple[Window, Batch]] = []
        for number, window in enumerate(windows, 1):
            shown = window.in_zone(self.monitor.timezone)
            self._step(f"{what}{shown} ({number} of {len(windows)})")
            read.append((window, source.pull(self.monitor, window, on_progress=lambda _: self._beat())))
        return read

    def part(self, read: rows.Read) -> rows.Read:
        """What was read, of the segment that the review is of."""
        return rows.of_segment(read, self.segment) if self.segment else read

    def review(self, versions: Pinned, period: Chosen, data: rows.Data) -> Review:
        """Compare, unless that has been done; save what is found, with what is to be told."""
        rows.require_both(self.monitor, data.compared)
        draft = self._draft(versions, period, data)
        done = store.review_with_key(self.runtime.store, draft.key)
        if done is not None:
            return done
        found = compare(
            [(window, rows.pair(batch)) for window, batch in data.compared],
            rows.by_segment(data.compared),
            settings=negated.settings(self.monitor),
            setting=rows.pooled(data.setting) if data.setting else None,
            past=data.past,
            rng=draft.provenance["seed"],
            progress=self._step,
        )
        counts = rows.counts(data.compared)
        earlier = store.reviews(self.runtime.store, self.monitor.name, versions.versions)
        one_only = {
            f"review/{role}_only": float(row["rows"]) for role, row in zip(ROLES, counts[2:4], strict=True)
        }
        review = replace(
            draft,
            reviewed_at=self.runtime.clock(),
            decision=found.decision,
            decided_at=None if found.decided_in is None else found.decided_in.end,
            summary=found.summary,
            advice=found.advice,
            metrics={**found.metrics, **one_only, "review/windows_waiting": float(period.waiting)},
            tables={"counts": counts, **negated.back(self.monitor, found.tables)},
            caveats=(
                *draft.caveats,
                *self._moved(versions),
                *_changed_since(earlier, draft),
                *rows.caveats(self.monitor, data.compared),
                *negated.caveats(self.monitor),
                *found.caveats,
            ),
        )
        if self.dry_run:
            return review
        return store.save_review(self.runtime.store, review, self._told(review, earlier), lease=self.lease)

    def _draft(self, versions: Pinned, period: Chosen, data: rows.Data) -> Review:
        """The review as far as it is known before anything is compared."""
        monitor, rule = self.monitor, self.monitor.review_settings.rule
        covered = Window(data.compared[0][0].start, data.compared[-1][0].end)
        content = [monitor.name, *versions.versions, str(covered), data.digest, rule.digest]
        seed = rows.digest_of([*content, self.segment] if self.segment else content)
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
            summary="",
            advice="",
            rule=rule.to_dict() | {"digest": rule.digest},
            provenance=rows.provenance(monitor, data) | {"seed": int(seed[:12], 16)},
            caveats=(*versions.doubts, *period.caveats, *self._by_hand(), *data.caveats),
        )

    def _by_hand(self) -> Iterator[str]:
        if self.segment:
            yield (
                f"this is {self.segment} alone, chosen by hand: of several segments looked at so, one may "
                "seem to differ by chance; the model versions are not told"
            )

    def _moved(self, versions: Pinned) -> Iterator[str]:
        """What is to be said of aliases that are no longer what they were when the review began."""
        for role, before in zip(ROLES, versions.versions, strict=True):
            alias, _ = alias_or_version(self.monitor, role)
            if alias is None:
                continue
            try:
                after = self.runtime.tracking.version(self.monitor.model.name, alias)
            except TrackingError as error:
                if not versions.doubts:  # else it is said already
                    yield f"whether {alias} still is version {before} could not be asked at the end: {error}"
                continue
            if after != before:
                yield (
                    f"{alias} moved from version {before} to {after} while this was computed; the review is "
                    f"of {versions.champion} and {versions.challenger}"
                )

    def _told(self, review: Review, earlier: Sequence[Review]) -> list[store.Outgoing]:
        """To MLflow always; to the channels when the decision is not the one they know of."""
        known = next((each.decision for each in reversed(earlier) if each.registered), Decision.UNDECIDED)
        outbox = [store.Outgoing(destination="mlflow", payload={})]
        if review.registered and review.decision is not known:
            outbox += [
                store.Outgoing(destination=f"channel:{channel}", payload={"before": str(known)})
                for channel in self.monitor.notify
            ]
        return outbox

    def _step(self, text: str) -> None:
        """Tell how far the work is, keep the lease, and heed a stop."""
        if self.runtime.stop.is_set():
            raise RocmonitorError(
                f"the review of {self.monitor.name} was stopped: nothing of it is kept, the next begins anew"
            )
        self._beat()
        self.progress(f"{self.monitor.name} review: {text}")

    def _beat(self) -> None:
        self.lease = renew_lease(self.runtime, self.lease)


def _changed_since(earlier: Sequence[Review], draft: Review) -> Iterator[str]:
    """What is no longer as it was at earlier looks of the same versions."""
    looks = [each for each in earlier if each.registered]
    if not looks or not draft.registered:
        return
    if other := [each for each in looks if each.rule["digest"] != draft.rule["digest"]]:
        yield (
            f"the rule was another at {len(other)} earlier review{'s' if len(other) > 1 else ''} of these "
            f"versions, the last of them on {other[-1].reviewed_at:%Y-%m-%d}: each rule keeps its confidence "
            "level, a choice between rules by what they show does not"
        )
    last = looks[-1]
    if last.period.start != draft.period.start:
        yield (
            f"the period began at {last.period.start:%Y-%m-%d %H:%MZ} in the review of "
            f"{last.reviewed_at:%Y-%m-%d}, and begins at {draft.period.start:%Y-%m-%d %H:%MZ} now"
        )
    now = {(each["start"], each["end"]): each["digest"] for each in draft.provenance["windows"]}
    known = ((each["start"], each["end"], each["digest"]) for each in last.provenance.get("windows", ()))
    changed = sum(now.get((start, end), digest) != digest for start, end, digest in known)
    if changed:
        yield (
            f"{changed} of the windows {'has' if changed == 1 else 'have'} other rows or labels than at the "
            f"review of {last.reviewed_at:%Y-%m-%d}"
        )


def _overlaps(window: Window, others: Sequence[Window]) -> bool:
    return any(window.start < other.end and other.start < window.end for other in others)
