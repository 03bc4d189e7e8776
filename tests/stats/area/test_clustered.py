"""Clustered rows: Obuchowski's definition by loops, independent rows, enumeration, grouped counts."""

from __future__ import annotations

import itertools
import math

import golden
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.stats import PairedSample, Sample, auc, compare_auc, compare_auc_paired
from rocmonitor.wording.caveats import words_of


def by_definition(y, scores, ids) -> float:
    """[O97] eq. 4 to 6, as her program computes it: pair by pair and cluster by cluster.

    `scores`: one model's, or two models' whose difference is meant.
    """
    y, ids = np.asarray(y), np.asarray(ids)
    models = np.atleast_2d(scores)
    signs = (1, -1)

    def psi(i, j):
        return sum(
            sign * ((s[i] > s[j]) + (s[i] == s[j]) / 2) for sign, s in zip(signs, models, strict=False)
        )

    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    v10 = {i: sum(psi(i, j) for j in neg) / len(neg) for i in pos}
    v01 = {j: sum(psi(i, j) for i in pos) / len(pos) for j in neg}
    area = sum(v10.values()) / len(pos)
    x, z = [], []
    for cluster in sorted(set(ids)):
        of_pos, of_neg = ([k for k in rows if ids[k] == cluster] for rows in (pos, neg))
        x.append((len(of_pos), sum(v10[k] for k in of_pos) - len(of_pos) * area))
        z.append((len(of_neg), sum(v01[k] for k in of_neg) - len(of_neg) * area))
    i10, i01, i = sum(m > 0 for m, _ in x), sum(m > 0 for m, _ in z), len(x)
    s10 = i10 / ((i10 - 1) * len(pos)) * sum(a * a for _, a in x)
    s01 = i01 / ((i01 - 1) * len(neg)) * sum(b * b for _, b in z)
    s11 = i / (i - 1) * sum(a * b for (_, a), (_, b) in zip(x, z, strict=True))
    return s10 / len(pos) + s01 / len(neg) + 2 * s11 / (len(pos) * len(neg))


@st.composite
def rows(draw):
    n = draw(st.integers(8, 24))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    s = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    t = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    ids = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    y, ids = np.array(y), np.array(ids)
    if min(len(set(ids[y == 1])), len(set(ids[y == 0]))) < 2:
        y[:4], ids[:4] = [1, 1, 0, 0], [0, 1, 0, 1]
    return y, np.array(s, float), np.array(t, float), ids


@given(rows())
def test_the_variance_is_that_of_the_definition(data) -> None:
    y, s, t, ids = data
    for found, scores in (
        (lambda: auc(y, s, cluster=ids), s),
        (lambda: compare_auc_paired(y, s, t, cluster=ids), [s, t]),
    ):
        expected = by_definition(y, scores, ids)
        try:
            result = found()
        except DegenerateDataError:
            continue  # a difference that is the same in every row
        if result.se > 0 and expected > 1e-12:
            assert result.se == pytest.approx(math.sqrt(expected), rel=1e-9)


@pytest.mark.parametrize(
    ("mixed", "published", "jackknife"),
    [
        (False, golden.RETINOPATHY_ALL, {}),
        (True, golden.RETINOPATHY_MIXED, golden.RETINOPATHY_JACKKNIFE_MIXED),
    ],
)
def test_two_eyes_of_a_patient_by_other_programs(mixed, published, jackknife) -> None:
    eyes = golden.retinopathy()
    if mixed:
        eyes = eyes[eyes.groupby("patient")["lost"].transform("sum") == 1]
    y, ids = eyes["lost"].to_numpy(), eyes["patient"].to_numpy()
    found = {name: auc(y, eyes[name].to_numpy(float), cluster=ids) for name in ("risk", "untreated")}
    for name, each in found.items():
        assert (each.auc, each.se) == pytest.approx(published[name], rel=1e-12)
    change = compare_auc_paired(
        y, eyes["risk"].to_numpy(float), eyes["untreated"].to_numpy(float), cluster=ids
    )
    assert change.difference == pytest.approx(published["risk"][0] - published["untreated"][0], rel=1e-12)
    assert change.se == pytest.approx(published["difference"], rel=1e-12)
    for name, se in jackknife.items():
        own = change.se if name == "difference" else found[name].se
        assert own == pytest.approx(se * math.sqrt(79 / 78), rel=1e-12)


