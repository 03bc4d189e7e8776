"""Caveats on forecasts, confidence sequences and lasting changes, from `rocmonitor.stats`."""

from collections.abc import Callable, Sequence

from rocmonitor.conventions import WHY_SET_ASIDE
from rocmonitor.wording.format import percent, signed_with_interval


def _too_few(
    *,
    n_windows: int,
    weight: float | None,
    confidence_level: float,
    achieved_level: float,
    needed: int,
    batch: bool,
) -> str:
    share, weighing, most = f"{n_windows}/{n_windows + 1}", "", f"{needed}"
    if weight is not None:
        share = f"{weight:.3g}/{weight + 1:.3g}"
        weighing, most = f" with a total weight of {weight:.3g}", f"a weight of {needed}"
    used = "The widest observed distance is used"
    if batch:
        used += " (no less than sampling alone takes)"
    levels = ((f"{achieved_level:.{digits}f}", f"{confidence_level:.{digits}f}") for digits in range(3, 10))
    achieved = next((shown for shown, wanted in levels if shown != wanted), f"{achieved_level:.9f}")
    return (
        f"only {n_windows} past windows{weighing}; the level {confidence_level:g} needs {most}. {used}; its "
        f"level is {share} = {achieved}"
    )


def _set_aside(*, reason: str, numbers: Sequence[int], n_windows: int) -> str:
    which = ", ".join(map(str, numbers))
    return f"{len(numbers)} of {n_windows} windows set aside, {WHY_SET_ASIDE[reason]}: number {which}"


def _alike(*, correlation: float, low: float, high: float, n_windows: int) -> str:
    return (
        f"neighbours among the {n_windows} reference windows are alike (serial correlation "
        f"{correlation:.2f}, 90 % interval {low:.2f} to {high:.2f})"
    )


def _correlated(
    *,
    correlation: float,
    low: float | None = None,
    high: float | None = None,
    pvalue: float | None = None,
) -> str:
    text = (
        f"neighbouring windows are alike (serial correlation {correlation:.2f}), but the interval treats "
        "them as independent: of 100 years of weekly checks at 5 %, about 6 then decide wrongly at a "
        "correlation of 0.3, 20 at 0.6 and 57 at 0.9"
    )
    if low is None or high is None or pvalue is None:
        return f"{text}; use longer windows, more of them, or correlation estimated"
    return (
        f"{text}; with the correlation estimated it is {signed_with_interval(low, low, high)[1]} "
        f"(p = {pvalue:.2g}), and correlation: estimated decides by that"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    # Forecasts
    "no-confidence-level": (
        "a {method} distance has no confidence level{batch: and is the same for a batch of any size|}"
    ),
    "too-few-windows": _too_few,
    "level-by-model": (
        "only {n_windows} reference windows, which show levels up to {known:.1%}. The range is wider "
        "to make up: {confidence_level:.1%}, if their true values scatter normally"
    ),
    "model-beside": (
        "if the true values of windows scatter normally, {low:.3f} to {high:.3f} has the level "
        "{level:.1%}: it is wider, as there are only {n_windows} windows"
    ),
    "windows-set-aside": _set_aside,
    "windows-inside-reference": (
        "the windows are parts of the reference: with fewer than {enough} of them the true level is lower "
        "than the stated one"
    ),
    "reference-smaller-than-windows": (
        "the reference ({n_pos} positives, {n_neg} negatives) is smaller than its windows: its own error is "
        "part of each window's distance and makes the interval wider"
    ),
    "windows-smaller-than-batch": (
        "{smaller} of {n_windows} past windows are smaller than the batch: only a model says how much less "
        "such a batch scatters, and the interval is rather too wide; join neighbouring windows"
    ),
    "small-batch": (
        "the batch has {rows} rows of a class: with fewer than {enough} sampling noise is not normal and the "
        "level is only approximate"
    ),
    "serial-correlation": lambda *, outside, achieved_level, **law: (
        f"{_alike(**law)}: false alarms are near {percent(outside, 2)} of windows, not "
        f"{percent(1 - achieved_level, 2)}, and come in runs"
    ),
    "serial-correlation-allowed": lambda *, outside, widening, achieved_level, **law: (
        f"{_alike(**law)}. The range is {widening:.2f} times as wide to make up: false alarms stay near "
        f"{percent(outside, 2)} of windows ({percent(1 - achieved_level, 2)} were meant), but come in runs"
    ),
    "zero-distance": "the distance is 0, which leaves no room for any change",
    "end-at-limit": "the {end} end is the most extreme value that any reweighting reaches",
    "auc-cannot-move": (
        "no reweighting changes the AUC of these scores (all scores equal, or perfect separation)"
    ),
    "scores-outside-reference": (
        "{share:.1%} of the scores ({rows} of {n_rows}) lie outside the range of the reference and count "
        "like its nearest scores"
    ),
    "scores-all-equal": "all {n_rows} scores are equal, so the expected AUC is 0.5",
    "scores-of-one-class": (
        "all {n_rows} scores lie where the reference has only {kind}, so nothing tells the rows apart and "
        "the expected AUC is 0.5"
    ),
    "scores-without-order": (
        "in the reference the share of positives does not rise with the score, so the expected AUC is 0.5 "
        "for any scores"
    ),
    "warnings-withdrawn": (
        "the labels confirmed or withdrew {warnings} warnings since the reference, and withdrew {withdrawn} "
        "of them; outlook and scores ask for more now; take a newer reference, or leave these rules out"
    ),
    "same-ranking": "both models rank the rows alike, so nothing can tell them apart",
    "few-rows-per-bin": (
        "{rows} {kind} in {bins} bins: chance alone moves the share of a bin by half of it or more"
    ),
    "no-least-favourable-shift": (
        "no reweighting of the reference has the window's AUC, so there is no least favourable shift"
    ),
    # Confidence sequences
    "no-window-scatters": "no window shows any scatter, so nothing is known of the difference yet",
    "zero-standard-errors": (
        "{zero} of {n_windows} windows have a standard error of 0; the pooled one is used for them"
    ),
    "too-few-windows-to-compare": (
        "{n_windows} {n_windows:window is|windows are} too few to estimate how much windows differ, so "
        "nothing is known of the difference yet"
    ),
    "windows-differ": (
        "the windows differ by more than their sampling error: their true differences have a standard "
        "deviation of about {between:.3f}, while one window's standard error is {standard_error:.3f}; the "
        "interval is for their mean and allows for this"
    ),
    "windows-correlated": _correlated,
    "windows-correlated-allowed": (
        "neighbouring windows are alike (serial correlation {correlation:.2f}); the interval allows for "
        "this, but not fully: of 100 years of weekly checks at 5 %, about 3 decide wrongly at a correlation "
        "of 0.3, 6 at 0.6 and 14 to 24 at 0.9"
    ),
    # Lasting changes
    "few-reference-windows": (
        "{n_windows} reference windows show little of how much windows differ, so the limit is wide; "
        "with {enough} or more it is sharper"
    ),
    "reference-windows-equal": (
        "all {n_windows} reference windows have the same AUC, {auc:.4g}, which real windows do not: check "
        "the reference's query; only sampling error is counted"
    ),
    "season-not-seen": (
        "the reference covers {days} days, less than a year, so a season cannot be told from a change"
    ),
    "reference-windows-alike": (
        "neighbouring reference windows are alike (serial correlation about {correlation:.2f}); the limit "
        "allows for it as far as {n_windows} windows show it, and false alarms may be more frequent than "
        "stated"
    ),
}
