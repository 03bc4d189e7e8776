"""A result of every kind that the front door of the statistics returns and that has a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from rocmonitor import stats
from rocmonitor.stats import OperatingCondition, PairedSample, Sample

N, W = 240, [0.2, 0.5, 0.8]


def every_picture() -> dict[str, Any]:
    """By the name of its type."""
    rng = np.random.default_rng(3)
    y = np.arange(N) % 2
    first, second = (np.round(rng.normal(y, sd), 1) for sd in (1.2, 0.8))
    pair = PairedSample(y, first, second)
    weekday = np.array(["Monday", "Tuesday", "Sunday"])[np.arange(N) // 2 % 3]
    weeks = [Sample(y[part], first[part]) for part in np.split(np.arange(N), 6)]
    reference = Sample.merge(weeks)
    models = stats.auc_covariance(y, np.column_stack([first, second]))
    many = [Sample(y[part], first[part]) for part in np.split(np.arange(N), 12)]
    chosen = stats.cost_thresholds(y, first, W)
    cost = stats.cost_curve(y, first, W, chosen.threshold)
    conditions = [OperatingCondition.at(w, prevalence=0.3) for w in W]
    results = [
        stats.auc(y, first).ci(),
        stats.auc(y, first),
        stats.auc(y, first, method="bootstrap", n_resamples=50, rng=1),
        stats.compare_auc_paired(pair),
        stats.partial_auc(y, first, max_fpr=0.3),
        models,
        models.contrast([[1, -1], [1, 0]]),
        stats.roc_curve(y, first),
        stats.vertical_intervals(y, first, [0.1, 0.2]),
        stats.roc_pointwise(y, first, np.linspace(0.02, 0.98, 40), n_resamples=50, rng=1),
        stats.roc_band(y, first, n_resamples=50, rng=1),
        stats.roc_difference_band(pair, n_resamples=99, rng=1),
        stats.vertical_difference(pair, [0.1, 0.2]),
        stats.vertical_difference_unpaired((y, first), (y, second), [0.1, 0.2]),
        stats.threshold_difference_unpaired((y, first), (y, second), [0.5, 1.0]),
        stats.threshold_intervals(y, first, [0.5, np.inf]),
        stats.threshold_law(y, first, 0.5),
        stats.threshold_difference(pair, [(0.5, 0.5), (1, 1)]),
        stats.threshold_dominance(pair, [(0.5, 0.5), (1, 1)]),
        stats.total_rate_intervals(y, first, [0.1, 0.3]),
        stats.total_rate_law(y, first, 0.1),
        stats.total_rate_difference(pair, [0.1, 0.3]),
        stats.total_rate_difference_law(pair, 0.3),
        chosen,
        cost,
        stats.cost_difference(pair, W, chosen.threshold, chosen.threshold),
        stats.expected_cost(cost, conditions, decisions=1000),
        stats.forecast_interval(reference, windows=weeks, batch=(20, 20)),
        stats.forecast_interval(reference, windows=many, given=first[:40]),
        stats.lasting_change(many, [Sample(y[:80], -first[:80])] * 6),
        stats.score_shift(reference, first[:40] - 0.5),
        stats.forecast_difference(pair, distance=0.01),
        stats.auc_bounds(reference, 0.01),
        stats.explain_shift(reference, weeks[0]),
        stats.group_changes((y[:120], first[:120], weekday[:120]), (y[120:], second[120:], weekday[120:])),
        stats.group_changes_by_column(
            (y[:120], first[:120], {"weekday": weekday[:120], "hour": np.arange(120) % 3}),
            (y[120:], second[120:], {"weekday": weekday[120:], "hour": np.arange(120) % 3}),
        ),
        stats.confidence_sequence([0.02, 0.01, 0.03, 0.0, 0.02, 0.01], np.full(6, 0.004)),
    ]
    return {type(result).__name__: result for result in results}
