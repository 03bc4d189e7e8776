"""The rows of a review: those that are compared, and those that its thresholds are chosen on."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version as installed
from typing import Any

from rocmonitor import __version__
from rocmonitor.config import Monitor
from rocmonitor.errors import DegenerateDataError, InputError
from rocmonitor.policy.evaluation import Counts
from rocmonitor.policy.windows import Window
from rocmonitor.sources import Batch, Rows
from rocmonitor.stats import PairedSample, Sample

Read = Sequence[tuple[Window, Batch]]
"""Windows, in order, with what was read of them."""

_BOTH = "scored by both, labelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What was read, divided.

    Attributes
    ----------
    compared : Read
        At least one window.
    setting : Read
        Windows before or outside the compared ones, on which thresholds are chosen; may be empty.
    past : sequence of PairedSample
        The reference's windows.
    caveats : tuple of str
    """

    compared: Read
    setting: Read
    past: Sequence[PairedSample]
    caveats: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names all rows that the review rests on, and how they are divided."""
        return digest_of(
            [[_named(window, batch) for window, batch in part] for part in (self.compared, self.setting)]
        )


def divided(monitor: Monitor, read: Read, reference: Read, before: Read) -> Data:
    """Thresholds are chosen on the reference, else on the first windows, which are then not compared.

    Those `before` a period chosen by hand come first, so the period of an earlier review gives it again.
    """
    past = [pair(batch) for _, batch in reference]
    if enough(monitor, reference):
        return Data(compared=read, setting=reference, past=past)
    first = [*before, *read]
    number = next((n for n in range(1, len(first)) if enough(monitor, first[:n])), len(first))
    compared = first[max(number, len(before)) :]
    if number > len(before) and not enough(monitor, compared):  # what is left would be no comparison
        return Data(compared=read, setting=(), past=past)
    until = first[number - 1][0].end.astimezone(monitor.timezone)
    why = (
        f"the reference has fewer than {monitor.min_per_class} rows of a class that both models scored: "
        f"thresholds are chosen on the rows before {until:%Y-%m-%d %H:%M}, which are not compared"
    )
    return Data(compared=compared, setting=first[:number], past=past, caveats=(why,))


def enough(monitor: Monitor, read: Read) -> bool:
    """Whether thresholds can be chosen on these rows."""
    pairs = [pair(batch) for _, batch in read]
    least = min(sum(each.n_pos for each in pairs), sum(each.n_neg for each in pairs))
    return least >= monitor.min_per_class


def require_segment(monitor: Monitor, read: Read, segment: str) -> None:
    """See that some of the rows are in a segment.

    Raises
    ------
    InputError
    """
    known = sorted({name for _, batch in read for name in batch.segments if name})
    if segment not in known:
        raise InputError(
            f"--segment must be one of the segments of {monitor.name}; it is {segment!r}, and the rows have: "
            f"{', '.join(known) or f'none (monitors.{monitor.name}.segments is empty)'}"
        )


def of_segment(read: Read, segment: str) -> Read:
    """The rows of one segment in the place of all rows; of a window without it, none."""
    none = Rows(champion=Sample([], []), pair=PairedSample([], [], []), counts=Counts(), caveats=())
    return [
        (window, replace(batch, segments={"": batch.segments.get(segment, none)})) for window, batch in read
    ]


def counts(read: Read) -> list[dict[str, Any]]:
    """Where the rows went: first all of them, then each in one place."""
    rows = [batch.segments[""] for _, batch in read]
    found = [each.counts for each in rows]
    no_challenger = sum(each.no_challenger for each in found)
    challenger_only = sum(each.challenger_only for each in rows)
    places = {
        "rows": sum(each.rows for each in found),
        _BOTH: sum(each.used for each in found) - no_challenger,
        "scored by the champion only": no_challenger,
        "scored by the challenger only": challenger_only,
        "without a usable score": sum(each.bad_score for each in found) - challenger_only,
        "unlabelled": sum(each.unlabelled for each in found),
        "with a label of neither class": sum(each.bad_label for each in found),
        "with an id seen before": sum(each.duplicates for each in found),
        "with a time outside the window": sum(each.outside for each in found),
    }
    return [{"what": what, "rows": count} for what, count in places.items()]


def require_both(monitor: Monitor, read: Read) -> None:
    """See that there is something to compare.

    Raises
    ------
    DegenerateDataError
        Fewer than 2 rows of a class were scored by both models.
    """
    together = pooled(read)
    if min(together.n_pos, together.n_neg) >= 2:
        return
    period = Window(read[0][0].start, read[-1][0].end).in_zone(monitor.timezone)
    total, *places = counts(read)
    found = ", ".join(f"{place['rows']:,} {place['what']}" for place in places if place["rows"])
    raise DegenerateDataError(
        f"{monitor.name}, {period}: both models scored {together.n_pos:,} labelled positives and "
        f"{together.n_neg:,} negatives; at least 2 of each are needed. Of {total['rows']:,} rows: "
        f"{found or 'none'}. Check the query and columns.challenger, or choose another period with --from "
        "and --to"
    )


def pair(batch: Batch, segment: str = "") -> PairedSample:
    """The rows of a segment that both models scored; none where the window has no such segment."""
    rows = batch.segments.get(segment)
    return PairedSample([], [], []) if rows is None or rows.pair is None else rows.pair


def pooled(read: Read, segment: str = "") -> PairedSample:
    """The same of all windows."""
    return PairedSample.merge([pair(batch, segment) for _, batch in read])


def by_segment(read: Read) -> dict[str, PairedSample]:
    """The rows of each segment, without that of all rows."""
    names = {name for _, batch in read for name in batch.segments if name}
    return {name: pooled(read, name) for name in sorted(names)}


def caveats(monitor: Monitor, read: Read) -> Iterator[str]:
    """What a person should know of the compared rows."""
    found = {place["what"]: place["rows"] for place in counts(read)}
    one_only = [what for what in found if what.endswith(" only") and found[what]]
    if one_only:
        each = " and ".join(f"{found[what]:,} rows {what}" for what in one_only)
        yield f"{each} are not compared: the {found[_BOTH]:,} compared ones may not be like them"
    noted = [(window, batch.segments[""].caveats) for window, batch in read if batch.segments[""].caveats]
    if noted:
        window, told = noted[0]
        yield from (f"{window.in_zone(monitor.timezone)}: {caveat}" for caveat in told)
    if len(noted) > 1:
        yield f"the like holds in {len(noted) - 1} more of the windows"


def provenance(monitor: Monitor, data: Data) -> dict[str, Any]:
    """Enough to repeat the review: what was read, how, and by which software."""
    reference = monitor.reference_period
    settings = json.loads(json.dumps(asdict(monitor.review_settings)))
    return {
        **monitor.read_as,
        "reference": {"start": reference.start.isoformat(), "end": reference.end.isoformat()},
        "windows": [_named(window, batch) for window, batch in data.compared],
        "setting_windows": [_named(window, batch) for window, batch in data.setting],
        "data_digest": data.digest,
        "settings": settings,
        "settings_digest": digest_of(settings),
        "rocmonitor": __version__,
        "python": platform.python_version(),
        **{package: installed(package) for package in ("numpy", "scipy", "pandas", "mlflow")},
    }


def digest_of(parts: Any) -> str:
    """SHA-256 of plain JSON types."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _named(window: Window, batch: Batch) -> dict[str, str]:
    return {"start": window.start.isoformat(), "end": window.end.isoformat(), "digest": batch.digest}
