"""Statuses in words: their marks, and what a message says of a change from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from rocmonitor.caveat import Caveat
from rocmonitor.policy.episode import Decline
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.status import Attention
from rocmonitor.policy.stops import Stop
from rocmonitor.wording import episode as episodes
from rocmonitor.wording.format import apart, area, beside_normal, count, instant, one_line
from rocmonitor.wording.stops import standing
from rocmonitor.wording.verdicts import reasons

CHECK_IMPROVED = "better is a change too: easy cases labelled first, leaked labels, a new population?"
CHECK_ERROR = "nothing is lost: the window stays due, and the next run tries again."
CHECK_REFERENCE = "does the reference period have labelled rows of both classes here?"
CHECK_LABELS = "wait for the labels, or raise window.label_delay."
CHECK_LACK: dict[str, tuple[str, str]] = {
    "one-cluster": (
        "the rows of a class come from one cluster",
        "does columns.cluster name what rows belong to, such as a customer?",
    ),
    "rows-unusable": (
        "many rows cannot be used",
        "what changed in the job that writes scores and labels, or in the query?",
    ),
    "too-few-labels": (
        "too few rows have a label",
        "did the labels arrive, and is window.min_labelled no higher than their usual share?",
    ),
    "labels-not-estimated": ("the rows without a label cannot be estimated", CHECK_LABELS),
    "rule-needs-all-labels": ("", CHECK_LABELS),
    "labels-arrive-otherwise": ("", CHECK_LABELS),
    "condensed-too-coarse": ("score cells are too coarse", "raise condense.per_unit, or set grouped: raw."),
    "no-scatter-to-compare": ("", "is the scoring broken here, or the label among the reference's scores?"),
    "window-not-probabilities": ("", "are scores probabilities, from 0 to 1? Else map them in the query."),
    "no-calibration-slope": ("", "do the probabilities vary, and is the label not among them?"),
}
"""The lack of a window besides rows of both classes, and the thing to check, by the code of its caveat."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a status wherever it is shown."""

    mark: str  # its sign, as in ``style.css``
    headline: str  # the first word of a message about a change to it
    kind: Literal["alarm", "recovery", "notice"]  # how urgent that message is
    check: str = ""  # what to look at first; empty when it depends on the window


WORDS: dict[str, Words] = {
    "degraded": Words("▲", "Degraded", "alarm"),
    "at-risk": Words("◆", "At risk", "alarm"),
    "improved": Words("↑", "Improved", "notice", CHECK_IMPROVED),
    "insufficient": Words("○", "Not judged", "alarm"),
    "error": Words("✕", "Error", "alarm", CHECK_ERROR),
    "ok": Words("●", "Recovered", "recovery"),
}
"""The words of each status, by its name; a new status needs one line here."""

ENDED: dict[str, str] = {
    "right": "Warning confirmed, without an alarm",
    "wrong": "Warning withdrawn",
    "undecided": "Warning neither confirmed nor withdrawn",
}
"""The end of a warning that no alarm followed, by the answer of the labels."""


def headline(
    change: Transition, evaluation: Evaluation | None, zone: ZoneInfo, episode: Decline | None = None
) -> str:
    """Return what was found, beside what is normal, in one line; the status is said elsewhere.

    Of a loss that lasts, and of one that is over, it is what the episode shows.
    """
    if change.after is Status.ERROR:
        return "The evaluation failed"
    if any(isinstance(reason, Caveat) and reason.code == "monitor-removed" for reason in change.reasons):
        return "No longer watched"
    if evaluation is None or "champion/auc" not in evaluation.metrics:
        if change.after is Status.OK:
            return "Recovered: the monitor works again"
        if change.after is Status.INSUFFICIENT and evaluation is not None:
            return f"Cannot be judged: {lack(evaluation.counts, deciding(change, evaluation))[0]}"
        return WORDS[change.after].headline
    decided = deciding(change, evaluation)
    if change.after is Status.OK:
        degraded = evaluation.outcome is Status.DEGRADED  # and not often enough for an alarm
        if change.before is Status.AT_RISK and not degraded:  # only the scores said so
            caveats = [reason for reason in change.reasons if isinstance(reason, Caveat)]
            answers = (caveat.values["answer"] for caveat in caveats if caveat.code == "warning-ended")
            ended = next((ENDED[answer] for answer in answers), "Warning over")
            return f"{ended}: {_beside_normal(evaluation, None)}"
        if change.before is Status.INSUFFICIENT:
            return f"Judged again: {_back(evaluation)}"
        if episode is not None and (over := episodes.back(episode, zone)):
            return over
        what = "gain" if change.before is Status.IMPROVED else "loss"
        return f"{'' if degraded else f'No rule finds a {what} any more: '}{_back(evaluation)}"
    if loss := lasting(change, episode):
        return episodes.headline(loss, zone)
    text = _beside_normal(evaluation, decided)
    if change.after is Status.INSUFFICIENT and decided is not None:
        return f"Cannot be judged: {lack(evaluation.counts, decided)[0]}; {text}"
    return text


