"""Caveats on confidence sequences."""

from collections.abc import Callable


def _too_few(*, n_windows: int) -> str:
    few = "1 window is" if n_windows == 1 else f"{n_windows} windows are"
    return f"{few} too few to estimate how much windows differ, so nothing is known of the difference yet"


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
        f"{text}; with the correlation estimated it is {low:+.4f} to {high:+.4f} (p = {pvalue:.2g}), and "
        "correlation: estimated decides by that"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    "no-window-scatters": "no window shows any scatter, so nothing is known of the difference yet",
    "zero-standard-errors": (
        "{zero} of {n_windows} windows have a standard error of 0; the pooled one is used for them"
    ),
    "too-few-windows-to-compare": _too_few,
    "windows-differ": (
        "the windows differ by more than their sampling error: their true differences have a standard "
        "deviation of about {between:.4f}, while one window's standard error is {standard_error:.4f}; the "
        "interval is for their mean and allows for this"
    ),
    "windows-correlated": _correlated,
    "windows-correlated-allowed": (
        "neighbouring windows are alike (serial correlation {correlation:.2f}); the interval allows for "
        "this, but not fully: of 100 years of weekly checks at 5 %, about 2 decide wrongly at a correlation "
        "of 0.3, 7 at 0.6 and 25 at 0.9"
    ),
}
