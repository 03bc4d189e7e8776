"""The run-to-run variation of bootstrapped standard errors of an AUC, beside the closed forms.

The design of Wu, Martin and Kacker (2016), sections 5 and 7, in the paper's symbols: L runs of B replications
each give SE_B; SE_A is eq. 15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rocmonitor.errors import InputError
from rocmonitor.stats.area.auc import auc
from rocmonitor.stats.area.variances import drawn_areas
from rocmonitor.stats.proportion import is_number
from rocmonitor.stats.resampling import Rng, generator, percentiles
from rocmonitor.stats.result import Result
from rocmonitor.stats.sample import Floats, Sample, on_sample

ONE_SIGMA = 0.6827
"""Level of the narrower interval of [WMK16]."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BootstrapVariability(Result):
    """The law of a bootstrapped standard error, a line of [WMK16] table 2.

    Attributes
    ----------
    auc, se_a : float
        The area, and its standard error by eq. 15.
    se_exact : float
        What SE_B tends to with the number of replications: method "exact-bootstrap".
    se_b : ndarray, shape (n_runs,)
        SE_B of each run, in the order drawn.
    mean, median, se_of_se : float
        Of `se_b`; the last is their standard deviation, SE_B(SE).
    ci68, ci95 : tuple of two floats
        Quantiles of `se_b` by Definition 2 at 68.27 and 95 %.
    """

    auc: float
    se_a: float
    se_exact: float
    se_b: Floats
    mean: float
    median: float
    ci68: tuple[float, float]
    ci95: tuple[float, float]
    se_of_se: float
    n_resamples: int
    n_pos: int
    n_neg: int

    @property
    def relative_errors(self) -> tuple[float, float, float, float]:
        """Delta of the mean, the median and the farther ends of both intervals from SE_A: section 7.2."""
        far_68, far_95 = (max(abs(end / self.se_a - 1) for end in each) for each in (self.ci68, self.ci95))
        return abs(self.mean / self.se_a - 1), abs(self.median / self.se_a - 1), far_68, far_95

    @property
    def pvalue(self) -> float:
        """P-value of the test of section 7.3 that a run's SE_B has the mean SE_A: normal, two-sided."""
        return float(2 * ndtr(-abs(self.mean - self.se_a) / self.se_of_se))

    def __str__(self) -> str:
        return (
            f"AUC {self.auc:.7f}: SE_A {self.se_a:.3e}, SE_B {self.mean:.3e} from {self.ci95[0]:.3e} to "
            f"{self.ci95[1]:.3e} in 95 % of {len(self.se_b)} runs of {self.n_resamples} replications "
            f"(exact {self.se_exact:.3e})"
        )


def replications_needed(relative_error: float) -> int:
    """Return the B whose SE_B has a relative standard error d, if the AUC is normal: 1 / (2 d^2) + 1.

    Parameters
    ----------
    relative_error : float
        SE_B(SE) / SE_B, above 0.

    Examples
    --------
    >>> replications_needed(0.0158)  # the 2,000 of [WMK16]
    2004
    """
    if not is_number(relative_error) or not 0 < relative_error < math.inf:
        raise InputError(f"relative_error must be a finite number above 0; it is {relative_error!r}")
    return math.ceil((1 / (2 * relative_error**2) + 1) * (1 - 1e-12))


@on_sample
def bootstrap_variability(
    sample: Sample, /, *, n_runs: int = 500, n_resamples: int = 2000, rng: Rng | None = None
) -> BootstrapVariability:
    """Return the law of the bootstrapped standard error of an AUC, from many runs of the bootstrap.

    Parameters
    ----------
    y_true, y_score : array_like, shape (n,), or one `Sample` in their place
    n_runs : int
        L, at least 2.
    n_resamples : int
        B, the replications of a run, at least 2.
    rng : Generator, SeedSequence or int
        Randomness, which must be given.

    Returns
    -------
    BootstrapVariability

    Raises
    ------
    DegenerateDataError, InputError
        A class without rows; unusable data (see `Sample`), too few runs or replications, no `rng`.

    Notes
    -----
    [WMK16] sections 4 and 5. For an area whose law is normal, (B - 1) SE_B^2 / SE^2 is chi-square with B - 1
    degrees of freedom, so that no runs are needed: `se_of_se` tends to `se_exact` / sqrt(2 (B - 1)), and
    `replications_needed` turns that round. Cost: L B resamples (`drawn_areas`).

    References
    ----------
    .. [WMK16] Wu, Martin and Kacker (2016). Communications in Statistics 45, 1689-1703.

    Examples
    --------
    >>> y, s = [0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8]
    >>> found = bootstrap_variability(y, s, n_runs=50, n_resamples=200, rng=1)
    >>> abs(found.mean / found.se_exact - 1) < 0.03
    True
    """
    source = generator(rng, n_resamples, method="bootstrap", at_least=2)
    if not is_number(n_runs) or n_runs != int(n_runs) or n_runs < 2:
        raise InputError(f"n_runs must be a whole number of at least 2, not {n_runs!r}")
    exact, printed = (auc(sample, method=method) for method in ("exact-bootstrap", "wmk16"))
    sizes = sample.n_pos, sample.n_neg
    drawn = (drawn_areas(sample, *sizes, int(n_resamples), source) for _ in range(int(n_runs)))
    se_b = np.array([of.std(ddof=1) for of in drawn])
    ends = (percentiles(se_b, (1 - level) / 2, "averaged_inverted_cdf") for level in (ONE_SIGMA, 0.95))
    ci68, ci95 = ((float(low), float(high)) for low, high in ends)
    return BootstrapVariability(
        auc=exact.auc,
        se_a=printed.se,
        se_exact=exact.se,
        se_b=se_b,
        mean=float(se_b.mean()),
        median=float(np.median(se_b)),
        ci68=ci68,
        ci95=ci95,
        se_of_se=float(se_b.std(ddof=1)),
        n_resamples=int(n_resamples),
        n_pos=sizes[0],
        n_neg=sizes[1],
    )
