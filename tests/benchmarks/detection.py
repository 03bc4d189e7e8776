"""False alarms, and days until a decline is found, by our rules and others: make bench NAME=detection.

``pip install -r requirements/detection.txt`` for the public sets beside that of the demo. If
``ROCMONITOR_BENCHMARK_PEERS`` names the Python of an environment with NannyML and Evidently, their packages
judge one replication of each stream, and their alerts are compared with the rules that stand for them here.
A run that has all streams writes the tables of docs/comparison.md and their figure.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from detection_rules import (
    BEFORE_LABELS,
    DELAY,
    LIMITS,
    SUMS,
    Cbpe,
    Ours,
    Strictness,
    followed,
    of_labels,
    oracle,
)
from detection_streams import REFERENCE, SIZES, YEAR, Floats, Harder, Rows, Stream, Year, noise, streams
from matplotlib.axes import Axes
from PIL import Image
from timing import result, skipped, title

from rocmonitor.stats import Sample, auc

LABELLED, EARLY = 24, 6
"""Replications of each stream: with labels, and before them."""

WITHIN, SOON = 26, 13
"""Windows after the instant in which a decline counts as found: with labels, and before them."""

LATEST = 8
"""The instant lies in one of so many windows after the reference."""

OURS, ORACLE = "rocmonitor", "oracle"
PEERS = "ROCMONITOR_BENCHMARK_PEERS"
DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN, END = "<!-- Written by make bench NAME=detection: do not edit. -->", "<!-- detection ends -->"
FIGURE = "images/detection.png"
COLOURS = {
    OURS: "#0058a3",
    "NannyML": "#b13700",
    "Evidently": "#7b3fa0",
    "z rule": "#5c5f66",
    "CUSUM": "#2e7d32",
    ORACLE: "#1c1c1c",
}
INK, GREY = "#1c1c1c", "#5c5f66"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over replications with its Monte Carlo error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float] | Floats) -> Mean:
        """Return the mean of the values that are not NaN."""
        numbers = np.asarray(values, float)
        kept = numbers[~np.isnan(numbers)]
        if len(kept) < 2:
            return cls(float("nan"), float("nan"))
        return cls(float(kept.mean()), float(kept.std(ddof=1) / len(kept) ** 0.5))

    def __str__(self) -> str:
        digits = 1 if self.value < 20 and self.error < 1 else 0
        return "–" if np.isnan(self.value) else f"{self.value:.{digits}f}±{self.error:.{digits}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one rule did on one stream."""

    stream: str
    rule: str
    false: Mean  # alarms a year of 52 windows
    alarmed: float  # share of the windows of a quiet year in alarm
    days: dict[float, Mean]  # by the size of the decline
    equal: dict[float, Mean] = field(default_factory=dict)  # as strict as ours
    in_order: str = ""
    curve: tuple[tuple[float, float], ...] = ()  # false alarms a year, days, as the limit varies


def main(
    labelled: int = LABELLED, early: int = EARLY, document: Path | None = DOCS / "comparison.md"
) -> None:
    """Judge every stream by every rule, and write the document."""
    lines, before, checked, complete = list[Line](), list[Line](), list[str](), True
    for stream in streams():
        if isinstance(stream, str):
            skipped(stream)
            complete = False
            continue
        title(f"{stream.name}: {labelled} replications, {early} before the labels")
        busy = time.process_time()
        lines += shown(with_labels(stream, labelled))
        before += shown(before_labels(stream, early))
        checked += packages(stream)
        result("processor seconds", f"{time.process_time() - busy:.0f}")
    if document is not None and complete:
        write(document, lines, before, [replications(labelled, early), *agreement(checked)])


def shown(lines: list[Line]) -> list[Line]:
    for line in lines:
        result(f"{line.rule}: false alarms a year", f"{line.false}")
        for size in line.days:
            equal = f", as strict as ours {line.equal[size]}" if size in line.equal else ""
            result(f"  days until {size:.2f}", f"{line.days[size]}{equal}")
    return lines


@dataclass(frozen=True, slots=True)
class Instant:
    """When a decline begins: in which window, and after which share of it."""

    window: int
    share: float

    def days(self, begun: int | None, within: int) -> float:
        """Return the days until the end of a window; of `within` windows if it was not found in them."""
        return 7 * (within if begun is None else begun + 1 - self.window - self.share)


