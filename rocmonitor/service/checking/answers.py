"""The three answers of a check: what is normal, what can be judged, how many alarms will be false."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.policy.budget import YEAR
from rocmonitor.policy.scenario import Early, Scenario
from rocmonitor.policy.windows import Window
from rocmonitor.service.checking.joined import window_length
from rocmonitor.service.checking.words import POWER, STAYS, Doubt, rate
from rocmonitor.sources import LabelCounts
from rocmonitor.stats.simulated import Simulation
from rocmonitor.wording.format import count, instant, listed, normal_range

_HARDLY = 0.05  # a year
_WORTH_NAMING = 0.5  # a year
_MOST_FALSE = 12.0  # a year: more than one a month
_MOST_SMALL = 0.1  # share of windows that cannot be judged
_MOST_POOLED = 12
_COLLAPSE = 0.5  # of the way from the reference's AUROC to 0.5

_about = partial(rate, digits=1, hardly_any="0")


@dataclass(slots=True, kw_only=True)
class Answers:
    """The answers of one monitor, as lines by topic; a topic without a line could not be answered."""

    lines: dict[str, str] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    def add(self, topic: str, answer: tuple[str, list[Doubt]]) -> None:
        """Add the answer to one question."""
        line, doubts = answer
        self.lines |= {topic: line} if line else {}
        self.doubts += doubts


def normal(
    monitor: Monitor,
    scenario: Scenario,
    drawn: Simulation,
    sizes: Sequence[tuple[int, int]] = (),
    *,
    is_read: bool = True,
) -> tuple[str, list[Doubt]]:
    """Return the range that will be normal, and the drops that show.

    `sizes` are as `reference` of `judged`; no drop is named if no such window could be judged. Unless the
    reference `is_read`, its AUROC is an assumption.
    """
    interval, auc = scenario.ranges.first(), drawn.auc
    range_ = f"AUROC {normal_range(interval.low, interval.high)}; " if interval is not None else "AUROC "
    line, doubts, drops = f"{range_}{auc:.2f} in the reference", list[Doubt](), list[str]()
    if not is_read:
        line = (
            f"known with the first run: the reference is too large to be read here; at an AUROC of {auc:.2f}"
        )
    if sizes and all(min(size) < monitor.min_per_class for size in _as_windows(monitor, sizes)):
        return line, doubts
    seen, alarm = drawn.single_window_drop(power=POWER), monitor.alarm.policy()
    if seen is not None and seen[1] > 0:
        which = "the first window" if alarm.after == 1 else "a single window"
        drops.append(f"a drop of {math.ceil(100 * seen[1]) / 100:g} shows in {which}")
    wide = seen is None or seen[1] > _COLLAPSE * (auc - 0.5)
    if auc > 0.5 + STAYS and (detections := drawn.detections(STAYS, alarm)):
        windows = detections[list(detections)[-1]].windows[0]  # in half of all cases
        length = YEAR / timedelta(days=1) / drawn.per_year
        how = "is not seen within" if windows is None else "shows in about"
        span = count((drawn.windows if windows is None else windows) * length, "day")
        if windows != 1:
            drops.append(f"{'one' if drops else 'a drop'} of {STAYS:g} that stays {how} {span}")
    if drops:
        line += f". {', '.join(drops).capitalize()}" if is_read else f" {', '.join(drops)}"
    if wide and (drawn.single or not drawn.stated):
        ways = "longer windows (window.every) or a longer reference"
        if not any(rule.needs.chart for rule in scenario.rules.values()):
            ways = "longer windows (window.every), a longer reference, or rule lasting, which adds windows up"
        doubts.append(Doubt(f"only a collapse of the model would show in one window: take {ways}"))
    return line, doubts


def judged(
    monitor: Monitor,
    reference: Sequence[tuple[int, int]],
    last: tuple[Window, LabelCounts] | None,
    now: datetime,
) -> tuple[str, list[Doubt]]:
    """Return how many windows can be judged, and what would help.

    `reference` has the labelled positives and negatives of each of its windows.
    """
    least = monitor.min_per_class
    small = [min(size) < least for size in reference]
    windows = _as_windows(monitor, reference)
    line = f"{window_length(monitor)}, {written(monitor.window.label_delay)} after the end of each"
    if last is not None and (over := monitor.lapse(last[0], now)) is not None and over.kind == "watch":
        line += f", until {instant(over.start, monitor.timezone)} (window.end), which is over"
    many, all_windows = sum(small), f"{count(len(small), 'window')} of the reference"
    if reference and not many:
        line += f"; the {all_windows} {'are all' if len(small) > 1 else 'is'} large enough"
    if last is not None:
        sizes = f"{count(last[1].n_pos, 'positive')} and {count(last[1].n_neg, 'negative')}"
        line += f"; the last window has {sizes}"
    if windows is not reference and sum(min(size) < least for size in windows) > _MOST_SMALL * len(windows):
        pos, neg = (sum(counts) / len(windows) for counts in zip(*windows, strict=True))
        kind, mean = ("positives", pos) if pos <= neg else ("negatives", neg)
        return line, [
            Doubt(
                f"windows of {written(monitor.window.every)} have about {mean:,.0f} {kind}, as the reference "
                f"shows, and {least:,} are needed (min_per_class): such windows cannot be judged"
                f"{_what_helps(monitor, windows)}"
            )
        ]
    if not many or windows is not reference:
        return line, []
    empty = sum(not any(size) for size in reference)
    if empty > many / 2:
        helps = "choose another period (reference.from, reference.to)"
        return line, [Doubt(f"{empty} of the {all_windows} have no labelled rows: {helps}")]
    kind = (
        "positives" if sum(pos for pos, _ in reference) <= sum(neg for _, neg in reference) else "negatives"
    )
    text = f"{many} of the {all_windows} have fewer than {least:,} {kind}"
    if many <= _MOST_SMALL * len(small):
        return f"{line}; {text}", []
    return line, [
        Doubt(f"{text} (min_per_class): such windows cannot be judged{_what_helps(monitor, windows)}")
    ]


def _as_windows(monitor: Monitor, reference: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Return the labels of windows as long as the monitor's: the reference may be cut into other parts."""
    parts = monitor.reference.windows
    if parts is None or monitor.joining is not None:
        return reference
    period = monitor.reference_period
    share = monitor.window.length / ((period.end - period.start) / parts)
    return [(round(share * pos), round(share * neg)) for pos, neg in reference]


