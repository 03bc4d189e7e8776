"""The groups that made a change, in words."""

import pytest

from rocmonitor.policy.explanation import Explanation, GroupPart
from rocmonitor.wording.explanation import sentence, spread


def part(pvalue: float = 1.0) -> GroupPart:
    return GroupPart(
        column="region",
        group="north",
        part=-0.001,
        mix=0.0,
        ranking=-0.001,
        se=0.01,
        adjusted_pvalue=pvalue,
        rows=100,
        share=0.3,
        reference_share=0.3,
    )


@pytest.mark.parametrize(
    ("auc", "pvalue", "words"),
    [
        (
            0.7,
            1.0,
            "The AUROC is 0.700, as in the reference. No group did much more than its share of the rows.",
        ),
        (0.70004, 1.0, "The AUROC is 0.700, as in the reference. No group did"),
        (0.697, 1.0, "The AUROC fell by 0.003, from 0.700 to 0.697. No column explains it: no group did"),
        (0.703, 0.01, "The AUROC rose by 0.003, from 0.700 to 0.703. Groups differ (●), but none did"),
    ],
)
def test_a_change_that_no_group_made(auc: float, pvalue: float, words: str) -> None:
    found = Explanation(reference_auc=0.7, auc=auc, parts=(part(pvalue),))
    assert sentence(found).startswith(words)
    assert spread(found) == "No group of region did much more than its share of the rows."


def test_columns_that_explain_nothing() -> None:
    found = Explanation(reference_auc=0.7, auc=0.6, parts=(), refused={"region": "region is missing"})
    assert sentence(found) == "The AUROC fell by 0.100, from 0.700 to 0.600. No column could be used."
    assert spread(found) == ""
