"""Caveats on the rules of a monitor, its reference and its model versions; why something cannot be judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocmonitor.wording.format import CUT, count, named_windows, percent, set_aside, windows_of


def _too_few_rows(**counts: Any) -> str:
    aside = set_aside(counts)
    return (
        f"{count(counts['n_pos'], 'positive')} and {count(counts['n_neg'], 'negative')} are usable of "
        f"{counts['rows']:,} rows{f' ({aside})' if aside else ''}; min_per_class is "
        f"{counts['min_per_class']:,}{CUT if counts.get('truncated') else ''}"
    )


def _unusable(*, share: float, usual: float | None, most: float, refused: bool, **counts: Any) -> str:
    parts = {name: counts[name] for name in ("bad_score", "bad_label", "duplicates", "two_labels", "outside")}
    lost = sum(parts.values())
    text = f"{lost:,} of {counts['rows']:,} rows ({percent(share)}) cannot be used: {set_aside(parts)}"
    if usual is not None:
        text += f"; in the reference windows {f'at most {percent(usual)}' if usual else 'none'}"
    return text + (f". With more than {percent(most)} the rest is not judged" if refused else "")


SENTENCES: dict[str, str | Callable[..., str]] = {
    "error": "{text}",
    "works-again": "the monitor works again",
    "episode-closed": "the loss was {why}",
    "monitor-removed": (
        "the monitor is no longer in the configuration, renamed or removed: its alarm ({status}) ends with it"
    ),
    "no-rows": "no rows: nothing was scored in this window, or the query does not find it",
    "too-few-rows": _too_few_rows,
    "too-few-scores": "{rows:,} rows have a score, and an outlook needs {min_rows:,}: twice min_per_class",
    "one-score": "all {rows:,} scores are {score:g}: is the scoring broken?",
    "no-scatter-to-compare": "AUROC {auc:.3f} here and {reference_auc:.3f} in the reference, and neither "
    "shows any scatter to compare by",
    "not-computed": "{why}",
    "degraded-alone": (
        "{outcome} alone (p = {pvalue:.2g}), but not after allowing for the {segments} segments judged in "
        "this window (adjusted p = {adjusted_pvalue:.2g}, and {needed:.2g} is needed)"
    ),
    "rows-unusable": _unusable,
    "reference-windows-pooled": (
        "{windows:,} {windows:reference window has|reference windows have} fewer than {min_per_class:,} rows "
        "of a class (min_per_class) and {windows:counts|count} together with a neighbour"
    ),
    "reference-without-windows": lambda *, count, n_windows, unit, names, aucs: (
        f"the reference was learned without {windows_of(count, n_windows, unit)}, far below the others: "
        f"{named_windows(names, aucs)}"
    ),
    "segment-not-in-reference": "the reference has no rows of this segment",
    "no-reference-window": (
        "no whole window ({every}) lies in the reference period, {period}: choose a longer one, cut it finer "
        "(reference.windows), or set window.align"
    ),
    "window-in-reference": "this window is a part of the reference that it is compared with",
    "version-not-named": (
        "the configuration names no version of {model}, so results before and after a new version look "
        "alike; set model.version (any text, such as a date) or model.champion (an MLflow alias)"
    ),
    "version-unknown": "the challenger's version is not known: {why}",
    "version-remembered": "MLflow could not be asked: {alias} was version {version} at {at}",
}
