"""``rocmonitor channel``."""


def test_a_channel_can_be_tried(here, rocmonitor):
    rocmonitor("channel", "test", "log")
    assert here.alarms.startswith("TEST of channel log")
