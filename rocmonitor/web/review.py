"""One review: the verdict, the difference over windows, three numbers, then the evidence."""

from __future__ import annotations

from rocmonitor import store
from rocmonitor.errors import StoreError
from rocmonitor.policy.review.document import Review
from rocmonitor.web.site import Site

SECTIONS = (
    ("curve", "Where on the curve?", ("fprs", "regions")),
    ("thresholds", "At which thresholds?", ("thresholds", "outcomes")),
    ("costs", "What does it save?", ("costs", "money")),
    ("segments", "In which segments?", ("segments",)),
    ("windows", "In which windows?", ("auc", "windows")),
    ("drift", "What if the rows drift?", ("forecast",)),
    ("rows", "On which rows?", ("counts",)),
)
"""Anchor, title and tables of the evidence, in the order of the page."""


HEADLINE = ("AUROC difference", "Mean difference", "Windows")
"""How the names of the three numbers begin that stand beside the verdict."""


def review_of(site: Site, name: str, id: int) -> Review | None:
    """The review with this number, if it is of this monitor.

    Raises
    ------
    ConfigError, StoreError
    """
    if name not in site.config().monitors:
        return None
    try:
        found = store.review(site.store(), id)
    except StoreError as error:
        if error.transient:
            raise
        return None
    return found if found.monitor == name else None
