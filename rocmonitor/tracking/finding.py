"""Finding runs again, by the key that they were made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocmonitor.tracking.content import DIGEST, KEY, POINTS, STATE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


def runs(client: MlflowClient, experiment: str, key: str, *, longer: bool = False) -> list[Run]:
    """The runs with this key, or with any that begins so; in an order that a repeat finds again."""
    condition = f"LIKE '{key}%'" if longer else f"= '{key}'"
    found: list[Run] = []
    token: str | None = ""
    while token is not None:
        page = client.search_runs(
            [experiment],
            f"tags.`{KEY}` {condition}",
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token or None,
        )
        found += page
        token = page.token or None
    # LIKE has wildcards, and some databases ignore case.
    return [run for run in found if run.data.tags[KEY].startswith(key)]


def revisions(client: MlflowClient, experiment: str, stem: str) -> dict[int, list[Run]]:
    """The runs of a window by revision, in order."""
    found: dict[int, list[Run]] = {}
    for run in runs(client, experiment, stem, longer=True):
        found.setdefault(int(run.data.tags[KEY].removeprefix(stem)), []).append(run)
    return dict(sorted(found.items()))


def series(
    client: MlflowClient, experiment: str, key: str, digests: Sequence[str]
) -> tuple[list[Run], list[Run]]:
    """The series runs with this key, and those of them whose points are the first of these, longest first."""
    drawn = [run for run in runs(client, experiment, key) if run.data.tags.get(STATE) != "superseded"]
    fitting = [run for run in drawn if _fits(run, digests)]
    return drawn, sorted(fitting, key=lambda run: -int(run.data.tags[POINTS]))


def _fits(run: Run, digests: Sequence[str]) -> bool:
    """Whether the points that a series run has are the first of these."""
    count = int(run.data.tags.get(POINTS, 0))
    return count < len(digests) and run.data.tags.get(DIGEST) == digests[count]
