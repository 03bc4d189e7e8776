"""Drawn resamples follow the exact laws, repeat with their seed, and say what they need."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from rocmonitor.errors import InputError
from rocmonitor.stats.binomial import trinomial_difference
from rocmonitor.stats.curve.difference import threshold_difference
from rocmonitor.stats.curve.threshold import threshold_intervals, threshold_law
from rocmonitor.stats.curve.vertical import vertical_intervals, vertical_law
from rocmonitor.stats.curve.vertical_difference import vertical_difference, vertical_difference_law
from rocmonitor.stats.proportion import generator

DRAWS = 20_000


def _scores():
    rng = np.random.default_rng(11)
    y = np.repeat([1, 0], [60, 80])
    common = rng.normal(size=140) + y
    return y, np.round(common + rng.normal(size=140), 1), np.round(common + rng.normal(size=140), 1)


def _agrees(law, first, m, low, high, tail):
    """Whether `low` and `high` (rates) are quantiles of the exact law within its empirical error."""
    reached = np.concatenate([[0.0], np.cumsum(law)])
    error = sqrt(log(2e9) / (2 * DRAWS))  # Dvoretzky, Kiefer and Wolfowitz at 1e-9
    for end, level in ((low, tail), (high, 1 - tail)):
        place = round(end * m) - first
        assert reached[place] - error <= level <= reached[place + 1] + error


@pytest.mark.parametrize("sizes", [(None, None), (25, 30)])
def test_ends_are_quantiles_of_the_exact_laws(sizes):
    y, s1, s2 = _scores()
    m_pos, m_neg = sizes[0] or 60, sizes[1] or 80
    how = {"method": "empirical", "n_resamples": DRAWS, "rng": 1, "confidence_level": 0.9}
    resample = {"m_pos": sizes[0], "m_neg": sizes[1]}

    single = threshold_intervals(y, s1, [0.5], joint=False, **how, **resample)
    law = threshold_law(y, s1, 0.5, **resample)
    _agrees(law.tp, 0, m_pos, single.tpr_low[0], single.tpr_high[0], 0.05)
    _agrees(law.fp, 0, m_neg, single.fpr_low[0], single.fpr_high[0], 0.05)

    both = threshold_difference(y, s1, s2, [(0.5, 0.8)], joint=False, **how, **resample)
    a, b = (np.mean(x[y == 1]) for x in ((s1 >= 0.5) & (s2 < 0.8), (s1 < 0.5) & (s2 >= 0.8)))
    first, mass = trinomial_difference(m_pos, a, b)
    _agrees(mass, first, m_pos, both.dtpr_low[0], both.dtpr_high[0], 0.05)

    rates = [0.1, 0.5]
    curve = vertical_intervals(y, s1, rates, **how, **resample)
    gap = vertical_difference(y, s1, s2, rates, **how, **resample)
    for line, rate in enumerate(rates):
        law = vertical_law(y, s1, rate, **resample)
        _agrees(law, 0, m_pos, curve.tpr_low[line], curve.tpr_high[line], 0.05)
        law = vertical_difference_law(y, s1, s2, rate, **resample)
        _agrees(law, -m_pos, m_pos, gap.dtpr_low[line], gap.dtpr_high[line], 0.05)


def _calls(**arguments):
    y, s1, s2 = _scores()
    return [
        lambda: threshold_intervals(y, s1, [0.5], method="empirical", **arguments),
        lambda: threshold_difference(y, s1, s2, [(0.5, 0.5)], method="empirical", **arguments),
        lambda: vertical_intervals(y, s1, [0.5], method="empirical", **arguments),
        lambda: vertical_difference(y, s1, s2, [0.5], method="empirical", **arguments),
    ]


def test_a_seed_repeats_and_is_needed():
    for first, again, without in zip(_calls(rng=7), _calls(rng=7), _calls(), strict=True):
        assert first().to_dict() == again().to_dict()
        with pytest.raises(InputError, match="needs rng"):
            without()


def test_refuses_no_resamples():
    for call in _calls(rng=7, n_resamples=0):
        with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1, not 0"):
            call()


@pytest.mark.parametrize("rng", [True, "x", 1.5, -1, []])
def test_a_seed_is_a_whole_number_or_a_generator(rng):
    with pytest.raises(InputError, match="rng must be a seed"):
        generator(rng, 10)
