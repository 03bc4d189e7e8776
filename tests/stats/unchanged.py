"""Whether every public function of `rocmonitor.stats` returns what it did before, to the last bit.

    python tests/stats/unchanged.py BEFORE_TREE

compares this tree with another checkout of the repository, on random tied data sets, and prints every
difference. It takes a minute or two. Names that are not in `rocmonitor.stats` are looked up in
`rocmonitor.stats.research`.

    python tests/stats/unchanged.py --write OUT.json       what the rocmonitor on PYTHONPATH returns
    python tests/stats/unchanged.py --compare A.json B.json    every difference between two such files

Floats are written as ``float.hex()``, errors as the name of their type, caveats as their number.
"""

# Functions made in a loop are called in it; it is a command and prints.
# ruff: noqa: B023, T201

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Data(NamedTuple):
    """Labels and two scores of the same rows, cut into windows, and later rows."""

    name: str
    y: np.ndarray
    first: np.ndarray
    second: np.ndarray
    seed: int


def data_sets() -> Iterator[Data]:
    """25 data sets: sizes, shares of positives, numbers of distinct scores, and a few extremes."""
    designs = [
        (12, 0.5, 4), (20, 0.3, 6), (24, 0.5, 0), (30, 0.2, 10), (40, 0.5, 3), (40, 0.1, 12), (60, 0.5, 0),
        (60, 0.3, 8), (80, 0.05, 20), (80, 0.8, 15), (100, 0.5, 2), (100, 0.2, 30), (120, 0.5, 0),
        (150, 0.1, 25), (200, 0.4, 50), (250, 0.05, 0), (300, 0.3, 12), (400, 0.5, 40), (400, 0.1, 0),
        (600, 0.2, 100),
    ]  # fmt: skip
    for seed, (n, share, levels) in enumerate(designs, 1):
        rng = np.random.default_rng(seed)
        y = np.zeros(n, dtype=int)
        y[: max(1, round(share * n))] = 1
        first, second = rng.normal(1.2 * y, 1), rng.normal(0.8 * y, 1.5)
        second = 0.6 * first + 0.4 * second
        if levels:
            first, second = (np.round(s * levels / 6) / 8 for s in (first, second))
        order = rng.permutation(n)
        yield Data(f"n={n} share={share} levels={levels}", y[order], first[order], second[order], seed)
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1] * 4)
    steps = np.arange(32)
    one = np.nextafter(1.0, 2) - 1
    yield Data("one ulp", y, 1 + one * (steps % 5 + y), 1 + one * (steps % 7), 101)
    yield Data("subnormal", y, 5e-324 * (steps % 5 + y), 5e-324 * (steps % 3), 102)
    yield Data("separated", y, y + steps / 100, 1.0 * (steps % 4), 103)
    yield Data("one score", y, np.ones(32), steps % 3 + 0.0, 104)
    yield Data("one positive", (steps == 7).astype(int), steps % 9 + 0.0, steps % 6 + 0.0, 105)


def looked_up(name: str) -> Any:
    """A public name, of `rocmonitor.stats` or else of `rocmonitor.stats.research`."""
    import rocmonitor.stats as stats

    if hasattr(stats, name):
        return getattr(stats, name)
    import rocmonitor.stats.research as research

    return getattr(research, name)


class Calls:
    """Calls by name on one data set, with what each returned."""

    def __init__(self, data: Data) -> None:
        self.data, self.found = data, {}

    def __call__(self, key: str, function: Callable[[], Any]) -> Any:
        result = None
        try:
            result = function()
            self.found[key] = exact(result)
        except Exception as error:
            self.found[key] = f"raises {type(error).__name__}"
        return result


