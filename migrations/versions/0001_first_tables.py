"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "rocmonitor_instance",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_instance"),
    )
    op.create_table(
        "rocmonitor_evaluation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("model_version", sa.String(), nullable=False),
        sa.Column("challenger_version", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("data_digest", sa.String(), nullable=False),
        sa.Column("label_counts", sa.JSON(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_evaluation"),
        sa.UniqueConstraint(
            "monitor",
            "segment",
            "window_start",
            "window_end",
            "revision",
            "model_version",
            name="uq_rocmonitor_evaluation_monitor",
        ),
    )
    op.create_table(
        "rocmonitor_transition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("evaluation_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["rocmonitor_evaluation.id"],
            name="fk_rocmonitor_transition_evaluation_id",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_transition"),
    )
    op.create_index("ix_rocmonitor_transition_monitor", "rocmonitor_transition", ["monitor", "segment", "id"])
    op.create_table(
        "rocmonitor_outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.Integer(), nullable=True),
        sa.Column("destination", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("receipt", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["rocmonitor_evaluation.id"], name="fk_rocmonitor_outbox_evaluation_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_outbox"),
    )
    op.create_index("ix_rocmonitor_outbox_evaluation_id", "rocmonitor_outbox", ["evaluation_id"])
    op.create_index("ix_rocmonitor_outbox_state", "rocmonitor_outbox", ["state", "destination", "id"])
    op.create_table(
        "rocmonitor_reference",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("monitor", "digest", name="pk_rocmonitor_reference"),
    )
    op.create_table(
        "rocmonitor_alias",
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("model", "alias", name="pk_rocmonitor_alias"),
    )
    op.create_table(
        "rocmonitor_lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rocmonitor_lease"),
    )
