"""The windows to come while the model is as good as in the reference, and what the rules say of them.

No rule is asked where its limit lies: each one judges simulated evidence, as it judges a window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from statistics import NormalDist, fmean, median
from typing import NamedTuple

from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.judge import forecast_of, outlook_limits
from rocmonitor.policy.lessons import wrong_share
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import Rule, can_alarm, settings_of
from rocmonitor.rules.evidence import AllLabels, Evidence, is_usual
from rocmonitor.stats import AucResult, AucSpread, WindowAuc
from rocmonitor.stats.coming import draw, learned, sampling_alone
from rocmonitor.stats.lasting.windows import scaled, unscaled
from rocmonitor.stats.sample import ScoreCounts
from rocmonitor.stats.series import PossibleProcesses, wave_of
from rocmonitor.stats.simulated import (
    BELOW_0,
    DEGRADED,
    IMPROVED,
    NEVER,
    SimulatedRule,
    Simulation,
    Steps,
    coming_distances,
    coming_expected,
    loss_shown,
    promised,
    shifted,
    smallest,
    steps_of,
)

FEWEST_WINDOWS = 3
"""Reference windows with an AUROC from which on their scatter is learned."""

_LEAST_NOISE = 1e-9
_LEAST_AUC, _LARGEST_AUC = 0.01, 0.99
"""Between these AUROCs rules are asked for their limits."""

_NORMAL = NormalDist()
_LEAST_RATE = 1e-12
_LOG_DISTANCES = (-16.0, 4.0)

_FEWEST, _MOST = 52, 366
"""Windows that are drawn of each series."""

_MOST_SIZES = 60
CODES = {Status.DEGRADED: DEGRADED, Status.AT_RISK: DEGRADED, Status.IMPROVED: IMPROVED}
"""Outcomes in simulated windows; 0 for the others."""


class Margins(NamedTuple):
    """The distance of a rule's interval from its limit in each reference window; the rule alarms below 0.

    Of n windows: distance, its sampling variance, and the place in the series.
    """

    values: Sequence[float]
    noise: Sequence[float]
    places: tuple[int, ...]


def margins_of(verdicts: Sequence[Verdict | None]) -> Margins | None:
    """Return the margins of a rule in successive reference windows, None where one was not judged by it.

    None where fewer than `FEWEST_WINDOWS` were, or all margins are equal. The sampling variance is that of
    an interval with normal limits.
    """
    judged = []
    for place, verdict in enumerate(verdicts):
        if verdict is None or verdict.margin is None or verdict.low is None or verdict.high is None:
            continue
        assert verdict.confidence_level is not None
        sides = 2 * _NORMAL.inv_cdf((1 + verdict.confidence_level) / 2)
        judged.append((place, verdict.margin, ((verdict.high - verdict.low) / sides) ** 2))
    if len(judged) < FEWEST_WINDOWS or not any(noise for _, _, noise in judged):
        return None
    places, values, noise = zip(*judged, strict=True)
    least = 1e-6 * max(noise)
    return Margins(
        values, [max(variance, least) for variance in noise], tuple(place - places[0] for place in places)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The windows to come, while the model is as good as in the reference.

    Ranges that the reference, which has an `auc`, lacks are taken from the number of its windows; scatter and
    serial correlation are learned from their AUROCs, where it has them.
    """

    rules: Mapping[str, Rule]
    ranges: NormalRanges
    spread: AucSpread  # at the reference's AUROC
    n_pos: float  # labelled rows to be expected of a window
    n_neg: float
    margins: Mapping[str, Margins] = field(default_factory=dict)
    """The margins of rules that judge rows, where the reference windows were judged by them."""
    outcomes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Likewise, of rules whose verdicts have no margin: what they found of the reference windows."""
    min_per_class: int = 1  # windows with fewer rows of a class are not judged

    @property
    def reference(self) -> Reference:
        """The reference."""
        return self.ranges.reference

    @property
    def auc(self) -> AucResult:
        """The reference's AUROC."""
        assert self.reference.auc is not None
        return self.reference.auc

    @property
    def reference_windows(self) -> int:
        """Reference windows whose AUROC is known."""
        return sum(map(is_usual, self.reference.windows))

    @property
    def is_read(self) -> bool:
        """True if the AUROCs of enough reference windows are known to learn how they differ."""
        return self.reference_windows >= FEWEST_WINDOWS

    @property
    def alarming(self) -> dict[str, Rule]:
        """The rules that can alarm."""
        return {name: rule for name, rule in self.rules.items() if can_alarm(rule)}

    def window(self, auc: float, sizes: tuple[int, int] | None = None) -> AucResult:
        """Return a window that has this AUROC, of the expected size or another."""
        spread, (n_pos, n_neg) = self.spread.at(auc), sizes or (self.n_pos, self.n_neg)
        return AucResult(
            auc=auc,
            se=math.sqrt(spread.variance(n_pos, n_neg)),
            zeta=(spread.zeta10, spread.zeta01),
            n_pos=round(n_pos),
            n_neg=round(n_neg),
            method="delong",
        )

    def noise(self, auc: float) -> float:
        """Return the sampling variance of a window about a true AUROC, on the scale."""
        return max((self.window(auc).se ** 2) / (auc * (1 - auc)), _LEAST_NOISE)

    def evidence(self, name: str, auc: float, sizes: tuple[int, int] | None = None) -> Evidence:
        """Return the evidence that a rule has of a window with this AUROC, of the usual size or another."""
        window, has_range = self.window(auc, sizes), name in self.reference.fits
        return Evidence(
            law=AllLabels(window),
            now=WindowAuc(auc, window.n_pos, window.n_neg),
            sample=None,
            forecasts={name: self.ranges.range(name, sizes)} if has_range else {},
            charts=self.ranges.charts,
            derived=self.ranges.derived,
        )

    def steps(self, name: str) -> Steps:
        """Return the outcome of a rule on windows of the usual size, by their AUROC on the scale."""
        usual = self.evidence(name, self.auc.auc)

        def outcome(x: float) -> int:
            window = self.window(unscaled(x))
            now = WindowAuc(window.auc, window.n_pos, window.n_neg)
            return self._code(name, replace(usual, law=AllLabels(window), now=now))

        return steps_of(outcome, scaled(_LEAST_AUC), scaled(_LARGEST_AUC))

    def at_sizes(self, name: str) -> tuple[int, ...]:
        """Return the outcome of a rule at the sizes of reference windows, 0 where the AUROC changes it."""
        least = max(self.min_per_class, 1)
        sizes = [(window["n_pos"], window["n_neg"]) for window in self.reference.learned]
        sizes = [size for size in sizes if min(size) >= least]
        outcomes = {}
        for size in sorted(set(sizes))[:: 1 + len(set(sizes)) // _MOST_SIZES]:
            codes = {
                self._code(name, self.evidence(name, auc, size))
                for auc in (_LEAST_AUC, self.auc.auc, _LARGEST_AUC)
            }
            outcomes[size] = codes.pop() if len(codes) == 1 else 0
        return tuple(outcomes[min(outcomes, key=lambda asked: math.dist(asked, size))] for size in sizes)

    def _code(self, name: str, evidence: Evidence) -> int:
        return CODES.get(self.rules[name].judge(name, evidence, self.reference).outcome, 0)

    def processes(self) -> PossibleProcesses:
        """Return what the reference windows leave possible; where they were not read, sampling alone."""
        if self.is_read:
            return learned(*self.numbers())
        error = self.auc.se / math.sqrt(self.auc.auc * (1 - self.auc.auc))
        return sampling_alone(scaled(self.auc.auc), error)

    def takes_season(self, rule: str) -> bool:
        """Return True if a rule is a forecast that lies around the season of a window."""
        return rule in self.rules and rule in self.reference.fits and bool(self.reference.fits[rule].season)

    def numbers(self, rule: str = "") -> tuple[Sequence[float], Sequence[float], tuple[int, ...]]:
        """AUROC on the scale, sampling variance and place of each reference window that has one.

        For a forecast that takes a season off, without that season.
        """
        scale = self.auc.auc * (1 - self.auc.auc)
        windows = [(place, window) for place, window in enumerate(self.reference.windows) if is_usual(window)]
        noise = [self.spread.variance(window["n_pos"], window["n_neg"]) / scale for _, window in windows]
        values: Sequence[float] = [scaled(window["auc"]) for _, window in windows]
        if self.takes_season(rule):
            wave = wave_of(values, [day_of(Window.from_dict(window)) for _, window in windows])
            values = values if wave is None else wave.left.tolist()
        places = tuple(place - windows[0][0] for place, _ in windows)
        return values, [max(variance, _LEAST_NOISE) for variance in noise], places


def simulation(
    scenario: Scenario, every: timedelta, processes: PossibleProcesses | None = None
) -> Simulation:
    """Draw a year of windows; of `processes`, by default those that the reference leaves possible.

    Notes
    -----
    52 to 366 windows of each series, of 200 processes in proportion to their probability. Their sampling
    noise is that of a window of the expected size at the reference's AUROC. A rule that judges the AUROC is
    asked for its outcome along the AUROC and at the sizes of the reference windows, each by itself; one that
    judges rows is counted by the margins, or else the outcomes, of the reference windows. Cost: 0.5 s.
    """
    windows = min(max(round(YEAR / every), _FEWEST), _MOST)
    noise = scenario.noise(scenario.auc.auc)
    coming = draw(scenario.processes() if processes is None else processes, noise, windows)
    missing, charts = uncounted(scenario), scenario.ranges.charts
    # Rules whose chart is not known count with the chance they promise.
    without = [name for name, rule in scenario.rules.items() if rule.needs.chart and name not in charts]
    usable = sum(bool(past["n_pos"] and past["n_neg"]) for past in scenario.reference.learned)
    two_sided = {
        name for name, rule in scenario.rules.items() if settings_of(rule).get("alternative") == "two-sided"
    }
    rules = {}
    for name, rule in scenario.alarming.items():
        if name in missing or name in without:
            continue
        usual = scenario.numbers(name)[:2]
        if rule.needs.chart:
            chart = charts[name]
            own = coming
            if any(chart.wave):  # the season of a window is no news to it
                own = draw(learned(chart.values, chart.noises, chart.places), chart.noise, windows)
            rules[name] = SimulatedRule(coming=own, chart=chart)
        elif name in scenario.margins:
            margins = scenario.margins[name]
            own = draw(learned(*margins), float(median(margins.noise)), windows)  # of the usual size
            rules[name] = SimulatedRule(coming=own, steps=BELOW_0, usual=margins[:2], of_auc=False)
        elif rule.needs.rows:
            rules[name] = SimulatedRule(
                coming=coming, steps=NEVER, at_sizes=scenario.outcomes[name], of_auc=False, usual=usual
            )
        else:
            own = coming
            if scenario.takes_season(name) and processes is None:
                own = draw(learned(*scenario.numbers(name)), noise, windows)
            rules[name] = SimulatedRule(
                coming=own,
                steps=promised(own, rule.tail, usable, two_sided=name in two_sided)
                if _unread(scenario, name)
                else scenario.steps(name),
                at_sizes=() if _unread(scenario, name) else scenario.at_sizes(name),
                usual=usual,
                fixed=not (rule.needs.auc or rule.needs.range),
            )
    return Simulation(
        auc=scenario.auc.auc,
        noise=scenario.noise,
        coming=coming,
        rules=rules,
        stated={
            name: (rule.tail, rule.tail if name in two_sided else 0.0)
            for name, rule in scenario.alarming.items()
            if name in without
        },
        per_year=YEAR / every,
    )


def _unread(scenario: Scenario, name: str) -> bool:
    """Return True for a rule whose normal range is not known; it counts with the chance that it promises."""
    return scenario.rules[name].needs.range and name not in scenario.reference.fits


def sampling_only(scenario: Scenario) -> list[str]:
    """Return the names of the rules that are counted as if windows differed by sampling alone."""
    return [
        name
        for name, rule in scenario.alarming.items()
        if not scenario.is_read and not (rule.needs.rows or rule.needs.chart or _unread(scenario, name))
    ]


def uncounted(scenario: Scenario) -> list[str]:
    """Return the names of rules whose false alarms are not known: they count nothing here.

    Those that promise no chance and whose range is not known; those that judge rows where no reference window
    was judged by them.
    """
    return [
        name
        for name, rule in scenario.rules.items()
        if (_unread(scenario, name) and not rule.tail)
        or (rule.needs.rows and name not in scenario.margins and name not in scenario.outcomes)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """The alarms of one rule before the labels.

    `foretold` and `lost` are the loss of AUROC that one window shows with the power asked for: that the
    scores foretell, against the mean of the reference windows; and when positives come to score like
    negatives. None where the rule does not see it.
    """

    warnings_a_year: float  # although nothing is wrong, on average of all that the reference leaves possible
    unlucky_warnings_a_year: float  # what one of ten possible processes exceeds
    withdrawn_a_year: float  # those of `warnings_a_year` that the labels find wrong
    foretold: float | None
    lost: float | None


def early(scenario: Scenario, name: str, every: timedelta, *, power: float = 0.8) -> Early:
    """Return what a rule that needs no labels does on windows of the usual number of scores.

    Notes
    -----
    It judges forecasts with another expected AUROC, and with another distance of the scores, each by itself,
    all else as in the whole reference. How these differ between windows is learned as of the AUROC. Labels
    then show the AUROC of the reference, moved towards the expected one by the strength that the reference
    windows teach, with sampling error.
    """
    reference, rule = scenario.reference, scenario.rules[name]
    history, cells = reference.history, reference.cells
    assert history is not None
    assert cells is not None
    rows = round(scenario.n_pos + scenario.n_neg)
    scores = ScoreCounts(cells.score, cells.pos + cells.neg)
    usual = replace(forecast_of(scores, scenario.ranges, scenario.rules), n_rows=rows)
    limits = outlook_limits(scenario.rules, scenario.ranges, usual, None)

    def code(auc: float = usual.auc, distance: float = 0.0) -> int:
        moved = usual.strength * (auc - usual.auc)
        ends = {end: getattr(usual, end) + moved for end in ("foreseen", "low", "high")}
        evidence = Evidence(
            law=None,
            now=None,
            sample=None,
            derived=scenario.ranges.derived,
            expected=replace(usual, auc=auc, score_distance=distance, **ends),
            limits=limits,
        )
        return CODES.get(rule.judge(name, evidence, reference).outcome, 0)

    by_auc = steps_of(lambda x: code(auc=unscaled(x)), scaled(_LEAST_AUC), scaled(_LARGEST_AUC))
    by_distance = steps_of(lambda x: code(distance=math.exp(x)), *_LOG_DISTANCES)
    aucs, distances = coming_expected(history, rows), coming_distances(history, rows)
    low = by_auc.chance(aucs.mean, aucs.deviation)
    far = by_distance.chance(distances.mean, distances.deviation)
    a_year, ordered = YEAR / every, sorted((low + far).tolist())
    se = scenario.spread.variance(scenario.n_pos, scenario.n_neg) ** 0.5

    def wrong(auc: float) -> float:
        mean = history.auc + usual.strength * (auc - history.auc)
        return wrong_share(auc, history.auc, mean=mean, se=se)

    of_low = [  # the middle one of the windows that warn, for each process
        rate * wrong(min(unscaled(mean + deviation * _NORMAL.inv_cdf(rate / 2)), history.auc))
        for mean, deviation, rate in zip(
            *(values.tolist() for values in (aucs.mean, aucs.deviation, low)), strict=True
        )
        if rate > _LEAST_RATE
    ]
    withdrawn = (sum(of_low) + float(far.sum()) * wrong(history.auc)) / len(ordered)
    return Early(
        warnings_a_year=a_year * fmean(ordered),
        unlucky_warnings_a_year=a_year * ordered[round(0.9 * len(ordered))],
        withdrawn_a_year=a_year * withdrawn,
        foretold=smallest(
            lambda drop: fmean(
                by_auc.chance(aucs.mean + shifted(history.auc, drop), aucs.deviation).tolist()
            ),
            power,
            0.99 * history.auc,
        ),
        lost=loss_shown(history, cells, rows, by_distance, power=power),
    )
