"""What tells whether judged windows have changed; how rows and labels arrive, and when they stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("rocmonitor_evaluation", sa.Column("labels_digest", sa.String(), nullable=True))
    op.add_column("rocmonitor_evaluation", sa.Column("settings_digest", sa.String(), nullable=True))
    op.create_table(
        "rocmonitor_arrival",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("labelled", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("monitor", "window_start", "window_end", "at", name="pk_rocmonitor_arrival"),
    )
    op.create_table(
        "rocmonitor_stop",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("notified", sa.Boolean(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_stop"),
    )
    op.create_index("ix_rocmonitor_stop_monitor", "rocmonitor_stop", ["monitor", "id"])
