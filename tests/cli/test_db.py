"""``rocmonitor db``."""


def test_the_store_can_be_made_and_checked(here, rocmonitor):
    assert "db upgrade" in rocmonitor("db", "check", code=5).stderr
    rocmonitor("db", "upgrade")
    rocmonitor("db", "check")
