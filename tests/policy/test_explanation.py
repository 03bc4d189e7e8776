"""The groups that stand out once the rows of clearer ones are set aside."""

from collections.abc import Mapping

import numpy as np
import pytest

from rocmonitor.policy.explanation import Explanation, from_tables, group_parts
from rocmonitor.stats.group_reference import ColumnRows, group_reference

COUNTRIES = ["PL", "FR", "DE", "ES", "IT"]
SHARES = [0.15, 0.3, 0.25, 0.2, 0.1]


def drawn(rng: np.random.Generator, n: int, lower: Mapping[str, float] = {}) -> dict[str, ColumnRows]:
    """Rows of five countries and two devices; positives of some countries score lower."""
    country, device = rng.choice(COUNTRIES, n, p=SHARES), rng.choice(["web", "app"], n)
    y = rng.random(n) < 0.3
    score = rng.normal(y * (1.5 - np.array([lower.get(each, 0.0) for each in country])))
    return {
        name: ColumnRows(y.astype(np.int8), score, each)
        for name, each in (("country", country), ("device", device))
    }


def explained(seed: int, lower: Mapping[str, float], *, expected: bool = False) -> Explanation:
    rng = np.random.default_rng(seed)
    reference = group_reference(drawn(rng, 40_000))
    window = drawn(rng, 12_000, lower)
    counted = reference.counted(window, own=not expected)
    split = reference.expected(counted, rng=1) if expected else reference.split(counted)
    return Explanation(
        reference_auc=split.whole.reference_auc, auc=split.whole.auc, parts=tuple(group_parts(split))
    )


def marked(of: Explanation) -> list[str]:
    return [each.group for each in of.parts if each.is_found]


@pytest.mark.parametrize("seed", range(4))
def test_where_one_group_broke_it_alone_is_marked(seed):
    """The others differ from it as much: of four countries three were marked with it."""
    found = explained(seed, {"PL": 1.5})
    assert marked(found) == ["PL"]
    part = found.parts[0]
    assert part is found.leading
    assert part.reference_auc_without == pytest.approx(found.reference_auc, abs=0.01)
    assert part.auc_without == pytest.approx(part.reference_auc_without, abs=0.012)
    assert part.auc_without > found.auc + 0.04
    assert all(each.auc_without is None for each in found.parts[1:])
    assert from_tables([each.to_row() for each in found.parts], {"reference/auc": 1, "champion/auc": 0})


@pytest.mark.parametrize("seed", range(4))
def test_where_all_but_one_broke_the_one_is_not_named(seed):
    leading = explained(seed, dict.fromkeys(COUNTRIES[1:], 0.8)).leading
    assert leading is None or leading.group != "PL"


@pytest.mark.parametrize("seed", range(4))
def test_two_groups_that_broke_or_cancel_are_both_marked(seed):
    assert {"PL", "ES"} <= set(marked(explained(seed, {"PL": 1.5, "ES": 1.0})))
    assert {"PL", "ES"} <= set(marked(explained(seed, {"PL": 1.2, "ES": -1.0})))


def test_a_group_without_which_one_class_is_left_leaves_no_other_mark():
    """All positives are of one group: what the others did without it has no AUROC."""
    rng, parts = np.random.default_rng(3), []
    for n, lower in ((20_000, 0.0), (6_000, 1.0)):
        y = rng.random(n) < 0.3
        group = np.where(y, "a", rng.choice(["a", "b", "c"], n))
        parts.append({"g": ColumnRows(y.astype(np.int8), rng.normal(y * (1.5 - lower)), group)})
    reference = group_reference(parts[0])
    split = reference.split(reference.counted(parts[1], own=True))
    found = [each.group for each in group_parts(split) if each.is_found]
    assert found in ([], ["a"], ["b"], ["c"])