def _what_helps(monitor: Monitor, windows: Sequence[tuple[int, int]]) -> str:
    if monitor.joining is not None:
        return ""
    for pieces in range(2, _MOST_POOLED + 1):
        if monitor.reference.windows is None:
            starts = range(0, len(windows) - pieces + 1, pieces)
            joined = [windows[start : start + pieces] for start in starts]
            pooled = [(sum(pos for pos, _ in part), sum(neg for _, neg in part)) for part in joined]
        else:  # estimates for single windows, not windows in a row
            pooled = [(pieces * pos, pieces * neg) for pos, neg in windows]
        enough = sum(min(size) >= monitor.min_per_class for size in pooled)
        if pooled and enough >= (1 - _MOST_SMALL) * len(pooled):
            return f"; pool: {pieces} in window puts up to {pieces} together until they are enough"
    return "; take longer windows (window.every)"


def alarms(
    monitor: Monitor, drawn: Simulation | None, early: Iterable[Early], *, budgeted: bool
) -> tuple[str, list[Doubt]]:
    """Return how many alarms will be false; `drawn` is None without a rule whose rate is known."""
    warnings = [rule.warnings_a_year for rule in early]
    if drawn is None:
        doubt = Doubt(
            "the false alarms of these rules cannot be counted: add forecast, which learns the normal range"
        )
        text = f"{_many(max(warnings), 'false warning', per='a year')}, before the labels" if warnings else ""
        return text, [doubt]
    alarm = monitor.alarm.policy()
    yearly, improved = drawn.false_alarms(alarm), drawn.improvements(alarm).expected
    line = _many(yearly.expected, "false alarm", per="a year")
    if (low := _about(yearly.low)) != (high := _about(yearly.high)) and yearly.high >= _HARDLY:
        line += f" ({low} to {high})" if yearly.expected >= _HARDLY else f"; up to {high} are possible"
    if improved >= _WORTH_NAMING:
        line += f", and {_many(improved, 'message')} of an improvement that is not real"
    if warnings:
        line += f", and {_many(max(warnings), 'false warning')} before the labels"
    if monitor.segments:
        line += f"; each value of {listed(monitor.segments)} adds as many"
    if yearly.expected <= _MOST_FALSE:
        return line, []
    way_out = "lower false_alarms_per_year of alarm_budget" if budgeted else "set alarm_budget"
    return line, [
        Doubt(
            f"more than one false alarm a month: {way_out}, a higher confidence_level, or "
            "alarm: {after: 2, of: 3}"
        )
    ]


def _many(each_year: float, what: str, *, per: str = "") -> str:
    if each_year < _HARDLY:
        return f"hardly any {what}s (under {_HARDLY:g} a year)"
    about = _about(each_year)
    return " ".join(["about", about, what if about == "1" else f"{what}s", *([per] if per else [])])
