"""What the forks share: everything that ``rocmonitor run`` imports on its way."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

import mlflow.store.tracking.sqlalchemy_store  # noqa: F401

import rocmonitor.alerts
import rocmonitor.cli
import rocmonitor.cli.terminal
import rocmonitor.report.pages
import rocmonitor.report.text
import rocmonitor.report.timeline
import rocmonitor.service.once
import rocmonitor.sources
import rocmonitor.store.migrate
import rocmonitor.tracking
from rocmonitor.service import leases
from rocmonitor.store import leases as kept


def run(folder: Path, words: list[str], *, lease: timedelta) -> None:
    """Run a command in a folder; its log goes to a file there."""
    os.chdir(folder)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.dup2(os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    kept.LEASE = leases.LEASE = lease
    leases.RENEW_EVERY = lease / 4
    sys.argv = ["rocmonitor", *words]
    rocmonitor.cli.main()
