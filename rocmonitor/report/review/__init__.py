"""A review for people: one self-contained HTML file, or some lines for a terminal."""

from rocmonitor.report.review.figures import drawn
from rocmonitor.report.review.page import page, text

__all__ = ["drawn", "page", "text"]
