"""The parts of a monitor in rocmonitor.yaml as frozen models; each checks what can be checked within it."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Literal, Self

from annotated_types import Ge, Lt
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rocmonitor.config.values import (
    Column,
    Cron,
    Duration,
    FiniteFloat,
    Level,
    Rate,
    Section,
    Text,
    WallTime,
    WindowLength,
    no_switch,
    refusing_switches,
    require_own_names,
)
from rocmonitor.conventions import PER_UNIT, Correlation, Estimand, Outliers
from rocmonitor.errors import quoted
from rocmonitor.policy.review.settings import Money
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import Length, mean_length

if TYPE_CHECKING:
    from rocmonitor.stats.cells import Grid


_Version = Annotated[
    int | Text | None, refusing_switches("must be a number or a text; it is {} (write it in quotes)")
]
_size = refusing_switches("must be a whole number such as 5000 rows or 4 windows; it is {}")


class Model(Section):
    """The model: aliases of MLflow's registry, looked up on every tick, or versions by name, or none."""

    name: Text
    champion: Text | None = None
    challenger: Text | None = None
    version: _Version = None
    challenger_version: _Version = None

    @model_validator(mode="after")
    def _alias_or_version(self) -> Model:
        if self.champion is not None and self.version is not None:
            raise ValueError("has both champion (a registry alias) and version; keep one")
        if self.challenger is not None and self.challenger_version is not None:
            raise ValueError("has both challenger (a registry alias) and challenger_version; keep one")
        return self

    @property
    def names_champion(self) -> bool:
        """True if the champion's version can be known."""
        return self.champion is not None or self.version is not None

    @property
    def names_challenger(self) -> bool:
        """True if the challenger's version can be known."""
        return self.challenger is not None or self.challenger_version is not None


class Columns(Section):
    """The columns of the query by their meaning."""

    time: Column
    champion: Column
    label: Column
    challenger: Column | None = None
    id: Column | None = None
    labelled_at: Column | None = None
    cluster: Column | None = None
    explain: tuple[Column, ...] = ()

    @field_validator("cluster", "explain")
    @classmethod
    def _of_their_own(cls, named: object, info: ValidationInfo) -> object:
        columns = named if isinstance(named, tuple) else (named,)
        is_cluster = info.field_name == "cluster"  # which may be the id
        what = "what rows belong to, such as a customer" if is_cluster else "inputs or groups of cases"
        for role in ("time", "champion", "label", "challenger", "id", "labelled_at"):
            column = info.data.get(role)
            if column is not None and column in columns and not (is_cluster and role == "id"):
                raise ValueError(f"must name {what}; {quoted(column)} is columns.{role}")
        return named


class Positive(Section):
    """The meaning of labels and scores."""

    label: bool | int | float | str = 1
    negative: bool | int | float | str | None = None
    scores: Literal["higher", "lower"] = "higher"

    @property
    def low_is_positive(self) -> bool:
        """True if low scores are the positive ones."""
        return self.scores == "lower"

    @field_validator("label", "negative")
    @classmethod
    def _no_nan(cls, label: object) -> object:
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(f"must be a finite number, true, false or a text; it is {label}")
        return label

    @model_validator(mode="after")
    def _two_labels(self) -> Positive:
        if self.negative is None:
            if self.label not in (0, 1):
                raise ValueError(
                    f"negative is needed when label is {quoted(self.label)}: which value is the other class?"
                )
            object.__setattr__(self, "negative", 1 - int(self.label))
        if self.negative == self.label:
            raise ValueError(f"label and negative are both {quoted(self.label)}")
        return self


class WindowSpec(Section):
    """The length of windows, and when their labels are there."""

    rows: Annotated[int | None, Field(ge=1), _size] = None
    every: WindowLength = Field(default=None, validate_default=True)  # see _a_day
    pool: Annotated[int | None, Field(ge=2, le=1000), _size] = None
    label_delay: Duration = timedelta()
    min_labelled: float | None = Field(default=None, gt=0, le=1)
    revise_for: Duration | None = None
    align: WallTime | None = None
    start: WallTime | None = None
    end: WallTime | None = None

    @field_validator("every", mode="before")
    @classmethod
    def _a_day(cls, every: object, info: ValidationInfo) -> object:
        """Windows by rows are cut at the ends of days, unless something else is said."""
        if every is not None:
            return every
        if info.data.get("rows", 0) is None:  # 0: it is there, and wrong
            raise PydanticCustomError("missing", "Field required")
        return "1d"

    @field_validator("pool")
    @classmethod
    def _one_end(cls, pool: int | None, info: ValidationInfo) -> int | None:
        if pool is not None and info.data.get("rows") is not None:
            raise ValueError(
                "has no meaning with rows: windows by rows go on until they have as many; keep one of them"
            )
        return pool

    @field_validator("every")
    @classmethod
    def _some_time(cls, every: Length) -> Length:
        if isinstance(every, timedelta) and every < timedelta(minutes=1):
            raise ValueError("must be at least 1m")
        return every

    @property
    def length(self) -> timedelta:
        """The mean length of a window of the calendar: of the shortest, where windows are joined."""
        return mean_length(self.every)