def lasting(change: Transition, episode: Decline | None) -> Decline | None:
    """Return the episode if several windows make its alarm together, and one of them shows little."""
    if change.after is not Status.DEGRADED or episode is None or episode.size is None:
        return None
    return episode if episode.windows > 1 or change.before is Status.DEGRADED else None


def title(change: Transition, evaluation: Evaluation | None, episode: Decline | None = None) -> str:
    """Return what the title says after the monitor's name."""
    if loss := lasting(change, episode):
        assert loss.auc is not None
        assert loss.size is not None
        shown, before = apart(loss.auc, loss.auc - loss.size)
        return f"AUROC {shown}, {before} before"
    if evaluation is None:
        return "; ".join(reasons(change.reasons))
    decided = deciding(change, evaluation)
    if change.after is Status.INSUFFICIENT:
        return lack(evaluation.counts, decided)[0]
    if "champion/auc" not in evaluation.metrics:
        return f"was {change.before}"
    if change.after is Status.OK and not forecast_limits(evaluation, decided):
        return _back(evaluation)
    return _beside_normal(evaluation, None if change.after is Status.OK else decided)


def since(change: Transition, zone: ZoneInfo, episode: Decline | None = None) -> str:
    """Since when the new status holds, and what it was before; ok, where nothing was known, says nothing."""
    if loss := lasting(change, episode):
        return f"{episodes.began(loss, zone)} ({zone.key})"
    word = "Ok" if change.after is Status.OK else WORDS[change.after].headline
    was = "" if change.before is Status.OK else f", was {change.before}"
    return f"{word} since {instant(change.since, zone)} ({zone.key}){was}"


_MOST_NAMED = 4


def also(changes: Sequence[Transition]) -> str:
    """Return which other segments changed with the same window, by status; empty without any."""
    return by_status((change.after, change.segment) for change in changes)


def by_status(segments: Iterable[tuple[Status, str]]) -> str:
    """Return segments with their status, those of one status together; empty without any."""
    by: dict[Status, list[str]] = {}
    for status, segment in segments:
        by.setdefault(status, []).append(segment or "all rows")
    parts = []
    for status, names in by.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        parts.append(f"{status}: {', '.join(names[:_MOST_NAMED])}{more}")
    return "; ".join(parts)


def advice(change: Transition, evaluation: Evaluation | None) -> str:
    """Return what to check first; empty when the reasons say all there is."""
    if change.after is Status.INSUFFICIENT and evaluation is not None:
        return lack(evaluation.counts, deciding(change, evaluation))[1]
    return WORDS[change.after].check


def lack(counts: Counts, decided: Verdict | None = None) -> tuple[str, str]:
    """Return what an insufficient window lacks, or the rule that cannot be applied, and where to look."""
    lacks = () if decided is None else decided.lacks
    known = (CHECK_LACK[cause.code] for cause in lacks if cause.code in CHECK_LACK)
    what, look = next(known, ("", ""))  # that counts of rows do not show
    if decided is not None and decided.kind != "data":
        return f"rule {decided.rule} cannot be applied", look or CHECK_REFERENCE
    if what:
        return what, look
    if not counts.rows:
        return "no rows", "did the scoring job run, and does the query find its rows by time?"
    if not counts.used and counts.unlabelled:
        return "no labels", "did the labels arrive, and is window.label_delay as long as they take?"
    if not counts.used:
        return "no usable rows", "do columns and positive in the configuration fit what the query returns?"
    if not min(counts.n_pos, counts.n_neg):
        missing = "positives" if counts.n_neg else "negatives"
        return f"no {missing}", f"are the labels of the {missing} missing, or is positive.label wrong?"
    few = f"only {count(counts.n_pos, 'positive')} and {count(counts.n_neg, 'negative')}"
    fewer = "" if any(it.values.get("min_per_class") == 2 for it in lacks) else " or a smaller min_per_class"
    return few, f"are labels still missing? Else choose longer windows{fewer}."


