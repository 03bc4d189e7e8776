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

__all__ = [
    "LONGEST_TITLE",
    "MOST_NAMED",
    "Concerned",
    "Context",
    "Message",
    "check_url",
    "compose",
    "compose_outage",
    "compose_outlook",
    "compose_review",
    "compose_revised",
    "compose_several",
    "compose_stop",
    "repeated",
    "send",
    "trial_message",
]
