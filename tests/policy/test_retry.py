from datetime import timedelta
from itertools import pairwise

from rocmonitor.policy.outages import FIRST_PAUSE, LONGEST_PAUSE, retry_pause


def test_pauses_double_up_to_ten_minutes() -> None:
    pauses = [retry_pause(failures) for failures in range(1, 200)]
    assert pauses[0] == FIRST_PAUSE == timedelta(seconds=5)
    for one, following in pairwise(pauses):
        assert following == min(2 * one, LONGEST_PAUSE)
    assert pauses[-1] == LONGEST_PAUSE == timedelta(minutes=10)


def test_what_somebody_must_mend_is_looked_at_every_ten_minutes() -> None:
    assert {retry_pause(failures, transient=False) for failures in range(1, 10)} == {LONGEST_PAUSE}
