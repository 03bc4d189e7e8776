"""Evaluations as MLflow runs: found again by a key, never doubled, never patched."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from rocmonitor.errors import TrackingError, printable
from rocmonitor.policy.evaluation import Evaluation, Point
from rocmonitor.policy.review.document import Review
from rocmonitor.tracking import access, content, finding, note, review_run
from rocmonitor.tracking.content import BY, DIGEST, KEY, POINTS, STATE
from rocmonitor.wording.format import page_address

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Experiment, Run
    from mlflow.entities.model_registry import ModelVersion

Files = Mapping[str, bytes | str]

_AT_ONCE = 90  # parameters and tags; MLflow divides a request with more than 100 of either
_UTC = ZoneInfo("UTC")
_OLD = "superseded: "  # in front: MLflow's table shows the beginning of a name


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """An open MLflow; made by `rocmonitor.tracking.connect`. What it cannot do is a TrackingError.

    Every method may be called again with the same arguments at any time, also after it was killed half-way,
    and leaves the same runs behind. One process at a time: the outbox's lease sees to that.

    Runs are not nested: a rebuilt series would leave its windows under a superseded parent. The experiment's
    description has links that show each kind on its own.

    `page` and `own_page` are where people open MLflow and rocmonitor, for links. `turns` are the deliveries
    that this process has begun, by experiment, `versions` those of registered models that were looked up;
    None for one that is not in the registry.
    """

    client: MlflowClient
    uri: str  # may hold a password
    files: Path | None  # for artifacts, when no server keeps them
    page: str | None
    own_page: str | None = None
    turns: dict[str, finding.Turn] = field(default_factory=dict, repr=False)
    versions: dict[tuple[str, str], ModelVersion | None] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Tracking({access.without_secrets(self.uri)!r})"

    @cached_property
    def pages(self) -> str | None:
        """The address of rocmonitor's pages: configured, else within the MLflow server if that has them."""
        if self.own_page is not None or not access.has_page(self.uri):
            return self.own_page
        with access.translate_errors(self.uri, "looking for rocmonitor's pages"):
            return "rocmonitor" if access.serves(self.uri, "/rocmonitor/static/page.js") else None

    def version(self, model: str, alias: str) -> str:
        """Return the version that an alias names now; a lasting error without such a model or alias."""
        from mlflow.exceptions import MlflowException

        with access.translate_errors(self.uri, f"looking up {model}@{alias}"):
            try:
                return str(self.client.get_model_version_by_alias(model, alias).version)
            except MlflowException as error:
                if access.code(error) not in access.NOT_REGISTERED:
                    raise
                why = access.missing_alias(self.client, self.uri, model, alias)
                raise TrackingError(why, transient=False) from error

    def publish_window(
        self,
        instance: str,
        evaluation: Evaluation,
        *,
        newest: bool,
        artifacts: Files | None = None,
        full: bool = True,
        number: tuple[int, int] | None = None,
    ) -> str:
        """Write one evaluation as a window run; return a link to it, or how to find it without a page.

        `instance` names the store, so that two of them never take each other's runs for their own. A run that
        is not of the `newest` revision of its window is marked superseded. `artifacts` are files by path in
        the run, beside the tables and ``result.json``. A run that is not `full` has 12 metrics, and the rest
        in ``result.json``. `number` is that of the delivery in the store, and the highest there: of a first
        revision that was never begun no run is looked for.
        """
        with access.translate_errors(self.uri, f"publishing {evaluation.key}"):
            whole = self._experiment(evaluation.monitor)
            experiment, key = str(whole.experiment_id), content.quoted(f"{instance}|{evaluation.key}")
            new = number is not None and finding.is_new(self.client, self.turns, whole, instance, *number)
            stem = key.removesuffix(str(evaluation.revision))
            alone = new and not evaluation.revision
            revisions = {} if alone else finding.revisions(self.client, experiment, stem)
            tags = content.window_tags(evaluation, full=full, page=self.pages) | {KEY: key}
            existing = revisions.pop(evaluation.revision, [])
            files = {**content.files(evaluation, full=full), **(artifacts or {})}
            name, judged = content.window_name(evaluation), evaluation.evaluated_at
            run = self._one(experiment, existing, judged, tags, name)
            # The logged model that the champion's version was made from.
            version = self._version(evaluation.model, evaluation.champion_version)
            source = re.match("models:/(m-[^/]+)", version.source or "") if version else None
            self._upload(run, files, content.dataset(evaluation), source and source[1])
            later = [runs[0] for revision, runs in revisions.items() if revision > evaluation.revision]
            state = {STATE: "final"}
            if newest and not later:
                for old in revisions.values():
                    self._retire(finding.only(self.client, old), by=run)
            else:
                name = _OLD + name
                state = {STATE: "superseded", **({BY: later[-1].info.run_id} if later else {})}
            metrics = evaluation.metrics
            shown = metrics if full else [name for name in content.BRIEF if name in metrics]
            point = replace(evaluation, metrics={name: metrics[name] for name in shown})
            self._finish(run, name, judged, state, point=point, params=content.params(evaluation), tags=tags)
            return self._link(run, evaluation.monitor)

    def publish_series(
        self,
        instance: str,
        monitor: str,
        segment: str,
        points: Sequence[Point],
        artifacts: Callable[[int], Files] = lambda _: {},
        *,
        full: bool = True,
        kind: Literal["series", "outlook"] = "series",
        zone: ZoneInfo = _UTC,
        picture: str | None = None,
        model: str = "",
        loss: str = "",
    ) -> str:
        """Write all windows of a segment, or all outlooks, as one run, for line charts.

        New points are appended. When a point that was logged before has changed, all are logged in a new run
        and the old one is marked superseded: MLflow can neither overwrite a point nor show a lower one.

        There is at least one point, oldest window first; each becomes a step from 1 on, at the end of its
        window. `artifacts` gives files by path in the run, from the number of points that it has: when all
        points are there already it is not asked, and nothing is written at all. A run that is not `full` has
        the group ``AUROC/`` alone. Outlooks have a run of their own: they come before the windows are judged.
        The description of the experiment shows `picture`, one of the artifacts, and the open `loss`; the
        version of the registered `model` gets the last window as a tag.

        The tags of a run say which points it has *or is being given*, and its state is ``publishing``
        meanwhile. So a run that was left half-way is completed if its points still hold, and replaced if not.
        """
        points = list(points)
        logged = [content.with_headline(point, full=full) for point in points] if kind == "series" else points
        with access.translate_errors(
            self.uri, f"publishing the series of {monitor}, {segment or 'all rows'}"
        ):
            experiment = str(self._experiment(monitor).experiment_id)
            key = content.quoted(f"{instance}|{monitor}|{segment}|{kind}")
            what = "outlooks over time" if kind == "outlook" else "AUROC over time"
            name = " · ".join(filter(None, [what, printable(segment)]))
            digests = content.digests(logged)
            drawn, fitting = finding.series(self.client, experiment, key, digests)
            tags = content.origin(kind) | {
                "rocmonitor.monitor": monitor,
                "rocmonitor.segment": printable(segment),
                note.NOTE: note.of_series(monitor, segment, points, zone, kind),
                KEY: key,
                POINTS: str(len(logged)),
                DIGEST: digests[-1],
                STATE: "publishing",
            }
            run = self._one(experiment, fitting[:1], None, tags, name)
            done = int(run.data.tags[POINTS]) if run.data.tags.get(STATE) == "final" else 0
            if done < len(logged):
                more, steps = artifacts(done), list(enumerate(logged, 1))[done:]
                self.client.log_batch(run.info.run_id, **content.batch(tags=tags))
                metrics = [(point, step) for step, point in steps]
                self.client.log_batch(run.info.run_id, **content.batch(metrics=metrics))
                self._upload(run, more)
                for old in drawn:
                    if old.info.run_id != run.info.run_id:
                        self._retire(old, by=run)
                self._finish(run, name, None, {STATE: "final"})
            if kind == "series" and not segment:  # the description of the experiment is about all rows
                shown = None if picture is None else f"get-artifact?path={picture}&run_uuid={run.info.run_id}"
                page = page_address(self.pages, monitor)
                self._describe(experiment, note.of_experiment(experiment, points, zone, shown, page, loss))
                number, tag = points[-1].champion_version, f"rocmonitor.auroc.{monitor}"
                version = self._version(model, number) if model else None
                newest = note.last_window(points, zone)
                if version is not None and version.tags.get(tag) != newest:  # once for each text
                    self.client.set_model_version_tag(model, number, tag, newest)
                    version.tags[tag] = newest
            return self._link(run, monitor)

    def publish_review(self, instance: str, review: Review, *, artifacts: Files | None = None) -> str:
        """Write a review as a run, and its verdict as tags on both model versions; never touch an alias.

        Other reviews of the same versions stay as they are. The tags ``rocmonitor.cc.*`` give the latest
        review of a version: a replay of an older one leaves them alone. A version that is not in the
        registry (deleted, or never there) has no tags: the run says so, and holds all the rest. `instance`,
        `artifacts` and what is returned are as in `publish_window`.
        """
        with access.translate_errors(self.uri, f"publishing {review.key}"):
            experiment = str(self._experiment(review.monitor).experiment_id)
            key = content.quoted(f"{instance}|{review.key}")
            versions = review_run.version_tags(self.client, review)
            tags = review_run.tags(review) | {KEY: key}
            name = review_run.name(review)
            run = self._one(
                experiment, finding.runs(self.client, experiment, key), review.reviewed_at, tags, name
            )
            page = f"#/experiments/{experiment}/runs/{run.info.run_id}/artifacts/report.html?{note.RUNS}"
            report = page if "report.html" in (artifacts or {}) else None
            tags |= review_run.description(review, versions, report, run.data.tags)
            params = review_run.params(review)
            point = Point(window=review.period, revision=0, at=review.reviewed_at, metrics=review.metrics)
            self._upload(run, {**review_run.files(review), **(artifacts or {})}, review_run.dataset(review))
            review_run.tag_versions(self.client, review, run.info.run_id, versions)
            state = {STATE: "final"}
            self._finish(run, name, review.reviewed_at, state, point=point, params=params, tags=tags)
            return self._link(run, review.monitor)

    def delete_window(self, instance: str, monitor: str, key: str) -> int:
        """Delete the run of an evaluation with its files, and return how many runs were there."""
        with access.translate_errors(self.uri, f"deleting {key}"):
            experiment = self.client.get_experiment_by_name(content.experiment_name(monitor))
            if experiment is None:
                return 0
            existing = finding.runs(
                self.client, experiment.experiment_id, content.quoted(f"{instance}|{key}")
            )
            for run in existing:
                access.delete_files(run)
            return finding.delete(self.client, existing)

    def delete_doubles(self, instance: str, monitor: str) -> int:
        """Delete runs of requests that were given up and came through later; how many there were."""
        with access.translate_errors(self.uri, f"looking for runs of {monitor} that were made twice"):
            experiment = self.client.get_experiment_by_name(content.experiment_name(monitor))
            number = None if experiment is None else experiment.experiment_id
            return finding.delete_doubles(self.client, number, content.quoted(instance)) if number else 0

    def _experiment(self, monitor: str) -> Experiment:
        name = content.experiment_name(monitor)
        experiment = self.client.get_experiment_by_name(name)
        if experiment is None:
            if self.files is not None:
                self.files.mkdir(mode=0o700, exist_ok=True)
            location = None if self.files is None else (self.files / monitor).as_uri()
            tags = {
                "rocmonitor.monitor": monitor,
                "mlflow.experimentKind": "custom_model_development",
                note.VIEW: note.CHARTS_OVER_TIME,
            }
            experiment = self.client.get_experiment(
                self.client.create_experiment(name, artifact_location=location, tags=tags)
            )
        if experiment.lifecycle_stage != "active":
            raise TrackingError(
                f"MLflow at {access.without_secrets(self.uri)}: experiment {name} was deleted; bring it back "
                f"with `mlflow experiments restore --experiment-id {experiment.experiment_id}`, or remove it "
                f"for good with `mlflow gc --experiment-ids {experiment.experiment_id}`, and it is "
                "made again",
                transient=False,
            )
        if note.NOTE not in experiment.tags:
            self._describe(experiment.experiment_id, note.of_experiment(experiment.experiment_id))
        return experiment

    def _describe(self, experiment: str, text: str) -> None:
        """Write the description of an experiment; somebody else's words are left as they are."""
        tags = self.client.get_experiment(experiment).tags
        before = tags.get(note.NOTE)
        is_ours = before is None or tags.get(note.NOTE_DIGEST) == note.digest(before)
        if is_ours and before != text:
            self.client.set_experiment_tag(experiment, note.NOTE_DIGEST, note.digest(text))
            self.client.set_experiment_tag(experiment, note.NOTE, text)

    def _version(self, model: str, number: str) -> ModelVersion | None:
        """Return a version of a registered model as it was first seen, if it is in the registry."""
        if (model, number) not in self.versions:
            self.versions[model, number] = access.model_version(self.client, model, number)
        return self.versions[model, number]

    def _one(
        self,
        experiment: str,
        existing: Sequence[Run],
        start: datetime | None,
        tags: Mapping[str, str],
        name: str,
    ) -> Run:
        """Return the run that is there, else a new one; what a repeated request left beside it is deleted."""
        if not existing:
            begun = content.shortened(tags) | {STATE: "publishing"}
            at = None if start is None else content.milliseconds(start)
            return finding.made(self.client, self.uri, experiment, begun, at, name)
        return finding.only(self.client, existing)

    def _upload(
        self, run: Run, files: Files, dataset: DatasetInput | None = None, model: str | None = None
    ) -> None:
        """Write the files of a run, its dataset, and which logged model it is about."""
        if dataset is not None:
            from mlflow.entities import LoggedModelInput

            models = None if model is None else [LoggedModelInput(model)]
            self.client.log_inputs(run.info.run_id, datasets=[dataset], models=models)
        if not files:
            return
        with TemporaryDirectory(prefix="rocmonitor-") as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode() if isinstance(text, str) else text)
            self.client.log_artifacts(run.info.run_id, folder)

    def _retire(self, run: Run, *, by: Run) -> None:
        """Mark a run superseded; one that never got as far as a metric is deleted."""
        state = {STATE: "superseded", BY: by.info.run_id}
        if not run.data.metrics:
            self.client.delete_run(run.info.run_id)
        elif not state.items() <= run.data.tags.items():
            name = _OLD + (run.info.run_name or "").removeprefix(_OLD)
            self.client.update_run(run.info.run_id, name=name)
            self.client.log_batch(run.info.run_id, **content.batch(tags=state))

    def _finish(
        self,
        run: Run,
        name: str,
        end: datetime | None,
        state: Mapping[str, str],
        *,
        point: Point | Evaluation | None = None,
        params: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Name, close and fill a run; its state comes last and says that all the rest is there.

        A tag that is there already is not written again, and a parameter that is cannot be changed.
        """
        if run.info.run_name != name:
            self.client.update_run(run.info.run_id, name=name)
        at = None if end is None else content.milliseconds(end)
        self.client.set_terminated(run.info.run_id, "FINISHED", end_time=at)
        changed = dict(content.shortened(tags or {}).items() - run.data.tags.items())
        new = {name: value for name, value in (params or {}).items() if name not in run.data.params}
        metrics = [] if point is None else [(point, 0)]
        if len(new) + len(changed) < _AT_ONCE:  # in one request, which writes tags after all others
            batch = content.batch(metrics=metrics, params=new, tags=changed | dict(state))
        else:
            self.client.log_batch(run.info.run_id, **content.batch(metrics=metrics, params=new, tags=changed))
            batch = content.batch(tags=state)
        self.client.log_batch(run.info.run_id, **batch)

    def _link(self, run: Run, monitor: str) -> str:
        if self.page is None:
            return f"experiment {content.experiment_name(monitor)}, run {run.info.run_id}"
        place = f"{self.page.rstrip('/')}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
        return f"{place}?{note.RUNS}"
