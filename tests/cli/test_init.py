"""``rocmonitor init``."""

from rocmonitor import config, demo


def test_init_writes_a_configuration_that_is_read(tmp_path, rocmonitor):
    rocmonitor("init")
    assert config.load(tmp_path / "rocmonitor.yaml").monitors["credit-default"].rules


def test_init_where_nothing_can_be_written(rocmonitor):
    told = rocmonitor("--config", "nosuch/rocmonitor.yaml", "init", code=2).stderr
    assert "nosuch/rocmonitor.yaml: cannot be written" in told


def test_the_demo_ends_with_the_next_step(monkeypatch, rocmonitor):
    monkeypatch.setattr(demo, "build", lambda folder, on_progress: None)
    assert rocmonitor("init", "--demo").stderr.endswith(
        "next: `rocmonitor check` explains what is watched, `rocmonitor run` judges it\n"
    )
