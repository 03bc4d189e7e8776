"""The season in a forecast: a yearly wave that the past windows show is taken off, and put on again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rocmonitor.stats.forecast.interval import ForecastInterval
from rocmonitor.stats.season import wave_of


def with_season(draft: ForecastInterval, days: Sequence[float | None]) -> ForecastInterval:
    """A calibrated interval before its ends are known, with the yearly wave of its windows, if they show one.

    Parameters
    ----------
    draft : ForecastInterval
        Its windows without weights.
    days : sequence of float or None
        Of its windows.

    Notes
    -----
    The signed roots of the windows' distances are nearly linear in the AUC, so a wave of the AUC is one of
    them. Where the windows are parts of the reference, each root is measured from the others, which makes it
    n / (n - 1) times as long as from all; what is left of it is measured from the others once.
    """
    shifts = np.array(draft.window_shifts)
    n = len(shifts)
    found = wave_of(shifts * ((n - 1) / n if draft.inside and n > 1 else 1.0), days)
    if found is None:
        return replace(draft, season=(), window_rests=())
    season = (found.level, *found.coefficients.tolist())
    return replace(draft, season=season, window_rests=tuple(found.gaps.tolist()))
