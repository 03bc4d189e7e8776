"""Alarms: a change of status in words, and the way it reaches people."""

from rocmonitor.alerts.message import (
    LONGEST_TITLE,
    Context,
    Message,
    compose,
    compose_outlook,
    compose_review,
    compose_revised,
    repeated,
    trial_message,
)
from rocmonitor.alerts.outage import MOST_NAMED, Concerned, compose_outage, compose_several, compose_stop
from rocmonitor.alerts.service import check_url, send
