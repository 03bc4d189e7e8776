"""Why a status changed, as values; the sentences that earlier versions stored stay readable."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    transition = sa.table(
        "rocmonitor_transition",
        sa.column("id", sa.Integer()),
        sa.column("reason", sa.String()),
        sa.column("reasons", sa.JSON()),
    )
    with op.batch_alter_table("rocmonitor_transition") as table:
        table.add_column(sa.Column("reasons", sa.JSON(), nullable=True))
        table.alter_column("told", new_column_name="notified")
    connection = op.get_bind()
    for row in connection.execute(sa.select(transition.c.id, transition.c.reason)).all():
        reasons = [{"code": "recorded", "values": {"text": row.reason}, "about": []}] if row.reason else []
        connection.execute(transition.update().where(transition.c.id == row.id).values(reasons=reasons))
    with op.batch_alter_table("rocmonitor_transition") as table:
        table.drop_column("reason")
        table.alter_column("reasons", existing_type=sa.JSON(), nullable=False)
