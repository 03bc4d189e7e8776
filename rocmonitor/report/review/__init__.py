"""A review for people: one page or file, or some lines for a terminal."""

from rocmonitor.report.review.page import brief, page, text

__all__ = ["brief", "page", "text"]
