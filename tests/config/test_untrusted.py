"""What a configuration may not do: keep secrets, break the reader, fill the screen, reach out in a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rocmonitor import config
from rocmonitor.errors import ConfigError, InputError, quoted

TEXT = """
sources: {warehouse: {url: "sqlite:///scored.db"}}
monitors:
  credit:
    source: warehouse
    query: "SELECT * FROM scored WHERE at >= :start AND at < :end"
    columns: {time: at, label: defaulted, champion: p}
    model: {name: credit, version: 1}
    window: {every: 7d, label_delay: 1d}
    reference: {from: 2026-01-05, to: 2026-03-02}
    rules: [{kind: forecast}]
"""


def load(folder: Path, text: str) -> config.Config:
    path = folder / "rocmonitor.yaml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        load(folder, text)
    return str(error.value)


@pytest.mark.parametrize(
    "value", ["!!int ''", "!!bool x", "!!timestamp xx", "!!set [a]", "!!float x", "!!omap 3"]
)
def test_a_tag_that_does_not_fit_is_no_traceback(tmp_path: Path, value: str) -> None:
    assert "is not valid YAML" in refused(tmp_path, f"{TEXT}x: {value}\n")


@pytest.mark.parametrize("text", ["[" * 30_000, "- " * 3_000 + "a", "{a: " * 1_000, "? " * 3_000])
def test_nesting_without_an_end(tmp_path: Path, text: str) -> None:
    assert "is nested too deeply" in refused(tmp_path, text)


def test_a_value_is_quoted_in_part_and_without_control_characters(tmp_path: Path) -> None:
    said = refused(tmp_path, f"{TEXT}    timezone: {'x' * 100_000}\n")
    assert f"'{'x' * 80}'… (99,920 more characters)" in said
    assert len(said) < 1_000
    assert "a\\nb\\x1b[31m" in refused(tmp_path, f'{TEXT}    timezone: "a\\nb\\e[31m"\n')
    for key in (f"? {'k' * 100_000}\n: 1\n", '"a\\nb\\e[31m": 1\n'):
        said = refused(tmp_path, TEXT + key)
        assert said.isprintable()
        assert len(said) < 1_000


def test_a_number_that_python_does_not_write(tmp_path: Path) -> None:
    assert "a number of thousands of digits" in refused(tmp_path, f"{TEXT}    timezone: 0x{'f' * 5_000}\n")
    assert quoted(16**5_000) == "a number of thousands of digits"
    assert quoted(16**100) == f"{str(16**100)[:80]}… (41 more characters)"


def test_an_error_of_yaml_does_not_repeat_the_line(tmp_path: Path) -> None:
    said = refused(tmp_path, 'store: {url: "postgresql://me:hunter2@db/x\ny: z"]\n')
    assert "line 2" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("key", ["tracking_uri", "page"])
@pytest.mark.parametrize(
    "uri",
    [
        "https://me:hunter2@mlflow.example.org",
        "https://hunter2@mlflow.example.org/",
        "https://mlflow.example.org/?token=hunter2",
        "https://mlflow.example.org/?api%5Fkey=hunter2",
        "postgresql://me:hunter2@db/mlflow",
    ],
)
def test_a_secret_in_the_address_of_mlflow_is_refused(tmp_path: Path, key: str, uri: str) -> None:
    said = refused(tmp_path, f"mlflow: {{{key}: '{uri}'}}\n{TEXT}")
    no_page = key == "page" and not uri.startswith("https")
    says = "must be an address that starts" if no_page else "holds a login or a token; put"
    assert f"mlflow.{key}: {says}" in said
    assert "hunter2" not in said


def test_the_address_of_mlflow_comes_from_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uri").write_text("https://me:hunter2@mlflow.example.org\n")
    monkeypatch.setenv("MLFLOW_URI", "https://hunter2@mlflow.example.org")
    for given, uri in (
        ("tracking_uri_file: uri", "https://me:hunter2@mlflow.example.org"),
        ("tracking_uri_env: MLFLOW_URI", "https://hunter2@mlflow.example.org"),
    ):
        assert load(tmp_path, f"mlflow: {{{given}}}\n{TEXT}").tracking_uri == uri
    said = refused(tmp_path, f"mlflow: {{tracking_uri_env: A, tracking_uri_file: b}}\n{TEXT}")
    assert "has tracking_uri_env and tracking_uri_file; keep one" in said
    with pytest.raises(ConfigError, match=r"mlflow\.tracking_uri_file: cannot read the file"):
        _ = load(tmp_path, f"mlflow: {{tracking_uri_file: absent}}\n{TEXT}").tracking_uri


SECRETS = [
    "https://me:hunter2@mlflow.example.org/x",
    "hunter2hunter2",
    "whsec_aGk3ZDh",
    "4f2e9c1b7d",
    "JBSWY3DPEHPK3PXPJBSWY3DP",
    "tcp://hunter2@host:8786",
]
BY_VARIABLE = [
    "sources: {other: {url_env: SECRET}}",
    "sources: {other: {kind: spark, remote_env: SECRET}}",
    "channels: {ops: {url_env: SECRET}}",
    "store: {url_env: SECRET}",
    "mlflow: {tracking_uri_env: SECRET}",
    "webhook: {secret_env: SECRET}",
    "heartbeat: {url_env: SECRET}",
]
BY_FILE: list[tuple[str, Callable[[config.Config, Path], object]]] = [
    ("sources: {other: {url_file: SECRET}}", lambda known, folder: known.sources["other"].read(folder)),
    ("channels: {ops: {url_file: SECRET}}", lambda known, folder: known.channels["ops"].read(folder)),
    ("store: {url_file: SECRET}", lambda known, _: known.store_url),
    ("mlflow: {tracking_uri_file: SECRET}", lambda known, _: known.tracking_uri),
    ("webhook: {secret_file: SECRET}", lambda known, folder: known.webhook.read(folder)),
    ("heartbeat: {url_file: SECRET}", lambda known, folder: known.heartbeat.read(folder)),
]


def keys_of(kind: object) -> Iterator[tuple[str, object]]:
    """Every key of the configuration's schema with what it takes."""
    if isinstance(kind, dict):
        yield from kind.get("properties", {}).items()
        for each in kind.values():
            yield from keys_of(each)
    elif isinstance(kind, list):
        for each in kind:
            yield from keys_of(each)


