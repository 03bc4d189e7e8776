"""``rocmonitor check``: explains what a configuration means before anything runs. Changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from statistics import median_low
from typing import Any

from rocmonitor import alerts
from rocmonitor.caveat import Caveat
from rocmonitor.config import Config, Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import DegenerateDataError, RocmonitorError
from rocmonitor.policy.budget import Levels
from rocmonitor.policy.crontab import next_fire
from rocmonitor.policy.evaluation import Status
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.left_out import learned
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.scenario import Early, Scenario, early, simulation
from rocmonitor.policy.windows import Window
from rocmonitor.report.pages import Watched
from rocmonitor.rules import Rule, settings_of
from rocmonitor.service import references
from rocmonitor.service.checking.answers import Answers, alarms, judged, normal
from rocmonitor.service.checking.forecast_alarms import (
    JudgedReference,
    budget_lines,
    expected,
    guilty,
    on_reference,
    warnings,
)
from rocmonitor.service.checking.joined import (
    Counted,
    JoinedReference,
    joined_references,
    label_shares,
    lengths,
    not_enough,
    pieces,
    small_segments,
    too_short,
    window_length,
)
from rocmonitor.service.checking.outside import Sources, account_lines, model_lines, outside
from rocmonitor.service.checking.reference_checks import (
    backwards,
    costs,
    design_effect,
    far,
    improbable,
    likeness,
    seasons,
    set_aside,
    unfit,
    unusable_share,
    useless,
    window_levels,
)
from rocmonitor.service.checking.timing import (
    first_due,
    impossible,
    left_out,
    newest_with_rows,
    read_as,
    unreadable,
)
from rocmonitor.service.checking.words import MORE_ROWS, POWER, Doubt
from rocmonitor.service.counted import Reader
from rocmonitor.service.judging import find
from rocmonitor.service.pieces import last_window, reference_windows, usual_length
from rocmonitor.service.progress import Progress, Step
from rocmonitor.sources import LabelCounts, Rows
from rocmonitor.stats import AucResult, AucSpread, Sample
from rocmonitor.stats.simulated import Simulation
from rocmonitor.store import migrate
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.verdicts import verdict

MOST_ROWS = 2_000_000
"""A larger window is counted, but not read."""

MOST_REFERENCE_ROWS = 5_000_000
"""A larger reference is counted, but not read."""

ASSUMED_AUC = 0.8
"""The AUROC assumed where neither the reference nor a window was read."""

Print = Callable[[str], object]
Line = str | RocmonitorError
"""A line of the explanation, or a problem, for a section to print."""

_TOLD = (Doubt, RocmonitorError)
"""Lines that are always printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The outcome of a check, printed already."""

    problems: list[RocmonitorError]
    """Empty when every monitor can run."""
    doubts: list[str]
    """Why a monitor would run and not watch well."""
    watched: list[Watched]


def check(
    config: Config,
    *,
    now: datetime,
    output: Print,
    explain: bool = False,
    progress: Progress = lambda _: None,
) -> Checked:
    """Connect to everything the configuration names, and say how it will watch.

    `output` takes each line; with `explain` not the three answers of each monitor alone, but also all that
    they rest on.
    """
    printed, watched = _Printed(output, explain, progress), list[Watched]()
    spendings = dict[str, float | None]()
    with Sources(config) as sources:
        progress("reference windows")
        joined = joined_references(config, sources, now)
        allotted = config.allot({name: reference.per_year for name, reference in joined.items()})
        printed.section("store", partial(_store, config))
        for topic, lines in outside(config):
            printed.section(topic, lines)
        for name in config.channels:
            printed.section("channel", partial(_channel, config, name))
        for name in sorted({monitor.source for monitor in config.monitors.values()}):
            printed.section("source", partial(account_lines, sources, name))
        printed.end("everywhere")
        for monitor in config.monitors.values():
            printed.about = f"{monitor.name} "
            printed.section("model", partial(model_lines, config, monitor))
            printed.section("schedule", partial(_schedules, monitor, now))
            seen = _Seen(sources=sources, joined=joined.get(monitor.name), progress=progress)
            printed.section("windows", partial(_windows, monitor, now, seen))
            levels = config.levels(monitor.name, allotted)
            printed.section("reference", partial(_reference, monitor, levels, now, seen))
            counts = seen.last_counts, seen.past_counts
            printed.section("labels", partial(label_shares, monitor, sources, *counts, now))
            printed.section("rules", partial(_rules, monitor, levels, seen, explain))
            if monitor.columns.challenger is not None:
                printed.section("review", partial(_review, monitor))
            answers = _answers(monitor, levels, now, seen)
            watched.append(
                Watched(
                    monitor=monitor.name,
                    zone=monitor.timezone,
                    answers=answers.lines,
                    doubts=printed.end(monitor.name, answers),
                    ranges=seen.ranges,
                )
            )
            if config.alarm_budget is not None:
                spendings[monitor.name] = None
                if seen.drawn is not None:  # segments together add as many as all rows
                    rate = seen.drawn.false_alarms(monitor.alarm.policy()).expected
                    spendings[monitor.name] = (2 if monitor.segments else 1) * rate
        if config.alarm_budget is not None:
            printed.section("budget", partial(budget_lines, allotted, spendings))
            printed.end("all monitors", always=True)
    return Checked(problems=printed.problems, doubts=printed.doubts, watched=watched)


@dataclass(slots=True)
class _Printed:
    """The lines of one heading after the other: answers first, then problems and doubts, or everything."""

    output: Print
    explain: bool
    progress: Progress
    about: str = ""
    problems: list[RocmonitorError] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    _lines: list[tuple[str, Line]] = field(default_factory=list)
    _said: set[tuple[str, str]] = field(default_factory=set)

    def section(self, topic: str, explain: Callable[[], Sequence[Line]]) -> None:
        """Collect the lines of a topic; an error is one of them."""
        self.progress(f"{self.about}{topic}")
        try:
            lines = explain()
        except RocmonitorError as error:
            lines = [error]
        self._lines += [("" if number else topic, line) for number, line in enumerate(lines)]

    def end(self, heading: str, answers: Answers | None = None, *, always: bool = False) -> list[str]:
        """Print what was collected under a heading, below the answers; return its doubts."""
        lines, self._lines, before = self._lines, [], len(self.doubts)
        given = Answers() if answers is None else answers
        shown = [
            (topic, text)
            for topic, line in lines
            if (text := self._shown(line)) and (always or self.explain or isinstance(line, _TOLD))
        ]
        doubts = [("", f"WARNING: {doubt}") for doubt in given.doubts]
        self.doubts += given.doubts
        if shown or doubts or given.lines:
            self.output(heading)
        for topic, text in (*given.lines.items(), *doubts, *shown):
            self.output(f"  {topic:<10}{text}")
        return self.doubts[before:]

    def _shown(self, line: Line) -> str:
        if isinstance(line, Doubt):
            self.doubts.append(line)
            return f"WARNING: {line}"
        if not isinstance(line, RocmonitorError):
            return line
        # Data are a monitor's own; a source or a file may be that of many.
        said = (self.about if isinstance(line, DegenerateDataError) else "", str(line))
        if said in self._said:
            return "not read: see the PROBLEM above" if self.explain else ""
        self._said.add(said)
        self.problems.append(line)
        return f"PROBLEM: {line}"


@dataclass(slots=True)
class _Seen:
    """The results of a monitor's earlier sections, for the later ones."""

    progress: Progress
    sources: Sources
    joined: JoinedReference | None = None
    unreadable: Sequence[Doubt] = ()
    last: tuple[Window, Rows] | None = None
    last_counts: tuple[Window, LabelCounts] | None = None
    past_counts: Sequence[tuple[Window, LabelCounts]] = ()
    ranges: NormalRanges | None = None
    scenario: Scenario | None = None
    drawn: Simulation | None = None
    early: Mapping[str, Early] = field(default_factory=dict)
    every: timedelta = timedelta()
    assumed: str = ""
    judged: JudgedReference | None = None


