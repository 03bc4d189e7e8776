"""What the scores of a window say before its labels."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "rocmonitor_outlook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("model_version", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_outlook"),
        sa.UniqueConstraint(
            "monitor", "segment", "window_start", "window_end", name="uq_rocmonitor_outlook_monitor"
        ),
    )
    for name in ("outbox", "transition"):
        with op.batch_alter_table(f"rocmonitor_{name}") as table:
            table.add_column(sa.Column("outlook_id", sa.Integer(), nullable=True))
            table.create_foreign_key(
                f"fk_rocmonitor_{name}_outlook_id", "rocmonitor_outlook", ["outlook_id"], ["id"]
            )
    op.create_index("ix_rocmonitor_outbox_outlook_id", "rocmonitor_outbox", ["outlook_id"])