@given(rows())
def test_clusters_of_one_row_are_independent_rows(data) -> None:
    y, s, t, _ = data
    single = np.arange(len(y))
    assert auc(y, s, cluster=single).se == pytest.approx(auc(y, s).se, rel=1e-9, abs=1e-12)
    if (plain := auc(y, s)).se > 0:
        assert auc(y, s, cluster=single).design_effect == pytest.approx(1)
        assert auc(y, s, cluster=single).ci() == pytest.approx(tuple(plain.ci()))
    try:
        expected = compare_auc_paired(y, s, t)
    except DegenerateDataError:
        return
    assert compare_auc_paired(y, s, t, cluster=single).se == pytest.approx(expected.se, rel=1e-9, abs=1e-12)


@given(rows())
def test_rows_groups_and_merged_parts_agree(data) -> None:
    y, s, t, ids = data
    whole = PairedSample(y, s, t, cluster=ids)
    cells, count = np.unique(np.column_stack([s, t, ids, y]), axis=0, return_counts=True)
    columns = (cells[:, 0], cells[:, 1], count * (cells[:, 3] == 1), count * (cells[:, 3] == 0))
    grouped = PairedSample.from_counts(*columns, cluster=cells[:, 2])
    parts = PairedSample.merge([PairedSample(y[k::3], s[k::3], t[k::3], cluster=ids[k::3]) for k in range(3)])
    alone = Sample.merge([Sample(y[k::3], s[k::3], cluster=ids[k::3]) for k in range(3)])
    expected = auc(y, s, cluster=ids)
    for sample in (whole.first, grouped.first, parts.first, alone):
        assert auc(sample).se == pytest.approx(expected.se, rel=1e-9)
        assert auc(sample).clusters == expected.clusters
    try:
        difference = compare_auc_paired(whole)
    except DegenerateDataError:
        return
    for pair in (grouped, parts):
        assert compare_auc_paired(pair).se == pytest.approx(difference.se, rel=1e-9, abs=1e-12)
    swapped = compare_auc_paired(whole.swapped())
    assert (swapped.difference, swapped.se) == pytest.approx((-difference.difference, difference.se))


def test_it_is_the_variance_over_all_resamples_of_clusters_to_first_order() -> None:
    """Clusters of equal make-up: n^n resamples of the linear part, enumerated, times n / (n - 1)."""
    rng = np.random.default_rng(3)
    g, per = 4, 6
    ids = np.repeat(np.arange(g), per)
    y = np.tile([1, 1, 0, 0, 0, 1], g)
    s = rng.integers(0, 5, g * per) + 0.7 * y + rng.normal(size=g)[ids]
    pos, neg = s[y == 1], s[y == 0]
    psi = (pos[:, None] > neg) + (pos[:, None] == neg) / 2
    share = np.zeros(g)
    np.add.at(share, ids[y == 1], (psi.mean(axis=1) - psi.mean()) / len(pos))
    np.add.at(share, ids[y == 0], (psi.mean(axis=0) - psi.mean()) / len(neg))
    values = [share[list(drawn)].sum() for drawn in itertools.product(range(g), repeat=g)]
    assert auc(y, s, cluster=ids).se ** 2 == pytest.approx(g / (g - 1) * np.var(values), rel=1e-9)


def test_copied_rows_show_nothing_new() -> None:
    """Each row five times: the standard error is that of the rows, nearly, and the design effect 5."""
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [60, 200])
    s = rng.normal(size=260) + y
    copies = np.tile(np.arange(260), 5)
    found = auc(y[copies], s[copies], cluster=copies)
    assert found.se == pytest.approx(auc(y, s).se, rel=1e-9)
    assert found.design_effect == pytest.approx(5, rel=0.1)
    assert found.ci().low == pytest.approx(auc(y, s).ci().low, abs=2e-3)
    assert found.clusters == (60, 200)
    assert str(found).endswith("300 positives, 1,000 negatives in 60 and 200 clusters)")
    unpaired = compare_auc(found, auc(y, s))
    assert found.df < unpaired.df < found.df + 260