def _answers(monitor: Monitor, levels: Levels, now: datetime, seen: _Seen) -> Answers:
    """Return the answers to the three questions, as far as they are known."""
    answers = Answers()
    sizes = [(counted.n_pos, counted.n_neg) for _, counted in seen.past_counts]
    drawn = seen.drawn if seen.drawn is not None and (seen.drawn.rules or seen.drawn.stated) else None
    if drawn is not None and seen.scenario is not None:
        answers.add("normal", normal(monitor, seen.scenario, drawn, sizes, is_read=seen.ranges is not None))
    answers.add("judged", judged(monitor, sizes, seen.last_counts, now))
    if not monitor.is_over(now):
        answers.add("checked", (f"next {_next_times(monitor, monitor.schedule, now)}", []))
    if seen.drawn is not None:
        answers.add("alarms", alarms(monitor, drawn, seen.early.values(), budgeted=levels.budgeted))
    return answers


def _store(config: Config) -> list[str]:
    if migrate.is_made_by_opening(config.store_url):
        return ["a SQLite file that the first run creates"]
    migrate.check(config.store_url)
    file = migrate.read_by_everybody(config.store_url)
    doubt = [] if file is None else [words_of(Caveat("store-read-by-everybody", file=str(file)))]
    return ["reachable, at this version", *doubt]