def with_secret(part: str, secret: str) -> str:
    section = part.replace("SECRET", f'"{secret}"')
    return (
        TEXT.replace("sources: {", section[:-1] + ", ") if part.startswith("sources") else f"{section}{TEXT}"
    )


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("part", BY_VARIABLE)
def test_a_secret_in_the_place_of_a_variable_is_refused_and_not_printed(
    tmp_path: Path, part: str, secret: str
) -> None:
    said = refused(tmp_path, with_secret(part, secret))
    assert "_env: must be the name of an environment variable" in said
    assert not any(piece in said for piece in (secret, "hunter2"))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(("part", "read"), BY_FILE)
def test_a_secret_in_the_place_of_a_file_is_not_printed(
    tmp_path: Path, part: str, secret: str, read: Callable[[config.Config, Path], object]
) -> None:
    why = r"_file: (must be the name of a file|cannot read the file named there: No such file)"
    with pytest.raises(ConfigError, match=why) as error:
        read(load(tmp_path, with_secret(part, secret)), tmp_path)
    assert not any(piece in str(error.value) for piece in (secret, "hunter2"))


def test_every_key_that_names_a_variable_takes_names_alone() -> None:
    keys = [
        (key, str(takes)) for key, takes in keys_of(config.Config.model_json_schema()) if key.endswith("_env")
    ]
    assert {key for key, _ in keys} == {re.search(r"\w+_env", part)[0] for part in BY_VARIABLE}
    assert all("^[A-Z_][A-Z0-9_]*$" in takes for _, takes in keys)


