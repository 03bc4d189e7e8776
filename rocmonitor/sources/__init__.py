"""Sources: databases that scored rows are read from, never written to. `frame` gives rows to people."""

from rocmonitor.sources.batch import Batch, Rows
from rocmonitor.sources.counting import LabelCounts
from rocmonitor.sources.sql import SqlSource, open_source

__all__ = ["Batch", "LabelCounts", "Rows", "SqlSource", "open_source"]
