"""Reviews, and what is to be told of them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "rocmonitor_review",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("champion_version", sa.String(), nullable=False),
        sa.Column("challenger_version", sa.String(), nullable=False),
        sa.Column("period_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("period_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("rule_digest", sa.String(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_review"),
        sa.UniqueConstraint("key", name="uq_rocmonitor_review_key"),
    )
    op.create_index("ix_rocmonitor_review_monitor", "rocmonitor_review", ["monitor", "id"])
    with op.batch_alter_table("rocmonitor_outbox") as outbox:
        outbox.add_column(sa.Column("review_id", sa.Integer(), nullable=True))
        outbox.create_foreign_key(
            "fk_rocmonitor_outbox_review_id", "rocmonitor_review", ["review_id"], ["id"]
        )
        outbox.create_index("ix_rocmonitor_outbox_review_id", ["review_id"])
