"""A change of the AUC taken apart: against pair loops over the definition, with ties and foreign scores."""

import json
import re
from dataclasses import replace

import numpy as np
import oracle
import pytest
from caveats import codes
from hypothesis import given, settings
from strategies import samples

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats.forecast.distance import condensed
from rocmonitor.stats.forecast.explanation import explain_shift
from rocmonitor.stats.forecast.kld import auc_bounds, auc_distance
from rocmonitor.stats.sample import Sample
from rocmonitor.wording.shift import in_words

COLUMNS = ("low", "high", *(f"{of}_{what}" for of in ("neg", "pos") for what in ("reference", "window")))


def binormal(seed, n_pos, n_neg, shift=1.2, spread=1.0):
    y = np.repeat([1, 0], [n_pos, n_neg])
    return Sample(y, np.random.default_rng(seed).normal(size=len(y)) * np.where(y, spread, 1) + shift * y)


def shares(y, s, score, label):
    """Share of a class at each score, by counting rows."""
    return np.array([np.mean(s[y == label] == value) for value in score])


def area(negatives, positives):
    """A(u, v) of shares at the same increasing scores, pair by pair."""
    return sum(
        u * v * (1.0 if j > i else 0.5 if j == i else 0.0)
        for i, u in enumerate(negatives)
        for j, v in enumerate(positives)
    )


def in_bin(shift, number, score):
    """Whether scores lie in a bin, as its ends are documented."""
    lowest, highest = number == 0, number == len(shift.low) - 1
    return (lowest | (score > shift.low[number])) & (highest | (score <= shift.high[number]))


@settings(max_examples=50)
@given(samples(distinct=5), samples(distinct=5))
def test_every_contribution_is_that_of_the_definition(before, now):
    reference, window = Sample(*before), Sample(*now)
    shift = explain_shift(reference, window, bins=3)
    score = np.unique(np.concatenate([before[1], now[1]]))
    (f, g), (u, v) = ([shares(*rows, score, label) for label in (0, 1)] for rows in (before, now))
    assert shift.auc == pytest.approx(oracle.auc(*now), abs=1e-12)
    assert shift.reference_auc == pytest.approx(oracle.auc(*before), abs=1e-12)
    # The parts: both orders of replacing one class after the other, averaged.
    negatives = (area(u, v) - area(f, v) + area(u, g) - area(f, g)) / 2
    positives = (area(u, v) - area(u, g) + area(f, v) - area(f, g)) / 2
    assert shift.from_negatives == pytest.approx(negatives, abs=1e-12)
    assert shift.from_positives == pytest.approx(positives, abs=1e-12)
    # The contributions: a change of share times the placement there, over the middle of both samples.
    middle = area((f + u) / 2, (g + v) / 2)
    for number in range(len(shift.low)):
        cells = np.flatnonzero(in_bin(shift, number, score))
        one = np.eye(len(score))[cells]
        neg = sum(
            (u - f)[cell] * (area(at, (g + v) / 2) - middle) for cell, at in zip(cells, one, strict=True)
        )
        pos = sum(
            (v - g)[cell] * (area((f + u) / 2, at) - middle) for cell, at in zip(cells, one, strict=True)
        )
        assert shift.neg_contribution[number] == pytest.approx(neg, abs=1e-12)
        assert shift.pos_contribution[number] == pytest.approx(pos, abs=1e-12)
        for name, new in (("neg_reference", f), ("pos_reference", g), ("neg_window", u), ("pos_window", v)):
            assert getattr(shift, name)[number] == pytest.approx(new[cells].sum(), abs=1e-12)


@settings(max_examples=50)
@given(samples(max_per_class=12), samples(max_per_class=12))
def test_contributions_add_up_to_the_change_and_so_do_those_of_the_least_shift(before, now):
    shift = explain_shift(Sample(*before), Sample(*now), bins=4)
    assert (shift.neg_contribution + shift.pos_contribution).sum() == pytest.approx(shift.change, abs=1e-12)
    assert shift.from_negatives + shift.from_positives == pytest.approx(shift.change, abs=1e-12)
    for column in (shift.neg_window, shift.pos_window, shift.neg_reference, shift.pos_reference):
        assert column.sum() == pytest.approx(1, abs=1e-12)
    if shift.distance is None:
        assert shift.similarity is None
        assert shift.pos_least is shift.neg_least is shift.pos_least_contribution is None
    else:
        assert -1 <= shift.similarity <= 1
        assert shift.neg_least.sum() == pytest.approx(1, abs=1e-9)
        assert shift.pos_least.sum() == pytest.approx(1, abs=1e-9)
        moved = (shift.neg_least_contribution + shift.pos_least_contribution).sum()
        assert moved == pytest.approx(shift.change, abs=1e-6)


