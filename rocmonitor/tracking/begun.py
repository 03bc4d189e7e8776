"""The deliveries that have begun, as the experiment keeps them: no run is looked for of those after.

MLflow looks for a tag in all of its runs, so a look-up takes longer the more there are.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

BEGUN = "rocmonitor.begun"
"""The tag of an experiment, followed by the name of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Deliveries that this process begins, while no other process begins any to the same experiment.

    Attributes
    ----------
    token: The tag of the experiment while the turn lasts.
    before, last: The highest numbers that were begun before the turn, and that it covers.
    begun: The numbers begun in it.
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

    Parameters
    ----------
    turns: By experiment; changed here.
    experiment: As it is now.
    instance: The name of the store.
    number, last: Of the delivery, and the highest of any in the store: these are begun with one request.
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
