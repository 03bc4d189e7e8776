"""Windows to come while the model is as good as in the reference, and the limits of rules on them.

All is on the scale 2 arcsin sqrt(AUROC), on which an AUROC scatters about its true value nearly normally, and
as much at one limit as at another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rocmonitor.rules.evidence import Reference

if TYPE_CHECKING:
    from rocmonitor.stats import AucResult, ForecastInterval
    from rocmonitor.stats.rows import Floats


_DEEPEST, _STEP = 6.0, 0.25
"""The depth to which a limit is searched, in log odds from an AUROC of 0.8 to 0.01, and the step."""


class Limits(NamedTuple):
    """The ends between which a rule finds a window ok: (1,) or (g,), one for each process; else infinite."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, low: float, high: float = math.inf) -> Limits:
        """Return the same limits for every process."""
        import numpy as np

        return cls(np.array([low]), np.array([high]))


class Calm(Protocol):
    """The windows to come, as a rule asks for them; `rocmonitor.policy.scenario` answers."""

    @property
    def auc(self) -> AucResult:
        """The reference's AUROC."""

    @property
    def reference(self) -> Reference:
        """All else that is known of the reference."""

    def range(self, rule: str) -> ForecastInterval | None:
        """Return the normal range of a window of the usual size; None for a rule without one."""

    def window(self, auc: float) -> AucResult:
        """Return a window of the expected size that has this AUROC."""

    def mirrored(self) -> Calm:
        """Return the same with all scores negated."""


def lowest_ok(excess: Callable[[AucResult], float], calm: Calm, *, below: float) -> float:
    """Return the highest value below which `excess` of a window is negative; at `below` it is not."""
    import numpy as np
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    from rocmonitor.stats.lasting.windows import scaled

    def of(log_odds: float) -> float:
        return excess(calm.window(float(expit(log_odds))))

    top = float(logit(below))
    for down in np.arange(_STEP, _DEEPEST, _STEP).tolist():
        if of(top - down) < 0:
            return scaled(float(expit(brentq(of, top - down, top - down + _STEP))))
    return -math.inf
