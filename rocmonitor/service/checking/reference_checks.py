"""The check of a reference for the rules, in the words of the configuration."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.conventions import ENOUGH_WINDOWS
from rocmonitor.errors import ConfigError, DegenerateDataError, InputError
from rocmonitor.policy.measure import shows_no_scatter
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.outlying import far_from_others
from rocmonitor.policy.record import negated
from rocmonitor.policy.reference import Reference, season_not_seen
from rocmonitor.policy.stops import MOST
from rocmonitor.policy.windows import Window
from rocmonitor.rules import Rule, settings_of
from rocmonitor.rules.forecast import window_weights
from rocmonitor.service import references
from rocmonitor.service.checking.words import Doubt
from rocmonitor.sources import Rows
from rocmonitor.stats import Sample, auc
from rocmonitor.stats.forecast.calibration import LEVEL_ROUNDING, windows_needed
from rocmonitor.stats.probabilities import require_probabilities
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.format import count, forecast_span, named_windows, percent, windows_of


def unfit(
    reference: Reference, rules: Mapping[str, Rule], *, low_is_positive: bool
) -> tuple[list[str], list[DegenerateDataError]]:
    """Return the names of the rules that this reference cannot serve, and why, with the way out.

    It is frozen for `rules`, or without cells: what counts show of it.
    """
    comparing = [name for name, rule in rules.items() if rule.needs.auc]
    whole = useless(reference, low_is_positive=low_is_positive)
    if comparing and whole:
        return comparing, [DegenerateDataError(f"{' and '.join(comparing)}: {whole}")]
    why: dict[str, str] = {}
    usable = sum(window["n_pos"] > 0 and window["n_neg"] > 0 for window in reference.learned)
    has = f"both classes; the reference has {usable}: choose a longer period, or cut it finer"
    for name, rule in rules.items():
        if reference.auc is None:
            continue
        if rule.needs.history and usable < ENOUGH_WINDOWS:
            learns = "the rule learns from past windows what their scores show, and needs"
            why[name] = f"{learns} {ENOUGH_WINDOWS} with {has} (reference.windows)"
        elif (rule.needs.chart or rule.needs.range) and usable < rule.needs.windows:
            finer, fixed = "reference.windows", ""
            if rule.needs.range:
                finer += f": {windows_needed(settings_of(rule)['confidence_level'])} or more"
                fixed = ", or give a distance (method: fixed)"
            learns = "the rule learns from past windows how far they differ, and needs"
            why[name] = f"{learns} {rule.needs.windows} with {has} ({finer}){fixed}"
        elif rule.needs.range and reference.cells is not None and name not in reference.fits:
            parts = [words_of(caveat.bare()) for caveat in reference.caveats if caveat.about[:1] == (name,)]
            why[name] = "; ".join(parts) or "cannot be computed on this reference: choose a longer period"
    return list(why), [DegenerateDataError(f"{name}: {text}") for name, text in why.items()]


def backwards(monitor: Monitor, reference: Reference, *, read: bool) -> Iterator[ConfigError]:
    """Yield a reference whose scores order the classes the wrong way round, or are not shown to order them
    at all.

    Unless the reference was `read`, its AUROC is that of the last window, and only one below 0.5 counts.
    """
    one_score = reference.cells is not None and len(reference.cells.score) == 1
    if reference.auc is None or one_score:  # `useless` says that better
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
        where = "below 0.5" if area.auc < 0.5 else "not clearly above 0.5"
        way_out = (
            "the scores do not separate the classes; see whether columns.champion and columns.label belong "
            f"together, and whether scores should be {other}; if the model is that weak, a longer reference "
            "may show that it separates them at all (reference.from, reference.to)"
        )
    subject = "reference" if read else "last window"
    yield ConfigError(
        f"monitors.{monitor.name}.positive.scores: the AUROC of the {subject} is {area.auc:.3f} "
        f"({low:.3f} to {high:.3f}), {where}: {way_out}"
    )


def improbable(monitor: Monitor, samples: Sequence[Sample]) -> Iterator[ConfigError]:
    """Return a line if reference scores are no probabilities although the configuration says so."""
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
    if coarse := [caveat for caveat in reference.caveats if caveat.code == "condensed-too-coarse"]:
        return words_of(coarse[0])
    if reference.auc is None and min(n_pos, n_neg) >= 2:
        return (
            f"the {n_pos:,} positives or the {n_neg:,} negatives of the reference come from one cluster, so "
            "nothing shows how far clusters scatter: see whether columns.cluster names what rows belong to"
        )
    if reference.auc is None:
        return (
            f"the reference has {count(n_pos, 'positive')} and {count(n_neg, 'negative')}; at least 2 of "
            f"each are needed: {longer}, or see whether `positive` names the labels"
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


def window_levels(ranges: NormalRanges, rules: Mapping[str, Rule]) -> list[str]:
    """Return what the windows are too few for, of each calibrated rule."""
    lines = []
    for name, rule in rules.items():
        if not (rule.needs.range and rule.tail):  # it has no level
            continue
        latest_first = enumerate(reversed(ranges.reference.learned))
        usable = [age for age, window in latest_first if window["n_pos"] and window["n_neg"]]
        fit = ranges.reference.fits.get(name)
        equal = (1.0,) * (fit.n_windows if fit else len(usable))
        weights = (fit.weights if fit else window_weights(rule, usable)) or equal
        if not weights:
            continue
        asked, half_life = (settings_of(rule)[key] for key in ("confidence_level", "half_life"))
        weight, needed = sum(weights), windows_needed(asked)
        level = weight / (weight + 1)
        if level >= asked - LEVEL_ROUNDING:
            continue
        values = {"n_windows": len(weights), "known": level, "confidence_level": asked}
        by_model = Caveat("level-by-model", **values)
        shown = ranges.range(name).caveats if name in ranges.reference.fits else None
        if by_model in shown if shown is not None else half_life is None:
            lines.append(f"{name}: {words_of(by_model)}; from {needed} windows on they show it themselves")
            continue
        weighing = f"the {len(weights)} windows"
        if half_life is not None:
            weighing = f"with half_life {half_life:g} the {len(weights)} windows weigh {weight:.3g} together"
        lines.append(f"{name}: {weighing}: level {level:.2f}; {asked:g} needs a weight of {needed}")
    return lines


def likeness(reference: Reference) -> list[str]:
    """Return how alike neighbouring reference windows are, one line for each calibrated rule."""
    lines = []
    for name, correlation in reference.serial.items():
        if correlation.caveats:
            lines.append(f"{name}: {words_of(correlation.caveats[0])}")
        else:
            lines.append(
                f"{name}: the serial correlation of the {correlation.n_windows} windows is "
                f"between {correlation.low:.2f} and {correlation.high:.2f} (90 % interval); the false alarms "
                "below allow for what is possible"
            )
    return lines


def design_effect(reference: Reference, column: str | None, windows: Sequence[Rows]) -> list[str]:
    """Return what clusters cost, and what is doubtful about them; none where rows are independent, or not
    read. `column` names the clusters, and `windows` are those of the reference.
    """
    area = reference.auc
    if column is None or area is None or area.clusters is None or area.design_effect is None:
        return []
    rows, worth = area.n_pos + area.n_neg, max(area.design_effect, 1.0)
    doubts = [caveat for caveat in reference.caveats if caveat.code == "clusters-span-windows"]
    missing = [caveat for one in windows for caveat in one.caveats if caveat.code == "clusters-missing"]
    if alone := sum(caveat.values["count"] for caveat in missing):
        doubts.append(Caveat("clusters-missing", count=alone, rows=rows, column=column))
    return [
        f"rows come in clusters ({column}): {area.clusters[0]:,} with positives, {area.clusters[1]:,} with "
        f"negatives; design effect {area.design_effect:.2f}: the {rows:,} rows show as much of the AUROC as "
        f"{rows / worth:,.0f} independent ones",
        *map(words_of, doubts),
    ]


def seasons(ranges: NormalRanges, rules: Mapping[str, Rule]) -> list[str]:
    """Return which rules take a season off; that it cannot be told from a change, in less than a year."""
    comparing = any(rule.needs.auc for rule in rules.values())
    lines = list(map(words_of, season_not_seen(ranges.reference))) if comparing else []
    for name in rules:
        if name in ranges.reference.fits and (ends := ranges.over_the_year(name)) is not None:
            lines.append(
                f"{name}: the reference shows a season, which is taken off: its interval lies around "
                f"an AUROC of {ends[0]:.3f} to {ends[1]:.3f}, by the time of year"
            )
        elif name in ranges.charts and any(ranges.charts[name].wave):
            lines.append(f"{name}: the reference shows a season, which is taken off")
    return lines


def costs(reference: Reference, cost_w: Sequence[float], *, low_is_positive: bool) -> list[str]:
    """Return where the costs will be reported, in one line; none when none are configured."""
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


def unusable_share(windows: Sequence[Rows]) -> Iterator[str]:
    """Yield a doubt where so many rows of the reference cannot be used that such a window is refused."""
    rows = sum(window.counts.rows for window in windows)
    lost = sum(window.counts.unusable_share * window.counts.rows for window in windows)
    if lost > MOST * rows:
        yield Doubt(
            f"{percent(lost / rows)} of the reference's rows cannot be used (scores, labels or times that "
            "are none, ids that come again): the rest may not be like all of them, and windows with up to "
            "twice that share will be judged; mend the query, or choose another period"
        )


def set_aside(names: Sequence[str]) -> list[str]:
    """Windows without both classes, in one line."""
    if not names:
        return []
    most = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    if len(names) == 1:
        return [f"1 window has one class only, or no labels, and is set aside: {most}"]
    return [f"{len(names)} windows have one class only, or no labels, and are set aside: {most}"]


def far(monitor: Monitor, samples: Sequence[tuple[Window, Sample]], known: NormalRanges) -> list[str]:
    """Return a line on the reference windows far below the others, and one on those far above them.

    They have the normal range that these windows make, and the one without them.
    """
    areas = [None if shows_no_scatter(sample) else auc(sample) for _, sample in samples]
    outlying = far_from_others([window for window, _ in samples], areas)
    if outlying.outliers is None:
        return []
    keeps, doubts = monitor.reference.outliers == "keep", list[str]()
    for side, places, chance in (
        ("below", outlying.low, outlying.outliers.low.chance),
        ("above", outlying.high, outlying.outliers.high.chance),
    ):
        if not places:
            continue
        some = [(samples[at][0], area.auc) for at in sorted(places) if (area := areas[at]) is not None]
        names = [window.name(monitor.timezone) for window, _ in some]
        line = (
            f"{windows_of(len(some), len(samples), some[0][0].unit)} "
            f"({named_windows(names, [value for _, value in some], most=len(some))}) "
            f"{'lies' if len(places) == 1 else 'lie'} far {side} the others, about "
            f"{outlying.outliers.others:.3f} (by chance in {percent(max(chance, 1e-6), 1)} of references or "
            "fewer)"
        )
        if keeps:
            line += "; counted, for reference.outliers is keep"
        elif side == "above":
            line += ": only the upper end reaches so far"
        else:
            line += ", so the reference is learned without"
        if side == "below":
            other = references.frozen_for(monitor, samples, outliers="leave-out" if keeps else "keep")
            ranges = known, NormalRanges.of(other, known.derived)
            line += f"{_widths(*(reversed(ranges) if keeps else ranges))}. "
            line += _ways(monitor, samples, places, keeps)
        doubts.append(Doubt(line))
    return doubts


def _ways(
    monitor: Monitor, samples: Sequence[tuple[Window, Sample]], places: Collection[int], keeps: bool
) -> str:
    """Return the line of the configuration that says which of the two is right."""
    starts = [samples[place][0].name(monitor.timezone) for place in sorted(places)]
    if len(starts) > 1 and min(places) == len(samples) - len(starts):
        without = f"end the reference before them (reference.to: {starts[0]})"
    elif monitor.joining is not None and monitor.reference.windows is None:
        without = "leave their rows out in the query"
    else:
        without = f"write reference: {{without: [{', '.join(starts)}]}}"
    if keeps:
        return f"If they are no example of good ones, {without}"
    return f"If they were bad, {without}; if they were good, write reference: {{outliers: keep}}"


def _widths(without: NormalRanges, among: NormalRanges) -> str:
    """Return the intervals of the first forecast without some windows and with them; empty where there is
    none.
    """
    for name in without.reference.fits:
        if name in among.reference.fits:
            spans = [
                forecast_span(interval.low, interval.high)
                for interval in (without.range(name), among.range(name))
            ]
            return f"; the range of {name} is {spans[0]} without, {spans[1]} with"
    return ""
