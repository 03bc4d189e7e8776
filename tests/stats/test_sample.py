import inspect
from decimal import Decimal

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import grouped_counts, paired_samples, samples

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.sample import PairedSample, Sample, on_pair, on_sample


def cells(sample):
    return list(zip(sample.score.tolist(), sample.pos.tolist(), sample.neg.tolist(), strict=True))


def rows(sample):
    y, s = oracle.expand(sample.score, sample.pos, sample.neg)
    return sorted(zip(y.tolist(), s.tolist(), strict=True))


# Sample


@given(samples())
def test_a_sample_holds_its_rows(data):
    y, s = data
    sample = Sample(y, s)
    assert rows(sample) == sorted(zip(y.tolist(), s.tolist(), strict=True))
    assert np.all(np.diff(sample.score) > 0)
    assert np.all(sample.pos + sample.neg > 0)
    assert (sample.n_pos, sample.n_neg) == (np.sum(y == 1), np.sum(y == 0))
    assert (sample.score.dtype, sample.pos.dtype, sample.neg.dtype) == (np.float64, np.int64, np.int64)


@given(grouped_counts(min_per_class=0), st.randoms(use_true_random=False))
def test_counts_are_the_rows(grouped, order):
    sample = Sample.from_counts(*grouped)
    assert cells(sample) == cells(Sample(*oracle.expand(*grouped)))
    # The same cells in another order, each split into two.
    twice = [np.concatenate([half, half]) for half in grouped]
    index = list(range(len(twice[0])))
    order.shuffle(index)
    score, pos, neg = (column[index] for column in twice)
    assert cells(Sample.from_counts(score, pos, neg)) == [(s, 2 * p, 2 * n) for s, p, n in cells(sample)]


@given(st.lists(samples(), min_size=1, max_size=4))
def test_merging_is_concatenation(parts):
    merged = Sample.merge([Sample(y, s) for y, s in parts])
    whole = Sample(np.concatenate([y for y, _ in parts]), np.concatenate([s for _, s in parts]))
    assert cells(merged) == cells(whole)


def test_merging_nothing():
    with pytest.raises(InputError, match="samples is empty"):
        Sample.merge([])
    assert cells(Sample.merge([Sample([], []), Sample([1], [2.0])])) == [(2.0, 1, 0)]


def test_merging_takes_any_iterable():
    parts = [Sample([0, 1], [1.0, 2.0]), Sample([1], [1.0])]
    assert (
        cells(Sample.merge(part for part in parts))
        == cells(Sample.merge(parts))
        == [(1.0, 1, 1), (2.0, 1, 0)]
    )
    with pytest.raises(InputError, match="samples is empty"):
        Sample.merge(iter(()))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (Sample([1], [2.0]), "samples must be a list of Sample, not a Sample"),
        (None, "samples must be a list of Sample, not a NoneType"),
        ([Sample([1], [2.0]), [0.5]], r"only Sample; samples\[1\] is a list"),
        ([PairedSample([1], [2.0], [3.0])], r"only Sample; samples\[0\] is a PairedSample"),
        (([1, 0], [0.5, 0.7]), r"only Sample; samples\[0\] is a list"),
    ],
)
def test_merging_what_is_no_sample(samples, message):
    with pytest.raises(InputError, match=message):
        Sample.merge(samples)


def test_masked_values_are_not_read_through_their_mask():
    y, s, mask = [0, 1, 1], [0.1, 0.9, 0.4], [False, True, False]
    for make in (
        lambda: Sample(np.ma.array(y, mask=mask), s),
        lambda: Sample(y, np.ma.array(s, mask=mask)),
        lambda: PairedSample(y, s, np.ma.array(s, mask=mask)),
        lambda: Sample.from_counts(s, np.ma.array(y, mask=mask), y),
    ):
        with pytest.raises(InputError, match="has 1 masked values; set the masked rows aside first"):
            make()
    assert cells(Sample(np.ma.array(y), np.ma.array(s, mask=[False] * 3))) == cells(Sample(y, s))


