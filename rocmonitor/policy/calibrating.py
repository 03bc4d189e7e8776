"""Scores that are probabilities: their calibration as metrics, and the rule `calibration`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from rocmonitor.caveat import Caveat
from rocmonitor.errors import InputError
from rocmonitor.policy.measure import LEVEL, Measured
from rocmonitor.policy.record import Row, caveats_of
from rocmonitor.stats import PairedSample, Sample, calibration, total_rate_intervals

NAMES = {
    "log_loss": "log_loss",
    "brier": "brier",
    "slope": "calibration_slope",
    "intercept": "calibration_intercept",
}
"""Metrics by the field of `rocmonitor.stats.Calibration`."""


class Beyond(NamedTuple):
    """The measures besides the ranking."""

    shares: Sequence[float] = ()  # of rows to flag, for each of which the precision is reported
    probability: bool = False  # True if the champion's scores are probabilities: their calibration


RANKING = Beyond()
"""Nothing."""


def beyond_ranking(
    measured: Measured, champion: Sample, pair: PairedSample | None, wanted: Beyond
) -> Measured:
    """Return the statistics of some scores with what the AUROC does not show."""
    metrics, doubts, result = dict(measured.metrics), list[Caveat](), None
    if wanted.probability:
        try:
            result = calibration(champion)
            doubts += caveats_of(result)
        except InputError as error:
            doubts.append(Caveat("not-probabilities", why=str(error)))
    for field, name in NAMES.items():
        if (value := getattr(result, field, None)) is not None:
            low, high = getattr(result, f"{field}_ci")(LEVEL)
            metrics |= {f"champion/{name}": value, f"champion/{name}_low": low, f"champion/{name}_high": high}
    models = {"champion": champion} | ({} if pair is None else {"challenger": pair.first})
    lines = [
        line
        for model, sample in models.items()
        if len(sample.score) > 1 and min(sample.n_pos, sample.n_neg) > 1
        for line in flagged_shares(model, sample, wanted.shares, LEVEL)
    ]
    for line in lines:
        name = f"{line['model']}/precision_at_share_{line['share']:g}"
        metrics |= {f"{name}{end}": line[f"precision{end}"] for end in ("", "_low", "_high")}
    rows = champion.n_pos + champion.n_neg
    doubts += [
        Caveat("share-below-one-row", share=share, rows=rows)
        for share in wanted.shares
        if 0 < share * rows < 1
    ]
    return replace(
        measured,
        calibration=result,
        metrics=metrics,
        tables=measured.tables | ({"shares": lines} if lines else {}),
        caveats=tuple(dict.fromkeys([*measured.caveats, *doubts])),
    )


def flagged_shares(model: str, sample: Sample, shares: Sequence[float], confidence_level: float) -> list[Row]:
    """Precision and TPR when a share of all rows is flagged, with intervals.

    Precision is the flagged positives among the flagged rows, whose number is taken as fixed: the interval is
    that of the TPR by the total-rate law, for a window with the same numbers of positives and negatives.
    """
    if not shares:
        return []
    intervals = total_rate_intervals(sample, shares, confidence_level=confidence_level)
    part = sample.n_pos / (sample.n_pos + sample.n_neg)
    lines = []
    for at, share in enumerate(shares):
        tpr = {end: float(getattr(intervals, f"tpr{end}")[at]) for end in ("", "_low", "_high")}
        # More than the rate where scores tie.
        flagged = tpr[""] * part + float(intervals.fpr[at]) * (1 - part)
        precision = {f"precision{end}": min(value * part / flagged, 1.0) for end, value in tpr.items()}
        lines.append({"model": model, "share": share, "flagged": flagged, **precision})
    return lines