def _channel(config: Config, name: str) -> list[str]:
    alerts.check_url(config.channel_url(name), folder=config.folder)
    return [f"{name}; `rocmonitor channel test {name}` sends a message marked as a test"]


def _schedules(monitor: Monitor, now: datetime) -> list[str]:
    review = monitor.review.schedule if monitor.review else None
    return [
        f"{topic} at {line}, {monitor.timezone}: next {_next_times(monitor, line, now)}"
        for topic, line in (("checks", monitor.schedule), ("reviews", review))
        if line is not None
    ]


def _next_times(monitor: Monitor, line: str, now: datetime) -> str:
    times, after = list[str](), now
    while len(times) < 3:
        after = next_fire(line, monitor.timezone, after)
        times.append(f"{after.astimezone(monitor.timezone):%a %Y-%m-%d %H:%M %Z}")
    return ", ".join(times)


def _windows(monitor: Monitor, now: datetime, seen: _Seen) -> list[Line]:
    spec, zone = monitor.window, monitor.timezone
    ended = monitor.windows(now)
    due = [window for window in ended if monitor.labels.age(window, now) in ("due", "closed")]
    lines: list[Line] = [
        f"{window_length(monitor)}, judged {written(spec.label_delay)} after their end, {zone}: "
        f"{len(ended):,} {pieces(monitor)} have ended since "
        f"{monitor.start.astimezone(zone):%Y-%m-%d %H:%M}, {len(due):,} of them are old enough to be judged"
    ]
    source = seen.sources.opened(monitor.source)
    source.explain(monitor)
    if not due:
        return [*lines, first_due(monitor, ended), *impossible(monitor, now)]
    if monitor.joining is not None:
        last, enough = last_window(monitor, monitor.joining, source, due, now)
        if not enough:
            return [*lines, not_enough(monitor, last, source.label_counts(monitor, last, as_of=now))]
    else:
        last, stopped = newest_with_rows(monitor, due, lambda it: source.label_counts(monitor, it).rows)
        lines += stopped
    counted = source.label_counts(monitor, last, as_of=now)
    seen.last_counts = last, counted
    lines.append(
        f"the last of these, {last.in_zone(zone)}: {counted.rows:,} rows, {counted.labelled:,} labelled"
    )
    if counted.rows > MOST_ROWS and monitor.grouped != "condensed":
        return [*lines, f"not read: it has more than {MOST_ROWS:,} rows"]
    batch = source.pull(monitor, last, as_of=now)
    rows = batch.segments[""]
    small = too_few(rows.counts, monitor.min_per_class)
    if small is not None:
        problem = f"the last window, {last.in_zone(zone)}, is insufficient: {verdict(small)}; {MORE_ROWS}"
        return [*lines, DegenerateDataError("; ".join([problem, *map(words_of, rows.caveats)]))]
    seen.last = last, rows
    lines.append(f"usable: {rows.counts.n_pos:,} positives, {rows.counts.n_neg:,} negatives")
    lines += [*read_as(monitor, batch), *map(words_of, rows.caveats)]
    seen.unreadable = list(unreadable(monitor, rows.caveats))
    lines += seen.unreadable
    return [*lines, *small_segments(batch.segments, monitor.min_per_class)]


