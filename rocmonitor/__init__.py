"""Watches binary classifiers in production with statistics of the ROC curve that have a level."""

__version__ = "0.1.0"
