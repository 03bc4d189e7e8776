"""The part of a tick that any process can do: a window is read and judged; nothing is saved.

What is asked and what is answered are values that can be sent: no store, no lock, no secret, and of the rows
only what is kept of them. So it may be done in this process, in another or on a cluster, and again where one
was lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version as installed
from typing import Any

from rocmonitor import __version__
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.policy.arrival import Awaiting
from rocmonitor.policy.budget import Levels
from rocmonitor.policy.discoveries import allow_for_segments
from rocmonitor.policy.evaluation import Counts, Finding, Status
from rocmonitor.policy.explanation import Explanation
from rocmonitor.policy.judge import foresee, judge, no_outlook
from rocmonitor.policy.lasting import Course
from rocmonitor.policy.measure import Wanted, guaranteed
from rocmonitor.policy.missing_labels import allow_for_missing, refused
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.record import as_scored, caveats_of, negated
from rocmonitor.policy.stops import unusable
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Rule
from rocmonitor.service.counted import Reader, to_keep
from rocmonitor.sources import Batch, LabelCounts, Rows, SqlSource
from rocmonitor.stats.forecast.learning import JudgedOutlook
from rocmonitor.store import KeptCounts


def find(
    monitor: Monitor,
    rows: Rows,
    ranges: NormalRanges,
    window: Window,
    age: timedelta,
    past: Course | None = None,
    *,
    rules: Mapping[str, Rule],
) -> Finding:
    """Judge the rows of a window, some of which may wait for a label, in scores as the models gave them.

    `age` is the time from the end of the window to the instant at which labels had to be known; `past` has
    the windows before, for the rule `lasting`. The `rules` are at the levels at which they are judged.
    """
    low_is_positive, day = monitor.positive.low_is_positive, day_of(window)
    points = monitor.operating_points
    wanted = Wanted(
        fprs=points.fpr,
        thresholds={at: negated(at) if low_is_positive else at for at in points.thresholds},
        shares=points.flagged_shares,
        probability=monitor.is_probability,
    )
    finding = judge(
        rows.champion,
        rows.pair,
        rows.counts,
        scores=rows.scores,
        past=past,
        ranges=ranges,
        rules=rules,
        day=day,
        min_per_class=monitor.min_per_class,
        max_error=monitor.condense.max_error,
        wanted=wanted,
    )
    finding = allow_for_missing(
        finding,
        rows.champion,
        rows.counts,
        ranges=ranges,
        rules=rules,
        day=day,
        awaiting=Awaiting(unlabelled=rows.unlabelled, age=age, min_labelled=monitor.window.min_labelled),
        past=past,
    )
    doubt = unusable(ranges.reference, rows.counts)
    if doubt is not None:
        judged = all(verdict.kind != "data" for verdict in finding.verdicts)
        if judged and doubt.values["refused"]:
            finding = refused(finding, doubt)
        else:
            finding = replace(finding, caveats=(doubt, *finding.caveats))
    return _as_scored(finding) if low_is_positive else finding


def _as_scored(finding: Finding) -> Finding:
    tables, caveats = as_scored(finding.tables, finding.caveats)
    return replace(finding, tables=tables, caveats=caveats)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSegment:
    """The measurements of one segment of a window."""

    finding: Finding | None
    """The verdicts of the rules; None for a window that waits for its labels."""
    foreseen: Finding | None
    """The outlook from the scores, before the labels; None where none is wanted."""
    counts: Counts
    caveats: tuple[Caveat, ...]
    scored: int
    guaranteed: dict[str, dict[str, float]]
    """For the provenance of a condensed window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The measurements of a window; digest and counts are those of all rows that were read."""

    data_digest: str
    grouped: bool
    condensed: bool
    counts: Counts
    labels: LabelCounts | None
    """The counts of labels by the source; None where only its outlook was wanted."""
    seconds: float
    """The time that reading took."""
    segments: dict[str, MeasuredSegment] = field(default_factory=dict)
    """Empty where the rows are those that were judged before."""
    kept: list[KeptCounts] = field(default_factory=list)
    """The counts of its rows for the store."""
    made_with: dict[str, str]
    explain: Callable[[datetime], Explanation | None] | None = None
    """Returns the groups that made the change of all rows since an instant, where that is looked for."""

    def finding_that(self, finding: Finding) -> Judged:
        """Return the same with another finding on all rows, or what their scores say before the labels."""
        old = self.segments[""]
        new = replace(old, foreseen=finding) if old.finding is None else replace(old, finding=finding)
        return replace(self, segments=self.segments | {"": new})


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRequest:
    """A window to be read and judged, with all that its verdicts depend on; mappings are by segment."""

    monitor: Monitor
    window: Window
    as_of: datetime
    """When labels must have been known."""
    now: datetime
    judges: bool
    """True if it is judged; else only its outlook is wanted."""
    labels: LabelCounts | None
    """The counts of labels by the source, for a window that is judged, where it was asked before."""
    ranges: Mapping[str, NormalRanges]
    absent: NormalRanges
    """The ranges of a segment without a reference."""
    levels: Levels
    courses: Mapping[str, Course]
    """The windows before it, where a rule reads them."""
    foresees: bool
    """True if an outlook is wanted."""
    has_outlook: frozenset[str]
    """Segments that have one."""
    since: Mapping[str, Sequence[JudgedOutlook]] = field(default_factory=dict)
    """The earlier outlooks with the AUROC that came, by segment."""
    stored: Sequence[KeptCounts] = ()
    """The counts of its rows in the store."""
    keeps_counts: bool = True
    """True if the store keeps its counts."""
    judged_as: str | None = None
    """The digest of its rows when it was judged; while they are the same, there is nothing to do."""
    read: Batch | None = None
    """Its rows, where they were read with those of other windows."""

    @property
    def size(self) -> int:
        """The number of statements to wait for."""
        return 2 if self.judges and self.labels is None else 1

    def run(self, source: SqlSource, on_step: Callable[[str], None]) -> Judged:
        """Read the window and judge it; `on_step` is called while rows arrive."""
        began = time.monotonic()
        batch, labels = self._read(source, lambda _: on_step(""))
        seconds, same = time.monotonic() - began, batch.digest == self.judged_as
        keeps = self.keeps_counts and self.judges and not same
        return Judged(
            data_digest=batch.digest,
            grouped=batch.grouped,
            condensed=batch.condensed,
            counts=batch.segments[""].counts,
            labels=labels,
            seconds=seconds,
            segments={} if same else self._seen(batch),
            kept=to_keep(self.monitor, self.window, batch, labels, self.now) if keeps else [],
            made_with=made_with(),
        )

    def _read(self, source: SqlSource, on_rows: Callable[[int], None]) -> tuple[Batch, LabelCounts | None]:
        if self.read is not None:
            return self.read, self.read.labels
        reader = Reader({self.window: self.stored}, self.monitor, source)
        if self.judges and self.labels is None:
            return reader.read_and_count(self.window, as_of=self.as_of, on_rows=on_rows)
        changed = not self.stored
        return reader.read(
            self.window,
            as_of=self.as_of,
            labels=self.labels,
            changed=changed,
            compared=self.judges,
            on_rows=on_rows,
        ), self.labels

    def _seen(self, batch: Batch) -> dict[str, MeasuredSegment]:
        """Return each segment; one of the reference without rows now is no_outlook, not absent."""
        none = Rows.none(paired=self.monitor.columns.challenger is not None)
        segments = {
            segment: (batch.segments.get(segment) or none, self.ranges.get(segment, self.absent))
            for segment in sorted({*batch.segments, *self.ranges})
        }
        findings = self._findings(segments) if self.judges else {}
        return {
            segment: MeasuredSegment(
                finding=findings.get(segment),
                foreseen=self._foreseen(segment, rows, ranges),
                counts=rows.counts,
                caveats=caveats_of(rows),
                scored=rows.scored,
                guaranteed=guaranteed(rows.champion),
            )
            for segment, (rows, ranges) in segments.items()
        }

    def _findings(self, segments: Mapping[str, tuple[Rows, NormalRanges]]) -> dict[str, Finding]:
        """Return what the rules find, by segment; with a budget their number is allowed for."""
        levels, age = self.levels, self.as_of - self.window.end

        def ruled(segment: str, rules: Mapping[str, Rule], ranges: NormalRanges) -> Finding:
            rows, past = segments[segment][0], self.courses.get(segment)
            return find(self.monitor, rows, ranges, self.window, age, past, rules=rules)

        def outcome(segment: str, name: str, chance: float) -> Status:
            rules = {name: levels.rules[name].at_tail(chance)}
            return ruled(segment, rules, segments[segment][1].at(rules)).outcome

        alone = {segment: ruled(segment, levels.rules, ranges) for segment, (_, ranges) in segments.items()}
        return allow_for_segments(alone, levels.rules, outcome) if levels.budgeted else alone

    def _foreseen(self, segment: str, rows: Rows, ranges: NormalRanges) -> Finding | None:
        """Return what the scores say before the labels, if an outlook is wanted, as the models gave them."""
        if not self.foresees or segment in self.has_outlook:
            return None
        doubt = unusable(ranges.reference, rows.counts)
        if doubt is not None and doubt.values["refused"]:
            finding = no_outlook(doubt)
        else:
            share = len(self.ranges.keys() - {""}) if segment else 1
            finding = foresee(
                rows.scores,
                ranges=ranges,
                rules=self.levels.for_outlook(share).rules,
                min_rows=2 * self.monitor.min_per_class,
                day=day_of(self.window),
                since=self.since.get(segment, ()),
            )
        if doubt is not None:
            finding = replace(finding, caveats=(doubt, *finding.caveats))
        return _as_scored(finding) if self.monitor.positive.low_is_positive else finding


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRequest:
    """Windows side by side, to be read by one query, by whichever process; see `SqlSource.pull_together`."""

    monitor: Monitor
    windows: Sequence[Window]
    as_of: datetime
    size: int = 1

    def run(self, source: SqlSource, on_step: Callable[[str], None]) -> list[Batch] | None:
        """Read the rows, with the columns that may explain a change; `on_step` hears of each step."""
        return source.pull_together(
            self.monitor,
            self.windows,
            as_of=self.as_of,
            explain=self.monitor.columns.explain,
            on_progress=lambda _: on_step(""),
        )


@cache
def made_with() -> dict[str, Any]:
    """Versions of the packages that results depend on; reading one takes milliseconds."""
    packages = {package: installed(package) for package in ("numpy", "scipy")}
    return {"rocmonitor": __version__, **packages}