def test_an_empty_sample():
    sample = Sample([], [])
    assert (sample.n_pos, sample.n_neg, len(sample.score)) == (0, 0, 0)
    with pytest.raises(DegenerateDataError, match="0 positives and 0 negatives: take more rows"):
        sample.require_both_classes()
    assert repr(sample) == "Sample(n_pos=0, n_neg=0, distinct=0)"


def test_a_sample_cannot_be_changed_and_does_not_change():
    y, s = np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])
    sample, pair = Sample(y, s), PairedSample(y, s, s)
    y[:], s[:] = 1, 9.0
    assert cells(sample) == cells(pair.first) == [(1.0, 0, 1), (2.0, 1, 0), (3.0, 1, 0)]
    for array in (sample.score, sample.pos, sample.neg, pair.pos, pair.index_1, pair.first.score):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(AttributeError):
        sample.n_pos = 7


def test_the_last_bit_of_a_score_counts():
    a = 0.653549466997938477419
    y, s = [0, 1, 1], [a, np.nextafter(a, 1), np.nextafter(a, 0)]
    assert len(Sample(y, s).score) == len(PairedSample(y, s, s).first.score) == 3


def test_signed_zeros_are_one_score():
    assert cells(Sample([0, 1], [0.0, -0.0])) == [(0.0, 1, 1)]
    assert cells(PairedSample([0, 1], [0.0, -0.0], [1, 2]).first) == [(0.0, 1, 1)]
    assert cells(Sample.from_counts([0.0, -0.0], [0, 1], [1, 0])) == [(0.0, 1, 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint64, bool, object])
@pytest.mark.parametrize("labels", [bool, np.uint8, np.float32, object])
def test_kinds_of_numbers(dtype, labels):
    y, s = np.array([0, 1, 1]), np.array([0, 1, 0])
    assert cells(Sample(y.astype(labels), s.astype(dtype))) == [(0.0, 1, 1), (1.0, 1, 0)]


