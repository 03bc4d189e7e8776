"""Caveats on bands for a whole curve."""

from collections.abc import Callable


def _ties(*, tied: int, distinct: int, model: str | None) -> str:
    whose = f"{model} model: " if model else ""
    return (
        f"{whose}{tied} of {distinct} scores are shared by positives and negatives: the band is for the "
        "curve with straight lines across ties"
    )


SENTENCES: dict[str, str | Callable[..., str]] = {
    "resamples-raised": "n_resamples raised from {asked} to {used}, which the confidence level needs",
    "normal-scores-assumed": (
        "the band is around the curve of two normal distributions, TPR = Phi({a:.4g} + {b:.4g} Phi^-1(FPR)), "
        "and is valid only if the scores of each class are normal; tpr is the empirical curve"
    ),
    "ties-between-classes": _ties,
    "curve-outside-band": "the empirical curve leaves the band at {outside} of {rates} rates",
    "few-rows-for-band": (
        "{n_pos} positives and {n_neg} negatives: the band's coverage was not measured with fewer than "
        "{enough} rows of a class"
    ),
    "resamples-never-differ": (
        "at {unchanged} of {rates} rates no resample differs from the sample: the band's height there comes "
        "from {added:g} added positives on which the models disagree"
    ),
}
