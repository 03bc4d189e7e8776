"""rocmonitor's own database: the truth, of which MLflow and messages are projections.

`Store` is opened by `open_store`; all else is a plain function on it. Any may raise
`rocmonitor.errors.StoreError`; what is saved under a lease raises a transient one, and saves nothing, when
another process has taken the lease over.
"""

from rocmonitor.store.connection import Store, clock_seen, database_time, save_clock_seen
from rocmonitor.store.counts import (
    KeptCounts,
    arrivals,
    counts,
    forget_counts,
    rows_counted,
    save_arrivals,
    save_counts,
    windows_counted,
)
from rocmonitor.store.episodes import (
    add_failure,
    declines,
    end_failure,
    episodes,
    last_decline,
    last_declines,
    notify_outage,
    open_outages,
    open_stops,
)
from rocmonitor.store.history import (
    acknowledge,
    attention,
    attentions,
    channels_of,
    last_reviewed,
    mute,
    review,
    review_with_key,
    reviews,
    save_review,
)
from rocmonitor.store.keep import (
    Publication,
    delete_arrivals,
    delete_counts,
    delete_delivered,
    delete_publications,
    delete_tables,
    old_publications,
    published_again,
)
from rocmonitor.store.leases import Lease, acquire, release, release_all, renew
from rocmonitor.store.migrate import open_store
from rocmonitor.store.outbox import (
    Backlog,
    Delivery,
    OutboxSummary,
    Outgoing,
    backlog,
    destinations_due,
    last_number,
    mark_delivered,
    mark_failed,
    more_to_publish,
    outbox_summary,
    pending,
    receipt_of,
    retry_now,
    to_channels,
)
from rocmonitor.store.reading import (
    Evaluated,
    SavedTransition,
    evaluated,
    evaluation,
    evaluations,
    last_said,
    last_transition,
    newest_revision,
    outcomes,
    outlook,
    outlook_metrics,
    outlook_series,
    outlooks,
    outlooks_pending,
    pending_warnings,
    series,
    transitions,
)
from rocmonitor.store.saving import (
    LastTick,
    OutlookRecord,
    WindowRecord,
    alias,
    has_reference,
    instance_id,
    reference,
    reference_digest,
    reference_of,
    remember_labels,
    save,
    save_alias,
    save_outlooks,
    save_reference,
    save_tick,
    save_transition,
    ticks,
)