def test_what_databases_and_frames_hold():
    frame = pd.DataFrame({"y": [0, 1], "s": [Decimal("0.25"), Decimal("0.5")]}, index=[7, 7])
    assert cells(Sample(frame.y.astype("Int64"), frame.s)) == [(0.25, 0, 1), (0.5, 1, 0)]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2, 0], "1 of 3 labels are neither, for example 2; map the labels"),
        ([0.3, 0.8, 1], "for example 0.3; labels come first, scores second: are they swapped?"),
        ([1, -1, -1], "2 of 3 labels are neither, for example -1"),
        ([1, np.nan, 0], "y_true is missing in 1 of 3 rows"),
        ([1, None, 0], "y_true is missing in 1 of 3 rows"),
        (["no", "yes", "no"], r"of 'no' and 'yes' name the positive one, as in auc\(…, pos_label='yes'\)"),
        (np.array(["0", "1", "0"]), r"of '0' and '1' name the positive one, as in auc\(…, pos_label='1'\)"),
        (["good", "bad", "bad"], r"example 'good'; of 'bad' and 'good' .*, as in auc\(…, pos_label=…\), or"),
        (["1", "yes", "1"], r"pos_label=…\)"),
        (["a", "b", "c"], "example 'a'; map the labels or set the rows aside"),
        (pd.array([1, None, 0], dtype="Int64"), "y_true is missing in 1 of 3 rows"),
        ([[1, 0, 1]], r"y_true must be one-dimensional; its shape is \(1, 3\)"),
        ([1, 0], "y_true and y_score must have equal length: y_true has 2, y_score has 3"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(InputError, match=message):
        Sample(y, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("s", "message"),
    [
        ([0.1, np.nan, np.inf], "y_score must be finite: 2 of 3 scores are NaN or infinite"),
        ([0.1, -np.inf, 1], "1 of 3 scores are NaN or infinite"),
        ([0.1, None, 1], "1 of 3 scores are NaN or infinite"),
        (["0.1", "0.2", "0.3"], "y_score must be numbers, not <U3"),
        (np.array(["a", 1, 2], dtype=object), "y_score must be numbers"),
        (np.array([1, 2, 3j]), "y_score must be numbers, not complex128"),
        (pd.to_datetime(["2026-01-01"] * 3), "y_score must be numbers, not datetime64"),
        ([2**53 + 1, 2**53, 1], r"integers beyond 2\*\*53"),
        (1 + np.array([0, 1e-19, 1], dtype=np.longdouble), "float64 would merge 1 with others"),
        ([[0.1, 0.2, 0.3]], r"y_score must be one-dimensional; its shape is \(1, 3\)"),
        ([], "y_true has 3, y_score has 0"),
    ],
)
def test_bad_scores(s, message):
    with pytest.raises(InputError, match=message):
        Sample([0, 1, 1], s)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, -1], "n_pos must be whole numbers >= 0: 1 of 2 cells are not"),
        ([0.5, 1], "n_pos must be whole numbers >= 0: 1 of 2 cells are not"),
        ([np.nan, 1], "n_pos must be whole numbers >= 0: 1 of 2 cells are not"),
        ([1e300, np.inf], "n_pos must be whole numbers >= 0: 2 of 2 cells are not"),
        ([None, 1], "n_pos must be whole numbers >= 0"),
        ([2**53, 2], r"n_pos adds up to more than 2\*\*53 rows"),
        (["many", "few"], "n_pos must be whole numbers >= 0"),
        ([1], "n_pos has 1"),
        ([[1, 2]], "n_pos must be one-dimensional"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(InputError, match=message):
        Sample.from_counts([0.1, 0.2], counts, [1, 1])
    with pytest.raises(InputError, match=message):
        PairedSample.from_counts([0.1, 0.2], [0.1, 0.2], counts, [1, 1])


def test_counts_as_databases_give_them():
    counts = np.array([Decimal(2), Decimal(3)], dtype=object)
    assert cells(Sample.from_counts([0.1, 0.2], counts, [1.0, 0.0])) == [(0.1, 2, 1), (0.2, 3, 0)]


def test_large_counts_stay_exact():
    sample = Sample.from_counts([1, 1, 2], [2**52, 1, 0], [0, 0, 2**52 + 1])
    assert cells(sample) == [(1.0, 2**52 + 1, 0), (2.0, 0, 2**52 + 1)]


# PairedSample


@given(paired_samples())
def test_a_pair_holds_its_rows(data):
    y, s1, s2 = data
    pair = PairedSample(y, s1, s2)
    assert cells(pair.first) == cells(Sample(y, s1))
    assert cells(pair.second) == cells(Sample(y, s2))
    assert pair.first.score[pair.index_1].tolist() == s1.tolist()
    assert pair.second.score[pair.index_2].tolist() == s2.tolist()
    assert (pair.n_pos, pair.n_neg) == (pair.first.n_pos, pair.first.n_neg)


@given(paired_samples(distinct=3))
def test_paired_counts_are_the_rows(data):
    y, s1, s2 = data
    keys = sorted(set(zip(s1, s2, strict=True)))
    pos, neg = ([int(np.sum((y == c) & (s1 == a) & (s2 == b))) for a, b in keys] for c in (1, 0))
    first, second = zip(*keys, strict=True)
    pair = PairedSample.from_counts([*first, 99], [*second, 99], [*pos, 0], [*neg, 0])
    assert cells(pair.first) == cells(Sample(y, s1))
    assert cells(pair.second) == cells(Sample(y, s2))
    assert len(pair.pos) == len(keys)


def test_pairs_of_unequal_length():
    with pytest.raises(InputError, match="y_true has 2, score_1 has 2, score_2 has 1"):
        PairedSample([0, 1], [1, 2], [1])
    with pytest.raises(InputError, match="score_2 must be finite"):
        PairedSample([0, 1], [1, 2], [1, np.nan])


def test_an_empty_pair():
    pair = PairedSample([], [], [])
    assert (pair.n_pos, pair.n_neg, len(pair.first.score)) == (0, 0, 0)
    with pytest.raises(DegenerateDataError):
        pair.require_both_classes()


# Decorators


@on_sample
def size(sample, /, scale=1, *, offset=0):
    """Rows."""
    return scale * (sample.n_pos + sample.n_neg) + offset


@on_pair
def pair_size(pair, /):
    return pair.n_pos + pair.n_neg


def test_rows_or_a_sample():
    y, s = [0, 1, 1], [0.1, 0.2, 0.3]
    assert size(y, s) == size(Sample(y, s)) == size(y_true=y, y_score=s) == size(y, y_score=s) == 3
    assert size(y, s, 2, offset=1) == size(Sample(y, s), 2, offset=1) == 7
    assert pair_size(y, s, s) == pair_size(PairedSample(y, s, s)) == pair_size(y, score_2=s, score_1=s) == 3


def test_the_wrong_kind_of_sample():
    y, s = [0, 1], [0.1, 0.2]
    with pytest.raises(InputError, match="size takes a Sample, not a PairedSample"):
        size(PairedSample(y, s, s))
    with pytest.raises(InputError, match="pair_size takes a PairedSample, not a Sample"):
        pair_size(Sample(y, s))
    with pytest.raises(InputError, match="size needs y_true, y_score, or one Sample; y_score is missing"):
        size(y)


def test_help_names_the_arrays():
    assert str(inspect.signature(size)) == "(y_true, y_score, scale=1, *, offset=0)"
    assert str(inspect.signature(pair_size)) == "(y_true, score_1, score_2)"
    assert (size.__name__, size.__doc__) == ("size", "Rows.")


def test_swapped_is_the_pair_the_other_way_round():
    pair = PairedSample([0, 1, 1, 0], [0.1, 0.4, 0.4, 0.2], [3.0, 1.0, 2.0, 2.0])
    other = PairedSample([0, 1, 1, 0], [3.0, 1.0, 2.0, 2.0], [0.1, 0.4, 0.4, 0.2])
    swapped = pair.swapped()
    for name in ("index_1", "index_2", "pos", "neg"):
        assert getattr(swapped, name).tolist() == getattr(other, name).tolist()
    assert swapped.first.score.tolist() == other.first.score.tolist()
    assert swapped.swapped().first is pair.first


@pytest.mark.parametrize("score", [[[1, 2], [3]], [10**400, 1], [np.longdouble("1e400"), np.longdouble(1)]])
def test_scores_that_are_no_list_of_float64_are_refused(score):
    with pytest.raises(InputError, match="y_score"):
        Sample([0, 1], score)


# Merging pairs


def paired_rows(pair):
    """Every row as (label, score_1, score_2), sorted."""
    s1, s2 = pair.first.score[pair.index_1], pair.second.score[pair.index_2]
    cells = zip(s1.tolist(), s2.tolist(), pair.pos.tolist(), pair.neg.tolist(), strict=True)
    return sorted(row for a, b, pos, neg in cells for row in pos * [(1, a, b)] + neg * [(0, a, b)])


@given(st.lists(paired_samples(distinct=3), min_size=1, max_size=4))
def test_merging_pairs_is_concatenation(parts):
    merged = PairedSample.merge(PairedSample(*part) for part in parts)
    whole = PairedSample(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    assert paired_rows(merged) == paired_rows(whole)
    assert cells(merged.first) == cells(whole.first)
    assert cells(merged.second) == cells(whole.second)
    assert (merged.n_pos, merged.n_neg) == (whole.n_pos, whole.n_neg)


def test_merging_grouped_and_empty_pairs():
    grouped = PairedSample.from_counts([0.5, 0.5], [1, 2], [3, 0], [1, 2])
    merged = PairedSample.merge([grouped, PairedSample([], [], []), PairedSample([1], [0.5], [1])])
    assert paired_rows(merged) == [(0, 0.5, 1), *[(0, 0.5, 2)] * 2, *[(1, 0.5, 1)] * 4]
    assert PairedSample.merge([PairedSample([], [], [])]).n_pos == 0


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "samples is empty; give at least one PairedSample"),
        (PairedSample([1], [2.0], [3.0]), "samples must be a list of PairedSample, not a PairedSample"),
        ([Sample([1], [2.0])], r"only PairedSample; samples\[0\] is a Sample"),
    ],
)
def test_merging_what_is_no_pair(samples, message):
    with pytest.raises(InputError, match=message):
        PairedSample.merge(samples)
