"""Whether a reference can serve the rules, in the words of the configuration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError
from rocmonitor.policy.orientation import negated
from rocmonitor.policy.reference import Reference, season_not_seen
from rocmonitor.policy.rules import Drop, Forecast, Lasting, Rule, before_labels
from rocmonitor.policy.scenario import forecast_weights
from rocmonitor.stats import Sample
from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING, windows_needed
from rocmonitor.stats.forecast.score_history import ENOUGH_WINDOWS
from rocmonitor.stats.lasting.chart import FEWEST_WINDOWS
from rocmonitor.stats.probabilities import require_probabilities


def unfit(
    reference: Reference, rules: Mapping[str, Rule], *, low_is_positive: bool
) -> tuple[list[str], list[DegenerateDataError]]:
    """Names of the rules that this reference cannot serve, and why, with the way out.

    Parameters
    ----------
    reference : Reference
        Frozen for `rules`, or without cells: as far as it is known from counts.
    rules : dict of str to Rule
    low_is_positive : bool
        Whether lower scores were configured to be more positive.
    """
    comparing = [name for name, rule in rules.items() if isinstance(rule, Forecast | Drop | Lasting)]
    whole = useless(reference, low_is_positive=low_is_positive)
    if comparing and whole:
        return comparing, [DegenerateDataError(f"{' and '.join(comparing)}: {whole}")]
    why = dict(_left_out(reference, rules))
    return list(why), [DegenerateDataError(f"{name}: {text}") for name, text in why.items()]


def backwards(monitor: Monitor, reference: Reference, *, read: bool) -> Iterator[ConfigError]:
    """A reference whose scores order the classes the wrong way round, or are not shown to order them at all.

    Unless the reference was `read`, its AUROC is that of the last window, and only one below 0.5 counts.
    """
    if reference.auc is None or _is_unusable(reference):
        return
    area, low_is_positive = reference.auc, monitor.positive.low_is_positive
    low, high = area.ci()
    if area.auc >= 0.5 and (low > 0.5 or not read):
        return
    other = "higher" if low_is_positive else "lower"
    positive = f"label {monitor.positive.label!r} (positive)"
    where = "below 0.5"
    if high < 0.5:
        way_out = (
            f"rows with {positive} score {'higher' if low_is_positive else 'lower'} than the others; set "
            f"scores: {other}, or exchange positive.label and positive.negative"
        )
    else:
        where = "below 0.5" if area.auc < 0.5 else "not shown to be above 0.5"
        way_out = (
            "the scores do not separate the classes; see whether columns.champion and columns.label belong "
            f"together, and whether scores should be {other}; if the model is that weak, a longer reference "
            "may show that it separates them at all (reference.from, reference.to)"
        )
    of = "reference" if read else "last window"
    yield ConfigError(
        f"monitors.{monitor.name}.positive.scores: the AUROC of the {of} is {area.auc:.4f} "
        f"({low:.4f} to {high:.4f}), {where}: {way_out}"
    )


def _is_unusable(reference: Reference) -> bool:
    """Whether all scores are one: `useless` says that better."""
    return reference.cells is not None and len(reference.cells.score) == 1


def improbable(monitor: Monitor, samples: Sequence[Sample]) -> Iterator[ConfigError]:
    """Reference scores that were said to be probabilities and are not."""
    if not monitor.is_probability or not samples:
        return
    try:
        require_probabilities(Sample.merge(samples))
    except InputError as error:
        yield ConfigError(f"monitors.{monitor.name}.score: probability, but of the reference: {error}")


def useless(reference: Reference, *, low_is_positive: bool) -> str:
    """Why nothing can be compared with a reference; empty when something can."""
    n_pos, n_neg = (sum(window[n] for window in reference.windows) for n in ("n_pos", "n_neg"))
    longer = "choose another period (reference.from, reference.to)"
    if reference.auc is None and min(n_pos, n_neg) >= 2:
        return (
            f"the {n_pos:,} positives or the {n_neg:,} negatives of the reference come from one cluster, so "
            "nothing shows how far clusters scatter: see whether columns.cluster names what rows belong to"
        )
    if reference.auc is None:
        return (
            f"the reference has {n_pos:,} positives and {n_neg:,} negatives, and at least 2 of each are "
            f"needed: {longer}, or see whether `positive` names the labels"
        )
    if reference.cells is None:
        return ""
    if len(reference.cells.score) == 1:
        score = float(reference.cells.score[0])
        score = negated(score) if low_is_positive else score
        return f"all {n_pos + n_neg:,} scores of the reference are {score:g}: is the scoring broken?"
    if reference.auc.auc in (0, 1):
        doubt = (
            "is the label among the scores" if reference.auc.auc else "is positive.scores the wrong way round"
        )
        return (
            f"the scores of the reference separate its classes completely (AUROC {reference.auc.auc:g}), so "
            f"nothing shows how far windows scatter: {doubt}? Else {longer}"
        )
    return ""


def _left_out(reference: Reference, rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    """Each rule that learns from windows and cannot, and why."""
    usable = sum(window["n_pos"] > 0 and window["n_neg"] > 0 for window in reference.windows)
    for name, rule in rules.items():
        if reference.auc is not None and _needs_history(rule) and usable < ENOUGH_WINDOWS:
            yield (
                name,
                f"the rule learns from past windows what their scores show, and needs {ENOUGH_WINDOWS} with "
                f"both classes; the reference has {usable}: choose a longer period, or cut it finer "
                "(reference.windows)",
            )
            continue
        if isinstance(rule, Lasting) and reference.auc is not None and usable < FEWEST_WINDOWS:
            yield (
                name,
                f"the rule learns from past windows how far they differ, and needs {FEWEST_WINDOWS} with "
                f"both classes; the reference has {usable}: choose a longer period, or cut it finer "
                "(reference.windows)",
            )
        if not isinstance(rule, Forecast) or reference.auc is None:
            continue
        if usable < 2 and rule.method != "fixed":
            has = "one window" if usable else "no window"
            needed = windows_needed(rule.confidence_level)
            yield (
                name,
                f"method {rule.method} learns from past windows how far they differ, and the reference has "
                f"{has} with both classes: choose a longer period, cut it finer (reference.windows: {needed} "
                "or more), or give a distance (method: fixed)",
            )
        elif reference.cells is not None and name not in reference.forecasts:
            parts = [str(each.bare()) for each in reference.caveats if each.about[:1] == (name,)]
            yield name, "; ".join(parts) or "cannot be computed on this reference: choose a longer period"


def _needs_history(rule: Rule) -> bool:
    return before_labels(rule) or (isinstance(rule, Forecast | Lasting) and rule.given is not None)


def window_levels(reference: Reference, rules: Mapping[str, Rule]) -> list[str]:
    """What the windows are too few for, of each calibrated rule."""
    lines = []
    for name, rule in rules.items():
        weights = forecast_weights(name, rules, reference)
        if weights is None or not isinstance(rule, Forecast):
            continue
        weight, needed = sum(weights), windows_needed(rule.confidence_level)
        level = weight / (weight + 1)
        if level >= rule.confidence_level - LEVEL_ROUNDING:
            continue
        known = {"n_windows": len(weights), "known": level, "confidence_level": rule.confidence_level}
        by_model = Caveat("level-by-model", **known)
        interval = reference.forecasts.get(name)
        if by_model in interval.caveats if interval is not None else rule.half_life is None:
            lines.append(f"{name}: {by_model}; from {needed} windows on they show it themselves")
            continue
        weighing = f"the {len(weights)} windows"
        if rule.half_life is not None:
            weighing = (
                f"with half_life {rule.half_life:g} the {len(weights)} windows weigh {weight:.3g} together"
            )
        lines.append(
            f"{name}: {weighing}: level {level:.2f}; {rule.confidence_level:g} needs a weight of {needed}"
        )
    return lines


def likeness(reference: Reference) -> list[str]:
    """How alike neighbouring reference windows are, one line for each calibrated rule."""
    lines = []
    for name, found in reference.serial.items():
        if found.caveats:
            lines.append(f"{name}: {found.caveats[0]}")
        else:
            lines.append(
                f"{name}: the serial correlation of the {found.n_windows} windows is between {found.low:.2f} "
                f"and {found.high:.2f} (90 % interval); the false alarms below allow for what is possible"
            )
    return lines


def design_effect(reference: Reference, column: str | None) -> list[str]:
    """What clusters cost, in one line; none where rows are independent, or the reference was not read."""
    area = reference.auc
    if column is None or area is None or area.clusters is None or area.design_effect is None:
        return []
    rows, worth = area.n_pos + area.n_neg, max(area.design_effect, 1.0)
    return [
        f"rows come in clusters ({column}): {area.clusters[0]:,} with positives, {area.clusters[1]:,} with "
        f"negatives; design effect {area.design_effect:.2f}: the {rows:,} rows show as much of the AUROC as "
        f"{rows / worth:,.0f} independent ones"
    ]


def seasons(reference: Reference, rules: Mapping[str, Rule]) -> list[str]:
    """That a season cannot be told from a change, where a rule compares with less than a year."""
    comparing = any(isinstance(rule, Forecast | Drop | Lasting) for rule in rules.values())
    return [str(each) for each in season_not_seen(reference)] if comparing else []


def costs(reference: Reference, cost_w: Sequence[float], *, low_is_positive: bool) -> list[str]:
    """Where the costs will be reported, in one line; none when none are configured."""
    if not cost_w or reference.auc is None:
        return []
    at = reference.cost_thresholds
    if not at:
        names = ", ".join(f"{w:g}" for w in cost_w)
        return [f"costs at w = {names}: their thresholds come from the reference, which has not been read"]
    assert reference.cells is not None
    lowest = float(reference.cells.score[0])
    parts = []
    for w, threshold in at.items():
        if math.isinf(threshold):
            how = "flags nothing"
        elif threshold <= lowest:
            how = "flags everything"
        else:
            how = f"threshold {negated(threshold) if low_is_positive else threshold:.4g} of the reference"
        parts.append(f"w = {w:g} ({how})")
    return [f"costs at {', '.join(parts)}"]


def set_aside(names: Sequence[str]) -> list[str]:
    """Windows without both classes, in one line."""
    if not names:
        return []
    most = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    if len(names) == 1:
        return [f"1 window has one class only, or no labels, and is set aside: {most}"]
    return [f"{len(names)} windows have one class only, or no labels, and are set aside: {most}"]