@settings(max_examples=50)
@given(samples(), samples())
def test_exchanging_the_samples_turns_the_parts_round(before, now):
    there = explain_shift(Sample(*before), Sample(*now))
    back = explain_shift(Sample(*now), Sample(*before))
    assert back.from_negatives == pytest.approx(-there.from_negatives, abs=1e-12)
    assert back.from_positives == pytest.approx(-there.from_positives, abs=1e-12)


@settings(max_examples=50)
@given(samples(), samples())
def test_negated_scores_with_exchanged_classes_give_the_same_parts(before, now):
    one = explain_shift(Sample(*before), Sample(*now))
    other = explain_shift(*(Sample(1 - y, -s) for y, s in (before, now)))
    assert other.from_positives == pytest.approx(one.from_negatives, abs=1e-12)
    assert other.from_negatives == pytest.approx(one.from_positives, abs=1e-12)


def test_grouped_counts_are_rows():
    reference, window = binormal(1, 300, 400), binormal(2, 100, 90, 0.8)
    tenfold = [Sample.from_counts(each.score, 10 * each.pos, 10 * each.neg) for each in (reference, window)]
    one, ten = explain_shift(reference, window), explain_shift(*tenfold)
    assert (ten.n_pos, ten.n_neg) == (1000, 900)
    for name in (*COLUMNS, "neg_contribution", "pos_contribution", "pos_least", "neg_least_contribution"):
        np.testing.assert_allclose(getattr(ten, name), getattr(one, name), atol=1e-12)
    assert ten.similarity == pytest.approx(one.similarity, abs=1e-9)


def test_bins_hold_equal_parts_of_both_classes_however_rare_one_is():
    reference = binormal(3, 200, 20_000)
    shift = explain_shift(reference, binormal(4, 50, 5000))
    halves = (shift.neg_reference + shift.pos_reference) / 2
    np.testing.assert_allclose(halves, 0.1, atol=0.003)
    assert np.all(shift.low[1:] == shift.high[:-1])
    assert np.all(np.diff(shift.high) > 0)


def test_a_condensed_reference_gives_nearly_the_same_parts():
    reference, window = binormal(14, 4000, 16_000), binormal(15, 1000, 4000, 0.8)
    few = condensed(reference)
    whole, rough = explain_shift(reference, window), explain_shift(few, window, joined=True)
    assert rough.auc == whole.auc
    assert rough.reference_auc == pytest.approx(whole.reference_auc, abs=2e-5)
    assert (rough.neg_contribution + rough.pos_contribution).sum() == pytest.approx(rough.change, abs=1e-12)
    for part in ("from_positives", "from_negatives"):
        assert getattr(rough, part) == pytest.approx(getattr(whole, part), abs=5e-5)
    assert rough.similarity == pytest.approx(whole.similarity, abs=0.01)
    assert rough.distance == pytest.approx(whole.distance, rel=1e-3)
    # Taken for the only scores there were, the cells would lie above what they hold.
    skewed = explain_shift(few, window)
    assert abs(skewed.from_positives - whole.from_positives) > 5e-4


def test_joined_cells_are_tied_with_all_that_they_stand_for():
    """Pair loops over the definition, a window's score between two cells being tied with the upper one."""
    reference = Sample.from_counts([2.0, 4.0, 6.0], [1, 2, 3], [3, 2, 1])
    window = Sample([0, 1, 0, 1, 1, 0], [1.0, 3.0, 3.5, 4.0, 9.0, 5.0])
    shift = explain_shift(reference, window, bins=3, joined=True)
    y, s = oracle.expand(reference.score, reference.pos, reference.neg)
    rows = np.array([0, 1, 0, 1, 1, 0]), np.array([1.0, 3.0, 3.5, 4.0, 9.0, 5.0])
    tied = np.array([2.0, 4.0, 4.0, 4.0, 9.0, 6.0])

    def across(positives, negatives):
        return np.mean([[1.0 if p > q else 0.5 if p == q else 0.0 for q in negatives] for p in positives])

    old, new = oracle.auc(y, s), oracle.auc(*rows)
    old_pos_new_neg = across(s[y == 1], tied[rows[0] == 0])
    new_pos_old_neg = across(tied[rows[0] == 1], s[y == 0])
    assert shift.change == pytest.approx(new - old, abs=1e-12)
    assert shift.from_negatives == pytest.approx(
        (new - new_pos_old_neg + old_pos_new_neg - old) / 2, abs=1e-12
    )
    assert shift.from_positives == pytest.approx(
        (new - old_pos_new_neg + new_pos_old_neg - old) / 2, abs=1e-12
    )


