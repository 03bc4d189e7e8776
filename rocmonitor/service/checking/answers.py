"""The three answers of a check: what is normal, what can be judged, how many alarms will be false."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.policy.false_alarms import (
    Early,
    Simulation,
    detections,
    false_alarms,
    single_window_drop,
)
from rocmonitor.policy.reference import Reference
from rocmonitor.policy.scenario import without_chart
from rocmonitor.policy.windows import Window
from rocmonitor.service.checking.joined import window_length
from rocmonitor.service.checking.words import LEAST_SHOWN, POWER, Doubt
from rocmonitor.sources import LabelCounts
from rocmonitor.wording.format import count, listed

STAYS = 0.05
"""The drop that stays whose time is told."""

_MOST_FALSE = 12.0  # a year: more than one a month
_MOST_SMALL = 0.1  # share of windows that cannot be judged
_MOST_POOLED = 12
_COLLAPSE = 0.5  # of the way from the reference's AUROC to 0.5


@dataclass(slots=True, kw_only=True)
class Answers:
    """The answers of one monitor, as lines by topic; a topic without a line could not be answered.

    Attributes
    ----------
    lines : dict of str to str
    doubts : list of Doubt
        Each with what helps.
    """

    lines: dict[str, str] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    def add(self, topic: str, found: tuple[str, list[Doubt]]) -> None:
        """Add the answer to one question."""
        line, doubts = found
        self.lines |= {topic: line} if line else {}
        self.doubts += doubts


def normal(monitor: Monitor, reference: Reference, drawn: Simulation) -> tuple[str, list[Doubt]]:
    """Return the range that will be normal, and which drops it lets be seen."""
    found = next(iter(reference.forecasts.values()), None)
    auc = drawn.scenario.auc.auc
    range_ = f"AUROC {_range(found.low, found.high)}; " if found is not None else "AUROC "
    line, doubts, drops = f"{range_}{auc:.3f} in the reference", list[Doubt](), list[str]()
    seen, alarm = single_window_drop(drawn, power=POWER), monitor.alarm.policy()
    if seen is not None and seen[1] > 0:
        which = "the first window" if alarm.after == 1 else "a single window"
        drops.append(f"a drop of {math.ceil(100 * seen[1]) / 100:g} shows in {which}")
    wide = seen is None or seen[1] > _COLLAPSE * (auc - 0.5)
    stays = _stays(drawn, monitor) if auc > 0.5 + STAYS else ""
    if stays:
        drops.append(f"{'one' if drops else 'a drop'} of {STAYS:g} that stays {stays}")
    if drops:
        line += f". {', '.join(drops).capitalize()}"
    if wide and (drawn.limits or not without_chart(drawn.scenario)):
        doubts.append(
            Doubt(
                "a single window shows no less than a collapse of the model: take longer windows "
                "(window.every), a longer reference, or rule lasting, which adds windows up"
            )
        )
    return line, doubts


def _range(low: float, high: float) -> str:
    return f"{low:.3f} or more" if high >= 1 else f"{low:.3f} to {high:.3f}"


def _stays(drawn: Simulation, monitor: Monitor) -> str:
    """Return how long a drop that stays goes unseen."""
    found = detections(drawn, STAYS, monitor.alarm.policy())
    if not found:
        return ""
    median = found[list(found)[-1]].windows[0]
    if median is None:
        return f"is not seen within {drawn.windows} windows"
    return f"shows in about {count(median, 'window')}"


def judged(
    monitor: Monitor, reference: Sequence[tuple[int, int]], last: tuple[Window, LabelCounts] | None
) -> tuple[str, list[Doubt]]:
    """Return how many windows can be judged, and what would help.

    Parameters
    ----------
    reference : sequence of pairs of int
        Labelled positives and negatives of each of its windows.
    """
    least = monitor.min_per_class
    small = [min(each) < least for each in reference]
    line = f"{window_length(monitor)}, {written(monitor.window.label_delay)} after the end of each"
    many, of = sum(small), f"{count(len(small), 'window')} of the reference"
    if reference and not many:
        line += f"; the {of} {'are all' if len(small) > 1 else 'is'} large enough"
    if last is not None:
        sizes = f"{count(last[1].n_pos, 'positive')} and {count(last[1].n_neg, 'negative')}"
        line += f"; the last window has {sizes}"
    if not many:
        return line, []
    empty = sum(not any(each) for each in reference)
    if empty > many / 2:
        helps = "choose another period (reference.from, reference.to)"
        return line, [Doubt(f"{empty} of the {of} have no labelled rows: {helps}")]
    kind = (
        "positives" if sum(pos for pos, _ in reference) <= sum(neg for _, neg in reference) else "negatives"
    )
    said = f"{many} of the {of} have fewer than {least:,} {kind}"
    if many <= _MOST_SMALL * len(small):
        return f"{line}; {said}", []
    return line, [
        Doubt(f"{said} (min_per_class): such windows cannot be judged{_what_helps(monitor, reference)}")
    ]


def _what_helps(monitor: Monitor, reference: Sequence[tuple[int, int]]) -> str:
    """Return how many windows to pool so that nearly all are large enough."""
    if monitor.joining is not None:
        return ""
    for pieces in range(2, _MOST_POOLED + 1):
        pooled = list(_pooled(reference, pieces))
        enough = sum(min(each) >= monitor.min_per_class for each in pooled)
        if pooled and enough >= (1 - _MOST_SMALL) * len(pooled):
            return f"; pool: {pieces} in window puts up to {pieces} together until they are enough"
    return "; take longer windows (window.every)"


def _pooled(reference: Sequence[tuple[int, int]], pieces: int) -> Iterator[tuple[int, int]]:
    for first in range(0, len(reference) - pieces + 1, pieces):
        part = reference[first : first + pieces]
        yield sum(pos for pos, _ in part), sum(neg for _, neg in part)


def alarms(
    monitor: Monitor, drawn: Simulation | None, every: timedelta, early: Iterable[Early]
) -> tuple[str, list[Doubt]]:
    """Return how many alarms will be false; `drawn` is None without a rule whose rate is known."""
    warnings = [each.warnings_a_year for each in early]
    if drawn is None:
        doubt = Doubt(
            "the false alarms of these rules cannot be counted: add forecast, which learns the normal range"
        )
        said = f"about {_about(max(warnings))} false warnings a year, before the labels" if warnings else ""
        return said, [doubt]
    yearly = false_alarms(drawn, monitor.alarm.policy(), every)
    about = _about(yearly.expected)
    line = f"about {about} false alarm{'' if about == '1' else 's'} a year"
    if (low := _about(yearly.low)) != (high := _about(yearly.high)):
        line += f" ({low} to {high})"
    if warnings:
        line += f", and {_about(max(warnings))} false warnings before the labels"
    if monitor.segments:
        line += f"; each value of {listed(monitor.segments)} adds as many"
    if yearly.expected <= _MOST_FALSE:
        return line, []
    return line, [
        Doubt(
            "more than one false alarm a month: set alarm_budget, a higher confidence_level, or "
            "alarm: {after: 2, of: 3}"
        )
    ]


def _about(each_year: float) -> str:
    return "0" if each_year < LEAST_SHOWN else f"{each_year:.1g}" if each_year < 10 else f"{each_year:,.0f}"
