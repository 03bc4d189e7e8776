"""Caveats on confidence sequences."""

from collections.abc import Callable


def _too_few(*, n_windows: int) -> str:
    few = "1 window is" if n_windows == 1 else f"{n_windows} windows are"
    return f"{few} too few to estimate how much windows differ, so nothing is known of the difference yet"


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
    "windows-correlated": (
        "neighbouring windows are alike (serial correlation {correlation:.2f}), but the interval treats them "
        "as independent and is too narrow for a lasting mean; use longer windows, more of them, or "
        "correlation estimated"
    ),
    "windows-correlated-allowed": (
        "neighbouring windows are alike (serial correlation {correlation:.2f}); the interval allows for "
        "this, but not fully: of 100 years of weekly checks at 5 %, about 2 decide wrongly at a correlation "
        "of 0.3, 7 at 0.6 and 25 at 0.9"
    ),
}
