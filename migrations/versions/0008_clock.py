"""When the clock was last believed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
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
