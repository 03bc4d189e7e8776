"""A first look at a table: which column is what, and windows and reference that fit its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from rocmonitor.config import Monitor
from rocmonitor.conventions import ENOUGH_WINDOWS
from rocmonitor.errors import ConfigError
from rocmonitor.service.window_lengths import FEWEST_REFERENCE, Loss, finds, loss_at_end, reason
from rocmonitor.stats import auc
from rocmonitor.wording.format import count

Role = Literal["time", "score", "label"]

FEWEST_PER_CLASS: int = Monitor.model_fields["min_per_class"].default
"""Rows of each class that a window should have."""
MOST_POOLED = 8
_REFERENCE_WINDOWS = FEWEST_REFERENCE + 1  # one of them may be insufficient
_SHOWN_BY = 10
"""Rows of each class by which a window shows its AUROC."""
_LENGTHS = {
    "1d": pd.DateOffset(days=1),
    "7d": pd.DateOffset(days=7),
    "14d": pd.DateOffset(days=14),
    "28d": pd.DateOffset(days=28),
    "1mo": pd.DateOffset(months=1),
}
_JOINED = ("1d", "7d", "1mo")  # lengths of windows that may be joined
_SURE, _FILLED, _SPARE = 0.95, 0.98, 1.5
_DAY = pd.Timedelta(days=1)
_BEGINS = pd.Timedelta(hours=1)
"""A first day whose rows begin so soon after midnight is whole."""
_SURELY = 0.01
"""Chance of a loss that is none, over a whole history."""
_STILL_WRITTEN = 60 * _DAY
"""A table with a row that is younger than this may still get labels."""

_NAMES: Mapping[str, str] = {
    "time": r"scored|predict|event|request|decision|appl|created|timestamp|time|date|_at$|_ts$",
    "score": r"champion|score|prob|pred|^p$|^p_|_p$|risk",
    "label": r"label|target|outcome|^y$|default|fraud|churn|late|click|conver|bad",
    "challenger": r"challenger|candidate|shadow|_new$|_v2$",
    "id": r"(id|uuid|guid|nummer|number)$|(^|[_\W])(key|nr|no|num)$",
}
_MOST_VALUES, _MOST_GROUPS = 50, 4
"""Values of a column that may explain a change, and such columns."""
_POSITIVE = r"1|1\.0|true|t|yes|y|ja|j|bad|default(ed)?|fraud|late|churn(ed)?|click(ed)?|pos(itive)?|si|oui"
_GERMAN_DAY, _COMMA = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}(.*)"), re.compile(r"[+-]?\d*,\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The columns of a table by their meaning."""

    time: str
    score: str
    label: str
    challenger: str | None = None
    id: str | None = None
    labelled_at: str | None = None
    decimal: str | None = None
    """The sign of decimals in text, where it is not a point; `date_format`, the form of its days."""
    date_format: str | None = None
    explain: tuple[str, ...] = ()
    """Further columns of few values, which may explain a change."""

    @property
    def columns(self) -> list[str]:
        """The columns that are there, each once."""
        names = (self.id, self.time, self.score, self.challenger, self.label, self.labelled_at, *self.explain)
        return [name for name in names if name is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Windows and reference for the rows of a table; all are whole, and their labels have had their time."""

    positive: Mapping[str, Any]
    """The section of that name."""
    every: str
    every_reason: str
    """Empty where no other length was possible."""
    pool: int | None
    label_delay: str
    delay_reason: str
    """A remark on how sure that delay is."""
    reference: tuple[str, str]
    """Its first day, and the one after its last."""
    loss: str
    """A loss at the end of the reference, or that it ends before; empty without one."""
    reference_windows: int
    later_windows: int
    fewer_class: float
    """Rows of the class with fewer, in the middle window."""
    rows: int
    positive_share: float
    auc: float
    zone_known: bool
    """True if the times have a zone."""
    ended: str | None
    """The day of the newest row, where no row has come for two windows."""
    outlook: bool
    """True if labels take longer than two windows."""


def find_roles(
    rows: pd.DataFrame,
    given: Mapping[str, str],
    *,
    choose: Callable[[str, Sequence[str]], str | None] = lambda _role, _candidates: None,
) -> Roles:
    """Return which column is what, by the values of some rows first and by the names second.

    `given` has the columns that are known, by role. `choose` is asked with a role and its candidates where
    several are as likely; None where nobody answers.

    Raises
    ------
    ConfigError: A column that is not there, no candidate for a role, or several.
    """
    _require_columns(rows, given)
    texts = {name: some_text(rows[name]) for name in rows.columns}
    formats = {name: form for name, text in texts.items() if (form := _day_format(text)) is not None}
    commas = {name for name, text in texts.items() if _COMMA.fullmatch(text)}
    taken = dict(given)

    def pick(role: Role, candidates: Sequence[str], wanted: str) -> str:
        if role not in taken:
            free = [column for column in candidates if column not in taken.values()]
            named = [column for column in free if re.search(_NAMES.get(role, "$^"), column.casefold())]
            best = named or free
            name = best[0] if len(best) == 1 else choose(role, best) if best else None
            if name is None:
                which = f"several may be: {', '.join(best)}" if best else f"no column {wanted}"
                raise ConfigError(f"which column is the {role}? {which}; name it with --{role}")
            taken[role] = name
        return taken[role]

    instants = {name: times(rows[name], formats.get(name)) for name in rows.columns}
    timed = [name for name, values in instants.items() if values is not None]
    two = [name for name in rows.columns if name not in timed and rows[name].nunique() == 2]
    label = pick("label", two, "has exactly two values")
    late = [name for name in timed if name != given.get("time") and _dates_labels(rows, name, label)]
    time = pick("time", [name for name in timed if name not in late], "holds times of scoring")
    numeric = {
        name: numbers
        for name in rows.columns
        if name not in timed
        and (numbers := _numbers(rows[name], comma=name in commas)) is not None
        and len(np.unique(numbers)) > 2
        and (not (numbers == np.round(numbers)).all() or re.search(_NAMES["score"], name.casefold()))
    }
    challengers = [name for name in numeric if re.search(_NAMES["challenger"], name.casefold())]
    own = [name for name in numeric if name not in challengers] or list(numeric)
    # Where no name says score: probabilities.
    if not (scored := [name for name in own if re.search(_NAMES["score"], name.casefold())]):
        own = [name for name in own if np.all((numeric[name] >= 0) & (numeric[name] <= 1))] or own
    score = pick("score", own, "holds scores")
    if len(rivals := [name for name in challengers or scored if name not in taken.values()]) == 1:
        taken.setdefault("challenger", rivals[0])
    if "id" not in taken and (ids := _ids(rows.drop(columns=list(taken.values())))):
        taken["id"] = ids[0]
    if "labelled_at" not in taken and len(late) == 1 and late[0] != time:
        taken["labelled_at"] = late[0]
    groups = [
        name
        for name in rows.columns
        if name not in (*taken.values(), *timed, *rivals)
        and 2 <= rows[name].nunique() <= _MOST_VALUES
        and rows.groupby(name)[label].nunique().max() > 1  # else it says the label in other words
    ]
    return Roles(
        **taken,
        decimal="," if score in commas else None,
        date_format=formats.get(time),
        explain=tuple(groups[:_MOST_GROUPS]),
    )


def _require_columns(rows: pd.DataFrame, given: Mapping[str, str]) -> None:
    for role, name in given.items():
        if name not in rows.columns:
            raise ConfigError(f"--{role}: the table has no column {name!r}; it has {', '.join(rows.columns)}")


def propose(rows: pd.DataFrame, roles: Roles, now: datetime) -> Proposal:
    """Return windows and reference that fit the rows.

    Of the lengths of which nearly all windows have enough rows of both classes, the one that finds a drop of
    0.02 soonest with few false alarms; else some that are joined. The
    reference is the first three fifths of them, twenty at least where there are so many; it ends before a
    loss, if eight are left.

    Raises
    ------
    ConfigError: Too little history, or no labels.
    """
    at, label = times(rows[roles.time], roles.date_format), rows[roles.label]
    if at is None:
        what = "the table is empty" if rows.empty else f"{roles.time} holds {_example(rows[roles.time])}"
        raise ConfigError(
            f"--time: times are needed, as a type of the database or as 2026-12-31 12:00:00; {what}. Make "
            "times of it in a view"
        )
    labelled = label.notna() & at.notna()
    positive, is_positive = _positive(label[labelled])
    if not labelled.any() or is_positive.all() or not is_positive.any():
        raise ConfigError(f"{roles.label}: labelled rows of both classes are needed, to propose windows")
    numbers = _numbers(rows[roles.score], comma=roles.decimal == ",", anyway=True)
    if numbers is None:
        raise ConfigError(f"--score: numbers are needed; {roles.score} holds {_example(rows[roles.score])}")
    score = numbers[labelled.to_numpy()]
    usable = np.isfinite(score)
    area = float(auc(is_positive.to_numpy()[usable].astype(int), score[usable]).auc)
    if area < 0.5:
        positive, area = positive | {"scores": "lower"}, 1 - area
    instant = pd.Timestamp(now)
    delay, reason, known_until = _label_delay(rows, roles, at, labelled, instant)
    until = min(known_until - delay, at.max())
    high = -score if positive.get("scores") == "lower" else score
    classes = pd.DataFrame({"at": at[labelled], "positive": is_positive, "score": high})[usable]
    classes = classes.query("at < @until")
    chosen = _windows(classes, _cuts(classes, at.min(), until), delay)
    edges, n, reference = chosen.edges, len(chosen.counts), chosen.reference
    if n < 2:
        days = (at.max() - at.min()) / pd.Timedelta(days=1)
        raise ConfigError(
            f"{roles.time}: two windows or more with labels are needed, for a reference; the rows span "
            f"{days:.0f} days, and labels take {delay.days} ({reason})"
        )
    return Proposal(
        positive=positive,
        every=chosen.every,
        every_reason=chosen.why,
        pool=chosen.pool,
        label_delay=f"{delay.days}d",
        delay_reason=reason,
        reference=(f"{edges[0]:%Y-%m-%d}", f"{edges[reference]:%Y-%m-%d}"),
        reference_windows=reference,
        loss=_loss_said(chosen.loss, edges, reference),
        later_windows=n - reference,
        fewer_class=float(np.median(chosen.counts.min(axis=1))),
        rows=len(rows),
        positive_share=float(is_positive.mean()),
        auc=area,
        zone_known=_has_zone(rows[roles.time]),
        outlook=delay > 2 * (edges[-1] - edges[-2]),
        ended=f"{at.max():%Y-%m-%d}" if at.max() + 2 * (edges[-1] - edges[-2]) < instant else None,
    )


def times(values: pd.Series[Any], form: str | None = None) -> pd.Series[Any] | None:
    """Return instants; None where the column holds none."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return pd.to_datetime(values, utc=True)
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return None
    present = values.notna()
    if not present.any() or (form is None and not re.match(r"\d{4}-\d\d", str(values[present].iloc[0]))):
        return None
    instants = pd.to_datetime(
        values.astype(str).where(present), utc=True, errors="coerce", format=form or "ISO8601"
    )
    return instants if instants.notna().sum() >= _SURE * present.sum() else None


def _example(values: pd.Series[Any]) -> str:
    present = values.dropna()
    return f"{present.iloc[0]!r}" if len(present) else "nothing"


def some_text(values: pd.Series[Any]) -> str:
    """Return the first text of a column; empty where it holds something else."""
    present = values.dropna()
    return str(present.iloc[0]).strip() if len(present) and isinstance(present.iloc[0], str) else ""


def _day_format(text: str) -> str | None:
    """Return how a text such as 31.12.2026 says a day and a time."""
    match = _GERMAN_DAY.fullmatch(text)
    if match is None:
        return None
    clock = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}.get(match[1].count(":"), "")
    return f"%d.%m.%Y{clock}"


