"""The evaluator ``rocmonitor`` of ``mlflow.models.evaluate``: ROC statistics of given scores."""

from __future__ import annotations

from typing import Any

from mlflow.models.evaluation import ModelEvaluator

from rocmonitor.plugin import EVALUATOR_KEYS


class RocEvaluator(ModelEvaluator):
    """AUROC, operating points, challenger and forecast of a column of scores, with intervals.

    No configuration is needed; `rocmonitor.plugin.evaluating.Settings` has the keys. MLflow asks every
    installed evaluator and does not tell which one was named, so ``model_type="classifier"`` without one of
    our keys is evaluated only where labels have at most two values and predictions are fractional scores,
    which MLflow's own evaluator refuses. Of anything else MLflow then reports that it "could not be
    evaluated"; ``model_type="rocmonitor"`` says what is wrong.

    Metrics are named as those of monitored windows, and each interval has the ends ``_low`` and ``_high``:
    ``data/rows``, ``data/positives``, ``data/negatives``; ``champion/auc`` with ``_se``, ``_low``, ``_high``;
    ``champion/tpr_at_fpr_X`` and, with thresholds, ``champion/tpr_at_threshold_X`` and
    ``champion/fpr_at_threshold_X``. With a challenger: the same under ``challenger/``, and
    ``difference/auc`` (challenger minus champion) with ``_se``, ``_low``, ``_high``, and
    ``difference/pvalue``. With a forecast: ``forecast/low``, ``forecast/high`` and ``forecast/margin``, the
    distance of the AUROC from the nearer end, negative outside.

    Artifacts: ``rocmonitor/roc.html``, ``rocmonitor/roc.csv`` and ``rocmonitor/result.json``. None of them
    contains single rows.

    Examples
    --------
    ::

        found = mlflow.models.evaluate(
            data=scored, targets="label", predictions="score", model_type="classifier",
            evaluators="rocmonitor",
            evaluator_config={"challenger": "score_2", "forecast": [0.71, 0.76]},
        )
        inside = MetricThreshold(threshold=0, greater_is_better=True)
        mlflow.validate_evaluation_results({"forecast/margin": inside}, found)
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str | None, **_: Any) -> bool:
        """Return True if this evaluator may have been asked for; `evaluate` looks at the data, too."""
        return model_type in ("rocmonitor", "classifier")

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None,
        model: Any = None,
        model_id: str | None = None,
        **_: Any,
    ) -> Any:
        """Log metrics and artifacts to the run, and return them; None where others may have been asked.

        Raises
        ------
        MlflowException: ``INVALID_PARAMETER_VALUE``: an unknown key, a missing column, a score that is not a
            finite number, labels other than 0 and 1, fewer than two rows of a class.
        """
        config = evaluator_config or {}
        if model_type == "classifier" and EVALUATOR_KEYS.isdisjoint(config):
            import numpy as np
            import pandas as pd

            labels, scores = dataset.labels_data, np.asarray(dataset.predictions_data)
            if labels is None or scores.ndim != 1 or scores.dtype.kind != "f":
                return None
            if pd.Series(labels).nunique() > 2 or np.all(scores == np.floor(scores)):
                return None  # neither two classes nor fractional scores
        from rocmonitor.plugin.evaluating import evaluate

        return evaluate(dataset, config, run_id, model=model, logged_by_mlflow=model_id is not None)
