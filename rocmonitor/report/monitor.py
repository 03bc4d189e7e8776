"""A monitor's page, which is also its report: the windows over time, and one or all of them in full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocmonitor.report import shapes
from rocmonitor.report.chart import monitor_chart
from rocmonitor.report.html import render
from rocmonitor.report.review.tables import ShownTable
from rocmonitor.wording.stops import LABELS


def page(view: Mapping[str, Any], **more: Any) -> str:
    """Return the page of a view, as from `rocmonitor.web.monitor`; equal arguments give equal text.

    A page that is served has ``home`` and ``json_address``; a file says when it was ``written``, and the
    ``command`` that writes it again. All text of the rows is escaped.
    """
    return render(
        "monitor.html.j2",
        view=view,
        chart=monitor_chart(view),
        still=shapes.still(view["points"]),
        labels=ShownTable(caption=LABELS, columns=view["labels_by_age"]),
        **{"form": None, **shapes.OF_WINDOWS, **more},
    )