def _reference(monitor: Monitor, levels: Levels, now: datetime, seen: _Seen) -> list[Line]:
    zone = monitor.timezone
    source, prepared = seen.sources.opened(monitor.source), seen.joined
    windows, joined = (
        (prepared.windows, prepared.pieces) if prepared else reference_windows(monitor, source, now)
    )
    in_window = source.rows_by_window(monitor, windows)
    sizes = [rows for rows, *_ in in_window.values()]
    read = sum(sizes) <= MOST_REFERENCE_ROWS or monitor.grouped == "condensed"
    counts, rows = _read_windows(monitor, windows, now, seen, read=read, most=max(sizes, default=0))
    outside = [
        f"{missed:,} rows are in no window: {gap.in_zone(zone)}, {why}"
        for gap, why in left_out(monitor, windows if joined else monitor.whole_reference, now)
        if (missed := source.label_counts(monitor, gap).rows)
    ]
    inside = {window: counted.rows for window, counted in zip(windows, counts, strict=True)}
    inside |= {} if rows is None else _inside(zip(windows, rows, strict=True))
    if seen.last is not None:
        inside |= _inside([seen.last])
        in_window |= source.rows_by_window(monitor, [seen.last[0]])
    source.require_complete(monitor, inside, in_window)
    labelled = [counted.labelled for counted in counts]
    period, total = monitor.reference_period.in_zone(zone), sum(counted.rows for counted in counts)
    many = f"{len(windows)} window{'' if len(windows) == 1 else 's'}"
    if not windows:
        raise DegenerateDataError(
            f"{period}: no whole window ({written(monitor.window.every)}) lies in it, so no rule can compare "
            "with it: choose a longer period, cut it finer (reference.windows), or set window.align"
        )
    if not sum(labelled):
        raise DegenerateDataError(
            f"{period}: {many}, {total:,} rows, none labelled: no rule can compare with it"
        )
    without = len(monitor.reference.without)
    lines: list[Line] = [
        f"{period}: {many}{lengths(windows) if joined else ''}"
        f"{f' ({without} left out: reference.without)' if without else ''}, {total:,} rows, "
        f"{sum(labelled):,} labelled, {min(labelled):,} in the smallest window",
        *outside,
        *too_short(monitor, total),
    ]
    seen.every = usual_length(monitor, windows, total)
    if now < references.complete_at(monitor):
        lines.append("its labels are not all due yet; until then every run computes it again")
    if rows and not seen.unreadable:
        lines += unreadable(monitor, rows[-1].caveats)
    paired = seen.past_counts = list(zip(windows, counts, strict=True))
    one_class = [window for window, counted in paired if not (counted.n_pos and counted.n_neg)]
    lines += set_aside([window.in_zone(zone) for window in one_class])
    return [*lines, *_served(monitor, levels, paired, rows, now, seen)]


def _read_windows(
    monitor: Monitor, windows: Sequence[Window], now: datetime, seen: _Seen, *, read: bool, most: int
) -> tuple[list[LabelCounts], list[Rows] | None]:
    """Return how reference windows are labelled, and their rows if they are to be read."""
    source, (as_of, ages) = seen.sources.opened(monitor.source), references.read_at(monitor, now)
    counts, rows = list[LabelCounts](), list[Rows]()
    what = f"{monitor.name} reference, {'rows' if read else 'labels'} of"
    counted = iter(()) if read else source.label_counts_together(monitor, windows, as_of=now)
    reader = Reader({}, monitor, source, rows=most)
    for number, window in enumerate(windows, 1):
        seen.progress(Step(f"{what} {window.in_zone(monitor.timezone)}", number, len(windows)))
        if not read:
            counts.append(next(counted)[1])
            continue
        how: dict[str, Any] = {"as_of": as_of, "ages": ages, "compared": False, "following": windows[number:]}
        if as_of == now:
            batch, labels = reader.read_and_count(window, **how)
        else:  # it is read by labels that were known earlier
            batch, labels = reader.read(window, **how), source.label_counts(monitor, window, as_of=now)
        rows.append(batch.segments[""])
        counts.append(labels)
    return counts, rows if read else None