def test_a_tie_is_never_split():
    peak = Sample.from_counts([0.0, 1.0, 2.0], [1, 90, 1], [1, 90, 1])
    shift = explain_shift(peak, Sample([0, 1, 0, 1], [0.0, 1.0, 1.0, 2.0]))
    assert shift.high.tolist() == [1.0, 2.0]


def test_a_window_with_none_of_the_scores_of_the_reference():
    reference = binormal(5, 100, 100)
    window = Sample([0, 1, 0, 1, 1], [-50.5, 50.5, 60.5, 70.5, -60.5])
    shift = explain_shift(reference, window)
    assert (shift.low[0], shift.high[-1]) == (-60.5, 70.5)
    assert (shift.neg_contribution + shift.pos_contribution).sum() == pytest.approx(shift.change, abs=1e-12)


def test_the_least_shift_is_the_closest_reweighting_with_the_auc():
    reference = binormal(6, 150, 250)
    for spread in (0.7, 1.7):
        window = binormal(7, 200, 200, 0.6, spread) if spread > 1 else binormal(7, 200, 200, 2.0, spread)
        shift = explain_shift(reference, window)
        assert shift.distance == auc_distance(reference, shift.auc)
        bounds = auc_bounds(reference, shift.distance)
        negatives, positives = bounds.low_weights if shift.change < 0 else bounds.high_weights
        for number in range(len(shift.low)):
            cells = in_bin(shift, number, reference.score)
            assert shift.neg_least[number] == pytest.approx(negatives[cells].sum(), abs=1e-9)
            assert shift.pos_least[number] == pytest.approx(positives[cells].sum(), abs=1e-9)


def reweighted(sample, negatives, positives, rows=10**9):
    """A window with these shares at the scores of the sample, to nine digits."""
    return Sample.from_counts(
        sample.score, np.rint(positives * rows).astype(int), np.rint(negatives * rows).astype(int)
    )


def test_the_least_shift_is_like_itself():
    reference = binormal(8, 300, 300)
    bounds = auc_bounds(reference, 0.05)
    for weights in (bounds.low_weights, bounds.high_weights):
        shift = explain_shift(reference, reweighted(reference, *weights))
        assert shift.similarity == pytest.approx(1, abs=1e-6)
        assert shift.distance == pytest.approx(0.05, abs=1e-6)
        np.testing.assert_allclose(shift.pos_window, shift.pos_least, atol=1e-6)


def test_for_a_small_shift_the_squared_similarity_is_the_share_of_the_distance():
    """A tilt of the positives alone: the least favourable shift spreads over both classes and is shorter."""
    reference = Sample.from_counts(np.arange(6), [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1])
    positives = reference.pos / reference.n_pos
    tilted = positives * np.exp(-0.002 * np.cumsum(reference.neg))
    tilted /= tilted.sum()
    shift = explain_shift(
        reference, reweighted(reference, reference.neg / reference.n_neg, tilted), bins=1000
    )
    travelled = float(np.sum(tilted * np.log(tilted / positives)))
    assert shift.similarity**2 == pytest.approx(shift.distance / travelled, rel=0.01)
    assert shift.similarity == pytest.approx(np.sqrt(0.5), rel=0.05)


def test_no_reweighting_reaches_the_auc_of_a_window_when_the_reference_separates_the_classes():
    perfect = Sample([0, 0, 1, 1], [1, 2, 3, 4])
    shift = explain_shift(perfect, Sample([0, 1, 0, 1], [1, 2, 3, 4]))
    assert (shift.distance, shift.similarity, shift.pos_least, shift.neg_least_contribution) == (None,) * 4
    assert codes(shift)[-1] == "no-least-favourable-shift"
    assert "imilarity" not in in_words(shift)
    assert "pos_least" not in shift.to_frame()


def test_nothing_changed():
    sample = binormal(9, 300, 300)
    shift = explain_shift(sample, sample)
    assert (shift.change, shift.distance, shift.similarity) == (0, 0, 0)
    assert in_words(shift).startswith(f"The AUROC is {shift.auc:.3f}, as in the reference.")
    assert not shift.caveats


def test_few_rows_a_bin_are_told():
    shift = explain_shift(binormal(10, 500, 500), binormal(11, 199, 200))
    assert shift.caveats == (Caveat("few-rows-per-bin", rows=199, kind="positives", bins=10),)


