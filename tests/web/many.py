"""A store with many monitors, made by the database itself: quick enough for a test."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select, text

from rocmonitor.store import Store, tables

START = "2019-01-07 00:00:00.000000"

# Sines in place of chance: the same numbers on each machine.
_EVALUATIONS = """
WITH RECURSIVE
  monitor(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM monitor WHERE m + 1 < :monitors),
  week(w) AS (SELECT 0 UNION ALL SELECT w + 1 FROM week WHERE w + 1 < :windows),
  point AS (
    SELECT m, w, 0.75 + 0.03 * sin(m * 7.3 + w * 2.1)
      - CASE WHEN m % 16 = 5 AND w >= :windows - 3 THEN 0.12 ELSE 0 END AS auc
    FROM monitor CROSS JOIN week),
  named AS (
    SELECT printf('credit-default-%03d', m) AS name, m, w, auc,
      datetime(:start, printf('+%d days', 7 * w)) || '.000000' AS start,
      datetime(:start, printf('+%d days', 7 * (w + 1))) || '.000000' AS end_,
      CASE WHEN auc < 0.68 THEN 'degraded' ELSE 'ok' END AS outcome
    FROM point)
INSERT INTO rocmonitor_evaluation (
  monitor, segment, window_start, window_end, revision, model_version, challenger_version, at, outcome,
  data_digest, label_counts, labels_digest, settings_digest, metrics, result, summary_id,
  auc, auc_low, auc_high, expected_low, expected_high, labelled_share)
SELECT name, '', start, end_, 0, '3', NULL, end_, outcome, '', '{}', '', '',
  json_patch(:metrics, json_object('champion/auc', auc,
    'champion/auc_low', auc - 0.02, 'champion/auc_high', auc + 0.02,
    'forecast/low', 0.68, 'forecast/high', 0.82, 'data/positives', 400.0, 'data/negatives', 1600.0,
    'data/prevalence', 0.2, 'data/labelled_share', 0.97, 'data/rows', 2061.0, 'reference/auc', 0.751)),
  CASE WHEN w = :windows - 1 THEN :result ELSE '{}' END, 1, auc, auc - 0.02, auc + 0.02, 0.68, 0.82, 0.97
FROM named ORDER BY w, m
"""
# Each window had an outlook; one that is newer than all has only that.
_OUTLOOKS = """
INSERT INTO rocmonitor_outlook (
  monitor, segment, window_start, window_end, model_version, at, outcome, metrics, result)
SELECT monitor, segment, window_start, window_end, model_version, at, NULL, :outlook, '{}'
FROM rocmonitor_evaluation
UNION ALL
SELECT monitor, segment, max(window_end), datetime(max(window_end), '+7 days') || '.000000', model_version,
  max(window_end), NULL, :outlook, '{}'
FROM rocmonitor_evaluation GROUP BY monitor, segment
"""
_TRANSITIONS = """
INSERT INTO rocmonitor_transition (
  monitor, segment, at, before, after, reasons, since, notified, evaluation_id)
SELECT monitor, '', at, 'ok', 'degraded', '[]', window_start, 1, id FROM rocmonitor_evaluation
WHERE outcome = 'degraded'
"""


def fill(
    store: Store, monitors: int, windows: int, result: dict[str, Any], metrics: dict[str, float]
) -> None:
    """Weekly windows of so many monitors, one in sixteen of which is degraded.

    Each has these metrics beside those that are made here; the last of each has `result`, if there is one.
    """
    values = {"monitors": monitors, "windows": windows, "start": START}
    plain = {name: value for name, value in result.items() if name not in ("tables", "reference")}
    values |= {"result": json.dumps(plain), "metrics": json.dumps(metrics)}
    evaluation = tables.evaluation.c
    with store.writing() as connection:
        connection.execute(text(_EVALUATIONS), values)
        if result:
            connection.execute(
                tables.summary.insert(), {"id": 1, "digest": "", "content": result["reference"]}
            )
            last = select(evaluation.id, evaluation.at).order_by(evaluation.id.desc()).limit(monitors)
            kept = [
                {"evaluation_id": row.id, "saved_at": row.at, "content": result["tables"]}
                for row in connection.execute(last)
            ]
            connection.execute(tables.evaluation_tables.insert(), kept)
        connection.execute(text(_TRANSITIONS))
        outlook = {"outlook/auc": 0.74, "outlook/low": 0.7, "outlook/high": 0.78, "outlook/strength": 0.6}
        connection.execute(text(_OUTLOOKS), {"outlook": json.dumps(outlook)})
