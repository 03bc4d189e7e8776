"""What fails now, since when, and whether people were notified; an index of what is not delivered only."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "rocmonitor_outage",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("open_cause", sa.String(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("lasting", sa.Boolean(), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.Column("notified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_outage"),
        sa.UniqueConstraint("open_cause", name="uq_rocmonitor_outage_open_cause"),
    )
    op.create_index("ix_rocmonitor_outage_state", "rocmonitor_outage", ["state"], unique=False)
    op.drop_index("ix_rocmonitor_outbox_state", table_name="rocmonitor_outbox")
    left = sa.text("state != 'delivered'")
    op.create_index(
        "ix_rocmonitor_outbox_destination",
        "rocmonitor_outbox",
        ["destination", "id"],
        unique=False,
        sqlite_where=left,
        postgresql_where=left,
    )
