"""Sources: databases that scored rows are read from, never written to."""

from rocmonitor.sources.batch import Batch, LabelCounts, Rows
from rocmonitor.sources.frame import Frame, read_frame
from rocmonitor.sources.sql import SqlSource, open_source

__all__ = ["Batch", "Frame", "LabelCounts", "Rows", "SqlSource", "open_source", "read_frame"]
