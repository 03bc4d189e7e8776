"""The AUROC of a window as foreseen from its scores before the labels come, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rocmonitor.policy.evaluation import Status, Verdict
from rocmonitor.policy.record import Record
from rocmonitor.policy.windows import Window

_REPEATED = tuple(
    f"outlook/{name}"
    for name in (
        "auc",
        "low",
        "high",
        "expected_auc",
        "foretold",
        "scored",
        "score_distance",
        "warned",
        "learned_low",
        "learned_high",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook(Record):
    """The forecast of one window given its scores; made once, never an evaluation.

    Its outcome is at risk when a rule warns, insufficient when the reference allows none, and None when
    nothing warns: that does not make the window ok, for only labels can.

    Metrics: ``outlook/auc`` with its interval ``outlook/low`` to ``outlook/high``; ``outlook/strength``, from
    0 (the scores are left aside) to 1 (they are trusted fully, which gives ``outlook/expected_auc``, as where
    they have moved);
    ``outlook/prevalence``, ``outlook/score_distance`` (nats), ``outlook/outside_share``, ``outlook/scored``,
    ``outlook/warned`` (0 or 1), ``outlook/foretold`` (the AUROC that a warning foretells; missing where the
    scores lead to no loss), ``RULE/margin`` of the rules, and where earlier outlooks were wrong
    ``outlook/learned_low`` and ``outlook/learned_high``: by how much the ends lie further out for it.
    Table ``scores``: where the scores differ from the reference, when a rule warns.
    """

    window: Window
    at: datetime  # when it fell due: ``outlook.after`` after the end of the window
    made_at: datetime  # when it was computed
    outcome: Status | None
    verdicts: tuple[Verdict, ...] = ()  # of the rules ``scores`` and ``outlook``
    scored: int = 0  # rows with a usable score when it was made
    labelled: int = 0  # those of them that had a label by then

    @property
    def key(self) -> str:
        """The name of the window, unique within one store."""
        return f"{self.monitor}|{self.segment}|{self.window}|outlook"

    @property
    def warning_rules(self) -> frozenset[str]:
        """The names of the rules that warn."""
        return frozenset(verdict.rule for verdict in self.verdicts if verdict.outcome is Status.AT_RISK)


def repeated(foreseen: Mapping[str, float]) -> dict[str, float]:
    """Return what an evaluation repeats of its outlook's metrics, to be read beside what came of them."""
    return {name: foreseen[name] for name in _REPEATED if name in foreseen}
