"""The page: every monitor at a glance, one monitor, its segments, a review; each also as JSON.

One Flask blueprint, which `rocmonitor.plugin.app` puts into the MLflow server and `rocmonitor ui` serves
alone. It only reads, but for two buttons. Each view is a plain dict, from which both the page and its
``.json`` are made.
"""
