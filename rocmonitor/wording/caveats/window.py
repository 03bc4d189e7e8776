"""Caveats on a window's rows, its reference and its model versions."""

import re
from collections.abc import Callable, Sequence

from rocmonitor.wording.format import are, lower, one_line, still
from rocmonitor.wording.format import count as counted
from rocmonitor.wording.revised import judged_again

_COMMA = re.compile(r"'[+-]?\d*,\d+'")


def _text_scores(*, monitor: str, source: str, count: int, rows: int, examples: Sequence[str]) -> str:
    comma = any(_COMMA.fullmatch(example) for example in examples)
    key = f"set sources.{source}.decimal to ',' (of files), or " if comma else ""
    return (
        f"{count:,} of {rows:,} rows {are(count)} set aside: the score is not a finite "
        f"number, and some are text (such as {', '.join(examples)}); "
        f"{key}convert the column in monitors.{monitor}.query"
    )


def _unreadable_cells(
    *,
    count: int,
    column: str,
    kind: str,
    examples: Sequence[str],
    file: str = "",
    in_file: Sequence[int] = (),
) -> str:
    where = f", {in_file[0]:,} of {in_file[1]:,} in {file}," if file else ""
    return (
        f"{counted(count, 'cell')} of the column {column} cannot be read as {kind} (such as "
        f"{', '.join(examples)}){where} and {'counts' if count == 1 else 'count'} as "
        "missing; rows without a time are in no window"
    )


def _two_labels(
    *, count: int, set_aside: int, rows: int, column: str, labelled_at: str | None, monitor: str
) -> str:
    text = f"{count:,} {'id has' if count == 1 else 'ids have'} two labels ({column}, {rows:,} rows): "
    if not set_aside:
        return text + f"the one that became known later counts ({labelled_at})"
    query = f"let monitors.{monitor}.query return one label of each"
    if labelled_at is None:
        return text + f"set aside; name when labels became known (columns.labelled_at), or {query}"
    part = "" if set_aside == count else f" of {set_aside:,} of them"
    return text + f"the labels{part} became known at the same time ({labelled_at}): set aside; {query}"


