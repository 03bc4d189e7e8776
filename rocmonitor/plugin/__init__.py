"""What MLflow loads of rocmonitor by entry points.

MLflow imports these modules in every process of an environment where rocmonitor is installed, and most
errors of an import would break the ``import mlflow`` of people who never asked for it: at their top they
import MLflow's own base classes and nothing else. Who imports them himself imports mlflow first.
"""

EVALUATOR_KEYS = frozenset({"challenger", "confidence_level", "forecast", "fpr", "reference", "thresholds"})
"""Keys of the evaluator's configuration; see `rocmonitor.plugin.settings.Settings`."""
