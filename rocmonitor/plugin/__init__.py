"""The parts of rocmonitor that MLflow loads by entry points.

MLflow imports these modules in every process where rocmonitor is installed, and an error in such an import
would usually break ``import mlflow`` for people who do not use rocmonitor. So at the top they import nothing
but MLflow's own base classes. Code that imports them directly must import mlflow first.
"""

EVALUATOR_KEYS = frozenset({"challenger", "confidence_level", "forecast", "fpr", "reference", "thresholds"})
"""Keys of the evaluator's configuration; see `rocmonitor.plugin.evaluating.Settings`."""
