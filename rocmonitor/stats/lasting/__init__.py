"""Lasting changes of the AUC: a chart over the windows since the reference."""
