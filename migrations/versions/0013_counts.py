"""Counts of the windows that were read: distinct scores with their rows, compressed."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "rocmonitor_counts",
        sa.Column("reading", sa.String(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data_digest", sa.String(), nullable=False),
        sa.Column("labels_digest", sa.String(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("reading", "window_start", "window_end", name="pk_rocmonitor_counts"),
    )
    op.create_index("ix_rocmonitor_counts_read_at", "rocmonitor_counts", ["read_at"])
