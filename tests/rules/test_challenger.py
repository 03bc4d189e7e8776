"""Rule `challenger`: it reports a difference, challenger minus champion, and never alarms."""

from __future__ import annotations

import numpy as np
import pytest

from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.reference import Reference
from rocmonitor.rules import Challenger
from rocmonitor.rules.evidence import Evidence
from rocmonitor.stats import PairedSample, compare_auc_paired


@pytest.mark.parametrize("better", [-1, 1])
def test_challenger_reports_who_is_better(better):
    rng = np.random.default_rng(9)
    label = np.repeat([1, 0], [300, 900])
    sharp, dull = (rng.normal(size=1200) + shift * label for shift in (1.6, 0.4))
    champion, challenger = (sharp, dull) if better < 0 else (dull, sharp)
    difference = compare_auc_paired(PairedSample(label, challenger, champion))
    evidence = Evidence(law=None, now=None, sample=None, difference=difference)
    found = Challenger().judge("challenger", evidence, Reference(auc=None))
    assert found.outcome is Status.OK, "challenger"
    assert better * found.estimate > 0.1, "challenger"
    assert found.low < found.estimate < found.high, "challenger"