def drawn(stream: Stream, of: str, number: int) -> tuple[Year, Instant, np.random.Generator]:
    rng = np.random.default_rng([crc32(f"{stream.name} {of}".encode()), number])
    year = stream.draw(rng)
    return year, Instant(int(rng.integers(LATEST)), float(rng.random())), rng


def measured(windows: Sequence[Rows]) -> tuple[Floats, Floats]:
    """Return AUROC and standard error of each window."""
    areas = [auc(Sample(*rows)) for rows in windows]
    return np.array([area.auc for area in areas]), np.array([area.se for area in areas])


def with_labels(stream: Stream, count: int) -> list[Line]:
    """Compare the rules that judge a window when its labels are known."""
    aucs, errors = measured(stream.windows)
    mean, between = float(aucs.mean()), float(max(aucs.var(ddof=1) - (errors**2).mean(), 0) ** 0.5)
    instants, alarms, alarmed = list[Instant](), list[int](), list[bool]()
    mine: dict[float, list[float]] = {size: [] for size in SIZES}
    quiet, fallen = Numbers(), {size: Numbers() for size in SIZES}
    for number in range(count):
        (reference, later), instant, rng = drawn(stream, "labels", number)
        instants.append(instant)
        whole, start = auc(Sample(*map(np.concatenate, zip(*reference, strict=True)))), instant.window
        past = measured(reference)

        def numbers(
            windows: Sequence[Rows], past: Year = past, whole: tuple[float, float] = (whole.auc, whole.se)
        ) -> dict[str, Floats]:
            later = measured(windows)
            both = [np.concatenate(pair) for pair in zip(past, later, strict=True)]
            ratios = {f"{ORACLE} {size}": oracle(*later, size, mean, between) for size in SIZES}
            return of_labels(*both, REFERENCE, whole) | ratios

        quiet.add(numbers(later))
        monitor, opened = Ours.of(reference), list[bool]()
        for at, rows in enumerate(later):
            if at == start:
                before = monitor.copied()
            opened.append(monitor.judge(rows))
        alarms.append(len(monitor.episodes))
        alarmed += opened
        for size in SIZES:
            span = later[start : start + WITHIN]
            planted = [
                noise(rows, size, mean, 0 if at else instant.share, rng) for at, rows in enumerate(span)
            ]
            fallen[size].add(numbers([*later[:start], *planted]))
            if start and opened[start - 1]:
                mine[size].append(np.nan)
                continue
            judged = before.copied()
            begun = next((start + at for at, rows in enumerate(planted) if judged.judge(rows)), None)
            mine[size].append(instant.days(begun, WITHIN))
    ours = Line(
        stream=stream.name,
        rule=OURS,
        false=Mean.of(alarms),
        alarmed=float(np.mean(alarmed)),
        days={size: Mean.of(days) for size, days in mine.items()},
        in_order=in_order(stream, None),
    )
    years = Years(instants, quiet, fallen, WITHIN)
    others = [
        years.line(stream, rule, ours.false.value) for rule in ("NannyML", "Evidently", "z rule", "CUSUM")
    ]
    return [ours, *others, years.oracle(stream, ours.false.value)]


class Numbers(dict[str, list[Floats]]):
    """The numbers of each rule, a list of series."""

    def add(self, numbers: Mapping[str, Floats]) -> None:
        """Add the series of one replication, filled up to a year with windows that alarm nobody."""
        for rule, series in numbers.items():
            filled = np.concatenate([series, np.full(YEAR - len(series), -np.inf)])
            self.setdefault(rule, []).append(filled)


