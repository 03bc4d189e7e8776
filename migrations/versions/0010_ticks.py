"""The last tick of every monitor, and what all its ticks did: other processes see that ticks happen."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "rocmonitor_tick",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("windows", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("next_due", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ticks_total", sa.Integer(), nullable=False),
        sa.Column("failures_total", sa.Integer(), nullable=False),
        sa.Column("windows_total", sa.Integer(), nullable=False),
        sa.Column("seconds_total", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("monitor", name="pk_rocmonitor_tick"),
    )
