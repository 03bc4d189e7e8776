"""A review for people: one self-contained HTML file, or some lines for a terminal."""

from rocmonitor.report.review.figures import drawn, files
from rocmonitor.report.review.page import page, text

__all__ = ["drawn", "files", "page", "text"]