@dataclass(frozen=True, slots=True)
class Years:
    """Quiet years and declines, as others number their windows."""

    instants: Sequence[Instant]
    quiet: Numbers
    fallen: Mapping[float, Numbers]
    within: int

    def line(self, stream: Stream, rule: str, a_year: float) -> Line:
        """Return a rule at its own limit, and at the one that gives it as many false alarms as ours."""
        limit, sums = LIMITS[rule], rule in SUMS
        quiet = np.array(self.quiet[rule])
        strictness = Strictness(quiet, sums)
        equal = strictness.limit(a_year)
        opened, begun = followed(quiet, limit, sums)
        return Line(
            stream=stream.name,
            rule=rule,
            false=Mean.of(begun.sum(axis=1)),
            alarmed=float(opened.mean()),
            days={size: self.days(rule, size, limit, sums) for size in SIZES},
            equal={size: self.days(rule, size, equal, sums) for size in SIZES},
            in_order=in_order(stream, rule) if rule != "CBPE" else "",
            curve=self.curve(rule, strictness, sums),
        )

    def oracle(self, stream: Stream, a_year: float) -> Line:
        """Return the likelihood ratio of each size; it has no limit of its own."""
        equal, false, alarmed, curve = {}, [], [], ()
        for size in SIZES:
            name = f"{ORACLE} {size}"
            quiet = np.array(self.quiet[name])
            strictness = Strictness(quiet, sums=True)
            limit = strictness.limit(a_year)
            equal[size] = self.days(name, size, limit, sums=True)
            opened, begun = followed(quiet, limit, sums=True)
            false.append(begun.sum(axis=1))
            alarmed.append(opened.mean())
            curve = self.curve(name, strictness, sums=True) if size == 0.05 else curve
        return Line(
            stream=stream.name,
            rule=ORACLE,
            false=Mean.of(np.mean(false, axis=0)),
            alarmed=float(np.mean(alarmed)),
            days={},
            equal=equal,
            curve=curve,
        )

    def days(self, rule: str, size: float, limit: float, sums: bool) -> Mean:
        """Return the mean time to an alarm, of years without one at the instant."""
        opened, begun = followed(np.array(self.fallen[size][rule]), limit, sums)
        days = []
        for instant, is_open, begins in zip(self.instants, opened, begun, strict=True):
            start = instant.window
            places = np.flatnonzero(begins[start : start + self.within])
            first = start + int(places[0]) if len(places) else None
            alarmed = start and is_open[start - 1]
            days.append(np.nan if alarmed else instant.days(first, self.within))
        return Mean.of(days)

    def curve(self, rule: str, strictness: Strictness, sums: bool) -> tuple[tuple[float, float], ...]:
        """Return false alarms a year and days until 0.05 for limits that give 0.1 to 2 of them.

        Lower limits give fewer again: alarms that never end.
        """
        quiet, points = np.array(self.quiet[rule]), []
        for a_year in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0):
            limit = strictness.limit(a_year)
            false = float(followed(quiet, limit, sums)[1].sum(axis=1).mean())
            if points and false < points[-1][0]:
                break
            points.append((false, self.days(rule, 0.05, limit, sums).value))
        return tuple(points)


def in_order(stream: Stream, rule: str | None) -> str:
    """Return the alarms on a public stream in its own order, of the windows after the first 20."""
    if not stream.is_public:
        return ""
    reference, later = stream.windows[:REFERENCE], stream.windows[REFERENCE:]
    if rule is None:
        monitor = Ours.of(reference)
        for rows in later:
            monitor.judge(rows)
        return f"{len(monitor.episodes)}"
    whole = auc(Sample(*map(np.concatenate, zip(*reference, strict=True))))
    numbers = of_labels(*measured(stream.windows), REFERENCE, (whole.auc, whole.se))[rule]
    return f"{int(followed(numbers[None], LIMITS[rule], rule in SUMS)[1].sum())}"


