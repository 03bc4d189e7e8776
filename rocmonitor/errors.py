"""Every error that rocmonitor raises on purpose.

    RocmonitorError
    ├── InputError (ValueError)          an argument or the data is not usable
    │   └── DegenerateDataError          too little of something: one class, no variance
    ├── ConfigError (ValueError)         rocmonitor.yaml, or the environment it names
    └── ExternalError                    an outside system; `.transient` says whether a later try may succeed
        ├── SourceError                  the database the scored rows are read from
        ├── StoreError                   rocmonitor's own database
        ├── TrackingError                MLflow
        └── AlertError                   a notification channel

A message names the argument or key, the rule, the value and the way out, and never holds a secret.
"""


class RocmonitorError(Exception):
    """Base of all errors raised on purpose."""


class InputError(RocmonitorError, ValueError):
    """An argument or the data is not usable as it is."""


class DegenerateDataError(InputError):
    """The data are well-formed, but the statistic is not defined on them."""


class ConfigError(RocmonitorError, ValueError):
    """The configuration, or something it names, is wrong."""


class ExternalError(RocmonitorError):
    """An outside system failed.

    Parameters
    ----------
    message : str
        What failed and what to do. Never a secret.
    transient : bool
        Whether trying again later may succeed without anybody changing anything.
    """

    def __init__(self, message: str, *, transient: bool = True) -> None:
        super().__init__(message)
        self.transient = transient


class SourceError(ExternalError):
    """The database the scored rows are read from."""


class StoreError(ExternalError):
    """rocmonitor's own database."""


class TrackingError(ExternalError):
    """MLflow."""


class AlertError(ExternalError):
    """A notification channel."""
