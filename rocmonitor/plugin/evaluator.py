"""The evaluator ``rocmonitor`` of ``mlflow.models.evaluate``: ROC statistics of given scores."""

from __future__ import annotations

from typing import Any

from mlflow.models.evaluation import ModelEvaluator

from rocmonitor.plugin import EVALUATOR_KEYS


class RocEvaluator(ModelEvaluator):
    """AUROC, operating points, challenger and forecast of a column of scores, with intervals.

    It is opt-in: it evaluates ``model_type="rocmonitor"``, and ``"classifier"`` when its configuration has
    one of its own keys. MLflow hands a flat configuration to every evaluator that is installed, so any
    other sign would make it take part in evaluations that are none of its own. Without any configuration
    the model type has to be ``"rocmonitor"``: a classifier "could not be evaluated", says MLflow.

    Metrics: ``roc/auc``, ``roc/auc_se``, ``roc/auc_low``, ``roc/auc_high``, ``roc/rows``, ``roc/n_pos``,
    ``roc/n_neg``; ``roc/tpr_at_fpr_X`` and, with thresholds, ``roc/tpr_at_threshold_X`` and
    ``roc/fpr_at_threshold_X``, each with ``_low`` and ``_high``. With a challenger: ``roc/challenger_auc``
    and ``roc/difference`` (challenger minus champion) with ``_se``, ``_low``, ``_high``, ``_pvalue``. With a
    forecast: ``roc/forecast_low``, ``roc/forecast_high`` and ``roc/forecast_margin``, the distance of the
    AUROC from the nearer end, negative outside.

    Artifacts: ``rocmonitor/roc.png``, ``rocmonitor/roc.csv`` and ``rocmonitor/result.json``, none of which
    has single rows.

    Examples
    --------
    ::

        found = mlflow.models.evaluate(
            data=scored, targets="label", predictions="score", model_type="classifier",
            evaluators="rocmonitor",
            evaluator_config={"challenger": "score_2", "forecast": [0.71, 0.76]},
        )
        inside = MetricThreshold(threshold=0, greater_is_better=True)
        mlflow.validate_evaluation_results({"roc/forecast_margin": inside}, found)
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str | None, evaluator_config: Any, **_: Any) -> bool:
        """Whether this evaluator was asked for."""
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
        """Log metrics and artifacts to the run, and give them back.

        Raises
        ------
        MlflowException
            ``INVALID_PARAMETER_VALUE``: an unknown key, a column that is not there, a score that is no
            finite number, labels that are not 0 and 1, fewer than two rows of a class.
        """
        from rocmonitor.plugin.evaluating import evaluate

        return evaluate(
            dataset, evaluator_config or {}, run_id, model=model, logged_by_mlflow=model_id is not None
        )
