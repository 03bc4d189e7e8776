"""What judges the streams of `detection.py`: rocmonitor itself, and the published rules of others.

An alarm is one of a fall; it is over after 6 windows in a row without one, and ours when the windows show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
from detection_streams import REFERENCE, Floats, Rows
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedShuffleSplit

from rocmonitor.policy.episode import Decline, episodes_after
from rocmonitor.policy.evaluation import Counts, Evaluation, Point, Status
from rocmonitor.policy.judge import foresee, judge
from rocmonitor.policy.lasting import course
from rocmonitor.policy.lessons import judged_outlook
from rocmonitor.policy.normal_ranges import NormalRanges
from rocmonitor.policy.outlook import repeated
from rocmonitor.policy.reference import freeze
from rocmonitor.policy.status import Alarm, SegmentState
from rocmonitor.policy.windows import Window, day_of
from rocmonitor.rules import PROPOSED, OutlookRule, Rule
from rocmonitor.stats import Sample
from rocmonitor.stats.sample import ScoreCounts

ZONE, START, WEEK = ZoneInfo("UTC"), datetime(2025, 1, 6, tzinfo=UTC), timedelta(days=7)
DELAY = 4
"""Windows until the labels of a window come, for the rules that warn before them."""
CALM = 6
"""Windows without a finding that end an alarm: the default of the configuration."""
LEAST = 20
"""``min_per_class``; the default of 50 would leave many windows of the smaller streams unjudged."""

BEFORE_LABELS: dict[str, Rule] = {**PROPOSED, "outlook": OutlookRule()}


def week(number: int) -> Window:
    return Window(START + number * WEEK, START + (number + 1) * WEEK)


@dataclass
class Ours:
    """A monitor with the rules that ``init`` writes, judged as a tick does it, each window at once."""

    ranges: NormalRanges
    rules: Mapping[str, Rule]
    state: SegmentState = field(default_factory=lambda: SegmentState("stream", "", Alarm(recover_after=CALM)))
    points: list[Point] = field(default_factory=list)
    episodes: list[Decline] = field(default_factory=list)
    outlooks: dict[Window, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, reference: Sequence[Rows], rules: Mapping[str, Rule] = PROPOSED) -> Ours:
        """Freeze a reference."""
        windows = [(week(at), Sample(*rows)) for at, rows in enumerate(reference)]
        outlooks = "outlook" in rules
        return cls(NormalRanges.of(freeze(windows, rules, outlooks=outlooks, min_per_class=LEAST)), rules)

    def copied(self) -> Ours:
        """Return a monitor that goes on from here by itself."""
        new = copy(self)
        new.state, new.points, new.episodes = deepcopy(self.state), [*self.points], [*self.episodes]
        new.outlooks = {**self.outlooks}
        return new

    def judge(self, rows: Rows) -> bool:
        """Judge the next window; True while an alarm is open."""
        window, sample = week(REFERENCE + len(self.points)), Sample(*rows)
        ends = [
            episode.end
            for episode in self.episodes
            if episode.ended_with is not None and episode.end is not None
        ]
        after = max(ends, default=week(REFERENCE).start)
        counts = Counts(rows=len(rows.y), n_pos=sample.n_pos, n_neg=sample.n_neg)
        finding = judge(
            sample,
            None,
            counts,
            ranges=self.ranges,
            rules=self.rules,
            min_per_class=LEAST,
            day=day_of(window),
            past=course(self.points, window, champion="1", after=after, zone=ZONE),
        )
        evaluation = Evaluation(
            monitor="stream",
            model="model",
            window=window,
            champion_version="1",
            at=window.end,
            evaluated_at=window.end,
            outcome=finding.outcome,
            status=Status.OK,
            verdicts=finding.verdicts,
            counts=counts,
            metrics=finding.metrics | repeated(self.outlooks.get(window, {})),
        )
        self.points.append(
            Point(
                window=window,
                revision=0,
                at=window.end,
                outcome=finding.outcome,
                metrics=evaluation.metrics,
                champion_version="1",
            )
        )
        self.state.add(window, finding.outcome)
        before = self.episodes[-1] if self.episodes and self.episodes[-1].is_open else None
        since = [point for point in self.points if point.window.start >= after]
        for episode in episodes_after(before, self.state, evaluation, lambda: since, ZONE):
            if self.episodes and self.episodes[-1].alarm == episode.alarm:
                self.episodes.pop()
            self.episodes.append(episode)
        return bool(self.episodes) and self.episodes[-1].is_open

    def warns(self, rows: Rows) -> bool:
        """Foresee the next window from its scores alone."""
        window, scores = week(REFERENCE + len(self.outlooks)), ScoreCounts.of(rows.s)
        past = map(judged_outlook, self.points)
        finding = foresee(
            scores,
            ranges=self.ranges,
            rules=self.rules,
            min_rows=LEAST,
            day=day_of(window),
            since=[outlook for outlook in past if outlook is not None],
        )
        warns = finding.outcome is Status.AT_RISK
        self.outlooks[window] = finding.metrics | {
            "outlook/scored": float(scores.rows),
            "outlook/warned": float(warns),
        }
        return warns


# Others. Each gives a number for every window; an alert is one above the limit, or a running sum above it.

LIMITS = {"NannyML": 3.0, "Evidently": 0.2, "z rule": 1.96, "CUSUM": 5.0, "CBPE": 3.0}
SUMS = ("CUSUM", "oracle")


def of_labels(aucs: Floats, errors: Floats, n: int, whole: tuple[float, float]) -> dict[str, Floats]:
    """Return the numbers of each rule for the windows after the first `n`, which are its reference.

    - NannyML: standard deviations (of the population) below the mean of the reference windows.
    - Evidently: the relative fall below the AUROC of all reference rows.
    - z rule: the same fall in DeLong's standard errors of both.
    - CUSUM: with reference value 0.5, of standard deviations of the reference windows.
    """
    past, later = aucs[:n], aucs[n:]
    return {
        "NannyML": (past.mean() - later) / past.std(),
        "Evidently": 1 - later / whole[0],
        "z rule": (whole[0] - later) / np.hypot(errors[n:], whole[1]),
        "CUSUM": (past.mean() - later) / past.std(ddof=1) - 0.5,
    }


def oracle(aucs: Floats, errors: Floats, drop: float, mean: float, between: float) -> Floats:
    """Return the log likelihood ratio of a drop of known size: the law of the windows is known, too."""
    return drop * (mean - drop / 2 - aucs) / (between**2 + errors**2)


class Cbpe:
    """NannyML's confidence-based estimate of an AUROC from calibrated scores."""

    def __init__(self, reference: Sequence[Rows], aucs: Floats) -> None:
        y, s = (np.concatenate(column) for column in zip(*reference, strict=True))
        self._mean, self._sd = aucs.mean(), aucs.std()
        self._fitted = IsotonicRegression(out_of_bounds="clip").fit(s, y) if _calibrates(y, s) else None

    def number(self, rows: Rows) -> float:
        """Return standard deviations of the realised AUROC below its mean in the reference."""
        return float((self._mean - self.estimate(rows.s)) / self._sd)

    def estimate(self, s: Floats) -> float:
        """Return the AUROC if each score, calibrated, is the chance of a positive."""
        order = np.argsort(s)[::-1]
        chance = (s if self._fitted is None else self._fitted.predict(s))[order]
        tps = np.concatenate([[0.0], np.cumsum(chance)])
        fps = np.arange(len(tps)) - tps
        return float(np.trapezoid(tps / tps[-1], fps / fps[-1]))


