"""The scores at which a window differs from its reference, and the effect on the AUC.

The AUC is bilinear in the shares of the two classes. So a change of it splits exactly into a part of
each class, and each part into contributions of score bins. The shift that happened is compared with the least
favourable one of [M18]: the closest reweighting of the reference with the window's AUC.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocmonitor.caveat import Caveat
from rocmonitor.errors import DegenerateDataError
from rocmonitor.stats import plotting
from rocmonitor.stats.forecast.distance import bin_ends, require_sample
from rocmonitor.stats.forecast.kld import area, auc_bounds, auc_distance
from rocmonitor.stats.forecast.tilting import placement
from rocmonitor.stats.proportion import whole_number
from rocmonitor.stats.result import Table
from rocmonitor.stats.sample import Floats, Sample

ENOUGH_A_BIN = 20  # rows of a class a bin from which on chance moves its share by less than half of it (95 %)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShiftExplanation(Table):
    """A change of the AUC, taken apart by class and by score.

    The arrays, shape (h,), have one line for each score bin, lowest first. Those of the least favourable
    shift, of all reweightings of the reference with the window's AUC the closest, are None when there is
    none.

    Attributes
    ----------
    low, high: The bin holds the scores above `low` up to and including `high`. The outermost bins are open;
        their outer ends are the smallest and the largest score of both samples.
    neg_reference, pos_reference, neg_window, pos_window, neg_least, pos_least: Share of the negatives and of
        the positives in the bin: of the reference, of the window, and under the least favourable shift.
    neg_contribution, pos_contribution, neg_least_contribution, pos_least_contribution: What the negatives and
        the positives of the bin contribute to the change of the AUC, and the same of the least favourable
        shift. Both classes together add up to the change.
    reference_auc, auc: Of the reference and of the window.
    from_negatives, from_positives: The two parts of ``auc - reference_auc``.
    distance: Kullback-Leibler distance of the least favourable shift, in nats.
    similarity: Of the shift and the least favourable one, within [-1, 1] (see `explain_shift`).
    n_pos, n_neg: Class sizes of the window.
    """

    low: Floats
    high: Floats
    neg_reference: Floats
    pos_reference: Floats
    neg_window: Floats
    pos_window: Floats
    neg_least: Floats | None
    pos_least: Floats | None
    neg_contribution: Floats
    pos_contribution: Floats
    neg_least_contribution: Floats | None
    pos_least_contribution: Floats | None
    reference_auc: float
    auc: float
    from_negatives: float
    from_positives: float
    distance: float | None
    similarity: float | None
    n_pos: int
    n_neg: int
    caveats: tuple[Caveat, ...] = ()

    @property
    def change(self) -> float:
        """AUC of the window minus that of the reference."""
        return self.auc - self.reference_auc

    def bins(self) -> list[dict[str, float]]:
        """Return a line for each bin, lowest first; `rocmonitor.wording.shift.in_words` has them in words."""
        columns = {
            name: value.tolist() for name, value in self._values().items() if isinstance(value, np.ndarray)
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _draw(self, ax: plotting.Axes, label: str | None) -> None:
        edges = np.append(self.low, self.high[-1])
        parts = [
            (f"positives {self.from_positives:+.4f}", self.pos_contribution),
            (f"negatives {self.from_negatives:+.4f}", self.neg_contribution),
        ]
        plotting.bars(ax, edges, parts)
        note = f"AUROC {self.change:+.4f}, from {self.reference_auc:.4f} to {self.auc:.4f}"
        plotting.describe(ax, x="score", y="contribution to the change", note=note, label=label)


def explain_shift(
    reference: Sample, window: Sample, *, bins: int = 10, joined: bool = False
) -> ShiftExplanation:
    """Return which scores, of which class, make a window's AUC differ from that of its reference.

    Parameters
    ----------
    reference, window: Of the same score, each with both classes. Either may have scores that the other has
        not.
    bins: At least 2. The bins are quantile bins of the reference in which both classes weigh the same, so
        that a rare class is resolved as well as a frequent one. A tie is never split: there are fewer bins
        when a score is frequent.
    joined: Whether the reference is `condensed`: each of its scores stands for all that lie between the one
        before and itself, so a score of the window in between is tied with it, neither above nor below.

    Notes
    -----
    With shares f, g (negatives, positives) of the reference, u, v of the window and the kernel psi of the
    AUC (1, 1/2, 0), A(u, v) - A(f, g) is the sum of

        (u - f)' psi (v + g)/2    and    (u + f)'/2 psi (v - g),

    the means over both orders of replacing one class after the other (Shapley values). At score i the
    negatives contribute (u_i - f_i)(P_i - c), where P_i is the share of (v + g)/2 above it (a tie counts one
    half) and c = A((u + f)/2, (v + g)/2); a constant changes no sum, and this one makes more negatives where
    they do better than on average a gain. Positives likewise. All of it is exact under ties and changes sign
    when the samples are exchanged. The least favourable shift is that of [M18] eq. 6-9, as in `auc_distance`.

    `similarity` is the cosine between the changes of the square roots of the shares in all bins of both
    classes (Hellinger's geometry, in which a small Kullback-Leibler distance is twice a squared length). 1
    means that the shift is the cheapest one to this AUC. For small shifts its square is the distance of the
    least favourable shift over that of the one that happened. The least favourable shift takes about half of
    the change from each class, so one that moves a single class reaches about 0.7. It is 0 when one of the
    two does not move. Sampling noise moves bins too and lowers it: a caveat reports a class with fewer than
    20 rows a bin.
    Cost: O(k log k) for k distinct scores, one `auc_distance` and one `auc_bounds`.

    Examples
    --------
    >>> reference = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8])
    >>> window = Sample([0, 0, 0, 1, 0, 1, 1, 1], [1, 2, 3, 2, 5, 6, 4, 8])
    >>> shift = explain_shift(reference, window, bins=2)
    >>> shift.from_positives, shift.from_negatives, shift.pos_contribution.tolist()
    (-0.15625, 0.0, [-0.12109375, -0.03515625])
    """
    for name, sample in (("reference", reference), ("window", window)):
        require_sample(sample, name)
        sample.require_both_classes(what=f"{name}: ")
    whole_number(bins, "bins", 2)
    scale = reference.score if joined else np.union1d(reference.score, window.score)
    # Floats, because products of class sizes may leave int64.
    weights = reference.neg * float(reference.n_pos) + reference.pos * float(reference.n_neg)
    ends = bin_ends(reference.score, weights, bins)
    old, new = (
        _Placed(
            shares=np.stack([sample.neg / sample.n_neg, sample.pos / sample.n_pos]),
            place=np.searchsorted(scale, sample.score),
            bin=np.searchsorted(ends, sample.score),
            bins=len(ends) + 1,
        )
        for sample in (reference, window)
    )
    before, now, moved = _in_bins(old), _in_bins(new), _contributions(old, new)
    distance, similarity = None, None
    least: Sequence[Floats | None] | Floats = (None, None)
    least_moved = least
    with suppress(DegenerateDataError):  # the reference's scores do not overlap in that direction
        distance = auc_distance(reference, area(window))
    if distance is not None:
        bounds = auc_bounds(reference, distance)
        cheapest = bounds.low_weights if area(window) < bounds.auc else bounds.high_weights
        shifted = old._replace(shares=cheapest)
        least_moved, in_bins = _contributions(old, shifted), _in_bins(shifted)
        least = in_bins
        first, second = np.sqrt(now) - np.sqrt(before), np.sqrt(in_bins) - np.sqrt(before)
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        cosine = float(np.vdot(first, second)) / lengths if lengths > 0 else 0.0
        similarity = min(1.0, max(-1.0, cosine))
    n_bins = len(ends) + 1
    caveats = [
        Caveat("few-rows-per-bin", rows=rows, kind=kind, bins=n_bins)
        for kind, rows in (("positives", window.n_pos), ("negatives", window.n_neg))
        if rows < ENOUGH_A_BIN * n_bins
    ]
    if distance is None:
        caveats.append(Caveat("no-least-favourable-shift"))
    return ShiftExplanation(
        low=np.concatenate([[min(reference.score[0], window.score[0])], ends]),
        high=np.concatenate([ends, [max(reference.score[-1], window.score[-1])]]),
        neg_reference=before[0],
        pos_reference=before[1],
        neg_window=now[0],
        pos_window=now[1],
        neg_least=least[0],
        pos_least=least[1],
        neg_contribution=moved[0],
        pos_contribution=moved[1],
        neg_least_contribution=least_moved[0],
        pos_least_contribution=least_moved[1],
        reference_auc=area(reference),
        auc=area(window),
        from_negatives=float(moved[0].sum()),
        from_positives=float(moved[1].sum()),
        distance=distance,
        similarity=similarity,
        n_pos=window.n_pos,
        n_neg=window.n_neg,
        caveats=tuple(caveats),
    )


class _Placed(NamedTuple):
    """Shares (2, k), negatives first, with the position of each score on a common scale, and its bin of h."""

    shares: Floats
    place: NDArray[np.intp]
    bin: NDArray[np.intp]
    bins: int


def _contributions(old: _Placed, new: _Placed) -> Floats:
    """(2, h): what each class contributes in each bin to the change of the AUC from `old` to `new`."""
    before = (placement(old.shares) + _placements_in(new, old)) / 2
    now = (placement(new.shares) + _placements_in(old, new)) / 2
    middle = float(old.shares[0] @ before[0] + new.shares[0] @ now[0]) / 2
    gained = _in_bins(new._replace(shares=new.shares * (now - middle)))
    return gained - _in_bins(old._replace(shares=old.shares * (before - middle)))


def _placements_in(other: _Placed, rows: _Placed) -> Floats:
    """(2, k): the placement values of `rows` in the other class of `other`."""
    places = 1 + max(int(other.place.max()), int(rows.place.max()))
    on_scale: Floats = np.stack(
        [np.bincount(other.place, line, places).astype(np.float64) for line in other.shares]
    )
    return placement(on_scale)[:, rows.place]


def _in_bins(placed: _Placed) -> Floats:
    """(2, h): sums over the bins."""
    return np.stack([np.bincount(placed.bin, line, placed.bins) for line in placed.shares])
