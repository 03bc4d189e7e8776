"""Alarms: a change of status in words, and the way it reaches people."""

from rocmonitor.alerts.message import (
    LONGEST_TITLE,
    Context,
    Message,
    compose,
    compose_review,
    trial_message,
)
from rocmonitor.alerts.outlook import compose_outlook
from rocmonitor.alerts.service import check_url, send

__all__ = [
    "LONGEST_TITLE",
    "Context",
    "Message",
    "check_url",
    "compose",
    "compose_outlook",
    "compose_review",
    "send",
    "trial_message",
]