def deciding(change: Transition, evaluation: Evaluation) -> Verdict | None:
    """Return the verdict behind the new status; none when k-of-n, recovery or a cool-down decided."""
    stated = [reason for reason in change.reasons if isinstance(reason, Verdict)]
    agreeing = [verdict for verdict in (*stated, *evaluation.verdicts) if verdict.outcome is change.after]
    return next(iter(agreeing), None)


def forecast_limits(evaluation: Evaluation, decided: Verdict | None) -> tuple[float, float] | None:
    """Return the limits of the deciding rule if it is a forecast, else of the monitor's (first) forecast
    rule.
    """
    rule = "forecast" if decided is None or decided.outcome is Status.OK else decided.rule
    low, high = (evaluation.metrics.get(f"{rule}/{end}") for end in ("low", "high"))
    return None if low is None or high is None else (low, high)


def subject(change: Transition) -> str:
    """Monitor and segment, for a title."""
    return one_line(f"{change.monitor} {change.segment}", 200)


def _beside_normal(evaluation: Evaluation, decided: Verdict | None) -> str:
    """Return the AUROC beside what is normal: its forecast, else the reference."""
    value, reference = (evaluation.metrics.get(f"{name}/auc") for name in ("champion", "reference"))
    assert value is not None
    rule = "" if decided is None or decided.kind in ("forecast", "data") else f", rule {decided.rule}"
    if limits := forecast_limits(evaluation, decided):
        return f"{beside_normal(value, *limits)}{rule}"
    if reference is not None:
        shown, before = apart(value, reference)
        return f"AUROC {shown}, {before} in the reference{rule}"
    return f"AUROC {value:.2f}{rule}"


def _back(evaluation: Evaluation) -> str:
    """Return the AUROC beside its normal range, which it may never have left: a smaller loss may stay."""
    value = evaluation.metrics.get("champion/auc")
    if value is None:
        return "all rules pass"
    if evaluation.outcome is Status.DEGRADED:  # k-of-n
        return f"{_beside_normal(evaluation, None)}; too few degraded windows for an alarm"
    judged = [verdict for verdict in evaluation.verdicts if verdict.kind == "forecast"]
    limits = forecast_limits(evaluation, judged[0] if judged else None)
    if judged and limits and all(verdict.outcome is Status.OK for verdict in judged):
        return beside_normal(value, *limits)
    return f"AUROC {area(value)}, all rules pass"


_LONGEST_NOTE = 80


def attention(said: Attention, stops: Sequence[Stop], now: datetime, zone: ZoneInfo) -> str:
    """Return what has stopped arriving, and what people said about a monitor and still holds.

    Examples
    --------
    >>> said = Attention(acknowledged_by="Kim", note="asked the brokers", note_by="Kim")
    >>> attention(said, (), datetime(2026, 6, 1), ZoneInfo("UTC"))
    'Kim is taking care of it (asked the brokers)'
    """
    stopped = [standing(stop, zone) for stop in stops]
    held: list[tuple[str | None, str]] = []
    if said.acknowledged_by is not None:
        held.append((said.acknowledged_by, f"{said.acknowledged_by} is taking care of it"))
    if said.is_muted(now):
        assert said.muted_until is not None
        by = f" by {said.muted_by}" if said.muted_by else ""
        held.append((said.muted_by, f"muted{by} until {instant(said.muted_until, zone)}"))
    parts = [text for _, text in held]
    if parts and said.note:
        authors = [who for who, _ in held]
        if said.note_by is not None and said.note_by in authors:
            parts[authors.index(said.note_by)] += f" ({one_line(said.note, _LONGEST_NOTE)})"
        else:
            by = "" if said.note_by is None else f"{said.note_by}: "
            parts.append(one_line(f"{by}{said.note}", _LONGEST_NOTE))
    return "; ".join([*stopped, *parts])
