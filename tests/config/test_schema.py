"""The JSON Schema that editors use agrees with the configuration that is read."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from rocmonitor import config
from rocmonitor.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((files("rocmonitor.config") / "rocmonitor.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft7Validator(SCHEMA)
SHIPPED = [
    ROOT / "rocmonitor" / "cli" / "templates" / "rocmonitor.yaml",
    ROOT / "rocmonitor" / "demo" / "rocmonitor.yaml",
    ROOT / "docs" / "examples" / "rocmonitor.yaml",
    ROOT / "deploy" / "rocmonitor.yaml",
]
EXAMPLE = (ROOT / "docs" / "examples" / "rocmonitor.yaml").read_text(encoding="utf-8")


class AsEditors(yaml.SafeLoader):
    """YAML 1.2, which editors read, has no dates: they are text."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def problems(text: str) -> list[str]:
    read: Any = yaml.load(text, Loader=AsEditors)
    return [f"{problem.json_path}: {problem.message}" for problem in VALIDATOR.iter_errors(read)]


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
def test_what_is_shipped_agrees_with_the_schema(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []
    assert config.load(path).monitors


FINE = [
    ("every: 7d", "every: 168h"),
    ("every: 7d", "rows: 5000"),
    ("every: 7d", "every: 1mo\n      rows: 5000"),
    ("every: 7d", "every: 7d\n      pool: 4"),
    ("from: 2026-01-05", "from: 2026-01-05T06:00"),
    ("from: 2026-01-05", "from: 2026-01-05 06:00:00"),
    ("{kind: challenger}", "{kind: forecast, method: fixed, distance: 0.01}"),
    ("{kind: challenger}", "{kind: forecast, alternative: less}"),
    ("margin: 0.005", "decides: period"),
    ("margin: 0.005", "decides: future\n      correlation: none"),
    ("    rules:", "    outlook: {after: 6h}\n    rules:\n      - {kind: outlook}\n      - {kind: scores}"),
    ("champion: champion, challenger: challenger}", "version: 7, challenger_version: '2026-03'}"),
    ("    segments:", "    positive: {label: bad, negative: good, scores: lower}\n    segments:"),
    ("    segments:", "    condense: {scale: linear, per_unit: 10, max_error: 0.001}\n    segments:"),
    ("url_env: WAREHOUSE_URL", "url_file: /run/secrets/warehouse"),
    ("sources:", "mlflow: {tracking_uri_env: MLFLOW_TRACKING_URI}\nsources:"),
    ("sources:", "webhook: {secret_file: secret}\nsources:"),
    ("url_env: WAREHOUSE_URL", "kind: database\n    url_env: WAREHOUSE_URL"),
    ("url_env: WAREHOUSE_URL", "kind: files\n    path: data/scores/*.parquet"),
    ("url_env: WAREHOUSE_URL", "kind: spark"),
    ("url_env: WAREHOUSE_URL", "kind: spark\n    remote_env: SPARK_REMOTE"),
    ("{url_env: HEARTBEAT_URL, every: 5m}", "{url_file: heartbeat}"),
]


@pytest.mark.parametrize(("old", "new"), FINE, ids=[new.strip()[:40] for _, new in FINE])
def test_what_is_read_agrees_with_the_schema(tmp_path: Path, old: str, new: str) -> None:
    assert old in EXAMPLE
    text = EXAMPLE.replace(old, new, 1)
    (tmp_path / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    assert config.load(tmp_path / "rocmonitor.yaml")
    assert problems(text) == []


WRONG = [
    ("    segments:", "    grouped: condensed\n    segments:"),  # with a challenger
    ("    segments:", "    condense: {per_unit: 0}\n    segments:"),
    ("    segments:", "    condense: {max_error: 0.5}\n    segments:"),
    ("    segments:", "    condense: {scale: log}\n    segments:"),
    ("every: 7d", "every: 7"),
    ("every: 7d\n      ", ""),
    ("every: 7d", "rows: 0"),
    ("every: 7d", "rows: true"),
    ("every: 7d", "every: 7d\n      pool: 1"),
    ("every: 7d", "rows: 5000\n      pool: 4"),
    ("every: 7d", "every: 7 days"),
    ("every: 7d", "evry: 7d"),
    ("label_delay: 30d", "label_delay: 30"),
    ("revise_for: 90d", "min_labelled: 95"),
    ("from: 2026-01-05", "from: 05.01.2026"),
    ("from: 2026-01-05", "from: '2026-01-05T00:00+01:00'"),
    ("from: 2026-01-05", "start: 2026-01-05"),
    ("WHERE scored_at >= :start AND scored_at < :end", ""),
    ("SELECT loan_id", "DELETE loan_id"),
    ("champion: champion,", "champion: champion, version: 7,"),
    ("source: warehouse", ""),
    ("url_env: WAREHOUSE_URL", "url_env: WAREHOUSE_URL\n    url: sqlite:///scores.db"),
    ("    url_env: WAREHOUSE_URL\n", ""),
    ("url_env: WAREHOUSE_URL", "path: data/scores"),
    ("url_env: WAREHOUSE_URL", "kind: files"),
    ("url_env: WAREHOUSE_URL", "kind: folder\n    path: data/scores"),
    ("confidence_level: 0.95}", "confidence_level: 95}"),
    ("confidence_level: 0.95}", "confidence: 0.95}"),
    ("{kind: challenger}", "{kind: chalenger}"),
    ("{kind: challenger}", "{confidence_level: 0.95}"),
    ("{kind: challenger}", "{kind: floor}"),
    ("{kind: challenger}", "{kind: outlook}"),
    ("{kind: challenger}", "{kind: forecast, distance: 0.01}"),
    ("{kind: challenger}", "{kind: forecast, method: fixed}"),
    ("fpr: [0.01, 0.05, 0.1]", "fpr: [0, 0.05]"),
    ("cost: [{w: 0.2}]", "cost: [{w: 1.2}]"),
    ("after: 2", "after: 0"),
    ("margin: 0.005", "margin: -0.1"),
    ("margin: 0.005", "margin: 1"),
    ("margin: 0.005", "decides: past"),
    ("margin: 0.005", "correlation: none"),
    ("margin: 0.005", "decides: period\n      correlation: none"),
    ('"0 6 * * *"', "daily"),
    ('"0 7 * * 1"', "7"),
    ("      challenger: p_challenger\n", ""),
    ("  credit-default:", "  credit default:"),
    ("    segments:", "    positive: {label: bad}\n    segments:"),
    ("sources:", "mlflow: {tracking_uri: a, tracking_uri_env: A}\nsources:"),
    ("sources:", "webhook: {listen: '127.0.0.1:8790'}\nsources:"),
    ("{url_env: HEARTBEAT_URL, every: 5m}", "{every: 5m}"),
    ("{url_env: HEARTBEAT_URL, every: 5m}", "{url_env: A, url_file: b}"),
    ("{url_env: HEARTBEAT_URL, every: 5m}", "{url: 'https://example.org'}"),
    ("every: 5m}", "every: 5}"),
    ("channels:\n", "channels: {}\nchanels:\n"),
]


@pytest.mark.parametrize(
    ("old", "new"), WRONG, ids=[new.strip()[:40] or f"no {old.strip()[:30]}" for old, new in WRONG]
)
def test_what_is_wrong_is_wrong_in_both(tmp_path: Path, old: str, new: str) -> None:
    assert old in EXAMPLE
    text = EXAMPLE.replace(old, new, 1)
    (tmp_path / "rocmonitor.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        config.load(tmp_path / "rocmonitor.yaml")
    assert problems(text) != []


def test_every_key_has_a_description() -> None:
    for name, kind in {"rocmonitor.yaml": SCHEMA, **SCHEMA["definitions"]}.items():
        for key, value in kind["properties"].items():
            assert key == "kind" or value["description"], f"{name}.{key}"


def test_nothing_beside_a_reference_limits_values() -> None:
    """Draft 7 reads no limit that stands beside ``$ref``."""

    def references(part: Any) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                yield part
            part = list(part.values())
        for inner in part if isinstance(part, list) else ():
            yield from references(inner)

    found = list(references(SCHEMA))
    assert len(found) > 10
    assert {key for each in found for key in each} <= {"$ref", "default", "description"}
