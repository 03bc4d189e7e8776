"""The dataset source ``rocmonitor_window``: from a run in MLflow back to its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.data.dataset_source import DatasetSource

if TYPE_CHECKING:
    import pandas as pd


class RocmonitorWindowSource(DatasetSource):
    """The origin of the rows of a window or a review.

    MLflow creates it from the input dataset of a window run or a review run. It contains the name of the
    source in ``rocmonitor.yaml``, the query, the columns and the bounds, and no URL.

    Examples
    --------
    ::

        run = mlflow.get_run(run_id)
        source = mlflow.data.get_source(run.inputs.dataset_inputs[0])
        rows = source.load("/etc/rocmonitor/rocmonitor.yaml")
    """

    def __init__(self, logged: Mapping[str, Any]) -> None:
        self._logged = dict(logged)

    def load(self, config: str | Path | None = None) -> pd.DataFrame:
        """Read the rows again, from the present database.

        Parameters
        ----------
        config: The configuration with the source's URL; default ``$ROCMONITOR_CONFIG``, else
            ``rocmonitor.yaml`` in the working folder.

        Returns
        -------
        As `rocmonitor.sources.read_frame`; of a review, the rows that both models scored, window by window.
        ``.attrs["rocmonitor"]["unchanged"]`` says whether the windows still have the logged digests: True,
        False (with a warning), or None where no digest was logged.

        Raises
        ------
        ConfigError: No configuration, no such source in it, a query that no longer fits the table.
        SourceError: The database cannot be read, or a window has more rows than ``max_rows``.
        InputError: The dataset was not logged by rocmonitor.

        Notes
        -----
        The query is the logged one, even if the configuration has changed. It runs as one SELECT in a
        read-only transaction, with the source's time limit. But anyone who can write to MLflow can have
        written it, so give the account of the source access only to what it needs.
        """
        from rocmonitor.plugin.loading import load

        return load(self._logged, config)

    def to_dict(self) -> dict[str, Any]:
        """Return what is logged."""
        return dict(self._logged)

    @classmethod
    def from_dict(cls, source_dict: dict[Any, Any]) -> RocmonitorWindowSource:
        """Return the inverse of `to_dict`."""
        return cls(source_dict)

    @staticmethod
    def _get_source_type() -> str:
        return "rocmonitor_window"

    @staticmethod
    def _can_resolve(raw_source: Any) -> bool:  # noqa: ARG004 MLflow's signature
        return False  # only datasets that rocmonitor logged

    @classmethod
    def _resolve(cls, raw_source: Any) -> RocmonitorWindowSource:
        raise NotImplementedError(f"a window is not found from {type(raw_source).__name__}")
