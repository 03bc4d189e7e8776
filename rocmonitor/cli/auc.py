"""``rocmonitor auc``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rocmonitor.cli.exit_codes import OK
from rocmonitor.cli.terminal import print_auc, print_json, set_aside
from rocmonitor.errors import DegenerateDataError


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--label", required=True, metavar="COLUMN", help="Labels: 1 positive, 0 negative, empty unknown."
)
@click.option(
    "--score",
    "scores",
    required=True,
    multiple=True,
    metavar="COLUMN",
    help="Scores; twice to compare two models.",
)
@click.option("--confidence-level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def auc(file: Path, label: str, scores: tuple[str, ...], confidence_level: float, as_json: bool) -> int:
    """AUROC with its uncertainty from a file (csv, parquet), without a service."""
    from rocmonitor.sources.files import read_scores
    from rocmonitor.stats import Sample, auc, compare_auc_paired

    if len(set(scores)) < len(scores) or len(scores) > 2:
        raise click.UsageError("--score can be given once, or twice with two columns to compare")
    rows = read_scores(file, label, scores)
    results = {}
    for name in scores:
        sample = Sample(rows.y_true, rows.scores[name])
        if min(sample.n_pos, sample.n_neg) < 2:
            raise DegenerateDataError(
                f"{file}: {sample.n_pos} positives and {sample.n_neg} negatives are usable of "
                f"{rows.counts['rows']:,} rows ({set_aside(rows.counts) or 'none set aside'}); "
                "at least 2 of each class are needed, and labels must be 1 and 0"
            )
        delong, exact = auc(sample), auc(sample, method="exact-bootstrap")
        low, high = delong.ci(confidence_level, transform="logit")
        results[name] = delong.to_dict() | {
            "se_exact_bootstrap": exact.se,
            "low": low,
            "high": high,
            "confidence_level": confidence_level,
        }
    answer: dict[str, Any] = {"scores": results, "rows": rows.counts}
    if len(scores) == 2:
        difference = compare_auc_paired(rows.y_true, *(rows.scores[name] for name in scores))
        low, high = difference.ci(confidence_level)
        answer["difference"] = difference.to_dict() | {"low": low, "high": high}
    if as_json:
        print_json(answer)
    else:
        print_auc(answer, confidence_level)
    return OK