def _numbers(values: pd.Series[Any], *, comma: bool = False, anyway: bool = False) -> Any:
    if pd.api.types.is_bool_dtype(values):
        return None
    text = values.astype(str).str.replace(",", ".") if comma else values
    parsed = pd.to_numeric(text.where(values.notna()), errors="coerce")
    if not anyway and parsed.notna().sum() < max(1, _SURE * values.notna().sum()):
        return None
    numbers = parsed.to_numpy(dtype=float, na_value=np.nan)
    return numbers if anyway else numbers[np.isfinite(numbers)]


def _dates_labels(rows: pd.DataFrame, name: str, label: str) -> bool:
    """Return True if a time is there when the label is: it says when the label became known."""
    there, labelled = rows[name].notna(), rows[label].notna()
    if labelled.all():
        return bool(re.search(r"label|outcome|known|arriv|resolved|matur", name.casefold()))
    return bool(there[labelled].mean() >= _SURE and there[~labelled].mean() <= 1 - _SURE)


def _positive(labels: pd.Series[Any]) -> tuple[dict[str, Any], pd.Series[Any]]:
    values = list(labels.value_counts().index)  # the rarer one last
    if len(values) != 2:
        named = ", ".join(map(repr, map(_plain, values[:4]))) + (", …" if len(values) > 4 else "")
        raise ConfigError(
            f"{labels.name}: two values are needed, not {len(values)} ({named}); name another column with "
            "--label, or a view that has two of them with --table"
        )
    fitting = [value for value in values if re.fullmatch(_POSITIVE, str(value).strip().casefold())]
    chosen = fitting[0] if len(fitting) == 1 else values[-1]
    other = values[0] if chosen == values[1] else values[1]
    plain = {_plain(chosen), _plain(other)} == {0, 1}
    section = {"label": _plain(chosen)} if plain else {"label": _plain(chosen), "negative": _plain(other)}
    return section, labels == chosen


