"""One monitor: a sentence, its windows over time, and one window in full."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rocmonitor import store
from rocmonitor.config import Monitor
from rocmonitor.config.values import written
from rocmonitor.errors import StoreError
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Point, Status
from rocmonitor.policy.left_out import doubts_of
from rocmonitor.policy.record import plain
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.stops import as_shown
from rocmonitor.policy.windows import Window
from rocmonitor.report.pages import in_full, window_slug
from rocmonitor.rules import highest_floor
from rocmonitor.service.arrivals import labels_by_age
from rocmonitor.service.attending import has_alarm
from rocmonitor.service.standing import unjudged_text
from rocmonitor.store.glance import OutlookAhead, ahead, last_states
from rocmonitor.store.history import history, review_list, segments
from rocmonitor.web.site import AbsentError, Site
from rocmonitor.wording import page as wording
from rocmonitor.wording.caveats import words_of
from rocmonitor.wording.episode import (
    as_json,
    began,
    challenger,
    groups,
    headline,
    line,
    now_what,
    uncertain,
    who_was_told,
)
from rocmonitor.wording.facts import facts
from rocmonitor.wording.format import instant
from rocmonitor.wording.review import decided
from rocmonitor.wording.status import attention, by_status
from rocmonitor.wording.stops import by_age
from rocmonitor.wording.verdicts import reasons

Row = dict[str, Any]

CHANGES = 50
"""The number of changes of status that are listed."""
MOST_IN_FILE = 52
"""Windows that a file has in full beside the newest."""

METRICS = {
    "auc": "champion/auc",
    "low": "champion/auc_low",
    "high": "champion/auc_high",
    "expected_low": "forecast/low",
    "expected_high": "forecast/high",
    "positives": "data/positives",
    "negatives": "data/negatives",
    "prevalence": "data/prevalence",
    "labelled_share": "data/labelled_share",
    "outlook_auc": "outlook/auc",
    "outlook_low": "outlook/low",
    "outlook_high": "outlook/high",
    "distance": "outlook/score_distance",
}
"""Numbers of a window on the page, and the metrics they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The choice that the address, or the command line, asks for, among the windows from `start` to `end`."""

    segment: str = ""
    window: str = ""  # its start as from `window_slug`; empty for the newest
    revision: int | None = None  # None for the newest
    start: datetime | None = None
    end: datetime | None = None

    def has(self, window: Window) -> bool:
        """Return True if the window lies in the period."""
        begins = self.start is None or window.start >= self.start
        return begins and (self.end is None or window.end <= self.end)


def monitor_view(site: Site, name: str, choice: Choice) -> Row:
    """Return all that the page of a monitor shows, in plain JSON types; AbsentError if there is no such."""
    monitor, kept = site.monitor(name), site.store()
    return _view(kept, monitor, choice, history(kept, name, choice.segment), site.clock())


def _view(
    kept: store.Store,
    monitor: Monitor,
    choice: Choice,
    every: Sequence[list[Point]],
    now: datetime,
    *,
    until: datetime | None = None,
) -> Row:
    """Return the view; its status is that of now, or with `until` what it was then, after `every` window."""
    names = segments(kept, monitor.name)
    if choice.segment and choice.segment not in names:
        raise AbsentError(wording.NO_SEGMENT.format(monitor.name, choice.segment))
    windows = [revisions for revisions in every if choice.has(revisions[0].window)]
    chosen = _chosen(windows, choice, monitor.timezone)
    if chosen is None and (choice.window or choice.revision is not None):
        if choice.window and _chosen(windows, replace(choice, revision=None), monitor.timezone) is None:
            in_period = choice.start is not None or choice.end is not None
            raise AbsentError(wording.no_window(monitor.name, choice.window, in_period=in_period))
        raise AbsentError(wording.NO_REVISION.format(monitor.name, choice.revision))
    changes = [
        change
        for change in store.transitions(kept, monitor.name, choice.segment)
        if until is None or change.since < until
    ]
    outlooks = ahead(kept, monitor.name).get((monitor.name, choice.segment), ())
    at = now if until is None else min(now, until)
    view = _standing(kept, monitor, choice.segment, every, changes, outlooks, now, at)
    view |= _over_time(monitor, choice, windows, changes, outlooks, now)
    segments_not_ok = ""
    if names and not choice.segment:
        states, name = last_states(kept), monitor.name
        shown = [(Status(states.status(name, one)), one) for one in states.segments.get(name, ())]
        segments_not_ok = by_status((status, one) for status, one in shown if status is not Status.OK)
    view |= {
        "segments": names,
        "segments_not_ok": segments_not_ok,
        "chosen": None,
        "reference": None,
        "others": [],
        "explain": "",
    }
    if chosen is not None:
        view |= _chosen_window(kept, monitor, *chosen)
        parts = ["rocmonitor", "explain", monitor.name]
        if choice.window or view["episode"] is None or view["episode"]["end"]:
            parts += ["--window", view["chosen"]["slug"]]  # else the open loss is explained
        view["explain"] = "" if choice.segment else shlex.join(parts)
        slug = window_slug(chosen[1].window, monitor.timezone)
        view["chosen"]["place"] = [point["slug"] for point in view["points"]].index(slug)
    return view


def file_view(kept: store.Store, monitor: Monitor, choice: Choice, now: datetime) -> Row | None:
    """Return the view of a file: it has the other windows in full too, the worst first, for it asks nobody.

    Of a past period it says what the status was at its end.
    """
    windows = history(kept, monitor.name, choice.segment)
    if choice.end is not None:
        windows = [revisions for revisions in windows if revisions[0].window.end <= choice.end]
    try:
        view = _view(kept, monitor, choice, windows, now, until=choice.end)
    except AbsentError:
        return None
    if not (view["points"] or view["ahead"]):
        return None
    by_slug = {window_slug(revisions[0].window, monitor.timezone): revisions for revisions in windows}
    others = [point for point in view["points"] if point["slug"] != view["chosen"]["slug"]]
    worst = min(others, key=_badness, default=None)
    shown = [point for point in reversed(others) if point is not worst][: MOST_IN_FILE - 1]
    for point in filter(None, [worst, *shown]):
        chosen = by_slug[point["slug"]]
        view["others"].append(_chosen_window(kept, monitor, chosen, chosen[-1])["chosen"])
    return view


def _badness(point: dict[str, Any]) -> float:
    """Return how far the AUROC lies inside its normal range: the least is the worst."""
    auc, low = point["auc"], point["expected_low"]
    return 1.0 if auc is None else float(auc if low is None else auc - low)


def _standing(
    kept: store.Store,
    monitor: Monitor,
    segment: str,
    windows: Sequence[list[Point]],
    changes: Sequence[store.SavedTransition],
    outlooks: Sequence[OutlookAhead],
    now: datetime,
    at: datetime,
) -> Row:
    """Return the part of the view that the chosen period does not change; the status is that of `at`."""
    zone = monitor.timezone
    seen = monitor.lapse(windows[-1][-1].window if windows else None, at)
    episode = store.last_decline(kept, monitor.name, segment)
    if changes:
        last, from_then = str(changes[-1].after), changes[-1].since
    else:
        last, from_then = (str(Status.OK) if windows else "waiting"), None
    shown = as_shown(last, from_then, store.open_stops(kept).get(monitor.name, []), seen, episode)
    status, since = shown.status, None if shown.since is None else instant(shown.since, zone)
    said = store.attention(kept, monitor.name)
    newest = [outlook.window for outlook in outlooks] + [revisions[0].window for revisions in windows[-1:]]
    why = {} if status == "ok" else _facts(kept, status, windows, changes, outlooks, episode, zone)
    reviews = review_list(kept, monitor.name)
    now_to_do = "Nothing." if status == "ok" else now_what(episode, zone, reviewed=bool(reviews))
    about, next_due = _newest(windows), None
    if about is None:
        joined = monitor.joining is not None
        sentence = wording.not_judged(monitor.name, first_due(monitor, now), joined=joined)
    else:
        sentence = wording.monitor_sentence(about.metrics, about.window, zone, status, since)
    if monitor.joining is None:
        judged_until = windows[-1][0].window.end if windows else monitor.start
        # A window that is long due and was never judged says nothing of the next one.
        long_due = now - monitor.window.label_delay - 2 * monitor.window.length
        next_due = _due(monitor, max(judged_until, long_due), now)
    return {
        "name": monitor.name,
        "segment": segment,
        "model": monitor.model.name,
        "version": windows[-1][-1].champion_version if windows else None,
        "owner": monitor.owner,
        "attention": attention(said, shown.stops, now, zone),
        "told": who_was_told(episode, zone),
        "last_loss": line(episode, zone) if status == "ok" and episode is not None else "",
        "notify": monitor.notify,
        "runbook": monitor.runbook,
        "zone": str(zone),
        "now": plain(now),
        "has_alarm": has_alarm(kept, monitor.name),
        "is_muted": said.muted_until is not None and said.muted_until > now,
        "status": status,
        "since": since,
        "sentence": sentence,
        "episode": as_json(episode, said),
        "advice": why.pop("Check", now_to_do),
        "why": why,
        "floor": highest_floor(monitor.rules),
        "labels_by_age": {} if segment else by_age(labels_by_age(kept, monitor, now), zone),
        "reviews": [
            plain(review)
            | {
                "dates": review.period.in_zone(zone),
                "decided": decided(review.decision, review.margin, review.episodes),
            }
            for review in reviews
        ],
        "next_due": next_due,
        "foresees": monitor.outlook is not None,
        "label_delay": "" if monitor.joining is not None else written(monitor.labels.delay),
        "unjudged": "" if segment else unjudged_text(kept, monitor, newest),
    }


def _over_time(
    monitor: Monitor,
    choice: Choice,
    windows: Sequence[list[Point]],
    changes: Sequence[store.SavedTransition],
    outlooks: Sequence[OutlookAhead],
    now: datetime,
) -> Row:
    zone = monitor.timezone
    changes = [change for change in changes if choice.end is None or change.since < choice.end]
    outlooks = [outlook for outlook in outlooks if choice.has(outlook.window)]
    start, end = ("" if moment is None else instant(moment, zone) for moment in (choice.start, choice.end))
    asked = {"segment": choice.segment, "from": start, "to": end}
    return {
        "period": {"start": start, "end": end},
        "asked": {name: value for name, value in asked.items() if value},  # kept in addresses of the page
        "points": [_point(revisions, monitor, now) for revisions in windows],
        "ahead": [
            plain(outlook)
            | {
                "name": outlook.window.in_zone(zone),
                "start": plain(outlook.window.start),
                "end": plain(outlook.window.end),
            }
            for outlook in outlooks
        ],
        "changes": [
            {
                "at": plain(change.at),
                "since": plain(change.since),
                "when": instant(change.since, zone),
                "before": str(change.before),
                "after": str(change.shown),
                "reasons": reasons(change.reasons),
                "notified": change.notified,
            }
            for change in reversed(changes[-CHANGES:])
        ],
    }


def _chosen(
    windows: Sequence[list[Point]], choice: Choice, zone: ZoneInfo
) -> tuple[list[Point], Point] | None:
    """Return the revisions of the window that is asked for, and the one of them."""
    if not choice.window:
        revisions = windows[-1] if windows else None
    else:
        revisions = next(
            (window for window in windows if window_slug(window[0].window, zone) == choice.window), None
        )
    if revisions is None:
        return None
    if choice.revision is None:
        return revisions, revisions[-1]
    one = next((revision for revision in revisions if revision.revision == choice.revision), None)
    return None if one is None else (revisions, one)


def _point(revisions: list[Point], monitor: Monitor, now: datetime) -> Row:
    newest = revisions[-1]
    metrics = newest.metrics
    share = metrics.get("data/labelled_share", 0.0)
    return {
        "slug": window_slug(newest.window, monitor.timezone),
        "name": newest.window.in_zone(monitor.timezone),
        "start": plain(newest.window.start),
        "end": plain(newest.window.end),
        "revision": newest.revision,
        "version": newest.champion_version,
        "outcome": str(newest.outcome),
        "complete": not monitor.labels.may_come(newest.window, now, share),
        **{name: metrics.get(metric) for name, metric in METRICS.items()},
    }


def _newest(windows: Sequence[list[Point]]) -> Point | None:
    """Return the window that the sentence is about: the newest that was measured, else the newest."""
    newest = [revisions[-1] for revisions in windows]
    measured = [window for window in newest if "champion/auc" in window.metrics]
    return measured[-1] if measured else newest[-1] if newest else None


def _facts(
    kept: store.Store,
    status: str,
    windows: Sequence[list[Point]],
    changes: Sequence[store.SavedTransition],
    outlooks: Sequence[OutlookAhead],
    episode: Decline | None,
    zone: ZoneInfo,
) -> dict[str, str]:
    """Return why the status is so, by label: an open loss of several windows, then the last change."""
    shown = {}
    if episode is not None and episode.is_open and (episode.windows > 1 or episode.is_uncertain):
        shown["Loss"] = headline(episode, zone)
        shown["Now"] = uncertain(episode)
        if episode.from_first or episode.start < episode.alarm.start:
            shown["Began"] = began(episode, zone).removeprefix("Began ")
        shown["How sure"] = ""  # holds its place
        shown["What moved"] = groups(episode)
        shown["Challenger"] = challenger(episode)
    if changes and changes[-1].after == status:
        change = changes[-1]
        judged = next((one for revisions in windows for one in revisions if one.at == change.at), None)
        of_change = facts(change, None if judged is None else store.evaluation(kept, judged.id), episode)
        of_change.pop("Reference", None)  # stands below the chart
        seen = [outlook.window for outlook in outlooks] if judged is None else [judged.window]
        newest, seen = _newest(windows), [window for window in seen if judged or window.start == change.since]
        if not shown and seen and newest is not None and seen[0] != newest.window:
            shown["Seen in"] = re.sub("^(in the|on|from) ", "", wording.window_name(seen[0], zone))
        shown |= of_change
    return {label: text for label, text in shown.items() if text}


def first_due(monitor: Monitor, now: datetime) -> str | None:
    """When the first window falls due at the latest; None if it already has."""
    return _due(monitor, monitor.start, now)


def _due(monitor: Monitor, after: datetime, now: datetime) -> str | None:
    """When the first window after an instant falls due; None if it has, or there is none."""
    window, end = monitor.calendar.following(after), monitor.window.end
    if end is not None and window.end > end.replace(tzinfo=monitor.timezone):
        return None
    due = monitor.labels.due_at(window)
    return instant(due, monitor.timezone) if due > now else None


def review_of(site: Site, name: str, id: int) -> Review:
    """Return the review with this number; AbsentError if it is not of this monitor, or not there."""
    site.monitor(name)
    try:
        review = store.review(site.store(), id)
    except StoreError as error:
        if error.transient:
            raise
        raise AbsentError(wording.NOT_FOUND) from None
    if review.monitor != name:
        raise AbsentError(wording.NOT_FOUND)
    return review


def _chosen_window(kept: store.Store, monitor: Monitor, revisions: Sequence[Point], one: Point) -> Row:
    """``chosen``, the window in full, and ``reference``, what it was compared with; plain JSON types."""
    evaluation, zone = store.evaluation(kept, one.id), monitor.timezone
    shown = ("auc", "low", "high", "positives", "labelled_share")
    chosen = in_full(evaluation, zone, store.reference_of(kept, evaluation)) | {
        "superseded": one is not revisions[-1],
        "revisions": [
            {
                "revision": revision.revision,
                "at": instant(revision.at, zone),
                "outcome": str(revision.outcome),
                **{name: revision.metrics.get(METRICS[name]) for name in shown},
            }
            for revision in reversed(revisions)
        ],
        "run": store.receipt_of(kept, one.id),
    }
    given, reference = evaluation.reference, None
    if given.get("start"):  # else it was compared with nothing
        whole = given.get("auc") or {}
        reference = {
            "start": given["start"],
            "end": given["end"],
            "auc": whole.get("auc"),
            "low": whole.get("low"),
            "high": whole.get("high"),
            "doubts": list(map(words_of, doubts_of(given))),
            "windows": [
                {
                    "name": f"reference, {Window.from_dict(row).in_zone(zone)}",
                    "start": row["start"],
                    "end": row["end"],
                    "positives": row["n_pos"],
                    "negatives": row["n_neg"],
                    "prevalence": row["n_pos"] / (row["n_pos"] + row["n_neg"]),
                    "auc": row.get("auc"),
                    "low": row.get("auc_low"),
                    "high": row.get("auc_high"),
                }
                for row in given.get("windows", ())
                if row["n_pos"] + row["n_neg"]
            ],
        }
    return {"chosen": chosen, "reference": reference}
