"""Evaluations as MLflow runs: found again by a key, never doubled, never patched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from rocmonitor.errors import TrackingError
from rocmonitor.policy.evaluation import Evaluation, Point, Status
from rocmonitor.policy.review.document import Review
from rocmonitor.policy.windows import Window
from rocmonitor.tracking import access, content, overview, review_run
from rocmonitor.tracking.content import BY, DIGEST, KEY, POINTS, STATE

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Run

Files = Mapping[str, bytes | str]

_OLD = "superseded: "  # in front: MLflow's table shows the beginning of a name


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """An open MLflow; made by `rocmonitor.tracking.connect`.

    Every method may be called again with the same arguments at any time, also after it was killed half-way,
    and leaves the same runs behind. One process at a time: the outbox's lease sees to that.

    Runs are not nested: a rebuilt series would leave its windows under a superseded parent. The experiment's
    description has links that show each kind on its own.

    Attributes
    ----------
    client : MlflowClient
    uri : str
        Tracking URI; may hold a password.
    files : Path or None
        Where artifacts go when no server keeps them.
    page : str or None
        Where people open MLflow, for links.
    """

    client: MlflowClient
    uri: str
    files: Path | None
    page: str | None

    def __repr__(self) -> str:
        return f"Tracking({access.without_secrets(self.uri)!r})"

    def version(self, model: str, alias: str) -> str:
        """The version of a registered model that an alias names now.

        Raises
        ------
        TrackingError
            Transient when MLflow cannot be asked; lasting when there is no such model or alias.
        """
        from mlflow.exceptions import MlflowException

        with access.translate_errors(self.uri, f"looking up {model}@{alias}"):
            try:
                return str(self.client.get_model_version_by_alias(model, alias).version)
            except MlflowException as error:
                if access.code(error) not in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
                    raise
                raise TrackingError(self._missing(model, alias), transient=False) from error

    def publish_window(
        self, instance: str, evaluation: Evaluation, *, newest: bool, artifacts: Files | None = None
    ) -> str:
        """Write one evaluation as a window run.

        Parameters
        ----------
        instance : str
            Names the store, so that two of them never take each other's runs for their own.
        evaluation : Evaluation
        newest : bool
            Whether no later revision of the window exists; otherwise the run is marked superseded.
        artifacts : dict of str to bytes or str, optional
            Files by path in the run, beside the tables and ``result.json``.

        Returns
        -------
        str
            A link to the run, or how to find it when MLflow has no page of its own.

        Raises
        ------
        TrackingError
        """
        with access.translate_errors(self.uri, f"publishing {evaluation.key}"):
            experiment = self._experiment(evaluation.monitor)
            key = content.quoted(f"{instance}|{evaluation.key}")
            revisions = self._revisions(experiment, key.removesuffix(str(evaluation.revision)))
            tags = content.window_tags(evaluation) | {KEY: key}
            found = revisions.pop(evaluation.revision, [])
            run = self._one(experiment, found, evaluation.window.start, tags)
            files = {**content.files(evaluation), **(artifacts or {})}
            self._fill(run, evaluation, content.params(evaluation), tags, content.dataset(evaluation), files)

            name, end = content.window_name(evaluation), evaluation.window.end
            later = [runs[0] for revision, runs in revisions.items() if revision > evaluation.revision]
            status = content.run_status(evaluation)
            if newest and not later:
                for old in chain.from_iterable(revisions.values()):
                    self._retire(old, by=run)
                self._finish(run, name, end, {STATE: "final"}, status)
            else:
                by = {BY: later[-1].info.run_id} if later else {}
                self._finish(run, _OLD + name, end, {STATE: "superseded", **by}, status)
            return self._link(run, evaluation.monitor)

    def publish_series(
        self,
        instance: str,
        monitor: str,
        segment: str,
        points: Sequence[Point],
        artifacts: Callable[[], Files] = dict,
        *,
        kind: Literal["series", "outlook"] = "series",
        outcomes: Mapping[Window, Status] | None = None,
        zone: ZoneInfo | None = None,
        picture: str | None = None,
    ) -> str:
        """Write all windows of a segment, or all outlooks, as one run, for line charts.

        New points are appended. When a point that was logged before has changed, all are logged in a new run
        and the old one is marked superseded: MLflow can neither overwrite a point nor show a lower one.

        Parameters
        ----------
        instance, monitor, segment : str
        points : sequence of Point
            At least one, oldest window first; each becomes a step from 1 on, at the end of its window.
        artifacts : callable, optional
            Gives files by path in the run. When all points are there already it is not asked, and nothing is
            written at all.
        kind : {"series", "outlook"}
            Outlooks have a run of their own: they come before the windows are judged.
        outcomes : dict of Window to Status, optional
            For the table of the last windows in the description of the experiment.
        zone : ZoneInfo, optional
            Of the dates; default UTC.
        picture : str, optional
            The one of `artifacts` that the description of the experiment shows.

        Returns
        -------
        str
            As `publish_window`.

        Raises
        ------
        TrackingError

        Notes
        -----
        The tags of a run say which points it has *or is being given*, and its state is ``publishing``
        meanwhile. So a run that was left half-way is completed if its points still hold, and replaced if not.
        """
        zone, points = zone or ZoneInfo("UTC"), [content.with_headline(point) for point in points]
        digests = content.digests(points)
        with access.translate_errors(
            self.uri, f"publishing the series of {monitor}, {segment or 'all rows'}"
        ):
            experiment = self._experiment(monitor)
            key = content.quoted(f"{instance}|{monitor}|{segment}|{kind}")
            drawn = [run for run in self._runs(experiment, key) if run.data.tags.get(STATE) != "superseded"]
            fitting = sorted(
                (run for run in drawn if _fits(run, digests)), key=lambda run: -int(run.data.tags[POINTS])
            )
            tags = content.series_tags(monitor, segment, points, zone, kind)
            tags |= {KEY: key, POINTS: str(len(points)), DIGEST: digests[-1], STATE: "publishing"}
            run = self._one(experiment, fitting[:1], points[0].window.start, tags)
            done = int(run.data.tags[POINTS]) if run.data.tags.get(STATE) == "final" else 0
            if done < len(points):
                self._append(run, points, done, tags, artifacts())
                for old in drawn:
                    if old.info.run_id != run.info.run_id:
                        self._retire(old, by=run)
                self._finish(run, content.series_name(segment, kind), points[-1].window.end, {STATE: "final"})
            if kind == "series" and not segment:  # the description of the experiment is about all rows
                shown = None if picture is None else f"get-artifact?path={picture}&run_uuid={run.info.run_id}"
                text = overview.of_experiment(experiment, points, outcomes or {}, zone, shown)
                self._describe(experiment, text)
            return self._link(run, monitor)

    def publish_review(self, instance: str, review: Review, *, artifacts: Files | None = None) -> str:
        """Write a review as a run, and its verdict as tags on both model versions; never touch an alias.

        Other reviews of the same versions stay as they are. The tags ``rocmonitor.cc.*`` give the latest
        review of a version: a replay of an older one leaves them alone. A version that is not in the
        registry (deleted, or never there) has no tags: the run says so, and holds all the rest.

        Parameters
        ----------
        instance : str
            As in `publish_window`.
        review : Review
        artifacts : dict of str to bytes or str, optional
            Files by path in the run, such as ``report.html``, beside the tables and ``review.json``.

        Returns
        -------
        str
            As `publish_window`.

        Raises
        ------
        TrackingError
        """
        with access.translate_errors(self.uri, f"publishing {review.key}"):
            experiment = self._experiment(review.monitor)
            key = content.quoted(f"{instance}|{review.key}")
            versions = review_run.version_tags(self.client, review)
            tags = review_run.tags(review) | {KEY: key}
            run = self._one(experiment, self._runs(experiment, key), review.reviewed_at, tags)
            page = f"#/experiments/{experiment}/runs/{run.info.run_id}/artifacts/report.html?{overview.RUNS}"
            report = page if "report.html" in (artifacts or {}) else None
            tags |= review_run.description(review, versions, report, run.data.tags)
            point, params = review_run.point(review), review_run.params(review)
            files = {**review_run.files(review), **(artifacts or {})}
            self._fill(run, point, params, tags, review_run.dataset(review), files)
            review_run.tag_versions(self.client, review, run.info.run_id, versions)
            self._finish(run, review_run.name(review), review.reviewed_at, {STATE: "final"})
            return self._link(run, review.monitor)

    def _experiment(self, monitor: str) -> str:
        """ID of the monitor's experiment, made when it is not there."""
        name = content.experiment_name(monitor)
        found = self.client.get_experiment_by_name(name)
        if found is None:
            location = None if self.files is None else (self.files / monitor).as_uri()
            tags = {"rocmonitor.monitor": monitor, "mlflow.experimentKind": "custom_model_development"}
            found = self.client.get_experiment(
                self.client.create_experiment(name, artifact_location=location, tags=tags)
            )
        if found.lifecycle_stage != "active":
            raise TrackingError(
                f"MLflow at {access.without_secrets(self.uri)}: experiment {name} was deleted; bring it back "
                f"with `mlflow experiments restore --experiment-id {found.experiment_id}`, or remove it "
                f"for good with `mlflow gc --experiment-ids {found.experiment_id}`, and it is made anew",
                transient=False,
            )
        if overview.NOTE not in found.tags:
            self._describe(found.experiment_id, overview.of_experiment(found.experiment_id))
        return str(found.experiment_id)

    def _describe(self, experiment: str, text: str) -> None:
        """Write the description of an experiment; somebody else's words are left as they are."""
        tags = self.client.get_experiment(experiment).tags
        if overview.is_ours(tags) and tags.get(overview.NOTE) != text:
            self.client.set_experiment_tag(experiment, overview.NOTE_DIGEST, overview.digest(text))
            self.client.set_experiment_tag(experiment, overview.NOTE, text)

    def _runs(self, experiment: str, key: str, *, longer: bool = False) -> list[Run]:
        """The runs with this key, or with any that begins so; in an order that a repeat finds again."""
        condition = f"LIKE '{key}%'" if longer else f"= '{key}'"
        runs: list[Run] = []
        token: str | None = ""
        while token is not None:
            found = self.client.search_runs(
                [experiment],
                f"tags.`{KEY}` {condition}",
                order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
                page_token=token or None,
            )
            runs += found
            token = found.token or None
        # LIKE has wildcards, and some databases ignore case.
        return [run for run in runs if run.data.tags[KEY].startswith(key)]

    def _revisions(self, experiment: str, stem: str) -> dict[int, list[Run]]:
        """The runs of a window by revision, in order."""
        revisions: dict[int, list[Run]] = {}
        for run in self._runs(experiment, stem, longer=True):
            revisions.setdefault(int(run.data.tags[KEY].removeprefix(stem)), []).append(run)
        return dict(sorted(revisions.items()))

    def _one(self, experiment: str, found: Sequence[Run], start: datetime, tags: Mapping[str, str]) -> Run:
        """The run that is there, else a new one; what a repeated request left beside it is deleted."""
        for extra in found[1:]:
            self.client.delete_run(extra.info.run_id)
        if found:
            return found[0]
        return self.client.create_run(
            experiment, start_time=content.milliseconds(start), tags={**tags, STATE: "publishing"}
        )

    def _fill(
        self,
        run: Run,
        point: Point | Evaluation,
        params: Mapping[str, str],
        tags: Mapping[str, str],
        dataset: DatasetInput,
        files: Files,
    ) -> None:
        """Write what a window and a review have in common; a parameter that is there cannot be changed."""
        new = {name: value for name, value in params.items() if name not in run.data.params}
        self.client.log_batch(run.info.run_id, **content.batch(metrics=[(point, 0)], params=new, tags=tags))
        self.client.log_inputs(run.info.run_id, datasets=[dataset])
        self._upload(run, files)

    def _append(
        self, run: Run, points: Sequence[Point], done: int, tags: Mapping[str, str], artifacts: Files
    ) -> None:
        """Log the points of a series that are not there yet, and what shows all of them."""
        self.client.log_batch(run.info.run_id, **content.batch(tags=tags))
        steps = list(enumerate(points, 1))[done:]
        self.client.log_batch(
            run.info.run_id, **content.batch(metrics=[(point, step) for step, point in steps])
        )
        self._upload(run, artifacts)

    def _upload(self, run: Run, files: Files) -> None:
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
        self, run: Run, name: str, end: datetime, state: Mapping[str, str], status: str = "FINISHED"
    ) -> None:
        """Name and close a run; its state comes last and says that all the rest is there."""
        self.client.update_run(run.info.run_id, name=name)
        self.client.set_terminated(run.info.run_id, status, end_time=content.milliseconds(end))
        self.client.log_batch(run.info.run_id, **content.batch(tags=state))

    def _link(self, run: Run, monitor: str) -> str:
        if self.page is None:
            return f"experiment {content.experiment_name(monitor)}, run {run.info.run_id}"
        place = f"{self.page.rstrip('/')}/#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
        return f"{place}?{overview.RUNS}"

    def _missing(self, model: str, alias: str) -> str:
        """Why there is no such version, and what to do."""
        from mlflow.exceptions import MlflowException

        where = f"MLflow at {access.without_secrets(self.uri)}"
        try:
            aliases = self.client.get_registered_model(model).aliases
        except MlflowException as error:
            if access.code(error) != "RESOURCE_DOES_NOT_EXIST":
                raise
            return f"{where} has no registered model {model!r}; register it, or correct model.name"
        known = ", ".join(f"{name} (version {number})" for name, number in sorted(aliases.items()))
        return (
            f"{where}: model {model!r} has no alias {alias!r}; it has: {known or 'none'}. Set it with "
            f"MlflowClient().set_registered_model_alias({model!r}, {alias!r}, VERSION), or set model.version"
        )


def _fits(run: Run, digests: Sequence[str]) -> bool:
    """Whether the points that a series run has are the first of these."""
    count = int(run.data.tags.get(POINTS, 0))
    return count < len(digests) and run.data.tags.get(DIGEST) == digests[count]
