"""``rocmonitor auc``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rocmonitor.cli.terminal import OK, echo, print_json
from rocmonitor.errors import DegenerateDataError
from rocmonitor.wording.caveats import words_of

if TYPE_CHECKING:
    from rocmonitor.sources.files import ScoreFile
    from rocmonitor.stats import AucDifference, AucResult, PairedSample, Sample


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--label",
    required=True,
    metavar="COLUMN",
    help="Labels: 1 positive, 0 negative (or t and f, yes and no), empty unknown.",
)
@click.option(
    "--score",
    "scores",
    required=True,
    multiple=True,
    metavar="COLUMN",
    help="Scores; give it twice to compare two models, the champion first and the challenger second.",
)
@click.option(
    "--positive",
    metavar="LABEL",
    help="The label of the positives, such as bad.  [default: 1, true, t, yes or y]",
)
@click.option(
    "--negative",
    metavar="LABEL",
    help="With --positive, the label of the negatives.  [default: the only other label]",
)
@click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    help="The sign before decimals.  [default: .; with semicolons between columns also a comma]",
)
@click.option(
    "--confidence-level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def auc(
    file: Path,
    label: str,
    scores: tuple[str, ...],
    positive: str | None,
    negative: str | None,
    decimal: str | None,
    confidence_level: float,
    as_json: bool,
) -> int:
    """Compute the AUROC and its uncertainty from a file (csv, parquet); no configuration needed.

    With two scores, compare them too: the second minus the first (challenger minus champion).
    """
    from rocmonitor.sources.files import read_scores
    from rocmonitor.stats.nouns import classes
    from rocmonitor.wording.format import set_aside

    if len(set(scores)) < len(scores) or len(scores) > 2:
        raise click.UsageError("--score can be given once, or twice with two columns to compare")
    if negative is not None and positive in (None, negative):
        raise click.UsageError("--negative needs a --positive that is another label")
    rows = read_scores(file, label, scores, positive=positive, negative=negative, decimal=decimal)
    for reading in rows.read_as:
        echo(f"{file}: {reading}", err=True)
    n_pos = int(rows.y_true.sum())
    n_neg = len(rows.y_true) - n_pos
    if min(n_pos, n_neg) < 2:
        raise DegenerateDataError(
            f"{file}: {classes(n_pos, n_neg, ' and ')} are usable of "
            f"{rows.counts['rows']:,} rows (set aside: {set_aside(rows.counts) or 'none'}); "
            "at least 2 of each class are needed; --positive and --negative name other labels than 1 and 0"
        )
    answer = _measured(rows, confidence_level)
    if as_json:
        print_json(answer)
        return OK

    for name, area in answer["scores"].items():
        echo(
            f"{name}: AUROC {area['auc']:.6f}, {_interval(area, '.6f')} "
            f"(standard error {area['auc_se']:.6f} DeLong, {area['auc_se_exact_bootstrap']:.6f} exact "
            f"bootstrap; {area['positives']:,} positives, {area['negatives']:,} negatives)"
        )
        for caveat in area["caveats"]:
            echo(f"  note: {caveat['text']}")
    if "difference" in answer:
        champion, challenger = answer["scores"]
        difference = answer["difference"]
        echo(
            f"difference (challenger {challenger} minus champion {champion}): {difference['auc']:+.6f}, "
            f"{_interval(difference, '+.6f')}, p = {difference['pvalue']:.4g} (paired DeLong)"
        )
    if aside := set_aside(rows.counts):
        echo(f"set aside of {rows.counts['rows']:,} rows: {aside}")
    return OK


def _measured(rows: ScoreFile, confidence_level: float) -> dict[str, Any]:
    """Return each AUROC and, for two scores, their difference, named as the metrics of a window are."""
    from rocmonitor.policy.measure import auc_values, difference_values
    from rocmonitor.stats import PairedSample, Sample, auc, compare_auc_paired

    areas = {}
    for name, score in rows.scores.items():
        sample = Sample(rows.y_true, score)
        result = auc(sample)
        areas[name] = {
            **auc_values(result, confidence_level),
            "auc_se_exact_bootstrap": auc(sample, method="exact-bootstrap").se,
            **_details(result, sample, confidence_level),
        }
    answer: dict[str, Any] = {"scores": areas, "rows": rows.counts}
    if len(rows.scores) == 2:
        champion, challenger = rows.scores.values()
        pair = PairedSample(rows.y_true, challenger, champion)
        difference = compare_auc_paired(pair)
        values = difference_values(difference, confidence_level)
        answer["difference"] = values | _details(difference, pair, confidence_level)
    return answer


def _details(
    result: AucResult | AucDifference, rows: Sample | PairedSample, confidence_level: float
) -> dict[str, Any]:
    """Return how a number was computed, on how many rows, and its caveats."""
    from rocmonitor.policy.record import caveats_of

    return {
        "positives": rows.n_pos,
        "negatives": rows.n_neg,
        "method": result.method,
        "confidence_level": confidence_level,
        "caveats": [caveat.to_dict() | {"text": words_of(caveat)} for caveat in caveats_of(result)],
    }


def _interval(measured: dict[str, Any], digits: str) -> str:
    low, high = measured["auc_low"], measured["auc_high"]
    return f"{100 * measured['confidence_level']:g} % interval {low:{digits}} to {high:{digits}}"
