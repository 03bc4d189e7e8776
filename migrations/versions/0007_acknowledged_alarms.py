"""When somebody took on an alarm: kept with the change of status, for the count of a year."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "rocmonitor_transition", sa.Column("acknowledged_at", sa.DateTime(timezone=True), nullable=True)
    )
