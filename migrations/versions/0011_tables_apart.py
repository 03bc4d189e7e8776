"""Tables of evaluations in rows of their own, compressed, and once what many were compared with.

What earlier versions saved stays where it is, inside `result`: moving it would rewrite the whole store.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
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
        "rocmonitor_summary",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rocmonitor_summary"),
        sa.UniqueConstraint("digest", name="uq_rocmonitor_summary_digest"),
    )
    op.add_column("rocmonitor_evaluation", sa.Column("summary_id", sa.Integer(), nullable=True))
