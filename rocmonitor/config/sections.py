"""The parts of a monitor in rocmonitor.yaml as frozen models; each checks what can be checked within it."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rocmonitor.config.values import Column, Duration, FiniteFloat, Rate, Section, WallTime, WindowLength
from rocmonitor.errors import quoted
from rocmonitor.policy.status import Alarm
from rocmonitor.policy.windows import Length, mean_length
from rocmonitor.stats.ends import PER_UNIT, Grid


class Model(Section):
    """The model: aliases of MLflow's registry, looked up on every tick, or versions by name, or none."""

    name: str = Field(min_length=1)
    champion: str | None = None
    challenger: str | None = None
    version: int | str | None = None
    challenger_version: int | str | None = None

    @field_validator("version", "challenger_version", mode="before")
    @classmethod
    def _no_switch(cls, version: object) -> object:
        if isinstance(version, bool):  # would be read as 1 or 0
            raise ValueError(f"must be a number or a text; it is {quoted(version)} (write it in quotes)")
        return version

    @model_validator(mode="after")
    def _alias_or_version(self) -> Model:
        if self.champion is not None and self.version is not None:
            raise ValueError("has both champion (a registry alias) and version; keep one")
        if self.challenger is not None and self.challenger_version is not None:
            raise ValueError("has both challenger (a registry alias) and challenger_version; keep one")
        return self

    @property
    def names_champion(self) -> bool:
        """Whether the champion's version can be known."""
        return self.champion is not None or self.version is not None

    @property
    def names_challenger(self) -> bool:
        """Whether the challenger's version can be known."""
        return self.challenger is not None or self.challenger_version is not None


class Columns(Section):
    """Which column of the query holds what."""

    time: Column
    champion: Column
    label: Column
    challenger: Column | None = None
    id: Column | None = None
    labelled_at: Column | None = None
    cluster: Column | None = None

    @field_validator("cluster")
    @classmethod
    def _of_its_own(cls, cluster: str | None, info: ValidationInfo) -> str | None:
        for role in ("time", "champion", "label", "challenger", "labelled_at"):
            if cluster is not None and cluster == info.data.get(role):
                raise ValueError(
                    f"must name what rows belong to, such as a customer; {quoted(cluster)} is columns.{role}"
                )
        return cluster


class Positive(Section):
    """How labels and scores are to be read."""

    label: bool | int | float | str = 1
    negative: bool | int | float | str | None = None
    scores: Literal["higher", "lower"] = "higher"

    @property
    def low_is_positive(self) -> bool:
        """Whether low scores are the positive ones."""
        return self.scores == "lower"

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
    """How time is cut and when labels are there."""

    rows: int | None = Field(default=None, ge=1)
    every: WindowLength = Field(default=None, validate_default=True)  # see _a_day
    pool: int | None = Field(default=None, ge=2, le=1000)
    label_delay: Duration = timedelta()
    min_labelled: float | None = Field(default=None, gt=0, le=1)
    revise_for: Duration | None = None
    align: WallTime | None = None
    start: WallTime | None = None
    end: WallTime | None = None

    @field_validator("rows", "pool", mode="before")
    @classmethod
    def _no_switch(cls, number: object) -> object:
        if isinstance(number, bool):  # would be read as 1 or 0
            raise ValueError(f"must be a whole number such as 5000 rows or 4 windows; it is {quoted(number)}")
        return number

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
        """How long a window of the calendar is on average: the shortest, where windows are joined."""
        return mean_length(self.every)


class Condense(Section):
    """How scores are cut into cells where a source condenses them."""

    scale: Literal["logit", "linear"] = "logit"
    per_unit: float = Field(default=PER_UNIT, gt=0, le=1_000_000)
    max_error: float = Field(default=1e-4, gt=0, lt=0.5)

    @property
    def grid(self) -> Grid:
        """The same for every window of a monitor."""
        return Grid(self.scale, self.per_unit)


class OutlookSpec(Section):
    """The forecast of a window from its scores, before its labels."""

    after: Duration


class ReferencePeriod(Section):
    """The period that later windows are compared with."""

    start: WallTime = Field(alias="from")
    end: WallTime = Field(alias="to")
    windows: int | None = Field(default=None, ge=1)

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
    """Where on the curve to report."""

    fpr: tuple[Rate, ...] = (0.01, 0.05, 0.1)
    thresholds: tuple[FiniteFloat, ...] = ()
    cost: tuple[CostPoint, ...] = ()
    flagged_shares: tuple[Rate, ...] = ()

    @field_validator("cost")
    @classmethod
    def _a_name_each(cls, cost: tuple[CostPoint, ...]) -> tuple[CostPoint, ...]:
        named: dict[str, float] = {}
        for point in cost:
            name = f"{point.w:g}"  # of the metrics
            if name in named:
                raise ValueError(
                    f"w {named[name]!r} and w {point.w!r} would both be reported as {name}; keep one of them"
                )
            named[name] = point.w
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
        """The same, as the status machine takes it."""
        return Alarm(
            after=self.after,
            of=self.of or self.after,
            recover_after=self.recover_after,
            cool_down=self.cool_down,
        )
