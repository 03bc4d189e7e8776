"""Figures, tables and pages for people; the only importer of matplotlib."""