@pytest.mark.parametrize("name", ["", " ", "https://host/ping", "a\\nb", "a" * 5000])
def test_what_no_file_can_be_called_is_refused_when_the_configuration_is_read(
    tmp_path: Path, name: str
) -> None:
    keys = {key for key, _ in keys_of(config.Config.model_json_schema()) if key.endswith("_file")}
    assert keys == {key for part, _ in BY_FILE for key in re.findall(r"\w+_file", part)}
    for part, _ in BY_FILE:
        said = refused(tmp_path, with_secret(part, name))
        assert said.count("must be the name of a file") == part.count("SECRET")


@pytest.mark.parametrize("name", ["A", "WAREHOUSE_URL", "S3_KEY", "_X", "MISCLASSIFICATIONRATES_URL"])
def test_names_of_variables(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, f"store: {{url_env: {name}}}{TEXT}").store.url_env == name


@pytest.mark.parametrize("key", ["page", "mlflow.page"])
@pytest.mark.parametrize("page", ["javascript:alert(1)", "data:text/html,x", "//other", "file:///etc/passwd"])
def test_a_page_is_an_address_of_the_web(tmp_path: Path, key: str, page: str) -> None:
    section = f"page: '{page}'" if key == "page" else f"mlflow: {{page: '{page}'}}"
    said = refused(tmp_path, section + TEXT)
    assert f"{key}: must be an address that starts with http:// or https://" in said


@pytest.mark.parametrize("key", ["name", "version", "champion", "challenger", "challenger_version"])
def test_a_model_has_no_empty_name(tmp_path: Path, key: str) -> None:
    given = {"name": "credit", key: ""}
    said = refused(tmp_path, TEXT.replace("{name: credit, version: 1}", str(given)))
    assert f"model.{key}" in said
    assert "at least 1 character" in said


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("dblink_exec('x', 'DELETE FROM t')", "dblink_exec"),
        ("dblink('x', 'y')", "dblink"),
        ("LO_CREATE (0)", "lo_create"),
        ("\"lo_import\"('/etc/passwd')", "lo_import"),
        ("pg_read_file/**/('/etc/passwd')", "pg_read_file"),
        ("'C:\\', pg_read_file('x')", "pg_read_file"),
        ("load_file('/etc/passwd')", "load_file"),
    ],
)
def test_a_query_that_reaches_out_is_refused(tmp_path: Path, call: str, name: str) -> None:
    text = TEXT.replace('"SELECT *', "|-\n      SELECT *").replace(':end"', ":end")
    said = refused(tmp_path, text.replace("SELECT *", f"SELECT *, {call}"))
    assert f"monitors.credit.query: calls {name}, which" in said


@pytest.mark.parametrize(
    "part", ["'dblink(' AS a", "lo_create", "glo_create(1)", "lo_pass(1)", "1 -- dblink_exec('x')"]
)
def test_a_query_that_only_looks_like_it_is_read(tmp_path: Path, part: str) -> None:
    text = TEXT.replace('"SELECT *', "|-\n      SELECT *").replace(':end"', ":end")
    assert load(tmp_path, text.replace("SELECT *", f"SELECT *, {part}\n      ")).monitors


@pytest.mark.parametrize("day", ["0001-01-01", "'1899-12-31'", "'9999-12-31'"])
def test_years_without_zones_are_refused(tmp_path: Path, day: str) -> None:
    said = refused(tmp_path, TEXT.replace("2026-01-05", day))
    assert re.search(r"reference\.from: must be in the years 1900 to 2200; it is \S+$", said.splitlines()[0])


def test_windows_that_nobody_waits_for_are_refused(tmp_path: Path) -> None:
    fine = TEXT.replace("every: 7d", "every: 1m").replace("from: 2026-01-05, to: 2026-03-02", "{}")
    known = load(tmp_path, fine.replace("{}", "from: 1990-01-01, to: 1990-01-02")).monitors["credit"]
    with pytest.raises(InputError, match=r"19,\d{3},\d{3} windows from 1990-01-02 .* are too many"):
        known.windows(datetime(2026, 7, 1, tzinfo=UTC))
    said = refused(tmp_path, fine.replace("{}", "from: 1990-01-01, to: 2026-01-02"))
    assert "reference" in said
    assert "too many" in said