class Condense(Section):
    """The cells of scores where a source condenses them."""

    scale: Literal["logit", "linear"] = "logit"
    per_unit: float = Field(default=PER_UNIT, gt=0, le=1_000_000)
    max_error: float = Field(default=1e-4, gt=0, lt=0.5)

    @property
    def grid(self) -> Grid:
        """The same for every window of a monitor."""
        from rocmonitor.stats.cells import Grid  # slow to import

        return Grid(self.scale, self.per_unit)


class OutlookSpec(Section):
    """The forecast of a window from its scores, before its labels."""

    after: Duration


class ReferencePeriod(Section):
    """The period that later windows are compared with."""

    start: WallTime = Field(alias="from")
    end: WallTime = Field(alias="to")
    windows: int | None = Field(default=None, ge=1)
    without: tuple[WallTime, ...] = ()
    outliers: Outliers = "leave-out"

    @model_validator(mode="after")
    def _in_order(self) -> ReferencePeriod:
        if self.start >= self.end:
            raise ValueError(f"from ({self.start}) must come before to ({self.end})")
        return self


class CostPoint(Section):
    """An operating condition of a cost curve."""

    w: float

    @field_validator("w", mode="before")
    @classmethod
    def _share(cls, w: object) -> object:
        if isinstance(w, bool) or not isinstance(w, int | float) or not 0 <= w <= 1:
            raise ValueError(f"must be a number from 0 to 1; it is {quoted(w)}")
        return abs(w)  # -0.0 is 0


class OperatingPoints(Section):
    """The points of the curve to report."""

    fpr: tuple[Rate, ...] = (0.01, 0.05, 0.1)
    thresholds: tuple[FiniteFloat, ...] = ()
    cost: tuple[CostPoint, ...] = ()
    flagged_shares: tuple[Rate, ...] = ()

    @field_validator("cost")
    @classmethod
    def _a_name_each(cls, cost: tuple[CostPoint, ...]) -> tuple[CostPoint, ...]:
        require_own_names((point.w for point in cost), "w ")
        return cost


class AlarmPolicy(Section):
    """When a verdict becomes an alarm: see `rocmonitor.policy.status.Alarm`."""

    after: int = Field(default=1, ge=1)
    of: int | None = Field(default=None, ge=1, le=10)
    recover_after: int = Field(default=6, ge=1, le=10)
    cool_down: Duration = timedelta()

    @model_validator(mode="after")
    def _k_of_n(self) -> AlarmPolicy:
        if self.of is not None and self.of < self.after:
            raise ValueError(f"of ({self.of}) must be at least after ({self.after})")
        return self

    def policy(self) -> Alarm:
        """Return the same, as the status machine takes it."""
        return Alarm(
            after=self.after,
            of=self.of or self.after,
            recover_after=self.recover_after,
            cool_down=self.cool_down,
        )


class Reviewing(Section):
    """The review's rule and period, fixed before the first check; see `ReviewRule` and `ReviewSettings`."""

    decides: Estimand = "period"
    margin: Annotated[FiniteFloat, Ge(0), Lt(1)] = 0.0
    confidence_level: Level = 0.95
    fpr: tuple[Rate, ...] | None = None  # None: those of operating_points
    tuned_for: int = Field(default=8, ge=1)
    correlation: Correlation | None = None  # of a rule that decides about the future
    start: WallTime | None = None  # None: with the first window that was judged with the present versions
    schedule: Cron | None = None  # at which ``serve`` runs a review; None: never
    money: tuple[Annotated[Money, BeforeValidator(no_switch)], ...] = ()
    thresholds: tuple[FiniteFloat, ...] | None = None  # None: those of operating_points
    n_resamples: int = Field(default=999, ge=99)

    @model_validator(mode="before")
    @classmethod
    def _no_switches(cls, value: object) -> object:
        return no_switch(value)

    @field_validator("fpr")
    @classmethod
    def _a_name_each(cls, rates: tuple[float, ...] | None) -> tuple[float, ...] | None:
        require_own_names(rates or ())
        return rates

    @model_validator(mode="after")
    def _correlation_of_the_future(self) -> Self:
        if self.correlation is not None and self.decides == "period":
            raise ValueError(
                f"correlation: {self.correlation} needs decides: future; the average of the windows observed "
                "holds however they depend on each other: remove correlation, or write decides: future"
            )
        return self