def _inside(windows: Iterable[tuple[Window, Rows]]) -> dict[Window, int]:
    return {window: rows.counts.inside for window, rows in windows if not rows.counts.truncated}


def _served(
    monitor: Monitor,
    levels: Levels,
    counts: Sequence[Counted],
    rows: Sequence[Rows] | None,
    now: datetime,
    seen: _Seen,
) -> list[Line]:
    """Return how far the reference serves the rules; the scenario goes to `seen`."""
    rules = dict(levels.rules)
    lines: list[Line] = list(improbable(monitor, [one.champion for one in rows or ()]))
    if rows is None:
        scatter = None if seen.last is None else _scatter([seen.last[1].champion])
        if scatter is None:
            scatter = AucSpread.normal(ASSUMED_AUC)
            rules = {name: rule for name, rule in rules.items() if rule.kind != "floor"}
            like = f"to have an AUROC of {ASSUMED_AUC:g}, and no floor is counted below"
        else:
            like = f"to scatter as the last window does, about its AUROC of {scatter.auc:.3f}"
        many = f"the reference has more than {MOST_REFERENCE_ROWS:,} rows"
        seen.assumed = f"{many} and is not read here; it is assumed {like}"
        reference = _counted(counts, scatter)
        ranges = NormalRanges.of(reference, levels.derived)
    else:
        samples = [(window, one.champion) for (window, _), one in zip(counts, rows, strict=True)]
        reference = references.reference_of(
            monitor, [(at, one) for (at, _), one in zip(counts, rows, strict=True)], now
        )
        ranges = NormalRanges.of(reference, levels.derived)
        scatter = _scatter([one.champion for one in learned(reference.windows, rows)])
        lines += far(monitor, samples, ranges)
    low_is_positive = monitor.positive.low_is_positive
    if reversed_scores := list(backwards(monitor, reference, read=rows is not None)):
        seen.assumed = "see the reference"
        return [*lines, *reversed_scores]
    failed, problems = unfit(reference, rules, low_is_positive=low_is_positive)
    serving = {name: rule for name, rule in rules.items() if name not in failed}
    seen.ranges = None if rows is None else ranges
    if rows is not None:
        learned_windows = learned(reference.windows, [window for window, _ in counts])
        seen.judged = on_reference(
            monitor, learned_windows, learned(reference.windows, rows), ranges, serving
        )
        lines += [*unusable_share(rows), *_last(monitor, seen.last, ranges, serving, now)]
    seen.scenario = _scenario(serving, ranges, scatter, seen.judged, monitor.min_per_class)
    if seen.scenario is None:
        why = (
            useless(reference, low_is_positive=low_is_positive)
            or "no window of the reference has labels of both classes"
        )
        seen.assumed = "see the reference" if problems else why
    return [
        *lines,
        *problems,
        *[*window_levels(ranges, serving), *design_effect(reference, monitor.columns.cluster, rows or ())],
        *[*likeness(reference), *seasons(ranges, serving)],
        *costs(reference, monitor.cost_w, low_is_positive=low_is_positive),
    ]


def _last(
    monitor: Monitor,
    last: tuple[Window, Rows] | None,
    ranges: NormalRanges,
    rules: Mapping[str, Rule],
    now: datetime,
) -> Iterator[Line]:
    if last is None:
        return
    window, rows = last
    finding = find(monitor, rows, ranges, window, now - window.end, rules=rules)
    if finding.outcome is Status.INSUFFICIENT:
        why = {verdict(failed): None for failed in finding.verdicts if failed.outcome is Status.INSUFFICIENT}
        yield DegenerateDataError(
            f"the last window, {window.in_zone(monitor.timezone)}, would be insufficient: {'; '.join(why)}"
        )


def _scatter(samples: Sequence[Sample]) -> AucSpread | None:
    try:
        return AucSpread.from_sample(Sample.merge(samples))
    except DegenerateDataError:
        return None