def _plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        number = float(value)
    except ValueError:
        return str(value)
    return int(number) if number.is_integer() else number


def _ids(rows: pd.DataFrame) -> list[str]:
    """Return the columns that name their rows: a value each, none twice, no measurement."""
    named = {name: rows[name] for name in rows.columns if re.search(_NAMES["id"], name.casefold())}
    return [
        name
        for name, values in named.items()
        if values.notna().all()
        and values.is_unique
        and not (pd.api.types.is_float_dtype(values) or pd.api.types.is_bool_dtype(values))
    ]


def _label_delay(
    rows: pd.DataFrame, roles: Roles, at: pd.Series[Any], labelled: pd.Series[Any], now: pd.Timestamp
) -> tuple[pd.Timedelta, str, pd.Timestamp]:
    """Return the time after which nearly all labels that come are there, in whole days; how sure that is; and
    the instant up to which labels are known.

    A table to which nothing was added for days may have got labels until today: then ages count from now, for
    a delay that is too long judges late, and one that is too short judges windows without their labels.
    """
    newest = at.max()
    silent = max(int((now - newest) // _DAY), 0)
    arrived = None if roles.labelled_at is None else times(rows[roles.labelled_at], roles.date_format)
    if arrived is not None:
        known_until = min(max(newest, arrived.max()), now)
        waited = (arrived - at)[labelled].dropna().dt.total_seconds() / _DAY.total_seconds()
        days = float(waited.quantile(_SURE))
        # Of younger rows only the labels that came soon are in.
        old = known_until - at[waited.index] >= pd.Timedelta(days=2 * days)
        days = float(waited[old].quantile(_SURE)) if old.any() else days
        whole = max(1, int(np.ceil(days)))
        why = f"95 % of the {len(waited):,} labels came within {count(whole, 'day')}"
        return whole * _DAY, why, known_until
    written = now - newest <= _STILL_WRITTEN
    if labelled.all():
        if not written:
            return (
                _DAY,
                "a guess: no row lacks a label, so the table does not show how long they take",
                newest,
            )
        why = f"a guess: no row lacks a label, and the newest row is {silent} days old"
        return max(silent, 1) * _DAY, why, now
    known_until = now if written else newest
    age = (known_until - at).dt.days
    shares = labelled.groupby(age).mean()  # by age in days, the newest first
    final = float(shares.iloc[len(shares) // 2 :].median())
    short = shares.index[shares < _SURE * final]
    late = [days for days in short if days <= shares.index[len(shares) // 2]]
    whole = max(1, int(max(late)) + 1) if late else max(1, int(shares.index[0]))
    why = f"the share of labelled rows is level from an age of {count(whole, 'day')} on"
    if not written:
        why += f", counted from the newest row ({newest:%Y-%m-%d}): nothing was added since"
    elif silent:
        why += f", counted from today; {max(whole - silent, 1)} if no label was added since {newest:%Y-%m-%d}"
    return whole * _DAY, why, known_until


class _Windows(NamedTuple):
    """Windows of a length: how many are joined, the rows of both classes of each, and why this length; the
    first of them that are the reference, and a loss that it holds or ends before.
    """

    every: str
    edges: Sequence[pd.Timestamp]
    counts: Any
    pool: int | None = None
    why: str = ""
    reference: int = 0
    loss: Loss | None = None


def _cuts(
    classes: pd.DataFrame, first: pd.Timestamp, until: pd.Timestamp
) -> dict[str, tuple[list[pd.Timestamp], Any]]:
    """Return the edges of windows of each length, and the rows of both classes in them."""
    made = {}
    for every, step in _LENGTHS.items():
        start = first.floor("D") if first - first.floor("D") < _BEGINS else first.ceil("D")
        if every.endswith("mo") and start.day != 1:
            start = start.normalize() + pd.offsets.MonthBegin()
        elif every.endswith("d") and every != "1d":  # calendar weeks
            start += (-start.weekday()) % 7 * _DAY
        edges = [start]
        while edges[-1] + step <= until:
            edges.append(edges[-1] + step)
        if len(edges) < 2:
            continue
        cut = pd.cut(classes["at"], pd.DatetimeIndex(edges), right=False, labels=False)
        counts = np.zeros((len(edges) - 1, 2), dtype=int)
        for number, positive in ((0, False), (1, True)):
            places = cut[classes["positive"] == positive].dropna().astype(int)
            counts[:, number] = np.bincount(places, minlength=len(edges) - 1)
        made[every] = (edges, counts)
    return made


def _windows(
    classes: pd.DataFrame, made: Mapping[str, tuple[list[pd.Timestamp], Any]], delay: timedelta
) -> _Windows:
    if not made:
        return _Windows("1d", (), np.zeros((0, 2), dtype=int))
    full = [
        every
        for every, (_, counts) in made.items()
        if len(counts) > _REFERENCE_WINDOWS and np.mean(counts.min(axis=1) >= FEWEST_PER_CLASS) >= _FILLED
    ]
    loss = _loss(classes, made)
    if full:
        sizes = {every: _reference(made[every][0], loss) for every in full}
        if loss is not None:  # rather a length whose reference ends before it
            before = [every for every in full if made[every][0][sizes[every]] <= loss.start]
            full = [every for every in before if sizes[every] >= FEWEST_REFERENCE] or before or full
        best, why = full[0], ""
        if len(full) > 1:
            computed = {
                every: finds(classes, made[every][0][: sizes[every] + 1], FEWEST_PER_CLASS) for every in full
            }
            judged = {every: one for every, one in computed.items() if one is not None}
            best = min(judged, key=lambda length: judged[length].order, default=best)
            why = reason(judged, best, delay) if judged else ""
        return _Windows(best, *made[best], why=why, reference=sizes[best], loss=loss)
    # Too few rows, or windows, for any alone: the shortest that are enough when some are joined.
    pools = {}
    made = {every: entry for every, entry in made.items() if every in _JOINED}
    for every, (_, counts) in made.items():
        pools[every] = int(np.ceil(_SPARE * FEWEST_PER_CLASS / max(1.0, np.median(counts.min(axis=1)))))
    few = [
        length
        for length in made
        if length != "1d" and pools[length] <= min(MOST_POOLED, len(made[length][1]) / 3)
    ]
    every = (few or list(made))[0 if few else -1]
    pool = next((n for n in range(pools[every], MOST_POOLED) if _enough(made[every][1], n)), MOST_POOLED)
    edges, counts = made[every]
    return _Windows(
        every, edges, counts, pool if pool > 1 else None, reference=_reference(edges, loss), loss=loss
    )


def _loss(classes: pd.DataFrame, made: Mapping[str, tuple[list[pd.Timestamp], Any]]) -> Loss | None:
    """Return a loss that began within the longest reference, from the shortest windows that show it.

    Later windows count, too: those of the reference alone do not show one that began shortly before its end.
    """
    end = max(edges[_reference(edges, None)] for edges, _ in made.values())
    shown = [edges for edges, counts in made.values() if np.mean(counts.min(axis=1) >= _SHOWN_BY) >= _FILLED]
    asked = [edges for all_ in shown for edges in ([edge for edge in all_ if edge <= end], all_)]
    losses = (loss_at_end(classes, edges, sure=_SURELY / len(asked)) for edges in asked)
    return next((loss for loss in losses if loss is not None and loss.start < end), None)


def _reference(edges: Sequence[pd.Timestamp], loss: Loss | None) -> int:
    """Return how many of the windows are the reference."""
    n = len(edges) - 1
    most = min(n, max(round(0.6 * n), _REFERENCE_WINDOWS))
    before = n if loss is None else sum(edge <= loss.start for edge in edges[1:])
    return min(before, most) if before >= ENOUGH_WINDOWS else most


def _loss_said(loss: Loss | None, edges: Sequence[pd.Timestamp], reference: int) -> str:
    if loss is None or loss.start >= edges[_reference(edges, None)]:
        return ""
    day, lower = f"{loss.start:%Y-%m-%d}", f"the AUROC is about {loss.drop:.2g} lower from then on"
    if edges[reference] <= loss.start:
        return f"Ends before {day}: {lower}."
    return f"Holds a loss since {day}: {lower}, and too few windows come before."


def _enough(counts: Any, pool: int) -> bool:
    if len(counts) < pool:
        return False
    sums = np.lib.stride_tricks.sliding_window_view(counts, pool, axis=0).sum(axis=-1)
    return bool(np.mean(sums.min(axis=1) >= FEWEST_PER_CLASS) >= _FILLED)


def _has_zone(values: pd.Series[Any]) -> bool:
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return True
    text = some_text(values)
    return bool(re.search(r"(Z|[+-]\d\d:?\d\d)$", text)) and "T" in text.replace(" ", "T")