def _rows_from_store(*, count: int, period: str, source: str, why: str | None) -> str:
    windows = "the window" if count == 1 else f"{count:,} windows"
    reason = "no longer has its rows" if count == 1 else "no longer has their rows"
    return (
        f"{windows} ({period}) as counted in the store when the rows were last read: source {source} "
        f"{reason if why is None else f'cannot be asked: {one_line(why, 300)}'}"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    # The clock, from rocmonitor.service.timekeeping
    "clock-set-forward": (
        "the clock was set {ahead} forward; windows that end after {until} wait until it has stayed "
        "so for an hour"
    ),
    "clock-ahead-of-store": (
        "the clock of this machine is {ahead} ahead of the clock of the store's database; windows that end "
        "after {until} wait until both agree"
    ),
    # Rows, from rocmonitor.sources
    "rows-truncated": (
        "the window has more rows than sources.{source}.max_rows: only part of it was read, and another run "
        "may read another part; raise max_rows, or set monitors.{monitor}.grouped to condensed or database"
    ),
    "condensed": (
        "the {rows:,} labelled rows were read as {cells:,} cells of neighbouring scores: the AUROC is off by "
        "at most {auc:.2g}, its standard error by {se:.2g}, a true positive rate by {tpr:.2g} and a false "
        "positive rate by {fpr:.2g}; intervals allow for it"
    ),
    "rows-drawn": (
        "the models are compared on {drawn:,} of {rows:,} rows, drawn at random; the same rows are drawn "
        "each time"
    ),
    "condensed-too-coarse": (
        "the cells of neighbouring scores{grid: ({grid})|} leave {error:.2g} of the AUROC open, more than "
        "condense.max_error, {max_error:.2g}: raise condense.per_unit, or set grouped: raw"
    ),
    "rows-outside": (
        "{count:,} of {rows:,} rows {count:is|are} set aside: the {column} is outside the window, missing, "
        "or not a time; use :start and :end in monitors.{monitor}.query"
    ),
    "rows-from-store": _rows_from_store,
    "ids-repeated": (
        "{count:,} of {rows:,} rows {count:is|are} set aside: another row has the same {column}; name a "
        "column whose value differs for every scored case in monitors.{monitor}.columns.id, or leave id out"
    ),
    "ids-with-two-labels": _two_labels,
    "share-below-one-row": (
        "a flagged share of {share:g} of {rows:,} rows is less than one row: its precision is that of the "
        "row with the highest score"
    ),
    "clusters-missing": (
        "{count:,} of {rows:,} rows {count:has|have} no {column}: each counts as a cluster of its own; if "
        "they belong together, fill {column} in the query"
    ),
    "one-cluster": (
        "the rows of a class come from one cluster ({positives} with positives, {negatives} with negatives), "
        "so nothing shows how far clusters scatter: see whether columns.cluster names what rows belong to"
    ),
    "clusters-span-windows": (
        "{shared:,} of {clusters:,} clusters have rows in more than one window: windows that share clusters "
        "are alike, and intervals over several windows that take them as independent are too narrow"
    ),
    "clusters-in-part": (
        "rows come in clusters: AUROCs, their differences and the decision allow for it; the band of the "
        "curves, the rates of the whole period, costs and the forecast take rows as independent"
    ),
    "rows-with-bad-labels": (
        "{count:,} of {rows:,} rows {count:is|are} set aside: the label is neither {positive!r} nor "
        "{negative!r} (found: {examples}); set monitors.{monitor}.positive.label and "
        "monitors.{monitor}.positive.negative"
    ),
    "text-scores": _text_scores,
    "cells-unreadable": _unreadable_cells,
    "lines-unreadable": (
        "{count:,} {count:line|lines} of the files cannot be read, {count:|such as }{examples}: "
        "{count:it has|they have} another number of columns or another encoding, and {count:is|are} in no "
        "window"
    ),
    # Windows that are joined, from rocmonitor.service.pieces
    "windows-pooled": (
        "{windows} windows ({every} each), {period}, are pooled: not each of them has "
        "{min_per_class:,} positives and {min_per_class:,} negatives (min_per_class)"
    ),
    # Outlooks, from rocmonitor.policy.outlook and judge
    "judged-again": judged_again,
    "rows-since-outlook": "{now:,} rows are scored now; the outlook was made from {then:,}",
    "no-longer-certain": lambda *, low, high, **_: still(low, high),
    "recovered": lambda *, change, low, high: (
        "no rule finds a loss any more" if change is None else f"back: {lower(change, low, high)} since then"
    ),
    "warning-waits": "the scores of another window warn, and that one waits for its labels",
    "warning-ended": lambda *, answer: {
        "right": "the warning from the scores is confirmed",
        "wrong": "the warning from the scores is withdrawn",
        "undecided": "the labels are too few to confirm or withdraw the warning from the scores",
    }[answer],
    # Measurements, from rocmonitor.policy.measure
    "challenger-scored-too-few": (
        "the challenger is left out: it scored {n_pos:,} positives and {n_neg:,} negatives, and at least 2 "
        "of each are needed"
    ),
    "challenger-scores-missing": (
        "the challenger is compared on the {rows:,} rows that both models scored, where the champion's AUROC "
        "is {champion_auc:.3f}; the challenger has no score for {missing:,} rows"
    ),
    "no-curve": "the {model} has no curve and no operating points: all its {rows:,} scores are {score:g}",
    "nearest-rate": lambda *, fpr, used_fpr, n_neg, model="": (
        f"the true positive rate{model and f' of the {model}'} at {fpr:g} is given at {used_fpr:g}, the "
        f"nearest false positive rate that {n_neg:,} negatives allow"
    ),
    "no-dominance": (
        "the models are not compared row by row at thresholds: one of them gave the same score to all rows "
        "that both scored"
    ),
}
