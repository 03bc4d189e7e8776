"""Many tests at once, and the share of false ones among what they find."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(pvalues: Sequence[float]) -> list[float]:
    """Return the smallest false discovery rate at which each of some tests is a discovery.

    Notes
    -----
    The step-up procedure of [BH95]. It holds the false discovery rate also for tests that depend on each
    other positively ([BY01], theorem 1.2): two segments that share rows, or lie in the same bad week, move
    together. (Under any dependence it would take sum 1 / i times as small a rate, 2.9 for 10 segments.)

    References
    ----------
    .. [BH95] Benjamini and Hochberg (1995). Journal of the Royal Statistical Society B 57, 289-300.
    .. [BY01] Benjamini and Yekutieli (2001). Annals of Statistics 29, 1165-1188.

    Examples
    --------
    >>> [round(each, 3) for each in adjusted([0.01, 0.2, 0.02, 0.5])]
    [0.04, 0.267, 0.04, 0.5]
    """
    order = sorted(range(len(pvalues)), key=lambda place: -pvalues[place])
    found, least = [0.0] * len(pvalues), 1.0
    for smaller, place in enumerate(order):
        least = min(least, pvalues[place] * len(pvalues) / (len(pvalues) - smaller))
        found[place] = least
    return found
