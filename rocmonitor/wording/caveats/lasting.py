"""Caveats on charts of lasting changes."""

from collections.abc import Callable

from rocmonitor.wording.format import listed

_FINDINGS = {
    "withdrawn": "the lasting change that was reported is withdrawn",
    "raised": "a lasting change that was not reported is found",
    "confirmed": "the lasting change that was reported is confirmed, with another size",
}


def _corrected(*, finding: str, windows: list[str], **_: object) -> str:
    named = listed(windows if len(windows) <= 3 else [*windows[:2], f"{len(windows) - 2} more"])
    which = f" ({named})" if windows else ""
    return f"{_FINDINGS.get(finding, finding)}, because the data of earlier windows{which} were corrected"


SENTENCES: dict[str, str | Callable[..., str]] = {
    "chart-corrected": _corrected,
    "few-reference-windows": (
        "{n_windows} reference windows show little of how much windows differ, so the limit is wide; "
        "with {enough} or more it is sharper"
    ),
    "scores-explain-little": (
        "the scores explain too little of how the {n_windows} reference windows differ, so they are not used"
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
