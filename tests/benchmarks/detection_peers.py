"""Judge windows with NannyML or Evidently as their users call them: python detection_peers.py windows.npz.

Run by the Python of their environment; prints the alerts of a fall for each window after the reference.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pandas as pd

os.environ |= {"NML_DISABLE_USAGE_LOGGING": "1", "DO_NOT_TRACK": "1"}  # nothing leaves this machine


def frame(file: str) -> tuple[pd.DataFrame, int]:
    kept = np.load(file)
    rows = pd.DataFrame({name: kept[name] for name in ("window", "y", "s")})
    rows["y"], rows["predicted"] = rows["y"].astype(int), (rows["s"] >= 0.5).astype(int)
    rows["at"] = pd.Timestamp(2024, 1, 1) + pd.to_timedelta(7 * rows["window"], unit="D")
    return rows, int(kept["reference"])


def nannyml(rows: pd.DataFrame, reference: int) -> dict[str, list[bool]]:
    import nannyml as theirs

    names = {
        "y_true": "y",
        "y_pred": "predicted",
        "y_pred_proba": "s",
        "problem_type": "classification_binary",
    }
    names |= {"metrics": ["roc_auc"], "timestamp_column_name": "at", "chunk_period": "W"}
    past, later = rows[rows["window"] < reference], rows[rows["window"] >= reference]
    alerts = {}
    for name, kind in (("NannyML", theirs.PerformanceCalculator), ("CBPE", theirs.CBPE)):
        judge = kind(**names).fit(past)
        judged = judge.calculate(later) if name == "NannyML" else judge.estimate(later)
        table = judged.filter(period="analysis").to_df()["roc_auc"]
        alerts[name] = (table["value"] < table["lower_threshold"]).tolist()
    return alerts


def evidently(rows: pd.DataFrame, reference: int, most: int = 12) -> dict[str, list[bool]]:
    from evidently import BinaryClassification, DataDefinition, Dataset, Report
    from evidently.metrics import RocAuc

    task = BinaryClassification(target="y", prediction_probas="s", pos_label=1)
    definition = DataDefinition(classification=[task])

    def known(part: pd.DataFrame) -> Dataset:
        return Dataset.from_pandas(part[["y", "s"]].reset_index(drop=True), data_definition=definition)

    past, alerts = known(rows[rows["window"] < reference]), []
    for at in range(reference, reference + most):
        report = Report([RocAuc()], include_tests=True).run(known(rows[rows["window"] == at]), past).dict()
        alerts.append(report["tests"][0]["status"] == "FAIL")
    return {"Evidently": alerts}


for judge in (nannyml, evidently):
    try:
        print(json.dumps(judge(*frame(sys.argv[1]))))  # noqa: T201
        break
    except ImportError:
        continue