def before_labels(stream: Stream, count: int) -> list[Line]:
    """Compare the outlook with NannyML's estimate, when harder cases come more often."""
    harder = {size: Harder.by(stream.windows, size) for size in SIZES}
    instants, warnings, alarmed = list[Instant](), list[int](), list[float]()
    mine: dict[float, list[float]] = {size: [] for size in SIZES}
    quiet, fallen = Numbers(), {size: Numbers() for size in SIZES}
    for number in range(count):
        (reference, later), instant, rng = drawn(stream, "before", number)
        instants.append(instant)
        monitor, cbpe, start = (
            Ours.of(reference, BEFORE_LABELS),
            Cbpe(reference, measured(reference)[0]),
            instant.window,
        )
        warned = list[bool]()
        for at in range(YEAR):
            if at == start:
                before = monitor.copied()
            warned.append(warning(monitor, later, at))
        quiet.add({"CBPE": np.array([cbpe.number(rows) for rows in later])})
        opened, begun = followed(np.array([warned], float), 0.5, sums=False)
        warnings.append(int(begun.sum()))
        alarmed.append(float(opened.mean()))
        for size in SIZES:
            span = later[start : start + SOON]
            planted = [harder[size].of(rows, 0 if at else instant.share, rng) for at, rows in enumerate(span)]
            windows = [*later[:start], *planted]
            fallen[size].add({"CBPE": np.array([cbpe.number(rows) for rows in windows])})
            if start and opened[0, start - 1]:
                mine[size].append(np.nan)
                continue
            judged = before.copied()
            first = next((at for at in range(start, len(windows)) if warning(judged, windows, at)), None)
            mine[size].append(instant.days(first, SOON))
    ours = Line(
        stream=stream.name,
        rule=OURS,
        false=Mean.of(warnings),
        alarmed=float(np.mean(alarmed)),
        days={size: Mean.of(days) for size, days in mine.items()},
    )
    return [ours, Years(instants, quiet, fallen, SOON).line(stream, "CBPE", ours.false.value)]


def warning(monitor: Ours, windows: Sequence[Rows], at: int) -> bool:
    """Foresee a window; the labels of the one before it by the delay have come."""
    if at >= DELAY:
        monitor.judge(windows[at - DELAY])
    return monitor.warns(windows[at])


