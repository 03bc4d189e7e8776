"""The configuration of the evaluator, read from ``evaluator_config``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.plugin import EVALUATOR_KEYS
from rocmonitor.stats import ForecastInterval, Sample, forecast_interval

_MLFLOWS_OWN = frozenset({"col_mapping"})
_ROWS = ("labels", "scores", "windows")
_FILE = ("path", "label", "score", "window")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the evaluator: the statistics to compute.

    Attributes
    ----------
    challenger: Column of the challenger's scores.
    fpr, thresholds: Operating points to report.
    forecast: A known interval ``[low, high]``, such as that of a monitor's reference.
    reference: Rows of the past from which the calibrated forecast interval is computed: ``{"labels": [...],
        "scores": [...], "windows": [...]}``, equally long, where `windows` names the past window of each row;
        or ``{"path": "past.parquet"}`` (or .csv), with the column names ``label`` and ``score`` (by default
        those of the data) and ``window`` (by default ``window``).
    """

    challenger: str | None = None
    confidence_level: float = 0.95
    fpr: tuple[float, ...] = (0.01, 0.05, 0.1)
    thresholds: tuple[float, ...] = ()
    forecast: tuple[float, float] | None = None
    reference: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Settings:
        """Check the given values.

        Raises
        ------
        InputError: An unknown key, or a value of the wrong type.
        """
        _known("evaluator_config", config, sorted(EVALUATOR_KEYS), extra=_MLFLOWS_OWN)
        given: dict[str, Any] = {key: config[key] for key in EVALUATOR_KEYS if config.get(key) is not None}
        if not isinstance(given.get("challenger", ""), str):
            raise InputError(f"challenger must name a column; it is {given['challenger']!r}")
        if "confidence_level" in given:
            (given["confidence_level"],) = _numbers("confidence_level", [given["confidence_level"]])
        for key in ("fpr", "thresholds"):
            if key in given:
                given[key] = _points(key, given[key])
        if "forecast" in given:
            if "reference" in given:
                raise InputError("evaluator_config has both forecast and reference; keep one")
            given["forecast"] = _interval(given["forecast"])
        if "reference" in given:
            _known_reference(given["reference"])
        return cls(**given)

    def interval(self, sample: Sample, names: Mapping[str, str]) -> ForecastInterval | None:
        """Return the reference's forecast for the sample's class sizes; None without a reference.

        `names` are those of the columns ``label`` and ``score`` of the data.
        """
        if self.reference is None:
            return None
        past = self.reference if "labels" in self.reference else _from_file(self.reference, names)
        label, score, window = (np.asarray(past[key]) for key in _ROWS)
        if len({len(label), len(score), len(window)}) > 1:
            sizes = ", ".join(f"{key} {len(past[key])}" for key in _ROWS)
            raise InputError(f"reference: labels, scores and windows must be equally long; there are {sizes}")
        return forecast_interval(
            Sample(label, score),
            windows=[Sample(label[rows], score[rows]) for rows in _groups(window)],
            confidence_level=self.confidence_level,
            batch=(sample.n_pos, sample.n_neg),
        )


def _known(
    where: str, given: Mapping[str, Any], known: Sequence[str], extra: frozenset[str] = frozenset()
) -> None:
    if unknown := sorted(str(key) for key in given if key not in known and key not in extra):
        raise InputError(f"{where} has unknown keys: {', '.join(unknown)}; known are {', '.join(known)}")


def _known_reference(given: Any) -> None:
    if not isinstance(given, Mapping):
        raise InputError(
            "reference must be a dict, either of labels, scores and windows or with the path of a file; "
            f"it is of type {type(given).__name__}"
        )
    keys = _FILE if "path" in given else _ROWS
    _known("reference", given, keys)
    if "path" not in given and (missing := [key for key in _ROWS if key not in given]):
        raise InputError(
            f"reference has no {' and no '.join(missing)}; it needs labels, scores and windows (which "
            "name the past window of each row), or the path of a file"
        )


def _numbers(key: str, given: Any) -> tuple[float, ...]:
    values = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, list | tuple) or not all(
        not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value) for value in values
    ):
        raise InputError(f"{key} must hold finite numbers and nothing else; it is {given!r}")
    return tuple(map(float, values))


def _points(key: str, given: Any) -> tuple[float, ...]:
    values = _numbers(key, given)
    named: dict[str, float] = {}
    for value in values:
        if f"{value:g}" in named:
            raise InputError(
                f"{key}: {named[f'{value:g}']!r} and {value!r} have one name, {value:g}; keep one"
            )
        named[f"{value:g}"] = value
    return values


def _interval(given: Any) -> tuple[float, float]:
    values = _numbers("forecast", given)
    if len(values) != 2 or not 0 <= values[0] <= values[1] <= 1:
        raise InputError(f"forecast must be [low, high] with 0 <= low <= high <= 1; it is {given!r}")
    return values[0], values[1]


def _from_file(reference: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    path = Path(reference["path"])
    columns = {
        "labels": reference.get("label", names["label"]),
        "scores": reference.get("score", names["score"]),
        "windows": reference.get("window", "window"),
    }
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif ".csv" in path.suffixes:
            frame = pd.read_csv(path)
        else:
            raise InputError(f"reference: {path} must be a .parquet or .csv file (a .csv.gz is fine)")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"reference: {path} cannot be read: {error}") from error
    if missing := [column for column in columns.values() if column not in frame.columns]:
        there = ", ".join(map(str, frame.columns[:30]))
        raise InputError(
            f"reference: {path} has no column {', '.join(missing)}; there are {there}. "
            "Name them as label, score and window"
        )
    return {key: frame[column].to_numpy() for key, column in columns.items()}


def _groups(window: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the rows of each past window, in any order."""
    codes, _ = pd.factorize(pd.Series(window))
    if (codes < 0).any():
        raise InputError(f"reference: {(codes < 0).sum()} rows have no window; leave them out, or name it")
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])