def test_words_say_who_moved_and_where():
    reference = Sample.from_counts([0.1, 0.3, 0.6, 0.9], [10, 20, 30, 40], [40, 30, 20, 10])
    fallen = Sample.from_counts([0.1, 0.3, 0.6, 0.9], [10, 40, 20, 30], [40, 30, 20, 10])
    told = in_words(explain_shift(reference, fallen, bins=4))
    before, now = (oracle.auc(*oracle.expand(each.score, each.pos, each.neg)) for each in (reference, fallen))
    assert told.startswith(
        f"The AUROC fell by {before - now:.3f}, from {before:.3f} to {now:.3f}. "
        f"The positives' part is −{before - now:.3f}: "
        "50.0 % of them score above 0.3, 70.0 % in the reference. The negatives' part is +0.000."
    )
    risen = in_words(explain_shift(fallen, reference, bins=4))
    assert "The AUROC rose by" in risen
    assert "70.0 % of them score above 0.3, 50.0 % in the reference" in risen


def test_words_name_the_larger_part_first_and_opposite_ones_with_their_sign():
    reference = Sample.from_counts([0.1, 0.3, 0.6, 0.9], [10, 20, 30, 40], [40, 30, 20, 10])
    window = Sample.from_counts([0.1, 0.3, 0.6, 0.9], [10, 15, 25, 50], [10, 10, 40, 40])
    shift = explain_shift(reference, window, bins=4)
    told = in_words(shift)
    assert shift.from_negatives < 0 < shift.from_positives
    assert told.index("The negatives' part is −") < told.index("The positives' part is +")
    assert "80.0 % of them score above 0.3, 30.0 % in the reference" in told


def printed(words):
    """The change and the two parts, in thousandths."""
    verb, size = re.match(r"The AUROC (rose|fell) by (\d\.\d{3})", words).groups()
    parts = re.findall(r"part is ([+−]\d\.\d{3})", words)
    change, *parts = (round(1e3 * float(each.replace("−", "-"))) for each in (size, *parts))
    return (change if verb == "rose" else -change), parts


@pytest.mark.parametrize("off", [-3e-4, 0.0, 3e-4])
def test_the_printed_parts_add_up_to_the_printed_change(off):
    """Also where the reference's own AUC is not that of the joined cells: it is told with all its digits."""
    naive = 0
    for seed in range(20):
        shift = explain_shift(binormal(seed, 90, 110), binormal(seed + 100, 90, 110, 0.7), bins=3)
        shift = replace(shift, reference_auc=shift.reference_auc + off)
        change, parts = printed(in_words(shift))
        assert change == sum(parts)
        exact = sorted([shift.from_positives, shift.from_negatives], key=abs)[::-1]
        assert parts == pytest.approx([1e3 * each for each in exact], abs=2)
        naive += sum(round(1e3 * each) for each in exact) != change
    assert naive > 0  # rounding each for itself does not add up


def test_words_leave_out_what_a_reader_cannot_use():
    shift = explain_shift(binormal(12, 200, 200), binormal(13, 200, 200, 0.7))
    assert shift.similarity is not None
    assert "imilarity" not in in_words(shift)


def test_results_are_plain_data():
    shift = explain_shift(binormal(12, 200, 200), binormal(13, 200, 200, 0.7))
    plain = json.loads(json.dumps(shift.to_dict()))
    assert plain["pos_contribution"] == shift.pos_contribution.tolist()
    frame = shift.to_frame()
    assert len(frame) == len(shift.low)
    assert set(COLUMNS) <= set(frame.columns)
    with pytest.raises(ValueError, match="read-only"):
        shift.pos_window[0] = 1


@pytest.mark.parametrize(
    ("reference", "window", "options", "error", "said"),
    [
        ([1, 2], binormal(1, 9, 9), {}, InputError, "reference must be a Sample, not a list"),
        (binormal(1, 9, 9), None, {}, InputError, "window must be a Sample, not a NoneType"),
        (
            binormal(1, 9, 9),
            binormal(1, 9, 9),
            {"bins": 1},
            InputError,
            "bins must be a whole number of at least 2, not 1",
        ),
        (
            Sample([1, 1], [1, 2]),
            binormal(1, 9, 9),
            {},
            DegenerateDataError,
            "reference: .*2 positives and 0",
        ),
        (binormal(1, 9, 9), Sample([], []), {}, DegenerateDataError, "window: .*0 positives and 0"),
    ],
)
def test_bad_input_is_named(reference, window, options, error, said):
    with pytest.raises(error, match=said):
        explain_shift(reference, window, **options)
