"""The evaluator ``rocmonitor`` of ``mlflow.models.evaluate``: ROC statistics of given scores."""

from __future__ import annotations

from typing import Any

from mlflow.models.evaluation import ModelEvaluator

from rocmonitor.plugin import EVALUATOR_KEYS


class RocEvaluator(ModelEvaluator):
    """AUROC, operating points, challenger and forecast of a column of scores, with intervals.

    It is opt-in: it evaluates ``model_type="rocmonitor"``, and ``"classifier"`` when its configuration has
    one of its own keys. MLflow passes a flat configuration to every installed evaluator, so with any weaker
    rule this one would take part in evaluations that did not ask for it. Without a configuration the model
    type must be ``"rocmonitor"``; for a classifier MLflow reports that it "could not be evaluated".

    Metrics are named as those of monitored windows, and each interval has the ends ``_low`` and ``_high``:
    ``data/rows``, ``data/positives``, ``data/negatives``; ``champion/auc`` with ``_se``, ``_low``, ``_high``;
    ``champion/tpr_at_fpr_X`` and, with thresholds, ``champion/tpr_at_threshold_X`` and
    ``champion/fpr_at_threshold_X``. With a challenger: the same under ``challenger/``, and
    ``difference/auc`` (challenger minus champion) with ``_se``, ``_low``, ``_high``, and
    ``difference/pvalue``. With a forecast: ``forecast/low``, ``forecast/high`` and ``forecast/margin``, the
    distance of the AUROC from the nearer end, negative outside.

    Artifacts: ``rocmonitor/roc.png``, ``rocmonitor/roc.csv`` and ``rocmonitor/result.json``. None of them
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
    def can_evaluate(cls, *, model_type: str | None, evaluator_config: Any, **_: Any) -> bool:
        """Return True if this evaluator was asked for."""
        if model_type == "rocmonitor":
            return True
        return model_type == "classifier" and not EVALUATOR_KEYS.isdisjoint(evaluator_config or {})

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None,
        model: Any = None,
        model_id: str | None = None,
        **_: Any,
    ) -> Any:
        """Log metrics and artifacts to the run, and return them.

        Raises
        ------
        MlflowException
            ``INVALID_PARAMETER_VALUE``: an unknown key, a missing column, a score that is not a finite
            number, labels other than 0 and 1, fewer than two rows of a class.
        """
        from rocmonitor.plugin.evaluating import evaluate

        return evaluate(
            dataset, evaluator_config or {}, run_id, model=model, logged_by_mlflow=model_id is not None
        )
