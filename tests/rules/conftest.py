"""A reference and evidence that the tests of each rule share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy.special import expit

from rocmonitor.policy.reference import Reference, freeze
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Forecast, Lasting
from rocmonitor.rules.evidence import AllLabels, Evidence
from rocmonitor.stats import AucResult, Sample, WindowAuc

START, WEEK = datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7)


@pytest.fixture
def window() -> Callable[..., Evidence]:
    """A window of which only the AUROC with its standard error is known."""

    def of(auc: float, se: float = 0.02) -> Evidence:
        law = AllLabels(AucResult(auc=auc, se=se, n_pos=300, n_neg=900, method="delong"))
        return Evidence(law=law, now=WindowAuc(auc, 300, 900), sample=None)

    return of


def probabilities(rng: np.random.Generator, *, slope: float = 1.0, rows: int = 1500) -> Sample:
    """Rows whose scores are probabilities; calibrated with a slope of 1."""
    logit = rng.normal(-1, 1.3, rows)
    return Sample(rng.random(rows) < expit(-1 + slope * (logit + 1)), expit(logit).round(4))


@pytest.fixture
def rows() -> Callable[..., Sample]:
    return probabilities


@pytest.fixture(scope="session")
def known() -> Reference:
    """Twenty-five weeks of 1,500 rows, with all that rules learn of them."""
    rng = np.random.default_rng(2)
    weeks = [Window(START + n * WEEK, START + (n + 1) * WEEK) for n in range(25)]
    rules = {"forecast": Forecast(), "lasting": Lasting()}
    return freeze([(each, probabilities(rng)) for each in weeks], rules, (0.2,), outlooks=True)
