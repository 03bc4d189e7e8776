"""A review for people: one self-contained HTML file, or some lines for a terminal."""

from rocmonitor.report.review.figures import drawn, files
from rocmonitor.report.review.page import brief, page, text

__all__ = ["brief", "drawn", "files", "page", "text"]
