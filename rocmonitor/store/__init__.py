"""rocmonitor's own database: the truth, of which MLflow and messages are projections.

`Store` is opened by `open_store`; everything else is a plain function on it. Whatever goes wrong is a
`rocmonitor.errors.StoreError`.
"""

from rocmonitor.store.arrivals import SavedStop, arrivals, open_stops, save_arrivals
from rocmonitor.store.attention import acknowledge, attention, attentions, mute
from rocmonitor.store.clock import clock_seen, database_time, save_clock_seen
from rocmonitor.store.connection import Store
from rocmonitor.store.keep import (
    Publication,
    delete_delivered,
    delete_publications,
    delete_tables,
    old_publications,
)
from rocmonitor.store.leases import Lease, acquire, release, release_all, renew
from rocmonitor.store.memory import alias, instance_id, reference, save_alias, save_reference
from rocmonitor.store.migrate import open_store
from rocmonitor.store.outages import add_failure, end_failure, notify_outage, open_outages
from rocmonitor.store.outbox import (
    Backlog,
    Delivery,
    OutboxSummary,
    Outgoing,
    backlog,
    destinations_due,
    mark_delivered,
    mark_failed,
    more_to_publish,
    outbox_summary,
    pending,
    pending_revised,
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
from rocmonitor.store.saving import (
    OutlookRecord,
    WindowRecord,
    remember_labels,
    save,
    save_outlooks,
    save_transition,
)
from rocmonitor.store.ticks import LastTick, save_tick, ticks

__all__ = [
    "Backlog",
    "Delivery",
    "Evaluated",
    "LastTick",
    "Lease",
    "Notified",
    "OutboxSummary",
    "Outgoing",
    "OutlookRecord",
    "Publication",
    "SavedStop",
    "SavedTransition",
    "Store",
    "WindowRecord",
    "acknowledge",
    "acquire",
    "add_failure",
    "alias",
    "arrivals",
    "attention",
    "attentions",
    "backlog",
    "clock_seen",
    "database_time",
    "delete_delivered",
    "delete_publications",
    "delete_tables",
    "destinations_due",
    "end_failure",
    "evaluated",
    "evaluation",
    "evaluations",
    "instance_id",
    "last_notified",
    "last_reviewed",
    "last_transition",
    "mark_delivered",
    "mark_failed",
    "more_to_publish",
    "mute",
    "newest_revision",
    "notify_outage",
    "old_publications",
    "open_outages",
    "open_stops",
    "open_store",
    "outbox_summary",
    "outcomes",
    "outlook",
    "outlook_series",
    "outlooks",
    "outlooks_made",
    "pending",
    "pending_revised",
    "pending_warnings",
    "receipt_of",
    "reference",
    "release",
    "release_all",
    "remember_labels",
    "renew",
    "review",
    "review_with_key",
    "reviews",
    "save",
    "save_alias",
    "save_arrivals",
    "save_clock_seen",
    "save_outlooks",
    "save_reference",
    "save_review",
    "save_tick",
    "save_transition",
    "series",
    "ticks",
    "transitions",
]
