"""Windows, changes of status and reviews that messages are made of in tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from rocmonitor.alerts import Context, Message, compose
from rocmonitor.caveat import Caveat
from rocmonitor.policy.evaluation import Counts, Evaluation, Status, Transition, Verdict
from rocmonitor.policy.judge import too_few
from rocmonitor.policy.windows import Window

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 5, 4, tzinfo=BERLIN)
FOUND = datetime(2026, 6, 10, 6, tzinfo=BERLIN)
BELOW = Verdict(
    rule="forecast",
    kind="forecast",
    outcome=Status.DEGRADED,
    estimate=0.712,
    confidence_level=0.95,
    limit=(0.741, 0.801),
    margin=-0.029,
    details={"method": "calibrated", "sampling_low": None, "sampling_high": None},
)
CONTEXT = Context(zone=BERLIN)
WHOSE = Context(
    zone=BERLIN,
    owner="Ana Ruiz, credit scoring",
    runbook="https://wiki.example/credit-default",
    run="https://mlflow.example/#/experiments/3/runs/59d21e4c?workflowType=machine_learning",
    page="https://mlflow.example/rocmonitor/credit-default",
)
BELOW_TEXT = "AUROC 0.71 is below its normal range 0.74 to 0.80 (calibrated, 95 %)"
FLOOR_HOLDS = Verdict(
    rule="floor",
    kind="floor",
    outcome=Status.OK,
    estimate=0.712,
    low=0.69,
    high=0.734,
    confidence_level=0.95,
    limit=(0.7, None),
    margin=0.034,
)
MESSAGE = Message("DEGRADED credit-default: AUROC 0.71", "worse than forecast\nn⁺ 310 & <rising>", "alarm")


def evaluation(**changes: object) -> Evaluation:
    plain = Evaluation(
        monitor="credit-default",
        model="credit-model",
        window=Window(MONDAY, MONDAY + timedelta(days=7)),
        champion_version="7",
        challenger_version="8",
        at=FOUND,
        evaluated_at=FOUND,
        outcome=Status.DEGRADED,
        status=Status.DEGRADED,
        verdicts=(BELOW, FLOOR_HOLDS),
        counts=Counts(rows=4610, n_pos=310, n_neg=4200, unlabelled=90, duplicates=10),
        metrics={
            "champion/auc": 0.712,
            "champion/auc_low": 0.69,
            "champion/auc_high": 0.734,
            "challenger/auc": 0.755,
            "challenger/auc_low": 0.73,
            "challenger/auc_high": 0.78,
            "forecast/low": 0.741,
            "forecast/high": 0.801,
            "reference/auc": 0.772,
            "reference/auc_low": 0.765,
            "reference/auc_high": 0.779,
        },
        caveats=(Caveat("not-computed", why="88 rows have no label yet"),),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def explained(**changes: object) -> Evaluation:
    """A degraded window with a table of what moved: 38 % of the positives are left above 0.4."""
    shares = {f"{key}_{when}": 0.5 for key in ("pos", "neg") for when in ("reference", "window")}
    rows = [shares | {"low": 0.0, "high": 0.4}, shares | {"low": 0.4, "high": 1.0}]
    rows[1]["pos_window"] = 0.38
    parts = {"shift/from_positives": -0.059, "shift/from_negatives": -0.001}
    return evaluation(tables={"shift": rows}, metrics=evaluation().metrics | parts, **changes)


def transition(after: Status, before: Status = Status.OK, **changes: object) -> Transition:
    plain = Transition(
        monitor="credit-default", at=FOUND, before=before, after=after, reasons=(BELOW,), since=MONDAY
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def insufficient(counts: Counts) -> Message:
    verdict = too_few(counts, min_per_class=1000)
    found = evaluation(
        outcome=Status.INSUFFICIENT, verdicts=(verdict,), counts=counts, metrics={}, caveats=()
    )
    return compose(transition(Status.INSUFFICIENT, reasons=(verdict,)), found, CONTEXT)
