"""The rows of a review: those that are compared, and those on which thresholds are chosen."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version as installed
from typing import Any

from rocmonitor import __version__
from rocmonitor.caveat import Caveat
from rocmonitor.config import Monitor
from rocmonitor.errors import DegenerateDataError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.record import digest_of
from rocmonitor.policy.windows import Window
from rocmonitor.sources import Batch, Rows
from rocmonitor.stats import PairedSample, Sample
from rocmonitor.wording.review import KINDS

Read = Sequence[tuple[Window, Batch]]
"""Windows in order, each with its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The rows that were read, divided by use."""

    compared: Read
    """At least one window."""
    setting: Read
    """Windows before or outside the compared ones, on which thresholds are chosen; may be empty."""
    past: Sequence[PairedSample]
    """The reference's windows."""
    caveats: tuple[Caveat, ...] = ()

    @property
    def digest(self) -> str:
        """Identifies all rows of the review, and how they are divided."""
        return digest_of([_named(self.compared), _named(self.setting)])


def divided(monitor: Monitor, read: Read, reference: Read, before: Read) -> Data:
    """Thresholds are chosen on the reference, else on the first windows, which are then not compared.

    Those `before` a period chosen by hand come first, so that the period of an earlier review repeats it.
    """
    past = [pair(batch) for _, batch in reference]
    if enough(monitor, reference):
        return Data(compared=read, setting=reference, past=past)
    first = [*before, *read]
    number = next((n for n in range(1, len(first)) if enough(monitor, first[:n])), len(first))
    compared = first[max(number, len(before)) :]
    if number > len(before) and not enough(monitor, compared):  # too few rows would be left to compare
        return Data(compared=read, setting=(), past=past)
    until = first[number - 1][0].end.astimezone(monitor.timezone)
    asked = {"min_per_class": monitor.min_per_class, "until": f"{until:%Y-%m-%d %H:%M}"}
    caveat = Caveat("thresholds-from-first-windows", **asked)
    return Data(compared=compared, setting=first[:number], past=past, caveats=(caveat,))


def enough(monitor: Monitor, read: Read) -> bool:
    """Return True if thresholds can be chosen on these rows."""
    pairs = [pair(batch) for _, batch in read]
    least = min(sum(sample.n_pos for sample in pairs), sum(sample.n_neg for sample in pairs))
    return least >= monitor.min_per_class


def of_segment(read: Read, segment: str) -> Read:
    """Return the rows of one segment, if one is given, in place of all rows; none for a window without it."""
    if not segment:
        return read
    none = Rows(champion=Sample([], []), pair=PairedSample([], [], []), counts=Counts(), caveats=())
    return [
        (window, replace(batch, segments={"": batch.segments.get(segment, none)})) for window, batch in read
    ]


def counts(read: Read) -> dict[str, int]:
    """Return the number of rows read, then what became of them: each row is in one of the other places."""
    rows = [batch.segments[""] for _, batch in read]
    champion_only = sum(part.counts.no_challenger for part in rows)
    challenger_only = sum(part.challenger_only for part in rows)
    unused = ("bad_score", "unlabelled", "bad_label", "duplicates", "two_labels", "outside")
    lost = {name: sum(getattr(part.counts, name) for part in rows) for name in unused}
    lost["bad_score"] -= challenger_only
    return {
        "read": sum(part.counts.rows for part in rows),
        "compared": sum(part.counts.used for part in rows) - champion_only,
        "champion_only": champion_only,
        "challenger_only": challenger_only,
        **lost,
    }


def require_both(monitor: Monitor, read: Read) -> None:
    """Require that there are rows to compare: 2 of each class that were scored by both models."""
    together = pooled(read)
    if min(together.n_pos, together.n_neg) >= 2:
        return
    period = Window(read[0][0].start, read[-1][0].end).in_zone(monitor.timezone)
    places = counts(read)
    total = places.pop("read")
    text = ", ".join(f"{number:,} {KINDS[kind]}" for kind, number in places.items() if number)
    raise DegenerateDataError(
        f"{monitor.name}, {period}: both models scored {together.n_pos:,} labelled positives and "
        f"{together.n_neg:,} negatives; at least 2 of each are needed. Of {total:,} rows: "
        f"{text or 'none'}. Check the query and columns.challenger, or choose another period with --from "
        "and --to"
    )


def pair(batch: Batch, segment: str = "") -> PairedSample:
    """Return the rows of a segment that both models scored, challenger first; none without such a segment."""
    rows = batch.segments.get(segment)
    sample = None if rows is None else rows.pair
    return PairedSample([], [], []) if sample is None else sample


def pooled(read: Read, segment: str = "") -> PairedSample:
    """Return the same of all windows."""
    return PairedSample.merge([pair(batch, segment) for _, batch in read])


def caveats(monitor: Monitor, read: Read) -> Iterator[Caveat]:
    """Caveats about the compared rows."""
    numbers = counts(read)
    only = {"champion": numbers["champion_only"], "challenger": numbers["challenger_only"]}
    if any(only.values()):
        yield Caveat("one-model-only", **only, compared=numbers["compared"])
    noted = [(window, batch.segments[""].caveats) for window, batch in read if batch.segments[""].caveats]
    if noted:
        window, first = noted[0]
        yield from (caveat.concerning(window.in_zone(monitor.timezone)) for caveat in first)
    if len(noted) > 1:
        yield Caveat("more-windows-alike", count=len(noted) - 1)


def provenance(monitor: Monitor, data: Data) -> dict[str, Any]:
    """Enough to repeat the review: the rows, how they were read, settings and software."""
    settings = json.loads(json.dumps(asdict(monitor.review_settings)))
    return {
        **monitor.read_as,
        "reference": monitor.reference_period.to_dict(),
        "windows": _named(data.compared),
        "setting_windows": _named(data.setting),
        "data_digest": data.digest,
        "settings": settings,
        "settings_digest": digest_of(settings),
        "rocmonitor": __version__,
        "python": platform.python_version(),
        **{package: installed(package) for package in ("numpy", "scipy", "pandas", "mlflow")},
    }


def _named(read: Read) -> list[dict[str, str]]:
    return [{**window.to_dict(), "digest": batch.digest} for window, batch in read]
