"""Alarms: a change of status in words, and the way it reaches people."""

from rocmonitor.alerts.message import (
    LONGEST_TITLE,
    MOST_NAMED,
    Concerned,
    Context,
    Message,
    compose,
    compose_outage,
    compose_outlook,
    compose_review,
    compose_revised,
    compose_several,
    compose_stop,
    repeated,
    trial_message,
)
from rocmonitor.alerts.service import check_url, send