def _calibrates(y: NDArray[np.bool_], s: Floats) -> bool:
    """Return True if an isotonic fit lowers the calibration error in ten splits, as NannyML asks."""
    parts = []
    for train, test in StratifiedShuffleSplit(10, test_size=0.1, random_state=42).split(s, y):
        fitted = IsotonicRegression(out_of_bounds="clip").fit(s[train], y[train])
        parts.append((y[test], s[test], fitted.predict(s[test])))
    truth, before, after = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _calibration_error(truth, before) > _calibration_error(truth, after)


def _calibration_error(y: NDArray[np.bool_], s: Floats) -> float:
    order = np.argsort(s)
    edges = np.arange(0, len(s) + 1, len(s) // 10)
    edges[-1] = len(s)
    bins = [order[low:high] for low, high in pairwise(edges)]
    return sum(len(rows) * abs(s[rows].mean() - y[rows].mean()) for rows in bins) / len(s)


def followed(
    numbers: Floats, limit: float | Floats, sums: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return in which windows an alarm is open and in which one begins, windows last.

    `limit` is a number or an array (limits, 1), for (replications, windows) of numbers.
    """
    shape, steps = np.broadcast_shapes(np.shape(limit), numbers.shape[:1]), list[NDArray[np.bool_]]()
    level, calm, is_open, begun = np.zeros(shape), np.zeros(shape, int), np.zeros(shape, bool), list(steps)
    for now in numbers.T:
        level = np.maximum(level + now, 0) if sums else now
        hit = level > limit
        level = np.where(hit, 0.0, level)
        calm = np.where(hit, 0, calm + 1)
        begun.append(hit & ~is_open)
        is_open = (is_open | hit) & (calm < CALM)
        steps.append(is_open)
    return np.stack(steps, axis=-1), np.stack(begun, axis=-1)


class Strictness:
    """Limits of a rule with the false alarms that they give quiet years."""

    def __init__(self, numbers: Floats, sums: bool) -> None:
        high = np.maximum(numbers, 0).sum(axis=1).max() if sums else numbers.max()
        low = 1e-3 if sums else float(np.median(numbers))
        self._limits = np.geomspace(max(high, 1.0), low, 300) if sums else np.linspace(high, low, 300)
        begun = followed(numbers, self._limits[:, None], sums)[1]
        self._false = begun.sum(axis=-1).mean(axis=-1)

    def limit(self, a_year: float) -> float:
        """Return the lowest limit down to which there are at most so many false alarms a year."""
        over = np.flatnonzero(self._false > a_year)
        return float(self._limits[max(over[0] - 1, 0) if len(over) else -1])
