"""The numbers of the overview as columns of their own, so that it reads no JSON."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

COLUMNS = {
    "auc": "champion/auc",
    "auc_low": "champion/auc_low",
    "auc_high": "champion/auc_high",
    "expected_low": "forecast/low",
    "expected_high": "forecast/high",
    "labelled_share": "data/labelled_share",
}


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("rocmonitor_evaluation", sa.Column(name, sa.Float(), nullable=True))
    on_sqlite = op.get_bind().dialect.name == "sqlite"
    read = (
        """json_extract(metrics, '$."{}"')""" if on_sqlite else "CAST(metrics ->> '{}' AS DOUBLE PRECISION)"
    )
    values = ", ".join(f"{name} = {read.format(metric)}" for name, metric in COLUMNS.items())
    op.execute(sa.text(f"UPDATE rocmonitor_evaluation SET {values}"))
    op.create_index(
        "ix_rocmonitor_evaluation_monitor",
        "rocmonitor_evaluation",
        [
            *("monitor", "segment", "window_start", "window_end", "revision"),
            *("model_version", "outcome", *COLUMNS),
        ],
    )
