"""rocmonitor's own database: the truth, of which MLflow and messages are projections.

`Store` is opened by `open_store`; everything else is a plain function on it. Whatever goes wrong is a
`rocmonitor.errors.StoreError`.
"""

from rocmonitor.store.attention import acknowledge, attention, attentions, mute
from rocmonitor.store.connection import Store
from rocmonitor.store.leases import Lease, acquire, release, renew
from rocmonitor.store.memory import alias, instance_id, reference, save_alias, save_reference
from rocmonitor.store.migrate import open_store
from rocmonitor.store.outbox import (
    Delivery,
    OutboxSummary,
    Outgoing,
    mark_delivered,
    mark_failed,
    outbox_summary,
    pending,
    receipt_of,
)
from rocmonitor.store.outlooks import (
    outlook,
    outlook_series,
    outlooks,
    outlooks_made,
    pending_warnings,
)
from rocmonitor.store.reading import (
    Evaluated,
    Notified,
    SavedTransition,
    evaluated,
    evaluation,
    evaluations,
    last_notified,
    last_transition,
    newest_revision,
    outcomes,
    series,
    transitions,
)
from rocmonitor.store.reviews import last_reviewed, review, review_with_key, reviews, save_review
from rocmonitor.store.saving import OutlookRecord, WindowRecord, save, save_outlooks, save_transition

__all__ = [
    "Delivery",
    "Evaluated",
    "Lease",
    "Notified",
    "OutboxSummary",
    "Outgoing",
    "OutlookRecord",
    "SavedTransition",
    "Store",
    "WindowRecord",
    "acknowledge",
    "acquire",
    "alias",
    "attention",
    "attentions",
    "evaluated",
    "evaluation",
    "evaluations",
    "instance_id",
    "last_notified",
    "last_reviewed",
    "last_transition",
    "mark_delivered",
    "mark_failed",
    "mute",
    "newest_revision",
    "open_store",
    "outbox_summary",
    "outcomes",
    "outlook",
    "outlook_series",
    "outlooks",
    "outlooks_made",
    "pending",
    "pending_warnings",
    "receipt_of",
    "reference",
    "release",
    "renew",
    "review",
    "review_with_key",
    "reviews",
    "save",
    "save_alias",
    "save_outlooks",
    "save_reference",
    "save_review",
    "save_transition",
    "series",
    "transitions",
]
