"""``rocmonitor init``."""

import json

from rocmonitor import config, demo


def test_init_writes_a_configuration_that_is_read(tmp_path, rocmonitor):
    rocmonitor("init")
    assert config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules


def test_init_watches_single_windows_and_what_lasts(tmp_path, rocmonitor):
    rocmonitor("init")
    rules = config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules
    assert [rule.kind for rule in rules][:2] == ["forecast", "lasting"]


def test_init_where_nothing_can_be_written(rocmonitor):
    told = rocmonitor("--config", "nosuch/rocmonitor.yaml", "init", code=2).stderr
    assert "nosuch/rocmonitor.yaml: cannot be written" in told


def test_the_demo_ends_with_the_next_step(monkeypatch, rocmonitor):
    monkeypatch.setattr(demo, "build", lambda folder, on_progress: None)
    assert rocmonitor("init", "--demo").stderr.endswith(
        "next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it\n"
    )


def test_init_writes_the_schema_that_the_configuration_names(tmp_path, rocmonitor):
    rocmonitor("init")
    first = (tmp_path / "rocmonitor.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=rocmonitor.schema.json"
    assert json.loads((tmp_path / "rocmonitor.schema.json").read_text(encoding="utf-8"))["properties"]


def test_init_renews_the_schema_and_leaves_the_configuration(tmp_path, rocmonitor):
    (tmp_path / "rocmonitor.yaml").write_text("mine", encoding="utf-8")
    (tmp_path / "rocmonitor.schema.json").write_text("{}", encoding="utf-8")
    rocmonitor("init", "--schema")
    assert (tmp_path / "rocmonitor.yaml").read_text(encoding="utf-8") == "mine"
    assert json.loads((tmp_path / "rocmonitor.schema.json").read_text(encoding="utf-8"))["properties"]


def test_schema_and_demo_exclude_each_other(rocmonitor):
    assert "--schema" in rocmonitor("init", "--schema", "--demo", code=2).stderr
