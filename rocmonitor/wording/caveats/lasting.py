"""Caveats on charts of lasting changes."""

from collections.abc import Callable

SENTENCES: dict[str, str | Callable[..., str]] = {
    "few-reference-windows": (
        "{n_windows} reference windows show little of how much windows differ, so the limit is wide; "
        "with {enough} or more it is sharper"
    ),
    "reference-windows-equal": (
        "all {n_windows} reference windows have the same AUC, {auc:.4g}, which real windows do not: check "
        "the reference's query; only sampling error is counted"
    ),
    "season-not-seen": (
        "the reference covers {days} days, less than a year, so a season cannot be told from a lasting change"
    ),
    "reference-windows-alike": (
        "neighbouring reference windows are alike (serial correlation about {correlation:.2f}); the limit "
        "allows for it as far as {n_windows} windows show it, and false alarms may be more frequent than "
        "stated"
    ),
}
