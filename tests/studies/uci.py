"""The six UCI data sets of Dugas and Gadoury (2009), appendix C, scored by logistic regression as there.

Read from the folder ``shared/data`` beside the checkout (or ROCMONITOR_STUDY_DATA). Training rows are the
first ones, after shuffling where the file is sorted by class; the others are the population that is
sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from studies.figures import Floats
from studies.outlook_real import DATA

SHUFFLE = 1


class Rows(NamedTuple):
    """One-hot features, labels, and how many rows train."""

    features: pd.DataFrame
    y: pd.Series
    train: int


class Population(NamedTuple):
    """Scores of the rows that did not train, sorted, increasing."""

    name: str
    pos: Floats
    neg: Floats


def _abalone() -> Rows:
    rows = pd.read_csv(DATA / "abalone" / "abalone.csv.gz")
    return Rows(_one_hot(rows.drop(columns=["rings", "y"])), rows["y"], 1000)


def _adult() -> Rows:
    train, test = (pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test"))
    rows = pd.concat([train, test], ignore_index=True)
    return Rows(_one_hot(rows.drop(columns=["income", "y"])), rows["y"], len(train))


def _chess() -> Rows:
    rows = pd.read_csv(DATA / "krkopt" / "krkopt.csv.gz").sample(frac=1, random_state=SHUFFLE)
    return Rows(_one_hot(rows.drop(columns=["depth_of_win", "y"]).astype(str)), rows["y"], 5000)


def _covertype() -> Rows:
    rows = pd.read_csv(DATA / "covtype" / "covtype.data.gz", header=None, dtype=np.float32)
    rows = rows[rows[54].isin([1, 2])].reset_index(drop=True)
    return Rows(rows.drop(columns=54), (rows[54] == 2).astype(int), 5000)


def _credit() -> Rows:
    """Good credit is positive here, as the counts of the paper's table 3 show."""
    rows = pd.read_csv(DATA / "german" / "german_numeric.csv.gz")
    return Rows(rows.drop(columns=["credit", "y"]), 1 - rows["y"], 500)


def _telescope() -> Rows:
    rows = pd.read_csv(DATA / "magic" / "magic04.csv.gz").sample(frac=1, random_state=SHUFFLE)
    return Rows(rows.drop(columns=["class", "y"]), rows["y"], 1000)


def _one_hot(features: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(features, drop_first=True).astype(float)


SETS: dict[str, tuple[str, Callable[[], Rows]]] = {
    "Abalone": ("abalone", _abalone),
    "Adult": ("adult", _adult),
    "Chess": ("krkopt", _chess),
    "Covertype": ("covtype", _covertype),
    "Credit": ("german", _credit),
    "Telescope": ("magic", _telescope),
}


def missing() -> list[Path]:
    """Folders of the data that are not there."""
    return [DATA / folder for folder, _ in SETS.values() if not (DATA / folder).is_dir()]


def require_data() -> None:
    """Stop with a message when a data set is not there."""
    if absent := missing():
        raise SystemExit(
            "this study needs the six UCI data sets, and these folders are not there: "
            + ", ".join(map(str, absent))
            + "; set ROCMONITOR_STUDY_DATA to the folder that holds them"
        )


@cache
def population(name: str) -> Population:
    """Scores of one data set, on the scale of the log odds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, y, train = SETS[name][1]()
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e3, max_iter=5000))
    model.fit(features[:train].to_numpy(), y[:train].to_numpy())
    score = model.decision_function(features[train:].to_numpy())
    later = y[train:].to_numpy()
    return Population(name, np.sort(score[later == 1]), np.sort(score[later == 0]))
