"""Arrays as notebooks have them: indexes in another order, two columns, missing values, wrong calls."""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from rocmonitor import stats
from rocmonitor.errors import DegenerateDataError, InputError, RocmonitorError
from rocmonitor.stats import (
    PairedSample,
    Sample,
    auc,
    auc_covariance,
    calibration,
    compare_auc_paired,
    expected_auc,
    forecast_interval,
    roc_band,
)
from rocmonitor.stats.nouns import decimals
from rocmonitor.stats.research import weighted_sample
from rocmonitor.stats.result import Result

N = 40
Y = pd.Series(np.repeat([0, 1], N // 2))
S = pd.Series(np.linspace(0.01, 0.99, N))
MIXED = np.random.default_rng(1).permutation(N)
OTHER = S.iloc[MIXED]
ONES = pd.Series(np.ones(N, dtype=int))


@pytest.mark.parametrize(
    "call",
    [
        lambda: auc(Y, OTHER),
        lambda: auc(Y, S, cluster=pd.Series(range(N)).iloc[MIXED]),
        lambda: auc(np.array(Y), S, cluster=pd.Series(range(N)).iloc[MIXED]),
        lambda: calibration(Y, OTHER),
        lambda: compare_auc_paired(Y, S, OTHER),
        lambda: PairedSample(Y, OTHER, S),
        lambda: auc_covariance(Y, pd.DataFrame({"a": S, "b": S}).iloc[MIXED]),
        lambda: Sample.from_counts(S, ONES, ONES.iloc[MIXED]),
        lambda: Sample.from_cells(S, OTHER, ONES, ONES),
        lambda: PairedSample.from_counts(S, S, ONES.iloc[MIXED], ONES),
        lambda: weighted_sample(Y, S, S.iloc[MIXED]),
        lambda: expected_auc(Sample(Y, S), (S, ONES.iloc[MIXED])),
    ],
)
def test_the_same_labels_in_another_order_are_refused(call) -> None:
    with pytest.raises(InputError, match="same index labels in another order"):
        call()


def test_other_labels_and_the_same_order_are_rows_by_position() -> None:
    expected = auc(np.array(Y), np.array(S)).auc
    assert (
        auc(Y, S).auc
        == auc(Y, S.set_axis(range(100, 100 + N))).auc
        == auc(Y.iloc[MIXED], OTHER).auc
        == expected
    )


def test_both_columns_of_predict_proba_are_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"take the column of the positive class, \[:, 1\]"):
        auc(Y, np.column_stack([1 - S, S]))


@pytest.mark.parametrize(
    "labels",
    [
        pd.array([True, False, None, True], dtype="boolean"),
        pd.array([1, 0, None, 1], dtype="Int64"),
        [1, 0, None, 1],
        [1.0, 0.0, float("nan"), 1.0],
        np.array([1, 0, pd.NA, 1], dtype=object),
        np.array([True, False, np.nan, True], dtype=object),
    ],
)
def test_missing_labels_are_called_missing(labels) -> None:
    with pytest.raises(InputError, match="y_true is missing in 1 of 4 rows"):
        auc(labels, [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, lambda labels: pd.Series(labels, dtype="category")]
)
def test_labels_of_two_values_are_named_by_the_positive_one(kind) -> None:
    words = kind(np.where(Y == 1, "bad", "good").tolist())
    assert auc(words, S, pos_label="bad") == auc(Y, S)
    assert compare_auc_paired(words, S, OTHER.to_numpy(), pos_label="bad") == compare_auc_paired(
        Y, S, OTHER.to_numpy()
    )
    assert auc(words, S, pos_label="good").auc == pytest.approx(1 - auc(Y, S).auc)
    with pytest.raises(InputError, match=r"pos_label must be one of two labels.*'bad', 'good': not 'late'"):
        auc(words, S, pos_label="late")


def test_a_positive_label_leaves_order_and_missing_labels_as_they_are() -> None:
    words = pd.Series(np.where(Y == 1, "bad", "good"))
    with pytest.raises(InputError, match="same index labels in another order"):
        auc(words, OTHER, pos_label="bad")
    for missing in (None, np.nan, pd.NA):
        with pytest.raises(InputError, match="y_true is missing in 1 of 3 rows"):
            auc(["bad", missing, "good"], [0.1, 0.2, 0.3], pos_label="bad")
    with pytest.raises(InputError, match="'a', 'b', 'c': not 'a' and one other"):
        auc(["a", "b", "c"], [0.1, 0.2, 0.3], pos_label="a")
    with pytest.raises(InputError, match="a sample has its positives already"):
        auc(Sample(Y, S), pos_label="bad")


def test_the_numbers_for_intervals_are_not_shown() -> None:
    shown = repr(auc(Y, OTHER.to_numpy()))
    assert shown.startswith("AucResult(auc=")
    assert not re.search("zeta|inflation|studentised", shown)
    assert auc.__doc__.startswith("Return the AUROC, the chance that a positive scores above a negative")


def test_wrong_calls_say_what_is_needed() -> None:
    with pytest.raises(InputError, match=r"takes one Sample, the reference.*windows=weeks"):
        forecast_interval(Y, S)
    with pytest.raises(InputError, match="needs rng: a seed, such as rng=1"):
        roc_band(Y, S)


def test_an_area_is_printed_with_its_interval_and_one_row_is_no_plural() -> None:
    found = auc([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.7, 0.9])
    assert f"95 % interval {found.ci():.2f} (standard error 0.19" in str(found)
    single = auc([1, 0, 0], [0.5, 0.2, 0.7], method="exact-bootstrap")
    assert "1 positive, 2 negatives" in str(single)
    with pytest.raises(DegenerateDataError, match="there are 1 positive and 2 negatives"):
        auc([1, 0, 0], [0.5, 0.2, 0.7])


def test_results_are_numbers_and_intervals_are_readable() -> None:
    y, one, other = np.array(Y), np.array(S), np.random.default_rng(2).normal(size=N)
    found = auc(y, other)
    assert float(found) == found.auc
    low, high = interval = found.ci()
    assert str(interval) == f"{low:#.4g} to {high:#.4g}"
    assert repr(interval) == f"Interval(low={low:.4g}, high={high:.4g})"
    assert low != float(f"{low:.4g}")  # all digits are kept
    compared = compare_auc_paired(y, one, other)
    assert f"95 % interval {compared.ci():+.{decimals(compared.se)}f}" in str(compared)
    assert float(compared) == compared.difference
    for interval in (calibration(y, one * 0.9).brier_ci(), calibration(y, other.clip(0.1, 0.9)).slope_ci()):
        assert len(str(interval)) < 25
    with pytest.raises(
        TypeError, match=r"RocBand has no single estimate; take one of its fields: .*fpr, tpr, low"
    ):
        float(roc_band(y, other, rng=1))


RESULTS = [kind for kind in vars(stats).values() if isinstance(kind, type) and issubclass(kind, Result)]


@pytest.mark.parametrize("kind", RESULTS, ids=lambda kind: kind.__name__)
def test_help_names_every_field_once(kind: type[Result]) -> None:
    assert kind.__doc__ is not None
    section = kind.__doc__.partition("----------\n")[2]
    told = re.findall(r"^(\w[\w, ]*)(?:: |\(|\{|$)", section.partition("\n\n")[0], flags=re.MULTILINE)
    names = [name for name in ", ".join(told).split(", ") if name not in ("shape ", "")]
    assert sorted(names) == sorted(
        {field.name for field in fields(kind) if field.name[0] != "_"} | set(names)
    )


def test_advice_is_about_rows_not_about_windows() -> None:
    with pytest.raises(DegenerateDataError, match="take more rows"):
        auc([1, 0, 0], [0.5, 0.2, 0.7])


FUNCTIONS = sorted(name for name in stats.__all__ if inspect.isfunction(getattr(stats, name)))
JUNK = [None, "x", 5, np.arange(4.0), [[0.1, 0.2], [0.3, 0.4]], {}]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_such_argument_is_refused_in_words(name: str) -> None:
    """No traceback from inside: what is accepted is fine, what is not is an InputError."""
    function = getattr(stats, name)
    parameters = inspect.signature(function).parameters.values()
    needed = [each for each in parameters if each.default is each.empty]
    named = {each.name: 10 for each in needed if each.kind is each.KEYWORD_ONLY}
    rest = [each.name for each in needed if each.kind is each.POSITIONAL_OR_KEYWORD]
    usual = [np.array(Y) if argument == "y_true" else np.array(S) for argument in rest]
    for place in range(len(rest)):
        for junk in JUNK:
            with suppress(RocmonitorError):
                function(*usual[:place], junk, *usual[place + 1 :], **named)
