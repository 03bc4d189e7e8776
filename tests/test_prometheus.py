"""Prometheus and Alertmanager, with the files of deploy/prometheus, watch a real service and fire."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from process import serving, wait_for
from scenario import World, until
from servers import free_port
from sinks import HttpSink

FILES = Path(__file__).parents[1] / "deploy" / "prometheus"
PATIENCE_SECONDS = 90


def program(name: str, *others: str) -> str:
    """The path of a program; its tests are skipped without it, and fail where ``CI`` is set."""
    found = next((path for each in (name, *others) if (path := shutil.which(each))), None)
    if found is None:
        why = f"needs {name}: apt-get install {(others or (name,))[-1]}"
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)
    return found


@contextmanager
def started(folder: Path, *command: str) -> Iterator[None]:
    with (folder / f"{Path(command[0]).name}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def at_once(value: object) -> object:
    """The same file with every wait a second or none."""
    if isinstance(value, dict):
        waits = {"for": "0s", "group_wait": "0s"}
        waits |= dict.fromkeys(("scrape_interval", "evaluation_interval", "group_interval"), "1s")
        return {key: waits.get(key) or at_once(each) for key, each in value.items()}
    return [at_once(each) for each in value] if isinstance(value, list) else value


def copy(name: str, folder: Path, *ports: tuple[int, int]) -> Path:
    """A file of deploy/prometheus with other ports, and without its waits."""
    text = (FILES / name).read_text(encoding="utf-8")
    for given, free in ports:
        assert f":{given}" in text
        text = text.replace(f":{given}", f":{free}")
    path = folder / name
    path.write_text(yaml.safe_dump(at_once(yaml.safe_load(text))), encoding="utf-8")
    return path


def firing(sink: HttpSink, name: str) -> dict[str, str]:
    """The labels of an alert, once it arrives."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        for request in sink.requests:
            for alert in request.content["alerts"]:
                if alert["labels"]["alertname"] == name and alert["status"] == "firing":
                    return dict(alert["labels"])
        time.sleep(0.2)
    pytest.fail(f"{name} never came; {[each.content['commonLabels'] for each in sink.requests]}")


def test_the_files_are_valid() -> None:
    promtool = program("promtool", "prometheus")
    for words in (["rules", "alerts.yaml"], ["config", "prometheus.yaml"]):
        done = subprocess.run([promtool, "check", *words], cwd=FILES, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_alerts_of_a_real_service_arrive(here: World, http_sink: HttpSink, tmp_path: Path) -> None:
    prometheus = program("prometheus")
    alertmanager = program("alertmanager", "prometheus-alertmanager")
    here.score(20)
    here.score(21, shift=0.2)
    here.configure(
        window=until("2026-06-08"),
        channels='{log: {url: "file://absent/alarms.log"}}',
        mlflow="{tracking_uri: 'foo://x'}",
    )
    service, watcher, manager = free_port(), free_port(), free_port()
    path = here.folder / "rocmonitor.yaml"
    path.write_text(f"listen: 127.0.0.1:{service}\n{path.read_text()}", encoding="utf-8")
    copy("alerts.yaml", tmp_path)
    rules = tmp_path / "alerts.yaml"
    rules.write_text(rules.read_text().replace("> 600", "> 1"))
    scraped = copy("prometheus.yaml", tmp_path, (8790, service), (9093, manager))
    routed = copy("alertmanager.yaml", tmp_path, (9099, http_sink.port))
    with ExitStack() as stack:
        stack.enter_context(
            started(
                tmp_path,
                alertmanager,
                f"--config.file={routed}",
                f"--storage.path={tmp_path}/alerts",
                f"--web.listen-address=127.0.0.1:{manager}",
                "--cluster.listen-address=",
            )
        )
        with serving(here) as process:
            wait_for(process, "credit: next check")
            stack.enter_context(
                started(
                    tmp_path,
                    prometheus,
                    f"--config.file={scraped}",
                    f"--storage.tsdb.path={tmp_path}/data",
                    f"--web.listen-address=127.0.0.1:{watcher}",
                )
            )
            found = firing(http_sink, "ModelDegraded")
            assert (found["monitor"], found.get("segment", "")) == ("credit", "")
            assert firing(http_sink, "RocmonitorUndelivered")["destination"] == "channel:log"
            assert firing(http_sink, "RocmonitorOutage")["place"].startswith(("channel:log", "mlflow"))
            names = {
                alert["labels"]["alertname"]
                for each in http_sink.requests
                for alert in each.content["alerts"]
            }
            assert "RocmonitorDown" not in names
        firing(http_sink, "RocmonitorDown")