def packages(stream: Stream) -> Iterator[str]:
    """Yield a sentence for each package that judged a replication: do its alerts equal the rule's?"""
    if PEERS not in os.environ:
        skipped(f"{PEERS} names no Python with NannyML and Evidently")
        return
    (reference, later), instant, rng = drawn(stream, "labels", 0)
    area = float(measured(stream.windows)[0].mean())
    later = [
        noise(rows, 0.2, area, 0, rng) if at >= instant.window else rows for at, rows in enumerate(later)
    ]
    windows = [*reference, *later]
    (past, later_aucs), whole = (
        np.split(measured(windows)[0], [REFERENCE]),
        auc(Sample(*map(np.concatenate, zip(*reference, strict=True)))),
    )
    cbpe = Cbpe(reference, past)
    here = {
        "NannyML": (past.mean() - later_aucs) / past.std() > LIMITS["NannyML"],
        "CBPE": np.array([cbpe.number(rows) for rows in later]) > LIMITS["CBPE"],
        "Evidently": 1 - later_aucs / whole.auc > LIMITS["Evidently"],
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "windows.npz"
        np.savez(
            file,
            window=np.repeat(np.arange(len(windows)), [len(rows.y) for rows in windows]),
            y=np.concatenate([rows.y for rows in windows]),
            s=np.concatenate([rows.s for rows in windows]),
            reference=REFERENCE,
        )
        script = Path(__file__).with_name("detection_peers.py")
        for python in os.environ[PEERS].split(os.pathsep):
            done = subprocess.run([python, script, file], check=True, capture_output=True, text=True)
            for name, alerts in json.loads(done.stdout.splitlines()[-1]).items():
                same = int((here[name][: len(alerts)] == np.array(alerts)).sum())
                result(f"{name}, package and rule: the same of {len(alerts)} windows", f"{same}")
                yield f"{name} {same} {len(alerts)}"


# The document


def write(document: Path, lines: list[Line], before: list[Line], said: list[str]) -> None:
    """Put tables and figure between the markers."""
    text = document.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    draw(document.parent / FIGURE, lines)
    parts = [table(lines, before=False), table(before, before=True), losses(lines, before), *said]
    figure = f"![Days until a decline of 0.05 is found against false alarms a year, six streams]({FIGURE})"
    document.write_text(
        "\n\n".join([head + BEGIN, *parts[:1], figure, *parts[1:], END + tail]), encoding="utf-8"
    )


def table(lines: Sequence[Line], *, before: bool) -> str:
    """Return a row for each rule and stream."""
    sizes = [f"{size:.2f}" for size in SIZES]
    head = ["stream", "rule", "false warnings" if before else "false alarms", "in alarm", *sizes]
    head += [f"{size}, as strict" for size in sizes] + ([] if before else ["own order"])
    rows = [head, ["---"] * len(head)]
    names = ""
    for line in lines:
        cells = [f"{line.days[size]}" if line.days else "" for size in SIZES]
        cells += [f"{line.equal[size]}" if line.equal else "" for size in SIZES]
        rows.append(
            [
                "" if line.stream == names else line.stream,
                line.rule,
                f"{line.false}",
                f"{100 * line.alarmed:.0f} %",
            ]
            + cells
            + ([] if before else [line.in_order])
        )
        names = line.stream
    return "\n".join(f"|{'|'.join(row)}|" for row in rows)


def losses(lines: Sequence[Line], before: Sequence[Line]) -> str:
    """Return in how many cells, as strict as ours, another rule is clearly sooner or later."""
    said = []
    for rule in ("NannyML", "CBPE", "Evidently", "z rule", "CUSUM"):
        sooner, later, cells = list[str](), 0, 0
        for line in (line for line in (*lines, *before) if line.rule == rule):
            among = before if rule == "CBPE" else lines
            ours = next(one for one in among if one.stream == line.stream and one.rule == OURS)
            for size in SIZES:
                gap = ours.days[size].value - line.equal[size].value
                error = np.hypot(ours.days[size].error, line.equal[size].error)
                cells += 1
                later += gap < -2 * error
                if gap > 2 * error:
                    sooner.append(f"{line.stream} {size:.2f}")
        where = f" ({'; '.join(sooner)})" if sooner else ""
        said.append(f"{rule} is sooner than ours in {len(sooner)} of {cells} cells{where}, later in {later}")
    return f"As strict as ours, by more than two Monte Carlo errors: {'. '.join(said)}."


def replications(labelled: int, early: int) -> str:
    """Return how many replications there were."""
    return f"Replications of each stream: {labelled} with labels, {early} before; ± is the Monte Carlo error."


def agreement(checked: Sequence[str]) -> list[str]:
    """Return one sentence on packages that judged the same windows."""
    if not checked:
        return []
    totals: dict[str, list[int]] = {}
    for sentence in checked:
        name, same, count = sentence.rsplit(" ", 2)
        totals.setdefault(name, [0, 0])
        totals[name] = [totals[name][0] + int(same), totals[name][1] + int(count)]
    counts = ", ".join(f"{name} {same} of {count}" for name, (same, count) in totals.items())
    return [f"Alerts of the packages that equal the rule here, one replication of each stream: {counts}."]


def draw(target: Path, lines: Sequence[Line]) -> None:
    """Draw a panel for each stream."""
    matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": GREY})
    figure, panels = plt.subplots(2, 3, figsize=(10, 6.2), dpi=100, layout="constrained", facecolor="white")
    names = list(dict.fromkeys(line.stream for line in lines))
    for axes, name in zip(panels.flat, names, strict=False):
        panel(axes, name, [line for line in lines if line.stream == name])
    figure.supxlabel("false alarms in 52 windows", color=INK)
    figure.supylabel("days until a decline of 0.05 is found", color=INK)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    drawn_as = io.BytesIO()
    figure.savefig(drawn_as, format="png", metadata={"Software": None})
    plt.close(figure)
    Image.open(drawn_as).convert("RGB").quantize(48, dither=Image.Dither.NONE).save(target, optimize=True)


def panel(axes: Axes, name: str, lines: Sequence[Line]) -> None:
    """Draw the rules of a stream: lines as the limit varies, a point at the limit that line comes with.

    The point is hollow if more than half of the quiet windows are in alarm.
    """
    for line in lines:
        colour = COLOURS[line.rule]
        if line.curve:
            axes.plot(*zip(*line.curve, strict=True), color=colour, lw=1.4, label=f"{line.rule}")
        if line.days:
            point = {"ms": 10, "zorder": 5} if line.rule == OURS else {"ms": 6}
            point["mfc"] = "white" if line.alarmed > 0.5 else colour
            label = line.rule if line.rule == OURS else None
            axes.plot(line.false.value, line.days[0.05].value, "o", color=colour, label=label, **point)
    axes.set_title(name, fontsize=10, color=INK)
    axes.set_xlim(-0.1, 2.8)
    axes.set_ylim(0, 7 * WITHIN + 5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=GREY)


if __name__ == "__main__":
    main()