def test_texts_and_whole_floats_are_ids_and_missing_ones_are_refused() -> None:
    y, s = [1, 1, 0, 0], [4.0, 2, 3, 1]
    by_text = auc(y, s, cluster=["a", "b", "a", "b"])
    assert by_text.se == auc(y, s, cluster=[1.0, 2.0, 1.0, 2.0]).se
    for missing in (None, math.nan):
        with pytest.raises(InputError, match="1 of 4 ids are None or NaN; give such a row an id of its own"):
            auc(y, s, cluster=["a", "b", missing, "b"])
    with pytest.raises(InputError, match="one id for each of the 4 rows; its shape is"):
        auc(y, s, cluster=[1, 2])


def test_one_cluster_and_methods_for_independent_rows_are_refused() -> None:
    y, s = [1, 1, 0, 0], [4.0, 2, 3, 1]
    with pytest.raises(DegenerateDataError, match="come from 1 clusters, the 2 negatives from 1: fewer"):
        auc(y, s, cluster=[7, 7, 7, 7])
    with pytest.raises(InputError, match="'exact-bootstrap' takes rows as independent"):
        auc(y, s, cluster=[1, 2, 1, 2], method="exact-bootstrap")
    with pytest.raises(InputError, match="cluster belongs to rows: make the sample by Sample"):
        auc(Sample(y, s), cluster=[1, 2, 1, 2])
    with pytest.raises(InputError, match="samples must all have clusters, or none"):
        Sample.merge([Sample(y, s), Sample(y, s, cluster=[1, 2, 1, 2])])


def test_perfect_separation_counts_clusters_instead_of_rows() -> None:
    y = [1] * 8 + [0] * 8
    found = auc(y, y, cluster=[0, 1, 2, 3] * 4)
    assert found.ci() == pytest.approx((0.025 ** (1 / 4), 1))
    assert {caveat.code for caveat in found.caveats} == {"few-clusters", "no-scatter"}


@pytest.mark.parametrize(("giants", "largest"), [(0, None), (1, 1), (2, 2)])
def test_one_or_two_clusters_that_make_most_of_the_variance_are_said(
    giants: int, largest: int | None
) -> None:
    rng = np.random.default_rng(3)
    sizes = np.array([400] * giants + [20] * (18 if giants else 30))
    ids = np.repeat(np.arange(len(sizes)), sizes)
    rates = np.array([0.9, 0.0][:giants] + [0.3] * (len(sizes) - giants))  # alike in both classes cancels
    y = rng.random(len(ids)) < np.repeat(rates, sizes)
    s = y + np.repeat(rng.normal(size=len(sizes)), sizes) + rng.normal(size=len(ids))
    said = [each for each in auc(y, s, cluster=ids).caveats if each.code == "large-clusters"]
    assert [each.values["largest"] for each in said] == ([] if largest is None else [largest])
    for each in said:
        assert each.values["clusters"] == len(sizes)
        assert each.values["of_rows"] == pytest.approx(400 * giants / len(ids))
        assert 0.5 <= each.values["share"] <= 1
        own = auc(y[ids < giants], s[ids < giants])
        shown = [each.values[name] for name in ("estimate", "low", "high")]
        assert shown == pytest.approx([own.auc, *own.ci()])


def test_the_difference_in_the_largest_cluster_is_said() -> None:
    rng = np.random.default_rng(4)
    ids = np.repeat(np.arange(19), [400] + [20] * 18)
    y = rng.random(len(ids)) < np.where(ids == 0, 0.9, 0.3)
    shared = np.where(ids == 0, 1.5, 0.0) * y
    first, second = (rng.normal(y + sign * shared) for sign in (1, -0.3))
    [said] = [
        caveat
        for caveat in compare_auc_paired(y, first, second, cluster=ids).caveats
        if caveat.code == "large-clusters"
    ]
    own = compare_auc_paired(y[ids == 0], first[ids == 0], second[ids == 0])
    shown = [said.values[name] for name in ("estimate", "low", "high")]
    assert shown == pytest.approx([own.difference, *own.ci()])
    assert f"its own rows show {own.difference:.3f}" in words_of(said)


def test_a_largest_cluster_of_one_class_has_no_area() -> None:
    rng = np.random.default_rng(5)
    ids = np.repeat(np.arange(19), [400] + [20] * 18)
    y = (ids > 0) & (rng.random(len(ids)) < 0.5)
    s = y + np.repeat(rng.normal(size=19), [400] + [20] * 18) + rng.normal(size=len(ids))
    [said] = [caveat for caveat in auc(y, s, cluster=ids).caveats if caveat.code == "large-clusters"]
    assert "its own rows show one class only" in words_of(said)
