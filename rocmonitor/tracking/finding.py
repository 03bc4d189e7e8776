"""Finding runs again, by the key that they were made with; and no run is looked for that nobody has begun.

MLflow looks for a tag in all of its runs, so a look-up takes longer the more there are. So the experiment
keeps which deliveries have begun.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocmonitor.errors import TrackingError
from rocmonitor.tracking.content import DIGEST, KEY, POINTS, STATE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment, Run

_SLOW_SECONDS = 5.0

COMPLETE = ("final", "superseded")
"""States of a run that has all it should have."""


def runs(client: MlflowClient, experiment: str, key: str, *, longer: bool = False) -> list[Run]:
    """Return the runs with this key, or with any that begins so; in an order that a repeat finds again."""
    condition = f"LIKE '{key}%'" if longer else f"= '{key}'"
    matching: list[Run] = []
    token: str | None = ""
    while token is not None:
        page = client.search_runs(
            [experiment],
            f"tags.`{KEY}` {condition}",
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token or None,
        )
        matching += page
        token = page.token or None
    # LIKE has wildcards, and some databases ignore case. Of two with one key, the complete one comes first.
    return sorted((run for run in matching if run.data.tags[KEY].startswith(key)), key=is_unfinished)


def is_unfinished(run: Run) -> bool:
    """Return True if a run is still being written, or was left half-way."""
    return run.data.tags.get(STATE) not in COMPLETE


def revisions(client: MlflowClient, experiment: str, stem: str) -> dict[int, list[Run]]:
    """Return the runs of a window by revision, in order."""
    by_revision: dict[int, list[Run]] = {}
    for run in runs(client, experiment, stem, longer=True):
        by_revision.setdefault(int(run.data.tags[KEY].removeprefix(stem)), []).append(run)
    return dict(sorted(by_revision.items()))


def series(
    client: MlflowClient, experiment: str, key: str, digests: Sequence[str]
) -> tuple[list[Run], list[Run]]:
    """Return the series runs with this key; and those that have the first points, complete ones first."""
    drawn = [run for run in runs(client, experiment, key) if run.data.tags.get(STATE) != "superseded"]
    fitting = []  # whose points are the first of these
    for run in drawn:
        count = int(run.data.tags.get(POINTS, 0))
        if count < len(digests) and run.data.tags.get(DIGEST) == digests[count]:
            fitting.append(run)
    return drawn, sorted(fitting, key=lambda run: (is_unfinished(run), -int(run.data.tags[POINTS])))


def made(
    client: MlflowClient, uri: str, experiment: str, tags: Mapping[str, str], start: int | None, name: str
) -> Run:
    """Return a new run with these tags, the only one.

    Over the network, or after a long wait, one request may have made several runs: also one that was given
    up, or whose connection was cut, may be carried out. They are looked up.
    """
    began = time.monotonic()
    run = client.create_run(experiment, start_time=start, tags=dict(tags), run_name=name)
    if not uri.startswith("http") and time.monotonic() - began < _SLOW_SECONDS:
        return run
    matching = runs(client, experiment, tags[KEY])
    if POINTS in tags:
        same = [run for run in matching if (DIGEST, tags[DIGEST]) in run.data.tags.items()]
        matching = [run for run in same if run.data.tags.get(STATE) != "superseded"]
    if not matching:
        raise TrackingError(f"the run {name} was deleted while it was made; it is made again")
    return only(client, matching)


def only(client: MlflowClient, copies: Sequence[Run]) -> Run:
    """Return the first of several runs with one key; the others are deleted."""
    delete(client, copies[1:])
    return copies[0]


def delete(client: MlflowClient, unwanted: Sequence[Run]) -> int:
    """Delete runs; how many there were."""
    for run in unwanted:
        client.delete_run(run.info.run_id)
    return len(unwanted)


def delete_doubles(client: MlflowClient, experiment: str, instance: str) -> int:
    """Delete the runs of a store that are not complete, while another one with the same key is.

    They were made by requests that came through after they had been given up and made again.
    """
    ours = f"tags.`{KEY}` LIKE '{instance}|%' AND tags.`{STATE}` = 'publishing'"
    begun = [run for run in client.search_runs([experiment], ours) if run.data.tags[KEY].startswith(instance)]
    doubles = []
    for run in begun:
        same = [other.data.tags for other in runs(client, experiment, run.data.tags[KEY])]
        # Superseded ones do not stand for a series.
        complete = ("final",) if any(POINTS in tags for tags in same) else COMPLETE
        if any(tags.get(STATE) in complete for tags in same):
            doubles.append(run)
    return delete(client, doubles)


BEGUN = "rocmonitor.begun"
"""The tag of an experiment, followed by the name of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Deliveries that this process begins, while no other process begins any to the same experiment.

    `token` is the tag of the experiment meanwhile; `before` and `last` are the highest numbers that were
    begun before, and that the turn covers.
    """

    token: str
    before: int
    last: int
    begun: set[int] = field(default_factory=set)


def is_new(
    client: MlflowClient,
    turns: dict[str, Turn],
    experiment: Experiment,
    instance: str,
    number: int,
    last: int,
) -> bool:
    """Begin a delivery; return True if nobody has begun it before.

    A store that was restored from a backup has old numbers again, and a process that was killed, or lost its
    lease, has begun some: all of these are not above the number in the tag.

    All deliveries up to the `last` of the store (`instance`) are begun with one request; `turns`, by
    experiment, are changed here.
    """
    tag, place = f"{BEGUN}.{instance}", str(experiment.experiment_id)
    stored, turn = experiment.tags.get(tag), turns.get(place)
    if turn is None or turn.token != stored or number > turn.last:
        if stored is not None:
            before = int(stored.partition(" ")[0])
        else:  # a new experiment has no run, an older one was made before this was kept
            before = last if client.search_runs([place], max_results=1) else 0
        turn = Turn(token=f"{max(before, last)} {uuid.uuid4().hex}", before=before, last=last)
        client.set_experiment_tag(place, tag, turn.token)
        turns[place] = turn
    new = turn.before < number <= turn.last and number not in turn.begun
    turn.begun.add(number)
    return new
