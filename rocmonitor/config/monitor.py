"""A monitor in rocmonitor.yaml as a frozen model: what its parts say together is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, time
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler  # pydantic 2.9 has it only there

from rocmonitor.config.sections import (
    AlarmPolicy,
    Columns,
    Condense,
    Model,
    OperatingPoints,
    OutlookSpec,
    Positive,
    Query,
    ReferencePeriod,
    Reviewing,
    WindowSpec,
    binds,
)
from rocmonitor.config.values import Column, Cron, Name, Section, Text, Zone, no_switch, written
from rocmonitor.policy.budget import YEAR, Load
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.joining import Joining
from rocmonitor.policy.label_delay import LabelDelay
from rocmonitor.policy.review.settings import ReviewRule, ReviewSettings
from rocmonitor.policy.stops import Stop
from rocmonitor.policy.windows import DAY, Calendar, Months, Window, split
from rocmonitor.rules import AnyRule, by_name

_MOST_REFERENCE_WINDOWS = 100_000

_Rule = Annotated[Annotated[AnyRule, Field(discriminator="kind")], BeforeValidator(no_switch)]


class Monitor(Section):
    """A model, its scored rows, its windows and its rules."""

    name: Name
    model: Model
    source: str
    query: Query
    columns: Columns
    segments: tuple[Column, ...] = ()
    positive: Positive = Positive()
    score: Literal["rank", "probability"] = "rank"
    infinite_scores: Literal["rank", "refuse"] = "rank"
    window: WindowSpec
    grouped: Literal["raw", "database", "condensed", "auto"] = "auto"
    condense: Condense = Condense()
    reference: ReferencePeriod
    min_per_class: int = Field(default=50, ge=2)
    min_group: int = Field(default=20, ge=2)
    operating_points: OperatingPoints = OperatingPoints()
    outlook: OutlookSpec | None = None
    rules: tuple[_Rule, ...] = Field(min_length=1)
    alarm: AlarmPolicy = AlarmPolicy()
    review: Reviewing | None = None
    schedule: Cron = "0 6 * * *"
    timezone: Zone = ZoneInfo("UTC")
    notify: tuple[str, ...] = ()
    owner: Text | None = None
    runbook: Text | None = None

    _written: frozenset[str] = PrivateAttr(default=frozenset())
    _by_rows: bool = PrivateAttr(default=False)

    @model_validator(mode="wrap")
    @classmethod
    def _levels_as_written(cls, given: Any, made: ModelWrapValidatorHandler[Monitor]) -> Monitor:
        monitor = made(given)
        rules = given.get("rules") if isinstance(given, Mapping) else None
        if isinstance(rules, list | tuple):
            keys, written_levels = ("confidence_level", "false_alarm_probability", "horizon"), set()
            for (name, rule), raw in zip(by_name(monitor.rules).items(), rules, strict=True):
                if isinstance(raw, Mapping):  # even the default counts
                    is_written = any(key in raw for key in keys)
                else:  # made in Python
                    levels = [level for level in fields(rule) if level.name in keys]  # type: ignore[arg-type]
                    is_written = any(getattr(rule, level.name) != level.default for level in levels)
                if is_written:
                    written_levels.add(name)
            monitor._written = frozenset(written_levels)
        return monitor

    @field_validator("review")
    @classmethod
    def _two_to_compare(cls, review: Reviewing | None, info: ValidationInfo) -> Reviewing | None:
        columns, model = info.data.get("columns"), info.data.get("model")
        missing = []
        if columns is not None and columns.challenger is None:
            missing.append("columns.challenger (the column with its scores)")
        if model is not None and not model.names_challenger:
            missing.append("model.challenger (a registry alias) or model.challenger_version")
        if review is not None and missing:
            raise ValueError(f"compares a challenger with the champion: set {' and '.join(missing)}")
        return review

    @model_validator(mode="after")
    def _challenger_complete(self) -> Monitor:
        named = ["model names a challenger"] if self.model.names_challenger else []
        named += [f"rules has kind {rule.kind}" for rule in self.rules if rule.needs.challenger][:1]
        if named and self.columns.challenger is None:
            raise ValueError(
                f"{' and '.join(named)}, but columns.challenger does not say where its scores are"
            )
        return self

    @model_validator(mode="after")
    def _windows_as_possible(self) -> Monitor:
        parts, period = self.reference.windows, self.reference.end - self.reference.start
        many = period / self.window.length if parts is None else parts
        if many > _MOST_REFERENCE_WINDOWS:
            raise ValueError(
                f"reference has {many:,.0f} windows, which are too many (at most "
                f"{_MOST_REFERENCE_WINDOWS:,}): let it begin later, or make window.every longer"
            )
        without = self.reference.without
        if without and self.joining is not None and parts is None:
            raise ValueError(
                "reference.without leaves out windows of the calendar, and window.rows or window.pool join "
                "them: leave the rows out in the query"
            )
        windows = self.whole_reference if without else []
        starts = [window.start.astimezone(self.timezone).replace(tzinfo=None) for window in windows]
        if unknown := [at for at in without if at not in starts]:
            listed = ", ".join(f"{at:%Y-%m-%d}" if at.time() == time() else f"{at}" for at in starts)
            raise ValueError(
                f"reference.without: no window of the reference starts at {unknown[0]}; they start at "
                f"{listed or 'no time: there is none'}"
            )
        rows, least = self.window.rows, 2 * self.min_per_class
        if rows is not None and rows < least:
            raise ValueError(
                f"window.rows ({rows:,}) leaves no room for min_per_class ({self.min_per_class:,}) of each "
                f"class: set it to {least:,} or more, many more where a class is rare, or min_per_class lower"
            )
        return self

    @model_validator(mode="after")
    def _scores_as_needed(self) -> Monitor:
        needing = [rule.kind for rule in self.rules if rule.needs.probabilities]
        if needing and not self.is_probability:
            raise ValueError(
                f"rules has kind {needing[0]}, which needs probabilities: set score: probability"
            )
        if self.is_probability and self.positive.low_is_positive:
            raise ValueError(
                "score: probability is that of the positive class, but positive.scores is lower: give "
                "1 - score in the query, and leave positive.scores out"
            )
        if self.grouped == "condensed" and self._needs_rows:
            raise ValueError(
                f"grouped: condensed joins neighbouring scores, and {self._needs_rows}: use grouped: auto or "
                "database"
            )
        return self

    @property
    def _needs_rows(self) -> str:
        """Why rows cannot be joined; empty when they can."""
        if self.columns.challenger is not None and self.columns.id is not None:
            return "columns.id with columns.challenger needs the rows that share an id"
        if self.columns.cluster is not None:
            return "columns.cluster needs the rows of each cluster"
        return "score: probability needs exact probabilities" if self.is_probability else ""

    @property
    def may_condense(self) -> bool:
        """True if windows may be read as cells of neighbouring scores."""
        return self.grouped in ("condensed", "auto") and not self._needs_rows and not self._by_rows

    @property
    def draws_rows(self) -> bool:
        """True if of windows with too many rows some are drawn at random, and the others not read."""
        return self._by_rows and self.columns.challenger is not None

    @property
    def by_rows(self) -> Monitor:
        """The same monitor as reviews compare it: read as rows, drawn where too many, never as cells."""
        grouped = "database" if self.grouped == "condensed" else self.grouped
        monitor = self.model_copy(update={"grouped": grouped})
        monitor._by_rows = True
        return monitor

    @model_validator(mode="after")
    def _outlook_when_asked(self) -> Monitor:
        names = [rule.kind for rule in self.rules if not rule.needs.labels]
        if names and self.outlook is None:
            raise ValueError(
                f"rules has kind {' and '.join(names)}, which is judged before the labels; say how long "
                "after the end of a window its rows are in, such as outlook: {after: 6h}"
            )
        delay = self.window.label_delay
        if self.outlook is not None and self.outlook.after > delay:
            raise ValueError(
                f"outlook.after ({written(self.outlook.after)}) is longer than window.label_delay "
                f"({written(delay)}): an outlook comes before the labels; shorten outlook.after"
            )
        return self

    def load(self, windows_per_year: float | None = None) -> Load:
        """Return what the monitor judges in a year, for an alarm budget.

        Without the `windows_per_year` of a monitor that joins them each piece counts as one, the most there
        can be.
        """
        most = YEAR / self.window.length
        return Load(
            monitor=self.name,
            windows_per_year=most if windows_per_year is None else min(windows_per_year, most),
            segmented=bool(self.segments),
            rules=by_name(self.rules),
            written=self._written,
        )

    @property
    def read_as(self) -> dict[str, Any]:
        """The query and its settings in plain JSON types, to read the same rows again."""
        return {
            "source": self.source,
            "query": self.query,
            "columns": self.columns.model_dump(exclude_none=True, exclude={"explain"}),
            "segments": list(self.segments),
            "positive": self.positive.model_dump(),
            "timezone": str(self.timezone),
        }

    @property
    def reads_as_of(self) -> bool:
        """True if the query asks for the instant of judging."""
        return "as_of" in binds(self.query)

    @property
    def cost_w(self) -> tuple[float, ...]:
        """Operating conditions at which the cost is reported: those of the rules, too, by name."""
        wanted = [point.w for point in self.operating_points.cost]
        wanted += [w for rule in self.rules for w in rule.needs.costs]
        return tuple({f"{w:g}": w for w in reversed(wanted)}.values())[::-1]

    @property
    def replays_labels(self) -> bool:
        """True if a window can be judged by the labels that were known at an earlier instant."""
        return self.reads_as_of or self.columns.labelled_at is not None

    @property
    def ranks_infinite(self) -> bool:
        """True if infinite scores rank at the ends; as probabilities they are none."""
        return self.infinite_scores == "rank" and not self.is_probability

    @property
    def is_probability(self) -> bool:
        """True if the champion's scores are probabilities of the positive class."""
        return self.score == "probability"

    @property
    def joining(self) -> Joining | None:
        """When windows of the calendar are joined to one that is judged; None: each is judged."""
        if self.window.rows is not None:
            return Joining(rows=self.window.rows)
        if self.window.pool is not None:
            return Joining(min_per_class=self.min_per_class, most=self.window.pool)
        return None

    @property
    def calendar(self) -> Calendar:
        """The calendar that cuts time into windows.

        Without `window.align` one starts with the judging, so that no row is left out; but months are those
        of the calendar.
        """
        every, align = self.window.every, self.window.align
        if align is None and not isinstance(every, Months):
            align = self.window.start or self.reference.end
        return Calendar(every=every, zone=self.timezone, align=align)

    @property
    def labels(self) -> LabelDelay:
        """The way labels come."""
        return LabelDelay(
            delay=self.window.label_delay,
            min_labelled=self.window.min_labelled,
            revise_for=self.window.revise_for,
            every=self.window.length,
        )

    @property
    def reference_period(self) -> Window:
        """The whole reference."""
        return Window(self._instant(self.reference.start), self._instant(self.reference.end))

    @property
    def reference_windows(self) -> list[Window]:
        """The reference in `reference.windows` equal parts, else the calendar's windows inside it.

        Those of `reference.without` are left out. Where the monitor's windows are joined, these are joined
        likewise: see `rocmonitor.service.pieces`.
        """
        zone, without = self.timezone, set(self.reference.without)
        return [
            window
            for window in self.whole_reference
            if window.start.astimezone(zone).replace(tzinfo=None) not in without
        ]

    @property
    def whole_reference(self) -> list[Window]:
        """All windows of the reference, those of `reference.without` included."""
        period = self.reference_period
        if self.reference.windows is not None:
            return split(self.reference.start, self.reference.end, self.reference.windows, self.timezone)
        return self.calendar.within(period.start, period.end)

    @property
    def start(self) -> datetime:
        """From when windows are judged: `window.start`, else the end of the reference."""
        return self._instant(self.window.start or self.reference.end)

    def outlook_at(self, window: Window) -> datetime | None:
        """When the outlook of a window is made; None without outlooks."""
        return None if self.outlook is None else window.end + self.outlook.after

    def windows(self, now: datetime, start: datetime | None = None) -> list[Window]:
        """Return the calendar's windows that have ended, oldest first; from `start` if it is given."""
        end = now if self.window.end is None else min(now, self._instant(self.window.end))
        return self.calendar.within(self.start if start is None else start, end)

    def lapse(self, last: Window | None, now: datetime) -> Stop | None:
        """Return that nothing has been judged for too long since a window, or that the watch is over.

        Two windows (joined as far as they may be), the time that labels take, the schedule and a day explain
        that no other window was evaluated.
        """
        if last is None:
            return None
        if self.window.end is not None and self.is_over(now):
            return Stop(monitor=self.name, kind="watch", start=self._instant(self.window.end), window=last)
        joined = self.window.length * (self.window.pool or 1)
        usual = last.end + 2 * max(joined, last.end - last.start) + self.window.label_delay
        if now <= usual + DAY or now <= next_fire(self.schedule, self.timezone, usual) + DAY:
            return None
        return Stop(monitor=self.name, kind="judged", start=last.end, window=last)

    def is_over(self, now: datetime) -> bool:
        """Return True if the watch has ended, and its last window is due."""
        end = self.window.end
        return end is not None and now >= self._instant(end) + self.window.label_delay

    def judges(self, window: Window) -> bool:
        """Return True if the present calendar has this window."""
        if self.joining is not None:  # what was foreseen stays a window, wherever it ends
            end = self.window.end
            return self.start <= window.start and (end is None or window.end <= self._instant(end))
        return self.windows(window.end, max(self.start, window.start)) == [window]

    @property
    def review_start(self) -> datetime | None:
        """From when windows are reviewed, where that is said."""
        start = None if self.review is None else self.review.start
        return None if start is None else self._instant(start)

    @property
    def review_settings(self) -> ReviewSettings:
        """The rule of the review of champion and challenger; without a section the default one."""
        review, points = self.review or Reviewing(), self.operating_points
        return ReviewSettings(
            rule=ReviewRule(
                decides=review.decides,
                margin=review.margin,
                confidence_level=review.confidence_level,
                fpr=points.fpr if review.fpr is None else review.fpr,
                tuned_for=review.tuned_for,
                **({} if review.correlation is None else {"correlation": review.correlation}),
            ),
            min_per_class=self.min_per_class,
            thresholds=points.thresholds if review.thresholds is None else review.thresholds,
            w=self.cost_w,
            money=review.money,
            n_resamples=review.n_resamples,
        )

    def _instant(self, wall: datetime) -> datetime:
        return wall.replace(tzinfo=self.timezone).astimezone(UTC)