_BIND = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
_CAST = re.compile(r"(?<![:\w\\]):(start|end|as_of)::(\w+(?: (?:with|without) time zone)?)", re.IGNORECASE)
"""PostgreSQL's cast, which SQLAlchemy does not tell from a colon in a name."""
_OTHER_BIND = re.compile(
    r"\?|%s|%\(\w+\)s|\$\d+|\$\{?(?:start|end)\b|\{\{?\s*(?:start|end)\b|@(?:start|end)\b"
)
"""Values as others write them."""
# Quotes and comments of SQL, as the standard reads a backslash in a text, and as MySQL does.
_QUOTED = tuple(
    re.compile(rf"""{text}|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
    for text in (r"'[^']*'", r"'(?:[^'\\]|\\.)*'")
)

_SIDE_EFFECTS = re.compile(
    r"""\b(
        dblink(?:_\w+)? | lo_(?:creat|create|import|export|put|from_bytea|unlink|open|truncate|truncate64) |
        lowrite | pg_read_(?:binary_)?file | pg_file_\w+ | pg_ls_\w+ | pg_terminate_backend | pg_promote |
        pg_cancel_backend | pg_reload_conf | pg_rotate_logfile\w* | pg_switch_wal | pg_notify | set_config |
        pg_logical_emit_message | pg_(?:create|drop)_\w*replication_slot | pg_(?:try_)?advisory_\w+ |
        load_file | sys_exec | sys_eval | get_lock |
        load_extension | fts3_tokenizer | (?:try_)?reflect | java_method
    )["`]?\s*\(""",
    re.IGNORECASE | re.VERBOSE,
)


def binds(query: str) -> set[str]:
    """Return the names of what the query wants bound."""
    return set(_BIND.findall(query))


def one_bounded_select(query: str) -> str:
    """Return the query without its last semicolon; refuse all but one SELECT between :start and :end."""
    query = query.strip().rstrip(";").strip()
    if not re.match(r"(select|with)\b", query, re.IGNORECASE):
        raise ValueError("must be one SELECT (or WITH … SELECT); it is only ever read from")
    # Whichever way a backslash is read, as of the next question.
    readings = [[match.span() for match in quoted.finditer(query)] for quoted in _QUOTED]
    inside = {
        bind[0]
        for bind in _BIND.finditer(query)
        if all(any(start < bind.start() < end for start, end in spans) for spans in readings)
    }
    if inside:
        raise ValueError(
            f"has {' and '.join(sorted(inside))} within quotes or a comment, where nothing can be bound; "
            "write :start, :end and :as_of outside of quotes and comments, and \\: for a colon in a text"
        )
    called = {name.lower() for quoted in _QUOTED for name in _SIDE_EFFECTS.findall(quoted.sub(_blank, query))}
    if called:  # a read-only transaction does not stop these
        raise ValueError(
            f"calls {' and '.join(sorted(called))}, which reads files, reaches out or changes something; a "
            "source is only ever read from: leave it out"
        )
    bound = binds(query)
    if cast := _CAST.search(query):
        name, kind = cast.groups()
        raise ValueError(
            f"has :{name}::{kind}, of which :{name} cannot be bound: write CAST(:{name} AS {kind})"
        )
    if (other := _OTHER_BIND.search(_QUOTED[0].sub(_blank, query))) and not {"start", "end"} <= bound:
        raise ValueError(
            f"has {other[0]}, where nothing is bound: values have names here (time >= :start AND time < :end)"
        )
    if missing := [f":{bind}" for bind in ("start", "end") if bind not in bound]:
        raise ValueError(
            f"must bound its rows by :start and :end (WHERE time >= :start AND time < :end); "
            f"{' and '.join(missing)} missing"
        )
    if unknown := sorted(bound - {"start", "end", "as_of"}):
        raise ValueError(
            f"binds :{', :'.join(unknown)}, which nothing gives a value; only :start, :end and :as_of "
            "are bound"
        )
    return query


def _blank(quoted: re.Match[str]) -> str:
    """Blank literals and comments; keep names in quotes, which may be functions."""
    return quoted[0] if quoted[0][0] in '"`' else " "


Query = Annotated[str, AfterValidator(one_bounded_select)]
