"""Scores from a file, for ``rocmonitor auc``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rocmonitor.errors import InputError
from rocmonitor.wording.counts import set_aside


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFile:
    """The usable rows of a file.

    Attributes
    ----------
    y_true : ndarray of bool, shape (n,)
    scores : dict of str to ndarray, shape (n,)
        By column.
    counts : dict of str to int
        ``rows``, and where they went: ``used``, ``unlabelled``, ``bad_label``, ``bad_score``.
    """

    y_true: NDArray[np.bool_]
    scores: dict[str, NDArray[np.float64]]
    counts: dict[str, int]


def read_scores(path: Path, label: str, scores: Sequence[str]) -> ScoreFile:
    """Read labels and scores from a ``.csv`` (also compressed, as ``.csv.gz``) or ``.parquet`` file.

    A row is set aside, and counted, when any of its scores is not a finite number, or its label is empty or
    neither 0 nor 1.

    Raises
    ------
    InputError
        An unknown kind of file, an unreadable one, a missing column, or no usable row.
    """
    wanted = list(dict.fromkeys([label, *scores]))
    try:
        if ".parquet" in path.suffixes:
            frame = pd.read_parquet(path)
        elif {".csv", ".tsv", ".txt"} & set(path.suffixes):
            frame = pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",", low_memory=False)
        else:
            raise InputError(f"{path}: must be a .csv, .tsv or .parquet file (a .gz of them is fine)")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read: {error}") from error
    if missing := [name for name in wanted if name not in frame.columns]:
        there = ", ".join(map(str, frame.columns[:30]))
        raise InputError(f"{path}: no column {', '.join(missing)}; there are {there}")
    labels = pd.to_numeric(frame[label], errors="coerce").to_numpy(float, na_value=np.nan)
    unlabelled = frame[label].isna().to_numpy()
    values = {
        name: pd.to_numeric(frame[name], errors="coerce").to_numpy(float, na_value=np.nan) for name in scores
    }
    good_score = np.logical_and.reduce([np.isfinite(column) for column in values.values()])
    good_label = (labels == 0) | (labels == 1)
    used = good_score & good_label
    counts = {
        "rows": len(frame),
        "used": int(used.sum()),
        "bad_score": int((~good_score).sum()),
        "unlabelled": int((good_score & unlabelled).sum()),
        "bad_label": int((good_score & ~unlabelled & ~good_label).sum()),
    }
    if not counts["used"]:
        raise InputError(f"{path}: none of {len(frame):,} rows is usable ({set_aside(counts) or 'no rows'})")
    return ScoreFile(
        y_true=labels[used] == 1,
        scores={name: column[used] for name, column in values.items()},
        counts=counts,
    )
