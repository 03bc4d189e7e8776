"""All tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "rocmonitor_alias",
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("alias", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("model", "alias", name="pk_rocmonitor_alias"),
    )
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
        "rocmonitor_attention",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("acknowledged_by", sa.String(), nullable=True),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("muted_by", sa.String(), nullable=True),
        sa.Column("muted_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("note_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("monitor", name="pk_rocmonitor_attention"),
    )
    op.create_table(
        "rocmonitor_clock",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("boot", sa.String(), nullable=False),
        sa.Column("elapsed", sa.Float(), nullable=False),
        sa.Column("ahead", sa.Float(), nullable=True),
        sa.Column("ahead_since", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_clock"),
    )
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
    op.create_table(
        "rocmonitor_episode",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=True),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("began", sa.DateTime(timezone=True), nullable=False),
        sa.Column("open_as", sa.String(), nullable=True),
        sa.Column("closed", sa.DateTime(timezone=True), nullable=True),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_episode"),
        sa.UniqueConstraint("monitor", "segment", "kind", "began", name="uq_rocmonitor_episode_monitor"),
        sa.UniqueConstraint("open_as", name="uq_rocmonitor_episode_open_as"),
    )
    op.create_index("ix_rocmonitor_episode_closed", "rocmonitor_episode", ["closed"])
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
        sa.Column("labels_digest", sa.String(), nullable=False),
        sa.Column("settings_digest", sa.String(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=False),
        sa.Column("summary_id", sa.Integer(), nullable=False),
        sa.Column("auc", sa.Float(), nullable=True),
        sa.Column("auc_low", sa.Float(), nullable=True),
        sa.Column("auc_high", sa.Float(), nullable=True),
        sa.Column("expected_low", sa.Float(), nullable=True),
        sa.Column("expected_high", sa.Float(), nullable=True),
        sa.Column("labelled_share", sa.Float(), nullable=True),
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
    op.create_index(
        "ix_rocmonitor_evaluation_monitor",
        "rocmonitor_evaluation",
        [
            "monitor",
            "segment",
            "window_start",
            "window_end",
            "revision",
            "model_version",
            "outcome",
            "auc",
            "auc_low",
            "auc_high",
            "expected_low",
            "expected_high",
            "labelled_share",
        ],
    )
    op.create_table(
        "rocmonitor_instance",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_instance"),
    )
    op.create_table(
        "rocmonitor_lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rocmonitor_lease"),
    )
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
    op.create_table(
        "rocmonitor_reference",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("monitor", "digest", name="pk_rocmonitor_reference"),
    )
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
    op.create_table(
        "rocmonitor_summary",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_summary"),
        sa.UniqueConstraint("digest", name="uq_rocmonitor_summary_digest"),
    )
    op.create_table(
        "rocmonitor_tick",
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("windows", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("next_due", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ticks_total", sa.Integer(), nullable=False),
        sa.Column("failures_total", sa.Integer(), nullable=False),
        sa.Column("windows_total", sa.Integer(), nullable=False),
        sa.Column("seconds_total", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("monitor", name="pk_rocmonitor_tick"),
    )
    op.create_table(
        "rocmonitor_evaluation_tables",
        sa.Column("evaluation_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["rocmonitor_evaluation.id"],
            name="fk_rocmonitor_evaluation_tables_evaluation_id",
        ),
        sa.PrimaryKeyConstraint("evaluation_id", name="pk_rocmonitor_evaluation_tables"),
    )
    op.create_index("ix_rocmonitor_evaluation_tables_saved_at", "rocmonitor_evaluation_tables", ["saved_at"])
    op.create_table(
        "rocmonitor_outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("evaluation_id", sa.Integer(), nullable=True),
        sa.Column("review_id", sa.Integer(), nullable=True),
        sa.Column("outlook_id", sa.Integer(), nullable=True),
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
        sa.ForeignKeyConstraint(
            ["outlook_id"], ["rocmonitor_outlook.id"], name="fk_rocmonitor_outbox_outlook_id"
        ),
        sa.ForeignKeyConstraint(
            ["review_id"], ["rocmonitor_review.id"], name="fk_rocmonitor_outbox_review_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_outbox"),
    )
    op.create_index(
        "ix_rocmonitor_outbox_destination",
        "rocmonitor_outbox",
        ["destination", "id"],
        sqlite_where=sa.text("state != 'delivered'"),
        postgresql_where=sa.text("state != 'delivered'"),
    )
    op.create_index("ix_rocmonitor_outbox_evaluation_id", "rocmonitor_outbox", ["evaluation_id"])
    op.create_index("ix_rocmonitor_outbox_outlook_id", "rocmonitor_outbox", ["outlook_id"])
    op.create_index("ix_rocmonitor_outbox_review_id", "rocmonitor_outbox", ["review_id"])
    op.create_table(
        "rocmonitor_transition",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.String(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("before", sa.String(), nullable=False),
        sa.Column("after", sa.String(), nullable=False),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("notified", sa.Boolean(), nullable=False),
        sa.Column("evaluation_id", sa.Integer(), nullable=True),
        sa.Column("outlook_id", sa.Integer(), nullable=True),
        sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["evaluation_id"], ["rocmonitor_evaluation.id"], name="fk_rocmonitor_transition_evaluation_id"
        ),
        sa.ForeignKeyConstraint(
            ["outlook_id"], ["rocmonitor_outlook.id"], name="fk_rocmonitor_transition_outlook_id"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_transition"),
    )
    op.create_index("ix_rocmonitor_transition_monitor", "rocmonitor_transition", ["monitor", "segment", "id"])
