"""The dataset source ``rocmonitor_window``: from a run in MLflow back to the rows it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.data.dataset_source import DatasetSource

if TYPE_CHECKING:
    import pandas as pd


class RocmonitorWindowSource(DatasetSource):
    """Where the rows of a window, or of a review, came from.

    MLflow makes it from the dataset that a window run or a review run has as its input; it holds the name of
    the source in ``rocmonitor.yaml``, the query, the columns and the bounds, and no URL.

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
        """Read the rows again, from the database as it is now.

        Parameters
        ----------
        config : str or Path, optional
            The configuration that has the source's URL; default ``$ROCMONITOR_CONFIG``, else
            ``rocmonitor.yaml`` in the working folder.

        Returns
        -------
        DataFrame
            As `rocmonitor.sources.read_frame`; of a review, the rows that both models scored, window after
            window. ``.attrs["rocmonitor"]["unchanged"]`` says whether the windows have the digests that were
            logged: True, False (which is warned of as well), or None where no digest was logged.

        Raises
        ------
        ConfigError
            No configuration, no such source in it, a query that no longer fits the table.
        SourceError
            The database cannot be read, or a window has more rows than ``max_rows``.
        InputError
            What was logged is not of rocmonitor's making.

        Notes
        -----
        The query is the one that was logged, whatever the configuration says now. It is only ever one SELECT
        in a read-only transaction, with the source's time limit; but whoever may write to MLflow may have
        written it, so let the account of the source see no more than it has to.
        """
        from rocmonitor.plugin.loading import load

        return load(self._logged, config)

    def to_dict(self) -> dict[str, Any]:
        """What is logged."""
        return dict(self._logged)

    @classmethod
    def from_dict(cls, source_dict: dict[Any, Any]) -> RocmonitorWindowSource:
        """The inverse of `to_dict`."""
        return cls(source_dict)

    @staticmethod
    def _get_source_type() -> str:
        return "rocmonitor_window"

    @staticmethod
    def _can_resolve(raw_source: Any) -> bool:  # noqa: ARG004 MLflow's signature
        return False  # other people's data are none of ours

    @classmethod
    def _resolve(cls, raw_source: Any) -> RocmonitorWindowSource:
        raise NotImplementedError(f"a window is not found from {type(raw_source).__name__}")