def _scenario(
    rules: Mapping[str, Rule],
    ranges: NormalRanges,
    spread: AucSpread | None,
    judged: JudgedReference | None,
    min_per_class: int,
) -> Scenario | None:
    """Return what to expect of a window; None when nothing is known to derive it from."""
    reference = ranges.reference
    sizes = [(w["n_pos"], w["n_neg"]) for w in reference.windows if w["n_pos"] and w["n_neg"]]
    if not sizes or spread is None or reference.auc is None:
        return None
    n_pos, n_neg = (median_low(size) for size in zip(*sizes, strict=True))
    if (effect := reference.auc.design_effect) is not None:  # clustered rows scatter as fewer would
        spread = replace(spread, zeta10=effect * spread.zeta10, zeta01=effect * spread.zeta01)
    return Scenario(
        rules=rules,
        ranges=ranges,
        spread=spread,
        n_pos=n_pos,
        n_neg=n_neg,
        margins={} if judged is None else judged.margins,
        outcomes={} if judged is None else judged.outcomes,
        min_per_class=min_per_class,
    )


def _counted(counts: Sequence[tuple[Window, LabelCounts]], spread: AucSpread) -> Reference:
    n_pos = sum(counted.n_pos for _, counted in counts)
    n_neg = sum(counted.n_neg for _, counted in counts)
    se = math.sqrt(spread.variance(n_pos, n_neg)) if min(n_pos, n_neg) >= 2 else None
    return Reference(
        auc=None
        if se is None
        else AucResult(auc=spread.auc, se=se, n_pos=n_pos, n_neg=n_neg, method="delong"),
        windows=[
            {**window.to_dict(), "n_pos": counted.n_pos, "n_neg": counted.n_neg} for window, counted in counts
        ],
    )


def _rules(monitor: Monitor, levels: Levels, seen: _Seen, explain: bool) -> list[str]:
    if seen.scenario is not None:
        scenario, reference = seen.scenario, seen.scenario.reference
        seen.drawn = simulation(scenario, seen.every)
        if monitor.outlook is not None and reference.history is not None and reference.cells is not None:
            seen.early = {
                name: early(scenario, name, seen.every, power=POWER)
                for name, rule in scenario.rules.items()
                if not rule.needs.labels
            }
    if not explain:
        unknown = seen.scenario is None and not seen.assumed.startswith("see")
        why = seen.assumed or "the reference cannot be read"
        return (
            [Doubt(f"false alarms cannot be predicted: {why}")]
            if unknown
            else guilty(seen.scenario, seen.drawn)
        )
    lines = [
        ", ".join(
            [
                name,
                *(
                    f"{key} {value:.8g}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in settings_of(rule).items()
                    if value is not None and key != "kind"
                ),
                *(["level from alarm_budget"] if name in levels.derived else []),
            ]
        )
        for name, rule in levels.rules.items()
    ]
    if seen.scenario is None or seen.drawn is None:
        lines.append(f"false alarms cannot be predicted: {seen.assumed or 'the reference cannot be read'}")
    else:
        if seen.assumed:
            lines.append(seen.assumed)
        lines += expected(monitor, seen.scenario, seen.drawn, seen.judged, seen.every)
        lines += warnings(monitor, seen.scenario, seen.early)
    return lines


def _review(monitor: Monitor) -> list[str]:
    rule, start = monitor.review_settings.rule, monitor.review_start
    margin = f" beyond {rule.margin:g}" if rule.margin else ""
    rates = f" and of the TPR at FPR {', '.join(f'{fpr:g}' for fpr in rule.fpr)}" if rule.fpr else ""
    since = (
        f"{start.astimezone(monitor.timezone):%Y-%m-%d %H:%M}"
        if start
        else "the first window judged with the current two versions"
    )
    schedule = monitor.review.schedule if monitor.review else None
    return [
        f"champion against challenger by the difference of the AUROC{margin}{rates}, "
        f"{100 * rule.confidence_level:g} % at all checks together; windows since {since}",
        f"by `rocmonitor review {monitor.name}`"
        + (f", and by `serve` at {schedule}" if schedule else "; without review.schedule `serve` makes none"),
    ]
