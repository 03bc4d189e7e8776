"""Bands for a whole ROC curve and intervals at points of it."""