def exact(value: Any) -> Any:
    """A value as JSON that loses nothing; of caveats only their number."""
    if isinstance(value, float | np.floating):
        return float(value).hex()
    if isinstance(value, np.ndarray):
        return exact(value.tolist())
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, dict):
        return {
            key: f"{len(item)} caveats" if key in ("caveats", "set_aside") else exact(item)
            for key, item in value.items()
        }
    if hasattr(value, "to_dict"):
        whole = value.to_dict()
        fit = whole.pop("fit", {})  # beside the other fields: older trees had no type of its own for it
        plain = {"to_dict": exact({name: fit[name] for name in fit if name != "usual"} | whole)}
        for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            if field.name not in plain["to_dict"] and field.name not in ("caveats", "fit"):
                plain[field.name] = exact(getattr(value, field.name))
        for name in ("regions", "joint", "area", "pairs", "change", "w", "largest"):
            if name in ("area", "pairs", "change", "w", "largest") and name not in plain["to_dict"]:
                if hasattr(value, name):
                    plain[name] = exact(getattr(value, name))
            elif name == "regions" and hasattr(value, name):
                plain[name] = [exact(each) for each in value.regions()]
        if hasattr(value, "to_frame"):
            plain["columns"] = list(value.to_frame().columns)
        return plain
    if dataclasses.is_dataclass(value):
        return {
            f.name: exact(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name != "caveats"
        }
    if isinstance(value, tuple | list):
        return [exact(item) for item in value]
    return repr(type(value))


def numbers(text: str) -> list[str]:
    """The numbers in a text."""
    return re.findall(r"[-+]?\d+(?:\.\d+)?", text)


def snapshot() -> dict[str, Any]:
    """What is returned, by data set and call."""
    found: dict[str, Any] = {}
    for data in data_sets():
        calls = Calls(data)
        for family in (areas, powers, curves, pairs, bands, costs, forecasts, sequences, samples):
            family(calls)
        found[data.name] = calls.found
    return found


def areas(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, seed = call.data
    sizes = {"m_pos": 7, "m_neg": 9}
    results = []
    for method in (
        "delong", "exact-bootstrap", "wmk16", "hanley-mcneil", "binormal", "upper-bound", "cortes-mohri",
        "bootstrap", "unknown",
    ):  # fmt: skip
        options: dict[str, Any] = {"n_resamples": 60, "rng": seed} if method == "bootstrap" else {}
        variants: dict[str, dict[str, Any]] = {"": {}}
        if method in ("exact-bootstrap", "wmk16", "bootstrap", "delong"):
            variants[" sized"] = sizes
        if method == "cortes-mohri":
            variants |= {" 3 errors": {"n_errors": 3}, " 0 errors": {"n_errors": 0}}
        for variant, more in variants.items():
            result = call(
                f"auc {method}{variant}", lambda: name("auc")(y, s1, method=method, **options, **more)
            )
            if result is None:
                continue
            results.append(result)
            call(f"auc {method}{variant} str", lambda: numbers(str(result)))
            for transform in ("none", "logit", "second-order", "percentile"):
                for level in (0.95, 0.6):
                    call(f"auc {method}{variant} ci {transform} {level}", lambda: result.ci(level, transform))
            call(f"auc {method}{variant} ci default", lambda: result.ci())
    half = len(y) // 2
    parts = [
        call("auc part", lambda p=p: name("auc")(y[p], s1[p])) for p in (slice(0, half), slice(half, None))
    ]
    for alternative in ("two-sided", "greater", "less", "unknown"):
        result = call(
            f"compare_auc {alternative}", lambda: name("compare_auc")(*parts, alternative=alternative)
        )
        call(f"compare_auc {alternative} ci", lambda: (result.ci(), result.ci(0.5)))
        for method in ("delong", "exact-bootstrap"):
            key = f"compare_auc_paired {method} {alternative}"
            paired = call(
                key, lambda: name("compare_auc_paired")(y, s1, s2, method=method, alternative=alternative)
            )
            call(f"{key} ci", lambda: (paired.ci(), paired.ci(0.5)))
    call("compare_auc_paired same", lambda: name("compare_auc_paired")(y, s1, s1))
    call("compare_auc mixed", lambda: name("compare_auc")(results[0], results[1]))
    three = np.stack([s1, s2, s1 + s2], axis=1)
    covariance = call("auc_covariance", lambda: name("auc_covariance")(y, three))
    for label, rows in (("one", [1, -1, 0]), ("two", [[1, -1, 0], [0, 1, -1]])):
        contrast = call(f"contrast {label}", lambda: covariance.contrast(rows))
        call(f"contrast {label} ci", lambda: (contrast.ci(), contrast.ci(0.8)))
    ranges = ({"max_fpr": 0.3}, {"min_tpr": 0.7}, {"fpr": (0.1, 0.55)}, {"tpr": (0.25, 0.9)}, {})
    for place, given in enumerate(ranges):
        for corrected in (False, True):
            key = f"partial_auc {place} {corrected}"
            part = call(key, lambda: name("partial_auc")(y, s1, corrected=corrected, **given))
            for transform in ("none", "logit"):
                call(f"{key} {transform}", lambda: part.ci(0.9, transform))
    for label, more in (("", {}), (" sized", sizes)):
        call(f"auc_skewness{label}", lambda: name("auc_skewness")(y, s1, **more))


def powers(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, _ = call.data
    Sample, PairedSample = name("Sample"), name("PairedSample")
    AucSpread, PairedSpread = name("AucSpread"), name("PairedSpread")
    sample, pair = Sample(y, s1), PairedSample(y, s1, s2)
    spreads = {
        "sample": lambda: AucSpread.from_sample(sample),
        "normal": lambda: AucSpread.normal(0.8),
        "obuchowski": lambda: AucSpread.obuchowski(0.85),
        "pair": lambda: PairedSpread.from_sample(pair),
        "pair obuchowski": lambda: PairedSpread.obuchowski(
            a=(1.2, 0.9), b=(1.0, 0.8), corr_pos=0.5, corr_neg=0.3, fpr=(0.0, 0.6)
        ),
    }
    reference = name("auc")(y, s1) if min(y.sum(), (1 - y).sum()) > 1 else None
    for label, made in spreads.items():
        spread = call(f"spread {label}", made)
        paired = label.startswith("pair")
        call(f"spread {label} at", lambda: spread.at(0.05) if paired else spread.at(0.7))
        call(
            f"spread {label} variance",
            lambda: spread.null_variance(50, 300.5) if paired else spread.variance(50, 300.5),
        )
        options: list[dict[str, Any]] = [
            {},
            {"alternative": "one-sided"},
            {"test": "score"},
            {"confidence_level": 0.8},
        ]
        if not paired:
            options += [{"transform": "logit"}, {"reference": (3000, 90000)}, {"against": 0.75}]
            options += [{"reference": reference}, {"reference": (2000, 2000), "test": "score"}]
        for place, more in enumerate(options):
            for drop in (0.05, -0.01):
                key = f"auc_power {label} {place} {drop}"
                call(key, lambda: name("auc_power")(spread, drop, n_pos=60, n_neg=400, **more))
            call(
                f"auc_sample_size {label} {place}",
                lambda: name("auc_sample_size")(spread, 0.05, ratio=3.0, power=0.85, **more),
            )
            call(
                f"detectable_drop {label} {place}",
                lambda: name("detectable_drop")(spread, n_pos=60, n_neg=400, power=0.7, **more),
            )
    call("auc_sample_size of sample", lambda: name("auc_sample_size")(sample, 0.04))
    call("auc_power of pair", lambda: name("auc_power")(pair, 0.04, n_pos=50, n_neg=90))


def curves(call: Calls) -> None:
    name = looked_up
    _, y, s1, _, seed = call.data
    at = np.concatenate([[-np.inf], np.quantile(s1, [0.1, 0.4, 0.5, 0.8]), [np.inf]])
    drawn = {"n_resamples": 40, "rng": seed}
    rates = [0.1, 0.25, 0.5, 0.77]
    for method in (
        "agresti-coull", "wald", "wilson", "clopper-pearson", "jeffreys", "exact", "empirical", "unknown",
    ):  # fmt: skip
        for joint in (True, False):
            for label, more in variants():
                key = f"threshold_intervals {method} {joint} {label}"
                options = more | (drawn if method == "empirical" else {})
                call(
                    key, lambda: name("threshold_intervals")(y, s1, at, method=method, joint=joint, **options)
                )
    for label, more in variants():
        law = call(f"threshold_law {label}", lambda: name("threshold_law")(y, s1, float(at[2]), **more))
        call(f"threshold_law {label} joint", lambda: law.joint([0, 1, 2], [1, 1, 3]))
    for method in ("agresti", "wald", "exact", "empirical", "kernel"):
        options = drawn if method == "empirical" else {}
        call(
            f"vertical_intervals {method}",
            lambda: name("vertical_intervals")(y, s1, rates, method=method, **options),
        )
        call(
            f"vertical_intervals {method} sized",
            lambda: name("vertical_intervals")(
                y, s1, rates, method=method, m_pos=8, m_neg=11, confidence_level=0.8, **options
            ),
        )
        for sampling in (
            "stratified",
            *(("full",) if len(y) <= 40 or (method == "wald" and len(y) <= 100) else ()),
        ):
            call(
                f"total_rate_intervals {method} {sampling}",
                lambda: name("total_rate_intervals")(
                    y, s1, rates, method=method, sampling=sampling, **options
                ),
            )
    for bandwidth in (0.3, (0.2, 0.5)):
        call(
            f"vertical_intervals kernel {bandwidth}",
            lambda: name("vertical_intervals")(y, s1, rates, method="kernel", bandwidth=bandwidth),
        )
    call("vertical_law", lambda: name("vertical_law")(y, s1, 0.3))
    call("vertical_law sized", lambda: name("vertical_law")(y, s1, 0.3, m_pos=5, m_neg=6))
    for sampling in ("stratified", *(("full",) if len(y) <= 40 else ())):
        call(f"total_rate_law {sampling}", lambda: name("total_rate_law")(y, s1, 0.3, sampling=sampling))
    call("averaging_table", lambda: name("averaging_table")(y, s1, at[1:-1], confidence_level=0.9))


def variants() -> Iterator[tuple[str, dict[str, Any]]]:
    """Options of functions that know two kinds of sampling."""
    yield "stratified", {}
    yield "sized", {"m_pos": 6, "m_neg": 9}
    yield "full", {"sampling": "full"}


def pairs(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, seed = call.data
    at = np.column_stack([np.quantile(s1, [0.2, 0.5, 0.8]), np.quantile(s2, [0.2, 0.5, 0.8])])
    drawn = {"n_resamples": 40, "rng": seed}
    for method in ("agresti-min", "wald", "exact", "empirical"):
        options = drawn if method == "empirical" else {}
        for joint in (True, False):
            for label, more in variants():
                call(
                    f"threshold_difference {method} {joint} {label}",
                    lambda: name("threshold_difference")(
                        y, s1, s2, at, method=method, joint=joint, **options, **more
                    ),
                )
    for label, more in variants():
        call(f"threshold_dominance {label}", lambda: name("threshold_dominance")(y, s1, s2, at, **more))
    call("matched_pairs", lambda: name("matched_pairs")(y, s1, s2, [0.1, 0.4, 0.7]))
    for method in ("isotonic", "platt"):
        call(
            f"calibrated_pairs {method}",
            lambda: name("calibrated_pairs")(y, s1, s2, [0.2, 0.4], method=method),
        )
    few = len(y) <= 120
    for method in ("agresti", "wald", "empirical", *(("exact",) if few else ())):
        options = drawn if method == "empirical" else {}
        for label, more in (
            ("", {}),
            (" sized", {"m_pos": 6, "m_neg": 9}),
            (" thinned", {"max_thresholds": 12}),
        ):
            call(
                f"vertical_difference {method}{label}",
                lambda: name("vertical_difference")(y, s1, s2, [0.2, 0.5], method=method, **options, **more),
            )
    call(
        "vertical_difference_law", lambda: name("vertical_difference_law")(y, s1, s2, 0.4, max_thresholds=60)
    )


def bands(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, seed = call.data
    drawn = {"n_resamples": 39, "rng": seed}
    for method in (
        "smoothed-db", "smoothed-sup", "naive-db", "naive-sup", "studentized-sup", "kolmogorov-smirnov",
        "working-hotelling", "unknown",
    ):  # fmt: skip
        call(f"roc_band {method}", lambda: name("roc_band")(y, s1, method=method, **drawn))
    for bandwidth in ("robust", "undersmoothed", 0.4, (0.3, 0.2), "unknown"):
        call(f"roc_band {bandwidth}", lambda: name("roc_band")(y, s1, bandwidth=bandwidth, **drawn))
    call("roc_band level", lambda: name("roc_band")(y, s1, confidence_level=0.83, **drawn))
    call("roc_band few resamples", lambda: name("roc_band")(y, s1, n_resamples=5, rng=seed))
    for method in ("studentized-sup", "naive-sup"):
        for label, more in (
            ("", {}),
            (" rates", {"fpr": [0.5, 0.2, 0.31]}),
            (" level", {"confidence_level": 0.5}),
        ):
            call(
                f"roc_difference_band {method}{label}",
                lambda: name("roc_difference_band")(y, s1, s2, method=method, **drawn, **more),
            )
    for method in ("smoothed", "studentized", "naive"):
        call(
            f"roc_pointwise {method}",
            lambda: name("roc_pointwise")(y, s1, [0.3, 0.1, 0.6], method=method, **drawn),
        )
    for functional in ("auc", "youden", _at_half):
        for method in ("smoothed", "naive"):
            call(
                f"roc_functional {getattr(functional, '__name__', functional)} {method}",
                lambda: name("roc_functional")(y, s1, functional, method=method, **drawn),
            )


def _at_half(fpr: np.ndarray, tpr: np.ndarray) -> float:
    return float(np.interp(0.5, fpr, tpr))


def costs(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, _ = call.data
    w = [0.0, 0.1, 0.3, 0.5, 0.8]
    chosen = call("cost_thresholds", lambda: name("cost_thresholds")(y, s1, w))
    other = call("cost_thresholds second", lambda: name("cost_thresholds")(y, s2, w))
    conditions = name("OperatingCondition").at(0.3, prevalence=0.2, false_positive=3.0)
    call("OperatingCondition", lambda: conditions)
    for method in ("wald", "agresti", "exact", "mover"):
        for label, more in variants():
            curve = call(
                f"cost_curve {method} {label}",
                lambda: name("cost_curve")(y, s1, w, chosen.threshold, method=method, **more),
            )
            both = call(
                f"cost_difference {method} {label}",
                lambda: name("cost_difference")(
                    y, s1, s2, w, chosen.threshold, other.threshold, method=method, **more
                ),
            )
            for kind, costed in (("curve", curve), ("difference", both)):
                call(
                    f"expected_cost {kind} {method} {label}",
                    lambda: name("expected_cost")(
                        costed,
                        [name("OperatingCondition").at(v, prevalence=0.2, false_positive=3.0) for v in w],
                        decisions=500,
                    ),
                )


def forecasts(call: Calls) -> None:
    name = looked_up
    _, y, s1, s2, seed = call.data
    Sample, PairedSample = name("Sample"), name("PairedSample")
    for distance in (0.0, 0.02, 0.3, 2.0, 20.0, -1.0):
        call(f"auc_bounds {distance}", lambda: name("auc_bounds")(y, s1, distance))
    for target in (0.2, 0.55, 0.9, 0.0, 1.0, 1.5):
        call(f"auc_distance {target}", lambda: name("auc_distance")(y, s1, target))
    call("auc_path", lambda: name("auc_path")(y, s1, [0.0, 0.01, 0.2, 1.0]))
    weights = np.linspace(0.5, 2.0, len(y))
    call("weighted auc_bounds", lambda: name("auc_bounds")(name("weighted_sample")(y, s1, weights), 0.1))
    call("weighted auc_distance", lambda: name("auc_distance")(name("weighted_sample")(y, s1, weights), 0.6))
    call("weighted auc_path", lambda: name("auc_path")(name("weighted_sample")(y, s1, weights), [0.05, 0.1]))
    call("weighted refused", lambda: name("weighted_sample")(y, s1, -weights))
    for alternative in ("two-sided", "greater", "less"):
        for method in ("studentized", "plain"):
            options = {"alternative": alternative, "method": method, "n_resamples": 30, "rng": seed}
            call(f"auc_test {alternative} {method}", lambda: name("auc_test")(y, s1, 0.6, **options))
            if alternative == "two-sided" or method == "studentized":
                call(
                    f"auc_equality_test {alternative} {method}",
                    lambda: name("auc_equality_test")(y[:120], s1[:120], s2[:120], **options),
                )
    sample, cells = Sample(y, s1), 5
    call("condensed", lambda: sampled(name("condensed")(sample, cells=cells)))
    rng = np.random.default_rng(seed + 1000)
    count = 6 if len(y) < 400 else 21
    rows = [rng.integers(len(y), size=max(8, len(y) // 2)) for _ in range(count)]
    later = [Sample(y[r], s1[r] + 0.125 * (k % 3)) for k, r in enumerate(rows)]
    inside = [Sample(y[k::4], s1[k::4]) for k in range(4)]
    for symmetric in (False, True):
        for bins in (3, 10):
            call(
                f"binned_distance {symmetric} {bins}",
                lambda: name("binned_distance")(sample, later, bins=bins, symmetric=symmetric),
            )
    intervals(call, sample, later, inside, seed)
    for joined in (False, True):
        call(
            f"explain_shift {joined}", lambda: name("explain_shift")(sample, later[1], joined=joined, bins=4)
        )
    pair = PairedSample(y, s1, s2)
    paired = [PairedSample(y[r], s1[r], s2[r]) for r in rows[:4]]
    for distance in (0.0, 0.02, 0.5):
        found = call(
            f"forecast_difference {distance}", lambda: name("forecast_difference")(pair, distance=distance)
        )
        call(
            f"forecast_difference {distance} contains", lambda: [found.contains(d) for d in (-0.2, 0.0, 0.1)]
        )
    if len(y) <= 100:
        call(
            "forecast_difference windows",
            lambda: name("forecast_difference")(pair, windows=paired, confidence_level=0.7),
        )


def sampled(sample: Any) -> Any:
    """A sample's arrays."""
    return [exact(each) for each in (sample.score, sample.pos, sample.neg, sample.n_pos, sample.n_neg)]


def intervals(call: Calls, sample: Any, later: list[Any], inside: list[Any], seed: int) -> None:
    forecast = looked_up("forecast_interval")
    n = len(later)
    cases: dict[str, dict[str, Any]] = {
        "calibrated": {"windows": later},
        "calibrated inside": {"windows": inside, "confidence_level": 0.7},
        "calibrated batch": {"windows": later, "batch": (9, 30), "confidence_level": 0.8},
        "calibrated less": {
            "windows": later,
            "alternative": "less",
            "confidence_level": 0.7,
            "batch": (4, 4),
        },
        "calibrated weights": {"windows": later, "weights": np.linspace(0.2, 1, n), "confidence_level": 0.7},
        "calibrated few": {"windows": later[:2]},
        "binned": {"method": "binned", "windows": later},
        "binned symmetric": {
            "method": "binned",
            "windows": later,
            "symmetric": True,
            "weights": np.linspace(0.2, 1, n),
        },
        "dual": {"method": "dual", "windows": later, "confidence_level": 0.6},
        "dual less": {"method": "dual", "windows": later, "confidence_level": 0.6, "alternative": "less"},
        "bootstrap": {"method": "bootstrap", "windows": later, "n_resamples": 30, "rng": seed},
        "bootstrap batch": {
            "method": "bootstrap",
            "batch": (12, 30),
            "n_resamples": 30,
            "rng": seed,
            "symmetric": True,
        },
        "fixed": {"method": "fixed", "distance": 0.05},
        "fixed less": {"method": "fixed", "distance": 0.05, "alternative": "less", "batch": (5, 6)},
        "refused windows": {},
        "refused distance": {"windows": later, "distance": 0.1},
        "refused weights": {"windows": later, "weights": [0.0] * n},
        "refused batch": {"windows": later, "batch": (0, 3)},
    }
    for label, options in cases.items():
        found = call(f"forecast_interval {label}", lambda: forecast(sample, **options))
        if found is None:
            continue
        call(f"forecast_interval {label} contains", lambda: [found.contains(a) for a in (0.3, 0.7, 0.9)])
        call(f"forecast_interval {label} margin", lambda: [found.margin(a) for a in (0.3, 0.7, 0.9)])
        call(f"forecast_interval {label} for_batch", lambda: found.for_batch(sample, (7, 21)))
        call(f"forecast_interval {label} str", lambda: numbers(str(found)))


def sequences(call: Calls) -> None:
    name = looked_up
    rng = np.random.default_rng(call.data.seed)
    k = 1 + call.data.seed % 15
    d = np.clip(rng.normal(0.02, 0.03, k), -1, 1)
    s = np.abs(rng.normal(0.02, 0.005, k))
    s[:: call.data.seed % 4 + 2] = 0
    for label, more in (
        ("", {}),
        (" tuned", {"tuned_for": 5.0, "confidence_level": 0.9}),
        (" weights", {"weights": rng.uniform(0.5, 2, k)}),
        (" refused", {"tuned_for": 0.1}),
    ):
        found = call(f"confidence_sequence{label}", lambda: name("confidence_sequence")(d, s, **more))
        for place, options in enumerate(
            ({}, {"margin": 0.01}, {"difference": 0.05}, {"largest": 3}, {"margin": -1})
        ):
            call(f"windows_to_decide{label} {place}", lambda: name("windows_to_decide")(found, **options))


def samples(call: Calls) -> None:
    Sample, PairedSample = looked_up("Sample"), looked_up("PairedSample")
    _, y, s1, s2, _ = call.data
    half = len(y) // 2
    sample, pair = Sample(y, s1), PairedSample(y, s1, s2)
    call("Sample", lambda: sampled(sample))
    call(
        "Sample merged",
        lambda: sampled(Sample.merge([Sample(y[:half], s1[:half]), Sample(y[half:], s1[half:])])),
    )
    call("Sample counts", lambda: sampled(Sample.from_counts(s1, y * 2, (1 - y) * 3)))
    for label, made in (
        ("", lambda: pair),
        (" swapped", pair.swapped),
        (" counts", lambda: PairedSample.from_counts(s1, s2, y * 2, (1 - y) * 3)),
        (" merged", lambda: PairedSample.merge([pair, pair.swapped()])),
    ):
        call(
            f"PairedSample{label}",
            lambda: [
                sampled((it := made()).first),
                sampled(it.second),
                exact(it.index_1),
                exact(it.pos),
                exact(it.neg),
            ],
        )
    call("Sample refused", lambda: Sample(y + 1, s1))
    call("Sample nan", lambda: Sample(y, s1 * np.nan))
    for least in (1, 3):
        call(f"require {least}", lambda: sample.require_both_classes(at_least=least))
    call("require distinct", sample.require_distinct_scores)


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Every difference, one line each."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield f"{path} / {key}: gone"
            elif key not in before:
                yield f"{path} / {key}: new"
            else:
                yield from differences(before[key], after[key], f"{path} / {key}")
    elif before != after:
        yield f"{path}: {shortened(before)} -> {shortened(after)}"


def shortened(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "..."


def write(path: str) -> None:
    """Write what is returned to a file."""
    import rocmonitor

    began = time.perf_counter()
    found = snapshot()
    with open(path, "w", encoding="utf-8") as out:
        json.dump(found, out, indent=0)
    calls = sum(map(len, found.values()))
    raised = sum(
        isinstance(v, str) and v.startswith("raises") for each in found.values() for v in each.values()
    )
    spent = time.perf_counter() - began
    print(f"{rocmonitor.__file__}: {calls} calls, {raised} refused, {spent:.0f} s")


def compare(before: str, after: str) -> int:
    """Print every difference between two files; how many there are."""
    with open(before, encoding="utf-8") as one, open(after, encoding="utf-8") as other:
        found = list(differences(json.load(one), json.load(other)))
    for line in found:
        print(line)
    print(f"{len(found)} differences")
    return len(found)


def compare_trees(before: Path) -> int:
    """Run both trees in processes of their own, and compare what they return."""
    here = Path(__file__).resolve()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, tree in (("before", before.resolve()), ("after", here.parents[2])):
            files.append(str(Path(folder) / f"{name}.json"))
            command = [sys.executable, "-W", "ignore", str(here), "--write", files[-1]]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(tree)})
        return compare(*files)


def main(arguments: list[str]) -> int:
    """One of the three commands above."""
    if len(arguments) == 3 and arguments[0] == "--compare":
        return 1 if compare(arguments[1], arguments[2]) else 0
    if len(arguments) == 2 and arguments[0] == "--write":
        write(arguments[1])
        return 0
    if len(arguments) == 1 and (Path(arguments[0]) / "rocmonitor").is_dir():
        return 1 if compare_trees(Path(arguments[0])) else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
