"""``rocmonitor channel``."""

import time

import pytest
from gate import gated
from scenario import until

from rocmonitor.service import delivery


def test_a_channel_can_be_tried(here, rocmonitor):
    rocmonitor("channel", "test", "log")
    assert here.alarms.startswith("TEST of channel log")


@pytest.mark.slow
def test_a_channel_that_took_a_test_gets_what_waited_for_it(here, http_sink, rocmonitor):
    here.score(22, shift=0.2)
    here.configure(channels=f"{{log: {{url: '{http_sink.url}'}}}}", window=until("2026-06-15"))
    http_sink.status = 500
    rocmonitor("run", code=5)
    http_sink.status = 200
    rocmonitor("run", code=5)  # not before its time
    rocmonitor("channel", "test", "log")
    rocmonitor("run", code=3)
    assert [title.split()[0] for title in http_sink.titles] == ["DEGRADED", "TEST", "DEGRADED"]


@pytest.mark.slow
def test_a_channel_that_drips_its_answer_has_failed_after_a_while(here, http_sink, rocmonitor, monkeypatch):
    monkeypatch.setattr(delivery, "CHANNEL_SECONDS", 1.0)
    with gated("127.0.0.1", http_sink.port) as gate:
        gate.turn("slow")
        here.configure(channels=f"{{log: {{url: 'json://127.0.0.1:{gate.port}/'}}}}")
        began = time.monotonic()
        said = rocmonitor("channel", "test", "log", code=5).stderr
    assert "channel log does not answer in time: it took longer than 1 seconds" in said
    assert time.monotonic() - began < 20
